"""Trays that are bought alone, for the shelf: plans against trying every order, and what breaks the rule."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from solver_cases import changed, limits, node_groups, problem, service, steps

from solver.answer import answer
from solver.known import Answer
from solver.problem import Problem
from solver.verify import verify

RACK = 3  # trays
NEEDS = ((0, 1, 2.0), (0, 2, 4.0), (0, 3, 9.0))  # spares of so many trays in use
TOLERANCE = 1e-6


def fleet(replicas: float, tray_usd: tuple[float, float], supply: float = math.inf) -> Problem:
    """So many replicas of a tray each, on racks; spares of them are trays of racks, or trays alone."""
    groups = node_groups(
        count=2,
        periods=1,
        sku=[0, 1],
        order_unit_nodes=[RACK, 1],
        order_usd_per_node=np.array(tray_usd)[:, None],
        holding_usd_per_node=np.zeros((2, 1)),
        idle_kw=[1.0, 0.0],
        idle_usd_per_node=np.array([[5.0], [0.0]]),
        idle_kgco2e_per_node=np.zeros((2, 1)),
        racks_per_node=[1 / RACK, 0.0],
        spares_for=[-1, 0],
    )
    found = problem(
        count=2,
        node_groups=groups,
        spare_steps=steps(*NEEDS),
        limits=limits(skus=2, supply_nodes=np.array([[math.inf], [supply]])),
        **service([10.0 * replicas]),
    )
    assert isinstance(found, Problem)
    return found


def best(of: Problem) -> Answer:
    return answer(of, gap_fraction=0.0, time_limit_s=30.0)


@pytest.mark.parametrize("replicas", [1, 2, 3, 5])
@pytest.mark.parametrize("tray_usd", [(100.0, 100.0), (100.0, 220.0), (100.0, 700.0)])
def test_a_plan_equals_trying_every_order(replicas: int, tray_usd: tuple[float, float]) -> None:
    """Whole racks that hold what serves and the spares that the shelf lacks; an idle tray of a rack draws."""
    spares = next(count for _, count, reach in NEEDS if replicas <= reach)
    wanted = min(
        RACK * racks * tray_usd[0] + 5.0 * (RACK * racks - replicas) + shelf * tray_usd[1]
        for racks, shelf in itertools.product(range(6), range(4))
        if RACK * racks >= replicas + max(0, spares - shelf)
    )
    found = best(fleet(replicas, tray_usd))

    assert found.objective - 15.0 * replicas == pytest.approx(wanted)


def test_the_shelf_is_used_first_and_takes_no_rack() -> None:
    """Three trays serve and two lie on the shelf: one rack in place of two."""
    of = changed(fleet(3, (100.0, 110.0)), "limits", racks=np.array([1.0]))
    plan = best(of).solution

    assert plan is not None
    assert plan.orders[:, 0].tolist() == [1, 2]
    assert plan.spares[:, 0].tolist() == [0, 2]


def test_what_cannot_be_had_alone_comes_by_the_rack() -> None:
    plan = best(fleet(3, (100.0, 110.0), supply=1.0)).solution

    assert plan is not None
    assert plan.orders[:, 0].tolist() == [2, 0]


def test_an_empty_shelf_breaks_the_rule() -> None:
    of = fleet(3, (100.0, 110.0))
    plan = best(of).solution
    assert plan is not None
    bare = dataclasses.replace(plan, spares=np.array([[0], [1]]))

    assert verify(of, plan, TOLERANCE) == []
    assert {one.rule for one in verify(of, bare, TOLERANCE)} == {"spares"}
