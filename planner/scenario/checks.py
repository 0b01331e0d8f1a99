"""What one field cannot know: names that must differ or exist, dates in order, ways that exclude each other.

These checks read the tables as written and whatever parts of them are right, so that they speak up beside
the problems of single fields and not only once those are gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from planner.fitted import FittedFleet
from planner.ranges import Ranges
from planner.scenario.ahead import Future, Uncertainty, ahead_problems
from planner.scenario.contracting import contract_problems, order_problems
from planner.scenario.models import Horizon, Policy, Scenario, TrainingJob
from planner.scenario.owning import Cohort, Move, Offer
from planner.scenario.owning_checks import cohort_problems, move_problems, offer_problems
from planner.scenario.problems import Problem, near, place, shown, shown_key
from planner.scenario.rules import CARD
from planner.scenario.using import in_part, site_twice
from planner.units import UnitError, parse_quantity

MAX_ENTRIES = 200
WORK = ("training", "pools", "services")
LISTS = ("sites", "fleet", "market", "moves", "rental", "contracts", *WORK, "futures")
RATES = ("failures", "failure_rate", "log")


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
    futures: Mapping[int, Future] = field(default_factory=dict)
    uncertainty: Uncertainty | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """Names that the catalogue has, the unit of each of its facts, and what their families may be."""

    skus: frozenset[str]
    models: frozenset[str]
    grids: frozenset[str]
    traffics: frozenset[str]
    storages: frozenset[str]
    fleets: frozenset[str]
    fact_units: Mapping[str, str] = field(default_factory=dict)
    ranges: Ranges = field(default_factory=lambda: Ranges(()))


def problems_between(document: Mapping[str, Any], parts: Parts) -> Iterator[Problem]:
    """Everything that is wrong between fields."""
    yield from _presence(document)
    for section in ("sites", "market", "rental", "contracts", "futures", *WORK):
        yield from _twice(document, section)
    yield from site_twice(_words(document, "sites", "name"), _entries(document, "rental"))
    yield from _ways(document)
    yield from _failures(document, parts.fit)
    yield from _references(document)
    yield from contract_problems(document)
    yield from order_problems(document)
    days = None if parts.horizon is None else (parts.horizon.start, parts.horizon.end)
    yield from ahead_problems(document, parts.futures, parts.uncertainty, days)
    if parts.horizon is not None:
        yield from _dates(document, parts, parts.horizon)
    for i, job in parts.jobs.items():
        yield from _leaving_out(job, place(("training", i), document))
        yield from in_part(job, place(("training", i), document))
    for i, cohort in parts.cohorts.items():
        yield from cohort_problems(cohort, f"fleet[{i}]")
    for i, offer in parts.offers.items():
        yield from offer_problems(offer, place(("market", i), document))
    for i, move in parts.moves.items():
        yield from move_problems(move, f"moves[{i}]", document)
    if parts.policy is not None and parts.policy.objective == "weighted":
        price = parts.policy.carbon_price_usd_per_kgco2e
        if price is None:
            yield Problem("policy.carbon_price", 'is missing, and objective = "weighted" needs it: '
                          'write for example carbon_price = "150 USD/t"')  # fmt: skip
        elif price == 0:
            yield Problem("policy.carbon_price", 'is zero, and objective = "weighted" needs a price: '
                          'raise it, or write objective = "money"')  # fmt: skip


def unknown_names(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Names that the catalogue does not have, and overrides that its facts cannot take."""
    one = {"sku": ("SKU", known.skus), "reference": ("SKU", known.skus), "model": ("model", known.models),
           "grid": ("grid region", known.grids), "traffic": ("traffic trace", known.traffics),
           "checkpoint_storage": ("storage class", known.storages)}  # fmt: skip
    document = {section: [entry.model_dump() for entry in getattr(scenario, section)] for section in LISTS}
    for section, entries in document.items():
        for i, entry in enumerate(entries):
            at = place((section, i), document)
            for key, (kind, names) in one.items():
                if entry.get(key) is not None:
                    yield from _unknown(f"{at}.{key}", entry[key], kind, names)
            for k, name in enumerate(entry.get("skus") or ()):
                yield from _unknown(f"{at}.skus[{k}]", name, "SKU", known.skus)
    if scenario.reliability.failures is not None:
        yield from _unknown("reliability.failures", scenario.reliability.failures, "fleet", known.fleets)
    if known.fact_units:
        yield from own_fact_problems(scenario.facts, known)


def own_fact_problems(facts: Mapping[str, str], known: Known) -> Iterator[Problem]:
    """Values of one's own for facts that do not exist, of another unit, or that no such thing can have."""
    for key, text in facts.items():
        path = f"facts.{shown_key(key)}"
        if key not in known.fact_units:
            yield Problem(path, f"the catalogue has no such fact; {near(key, known.fact_units)}")
            continue
        try:
            value = parse_quantity(text, known.fact_units[key])
        except UnitError as error:
            yield Problem(path, str(error))
            continue
        allowed = known.ranges.of(key)
        if allowed is not None and not allowed.holds(value):
            yield Problem(path, f"{shown(text)} is out of range: write a value {allowed.words}")


def _unknown(path: str, name: str, kind: str, names: frozenset[str]) -> Iterator[Problem]:
    if name in names:
        return
    if kind == "model" and CARD.fullmatch(name):
        # A text may come from anywhere: it must not choose what is read on this machine.
        yield Problem(path, f"{shown(name)} is looked for beside the scenario, and this text has no file: "
                      "save it, and read the scenario from there")  # fmt: skip
        return
    yield Problem(path, f"the catalogue has no {kind} {shown(name)}; {near(name, names)}")


def _presence(document: Mapping[str, Any]) -> Iterator[Problem]:
    if document.get("sites") == []:
        yield Problem("sites", "is empty: add [[sites]] with at least one site")
    if not any(document.get(section) for section in WORK):
        yield Problem("", "there is no work to plan: add [[training]], [[pools]] or [[services]]")
    if not any(document.get(section) for section in ("fleet", "market", "rental")):
        yield Problem("", "there is nothing to run on: add [[fleet]] (owned) or [[market]] (on offer)")


def _twice(document: Mapping[str, Any], section: str) -> Iterator[Problem]:
    key = "sku" if section == "market" else "name"
    seen: dict[str, int] = {}
    for i, entry in _entries(document, section):
        name = entry.get(key)
        if isinstance(name, str):
            first = seen.setdefault(name, i)
            if first != i:
                remedy = "offer it once" if section == "market" else "give it a name of its own"
                yield Problem(f"{section}[{i}].{key}", f"{shown(name)} is also {section}[{first}]: {remedy}")


def _ways(document: Mapping[str, Any]) -> Iterator[Problem]:
    for i, entry in _entries(document, "sites"):
        yield from _one_way(entry, place(("sites", i), document), "grid", ("grid_intensity",))
    for i, entry in _entries(document, "rental"):
        yield from _one_way(entry, place(("rental", i), document), "grid", ("grid_intensity",))
    for i, entry in _entries(document, "services"):
        yield from _one_way(entry, place(("services", i), document), "traffic", ("tokens_in", "tokens_out"))


def _one_way(entry: Mapping[str, Any], at: str, ours: str, yours: Sequence[str]) -> Iterator[Problem]:
    """Either the catalogue's name or one's own numbers, never both, never neither."""
    given = [key for key in yours if key in entry]
    both = " and ".join(yours)
    if ours in entry and given:
        yield Problem(at, f"{ours} and {' and '.join(given)} say the same thing twice: keep one")
    elif ours not in entry and not given:
        yield Problem(at, f"neither {ours} nor {both} is given: write one")
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
    if isinstance(fit, Problem):
        yield fit
    if "repair" in table or ("log" in table and not isinstance(fit, FittedFleet)):
        return
    if not isinstance(fit, FittedFleet):
        yield Problem("reliability.repair", 'is missing: write for example repair = "5.5 d"')
    elif fit.repair is None:
        yield Problem("reliability.repair", f"is missing, and {shown(table['log'])} holds no outages: "
                      'write for example repair = "5.5 d"')  # fmt: skip


def _references(document: Mapping[str, Any]) -> Iterator[Problem]:
    sites = _words(document, "sites", "name")
    skus = _words(document, "fleet", "sku") | _words(document, "market", "sku")
    skus |= _words(document, "rental", "sku")
    with_rented = sites | _words(document, "rental", "name")
    for section in ("fleet", "market", "moves", "contracts", *WORK):
        for i, entry in _entries(document, section):
            at = place((section, i), document)
            yield from _absent(f"{at}.site", entry.get("site"), "is no site here", sites)
            for key in ("from", "to") if section == "moves" else ():
                yield from _absent(f"{at}.{key}", entry.get(key), "is no site here", sites)
            places = with_rented if section in WORK else sites
            for k, name in enumerate(_listed(entry, "sites")):
                yield from _absent(f"{at}.sites[{k}]", name, "is no site here", places)
            for k, name in enumerate(_listed(entry, "skus")):
                yield from _absent(f"{at}.skus[{k}]", name, "is neither in the fleet nor on the market", skus)


def _absent(path: str, name: object, said: str, known: set[str]) -> Iterator[Problem]:
    if isinstance(name, str) and known and name not in known:
        yield Problem(path, f"{shown(name)} {said}; {near(name, known)}")


def _dates(document: Mapping[str, Any], parts: Parts, horizon: Horizon) -> Iterator[Problem]:
    for i, entry in _entries(document, "fleet"):
        day = entry.get("in_service")
        if type(day) is date and day > horizon.start:
            yield Problem(f"fleet[{i}].in_service", f"{day} is after the horizon's start, {horizon.start}: "
                          "write an earlier day, or offer the nodes on the market")  # fmt: skip
    for i, job in parts.jobs.items():
        at = place(("training", i), document)
        if job.earliest < horizon.start:
            yield Problem(f"{at}.earliest", f"{job.earliest} is before the horizon's start, {horizon.start}: "
                          "write that day or a later one")  # fmt: skip
        if job.deadline <= job.earliest:
            yield Problem(f"{at}.deadline", f"{job.deadline} is not after earliest, {job.earliest}: "
                          "write a later deadline")  # fmt: skip
        elif job.deadline > horizon.end:
            yield Problem(f"{at}.deadline", f"{job.deadline} is after the horizon's end, {horizon.end}: "
                          "write an earlier deadline, or more periods")  # fmt: skip


def _leaving_out(job: TrainingJob, at: str) -> Iterator[Problem]:
    if job.may_be_left_out and job.left_out_penalty_usd is None:
        yield Problem(f"{at}.left_out_penalty", "is missing, and may_be_left_out needs it: write for example "
                      'left_out_penalty = "5 MUSD"')  # fmt: skip
    if job.left_out_penalty_usd is not None and not job.may_be_left_out:
        yield Problem(f"{at}.left_out_penalty", "has no effect: write may_be_left_out = true, or remove it")


def _entries(document: Mapping[str, Any], section: str) -> list[tuple[int, dict[str, Any]]]:
    entries = document.get(section)
    held = entries if isinstance(entries, list) else []
    return [(i, entry) for i, entry in enumerate(held) if isinstance(entry, dict)]


def _words(document: Mapping[str, Any], section: str, key: str) -> set[str]:
    return {word for _, entry in _entries(document, section) if isinstance(word := entry.get(key), str)}


def _listed(entry: Mapping[str, Any], key: str) -> list[Any]:
    value = entry.get(key)
    return value if isinstance(value, list) else []
