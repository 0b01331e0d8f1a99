"""The first plan of a large fleet: it holds, it is no better than the best, and stopping in it keeps it."""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import size
from solver_cases import changed, cohort, limits, node_groups, one_job, problem, run_option, service
from test_solver_optimum import best, draw, draw_more

from benchmarks.fleets import fleet
from solver import answer as answers
from solver import backend, floor, start, whole
from solver.answer import answer
from solver.backend import Outcome, Status
from solver.build import build
from solver.floor import Floor
from solver.known import Answer
from solver.problem import Problem, ServeOptions, Solution, Tiers
from solver.program import Program
from solver.promising import bar_the_rest, cheapest, likeliest
from solver.start import FirstPlan, first_plan, plan_of_choices
from solver.steps import Search, hold, ranges, restore
from solver.verify import objective_value, verify


def check(case: Problem, plan: Solution | None, bound: float, optimum: Answer) -> None:
    """A plan keeps every rule, and the optimum lies between its bound and its cost; else there is none."""
    if optimum.solution is None:
        assert plan is None
    elif plan is not None:
        off = 1e-6 * abs(optimum.objective) + 1e-6
        assert verify(case, plan, 1e-6) == []
        assert 1000 * bound - off <= optimum.objective <= objective_value(case, plan) + off


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=size(8, nightly=30), deadline=None, derandomize=True)
def test_a_first_plan_is_a_plan(seed: int) -> None:
    """It keeps every rule; the optimum lies between its bound and its cost. Without a plan, it has none."""
    case = draw(seed)
    optimum = best(case)
    plan, stopped, bound = first_plan(build(case), gap_fraction=0.0, time_limit_s=20)

    assert not stopped
    check(case, plan, bound, optimum)


@pytest.mark.parametrize("seed", range(size(12, nightly=60)))
def test_a_plan_of_the_choices_alone_is_a_plan_and_leaves_the_program(seed: int) -> None:
    """It keeps every rule and costs no less than the best; what it held is open again."""
    case = draw(seed)
    program, optimum = build(case), best(case)
    before = ranges(program)
    plan, stopped, _ = plan_of_choices(program, gap_fraction=0.0, time_limit_s=20)

    assert not stopped
    assert ranges(program) == before
    check(case, plan, -math.inf, optimum)


@pytest.mark.parametrize("seed", range(130, 130 + size(12, nightly=60)))
def test_a_plan_of_the_choices_has_whole_replicas(seed: int) -> None:
    """Parts of replicas are made whole in it, not rounded up to what there is no room for."""
    drawn = draw_more(seed)
    case = changed(drawn, "serve_options", whole=[False] * len(drawn.serve_options.service))
    plan, _, _ = plan_of_choices(build(case), gap_fraction=0.0, time_limit_s=20)

    assert plan is None or verify(case, plan, 1e-6) == []


def test_a_program_in_the_middle_starts_from_its_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is given the plan that the choices gave, and what comes out is as good as without."""
    given: list[Solution | None] = []
    begun: list[bool] = []
    planned, solved = answers.plan_of_choices, backend.solve

    def watched(program: Program, **options: Any) -> FirstPlan:
        found = planned(program, **options)
        given.append(found.plan)
        begun.clear()
        return found

    def counted(model: object, **options: Any) -> Outcome:
        begun.append(bool(options.get("start")))
        return solved(model, **options)

    for seed in range(size(6, nightly=30)):
        case = draw(seed)
        optimum = best(case)
        with monkeypatch.context() as exchanged:
            exchanged.setattr("solver.known.MIDDLE", 0)
            exchanged.setattr(answers, "plan_of_choices", watched)
            exchanged.setattr(backend, "solve", counted)
            found = answer(case, gap_fraction=0.0, time_limit_s=20)
        assert begun[0] is (given[-1] is not None)
        assert found.status is optimum.status
        assert found.objective == pytest.approx(optimum.objective, rel=1e-6, nan_ok=True)
    assert any(given)


def test_who_watches_sees_plans_of_the_choices_and_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound of a part is none of the program: the lower of both is told with that of other choices."""
    seen: list[backend.Progress] = []

    def solved(model: Any, *, watch: backend.Watch | None = None, **options: Any) -> Outcome:
        if watch is not None:
            watch(backend.Progress(7e6, 0.001, 1.0, 0.0))
        return plain(model, **options)

    plain = backend.solve
    monkeypatch.setattr("solver.known.MIDDLE", 0)
    case = draw(29)  # its other choices take a search, too
    monkeypatch.setattr(backend, "solve", solved)
    found = answer(case, gap_fraction=0.0, time_limit_s=20, watch=seen.append)
    *parts, last = [(each.incumbent, each.bound, each.gap_fraction) for each in seen]
    assert len(parts) > 1
    assert all(incumbent >= found.objective - 1e-6 for incumbent, _, _ in parts)
    assert all((bound, gap) == (-math.inf, math.inf) for _, bound, gap in parts)
    incumbent, bound, gap = last
    assert incumbent >= found.objective - 1e-6
    assert (bound, gap) == (1.0, pytest.approx(1 - 1 / incumbent))


def test_a_stop_among_the_choices_is_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """No search begins after it, and the plan that was found by then is kept."""
    monkeypatch.setattr("solver.known.MIDDLE", 0)
    searched: list[Outcome] = []
    solved = backend.solve

    def stopped(model: Any, **options: Any) -> Outcome:
        outcome = solved(model, **options)
        searched.append(dataclasses.replace(outcome, stopped=len(searched) == 1))
        return searched[-1]

    monkeypatch.setattr(backend, "solve", stopped)
    case = next(case for case in map(draw, range(50)) if len(case.run_options) and best(case).solution)
    searched.clear()
    found = answer(case, gap_fraction=0.0, time_limit_s=20)
    assert len(searched) == 2
    assert found.status is Status.INTERRUPTED
    assert found.solution is not None


@pytest.mark.parametrize("drawn", [draw, draw_more])
def test_a_first_plan_of_a_large_program_is_a_plan(
    drawn: Callable[[int], Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options rounded one after the other, replicas fitted into orders: it is one, and the bound is below."""
    for place in (start, floor, whole):
        monkeypatch.setattr(place, "MANY", 0)
    plans = 0
    for seed in range(size(12, nightly=60)):
        case = drawn(seed)
        optimum = best(case)
        plan, stopped, bound = first_plan(build(case), gap_fraction=0.0, time_limit_s=20)

        assert not stopped
        check(case, plan, bound, optimum)
        plans += plan is not None
    assert plans > size(3, nightly=20)


@pytest.mark.nightly
def test_a_first_plan_of_a_large_program_is_near_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (start, floor, whole):
        monkeypatch.setattr(place, "MANY", 0)
    plan, _, bound = first_plan(build(fleet("S")), gap_fraction=0.0, time_limit_s=20)

    assert plan is not None
    assert verify(fleet("S"), plan, 1e-6) == []
    assert 1000 * bound <= objective_value(fleet("S"), plan) <= 1.06 * best(fleet("S")).objective


def test_replicas_that_cannot_be_rounded_up_are_let_go() -> None:
    """With fractions 1.5 of 2 replicas fit the cheap group, supply 1.5: rounded up they do not, 1 + 1 do."""
    either = ServeOptions(
        service=[0, 0],  # type: ignore[arg-type]
        node_group=[0, 1],  # type: ignore[arg-type]
        capacity=np.full((2, 1), 10.0),
        nodes=np.ones(2),
        standby_fraction=np.zeros((2, 1)),
        node_hours=np.full((2, 1), 100.0),
        active_kw=np.ones(2),
        usd=np.full((2, 1), 15.0),
        kgco2e=np.full((2, 1), 6.0),
    )
    case = problem(
        count=2,
        node_groups=node_groups(count=2, holding_usd_per_node=[[100.0], [300.0]]),
        limits=limits(skus=2, supply_nodes=[[1.5], [np.inf]]),
        **service([20.0]) | {"serve_options": either},
    )
    plan, _, _ = first_plan(build(case), gap_fraction=0.0, time_limit_s=20)

    assert plan is not None
    assert verify(case, plan, 1e-6) == []
    assert plan.replicas.ravel().tolist() == [1, 1]
    assert objective_value(case, plan) == pytest.approx(best(case).objective)


def test_choices_that_leave_no_plan_are_let_go() -> None:
    """The cheap run and half a replica share the 1.5 nodes on sale; a whole one needs the run elsewhere."""
    case = problem(
        count=2,
        node_groups=node_groups(count=2),
        cohorts=cohort(nodes=2, node_group=[1], retire_usd_per_node=[[1000.0]]),
        limits=limits(skus=2, supply_nodes=[[1.5], [0.0]]),
        jobs=one_job(),
        run_options=run_option([[1], [1]], job=[0, 0], node_group=[0, 1], usd=[[20.0], [500.0]]),
        **service([5.0]),
    )
    plan, _, _ = first_plan(build(case), gap_fraction=0.0, time_limit_s=20)

    assert plan is not None
    assert verify(case, plan, 1e-6) == []
    assert plan.run.tolist() == [0, 1]
    assert objective_value(case, plan) == pytest.approx(best(case).objective)


def test_better_choices_of_the_bound_are_made_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps take the dear run and bar the cheap one with its nodes; the search for the bound finds it."""
    case = problem(
        count=2,
        node_groups=node_groups(count=2),
        limits=limits(skus=2),
        jobs=one_job(),
        run_options=run_option([[2], [2]], job=[0, 0], node_group=[0, 1], usd=[[20.0], [500.0]]),
    )

    def dear(program: Program, *_: object, **__: object) -> Outcome:
        program.run[0].upBound = program.order[0, 0].upBound = 0
        return Outcome(Status.OPTIMAL, 1e6, 0.0, 0.0, 0.0, {program.run[1].name: 1.0})

    monkeypatch.setattr(start, "choose", dear)
    plan, stopped, _ = first_plan(build(case), gap_fraction=0.0, time_limit_s=20)

    assert plan is not None
    assert not stopped
    assert plan.run.tolist() == [1, 0]
    assert objective_value(case, plan) == pytest.approx(best(case).objective)


def test_rebates_of_the_bound_get_options_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first choice without any rebate is left for one with those that the bound takes."""
    choose, suited, whole_plan = start.choose, start._for_these_rebates, start._whole_plan
    asked, made = list[Outcome](), list[set[float]]()

    def without(program: Program, search: Search, *_: object) -> Outcome:
        before = ranges(program)
        hold([program.tier], {})
        found = choose(program, search, {}, at_once=False)
        restore(before)
        return found

    def noted(program: Program, bound: Outcome, search: Search) -> Outcome:
        before = ranges(program)
        found = suited(program, bound, search)
        none = {each.name: 0.0 for each in program.tier}
        other = suited(program, dataclasses.replace(bound, values={**bound.values, **none}), search)
        assert {name: round(other.values[name]) for name in none} == none
        assert ranges(program) == before
        asked.extend([bound, found])
        return found

    def counted(program: Program, chosen: Outcome, *rest: Any) -> Any:
        made.append({each.name for each in program.tier if chosen.values[each.name] > 0.5})
        return whole_plan(program, chosen, *rest)

    monkeypatch.setattr(start, "choose", lambda *parts, at_once, again: without(*parts))
    monkeypatch.setattr(start, "_for_these_rebates", noted)
    monkeypatch.setattr(start, "_whole_plan", counted)
    case = fleet("S")
    program = build(case)
    plan, _, bound = first_plan(program, gap_fraction=0.001, time_limit_s=5)

    took = [{each.name for each in program.tier if one.values[each.name] > 0.5} for one in asked]
    reached = took[::2]
    assert reached[0]
    assert took[1::2] == reached
    assert all(each not in reached[:place] for place, each in enumerate(reached))  # none twice
    assert made[:2] == [set(), reached[0]]
    assert plan is not None
    assert 1000 * bound <= objective_value(case, plan)


@pytest.mark.parametrize("rebates", [True, False])
def test_the_bound_is_looked_for_beside_the_plan(rebates: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With whole rebates, where there are any, from before the choices on; else with whole choices."""
    seen: list[str] = []

    def noted(place: object, name: str) -> None:
        function = getattr(place, name)

        def shown(*parts: object, **named: object) -> object:
            seen.append(name)
            return function(*parts, **named)

        monkeypatch.setattr(place, name, shown)

    for place, name in (
        (Floor, "begin_with_rebates"),
        (start, "choose"),
        (Floor, "begin_with_choices"),
        (start, "make_whole"),
    ):
        noted(place, name)
    case = fleet("S") if rebates else dataclasses.replace(fleet("S"), tiers=Tiers.none(4))
    plan, _, bound = first_plan(build(case), gap_fraction=0.005, time_limit_s=5)

    assert plan is not None
    assert 1000 * bound <= objective_value(case, plan)
    first, then = (["begin_with_rebates"], []) if rebates else ([], ["begin_with_choices"])
    assert seen[:3] == [*first, "choose", *then, "make_whole"][:3]


@pytest.mark.parametrize("seed", range(size(6, nightly=60)))
def test_a_plan_with_spares_is_searched_on_with_all_open(seed: int) -> None:
    """From a plan held far from the best, the optimum is found, and no bound of it is above the optimum.

    What was barred for the plan is open meanwhile, and barred again after it.
    """
    drawn = (draw_more(each) for each in itertools.count(1000 * seed))
    case = next(each for each in drawn if build(each).reaches and best(each).solution is not None)
    program, optimum = build(case), best(case)
    known = plan_of_choices(program, gap_fraction=0.0, time_limit_s=20).plan or optimum.solution
    assert known is not None
    as_it_was = ranges(program)
    for variable in program.order.ravel():
        variable.upBound = variable.lowBound
    barred = ranges(program)
    cost = objective_value(case, known) / 1000 + 1  # what the start lacks counts: the search completes it
    values = program.start(known)
    lifted = Floor(-math.inf, 0.0)
    began = Outcome(Status.TIME_LIMIT, cost, -math.inf, math.inf, 0.0, values)
    found = start._searched(program, as_it_was, began, Search(0.0, time.monotonic() + 20, None), lifted)

    assert ranges(program) == barred
    check(case, program.solution(found.values), lifted.bound, optimum)
    assert 1000 * lifted.bound == pytest.approx(optimum.objective, rel=1e-6, abs=1e-4)
    assert 1000 * found.objective == pytest.approx(optimum.objective, rel=1e-6, abs=1e-4)


@pytest.mark.parametrize(("few", "times"), [(0, 0), (30_000, 1)])
def test_only_programs_of_few_variables_are_searched_on(
    few: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nodes have spares; a larger one has no time for it, and its search for the bound goes on."""
    cases = (draw_more(each) for each in itertools.count())
    case = next(each for each in cases if build(each).reaches and best(each).solution is not None)
    searched, function = list[Floor](), start._searched

    def noted(*parts: Any) -> Outcome:
        searched.append(parts[-1])
        return function(*parts)

    monkeypatch.setattr(start, "_searched", noted)
    monkeypatch.setattr(start, "FEW", few)
    plan, _, bound = first_plan(build(case), gap_fraction=0.0, time_limit_s=20)
    assert len(searched) == times
    check(case, plan, bound, best(case))


def test_what_is_near_or_stopped_is_not_searched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    case = draw_more(0)
    program = build(case)
    monkeypatch.setattr(start.backend, "solve", lambda *_, **__: pytest.fail("searched"))
    far = Outcome(Status.TIME_LIMIT, 10.0, -math.inf, math.inf, 0.0, {})
    search = Search(0.1, time.monotonic() + 20, None)
    for found, lifted in (
        (dataclasses.replace(far, stopped=True), Floor(1.0, 0.1, cost=10.0)),
        (dataclasses.replace(far, status=Status.NO_INCUMBENT), Floor(1.0, 0.1)),
        (far, Floor(9.9, 0.1, cost=10.0)),
    ):
        assert start._searched(program, ranges(program), found, search, lifted) is found


def test_the_head_start_does_not_change_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is solved whole afterwards, so that what was barred at first is open again."""
    case = draw(11)
    monkeypatch.setattr("solver.known.LARGE", 1)

    assert answer(case, gap_fraction=0.0, time_limit_s=20).objective == pytest.approx(best(case).objective)


def test_stopping_in_the_head_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop is a stop: no second search begins, and what was found is kept with no bound claimed."""
    case = problem(jobs=one_job(), run_options=run_option([[2]]), **service([25.0]))
    plan = best(case).solution
    monkeypatch.setattr("solver.known.LARGE", 1)
    monkeypatch.setattr(answers, "first_plan", lambda *_, **__: FirstPlan(plan, True))
    kept = answer(case, gap_fraction=0.0, time_limit_s=20)
    monkeypatch.setattr(answers, "first_plan", lambda *_, **__: FirstPlan(None, True))
    nothing = answer(case, gap_fraction=0.0, time_limit_s=20)

    assert (kept.status, kept.solution, kept.gap_fraction) == (Status.INTERRUPTED, plan, math.inf)
    assert (nothing.status, nothing.solution) == (Status.NO_INCUMBENT, None)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=size(4, nightly=10), deadline=None, derandomize=True)
def test_a_first_plan_leaves_the_program_as_it_was(seed: int) -> None:
    """What was barred, held or made a fraction for the search is open and whole again."""
    program = build(draw(seed))
    before = [(each.lowBound, each.upBound, each.cat) for each in program.model.variables()]
    first_plan(program, gap_fraction=0.0, time_limit_s=20)

    assert before == [(each.lowBound, each.upBound, each.cat) for each in program.model.variables()]


def test_work_is_priced_where_it_is_cheapest() -> None:
    """Three nodes' work over periods that take 2 at most: 2 at the price of 1 and 1 at 4; as tried out."""
    price, most = np.array([[5.0, 1.0, 4.0]]), np.full((1, 3), 2.0)
    ways = [way for way in product(range(3), repeat=3) if sum(way) == 3]
    tried = min(float(np.dot(way, price[0])) for way in ways)

    assert cheapest(np.array([3.0]), most, price) == pytest.approx([6.0])
    assert tried == 6.0


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=size(4, nightly=10), deadline=None, derandomize=True)
def test_barring_keeps_the_relaxation(seed: int) -> None:
    """Whatever the relaxation uses stays, so that its optimum does; and every job has a likeliest way."""
    program = build(draw(seed))
    relaxed = backend.relax(program.model, time_limit_s=20)
    if relaxed.status is not Status.OPTIMAL:
        return
    start = likeliest(program, relaxed)
    bar_the_rest(program, relaxed)
    again = backend.relax(program.model, time_limit_s=20)
    problem = program.problem
    jobs = np.concatenate([problem.run_options.job, problem.pausable_options.job])
    ways = np.array([start[each.name] for each in (*program.run, *program.choose)])

    assert again.objective == pytest.approx(relaxed.objective, rel=1e-6, abs=1e-9)
    for job in np.unique(jobs):
        assert ways[jobs == job].sum() == problem.jobs.count[job]


def test_a_search_with_no_time_left_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large program takes seconds to write down: not where nothing could come of it."""
    case = problem(**service([25.0]))
    monkeypatch.setattr("solver.known.build", lambda _: pytest.fail("a program was written down"))
    late = answer(case, gap_fraction=0.0, time_limit_s=0.0)
    stopped = answer(case, gap_fraction=0.0, time_limit_s=20, should_stop=lambda: True)

    assert (late.status, late.solution, late.bound) == (Status.NO_INCUMBENT, None, -math.inf)
    assert (stopped.status, stopped.solution) == (Status.NO_INCUMBENT, None)


def test_a_plan_that_was_told_is_kept_though_the_engine_takes_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody saw "best so far" and stopped: a plan that holds is looked for, and found."""
    case = problem(**service([25.0]))
    solve, seen = backend.solve, []

    def taken_back(model: object, **wanted: object) -> Outcome:
        if seen:
            return solve(model, **wanted)  # type: ignore[arg-type]
        seen.append(wanted)
        wanted["watch"](backend.Progress(1.0, 0.0, 1.0, 0.1))  # type: ignore[operator]
        return Outcome(Status.NO_INCUMBENT, math.nan, 0.0, math.inf, 0.1, {}, stopped=True)

    monkeypatch.setattr(backend, "solve", taken_back)
    kept = answer(case, gap_fraction=0.0, time_limit_s=20, watch=lambda _: None)

    assert kept.status is Status.INTERRUPTED
    assert kept.solution is not None
    assert verify(case, kept.solution, 1e-6) == []


def test_a_stop_among_fractions_keeps_a_plan_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped with parts of replicas for which there is no room once they are whole: another plan holds."""
    drawn = draw_more(136)
    case = changed(drawn, "serve_options", whole=[False] * len(drawn.serve_options.service))
    solve, found = backend.solve, []

    def stopped(model: object, **wanted: object) -> Outcome:
        outcome = solve(model, **wanted)  # type: ignore[arg-type]
        found.append(
            outcome if found else dataclasses.replace(outcome, status=Status.INTERRUPTED, stopped=True)
        )
        return found[-1]

    broken = build(case)
    assert verify(case, broken.solution(solve(broken.model, gap_fraction=0.0, time_limit_s=20).values), 1e-6)
    monkeypatch.setattr(backend, "solve", stopped)
    kept = answer(case, gap_fraction=0.0, time_limit_s=20)

    assert kept.status is Status.INTERRUPTED
    assert kept.solution is not None
    assert verify(case, kept.solution, 1e-6) == []
