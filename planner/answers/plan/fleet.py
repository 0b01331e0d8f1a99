"""What stands, is bought, rented, moved and retired: tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, timedelta

import numpy as np

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Horizon
from planner.program.ledger import rented_node_h
from planner.program.plan import Plan
from planner.program.solution import (
    Problem,
    Solution,
    rebate_fraction,
)
from planner.report.format import mass, money
from planner.trace.quantities import Fact
from planner.trace.records import Record


def purchase_records(inputs: Inputs, problem: Problem, solution: Solution) -> list[Record]:
    """What a buyer needs for each order: what, how many, where to, by when, and at whose price."""
    groups, scenario, horizon = problem.node_groups, inputs.scenario, inputs.scenario.horizon
    lead_h = {offer.sku: offer.lead_time_h for offer in scenario.market}
    rebate = rebate_fraction(problem, solution.orders)
    found = []
    for t, p in np.argwhere(solution.orders.T > 0):
        sku = inputs.skus[groups.sku[p]]
        units, nodes = int(solution.orders[p, t]), int(solution.orders[p, t] * groups.order_unit_nodes[p])
        price_usd, off = float(groups.capex_usd_per_node[p, t]), float(rebate[groups.sku[p]])
        order_by, arrives = _order_days(horizon, int(t), int(groups.lead_periods[p]), lead_h[sku.name])
        price = _price_fact(inputs, sku.name, sku.server, int(t))
        found.append(
            {
                "period": horizon.period_labels[t],
                "site": problem.site_names[groups.site[p]],
                "sku": sku.name,
                "server": sku.title,
                "accelerator": sku.accelerator,
                "nodes": nodes,
                "accelerators": int(nodes * inputs.server("accelerators")[groups.sku[p]].value),
                "order_units": units,
                "order_by": order_by.isoformat(),
                "arrives": arrives.isoformat(),
                "lead_time_d": lead_h[sku.name] / 24.0,
                "price_usd_per_node": price_usd,
                "rebate_fraction": off,
                "capex_usd": nodes * price_usd * (1.0 - off),
                "price_kind": price.kind,
                "price_source": ", ".join(part for part in (price.source.cite(), price.locator) if part),
            }
        )
    return found


def _order_days(horizon: Horizon, placed: int, lead_periods: int, lead_time_h: float) -> tuple[date, date]:
    """The last day on which an order of a period may be placed, and the day on which it must be there.

    The program counts whole periods of lead, so that within its period an order can wait.
    """
    days = (*horizon.period_starts, horizon.end)
    arrives = days[min(placed + lead_periods, horizon.periods)]
    latest = arrives - timedelta(days=math.ceil(lead_time_h / 24.0))
    return min(latest, days[placed + 1] - timedelta(days=1)), arrives


def _price_fact(inputs: Inputs, sku: str, server: str, period: int) -> Fact:
    """The price of a node as the scenario states it, else the catalogue's."""
    stated = next(offer.price_usd for offer in inputs.scenario.market if offer.sku == sku)
    if stated is None:
        return inputs.fact(f"server.{server}.price")
    return inputs.yours(f"market.{sku}.price[{period}]", stated[period], "USD")


def fleet_records(plan: Plan, solution: Solution) -> list[Record]:
    """Nodes of each SKU at each site by period: in service, used, idle, spare, retired."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    idle = plan.ledger.idle_nodes
    working = solution.in_service - solution.parked
    found = []
    for t, label in enumerate(labels):
        for p in range(len(problem.node_groups)):
            retired = int(solution.retired[problem.cohorts.node_group == p, t].sum())
            if solution.in_service[p, t] or retired:
                found.append(
                    {
                        "period": label,
                        **place(plan, p),
                        "in_service_nodes": int(solution.in_service[p, t]),
                        "used_nodes": float(working[p, t] - idle[p, t]),
                        "idle_nodes": float(idle[p, t]),
                        **({"parked_nodes": float(solution.parked[p, t])} if solution.parked.any() else {}),
                        "spare_nodes": int(solution.spares[p, t]),
                        "retired_nodes": retired,
                    }
                )
    return found


def place(plan: Plan, group: int) -> Record:
    """Site and SKU of a row of the fleet."""
    problem = plan.problem
    return {
        "site": problem.site_names[problem.node_groups.site[group]],
        "sku": problem.sku_names[problem.node_groups.sku[group]],
    }


ROUNDING = 1e-6  # of nodes that are shared by replicas, or held on average


def rental_records(plan: Plan, solution: Solution) -> list[Record]:
    """Rented nodes by period: how many at once, how many hours of them, at what price."""
    rented, labels = plan.assembled.rented, plan.inputs.scenario.horizon.period_labels
    if rented.usd is None or rented.kgco2e is None:
        return []
    hours = rented_node_h(plan.assembled, solution)
    mean = hours / plan.problem.node_groups.hours
    nodes = np.ceil(np.maximum(solution.in_use[rented.node_group], mean) - ROUNDING).astype(int)
    return [
        {
            "period": label,
            "location": plan.problem.site_names[plan.problem.node_groups.site[p]],
            "sku": plan.problem.sku_names[plan.problem.node_groups.sku[p]],
            "nodes": int(nodes[i, t]),
            "node_h": float(hours[i, t]),
            "rent_usd_per_node_h": float(rented.usd.value[i, t]),
            "rent_usd": float(rented.usd.value[i, t] * hours[i, t]),
            "embodied_kgco2e": float(rented.kgco2e.value[i, t] * hours[i, t]),
        }
        for t, label in enumerate(labels)
        for i, p in enumerate(rented.node_group)
        if nodes[i, t]
    ]


def rental_sentences(plan: Plan, solution: Solution) -> Iterator[str]:
    """What to rent, when, and at what price."""
    records = rental_records(plan, solution)
    for place in dict.fromkeys((one["sku"], one["location"]) for one in records):
        mine = [one for one in records if (one["sku"], one["location"]) == place]
        steps = ", ".join(f"{one['nodes']} in {one['period']}" for one in mine)
        hours, paid = (sum(one[key] for one in mine) for key in ("node_h", "rent_usd"))
        yield (
            f"Rent up to so many nodes of {place[0]} at {place[1]}: {steps}; {hours:,.0f} node-hours for "
            f"{money(paid)}."
        )


def ownership_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Moves, extensions and rebates, for the headline."""
    return [*_rebates(plan, solution), *_moves(plan, solution), *_extensions(plan, solution)]


def retirement_money(plan: Plan, solution: Solution, cohort: int) -> str:
    """What retiring nodes of a cohort brings or costs, as the end of a sentence."""
    usd = float(solution.usd_terms.retire[cohort].sum())
    if abs(usd) < 1.0:
        return ""
    return f"; that {'brings' if usd < 0 else 'costs'} {money(abs(usd))}"


def move_records(plan: Plan, solution: Solution) -> list[Record]:
    """Each move: when, what, from where to where, at what cost."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    groups, moves = problem.node_groups, problem.moves
    origin, goal = (problem.cohorts.node_group[end] for end in (moves.from_cohort, moves.to_cohort))
    return [
        {
            "period": labels[t],
            "sku": problem.sku_names[groups.sku[origin[m]]],
            "from": problem.site_names[groups.site[origin[m]]],
            "to": problem.site_names[groups.site[goal[m]]],
            "nodes": int(solution.moved[m, t]),
            "in_service": labels[t + moves.lead_periods[m]],
            "move_usd": float(solution.usd_terms.move[m, t]),
            "move_kgco2e": float(solution.kgco2e_terms.move[m, t]),
        }
        for t, m in np.argwhere(solution.moved.T > 0)
    ]


def _rebates(plan: Plan, solution: Solution) -> list[str]:
    problem = plan.problem
    ordered = (solution.orders * problem.node_groups.order_unit_nodes[:, None]).sum(axis=1)
    return [
        f"The contract for {sku} reaches a rebate of {share:.1%} on "
        f"{_nodes(int(ordered[problem.node_groups.sku == k].sum()))}."
        for k, (sku, share) in enumerate(
            zip(problem.sku_names, rebate_fraction(problem, solution.orders), strict=True)
        )
        if share
    ]


def _moves(plan: Plan, solution: Solution) -> list[str]:
    return [
        f"Move {_nodes(row['nodes'])} of {row['sku']} from {row['from']} to {row['to']} "
        f"in {row['period']} for {money(row['move_usd'])} and {mass(row['move_kgco2e'])}; "
        f"in service from {row['in_service']}."
        for row in move_records(plan, solution)
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
            f"Keep {_nodes(int(solution.kept[h, kept[0]]))} of "
            f"{plan.problem.node_group_name(int(standing.node_group[h]))} past their life of "
            f"{fleet[home].life_y:g} y, until {labels[kept[-1]]}, for {money(dearer)} more."
        )
    return said


def _nodes(count: int) -> str:
    return f"{count} node{'s' * (count != 1)}"


def purchase_sentences(plan: Plan, solution: Solution) -> list[str]:
    """What to order, when, and at what price."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    nodes = solution.orders * problem.node_groups.order_unit_nodes[:, None]
    off = rebate_fraction(problem, solution.orders)
    said = []
    for p, t in np.argwhere(nodes > 0):
        price = problem.node_groups.capex_usd_per_node[p, t] * (1.0 - off[problem.node_groups.sku[p]])
        cash = float(nodes[p, t] * price)
        said.append(
            f"Order {nodes[p, t]:.0f} nodes of {problem.node_group_name(int(p))} in {labels[t]} "
            f"for {money(cash)}."
        )
    return said or ["Buy nothing."]


def retirement_sentences(plan: Plan, solution: Solution) -> list[str]:
    """What to retire, when, and what is left."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    said = []
    for h in range(len(problem.cohorts)):
        steps = [f"{count} in {labels[t]}" for t, count in enumerate(solution.retired[h]) if count]
        if steps:
            group = problem.node_group_name(int(problem.cohorts.node_group[h]))
            money_said = retirement_money(plan, solution, h)
            said.append(
                f"Retire nodes of {group}: {', '.join(steps)}, leaving {solution.kept[h, -1]} "
                f"of {problem.cohorts.nodes[h] or solution.kept[h].max()}{money_said}."
            )
    return said
