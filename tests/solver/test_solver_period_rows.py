"""Rows for the services of each period: no plan breaks one, and the relaxation is nearer to the plans."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from solver_cases import node_groups, problem, service
from test_solver_optimum import draw_more, try_everything

from solver import backend
from solver import steps as searching
from solver.build import THOUSAND, build
from solver.period_rows import add_period_rows
from solver.problem import Objective, Problem, SpareSteps
from solver.program import Program
from solver.totals import weighted_total


def relaxed(program: Program) -> float:
    return searching.Search(0.0, time.monotonic() + 60, None).relax(program).objective


def least(program: Program) -> float:
    found = backend.solve(program.model, gap_fraction=0.0, time_limit_s=60)
    return found.objective if found.status.has_plan else np.inf


# Drawn fleets, with a plan, in which whole numbers take more than fractions in some period.
SEEDS = (29, 50, 96, 105, 134, 136, 137, 153, 216, 235, 246, 325, 349, 371, 401)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_plan_breaks_a_row_of_a_period(seed: int) -> None:
    """Rows are made at prices of one objective and tried at another: the best of everything stays."""
    case = draw_more(seed)
    other = dataclasses.replace(case, objective=Objective(1.0, 3.0))
    everything = try_everything(other)
    program = build(case)
    assert add_period_rows(program, time_limit_s=60)
    aim = (other.objective.money_weight / THOUSAND, other.objective.carbon_weight / THOUSAND)
    program.model.setObjective(weighted_total(program, *aim))

    assert relaxed(program) * THOUSAND <= everything + 1e-6 * abs(everything) + 1e-5
    if case.serve_options.whole.all():
        assert least(program) * THOUSAND == pytest.approx(everything, rel=1e-6, abs=1e-4)


def few_nodes(demand: float) -> Problem:
    """A service on nodes of 10 requests/s, of which two in use need one spare and five need two."""
    one = service([demand])
    table = SpareSteps(node_group=np.zeros(2), spares=np.array([1, 2]), reach=np.array([2.0, 5.0]))
    usd = [[100.0]]
    groups = node_groups(holding_usd_per_node=[[0.0]], order_usd_per_node=usd)
    return problem(node_groups=groups, spare_steps=table, **one)


def test_a_part_of_a_node_and_of_a_spare_is_counted_in_whole() -> None:
    """25 requests/s: three nodes and two spares, where fractions have 2.5 and 1."""
    case = few_nodes(25.0)
    program = build(case)
    before = relaxed(program)

    assert add_period_rows(program, time_limit_s=60) == 1
    assert relaxed(program) > 1.2 * before
    assert relaxed(program) == pytest.approx(least(build(case)), rel=1e-3)


def test_what_nobody_serves_gets_no_row() -> None:
    assert add_period_rows(build(problem()), time_limit_s=60) == 0
