"""Limits that are not used up, and yet have no room for one more order of anything that may be bought."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.plan import Plan
from solver.problem import Problem

Record = dict[str, Any]
Floats = NDArray[np.float64]


def full_sentences(plan: Plan, rows: Sequence[Record]) -> list[str]:
    """The limits among `rows` that hold nothing more, a sentence for each, told for its fullest period."""
    found: dict[tuple[str, str], list[tuple[Record, int]]] = {}
    for row in rows:
        pool = None if row["binding"] else _too_large(plan, row)
        if pool is not None:
            found.setdefault((row["limit"], row["where"]), []).append((row, pool))
    return [_sentence(plan, each) for each in found.values()]


def _sentence(plan: Plan, found: Sequence[tuple[Record, int]]) -> str:
    row, pool = min(found, key=lambda each: each[0]["left"])
    labels = plan.inputs.scenario.horizon.period_labels
    more = f" and {len(found) - 1} other periods" if len(found) > 2 else " and one other period"
    when = row["period"] + (more if len(found) > 1 else "")
    need = float(_needs(plan.problem, row["limit"], labels.index(row["period"]))[pool])
    nodes = int(plan.problem.pools.order_unit_nodes[pool])
    order = "one more node" if nodes == 1 else f"one more order of {nodes} nodes"
    how = "is nearly full" if row["used"] > 0 else "is too small for any order"
    return (
        f"The {row['limit']} limit of {row['where']} {how} in {when}: {row['used']:,.4g} of "
        f"{row['allowed']:,.4g} {row['unit']} are used, and {order} of {plan.problem.pool_name(pool)} "
        f"takes {need:,.4g}."
    )


def _too_large(plan: Plan, row: Record) -> int | None:
    """The pool whose order takes least of a limit, where not even that fits; none for caps on sums."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    if row["limit"] not in ("power", "racks", "supply", "budget"):
        return None
    period = labels.index(row["period"])
    able = np.flatnonzero(_may_use(problem, row["limit"], row["where"], period))
    if not len(able):
        return None
    needs = _needs(problem, row["limit"], period)[able]
    return int(able[needs.argmin()]) if row["left"] < needs.min() else None


def _may_use(problem: Problem, limit: str, where: str, period: int) -> NDArray[np.bool_]:
    """Pools of which an order could take from a limit in a period."""
    pools, allowed = problem.pools, problem.pools.purchase_allowed
    if limit in ("supply", "budget"):  # when it is ordered
        here = pools.sku == problem.sku_names.index(where) if limit == "supply" else np.full(len(pools), True)
        return np.asarray(here & allowed[:, period])
    in_time = np.arange(allowed.shape[1]) + pools.lead_periods[:, None] <= period  # once it has arrived
    return np.asarray((pools.site == problem.site_names.index(where)) & (allowed & in_time).any(axis=1))


def _needs(problem: Problem, limit: str, period: int) -> Floats:
    """What one order of each pool takes of a limit; of power, with its nodes at the least work."""
    pools = problem.pools
    per_node = {
        "power": _working_kw(problem),
        "racks": pools.racks_per_node,
        "supply": np.ones(len(pools)),
        "budget": pools.capex_usd_per_node[:, period],
    }[limit]
    return np.asarray(per_node * pools.order_unit_nodes, dtype=float)


def _working_kw(problem: Problem) -> Floats:
    """Power of a node of each pool with the option that draws least on one; idle where there is none."""
    runs, serves = problem.run_options, problem.serve_options
    works, elastic = problem.work_options, problem.elastic_options
    above = np.full(len(problem.pools), np.inf)
    nowhere = np.full(runs.nodes.shape, np.inf)
    each = np.divide(runs.active_kw, runs.nodes, out=nowhere, where=runs.nodes > 0)
    np.minimum.at(above, runs.pool, each.min(axis=1, initial=np.inf))
    np.minimum.at(above, serves.pool, serves.active_kw / np.maximum(serves.nodes, 1.0))
    for options in (works, elastic):
        np.minimum.at(above, options.pool, options.active_kw)
    working: Floats = problem.pools.idle_kw + np.where(np.isfinite(above), above, 0.0)
    return working
