"""How much of each limit is used, what binds, and what does not fit: tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.program.plan import Plan
from planner.program.solution import (
    Problem,
    Solution,
    capex_usd,
    peak_kw,
)
from planner.trace.records import Record

Floats = NDArray[np.float64]


def full_sentences(plan: Plan, rows: Sequence[Record]) -> list[str]:
    """The limits among `rows` that hold nothing more, a sentence for each, told for its fullest period."""
    found: dict[tuple[str, str], list[tuple[Record, int]]] = {}
    for row in rows:
        group = None if row["binding"] else _too_large(plan, row)
        if group is not None:
            found.setdefault((row["limit"], row["where"]), []).append((row, group))
    return [_sentence(plan, each) for each in found.values()]


def _sentence(plan: Plan, found: Sequence[tuple[Record, int]]) -> str:
    row, group = min(found, key=lambda each: each[0]["left"])
    labels = plan.inputs.scenario.horizon.period_labels
    more = f" and {len(found) - 1} other periods" if len(found) > 2 else " and one other period"
    when = row["period"] + (more if len(found) > 1 else "")
    need = float(_needs(plan.problem, row["limit"], labels.index(row["period"]))[group])
    nodes = int(plan.problem.node_groups.order_unit_nodes[group])
    order = "one more node" if nodes == 1 else f"one more order of {nodes} nodes"
    how = "is nearly full" if row["used"] > 0 else "is too small for any order"
    return (
        f"The {row['limit']} limit of {row['where']} {how} in {when}: {row['used']:,.4g} of "
        f"{row['allowed']:,.4g} {row['unit']} are used, and {order} of {plan.problem.node_group_name(group)} "
        f"takes {need:,.4g}."
    )


def _too_large(plan: Plan, row: Record) -> int | None:
    """The node group whose order takes least of a limit, where not even that fits; none for caps on sums."""
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
    """Node groups of which an order could take from a limit in a period."""
    groups, allowed = problem.node_groups, problem.node_groups.purchase_allowed
    if limit in ("supply", "budget"):  # when it is ordered
        here = (
            groups.sku == problem.sku_names.index(where) if limit == "supply" else np.full(len(groups), True)
        )
        return np.asarray(here & allowed[:, period])
    in_time = np.arange(allowed.shape[1]) + groups.lead_periods[:, None] <= period  # once it has arrived
    return np.asarray((groups.site == problem.site_names.index(where)) & (allowed & in_time).any(axis=1))


def _needs(problem: Problem, limit: str, period: int) -> Floats:
    """What one order of each node group takes of a limit; of power, with its nodes at the least work."""
    groups = problem.node_groups
    per_node = {
        "power": _working_kw(problem),
        "racks": groups.racks_per_node,
        "supply": np.ones(len(groups)),
        "budget": groups.capex_usd_per_node[:, period],
    }[limit]
    return np.asarray(per_node * groups.order_unit_nodes, dtype=float)


def _working_kw(problem: Problem) -> Floats:
    """Power of a node of each group with the option that draws least on one; idle where there is none."""
    runs, serves = problem.run_options, problem.serve_options
    works, pausable = problem.work_options, problem.pausable_options
    above = np.full(len(problem.node_groups), np.inf)
    nowhere = np.full(runs.nodes.shape, np.inf)
    each = np.divide(runs.active_kw, runs.nodes, out=nowhere, where=runs.nodes > 0)
    np.minimum.at(above, runs.node_group, each.min(axis=1, initial=np.inf))
    np.minimum.at(above, serves.node_group, serves.active_kw / np.maximum(serves.nodes, 1.0))
    for options in (works, pausable):
        np.minimum.at(above, options.node_group, options.active_kw)
    working: Floats = problem.node_groups.idle_kw + np.where(np.isfinite(above), above, 0.0)
    return working


BINDING = 0.999


def limit_records(plan: Plan, solution: Solution) -> list[Record]:
    """How much of each limit is used; those without a limit are left out."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    groups, limits = problem.node_groups, problem.limits
    found: list[Record] = []

    def add(limit: str, where: str, period: str, used: float, allowed: float, unit: str) -> None:
        if np.isfinite(allowed):
            share = used / allowed if allowed else 0.0
            found.append(
                {
                    "limit": limit,
                    "where": where,
                    "period": period,
                    "used": float(used),
                    "allowed": float(allowed),
                    "left": float(allowed - used),
                    "unit": unit,
                    "share_fraction": float(share),
                    "binding": bool(share >= BINDING),
                }
            )

    power = peak_kw(problem, solution, solution.in_service)
    nodes = solution.orders * groups.order_unit_nodes[:, None]
    paid, emitted = capex_usd(problem, solution.orders), solution.kgco2e_terms.by_period()
    for t, label in enumerate(labels):
        add("carbon cap", "all sites", label, emitted[t], limits.carbon_cap_by_period_kgco2e[t], "kgCO2e")
        for s, site in enumerate(problem.site_names):
            here = groups.site == s
            add("power", site, label, power[s, t], limits.power_kw[s, t], "kW")
            add(
                "racks",
                site,
                label,
                float(solution.in_service[here, t] @ groups.racks_per_node[here]),
                limits.racks[s],
                "racks",
            )
        for k, sku in enumerate(problem.sku_names):
            if limits.supply_nodes[k, t] > 0:
                add(
                    "supply",
                    sku,
                    label,
                    float(nodes[groups.sku == k, t].sum()),
                    limits.supply_nodes[k, t],
                    "nodes",
                )
        add(
            "budget",
            "all sites",
            label,
            float(paid[t]),
            limits.budget_usd[t],
            "USD",
        )
    add("carbon cap", "all sites", "horizon", solution.kgco2e, limits.carbon_cap_kgco2e, "kgCO2e")
    add("money cap", "all sites", "horizon", solution.usd, limits.money_cap_usd, "USD")
    return found


def dropped_records(plan: Plan) -> list[Record]:
    """Configurations that cannot be, by reason."""
    counts: dict[tuple[str, str, str], int] = {}
    for one in plan.assembled.dropped:
        key = (one.what, one.sku, one.reason)
        counts[key] = counts.get(key, 0) + 1
    found = [
        {"what": what, "sku": sku, "reason": reason, "count": count}
        for (what, sku, reason), count in counts.items()
    ]
    if plan.assembled.dominated:
        found.append(
            {
                "what": "runs and replicas",
                "sku": "any",
                "count": plan.assembled.dominated,
                "reason": "another configuration of the same work on the same nodes is no worse in anything",
            }
        )
    return found


def limit_sentences(plan: Plan, solution: Solution) -> list[str]:
    """The limits that bind, then those that nothing more fits into."""
    rows = limit_records(plan, solution)
    full = full_sentences(plan, rows)
    tight = [row for row in rows if row["binding"]]
    if not tight:
        free = "No limit on power, space, supply, budget or carbon"
        return [f"{free} is used up, but not every one has room.", *full] if full else [f"{free} binds."]
    return [
        *(
            f"The {row['limit']} limit of {row['where']} binds in {row['period']}: "
            f"{row['used']:,.0f} of {row['allowed']:,.0f} {row['unit']}."
            for row in tight
        ),
        *full,
    ]
