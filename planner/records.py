"""Facts, totals, swings and purchases as plain records: one shape wherever they are written out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np

from planner.inputs import Inputs
from planner.scenario import Horizon
from planner.trace import Fact, Traced
from planner.uncertainty import Swing, spread
from solver.account import rebate_fraction
from solver.problem import Problem, Solution

Record = dict[str, Any]


def fact_record(fact: Fact) -> Record:
    """A fact with value, range, kind, source and what it must not be mixed with."""
    return {
        "key": fact.key,
        "value": fact.value,
        "unit": fact.unit,
        "stated": fact.stated,
        "kind": fact.kind,
        "low": fact.low,
        "high": fact.high,
        "boundary": dict(fact.boundary),
        "source": fact.source.cite(),
        "locator": fact.locator,
        "note": fact.note,
    }


def total_records(named: Mapping[str, tuple[str, Traced]], draws: int) -> list[Record]:
    """Totals by name, each with its label and the p5, p50 and p95 of joint draws of its facts."""
    bands = spread([node for _, node in named.values()], draws=draws)
    return [
        {
            "name": name,
            "label": text,
            "value": float(node.value),
            "unit": node.unit,
            "p5": band.p5,
            "p50": band.p50,
            "p95": band.p95,
            "explain": name,
        }
        for (name, (text, node)), band in zip(named.items(), bands, strict=True)
    ]


def swing_records(swings: Iterable[Swing]) -> list[Record]:
    """What a result does at both ends of each fact."""
    return [
        {
            "fact": swing.fact.key,
            "low": swing.fact.low,
            "high": swing.fact.high,
            "at_low": swing.at_low,
            "at_high": swing.at_high,
            "unit": swing.fact.unit,
        }
        for swing in swings
    ]


def purchase_records(inputs: Inputs, problem: Problem, solution: Solution) -> list[Record]:
    """What a buyer needs for each order: what, how many, where to, by when, and at whose price."""
    pools, scenario, horizon = problem.pools, inputs.scenario, inputs.scenario.horizon
    lead_h = {offer.sku: offer.lead_time_h for offer in scenario.market}
    rebate = rebate_fraction(problem, solution.orders)
    found = []
    for t, p in np.argwhere(solution.orders.T > 0):
        sku = inputs.skus[pools.sku[p]]
        units, nodes = int(solution.orders[p, t]), int(solution.orders[p, t] * pools.order_unit_nodes[p])
        price_usd, off = float(pools.capex_usd_per_node[p, t]), float(rebate[pools.sku[p]])
        order_by, arrives = _order_days(horizon, int(t), int(pools.lead_periods[p]), lead_h[sku.name])
        price = _price_fact(inputs, sku.name, sku.server, int(t))
        found.append({
            "period": horizon.period_labels[t],
            "site": problem.site_names[pools.site[p]],
            "sku": sku.name,
            "server": sku.title,
            "accelerator": sku.accelerator,
            "nodes": nodes,
            "accelerators": int(nodes * inputs.server("accelerators")[pools.sku[p]].value),
            "order_units": units,
            "order_by": order_by.isoformat(),
            "arrives": arrives.isoformat(),
            "lead_time_d": lead_h[sku.name] / 24.0,
            "price_usd_per_node": price_usd,
            "rebate_fraction": off,
            "capex_usd": nodes * price_usd * (1.0 - off),
            "price_kind": price.kind,
            "price_source": ", ".join(part for part in (price.source.cite(), price.locator) if part),
        })  # fmt: skip
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
