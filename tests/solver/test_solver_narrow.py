"""Steps of spares that end at what a known plan's cost allows: the best plan stays, and bounds are nearer."""

from __future__ import annotations

import time

import numpy as np
import pytest
from test_solver_optimum import draw_more, try_everything
from test_solver_period_rows import few_nodes

from solver import answer as answers
from solver import backend, other_choices
from solver import steps as searching
from solver.build import THOUSAND, build
from solver.narrow import narrow
from solver.program import Program
from solver.warm_relaxation import Fractions


def relaxed(program: Program) -> float:
    return searching.Search(0.0, time.monotonic() + 60, None).relax(program).objective


# Drawn fleets with a plan and steps of spares, of which some end sooner at the cost of the best plan.
SEEDS = (2, 11, 35, 41, 58, 82, 87)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_plan_stays(seed: int) -> None:
    case = draw_more(seed)
    best = try_everything(case)
    program = build(case)
    before = relaxed(program)
    narrow(program, best / THOUSAND, time_limit_s=60)

    assert any(step.upBound == 0 for steps in program.reaches.values() for step in steps)
    assert relaxed(program) >= before - 1e-9
    if case.serve_options.whole.all():
        found = backend.solve(program.model, gap_fraction=0.0, time_limit_s=60)
        assert found.objective * THOUSAND == pytest.approx(best, rel=1e-6, abs=1e-4)


def test_steps_end_where_the_cost_does() -> None:
    """2.5 nodes are needed, and 3 would use 2 spares: as fractions each takes 2 / 3 of one.

    At the cost of 2.75 such nodes, idle power apart, the first step reaches 2 and the second the rest.
    """
    program = build(few_nodes(25.0))
    (row, steps), *_ = program.reaches.items()
    least = relaxed(program)
    narrow(program, 1.1 * least, time_limit_s=60)
    reached = [-program.model.constraints[row].expr[step] for step in steps]
    assert reached == pytest.approx([2.0, 0.75], abs=0.05)
    assert relaxed(program) > 1.01 * least


def test_what_is_held_counts() -> None:
    """A column that is held takes its part of the most, as one that is open."""
    program = build(few_nodes(10.0))
    used = program.in_use[0, 0]
    used.lowBound = used.upBound = 1.0
    fractions = Fractions(program.model, time_limit_s=60)
    fractions.keep_below(1.0)
    assert fractions.most({used: 2.0}) == 2.0


def test_a_program_in_the_middle_is_narrowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the cost of the plan of its choices; the best plan of all is found as without."""
    cost = list[float]()

    def watched(program: Program, at_most: float, **limits: object) -> None:
        cost.append(at_most)
        narrow(program, at_most, time_limit_s=60)

    monkeypatch.setattr(other_choices, "narrow", watched)
    case = draw_more(SEEDS[0])
    alone = answers.answer(case, gap_fraction=0.0, time_limit_s=60)
    assert not cost
    monkeypatch.setattr("solver.known.MIDDLE", 0)
    found = answers.answer(case, gap_fraction=0.0, time_limit_s=60)
    assert found.objective == pytest.approx(alone.objective, rel=1e-6)
    assert cost
    assert cost[0] * THOUSAND >= found.objective - 1e-6
    assert np.isfinite(found.bound)
