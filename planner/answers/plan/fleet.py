"""What stands, is bought, rented, moved and retired: tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import reduce
from itertools import groupby
from operator import sub

import numpy as np

from planner.answers.plan.decisions import DECIDED, REASONS, decided, reason_of
from planner.inputs.catalogue import Sku
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Horizon
from planner.program.ledger import Disagreement
from planner.program.ledger_terms import rented_at_once, rented_node_h
from planner.program.plan import Plan
from planner.program.solution import (
    Solution,
    nodes_under_way,
    rebate_fraction,
    unfilled_nodes,
)
from planner.trace.numbers import count_text, mass, money, percent_text
from planner.trace.quantities import Fact, Traced, chosen, convert, total
from planner.trace.records import Record, plain_rows


def purchase_records(plan: Plan, solution: Solution) -> list[Record]:
    """What a buyer needs for each order: what, how many, where to, by when, and at whose price."""
    inputs, groups = plan.inputs, plan.problem.node_groups
    horizon = inputs.scenario.horizon
    found = []
    for t, p in np.argwhere(solution.orders.T > 0):
        sku = inputs.skus[groups.sku[p]]
        offer = inputs.offers[sku.name]
        order_by, arrives = _order_days(horizon, int(t), int(groups.lead_periods[p]), offer.lead_time_h)
        price = _price_fact(inputs, sku, int(t))
        row: Record = {
            "period": horizon.period_labels[t],
            "site": plan.problem.site_names[groups.site[p]],
            "sku": sku.name,
            "order_units": int(solution.orders[p, t]),
        }
        path, together = f"market.{sku.name}.order_nodes", int(groups.order_unit_nodes[p])
        each: Traced = (
            inputs.yours(path, together, "1")
            if offer.order_nodes == together > 1
            else chosen("order_nodes", together, "nodes of one order: as they are sold together")
        )
        nodes = (decided("purchases", "order_units", row) * each).named("nodes")
        rebate = _NO_REBATE if plan.ledger.rebate is None else plan.ledger.rebate[int(p), 0]
        each_paid = inputs.node_price(int(groups.sku[p]), int(t))
        paid = (nodes * each_paid * (1 - rebate)).named("capex_usd")
        found.append(
            {
                "period": row["period"],
                "site": row["site"],
                "sku": sku.name,
                "server": sku.title,
                "accelerator": sku.accelerator,
                "nodes": nodes,
                "accelerators": (nodes * inputs.server("accelerators")[groups.sku[p]]).named("accelerators"),
                "order_units": row["order_units"],
                "order_by": order_by.isoformat(),
                "arrives": arrives.isoformat(),
                "lead_time_d": convert(
                    inputs.yours(f"market.{sku.name}.lead_time", offer.lead_time_h, "h"), "d"
                ),
                "price_usd_per_node": each_paid,
                "rebate_fraction": rebate,
                "capex_usd": paid,
                "price_kind": price.kind,
                "price_source": ", ".join(part for part in (price.source.cite(), price.locator) if part),
            }
        )
    return found


_NO_REBATE = chosen(
    "rebate_fraction", 0.0, "no rebate is offered, or the orders of the horizon reach no tier of it"
)


def _order_days(horizon: Horizon, placed: int, lead_periods: int, lead_time_h: float) -> tuple[date, date]:
    """The last day on which an order of a period may be placed, and the day on which it must be there.

    The program counts whole periods of lead, so that within its period an order can wait, or has to be placed
    a day or two before it.
    """
    days = (*horizon.period_starts, horizon.end)
    arrives = days[min(placed + lead_periods, horizon.periods)]
    latest = arrives - timedelta(days=math.ceil(lead_time_h / 24.0))
    return min(latest, days[placed + 1] - timedelta(days=1)), arrives


def _price_fact(inputs: Inputs, sku: Sku, period: int) -> Fact:
    """The price of a node as the scenario states it, else the catalogue's."""
    stated = inputs.offers[sku.name].price_usd
    if stated is None:
        return inputs.fact(f"server.{sku.server}.price")
    return inputs.yours(f"market.{sku.spare_of or sku.name}.price[{period}]", stated[period], "USD")


ABSENT = ("under_way_nodes", "parked_nodes")  # in service, and neither at work nor idle


def fleet_records(plan: Plan, solution: Solution) -> list[Record]:
    """Nodes of each SKU at each site by period: in service, used, idle, spare, retired."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    found, before = [], dict[int, Traced]()
    away = nodes_under_way(problem, solution.moved, mean=True)
    for t, label in enumerate(labels):
        for p in range(len(problem.node_groups)):
            retired = int(
                solution.retired[problem.cohorts.node_group == p, t].sum()
                + solution.sold[problem.sales.node_group == p, t].sum()
            )
            row: Record = {
                "period": label,
                **place(plan, p),
                **({"under_way_nodes": float(away[p, t])} if away.any() else {}),
                **({"parked_nodes": float(solution.parked[p, t])} if solution.parked.any() else {}),
                "spare_nodes": int(solution.spares[p, t]),
                "retired_nodes": retired,
            }
            if not (solution.in_service[p, t] or retired or p in before):
                continue
            in_service = before[p] = _in_service(plan, solution, p, t, before.get(p), row)
            if not (solution.in_service[p, t] or retired):
                continue
            absent = {key: decided("fleet", key, row) for key in ABSENT if key in row}
            used = _used_nodes(plan, solution, p, t)
            working = reduce(sub, absent.values(), in_service)
            found.append(
                {
                    "period": label,
                    **place(plan, p),
                    "in_service_nodes": in_service,
                    "used_nodes": used,
                    "idle_nodes": (working - used).named("idle_nodes"),
                    **absent,
                    "spare_nodes": row["spare_nodes"],
                    "retired_nodes": retired,
                }
            )
    return found


def _in_service(
    plan: Plan, solution: Solution, group: int, period: int, before: Traced | None, row: Record
) -> Traced:
    """Nodes of a group in a period: those before, and what came and went."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    groups, moves, cohorts = problem.node_groups, problem.moves, problem.cohorts.node_group
    if before is None:
        stood = int(problem.cohorts.nodes[cohorts == group].sum())
        before = plan.inputs.yours("fleet", stood, "1") if stood else chosen("before", 0, "none stood here")
    parts: dict[str, Traced] = {"those before": before}
    ordered = period - int(groups.lead_periods[group])
    if ordered >= 0 and solution.orders[group, ordered]:
        nodes = int(solution.orders[group, ordered] * groups.order_unit_nodes[group])
        parts[f"ordered in {labels[ordered]}"] = chosen("nodes", nodes, DECIDED)
    for m, way in enumerate(zip(cohorts[moves.from_cohort], cohorts[moves.to_cohort], strict=True)):
        left, right = way
        sent = period - int(moves.lead_periods[m])
        if right == group and sent >= 0 and solution.moved[m, sent]:
            parts[f"moved here from {problem.node_group_name(int(left))}, way {m + 1}"] = chosen(
                "nodes", int(solution.moved[m, sent]), DECIDED
            )
        if left == group and solution.moved[m, period]:
            parts[f"moved to {problem.node_group_name(int(right))}, way {m + 1}"] = chosen(
                "nodes", -int(solution.moved[m, period]), DECIDED
            )
    if row["retired_nodes"]:
        parts["retired"] = chosen(
            "nodes", -row["retired_nodes"], reason_of("fleet", "retired_nodes", row) or ""
        )
    found = total("in_service_nodes", parts, "those before, and what came and went")
    return _whole(found, int(solution.in_service[group, period]))


def _whole(found: Traced, count: int) -> Traced:
    """A count of nodes, which the program holds too.

    Raises:
        Disagreement: they differ.
    """
    if round(float(found.value)) != count:
        raise Disagreement(
            f"{found.value} nodes are in service by what came and went, {count} in the program"
        )
    return replace(found, value=count)


def _used_nodes(plan: Plan, solution: Solution, group: int, period: int) -> Traced:
    """Mean nodes at work: node-hours of all that runs there, over the hours of the period."""
    problem, ledger = plan.problem, plan.ledger
    parts: dict[str, Traced] = {}
    if ledger.runs is not None:
        counts, options = solution.run[solution.run > 0], problem.run_options
        for row, count, option in zip(ledger.run_rows, counts, np.flatnonzero(solution.run), strict=True):
            held = ledger.runs.node_h[int(row), period]
            if options.node_group[option] == group and held.value:
                name = f"runs of {problem.jobs.name[options.job[option]]}, option {option}"
                parts[name] = (chosen("runs", int(count), DECIDED) * held).named("node_h")
    if ledger.replicas is not None:
        serves = problem.serve_options
        for row, v in enumerate(ledger.replica_options):
            count = int(solution.replicas[v, period])
            if serves.node_group[v] == group and count:
                name = f"replicas of {problem.services.name[serves.service[v]]}, option {v}"
                held = ledger.replicas.node_h[row, period]
                parts[name] = (chosen("replicas", count, DECIDED) * held).named("node_h")
    works, pausable = problem.work_options, problem.pausable_options
    for o in np.flatnonzero((works.node_group == group) & (solution.work_node_h[:, period] > 0)):
        name = f"work of {problem.work.name[works.work[o]]}, option {o}"
        parts[name] = chosen("node_h", float(solution.work_node_h[o, period]), DECIDED)
    for e in np.flatnonzero((pausable.node_group == group) & (solution.done_node_h[:, period] > 0)):
        name = f"{problem.jobs.name[pausable.job[e]]}, option {e}"
        parts[name] = chosen("node_h", float(solution.done_node_h[e, period]), DECIDED)
    worked = total("node_h", parts, "node-hours of all that runs there")
    return (worked / plan.inputs.period_h[0, period]).named("used_nodes")


def place(plan: Plan, group: int) -> Record:
    """Site and SKU of a row of the fleet."""
    problem = plan.problem
    return {
        "site": problem.site_names[problem.node_groups.site[group]],
        "sku": problem.sku_names[problem.node_groups.sku[group]],
    }


SMALL_SHARE = 0.01  # of a rent: what is less needs no word
ROUNDING = 1e-6  # of nodes that are shared by replicas, or held on average


def rental_records(plan: Plan, solution: Solution) -> list[Record]:
    """Rented nodes by period: how many at once, how many hours of them, at what price."""
    rented, labels = plan.assembled.rented, plan.inputs.scenario.horizon.period_labels
    if rented.usd is None or rented.kgco2e is None:
        return []
    hours, nodes = rented_node_h(plan.assembled, solution), rented_at_once(plan.assembled, solution)
    hour = chosen("hour_h", 1.0, "one hour that is paid")
    return [
        {
            "period": label,
            "location": plan.problem.site_names[plan.problem.node_groups.site[p]],
            "sku": plan.problem.sku_names[plan.problem.node_groups.sku[p]],
            "nodes": int(nodes[i, t]),
            "node_h": held,
            "rent_usd_per_node_h": (rented.usd[i, t] / hour).named("rent_usd_per_node_h"),
            "rent_usd": (held * (rented.usd[i, t] / hour)).named("rent_usd"),
            "embodied_kgco2e": (held * (rented.kgco2e[i, t] / hour)).named("embodied_kgco2e"),
        }
        for t, label in enumerate(labels)
        for i, p in enumerate(rented.node_group)
        if nodes[i, t]
        for held in [chosen("node_h", float(hours[i, t]), REASONS["rental"]["node_h"])]
    ]


def rental_sentences(plan: Plan, solution: Solution) -> Iterator[str]:
    """What to rent, when, and at what price."""
    records = plain_rows(rental_records(plan, solution))
    for place in dict.fromkeys((one["sku"], one["location"]) for one in records):
        mine = [one for one in records if (one["sku"], one["location"]) == place]
        steps = ", ".join(_at_once(mine, plan.inputs.scenario.horizon.period_labels))
        hours, paid = (sum(one[key] for one in mine) for key in ("node_h", "rent_usd"))
        parts = _parts_usd(plan, solution, *place)
        whole = (
            f" Whole nodes are paid: {money(parts)} of it for parts that replicas leave and nothing fills."
            if parts > SMALL_SHARE * paid
            else ""
        )
        yield (
            f"Rent {place[0]} at {place[1]} by the hour, at most so many nodes at once: {steps}; in all "
            f"{count_text(hours)} node-hours for {money(paid)}.{whole}"
        )


def _at_once(rows: Sequence[Record], labels: Sequence[str]) -> Iterator[str]:
    """Nodes by period, those of as many on end as one: `2 in 2027-01 to 2027-05`."""
    nodes = {row["period"]: row["nodes"] for row in rows}
    for count, run in groupby(labels, key=lambda label: nodes.get(label, 0)):
        if count:
            first, *later = run
            yield f"{count} in {first}" + (f" to {later[-1]}" if later else "")


def _parts_usd(plan: Plan, solution: Solution, sku: str, location: str) -> float:
    """Rent of the parts of nodes by the hour that replicas leave and nothing fills."""
    groups = plan.problem.node_groups
    paid = groups.unfilled_usd_per_node * unfilled_nodes(plan.problem, solution)
    here = [place(plan, p) == {"site": location, "sku": sku} for p in range(len(groups))]
    return float(paid[here].sum())


def ownership_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Moves, extensions and rebates, for the headline."""
    return [*_rebates(plan, solution), *_moves(plan, solution), *_extensions(plan, solution)]


def move_records(plan: Plan, solution: Solution) -> list[Record]:
    """Each move: when, what, from where to where, at what cost."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    groups, moves = problem.node_groups, problem.moves
    moving = plan.assembled.standing.moving
    if moving is None:
        return []
    origin, goal = (problem.cohorts.node_group[end] for end in (moves.from_cohort, moves.to_cohort))
    return [
        {
            "period": labels[t],
            "sku": problem.sku_names[groups.sku[origin[m]]],
            "from": problem.site_names[groups.site[origin[m]]],
            "to": problem.site_names[groups.site[goal[m]]],
            "nodes": nodes,
            "in_service": (
                plan.inputs.scenario.horizon.period_starts[t]
                + timedelta(hours=plan.inputs.scenario.moves[moving.entry[m]].downtime_h)
            ).isoformat(),
            "move_usd": (nodes * moving.usd[m, t]).named("move_usd"),
            "move_kgco2e": (nodes * moving.kgco2e[m, t]).named("move_kgco2e"),
        }
        for t, m in np.argwhere(solution.moved.T > 0).tolist()
        for nodes in [chosen("nodes", int(solution.moved[m, t]), REASONS["moves"]["nodes"])]
    ]


def _rebates(plan: Plan, solution: Solution) -> list[str]:
    problem = plan.problem
    ordered = (solution.orders * problem.node_groups.order_unit_nodes[:, None]).sum(axis=1)
    return [
        f"The contract for {sku} reaches a rebate of {percent_text(share)} on "
        f"{nodes_text(int(ordered[problem.node_groups.sku == k].sum()))}."
        for k, (sku, share) in enumerate(
            zip(problem.sku_names, rebate_fraction(problem, solution.orders), strict=True)
        )
        if share
    ]


def _moves(plan: Plan, solution: Solution) -> list[str]:
    return [
        f"Move {nodes_text(row['nodes'])} of {row['sku']} from {row['from']} to {row['to']} "
        f"in {row['period']} for {money(row['move_usd'])} and {mass(row['move_kgco2e'])}; "
        f"in service from {row['in_service']}."
        for row in plain_rows(move_records(plan, solution))
    ]


def _extensions(plan: Plan, solution: Solution) -> list[str]:
    """Cohorts that are kept past their life, until when, and how much more that costs than before."""
    labels, fleet = plan.inputs.scenario.horizon.period_labels, plan.inputs.scenario.fleet
    standing, nodes = plan.assembled.standing, plan.assembled.nodes
    said = []
    for h, home in enumerate(standing.home):
        past = standing.beyond_life_h[home] > 0
        kept = np.flatnonzero(past & (solution.kept[h] > 0))
        if fleet[home].extend_to_y is None or not len(kept):
            continue
        usual = np.broadcast_to(nodes.kept_usd.value[standing.node_group[home]], past.shape)
        keep = plan.problem.cohorts.keep_usd_per_node[h]
        dearer = float((solution.kept[h] * (keep - usual))[kept].sum())
        said.append(
            f"Keep {nodes_text(int(solution.kept[h, kept[0]]))} of "
            f"{plan.problem.node_group_name(int(standing.node_group[h]))} past their life of "
            f"{fleet[home].life_y:g} y, until {labels[kept[-1]]}, for {money(dearer)} more."
        )
    return said


def nodes_text(count: int) -> str:
    """A number of nodes in words."""
    return f"{count_text(count)} node{'s' * (count != 1)}"


def purchase_sentences(plan: Plan, solution: Solution) -> list[str]:
    """What nodes to order, when, and at what price."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    nodes = solution.orders * problem.node_groups.order_unit_nodes[:, None]
    off = rebate_fraction(problem, solution.orders)
    said = []
    for p, t in np.argwhere(nodes > 0):
        price = problem.node_groups.capex_usd_per_node[p, t] * (1.0 - off[problem.node_groups.sku[p]])
        cash = float(nodes[p, t] * price)
        said.append(
            f"Order {nodes_text(int(nodes[p, t]))} of {problem.node_group_name(int(p))} in {labels[t]} "
            f"for {money(cash)}."
        )
    return said
