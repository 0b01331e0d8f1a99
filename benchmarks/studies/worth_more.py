"""What more a plan may choose adds to the worth of the levers: the sun and batteries, formats and techniques.

    python -m benchmarks.studies.worth_more [family ...]

Each family is planned for least money and for least carbon at no more than five percent more, with all
levers by the hour at full clocks; then once more with what its sites may buy of the sun's cells and of
batteries, and once with formats and techniques that its services may use (`worth_more.toml`). Plans without
are where searches with begin. What a run found is kept in worth_more.json; two to twelve minutes a family.
`python -m benchmarks.studies.worth --page` writes it into docs/worth.md.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from planner.physics.ways import way_said
from planner.program.assembly import Assembled, assemble
from solver.account_energy import battery_kwh, solar_kw
from solver.known import Answer
from solver.levers import with_levers
from solver.problem import Problem, Solution

KEPT = Path(__file__).with_name("worth_more.json")
CHEAPEST, CLEANEST = "least money", "least carbon, 5 % over"


Plans = dict[str, Outcome | None]


@dataclass(frozen=True, slots=True)
class More:
    """Plans of a family: as it is, with the sun and batteries, with ways; None where none was found."""

    without: Plans
    energy: Plans
    ways: Plans
    no_battery_kgco2e: float | None = None  # the cleanest plan's fleet, chosen again without batteries
    solar_kw: dict[str, float] = field(default_factory=dict)  # that the cleanest plan buys, by site
    battery_kwh: dict[str, float] = field(default_factory=dict)
    chosen: tuple[str, ...] = ()  # ways of the cleanest plan with them, other than as stated


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


def with_ways(scenario: Scenario) -> Scenario:
    """The scenario with formats and techniques that each service may use; unchanged without services."""
    if not scenario.services:
        return scenario
    ways = offers()["ways"]
    changes: dict[str, Any] = {"policy.techniques": ways["techniques"]}
    for service in scenario.services:
        changes[f"services.{service.name}.precisions"] = ways["precisions"]
        changes[f"services.{service.name}.quality_budget"] = ways["quality_budget"]
    return with_changes(scenario, changes)


def measured(scenario: Scenario) -> More:
    """Both plans of a family, as it is and with each of what more it may choose."""
    scenario = at_location(scenario)
    catalogue = with_cards(scenario, load_catalogue())

    def assembled(one: Scenario) -> Assembled:
        return assemble(Inputs(by_the_hour(one), catalogue))

    plain = assembled(scenario).problem
    small = solved(replace(with_levers(plain, ()), objective=LEAST_MONEY))
    without = _searched(plain, [] if small is None or small.solution is None else [small.solution])
    full, other = assembled(with_energy(scenario)).problem, assembled(with_ways(scenario))
    energy = _searched(full, _best_two(without))
    ways = _searched(other.problem, _best_two(without)) if scenario.services else without
    # Fleets of either may do the work as it is for less than what was found before.
    without.known += taken_over(replace(plain, objective=LEAST_MONEY), [*_best_two(energy), *_best_two(ways)])
    best = _plan(_pair(energy)[CLEANEST])
    return More(
        _outcomes(without),
        _outcomes(energy),
        _outcomes(ways),
        None if best is None else _without_batteries(full, best),
        {} if best is None else _by_site(full, solar_kw(full, best)),
        {} if best is None else _by_site(full, battery_kwh(full, best)),
        _chosen(other, _plan(_pair(ways)[CLEANEST])),
    )


def _plan(found: Answer | None) -> Solution | None:
    return None if found is None else found.solution


def _without_batteries(full: Problem, plan: Solution) -> float | None:
    """Carbon of the fleet of a plan, for no more money than it takes, where no batteries may be bought."""
    none = replace(full.site_energy, most_kwh=np.zeros_like(full.site_energy.most_kwh))
    least = on_fleet(capped(replace(full, site_energy=none), plan.usd, 0.0), plan)
    return None if least is None else least.kgco2e


def _by_site(full: Problem, amounts: NDArray[np.float64]) -> dict[str, float]:
    return {
        name: round(float(much), 1) for name, much in zip(full.site_names, amounts, strict=True) if much > 0.5
    }


def _chosen(assembled: Assembled, plan: Solution | None) -> tuple[str, ...]:
    """Ways in which a plan serves most requests of each service, in words, where not as stated."""
    replicas, tried = assembled.replicas, assembled.tried
    if plan is None or replicas is None or not tried.ways.services:
        return ()
    way = replicas.candidates.service[assembled.replica_row]
    options = assembled.problem.serve_options
    carried = (plan.replicas * options.capacity).sum(axis=1)
    of = np.array([one.of for one in tried.ways.services])
    said = list[str]()
    for i, name in enumerate(assembled.problem.services.name):
        ways = np.flatnonzero(of == i)
        most = int(max(ways, key=lambda one: carried[way == one].sum()))
        if most != ways[0]:
            said.append(f"{name}: {way_said(tried, most)}")
    return tuple(said)


def _searched(problem: Problem, fleets: list[Solution]) -> FrontSearch:
    """A search for the cheapest plan and for the cleanest for little more, from the fleets of other plans."""
    search = FrontSearch(problem, taken_over(replace(problem, objective=LEAST_MONEY), fleets))
    search.find_cheapest()
    if search.cheapest is not None and search.cheapest.solution is not None:
        limited = capped(problem, search.cheapest.solution.usd)
        search.known += taken_over(limited, sorted(search.known, key=lambda one: one.usd)[:2])
        search.cleanest(limited)
    return search


def _pair(search: FrontSearch) -> dict[str, Answer | None]:
    """The cheapest plan of all that a search knows, and the cleanest within little more than that takes."""
    search.keep_cheapest()
    cheapest = _plan(search.cheapest)
    if cheapest is None:
        return {CHEAPEST: None, CLEANEST: None}
    within = search.known_within(cheapest.usd * (1 + MORE_MONEY))
    return {CHEAPEST: search.cheapest, CLEANEST: within}


def _best_two(search: FrontSearch) -> list[Solution]:
    return [plan for one in _pair(search).values() if (plan := _plan(one)) is not None]


def _outcomes(search: FrontSearch) -> Plans:
    return {name: outcome(one) for name, one in _pair(search).items()}


def saved_fraction(plans: Plans) -> float | None:
    """Share of the carbon of least money that the cleanest of some plans saves.  1 - C / C_cheapest"""
    cheap, clean = plans[CHEAPEST], plans[CLEANEST]
    return None if cheap is None or clean is None else 1.0 - clean.kgco2e / cheap.kgco2e


def kept() -> dict[str, More]:
    """What earlier runs found."""
    if not KEPT.exists():
        return {}
    found = json.loads(KEPT.read_text(encoding="utf-8"))

    def outcomes(held: Mapping[str, Any]) -> Plans:
        return {name: None if one is None else Outcome(**one) for name, one in held.items()}

    plans = ("without", "energy", "ways")
    return {
        name: More(**one | {each: outcomes(one[each]) for each in plans} | {"chosen": tuple(one["chosen"])})
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
        shares = [saved_fraction(each) for each in (one.without, one.energy, one.ways)]
        print(name, shares, one.chosen, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
