"""The bound beside the plan: it is one, it is better than the relaxation's, and it ends when it is enough."""

from __future__ import annotations

import time

import pulp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import size
from test_solver_optimum import best, draw_more

from benchmarks.fleets import fleet
from solver import backend, steps
from solver import floor as floors
from solver.build import build
from solver.choosing import with_rebates
from solver.floor import Floor
from solver.program import Program


def search(stop: bool = False) -> steps.Search:
    return steps.Search(0.0, time.monotonic() + 30, (lambda: True) if stop else None)


def begun(program: Program, floor: Floor, stop: bool = False) -> Floor:
    floor.begin_with_choices(program, steps.ranges(program), search(stop), {})
    return floor


def relaxed(program: Program) -> float:
    return search().relax(program).objective


def whole_choices(program: Program) -> float:
    """The optimum where orders and replicas may be fractions, searched for in the open."""
    steps.count([*steps.nodes(program), program.replicas], pulp.LpContinuous)
    return search()(program, None).objective


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=size(6, nightly=15), deadline=None, derandomize=True)
def test_no_plan_is_below_the_bound(seed: int) -> None:
    """Whole choices with fractions of all else allow every plan and more, so no plan costs less."""
    case = draw_more(seed)
    optimum = best(case)
    if optimum.solution is not None:
        floor = begun(build(case), Floor(-float("inf"), 0.0))
        floor.end(at_once=False)

        assert 1000 * floor.bound <= optimum.objective + 1e-6 * abs(optimum.objective) + 1e-6


def test_whole_choices_lift_the_bound_while_the_program_is_used_for_all_else() -> None:
    """It is the optimum of whole choices, although every variable was held at 0 once the search had begun."""
    program, other = build(fleet("S")), build(fleet("S"))
    floor = begun(other, Floor(relaxed(program), 0.0))
    for variable in other.model.variables():
        variable.lowBound = variable.upBound = 0.0
    found = floor.end(at_once=False)

    assert found.status is backend.Status.OPTIMAL
    assert floor.bound == pytest.approx(whole_choices(program), rel=1e-6)
    assert floor.bound > relaxed(build(fleet("S"))) * (1 + 1e-4)


@pytest.mark.parametrize("many", [10**9, 1])
def test_whole_rebates_lift_the_bound_less_than_whole_choices(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than the relaxation, in branches or, of a large program, in its tightened relaxation alone."""
    monkeypatch.setattr(floors, "MANY", many)
    program = build(fleet("S"))
    relaxation = search().relax(program)
    floor = Floor(relaxation.objective, 0.0)
    floor.begin_with_rebates(program, relaxation, search())
    found = floor.end(at_once=False)

    assert found.status.has_plan is (many > 1)  # fractions choose nothing
    assert floor.bound > relaxation.objective * (1 + 1e-4)
    assert floor.bound <= whole_choices(program) * (1 + 1e-6)


def test_rebates_left_out_one_after_the_other_lift_the_bound_to_whole_choices() -> None:
    """Options made whole for the best rebates each time: the bound rises to the optimum, and never above."""
    program = build(fleet("S", seed=3))
    relaxation, optimum = search().relax(program), whole_choices(build(fleet("S", seed=3)))
    floor = Floor(relaxation.objective, 0.0)
    floor.begin_with_rebates(program, relaxation, search())
    found = floor.end(at_once=False)
    steps.count([*steps.nodes(program), program.replicas], pulp.LpContinuous)
    bounds = [floor.bound]
    while bounds[-1] < optimum * (1 - 1e-6) and len(bounds) < 20:
        assert not floor.knows(program, found)
        floor.leave_out(program, with_rebates(program, search(), found.values))
        assert floor.knows(program, found)
        floor.begin_with_other_rebates(search())
        found = floor.end(at_once=False)
        bounds.append(floor.bound)

    assert len(bounds) > 1
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(optimum, rel=1e-6)


def test_the_program_is_left_as_it_was() -> None:
    """Kinds and ranges are those of the steps, although the search has its own."""
    program = build(fleet("S"))
    program.order[0, 0].upBound = 0
    before = steps.ranges(program)
    begun(program, Floor(0.0, 0.0)).end(at_once=True)

    assert steps.ranges(program) == before


def test_a_plan_that_is_near_ends_the_search_without_a_stop() -> None:
    """A gap of 100 % is always reached, and nobody asked to stop; without a plan no bound is near."""
    floor = Floor(relaxed(build(fleet("S"))), 1.0)
    assert not floor.near
    floor.tell(floor.known)

    assert floor.near
    assert not begun(build(fleet("S")), floor).end(at_once=False).stopped


def test_a_bound_that_is_near_enough_says_no_more_than_that() -> None:
    """Of a plan for 100 with a gap of 1 %, 99 is told, were 99.7 known: how far a search came is chance."""
    floor = Floor(90.0, 0.01)
    floor._seen(backend.Progress(100.0, 98.0, 0.02, 1.0))
    floor.tell(100.0)
    assert (floor.bound, floor.near) == (98.0, False)
    floor._seen(backend.Progress(100.0, 99.7, 0.003, 2.0))

    assert floor.near
    assert floor.bound == pytest.approx(99.0, rel=1e-7)


def test_a_stop_is_told() -> None:
    """Who waits has to know that the search did not end by itself."""
    assert begun(build(fleet("M")), Floor(0.0, 0.0), stop=True).end(at_once=False).stopped


def test_nothing_comes_of_what_never_began() -> None:
    """The bound stays what was known."""
    floor = Floor(7.0, 0.0)

    assert not floor.end(at_once=False).status.has_plan
    assert floor.bound == 7.0
