"""Clean energy of a plan told three ways: by location, matched by the period, and matched hour by hour."""

from __future__ import annotations

from collections.abc import Iterator

from planner.program.clean_hours import Matched, matched_sites
from planner.program.plan import Plan
from planner.program.solution import Solution
from planner.trace.numbers import mass, percent_text
from planner.trace.records import Record


def clean_energy_records(plan: Plan, solution: Solution) -> list[Record]:
    """One row for each site with a contract, where something is decided by the hour."""
    return [_record(one) for one in matched_sites(plan, solution)]


def clean_energy_sentences(plan: Plan, rows: list[Record]) -> Iterator[str]:
    """How much of the year's claim is left by the hour, or what is lacking to say so."""
    if not rows and plan.inputs.scenario.contracts and plan.ledger.matched_kwh is not None:
        yield "What contracts match hour by hour is shown where `levers` decide by the hour."
    for row in rows:
        by_period = percent_text(row["matched_period_fraction"], 1)
        if row["matched_hour_fraction"] is None:
            yield (
                f"At {row['site']} contracts match {by_period} of the energy by the period; by the hour it "
                "is not known: state the `profile` of each."
            )
            continue
        yield (
            f"At {row['site']} contracts match {by_period} of the energy by the period and "
            f"{percent_text(row['matched_hour_fraction'], 1)} hour by hour: its electricity emits "
            f"{mass(row['market_kgco2e'])} by the first count, {mass(row['hourly_kgco2e'])} by the second, "
            f"and {mass(row['location_kgco2e'])} by location."
        )


def _record(one: Matched) -> Record:
    load = max(one.load_kwh, 1e-9)
    return {
        "site": one.site,
        "load_kwh": one.load_kwh,
        "matched_kwh": one.period_kwh,
        "matched_hour_kwh": one.hour_kwh,
        "matched_period_fraction": one.period_kwh / load,
        "matched_hour_fraction": None if one.hour_kwh is None else one.hour_kwh / load,
        "location_kgco2e": one.location_kgco2e,
        "market_kgco2e": one.market_kgco2e,
        "hourly_kgco2e": one.hourly_kgco2e,
    }
