"""The steps of a first plan: choices made whole, replicas and orders made whole, and better plans nearby."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pulp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import size
from solver_cases import problem, service
from test_solver_optimum import best, draw_more

from benchmarks.fleets import fleet
from solver import steps, whole
from solver.build import build
from solver.choosing import choose
from solver.fitting import Fitted
from solver.problem import Problem, Services
from solver.program import Program
from solver.promising import bar_the_rest, likeliest, reached
from solver.start import first_plan
from solver.verify import objective_value, verify
from solver.whole import improve, make_whole


def search(time_limit_s: float = 60.0) -> steps.Search:
    return steps.Search(0.0, time.monotonic() + time_limit_s, None)


def replicas(program: Program, values: object) -> np.ndarray:
    return steps.reader(values)(program.replicas)  # type: ignore[arg-type]


def two_services() -> Problem:
    """Two alike: 25 requests/s each, in replicas of 10 that fill a node."""
    one = service([25.0])["serve_options"]
    both = {field.name: np.repeat(getattr(one, field.name), 2, axis=0) for field in dataclasses.fields(one)}
    serves = dataclasses.replace(one, **(both | {"service": [0, 1]}))
    return problem(services=Services(name=("a", "b"), demand=[[25.0], [25.0]]), serve_options=serves)  # type: ignore[arg-type]


def row_limits(program: Program) -> dict[str, tuple[float | None, float | None]]:
    return {name: (row.getLb(), row.getUb()) for name, row in program.model.constraints.items()}


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=size(5, nightly=20), deadline=None, derandomize=True)
def test_a_first_plan_with_every_other_decision_is_a_plan(seed: int) -> None:
    """Rebates, rental, parking and moves too: it keeps every rule and costs no less than its bound."""
    case = draw_more(seed)
    plan, _, bound = first_plan(build(case), gap_fraction=0.0, time_limit_s=20)

    if plan is not None:
        assert verify(case, plan, 1e-6) == []
        assert 1000 * bound <= objective_value(case, plan) + 1e-6 * abs(objective_value(case, plan)) + 1e-6


def test_choices_for_the_best_rebates_are_the_best() -> None:
    """As good as options and rebates at once; without those rebates dearer, unless others may be tried."""
    program = build(fleet("S"))
    steps.count([*steps.nodes(program), program.replicas], pulp.LpContinuous)
    at_once = search()(program, None)
    none = {each.name: 0.0 for each in program.tier}
    found, without = (choose(program, search(), each) for each in (at_once.values, none))
    parts = steps.reader(at_once.values)(program.tier)
    tried = choose(program, search(), none, parts)
    chosen = steps.reader(found.values)

    assert found.objective == pytest.approx(at_once.objective, rel=1e-6)
    assert tried.objective == pytest.approx(at_once.objective, rel=1e-6)
    assert without.objective > at_once.objective * (1 + 1e-4)
    for variables in steps.choices(program):
        assert chosen(variables) == pytest.approx(np.rint(chosen(variables)), abs=1e-6)


def test_choices_at_once_keep_the_rebates_in_reach() -> None:
    """Whole options for these rebates or better ones, near to the best for them; the program is as it was."""
    program, alone = build(fleet("S")), build(fleet("S"))
    start = likeliest(program, search().relax(program))
    for each in (program, alone):
        steps.count([*steps.nodes(each), each.replicas], pulp.LpContinuous)
    before, rows = steps.ranges(program), row_limits(program)
    found = choose(program, search(), start, at_once=True)
    chosen = steps.reader(found.values)
    steps.hold([alone.tier], start)
    with steps.room_to_round(alone, steps.ROOM_OF_MANY):
        least = search()(alone, None).objective

    assert steps.ranges(program) == before
    assert row_limits(program) == rows
    for one in range(0, len(program.tier), 2):  # of each SKU the lower tier and the upper
        lower, upper = chosen(program.tier)[one : one + 2].tolist()
        assert (lower, upper) in ((0, 0), (1, 0), (0, 1))
        assert upper >= start[program.tier[one + 1].name]
    assert chosen(program.choose) == pytest.approx(np.rint(chosen(program.choose)), abs=1e-6)
    assert found.objective <= 1.01 * least


def test_choices_at_once_without_a_plan_have_any_rebates() -> None:
    """Rebates that nothing can reach leave no options; the optimum is found nevertheless."""
    program, at_once = build(fleet("S")), build(fleet("S"))
    for each in (program, at_once):
        steps.count([*steps.nodes(each), each.replicas], pulp.LpContinuous)
    start = {each.name: 1.0 for each in program.tier}
    found = choose(program, search(), start, at_once=True)

    assert found.objective == pytest.approx(search()(at_once, None).objective, rel=1e-6)


def test_replicas_are_whole_and_carry_the_demand() -> None:
    """2.5 replicas would do, so 3 serve on 3 nodes: the best there is, as trying everything says."""
    case = problem(**service([25.0]))
    program = build(case)
    found = make_whole(program, search())

    assert found is not None
    assert replicas(program, found.values).sum() == 3
    assert objective_value(case, program.solution(found.values)) == pytest.approx(best(case).objective)


def test_two_services_that_fill_a_node_need_one_more() -> None:
    """Twice 2.5 replicas fill 5 nodes as fractions; whole they are twice 3 on 6, whatever comes first."""
    case = two_services()
    program = build(case)
    found = make_whole(program, search())

    assert found is not None
    assert replicas(program, found.values).ravel().tolist() == [3, 3]
    assert steps.reader(found.values)(program.order).sum() == 6
    assert objective_value(case, program.solution(found.values)) == pytest.approx(best(case).objective)


def test_room_is_part_of_the_largest_open_replica() -> None:
    """25 requests/s are asked for as 2.5 replicas of 10, and one more gives 1; a barred one, nothing."""
    program = build(two_services())
    program.replicas[1, 0].upBound = 0

    with steps.room_to_round(program, 0.25):
        assert [row_limits(program)[f"demand_{service}_0"][0] for service in (0, 1)] == pytest.approx(
            [2.75, 2.5]
        )
    assert [row_limits(program)[f"demand_{service}_0"][0] for service in (0, 1)] == pytest.approx([2.5, 2.5])


def test_room_is_no_more_than_replicas_carry() -> None:
    """Three at most: 2.5 and a whole one more would be 3.5."""
    program = build(two_services())
    program.replicas[0, 0].upBound = 3

    with steps.room_to_round(program, 1.0):
        assert row_limits(program)["demand_0_0"][0] == pytest.approx(3.0)


def test_rows_for_now_are_taken_out_again() -> None:
    """Nothing but what is added meanwhile goes."""
    program = build(two_services())
    before = row_limits(program)
    with steps.rows_for_now(program):
        program.add("one", pulp.lpSum(program.order.ravel()), pulp.LpConstraintLE, 3.0)
        program.add("two", pulp.lpSum(program.replicas.ravel()), pulp.LpConstraintLE, 3.0)
        assert len(row_limits(program)) == len(before) + 2

    assert row_limits(program) == before


def test_a_search_stays_with_what_is_used() -> None:
    """2.5 replicas may become 1 to 4, by one from 2 and from 3; of a service that has none, none."""
    program = build(two_services())
    for variable in program.replicas[:, 0]:
        variable.upBound = 9
    values = {program.replicas[0, 0].name: 2.5, program.order[0, 0].name: 4.0}
    whole._stay_with_used((program.replicas, program.order), values, 1)

    served, order = program.replicas[:, 0], program.order[0, 0]
    assert [(each.lowBound, each.upBound) for each in served] == [(1, 4), (0, 0)]
    assert (order.lowBound, order.upBound) == (3, 5)


def test_orders_are_rounded_and_replicas_stay_as_they_were_found() -> None:
    """5 nodes as fractions stay 5, of 5.5 there are 5 or 6; replicas are held, barred or not."""
    program = build(two_services())
    whole._round_orders(program, search())
    order = program.order[0, 0]
    assert (order.lowBound, order.upBound) == (5, 5)

    program = build(problem(**service([55.0])))
    whole._round_orders(program, search())
    assert (program.order[0, 0].lowBound, program.order[0, 0].upBound) == (5, 6)

    program = build(two_services())
    for variable in program.replicas.ravel():
        variable.upBound = 0
    found = {
        program.replicas[0, 0].name: 3.0,
        program.replicas[1, 0].name: 4.0,
        program.order[0, 0].name: 7.0,
    }
    whole._hold_as_found(program, Fitted(found, np.array([False])))
    assert [(each.lowBound, each.upBound) for each in program.replicas.ravel()] == [(3, 3), (4, 4)]
    assert program.order[0, 0].lowBound == 6

    program = build(two_services())
    for variable in program.replicas.ravel():
        variable.upBound = 9
    whole._hold_as_found(program, Fitted(found, np.array([True])), 1)
    assert [(each.lowBound, each.upBound) for each in program.replicas.ravel()] == [(2, 4), (3, 5)]


@pytest.mark.nightly
def test_a_job_keeps_every_pace_of_a_node_group() -> None:
    """Of a group that a job keeps all pausable options stay open where any pace is asked for; no others."""
    program, any_pace = build(fleet("M")), build(fleet("M"))
    relaxed = search().relax(program)
    bar_the_rest(program, relaxed)
    bar_the_rest(any_pace, relaxed, any_pace=True)
    few, more = (np.array([each.upBound > 0 for each in one.choose]) for one in (program, any_pace))
    options = program.problem.pausable_options
    place = options.job * 1000 + options.node_group

    assert more.sum() > few.sum()
    assert more.tolist() == np.isin(place, place[few]).tolist()


def test_a_rebate_that_is_mostly_taken_is_taken_whole() -> None:
    """With no orders at all a tier is taken where more than half of it is; a smaller part is none."""
    case = fleet("S")
    first, last = (np.flatnonzero(case.tiers.sku == 0)[place] for place in (0, -1))
    parts = np.zeros(len(case.tiers.sku))
    nothing = np.zeros((len(case.node_groups), case.periods))

    assert reached(case, nothing, parts) == []
    parts[[first, last]] = 0.4, 0.6
    assert reached(case, nothing, parts) == [last]
    parts[[first, last]] = 0.6, 0.4
    assert reached(case, nothing, parts) == [first]


def test_making_whole_leaves_the_program_as_it_was() -> None:
    """What was held, made a fraction or asked for more is as it was again; stuck, there is no plan."""
    program = build(problem(**service([25.0])))
    before, rows = steps.ranges(program), row_limits(program)
    make_whole(program, search())
    assert steps.ranges(program) == before
    assert row_limits(program) == rows

    steps.hold_within(program.order, np.zeros(program.order.shape), np.zeros(program.order.shape))
    assert make_whole(program, search()) is None


def test_a_dear_plan_is_improved() -> None:
    """A plan with a node too many, three replicas for 2.5 on four nodes: without that node it is the best."""
    case = problem(**service([25.0]))
    program = build(case)
    as_it_was = steps.ranges(program)
    for variable in program.order.ravel():
        variable.lowBound = variable.upBound = 4
    dear = search()(program, None)
    steps.restore(as_it_was)
    better = improve(program, dear, search())

    assert dear.status.has_plan
    assert better.objective < dear.objective
    assert 1000 * better.objective == pytest.approx(best(case).objective)
