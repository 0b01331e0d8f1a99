"""Fleets drawn at random, with limits of every kind; of those without a plan, one family is tightened."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from solver_cases import changed, limits, node_groups, problem

from solver.answer import answer
from solver.backend import Status
from solver.known import WrongAnswer
from solver.problem import (
    Cohorts,
    Jobs,
    Moves,
    PausableOptions,
    Problem,
    RunOptions,
    ServeOptions,
    Services,
    SpareSteps,
    Tiers,
    Work,
    WorkOptions,
)

PERIODS, NODE_GROUPS = 2, 4


def fleet(seed: int) -> Problem:
    """Two SKUs at two sites, two periods, two jobs, a service, work, old nodes; wide limits of every kind."""
    rng = np.random.default_rng(seed)
    site, sku = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    fleet_node_groups = node_groups(
        periods=PERIODS,
        count=NODE_GROUPS,
        site=site,
        sku=sku,
        order_unit_nodes=rng.integers(1, 3, NODE_GROUPS),
        capex_usd_per_node=rng.integers(200, 600, (NODE_GROUPS, PERIODS)),
        holding_usd_per_node=rng.integers(20, 120, (NODE_GROUPS, PERIODS)),
        holding_kgco2e_per_node=rng.integers(5, 30, (NODE_GROUPS, PERIODS)),
    )
    ways = 6
    start = rng.integers(0, PERIODS, ways)
    held = rng.integers(2, 5, ways)[:, None] * (np.arange(PERIODS) == start[:, None])
    runs = RunOptions(
        job=np.arange(ways) % 2,
        node_group=rng.integers(0, NODE_GROUPS, ways),
        start=start,
        late_h=np.where(np.arange(ways) < 4, 0.0, rng.choice([10.0, 30.0], ways)),
        nodes=held,
        node_hours=held * 100.0,
        active_kw=held * rng.choice([1.0, 2.0], (ways, 1)),
        usd=held * rng.integers(10, 40, (ways, 1)),
        kgco2e=held * rng.integers(3, 15, (ways, 1)),
    )
    flat = np.ones((2, PERIODS))
    serves = ServeOptions(
        service=np.zeros(2),
        node_group=rng.choice(NODE_GROUPS, 2, replace=False),
        capacity=rng.choice([8.0, 10.0], (2, 1)) * flat,
        nodes=np.ones(2),
        standby_fraction=0 * flat,
        node_hours=100 * flat,
        active_kw=np.ones(2),
        usd=rng.integers(8, 30, (2, 1)) * flat,
        kgco2e=rng.integers(3, 9, (2, 1)) * flat,
    )
    works = WorkOptions(
        work=np.zeros(2),
        node_group=rng.choice(NODE_GROUPS, 2, replace=False),
        speed=rng.choice([0.5, 1.0], 2),
        active_kw=np.ones(2),
        usd_per_node_h=0.1 * flat,
        kgco2e_per_node_h=0.05 * flat,
    )
    one = np.ones((1, PERIODS))
    return problem(
        periods=PERIODS,
        count=NODE_GROUPS,
        site_names=("oregon", "finland"),
        sku_names=("old", "new"),
        node_groups=fleet_node_groups,
        cohorts=Cohorts(
            node_group=[int(serves.node_group[0])],  # type: ignore[arg-type]
            nodes=[2],  # type: ignore[arg-type]
            keep_usd_per_node=20 * one,
            keep_kgco2e_per_node=0 * one,
            retire_usd_per_node=-1 * one,
            must_retire_by=[PERIODS],  # type: ignore[arg-type]
        ),
        jobs=Jobs(
            name=("pretrain", "tune"),
            optional=np.zeros(2),
            left_out_usd=np.zeros(2),
            left_out_kgco2e=np.zeros(2),
        ),
        run_options=runs,
        services=Services(name=("chat",), demand=rng.integers(25, 45, (1, PERIODS)).astype(float)),
        serve_options=serves,
        work=Work(name=("notebooks",), demand_h=rng.integers(40, 120, (1, PERIODS)).astype(float)),
        work_options=works,
        limits=limits(
            periods=PERIODS,
            skus=2,
            sites=2,
            power_kw=np.full((2, PERIODS), 80.0),
            racks=np.full(2, 40.0),
            supply_nodes=np.full((2, PERIODS), 30.0),
            budget_usd=np.full(PERIODS, 30000.0),
            carbon_cap_kgco2e=5000.0,
            carbon_cap_by_period_kgco2e=np.full(PERIODS, 3000.0),
            money_cap_usd=30000.0,
        ),
    )


def fleet_of_every_kind(seed: int) -> Problem:
    """The same with rented, parked and moved nodes, rebates, jobs in counts and in parts, fractions."""
    case, rng = fleet(seed), np.random.default_rng(seed)
    case = with_shared_power(case, case.limits.power_kw.sum(axis=0, keepdims=True))
    each, two = np.ones((NODE_GROUPS, PERIODS)), np.ones((2, PERIODS))
    case = changed(
        case,
        "node_groups",
        rental_limit_nodes=3 * each,
        rental_usd_per_node=rng.integers(150, 260, (NODE_GROUPS, PERIODS)),
        rental_kgco2e_per_node=9 * each,
        may_park=np.ones(NODE_GROUPS),
        off_kw=np.full(NODE_GROUPS, 0.1),
        off_usd_per_node=0.5 * each,
    )
    return dataclasses.replace(
        changed(case, "serve_options", whole=[False, False]),
        cohorts=Cohorts(
            node_group=[0, 2],  # type: ignore[arg-type]
            nodes=[3, 0],  # type: ignore[arg-type]
            keep_usd_per_node=20 * two,
            keep_kgco2e_per_node=0 * two,
            retire_usd_per_node=0 * two,
            must_retire_by=[PERIODS, PERIODS],  # type: ignore[arg-type]
            available_fraction=0.9 * two,
        ),
        moves=Moves(
            from_cohort=[0],  # type: ignore[arg-type]
            to_cohort=[1],  # type: ignore[arg-type]
            lead_periods=[0],  # type: ignore[arg-type]
            usd_per_node=5 * two[:1],
            kgco2e_per_node=two[:1],
        ),
        tiers=Tiers(sku=[0, 1], from_nodes=[6.0, 8.0], rebate_fraction=[0.1, 0.2]),  # type: ignore[arg-type]
        jobs=Jobs(
            name=("pretrain", "tune", "sweep"),
            optional=[False, False, True],  # type: ignore[arg-type]
            left_out_usd=[0.0, 0.0, 400.0],  # type: ignore[arg-type]
            left_out_kgco2e=[0.0, 0.0, 1.0],  # type: ignore[arg-type]
            count=[1, 2, 1],  # type: ignore[arg-type]
            partial=[False, False, True],  # type: ignore[arg-type]
        ),
        pausable_options=PausableOptions(
            job=[2, 2],  # type: ignore[arg-type]
            node_group=[1, 3],  # type: ignore[arg-type]
            nodes=[2, 2],  # type: ignore[arg-type]
            node_hours=[150.0, 150.0],  # type: ignore[arg-type]
            node_hours_limit=120 * two,
            active_kw=[1.0, 1.0],  # type: ignore[arg-type]
            usd_per_node_h=0.3 * two,
            kgco2e_per_node_h=0.1 * two,
        ),
    )


def has_plan(case: Problem, engine: str = "highs") -> bool:
    """Whether any plan is found, or proven not to be there; how good it is does not matter.

    In one case of a hundred without a plan CBC tells one that breaks a row; that is no plan, and withheld.
    """
    try:
        status = answer(case, gap_fraction=1.0, time_limit_s=30, engine=engine).status
    except WrongAnswer:
        assert engine == "cbc"
        return False
    assert status.has_plan or status is Status.INFEASIBLE
    return status.has_plan


def with_shared_power(case: Problem, power_kw: Any) -> Problem:
    """The case with a power that all its sites share."""
    sites = np.ones((1, len(case.site_names)), dtype=bool)
    return changed(
        case,
        "limits",
        shared_power_kw=np.minimum(power_kw, 1e4),
        shared_power_sites=sites,
        shared_power_name=("campus",),
    )


def without_plan(family: str, seed: int) -> Problem:
    """A fleet, with one family of its limits tightened by a third until it has no plan."""
    case = fleet(seed)
    if family == "end of life":  # enough old nodes of every node group, none to be bought, and all end early
        case = dataclasses.replace(
            case,
            node_groups=dataclasses.replace(
                case.node_groups, purchase_allowed=np.zeros((NODE_GROUPS, PERIODS))
            ),
            cohorts=Cohorts(
                node_group=np.arange(NODE_GROUPS),
                nodes=np.full(NODE_GROUPS, 9),
                keep_usd_per_node=np.full((NODE_GROUPS, PERIODS), 20.0),
                keep_kgco2e_per_node=np.zeros((NODE_GROUPS, PERIODS)),
                retire_usd_per_node=np.zeros((NODE_GROUPS, PERIODS)),
                must_retire_by=np.full(NODE_GROUPS, PERIODS),
            ),
        )
    if family == "shared power":
        case = with_shared_power(case, case.limits.power_kw.sum(axis=0, keepdims=True))
    if family == "availability":
        steps = SpareSteps(
            node_group=np.arange(NODE_GROUPS),
            spares=np.ones(NODE_GROUPS),
            reach=np.full(NODE_GROUPS, 100.0),
            promise=np.ones(NODE_GROUPS),
        )
        case = dataclasses.replace(changed(case, "serve_options", promise=np.ones(2)), spare_steps=steps)
    if family == "curtailment":
        sites = np.arange(len(case.site_names))
        case = changed(case, "work_options", stops_fraction=np.ones(len(case.work_options)))
        case = changed(
            case,
            "places",
            curtailed_kw=np.where(sites == 0, 0.05, 0.0),
            curtailed_fraction=np.full(len(sites), 0.02),
            curtailed_usd=np.zeros((len(sites), PERIODS)),
            curtailment_obliged=sites == 0,
        )
    assert has_plan(case)
    while has_plan(case):
        case = _tightened(case, family)
    return case


def _tightened(case: Problem, family: str) -> Problem:
    less, more = 2 / 3, 3 / 2
    columns = {
        "power": "power_kw",
        "space": "racks",
        "shared power": "shared_power_kw",
        "supply": "supply_nodes",
        "budget": "budget_usd",
        "carbon cap": "carbon_cap_kgco2e",
        "carbon cap by period": "carbon_cap_by_period_kgco2e",
        "money cap": "money_cap_usd",
    }
    if family in columns:
        column = columns[family]
        return changed(case, "limits", **{column: less * getattr(case.limits, column)})
    runs = case.run_options
    late = np.maximum(runs.late_h, 10.0) * more
    tightened: dict[str, tuple[str, dict[str, Any]]] = {
        "minimum order": ("limits", {"minimum_nodes": 10 + more * case.limits.minimum_nodes}),
        "end of life": ("cohorts", {"must_retire_by": np.maximum(case.cohorts.must_retire_by - 1, 0)}),
        "deadlines": ("run_options", {"late_h": late}),
        "demand": ("services", {"demand": more * case.services.demand}),
        "jobs": (
            "run_options",
            {"nodes": 2 * runs.nodes, "node_hours": 2 * runs.node_hours, "active_kw": 2 * runs.active_kw},
        ),
        "availability": ("spare_steps", {"spares": 1 + 2 * case.spare_steps.spares}),
        "work": ("work", {"demand_h": more * case.work.demand_h}),
        "curtailment": ("places", {"curtailed_kw": more * case.places.curtailed_kw}),
    }
    table, columns_of = tightened[family]
    return changed(case, table, **columns_of)
