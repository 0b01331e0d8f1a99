"""What to put up at the sites of a plan: a row for each battery and each lot of cells, and sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.answers.plan.decisions import decided
from planner.physics.equations.totals import weighted_total_usd
from planner.program.plan import Plan
from planner.program.site_purchases import PutUp, put_up
from planner.program.solution import Solution
from planner.trace.numbers import money, quantity_text
from planner.trace.quantities import Traced, chosen, derive, rows
from planner.trace.records import Record

COLUMNS = {"kW": "solar_kw", "kWh": "battery_kwh"}  # by the unit of what is put up
NAMES = {"kW": "sun's cells", "kWh": "battery"}
SMALLEST = 1.0  # kilowatt or kilowatt-hour of which a sentence speaks


def installation_records(plan: Plan, solution: Solution) -> list[Record]:
    """One row for each time at which the price of a battery or of cells is due at a site."""
    every = put_up(plan.assembled.energy, plan.problem, solution)
    found = [
        _record(plan, one, int(s), int(t))
        for one in every
        for s, t in np.argwhere(one.by_period * (np.asarray(one.each.capex_usd.value) > 0) > 0)
    ]
    return sorted(found, key=lambda row: (row["ready_by"], row["site"], row["what"]))


def _record(plan: Plan, one: PutUp, site: int, period: int) -> Record:
    horizon, each, unit = plan.inputs.scenario.horizon, one.each, one.what.unit
    key = COLUMNS[unit]
    row: Record = {
        "period": horizon.period_labels[period],
        "site": plan.problem.site_names[site],
        "what": NAMES[unit],
        key: float(one.amounts[site]),
    }
    amount, one_unit = decided("installations", key, row), chosen("bought", 1.0, f"one {unit}", unit)
    price_key = f"price_usd_per_{unit.lower()}"
    price = (each.price_usd[site, 0] / one_unit).named(price_key)
    return {
        **row,
        key: amount,
        "ready_by": horizon.period_starts[period].isoformat(),
        "life_y": each.life_y[site, 0],
        price_key: price,
        "capex_usd": (amount * price).named("capex_usd"),
        "charged_usd": _charged(one, site, period),
    }


def _charged(one: PutUp, site: int, period: int) -> Traced:
    """What the cost holds of a row: its charge from this period until its price is due again."""
    due = np.flatnonzero(np.asarray(one.each.capex_usd.value)[site] > 0)
    later = due[due > period]
    until = int(later[0]) if later.size else one.by_period.shape[1]
    here = np.zeros((1, one.by_period.shape[1]))
    here[0, period:until] = one.amounts[site]
    each = rows(one.each.usd, np.array([site], dtype=np.intp))
    counts = chosen("bought", here, "decided by the program, in the periods of this row", "1")
    return derive(weighted_total_usd, each_usd=each, counts=counts).named("charged_usd")


def installation_sentences(plan: Plan, solution: Solution) -> Iterator[str]:
    """Batteries and cells of the sun to put up, by when, at what price, and how that is counted."""
    held = "" if plan.inputs.scenario.policy.budget_usd is None else " and in its budget"
    for row in installation_records(plan, solution):
        key = next(key for key in COLUMNS.values() if key in row)
        amount = row[key]
        if amount.value > SMALLEST:
            of = "of battery" if key == "battery_kwh" else "of the sun's cells"
            yield (
                f"Put up {quantity_text(float(amount.value), amount.unit)} {of} at {row['site']} by "
                f"{row['ready_by']}, ordered ahead: {money(row['capex_usd'].value)} is due then, in the "
                f"purchases of {row['period']}{held}; the cost has {money(row['charged_usd'].value)} of it, "
                "charged by the period."
            )
