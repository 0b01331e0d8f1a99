"""Small fleets for the solver's tests: an empty problem to add to, and one drawn at random."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from solver.problem import (
    Cohorts,
    Jobs,
    Limits,
    NodeGroups,
    Objective,
    Problem,
    RunOptions,
    ServeOptions,
    Services,
    SpareSteps,
    Work,
    WorkOptions,
)


def node_groups(*, periods: int = 1, count: int = 1, **columns: Any) -> NodeGroups:
    """One SKU each, one site: a node costs 100 USD and 10 kg per period, idles at 1 kW, takes a rack."""
    flat = np.ones((count, periods))
    plain: dict[str, Any] = {
        "sku": np.arange(count),
        "site": np.zeros(count),
        "order_unit_nodes": np.ones(count),
        "lead_periods": np.zeros(count),
        "purchase_allowed": flat,
        "capex_usd_per_node": 400 * flat,
        "holding_usd_per_node": 100 * flat,
        "holding_kgco2e_per_node": 10 * flat,
        "idle_kw": np.ones(count),
        "idle_usd_per_node": 5 * flat,
        "idle_kgco2e_per_node": 2 * flat,
        "racks_per_node": np.ones(count),
        "hours": np.full(periods, 100.0),
    }
    return NodeGroups(**(plain | columns))


def limits(*, periods: int = 1, skus: int = 1, sites: int = 1, **columns: Any) -> Limits:
    """No limit, but those that are given."""
    plain: dict[str, Any] = {
        "power_kw": np.full((sites, periods), np.inf),
        "racks": np.full(sites, np.inf),
        "supply_nodes": np.full((skus, periods), np.inf),
        "budget_usd": np.full(periods, np.inf),
    }
    return Limits(**(plain | columns))


def problem(*, periods: int = 1, count: int = 1, **parts: Any) -> Problem:
    """A problem with `count` node groups at one site and nothing to do, but for the parts that are given."""
    plain: dict[str, Any] = {
        "periods": periods,
        "site_names": ("oregon",),
        "sku_names": tuple(f"sku-{number}" for number in range(count)),
        "node_groups": node_groups(periods=periods, count=count),
        "cohorts": Cohorts.none(periods),
        "jobs": Jobs.none(periods),
        "run_options": RunOptions.none(periods),
        "services": Services.none(periods),
        "serve_options": ServeOptions.none(periods),
        "work": Work.none(periods),
        "work_options": WorkOptions.none(periods),
        "spare_steps": SpareSteps.none(periods),
        "limits": limits(periods=periods, skus=count),
        "objective": Objective(money_weight=1.0, carbon_weight=0.0),
    }
    return Problem(**(plain | parts))


def one_job(*, optional: bool = False, left_out_usd: float = 0.0) -> Jobs:
    return Jobs(name=("train",), optional=[optional], left_out_usd=[left_out_usd], left_out_kgco2e=[0.0])  # type: ignore[arg-type]


def run_option(nodes: list[list[int]], hours: float = 100.0, **columns: Any) -> RunOptions:
    """Run options of job 0 on node group 0 that are active through the periods in which they hold nodes."""
    held = np.array(nodes)
    plain: dict[str, Any] = {
        "job": np.zeros(len(held)),
        "node_group": np.zeros(len(held)),
        "start": (held > 0).argmax(axis=1),
        "late_h": np.zeros(len(held)),
        "nodes": held,
        "node_hours": held * hours,
        "active_kw": held * 2.0,
        "usd": held * 20.0,
        "kgco2e": held * 8.0,
    }
    return RunOptions(**(plain | columns))


def cohort(*, nodes: int, periods: int = 1, **columns: Any) -> Cohorts:
    flat = np.ones((1, periods))
    plain: dict[str, Any] = {
        "node_group": [0],
        "nodes": [nodes],
        "keep_usd_per_node": 10 * flat,
        "keep_kgco2e_per_node": 0 * flat,
        "retire_usd_per_node": -1 * flat,
        "must_retire_by": [periods],
    }
    return Cohorts(**(plain | columns))


def service(demand: list[float], *, capacity: float = 10.0, **columns: Any) -> dict[str, Any]:
    """One service with one option on node group 0: a replica holds one node through each period."""
    periods = len(demand)
    plain: dict[str, Any] = {
        "service": [0],
        "node_group": [0],
        "capacity": np.full((1, periods), capacity),
        "nodes": [1.0],
        "standby_fraction": np.zeros((1, periods)),
        "node_hours": np.full((1, periods), 100.0),
        "active_kw": [1.0],
        "usd": np.full((1, periods), 15.0),
        "kgco2e": np.full((1, periods), 6.0),
    }
    return {
        "services": Services(name=("chat",), demand=np.array([demand])),
        "serve_options": ServeOptions(**(plain | columns)),
    }


def work(demand_h: list[float], **columns: Any) -> dict[str, Any]:
    """One divisible work with one option on node group 0, at the reference speed."""
    periods = len(demand_h)
    plain: dict[str, Any] = {
        "work": [0],
        "node_group": [0],
        "speed": [1.0],
        "active_kw": [1.0],
        "usd_per_node_h": np.full((1, periods), 0.1),
        "kgco2e_per_node_h": np.full((1, periods), 0.05),
    }
    return {
        "work": Work(name=("notebooks",), demand_h=np.array([demand_h])),
        "work_options": WorkOptions(**(plain | columns)),
    }


def steps(*rows: tuple[int, int, float]) -> SpareSteps:
    """Rows of (node group, spares, reach)."""
    group, spares, reach = zip(*rows, strict=True)
    return SpareSteps(node_group=group, spares=spares, reach=reach)  # type: ignore[arg-type]


def promise_steps(*rows: tuple[int, int, int, float]) -> SpareSteps:
    """Rows of (promise, node group, spares, reach)."""
    promise, group, spares, reach = zip(*rows, strict=True)
    return SpareSteps(node_group=group, spares=spares, reach=reach, promise=promise)  # type: ignore[arg-type]


def changed(base: Problem, table: str, **columns: Any) -> Problem:
    """The problem with some columns of one table replaced."""
    return dataclasses.replace(base, **{table: dataclasses.replace(getattr(base, table), **columns)})
