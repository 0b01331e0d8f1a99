"""What a plan does with batteries and the sun at its sites: a row for each site, and sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from planner.answers.plan.shares import Kind, part_total
from planner.program.plan import Plan
from planner.program.site_energy import SiteUse, site_uses, states_energy
from planner.program.slot_ledger import OF_SITES, sites_with_nodes
from planner.program.solution import Solution
from planner.trace.numbers import energy, mass, money, percent_text, quantity_text
from planner.trace.quantities import Traced, total
from planner.trace.records import Record

DARKER = 1.05  # times the highest power of the plan, from which on a day without sun is told


def site_energy_records(plan: Plan, solution: Solution) -> list[Record]:
    """One row for each site that states a battery or the sun."""
    return [_record(plan, one) for one in site_uses(plan, solution)]


def site_energy_sentences(plan: Plan, rows: list[Record]) -> Iterator[str]:
    """What is bought and used, or why nothing is."""
    if not rows:
        if states_energy(plan):
            yield "Batteries and the sun are decided by the hour: allow `levers`, with more than one slot."
        return
    for row in rows:
        bought, cells = row["battery_kwh"], row["solar_bought_kw"]
        held = f"{energy(bought)} of battery pay" if bought > 1.0 else "no battery pays"
        if cells > 1.0:
            held = f"{quantity_text(cells, 'kW')} of the sun's cells are bought and {held}"
        sun = (
            f"; the sun covers {percent_text(row['matched_year_fraction'], 1)} of its energy by the year and "
            f"{percent_text(row['matched_hour_fraction'], 1)} by the hour"
            if row["solar_kwh"] + row["spilled_kwh"] > 0
            else ""
        )
        usd, carbon = float(row["usd"].value), float(row["kgco2e"].value)
        if not sun and bought <= 1.0:
            yield f"At {row['site']} {held}: it would take more than it saves."
            continue
        more = f"{_more(money(abs(usd)), usd)} and {_more(mass(abs(carbon)), carbon)}"
        yield f"At {row['site']} {held}{sun}: {more} with price and making, the demand charge apart."
        if sun and row["dark_peak_kw"] > DARKER * row["peak_kw"]:
            yield (
                f"A day without sun may draw {quantity_text(row['dark_peak_kw'], 'kW')} at {row['site']}, "
                f"where the most in the plan is {quantity_text(row['peak_kw'], 'kW')}: its days have the "
                "mean sun of their month, and the demand charge and the power cap count these."
            )


def _more(text: str, amount: float) -> str:
    return f"{text} {'more' if amount > 0 else 'less'}"


def _record(plan: Plan, one: SiteUse) -> Record:
    def kwh(flow_kw: NDArray[np.float64]) -> float:
        return float((one.hours * flow_kw).sum())

    year, hour = one.matched
    return {
        "site": one.name,
        "battery_kwh": one.battery_kwh,
        "solar_bought_kw": one.solar_kw,
        "charged_kwh": kwh(one.charge_kw),
        "given_back_kwh": kwh(one.discharge_kw),
        "load_kwh": kwh(one.load_kw),
        "import_kwh": kwh(one.import_kw),
        "solar_kwh": kwh(one.used_kw),
        "spilled_kwh": kwh(one.sun_kw - one.used_kw),
        "peak_kw": one.peak_kw,
        "dark_peak_kw": float(one.load_kw.max()),
        "matched_year_fraction": year,
        "matched_hour_fraction": hour,
        "usd": _taken(plan, one.number, "usd"),
        "kgco2e": _taken(plan, one.number, "kgco2e"),
    }


def _taken(plan: Plan, site: int, kind: Kind) -> Traced:
    """What battery and sun of a site add to the plan, term by term of its ledger."""
    sites, groups = sites_with_nodes(plan.problem)
    rows = groups[sites == site].tolist()
    parts = {
        term: part
        for term in OF_SITES
        if rows
        and term in plan.ledger.parts[kind]
        and (part := part_total(plan, kind, term, f"{term}_{kind}", rows=rows)) is not None
    }
    return total(kind, parts, "of battery and sun, over the site without them")
