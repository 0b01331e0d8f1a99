"""How much of each limit is used, what binds, and what does not fit: tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from planner.answers.plan.decisions import DECIDED
from planner.answers.plan.fleet import fleet_records, place, purchase_records
from planner.answers.plan.money import period_records
from planner.answers.plan.preprocessing import fed_racks
from planner.answers.plan.shares import part_total
from planner.program.plan import Plan
from planner.program.solution import Problem, Solution
from planner.trace.columns import Floats
from planner.trace.numbers import number_text, quantity_text, scale_of
from planner.trace.quantities import Traced, chosen, total
from planner.trace.records import Record, plain_rows


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
        f"{_named(row)} {how} in {when}: {_used(row)} are used, and {order} of "
        f"{plan.problem.node_group_name(group)} "
        f"takes {quantity_text(need, row['unit'])}."
    )


def _named(row: Record) -> str:
    """A limit as a sentence begins with it."""
    what = row["limit"] if "cap" in row["limit"] else f"{row['limit']} limit"
    return f"The {what} of {row['where']}"


def _used(row: Record) -> str:
    """What is used of what is allowed, in one unit; money in the currency that is shown."""
    divisor, unit = scale_of(row["unit"], (row["used"], row["allowed"]))
    return f"{number_text(row['used'] / divisor)} of {number_text(row['allowed'] / divisor)} {unit}"


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
HORIZON = "horizon"  # stands where a period would, of what holds for all of them together


def limit_records(plan: Plan, solution: Solution) -> list[Record]:
    """How much of each limit is used; those without a limit are left out."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    limits, inputs = problem.limits, plan.inputs
    purchases = purchase_records(plan, solution)
    standing = {
        (row["period"], row["site"], row["sku"]): row["in_service_nodes"]
        for row in fleet_records(plan, solution)
    }
    periods = period_records(plan, solution)
    found: list[Record] = []

    def add(limit: str, where: str, period: str, used: Traced, allowed: float, unit: str) -> None:
        if not np.isfinite(allowed):
            return
        path, known = _stated_at(limit, where, period), UNITS_KNOWN.get(unit, unit)
        most = inputs.yours(path, float(allowed), known)
        share = (used / most).named("share_fraction") if allowed else None
        found.append(
            {
                "limit": limit,
                "where": where,
                "period": period,
                "used": used,
                "allowed": most,
                "left": _left(most, used),
                "unit": unit,
                "share_fraction": chosen("share_fraction", 0.0, "a limit of nothing has no share")
                if share is None
                else share,
                "binding": bool(share is not None and share.value >= BINDING),
            }
        )

    for t, label in enumerate(labels):
        cap = limits.carbon_cap_by_period_kgco2e[t]
        add("carbon cap", "all sites", label, periods[t]["carbon_kgco2e"], cap, "kgCO2e")
        for s, site in enumerate(problem.site_names):
            add("power", site, label, _peak_kw(plan, solution, s, t), limits.power_kw[s, t], "kW")
            add("racks", site, label, _racks(plan, standing, s, label), limits.racks[s], "racks")
        for number, name in enumerate(limits.shared_power_name):
            members = np.flatnonzero(limits.shared_power_sites[number]).tolist()
            each = {problem.site_names[s]: _peak_kw(plan, solution, s, t) for s in members}
            together = total("facility_kw", each, "the highest of each site in the period")
            add("shared power", name, label, together, limits.shared_power_kw[number, t], "kW")
        for k, sku in enumerate(problem.sku_names):
            if limits.supply_nodes[k, t] > 0:
                ordered = {
                    f"for {row['site']}": row["nodes"]
                    for row in purchases
                    if row["sku"] == sku and row["period"] == label
                }
                nodes = total("ordered_nodes", ordered, "orders of this period")
                add("supply", sku, label, nodes, limits.supply_nodes[k, t], "nodes")
        add(
            "budget", "all sites", label, _paid(plan, t, periods[t]["capex_usd"]), limits.budget_usd[t], "USD"
        )
    ledger = plan.ledger
    add("carbon cap", "all sites", HORIZON, ledger.carbon, limits.carbon_cap_kgco2e, "kgCO2e")
    add("money cap", "all sites", HORIZON, ledger.cost, limits.money_cap_usd, "USD")
    return found


def _paid(plan: Plan, period: int, capex: Traced) -> Traced:
    """What the budget of a period holds: orders, what is put up at sites, and data that runs buy."""
    if "data" not in plan.ledger.parts["usd"]:
        return capex
    data = part_total(plan, "usd", "data", "data_usd", periods=[period])
    if data is None:
        return capex
    return total("paid_usd", {"purchases": capex, "data of runs": data}, "of this period")


# A family of limits -> where the scenario states it; {where} is a site or a SKU.
STATED = {
    "power": "sites.{where}.power_cap",
    "racks": "sites.{where}.racks",
    "shared power": "power_groups.{where}.power_cap",
    "supply": "market.{where}.supply_nodes",
    "budget": "policy.budget",
    "money cap": "policy.money_cap",
}
UNITS_KNOWN = {"racks": "1", "nodes": "1"}


def _stated_at(limit: str, where: str, period: str) -> str:
    if limit == "carbon cap":
        return "policy.carbon_cap" + ("" if period == HORIZON else "_by_period")
    return STATED[limit].format(where=where)


def _left(allowed: Traced, used: Traced) -> Traced:
    """What of a limit is left, in its unit."""
    suffix = {"kW": "_kw", "USD": "_usd", "kgCO2e": "_kgco2e"}.get(allowed.unit, "")
    return (allowed - used).named(f"left{suffix}")


def _racks(plan: Plan, standing: Mapping[tuple[str, str, str], Traced], site: int, period: str) -> Traced:
    """Room that nodes in service take."""
    parts: dict[str, Traced] = {}
    for p in np.flatnonzero(plan.problem.node_groups.site == site).tolist():
        here = place(plan, p)
        nodes = standing.get((period, here["site"], here["sku"]))
        if nodes is not None:
            parts[here["sku"]] = (nodes * plan.assembled.nodes.racks[p]).named("racks")
    parts |= fed_racks(plan, site, period)
    return total("racks", parts, "nodes in service, each at its share of a rack")


def _peak_kw(plan: Plan, solution: Solution, site: int, period: int) -> Traced:
    """What idle nodes draw, and what runs, replicas and other work add to it, at the meter."""
    problem, ledger, assembled = plan.problem, plan.ledger, plan.assembled
    groups, name, parts = problem.node_groups, "facility_kw", dict[str, Traced]()

    def count(what: str, number: float) -> Traced:
        return chosen(what, number, DECIDED, "1")

    def put(word: str, group: int, counted: Traced, each: Traced) -> None:
        if counted.value and groups.site[group] == site:
            parts[f"{word} on {problem.sku_names[groups.sku[group]]}"] = (counted * each).named(name)

    if groups.off_site[groups.site == site].all():
        return total(name, {}, "nodes that are rented elsewhere draw nothing here")
    for p in np.flatnonzero(groups.site == site).tolist():
        parked = float(solution.parked[p, period])
        put(
            "nodes",
            p,
            count("nodes", solution.in_service[p, period] - parked),
            assembled.nodes.idle_facility_kw[p, 0],
        )
        if assembled.parked is not None:
            put("parked nodes", p, count("nodes", parked), assembled.parked.facility_kw[p, 0])
    if ledger.runs is not None:
        for row, option in zip(ledger.run_rows.tolist(), np.flatnonzero(solution.run).tolist(), strict=True):
            held = ledger.runs.increment_kw[row, period]
            job = problem.jobs.name[problem.run_options.job[option]]
            runs = count("runs", int(solution.run[option]))
            if held.value:
                put(f"{job}, option {option},", int(problem.run_options.node_group[option]), runs, held)
    if ledger.replicas is not None:
        for row, v in enumerate(ledger.replica_options.tolist()):
            service = problem.services.name[problem.serve_options.service[v]]
            replicas = count("replicas", int(solution.replicas[v, period]))
            each = ledger.replicas.increment_kw[row]
            put(f"{service}, option {v},", int(problem.serve_options.node_group[v]), replicas, each)
    hours = float(groups.hours[period])
    for o in np.flatnonzero(solution.work_node_h[:, period] > 0).tolist():
        adding = assembled.work.increment_kw
        if adding is not None:
            pool = problem.work.name[problem.work_options.work[o]]
            mean = count("mean_nodes", float(solution.work_node_h[o, period]) / hours)
            put(f"{pool}, option {o},", int(problem.work_options.node_group[o]), mean, adding[o])
    if ledger.pausable is not None:
        for row, e in zip(ledger.pausable.rows.tolist(), ledger.pausable.options.tolist(), strict=True):
            job = problem.jobs.name[problem.pausable_options.job[e]]
            mean = count("mean_nodes", float(solution.done_node_h[e, period]) / hours)
            group = int(problem.pausable_options.node_group[e])
            put(f"{job}, option {e},", group, mean, ledger.pausable.jobs.increment_kw[row])
    return total(name, parts, "the highest of the period, at the meter")


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


def _when(period: str) -> str:
    return "over the horizon" if period == HORIZON else f"in {period}"


def limit_sentences(plan: Plan, solution: Solution) -> list[str]:
    """The limits that bind, then those that nothing more fits into."""
    rows = plain_rows(limit_records(plan, solution))
    full = full_sentences(plan, rows)
    tight = [row for row in rows if row["binding"]]
    if not tight:
        free = "No limit on power, space, supply, budget or carbon"
        return [f"{free} is used up, but not every one has room.", *full] if full else [f"{free} binds."]
    return [
        *(f"{_named(row)} binds {_when(row['period'])}: {_used(row)}." for row in tight),
        *full,
    ]
