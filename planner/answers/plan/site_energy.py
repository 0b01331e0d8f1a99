"""What batteries and the sun at the sites would change: a row for each site, and sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.program.plan import Plan
from planner.program.site_energy import SiteUse, site_uses, states_energy
from planner.program.solution import Solution
from planner.trace.numbers import energy, mass, money, percent_text
from planner.trace.records import Record


def site_energy_records(plan: Plan, solution: Solution) -> list[Record]:
    """One row for each site that states a battery or the sun."""
    return [_record(one) for one in site_uses(plan, solution)]


def site_energy_sentences(plan: Plan, rows: list[Record]) -> Iterator[str]:
    """What was found, or why nothing was looked for."""
    if not rows:
        if states_energy(plan):
            yield "Batteries and the sun are weighed by the hour: allow `levers`, and name hours of a grid."
        return
    for row in rows:
        bought = row["battery_kwh"]
        held = f"{energy(bought)} of battery pay" if bought > 1.0 else "no battery pays"
        sun = (
            f"; the sun covers {percent_text(row['matched_year_fraction'], 1)} of its energy by the year and "
            f"{percent_text(row['matched_hour_fraction'], 1)} by the hour"
            if row["solar_kwh"] + row["spilled_kwh"] > 0
            else ""
        )
        saved = f"{mass(row['saved_kgco2e'])} and {money(row['saved_usd'])} less than this plan"
        yield f"At {row['site']} {held}{sun}: {saved}, whose fleet and operation stay as they are."


def _record(one: SiteUse) -> Record:
    site, use = one.site, one.use
    there = site.hours > 0
    before, after = (float(np.where(there, kw, 0.0).max()) for kw in (site.load_kw, use.import_kw(site)))
    year, hour = one.matched
    return {
        "site": one.name,
        "battery_kwh": use.battery_kwh,
        "load_kwh": float((site.hours * site.load_kw).sum()),
        "import_kwh": float((site.hours * use.import_kw(site)).sum()),
        "solar_kwh": float((site.hours * use.used_kw).sum()),
        "spilled_kwh": float((site.hours * (site.sun_kw - use.used_kw)).sum()),
        "peak_before_kw": before,
        "peak_kw": after,
        "matched_year_fraction": year,
        "matched_hour_fraction": hour,
        "saved_usd": -use.usd,
        "saved_kgco2e": -use.kgco2e,
    }
