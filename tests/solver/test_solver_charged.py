"""What the program charges is what the account adds up, and a false price in either is caught."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from solver_cases import limits, node_groups, problem, service

from solver import account, totals
from solver.build import build
from solver.known import check
from solver.problem import (
    Adoptions,
    Cohorts,
    Contracts,
    Jobs,
    Moves,
    Objective,
    PausableOptions,
    Places,
    Problem,
    RunOptions,
    Sales,
    Solution,
    Tiers,
    Work,
    WorkOptions,
)

PERIODS, GROUPS = 3, 3
FAMILIES = (
    "order",
    "rebated",
    "retire",
    "sell",
    "move",
    "rented",
    "unfilled",
    "commit",
    "in_service",
    "beyond",
    "parked",
    "run",
    "left_out",
    "replicas",
    "started",
    "begun",
    "serves",
    "shed",
    "work",
    "adopt",
    "sign",
    "lost",
    "lost_done",
    "reuse",
    "done",
    "matched",
)


def everything(seed: int) -> Problem:
    """A problem with a row of every table and a price on every decision, drawn at random.

    Three node groups: one SKU at two sites, between which it moves, and one that is rented under a term.
    """
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> NDArray[np.float64]:
        return rng.uniform(1.0, 9.0, shape)

    flat = (GROUPS, PERIODS)
    groups = node_groups(
        periods=PERIODS,
        count=GROUPS,
        sku=[0, 0, 1],
        site=[0, 1, 1],
        order_unit_nodes=[1, 2, 1],
        lead_periods=[0, 1, 0],
        holding_usd_per_node=drawn(*flat),
        holding_kgco2e_per_node=drawn(*flat),
        order_usd_per_node=drawn(*flat),
        idle_kw=drawn(GROUPS),
        idle_usd_per_node=drawn(*flat),
        idle_kgco2e_per_node=drawn(*flat),
        hours=[100.0, 120.0, 90.0],
        rental_limit_nodes=np.full(flat, 9.0),
        rental_usd_per_node=drawn(*flat),
        rental_kgco2e_per_node=drawn(*flat),
        rental_term_periods=[0, 0, 2],
        unfilled_usd_per_node=drawn(*flat),
        unfilled_kgco2e_per_node=drawn(*flat),
        term_left_usd_per_node=drawn(*flat),
        may_park=[True] * GROUPS,
        off_kw=drawn(GROUPS),
        off_usd_per_node=drawn(*flat),
        off_kgco2e_per_node=drawn(*flat),
        space_kw=drawn(GROUPS),
    )
    rows = (2, PERIODS)
    prices = ("usd", "kgco2e", "start_usd", "start_kgco2e", "deployed_usd", "begun_usd")
    serving = service([25.0, 30.0, 40.0], nodes=[0.7], **{name: drawn(1, PERIODS) for name in prices})
    serving["services"] = type(serving["services"])(
        name=("chat",), demand=serving["services"].demand, unmet_usd=drawn(1, PERIODS)
    )
    return problem(
        periods=PERIODS,
        count=GROUPS,
        site_names=("dallas", "oregon"),
        sku_names=("owned", "rented"),
        node_groups=groups,
        cohorts=Cohorts(
            node_group=np.array([0, 1]),
            nodes=np.array([4, 0]),
            keep_usd_per_node=drawn(*rows),
            keep_kgco2e_per_node=drawn(*rows),
            retire_usd_per_node=-drawn(*rows),
            must_retire_by=np.array([PERIODS, PERIODS]),
            reuse_limit=np.array([3, 0]),
            reuse_usd_per_node=-drawn(*rows),
            reuse_kgco2e_per_node=-drawn(*rows),
        ),
        moves=Moves(
            from_cohort=np.array([0]),
            to_cohort=np.array([1]),
            lead_periods=np.array([1]),
            usd_per_node=drawn(1, PERIODS),
            kgco2e_per_node=drawn(1, PERIODS),
            away_fraction=np.array([[0.25, 0.5, 0.0]]),
        ),
        sales=Sales(
            node_group=np.array([2]),
            ordered=np.array([0]),
            usd_per_node=-drawn(1, PERIODS),
            may_sell=np.ones((1, PERIODS)),
        ),
        tiers=Tiers(
            sku=np.array([0, 0]), from_nodes=np.array([2.0, 4.0]), rebate_fraction=np.array([0.1, 0.2])
        ),
        jobs=Jobs(
            name=("train", "search"),
            optional=[True, True],  # type: ignore[arg-type]
            left_out_usd=drawn(2),
            left_out_kgco2e=drawn(2),
            count=[2, 2],  # type: ignore[arg-type]
        ),
        run_options=RunOptions(
            job=np.array([0]),
            node_group=np.array([0]),
            start=np.array([0]),
            late_h=np.array([0.0]),
            nodes=np.array([[2, 1, 0]]),
            node_hours=np.array([[150.0, 60.0, 0.0]]),
            active_kw=drawn(1, PERIODS),
            usd=drawn(1, PERIODS),
            kgco2e=drawn(1, PERIODS),
        ),
        pausable_options=PausableOptions(
            job=np.array([1]),
            node_group=np.array([1]),
            nodes=np.array([2]),
            node_hours=np.array([100.0]),
            node_hours_limit=np.full((1, PERIODS), 80.0),
            active_kw=drawn(1),
            usd_per_node_h=drawn(1, PERIODS),
            kgco2e_per_node_h=drawn(1, PERIODS),
            stops_fraction=np.array([0.8]),
            stopped_usd_per_node_h=drawn(1, PERIODS),
            stopped_kgco2e_per_node_h=drawn(1, PERIODS),
        ),
        **serving,
        work=Work(name=("notebooks",), demand_h=np.full((1, PERIODS), 50.0)),
        work_options=WorkOptions(
            work=np.array([0]),
            node_group=np.array([2]),
            speed=np.array([1.0]),
            active_kw=drawn(1),
            usd_per_node_h=drawn(1, PERIODS),
            kgco2e_per_node_h=drawn(1, PERIODS),
            uses=np.array([[True]]),
            stops_fraction=np.array([0.5]),
            stopped_usd_per_node_h=drawn(1, PERIODS),
            stopped_kgco2e_per_node_h=drawn(1, PERIODS),
        ),
        adoptions=Adoptions(
            name=("technique",),
            work=np.array([0]),
            usable_fraction=np.ones((1, PERIODS)),
            usd=drawn(1, PERIODS),
        ),
        contracts=Contracts(
            site=np.array([0]),
            usd_per_kwh=drawn(1, PERIODS),
            kgco2e_per_kwh=drawn(1, PERIODS),
            limit_kwh=np.full((1, PERIODS), 900.0),
        ),
        places=Places(
            space_usd_per_kw=drawn(2, PERIODS),
            committed_kw=np.array([[0.0] * PERIODS, [3.0] * PERIODS]),
            peak_usd_per_kw=drawn(2, PERIODS),
            curtailed_kw=np.array([0.0, 5.0]),
            curtailed_fraction=np.array([0.0, 0.1]),
            curtailed_usd=np.array([[0.0] * PERIODS, [3.0] * PERIODS]),
        ),
        limits=limits(periods=PERIODS, skus=2, sites=2),
        objective=Objective(money_weight=1.0, carbon_weight=0.3),
    )


def some_plan(of: Problem, seed: int) -> Solution:
    """Something of every decision; only what it costs is asked, not whether it would hold."""
    rng = np.random.default_rng(seed)
    committed = np.zeros((GROUPS, PERIODS), dtype=np.int64)
    committed[2] = [2, 0, 1]
    orders = np.array([[2, 0, 0], [1, 0, 0], [3, 0, 0]])
    rented = np.array([[1, 0, 2], [0, 1, 1], [0, 0, 0]])
    return account.solution(
        of,
        account.Decisions(
            orders=orders,
            rented=np.where(of.under_term[:, None], account.under_term(of, committed), rented),
            committed=committed,
            retired=np.array([[1, 0, 1], [0, 0, 0]]),
            sold=np.array([[0, 1, 1]]),
            moved=np.array([[1, 0, 0]]),
            run=np.array([1]),
            chosen=np.array([1]),
            completed=np.array([1.0]),
            done_node_h=rng.uniform(10, 30, (1, PERIODS)),
            left_out=np.array([1.0, 1.0]),
            replicas=np.array([[1, 2, 2]]),
            shed_fraction=rng.uniform(0.1, 0.5, (1, PERIODS)),
            work_node_h=rng.uniform(10, 30, (1, PERIODS)),
            spares=np.zeros((GROUPS, PERIODS), dtype=np.int64),
            parked=rng.uniform(0.1, 0.9, (GROUPS, PERIODS)),
            matched_kwh=rng.uniform(10, 30, (1, PERIODS)),
            adopted=np.array([1]),
            signed=np.array([0, 1]),
            reused=np.array([[1, 0, 1], [0, 0, 0]]),
        ),
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_program_charges_what_the_account_adds_up(seed: int) -> None:
    case = everything(seed)
    plan = some_plan(case, seed)
    expected = plan.usd + 0.3 * plan.kgco2e
    assert totals.charged(build(case), plan) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_false_price_is_caught(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = everything(1)
    plan, program = some_plan(case, 1), build(case)
    assert not charges(program, plan), "the prices are right as they are"

    def false(of: Any) -> Any:
        def prices(*args: Any) -> dict[str, NDArray[Any]]:
            found: dict[str, NDArray[Any]] = of(*args)
            return {name: each * (1.01 if name == family else 1.0) for name, each in found.items()}

        return prices

    for table in ("_of_fleet", "_of_tasks"):
        monkeypatch.setattr(totals, table, false(getattr(totals, table)))
    assert charges(program, plan)


def test_every_priced_family_is_tried() -> None:
    program = build(everything(1))
    weights = totals._Weights(program, 1.0, 1.0, None)
    priced = totals._of_fleet(program, weights) | totals._of_tasks(program, weights)
    assert set(priced) == set(FAMILIES)


def charges(program: Any, plan: Solution) -> list[str]:
    return [str(each) for each in check(program, plan, 1e-6) if each.rule == "what the program charges"]
