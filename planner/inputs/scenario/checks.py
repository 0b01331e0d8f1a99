"""What one field cannot know: names that must differ or exist, dates in order, ways that exclude each other.

These checks read the tables as written and whatever parts of them are right, so that they speak up with
the problems of single fields and not only once those are gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.inputs.fits import FittedFleet
from planner.inputs.scenario.data_mix import price_of_another
from planner.inputs.scenario.fleet_checks import (
    OF_COHORTS,
    OF_MOVES,
    OF_OFFERS,
    declines_twice,
    late_cohorts,
    late_energy,
    resale_of_nothing,
)
from planner.inputs.scenario.parts import entries_of, reported
from planner.inputs.scenario.problems import Problem, nearest_remedy, place, rank_without_adapters, shown
from planner.inputs.scenario.schema import Horizon, Policy
from planner.inputs.scenario.schema_fleet import (
    Cohort,
    Move,
    Offer,
    contracts_without_effect,
    limits_twice,
    order_problems,
    profiles_in_parts,
)
from planner.inputs.scenario.schema_futures import OF_DRAWS, OF_FUTURES, Future, Uncertainty
from planner.inputs.scenario.schema_places import (
    Site,
    counted_twice,
    energy_in_parts,
    linked_twice,
    owned_and_priced,
    reads_of_nothing,
)
from planner.inputs.scenario.schema_pools import Pool, one_way, quantiles_in_order
from planner.inputs.scenario.schema_rental import Rental, between_periods, needless_terms
from planner.inputs.scenario.schema_training import TrainingJob
from planner.inputs.scenario.service_checks import request_problems
from planner.inputs.scenario.training_checks import (
    OF_JOBS,
    amount_problems,
    at_one_site,
    deadlines,
    early_jobs,
)


def site_twice(sites: Collection[str], rentals: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[Problem]:
    """Rented nodes stand at a location of their own, never at a site of ours."""
    for i, entry in rentals:
        name = entry.get("name")
        if isinstance(name, str) and name in sites:
            yield Problem(
                f"rental[{i}].name",
                f"{shown(name)} is also a site: give the rented location a name of its own",
            )


OF_POLICY = (contracts_without_effect, limits_twice, profiles_in_parts, order_problems)
OF_RENTAL = (needless_terms,)
OF_SITES = (owned_and_priced, counted_twice, energy_in_parts, reads_of_nothing)
MAX_ENTRIES = 200
WORK = ("training", "pools", "services")
PLACES = ("sites", "power_groups", "links")
LISTS = (*PLACES, "fleet", "market", "moves", "rental", "contracts", *WORK, "futures")
NEED_SITES = ("fleet", "market", "moves", "contracts", "power_groups", "links")  # what stands at one's own
A_PLACE = (
    "begin each building of your own with [[sites]]; who only rents writes [[rental]] with "
    'region = "aws/us-east-1" or grid, and no site'
)
RATES = ("failures", "failure_rate", "log")
# What a future leaves out of itself: the futures, and the policy that is about them.
AHEAD = ("futures", "uncertainty", "policy.robust", "policy.decide_until")


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a scenario that could be read, by their place in the file."""

    horizon: Horizon | None
    policy: Policy | None
    jobs: Mapping[int, TrainingJob]
    fit: FittedFleet | Problem | None = None
    cohorts: Mapping[int, Cohort] = field(default_factory=dict)
    offers: Mapping[int, Offer] = field(default_factory=dict)
    moves: Mapping[int, Move] = field(default_factory=dict)
    sites: Mapping[int, Site] = field(default_factory=dict)
    rental: Mapping[int, Rental] = field(default_factory=dict)
    futures: Mapping[int, Future] = field(default_factory=dict)
    pools: Mapping[int, Pool] = field(default_factory=dict)
    uncertainty: Uncertainty | None = None


def between_tables(document: Mapping[str, Any], parts: Parts) -> Iterator[Problem]:
    """What is wrong with the presence of keys and tables, and with names of one in another."""
    yield from _presence(document)
    for section in ("sites", "power_groups", "market", "rental", "contracts", "futures", *WORK):
        yield from _twice(document, section)
    yield from site_twice(_words(document, "sites", "name"), entries_of(document, "rental"))
    yield from linked_twice(document)
    yield from _ways(document)
    yield from _failures(document, parts.fit)
    yield from _references(document)


def between_values(document: Mapping[str, Any], parts: Parts) -> Iterator[Problem]:
    """What is wrong between values of keys, as far as they can be read."""
    policy, horizon = parts.policy, parts.horizon
    if policy is not None:
        yield from reported(OF_POLICY, document, policy)
        yield from reported((declines_twice,), parts.cohorts, policy)
    yield from reported(OF_FUTURES, document, parts.futures, policy, horizon)
    if parts.uncertainty is not None:
        yield from reported(OF_DRAWS, parts.uncertainty)
    if horizon is not None:
        yield from reported((late_cohorts, late_energy), document, horizon)
        if policy is not None:
            yield from reported((resale_of_nothing,), document, parts.cohorts, policy, horizon)
        for i, job in parts.jobs.items():
            yield from reported((early_jobs, deadlines), job, place(("training", i), document), horizon)
    for i, job in parts.jobs.items():
        yield from reported(OF_JOBS, job, place(("training", i), document))
    for i, rental in parts.rental.items():
        at = place(("rental", i), document)
        yield from reported(OF_RENTAL, rental, at)
        if horizon is not None:
            yield from reported((between_periods,), rental, at, horizon)
    for i, pool in parts.pools.items():
        yield from reported((quantiles_in_order,), pool, place(("pools", i), document))
    for i, site in parts.sites.items():
        yield from reported(OF_SITES, site, place(("sites", i), document))
    for i, cohort in parts.cohorts.items():
        yield from reported(OF_COHORTS, cohort, f"fleet[{i}]")
    for i, offer in parts.offers.items():
        yield from reported(OF_OFFERS, offer, place(("market", i), document))
    for i, move in parts.moves.items():
        yield from reported(OF_MOVES, move, f"moves[{i}]", document)
    if policy is not None:
        yield from reported((_weighted, _levers), policy)
    yield from _slots(document)
    yield from data_in_whole(document)


def _weighted(policy: Policy) -> Iterator[Problem]:
    if policy.objective != "weighted":
        return
    price = policy.carbon_price_usd_per_kgco2e
    if price is None:
        yield Problem(
            "policy.carbon_price",
            'is missing, and objective = "weighted" needs it: write for example carbon_price = "150 USD/t"',
        )
    elif price == 0:
        yield Problem(
            "policy.carbon_price",
            'is zero, and objective = "weighted" needs a price: raise it, or write objective = "money"',
        )


def _levers(policy: Policy) -> Iterator[Problem]:
    """Only nodes of replicas that rest are lent."""
    if "lend" in policy.levers and "pack" not in policy.levers:
        yield Problem(
            "policy.levers", '"lend" needs "pack": nodes are lent of replicas that rest; write both'
        )


def _slots(document: Mapping[str, Any]) -> Iterator[Problem]:
    """A type of day has 12 slots."""
    solve = document.get("solve")
    slots = solve.get("slots") if isinstance(solve, dict) else None
    if isinstance(slots, int) and not isinstance(slots, bool) and slots > 1 and slots % 12:
        yield Problem("solve.slots", f"{slots} is no whole number of days of 12 parts: write 1, 12, 24 or 36")


def _presence(document: Mapping[str, Any]) -> Iterator[Problem]:
    needed = [section for section in NEED_SITES if document.get(section)]
    if not document.get("sites") and (needed or not document.get("rental")):
        why = f" for {' and '.join(f'[[{section}]]' for section in needed)} to stand at" if needed else ""
        yield Problem("sites", f"there is none{why}: {A_PLACE}")
    if not any(document.get(section) for section in WORK):
        yield Problem("", "there is no work to plan: add [[training]], [[pools]] or [[services]]")
    if not any(document.get(section) for section in ("fleet", "market", "rental")):
        yield Problem(
            "",
            "there is nothing to run on: add [[fleet]] (owned), [[market]] (on offer) or [[rental]] (rented)",
        )


def _twice(document: Mapping[str, Any], section: str) -> Iterator[Problem]:
    key = "sku" if section == "market" else "name"
    seen: dict[str, int] = {}
    for i, entry in entries_of(document, section):
        name = entry.get(key)
        if isinstance(name, str):
            first = seen.setdefault(name, i)
            if first != i:
                remedy = "offer it once" if section == "market" else "give it a name of its own"
                yield Problem(f"{section}[{i}].{key}", f"{shown(name)} is also {section}[{first}]: {remedy}")


def _ways(document: Mapping[str, Any]) -> Iterator[Problem]:
    for i, entry in entries_of(document, "sites"):
        yield from _one_way(entry, place(("sites", i), document), "grid", ("grid_intensity",))
    for i, entry in entries_of(document, "rental"):
        yield from _one_way(entry, place(("rental", i), document), "grid", ("grid_intensity",))
    for i, entry in entries_of(document, "training"):
        yield from amount_problems(entry, place(("training", i), document))
        yield from at_one_site(entry, place(("training", i), document), document)
        yield from rank_without_adapters(entry, place(("training", i), document))
        yield from price_of_another(entry, place(("training", i), document))
    for i, entry in entries_of(document, "services"):
        at = place(("services", i), document)
        yield from request_problems(entry, at)
        if "traffic_shape" in entry and "busiest_time" in entry:
            yield Problem(at, "traffic_shape and busiest_time say the same thing twice: keep one")
    for i, entry in entries_of(document, "pools"):
        yield from one_way(entry, place(("pools", i), document))


def _one_way(entry: Mapping[str, Any], at: str, ours: str, yours: Sequence[str]) -> Iterator[Problem]:
    """Either the catalogue's name or one's own numbers, never both, never neither."""
    given = [key for key in yours if key in entry]
    both = " and ".join(yours)
    if ours in entry and given:
        yield Problem(at, f"{ours} and {' and '.join(given)} say the same thing twice: keep one")
    elif ours not in entry and not given:
        placed = ", or a region that has one" if ours == "grid" else ""
        yield Problem(at, f"neither {ours} nor {both} is given: write one{placed}")
    elif given and len(given) < len(yours):
        missing = next(key for key in yours if key not in entry)
        yield Problem(f"{at}.{missing}", f"is missing, and {given[0]} needs it: write both, or {ours}")


def _failures(document: Mapping[str, Any], fit: FittedFleet | Problem | None) -> Iterator[Problem]:
    """One source of the failure rate, and of the time to repair: the log's mean where nothing is written."""
    table = document.get("reliability")
    if not isinstance(table, dict):
        return
    given = [key for key in RATES if key in table]
    if len(given) > 1:
        yield Problem("reliability", f"{', '.join(given[:-1])} and {given[-1]} say the same thing: keep one")
    elif not given:
        yield Problem("reliability", f"none of {', '.join(RATES)} is given: write one")
    if "rollback" in table and "loss_spikes" not in table:
        yield Problem(
            "reliability.rollback",
            'has no effect without loss_spikes: write for example loss_spikes = "10 /month"',
        )
    if "slowdown" in table and "slow_nodes" not in table:
        yield Problem(
            "reliability.slowdown", 'has no effect without slow_nodes: write for example slow_nodes = "0.5 %"'
        )
    if isinstance(fit, Problem):
        yield fit
    if "repair" in table or ("log" in table and not isinstance(fit, FittedFleet)):
        return
    if not isinstance(fit, FittedFleet):
        yield Problem("reliability.repair", 'is missing: write for example repair = "5.5 d"')
    elif fit.repair is None:
        yield Problem(
            "reliability.repair",
            f'is missing, and {shown(table["log"])} holds no outages: write for example repair = "5.5 d"',
        )


def _references(document: Mapping[str, Any]) -> Iterator[Problem]:
    sites = _all_words(document, ("sites", "name"))
    skus = _all_words(document, ("fleet", "sku"), ("market", "sku"), ("rental", "sku"))
    with_rented = _all_words(document, ("sites", "name"), ("rental", "name")) if sites else None
    for section in ("power_groups", "links", "fleet", "market", "moves", "contracts", *WORK):
        for i, entry in entries_of(document, section):
            at = place((section, i), document)
            for key in ("site", "data_site"):
                yield from _absent(f"{at}.{key}", entry.get(key), "is no site here", sites)
            for key in ("from", "to") if section == "moves" else ():
                yield from _absent(f"{at}.{key}", entry.get(key), "is no site here", sites)
            places = with_rented if section in ("links", *WORK) else sites
            for key, why, names in (
                ("sites", "is no site here", places),
                ("sites_today", "is no site here", places),
                ("skus", "is neither in the fleet nor on the market", skus),
                ("skus_today", "is neither in the fleet nor on the market", skus),
            ):
                for k, name in enumerate(list_in(entry, key)):
                    yield from _absent(f"{at}.{key}[{k}]", name, why, names)


def _all_words(document: Mapping[str, Any], *places: tuple[str, str]) -> set[str] | None:
    """The names that entries have; None where one of them has none, so that a name may be that one's."""
    found = set()
    for section, key in places:
        entries = document.get(section, [])
        for entry in entries if isinstance(entries, list) else [None]:
            name = entry.get(key) if isinstance(entry, dict) else None
            if not isinstance(name, str):
                return None
            found.add(name)
    return found


def _absent(path: str, name: object, said: str, known: set[str] | None) -> Iterator[Problem]:
    if isinstance(name, str) and known and name not in known:
        yield Problem(path, f"{shown(name)} {said}; {nearest_remedy(name, known)}")


def _words(document: Mapping[str, Any], section: str, key: str) -> set[str]:
    return {word for _, entry in entries_of(document, section) if isinstance(word := entry.get(key), str)}


def list_in(entry: Mapping[str, Any], key: str) -> list[Any]:
    """A list of a table; empty where it is none."""
    value = entry.get(key)
    return value if isinstance(value, list) else []


MOVED = {
    "training": {"data_moved": '"40 TB"'},
    "pools": {"data_moved": '"40 GB"'},
    "services": {"data_moved": '"140 GB"', "logs_moved": '"2 TB/month"'},
}


def data_in_whole(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Where data lie and how much of them moves are stated together."""
    for section, keys in MOVED.items():
        for i, entry in entries_of(document, section):
            at = place((section, i), document)
            stated = [key for key in keys if key in entry]
            if "data_site" in entry and not stated:
                lacking = " or ".join(keys)
                example = f"data_moved = {keys['data_moved']}"
                yield Problem(f"{at}.data_site", f"needs {lacking} next to it, for example {example}")
            elif stated and "data_site" not in entry:
                example = 'data_site = "dallas"'
                yield Problem(f"{at}.{stated[0]}", f"needs data_site next to it, for example {example}")
