"""Options made whole one after the other: each job once, near to the best, and exchanged where that pays."""

from __future__ import annotations

import dataclasses
import math
import time

import numpy as np
import pulp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import size
from solver_cases import limits, node_groups, one_job, problem, run_option
from test_solver_optimum import draw, draw_more

from benchmarks.fleets import fleet
from solver import steps
from solver.build import build
from solver.diving import _Dive, choose_rebates, dive, rounded
from solver.problem import Jobs, Problem, RunOptions, Tiers
from solver.program import Program
from solver.warm_relaxation import Fractions


def search(time_limit_s: float = 60.0) -> steps.Search:
    return steps.Search(0.0, time.monotonic() + time_limit_s, None)


def with_fractions(case: Problem) -> Program:
    """Choices are whole, what is counted may be a fraction, and no rebate is had."""
    program = build(case)
    steps.count([*steps.nodes(program), program.replicas], pulp.LpContinuous)
    steps.hold([program.tier], {})
    return program


@pytest.mark.parametrize(
    ("shares", "count", "partial", "whole"),
    [
        ([0.2, 0.7, 0.1], 1, False, [0, 1, 0]),
        ([1.5, 0.9, 0.6], 3, False, [1, 1, 1]),
        ([1.0, 2.0], 3, False, [1, 2]),
        ([0.3, 0.3], 1, True, [1, 0]),
        ([0.0, 0.0], 1, True, [0, 0]),
        ([0.4, 0.0], 1, False, [1, 0]),
    ],
)
def test_rounded_options_are_as_many_as_the_jobs(
    shares: list[float], count: int, partial: bool, whole: list[int]
) -> None:
    assert rounded(np.array(shares), count, partial=partial).tolist() == whole


@given(seed=st.integers(0, 2**32 - 1), more=st.booleans())
@settings(max_examples=size(8, nightly=40), deadline=None, derandomize=True)
def test_a_dive_ends_at_whole_options(seed: int, more: bool) -> None:
    """It costs what these options cost with fractions of all else; the program is as it was."""
    program = with_fractions(draw_more(seed) if more else draw(seed))
    before = steps.ranges(program)
    fractions, found = search().relax(program), dive(program, search(), {})

    assert steps.ranges(program) == before
    if found is None:
        return
    chosen = steps.reader(found.values)
    counted = [program.run, program.choose, program.left_out[~program.problem.jobs.partial]]
    for variables in counted:
        assert chosen(variables) == pytest.approx(np.rint(chosen(variables)), abs=1e-6)
    assert found.objective >= fractions.objective - 1e-6 * abs(fractions.objective) - 1e-9
    steps.hold([program.run, program.choose], found.values)
    held = search().relax(program)
    assert found.objective == pytest.approx(held.objective, rel=1e-6, abs=1e-9)


def test_a_dive_is_near_the_best() -> None:
    program = with_fractions(fleet("S"))
    best, found = search()(program, None), dive(program, search(), {})

    assert found is not None
    assert found.objective <= 1.005 * best.objective


@pytest.mark.parametrize(("within_reach", "taken"), [(1.0, [0, 1]), (100.0, [1, 0])])
def test_a_better_rebate_is_taken_where_it_pays(within_reach: float, taken: list[int]) -> None:
    """A third off from 6 nodes on pays for 6; from 600 on it does not: all stays as it was."""
    case = dataclasses.replace(
        problem(jobs=one_job(), run_options=run_option([[6]])),
        tiers=Tiers(
            sku=np.array([0, 0]),
            from_nodes=np.array([2.0, 6.0 * within_reach]),
            rebate_fraction=np.array([0.05, 0.33]),
        ),
    )
    program = build(case)
    start = {program.tier[0].name: 1.0, program.tier[1].name: 0.0}
    fractions = Fractions(program.model, time_limit_s=60.0)
    choose_rebates(program, fractions, start, search())
    held = steps.reader(fractions.values())(program.tier)
    steps.hold([program.tier], dict(zip([each.name for each in program.tier], taken, strict=True)))

    assert held.tolist() == taken
    assert fractions.solve() == pytest.approx(search().relax(program).objective)


def three_runs() -> Problem:
    """Three jobs on 3 nodes each, in the first group or, 10 USD more, the second; the first has 6 nodes."""
    runs = [
        run_option([[3], [3]], job=[job, job], node_group=[0, 1], usd=[[10.0], [20.0]]) for job in range(3)
    ]
    every = {
        column: np.concatenate([getattr(each, column) for each in runs])
        for column in (
            "job",
            "node_group",
            "start",
            "late_h",
            "nodes",
            "node_hours",
            "active_kw",
            "usd",
            "kgco2e",
        )
    }
    nothing = np.zeros(3)
    jobs = Jobs(name=("a", "b", "c"), optional=nothing > 0, left_out_usd=nothing, left_out_kgco2e=nothing)
    return problem(
        count=2,
        node_groups=node_groups(count=2),
        limits=limits(skus=2, supply_nodes=[[6.0], [np.inf]]),
        jobs=jobs,
        run_options=RunOptions(**every),
    )


def test_what_is_held_badly_is_exchanged() -> None:
    """All three are held at the dear run; two come back to the cheap one, for which there are nodes."""
    program = with_fractions(three_runs())
    fractions = Fractions(program.model, time_limit_s=60.0)
    places = [fractions.places(program.run[2 * job : 2 * job + 2]) for job in range(3)]
    held = _Dive(fractions, places, np.ones(3, dtype=int), np.zeros(3, dtype=bool))
    dear = held._all_held({job: (np.array([0, 1]), 0.0) for job in range(3)})
    held._alone = [0, 1, 2]
    cost = held.exchange(dear)

    assert cost == pytest.approx(search()(program, None).objective)
    assert cost < dear
    run = steps.reader(held.values)(program.run)
    assert sorted(run[::2].tolist()) == [0, 1, 1]


def test_what_leaves_no_plan_is_released_again() -> None:
    """Three on the six cheap nodes do not fit: all are as open as before, and cost the same."""
    program = with_fractions(three_runs())
    fractions = Fractions(program.model, time_limit_s=60.0)
    places = [fractions.places(program.run[2 * job : 2 * job + 2]) for job in range(3)]
    diving, before = (
        _Dive(fractions, places, np.ones(3, dtype=int), np.zeros(3, dtype=bool)),
        fractions.solve(),
    )

    assert math.isinf(diving._hold_all([0, 1, 2], {job: (np.array([1, 0]), 0.0) for job in range(3)}))
    assert fractions.solve() == pytest.approx(before)


def test_a_dive_without_a_plan_finds_none() -> None:
    """A run on three nodes, of which two can be had: there is nothing to round."""
    case = problem(limits=limits(supply_nodes=[[2.0]]), jobs=one_job(), run_options=run_option([[3]]))
    assert dive(with_fractions(case), search(), {}) is None


def test_an_option_that_leaves_no_plan_is_replaced_by_another() -> None:
    """Two thirds of the cheap run would fit, on two nodes of three; in whole it is the dear one."""
    case = problem(
        count=2,
        node_groups=node_groups(count=2),
        limits=limits(skus=2, supply_nodes=[[2.0], [np.inf]]),
        jobs=one_job(),
        run_options=run_option([[3], [3]], node_group=[0, 1], usd=[[10.0], [1000.0]]),
    )
    program = with_fractions(case)
    assert steps.reader(search().relax(program).values)(program.run) == pytest.approx([2 / 3, 1 / 3])
    found = dive(program, search(), {})

    assert found is not None
    assert steps.reader(found.values)(program.run).tolist() == [0, 1]


def test_a_dive_hears_a_stop() -> None:
    """Asked to stop before it began, it says so, and that there is no plan."""
    program = with_fractions(fleet("S"))
    found = dive(program, steps.Search(0.0, time.monotonic() + 60, lambda: True), {})

    assert found is not None
    assert found.stopped
    assert not found.status.has_plan or math.isfinite(found.objective)
