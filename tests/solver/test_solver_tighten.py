"""The rows that fractions break: no plan breaks one, and the relaxation is nearer to the plans."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import size
from solver_cases import limits, node_groups, one_job, problem, run_option, service
from test_solver_optimum import best, draw_more, with_tiers

from benchmarks import fleets
from benchmarks.fleets import fleet
from solver import steps
from solver.build import build
from solver.problem import Objective, PausableOptions, Problem, Tiers
from solver.program import Program
from solver.tighten import keep_the_pace, split_by_rebate


def relaxed(program: Program) -> float:
    return steps.Search(0.0, time.monotonic() + 60, None).relax(program).objective


def every_sku(case: Problem) -> np.ndarray:
    return np.full(len(case.sku_names), True)


def tightened(case: Problem, *, best_only: bool = False) -> Program:
    program = build(case)
    keep_the_pace(program)
    split_by_rebate(program, every_sku(case), best_only=best_only)
    return program


def one_rebate(rebate: float) -> Problem:
    """A service that 4 nodes carry, of a dear SKU, or of one that gets cheaper from 8 nodes on."""
    one = service([40.0])
    serves = one["serve_options"]
    both = {
        field.name: np.repeat(getattr(serves, field.name), 2, axis=0) for field in dataclasses.fields(serves)
    }
    both["node_group"] = np.array([0, 1])
    usd = [[100.0], [1e6]]
    return problem(
        count=2,
        node_groups=node_groups(count=2, holding_usd_per_node=[[0.0], [0.0]], order_usd_per_node=usd),
        limits=limits(skus=2),
        tiers=Tiers(sku=[0], from_nodes=[8.0], rebate_fraction=[rebate]),  # type: ignore[arg-type]
        **one | {"serve_options": dataclasses.replace(serves, **both)},
    )


@given(seed=st.integers(0, 2**32 - 1), best_only=st.booleans())
@settings(max_examples=size(15, nightly=150), deadline=None, derandomize=True)
def test_no_plan_is_below_the_tightened_relaxation(seed: int, best_only: bool) -> None:
    """Trying everything finds nothing cheaper, and the rows only lift the relaxation."""
    case = with_tiers(draw_more(seed), np.random.default_rng(seed))
    case = dataclasses.replace(
        case, objective=Objective(money_weight=1.0, carbon_weight=0.0)
    )  # rebates count
    optimum = best(case)
    if optimum.solution is not None:
        bound = relaxed(tightened(case, best_only=best_only))
        slack = 1e-6 * abs(optimum.objective) + 1e-6

        assert 1000 * bound <= optimum.objective + slack
        assert bound >= relaxed(build(case)) - slack / 1000


@pytest.mark.parametrize("rebate", [0.5, 0.75])
def test_a_rebate_is_priced_as_in_whole(rebate: float) -> None:
    """4 nodes at full price cost what 8 at half do, 400; 8 at a quarter 200. In parts it is less."""
    case = one_rebate(rebate)
    plan = best(case)

    assert relaxed(tightened(case)) == pytest.approx(plan.objective / 1000, rel=1e-6)
    assert relaxed(build(case)) < 0.9 * relaxed(tightened(case))


def eight_nodes(**tasks: Any) -> Problem:
    """Of one SKU that is a quarter as dear from 4 nodes on."""
    usd = [[100.0]]
    tiers = Tiers(sku=np.array([0]), from_nodes=np.array([4.0]), rebate_fraction=np.array([0.75]))
    return problem(
        node_groups=node_groups(holding_usd_per_node=[[0.0]], order_usd_per_node=usd), tiers=tiers, **tasks
    )


PAUSABLE = PausableOptions(
    job=np.array([0]),
    node_group=np.array([0]),
    nodes=np.array([8]),
    node_hours=np.array([800.0]),
    node_hours_limit=np.array([[800.0]]),
    active_kw=np.zeros(1),
    usd_per_node_h=np.zeros((1, 1)),
    kgco2e_per_node_h=np.zeros((1, 1)),
)


@pytest.mark.parametrize("options", [{"run_options": run_option([[8]])}, {"pausable_options": PAUSABLE}])
def test_a_job_gets_a_rebate_in_full_where_it_is_reached(options: dict[str, Any]) -> None:
    """All 8 nodes are rebated, by 75 USD each, and none of them is used at full price."""
    case = eight_nodes(jobs=one_job(), **options)
    program, reached = tightened(case), relaxed(build(case))

    assert relaxed(program) == pytest.approx(reached, rel=1e-6)
    program.tier[0].upBound = 0
    assert relaxed(program) - reached == pytest.approx(8 * 0.075, rel=1e-6)


@pytest.mark.nightly
def test_a_made_up_fleet_is_nearer_to_its_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pace alone lifts the relaxation by a third of a percent, all the rows by 1.5 %."""
    monkeypatch.setitem(fleets.SIZES, "some", fleets.Size(6, 3, 6, 16, 2, 4))
    plain, paced = relaxed(build(fleet("some"))), build(fleet("some"))
    keep_the_pace(paced)

    assert relaxed(paced) > 1.003 * plain
    assert relaxed(tightened(fleet("some"))) > 1.015 * plain
