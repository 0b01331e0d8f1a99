"""The steps of a first plan: choices made whole, replicas and orders made whole, and better plans nearby."""

from __future__ import annotations

import time

import numpy as np
import pulp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_cases import problem, service
from test_solver_optimum import best, draw_more

from benchmarks.fleets import fleet
from solver import steps
from solver.build import build
from solver.choosing import choose
from solver.program import Program
from solver.start import first_plan
from solver.verify import objective_value, verify
from solver.whole import improve, make_whole


def search(time_limit_s: float = 60.0) -> steps.Search:
    return steps.Search(0.0, time.monotonic() + time_limit_s, None)


def replicas(program: Program, values: object) -> np.ndarray:
    return steps.reader(values)(program.replicas)  # type: ignore[arg-type]


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_a_first_plan_with_every_other_decision_is_a_plan(seed: int) -> None:
    """Rebates, rental, parking and moves too: it keeps every rule and costs no less than its bound."""
    case = draw_more(seed)
    plan, _, bound = first_plan(build(case), gap_fraction=0.0, time_limit_s=20)

    if plan is not None:
        assert verify(case, plan, 1e-6) == []
        assert 1000 * bound <= objective_value(case, plan) + 1e-6 * abs(objective_value(case, plan)) + 1e-6


def test_choices_in_turns_end_at_the_best() -> None:
    """With time to spare the last search, of options and rebates together, is the same optimum as at once."""
    program = build(fleet("S"))
    steps.count([*steps.nodes(program), program.replicas], pulp.LpContinuous)
    in_turns = choose(program, search(), {})
    at_once = search()(program, None)
    chosen = steps.reader(in_turns.values)

    assert in_turns.objective == pytest.approx(at_once.objective, rel=1e-6)
    for variables in steps.choices(program):
        assert chosen(variables) == pytest.approx(np.rint(chosen(variables)), abs=1e-6)


def test_replicas_are_whole_and_carry_the_demand() -> None:
    """2.5 replicas would do, so 3 serve on 3 nodes: the best there is, as trying everything says."""
    case = problem(**service([25.0]))
    program = build(case)
    found = make_whole(program, search())

    assert found is not None
    assert replicas(program, found.values).sum() == 3
    assert objective_value(case, program.solution(found.values)) == pytest.approx(best(case).objective)


def test_making_whole_leaves_the_program_as_it_was() -> None:
    """What was held or made a fraction on the way is open and whole again; stuck, there is no plan."""
    program = build(problem(**service([25.0])))
    before = steps.ranges(program)
    make_whole(program, search())
    assert steps.ranges(program) == before

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
