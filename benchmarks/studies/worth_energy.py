"""What the sun and batteries at the sites add to the worth of the levers: a part of docs/worth.md.

    python -m benchmarks.studies.worth_energy [family ...]

Each family is planned for least money and for least carbon at no more than five percent more, without what
its sites may buy of the sun's cells and of batteries (`worth_energy.toml`), and with it: all levers by the
hour, at full clocks. Plans without are where searches with begin. What a run found is kept in
worth_energy.json; one to nine minutes a family. `python -m benchmarks.studies.worth --page` writes the page.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.studies.worth_search import (
    LEAST_MONEY,
    MORE_MONEY,
    FrontSearch,
    Outcome,
    at_location,
    by_the_hour,
    capped,
    families,
    on_fleet,
    outcome,
    solved,
    taken_over,
)
from planner.inputs.consistency import with_cards
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, load_scenario, with_changes
from planner.program.assembly import assemble
from solver.account_energy import battery_kwh, solar_kw
from solver.answer import Answer
from solver.levers import with_levers
from solver.problem import Problem, Solution

KEPT = Path(__file__).with_name("worth_energy.json")
CHEAPEST, CLEANEST = "least money", "least carbon, 5 % over"


@dataclass(frozen=True, slots=True)
class Energy:
    """Plans of a family without the sun and batteries, and with; None where none was found."""

    without: dict[str, Outcome | None]
    having: dict[str, Outcome | None]
    no_battery_kgco2e: float | None = None  # the cleanest plan's fleet, chosen again without batteries
    solar_kw: dict[str, float] | None = None  # that the cleanest plan buys, by site
    battery_kwh: dict[str, float] | None = None


@cache
def offers() -> Mapping[str, Any]:
    """What sites may buy."""
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        return tomllib.load(file)


def with_energy(scenario: Scenario) -> Scenario:
    """The scenario with the sun's cells and batteries that each of its sites may buy from the first day."""
    changes: dict[str, Any] = {}
    for site in scenario.sites:
        latitude, longitude, mean, spread = offers()["sites"][site.name]
        cap_kw, most = max(site.power_cap_kw), offers()["most"]
        keys = offers()["keys"] | {
            "solar_more": f"{most['solar_kw_per_kw'] * cap_kw} kW",
            "solar_yield": mean,
            "solar_latitude": latitude,
            "solar_longitude": longitude,
            "solar_spread": spread,
            "battery": f"{most['battery_kwh_per_kw'] * cap_kw} kWh",
        }
        changes |= {f"sites.{site.name}.{key}": value for key, value in keys.items()}
    return with_changes(scenario, changes)


def measured(scenario: Scenario) -> Energy:
    """Both plans of a family, without the sun and batteries and with."""
    scenario = at_location(scenario)
    catalogue = with_cards(scenario, load_catalogue())
    plain = assemble(Inputs(by_the_hour(scenario), catalogue)).problem
    full = assemble(Inputs(by_the_hour(with_energy(scenario)), catalogue)).problem
    small = solved(replace(with_levers(plain, ()), objective=LEAST_MONEY))
    start = [] if small is None or small.solution is None else [small.solution]
    without, known = _both(plain, taken_over(replace(plain, objective=LEAST_MONEY), start))
    having, _ = _both(full, taken_over(replace(full, objective=LEAST_MONEY), known))
    cleanest = having[CLEANEST]
    best = None if cleanest is None else cleanest.solution
    if best is None:
        return Energy(_outcomes(without), _outcomes(having))
    cap_usd = best.usd  # what the plan takes is enough for what it does without batteries
    no_battery = replace(full.site_energy, most_kwh=0.0 * full.site_energy.most_kwh)
    least = on_fleet(capped(replace(full, site_energy=no_battery), cap_usd, 0.0), best)
    bought = solar_kw(full, best), battery_kwh(full, best)
    by_site = [dict(zip(full.site_names, np.round(each, 1).tolist(), strict=True)) for each in bought]
    return Energy(
        _outcomes(without), _outcomes(having), None if least is None else least.kgco2e, by_site[0], by_site[1]
    )


def _both(problem: Problem, known: list[Solution]) -> tuple[dict[str, Answer | None], list[Solution]]:
    """The cheapest plan and the cleanest for little more, and every plan that was found."""
    search = FrontSearch(problem, known)
    search.find_cheapest()
    if search.cheapest is None or search.cheapest.solution is None:
        return {CHEAPEST: None, CLEANEST: None}, search.known
    cap_usd = search.cheapest.solution.usd
    limited = capped(problem, cap_usd)
    search.known += taken_over(limited, sorted(search.known, key=lambda one: one.usd)[:2])
    search.cleanest(limited)
    found = {CHEAPEST: search.cheapest, CLEANEST: search.known_within(cap_usd * (1 + MORE_MONEY))}
    return found, search.known


def _outcomes(plans: Mapping[str, Answer | None]) -> dict[str, Outcome | None]:
    return {name: outcome(one) for name, one in plans.items()}


def saved_fraction(plans: Mapping[str, Outcome | None]) -> float | None:
    """Share of the carbon of least money that the cleanest plan saves.  1 - C / C_cheapest"""
    cheap, clean = plans[CHEAPEST], plans[CLEANEST]
    return None if cheap is None or clean is None else 1.0 - clean.kgco2e / cheap.kgco2e


def kept() -> dict[str, Energy]:
    """What earlier runs found."""
    if not KEPT.exists():
        return {}
    found = json.loads(KEPT.read_text(encoding="utf-8"))

    def outcomes(held: Mapping[str, Any]) -> dict[str, Outcome | None]:
        return {name: None if one is None else Outcome(**one) for name, one in held.items()}

    return {
        name: Energy(**one | {"without": outcomes(one["without"]), "having": outcomes(one["having"])})
        for name, one in found.items()
    }


def main(names: Sequence[str]) -> None:
    """Measure the families that are named, or all."""
    files = families()
    for name in names or files:
        one = measured(load_scenario(files[name]))
        found = kept() | {name: one}  # read again: another family may be measured at the same time
        text = json.dumps({each: asdict(held) for each, held in found.items()}, indent=1)
        KEPT.write_text(text + "\n", encoding="utf-8")
        print(name, saved_fraction(one.without), saved_fraction(one.having), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
