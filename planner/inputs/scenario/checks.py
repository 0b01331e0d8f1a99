"""What one field cannot know: names that must differ or exist, dates in order, ways that exclude each other.

These checks read the tables as written and whatever parts of them are right, so that they speak up with
the problems of single fields and not only once those are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from planner.inputs.fits import FittedFleet
from planner.inputs.ranges import Ranges
from planner.inputs.scenario.fields import CARD
from planner.inputs.scenario.problems import Problem, ScenarioError, label, near, place, shown, shown_key
from planner.inputs.scenario.schema import Horizon, Policy, Scenario, TrainingJob
from planner.inputs.scenario.schema_fleet import Cohort, Move, Offer, contract_problems, order_problems
from planner.inputs.scenario.schema_futures import Future, Uncertainty, ahead_problems
from planner.inputs.scenario.writing import change, tables
from planner.trace.units import UnitError, parse_quantity


def site_twice(sites: Collection[str], rentals: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[Problem]:
    """Rented nodes stand at a location of their own, never at a site of ours."""
    for i, entry in rentals:
        name = entry.get("name")
        if isinstance(name, str) and name in sites:
            yield Problem(
                f"rental[{i}].name",
                f"{shown(name)} is also a site: give the rented location a name of its own",
            )


def in_part(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A job that may be done in part has to be able to pause, and what is not done has to have a price."""
    if job.partial and not job.pausable:
        yield Problem(f"{at}.partial", "has no effect without pausable = true: write that, or remove it")
    if job.pausable and job.tokens < job.batch_tokens:
        yield Problem(
            f"{at}.tokens",
            f"{job.tokens:g} are less than one step of the optimiser, which is all "
            f"that a pausable job can do at once: write {job.batch_tokens:g} or more",
        )
    if job.partial and not job.may_be_left_out:
        yield Problem(
            f"{at}.partial",
            "needs a price for what is not done: write may_be_left_out = true and "
            'for example left_out_penalty = "5 MUSD"',
        )


def cohort_problems(cohort: Cohort, at: str) -> Iterator[Problem]:
    """A life and its extension in order; resale that falls from something."""
    extended = {"extend_to": cohort.extend_to_y, "extension_cost": cohort.extension_usd_per_node_h}
    for key, value in extended.items() if cohort.life_y is None else ():
        if value is not None:
            yield Problem(
                f"{at}.{key}", 'needs a life to go beyond: write for example life = "6 y", or remove it'
            )
    if cohort.life_y is not None and cohort.extend_to_y is not None and cohort.extend_to_y <= cohort.life_y:
        yield Problem(
            f"{at}.extend_to",
            f"{cohort.extend_to_y:g} y is not beyond life, {cohort.life_y:g} y: "
            "write a longer time, or remove it",
        )
    if (
        cohort.life_y is not None
        and cohort.extension_usd_per_node_h is not None
        and cohort.extend_to_y is None
    ):
        yield Problem(
            f"{at}.extension_cost", 'has no effect: write for example extend_to = "8 y", or remove it'
        )
    if cohort.resale_decline_fraction is not None and cohort.resale_usd is None:
        yield Problem(
            f"{at}.resale_decline", 'has no effect: write for example resale = "8 kUSD", or remove it'
        )


def offer_problems(offer: Offer, at: str) -> Iterator[Problem]:
    """A minimum within the supply; tiers that rise, within the supply."""
    supply = None if offer.supply_nodes is None else sum(offer.supply_nodes)
    if supply is not None and offer.minimum_nodes is not None and offer.minimum_nodes > supply:
        yield Problem(
            f"{at}.minimum_nodes",
            f"{offer.minimum_nodes} is more than the supply of the horizon, "
            f"{supply}: lower it, or raise supply_nodes",
        )
    for i, tier in enumerate(offer.tiers):
        here = f"{at}.tiers[{i}]"
        if supply is not None and tier.from_nodes > supply:
            yield Problem(
                f"{here}.from_nodes",
                f"{tier.from_nodes} is more than the supply of the horizon, "
                f"{supply}: lower it, or raise supply_nodes",
            )
        if i == 0:
            continue
        before = offer.tiers[i - 1]
        if tier.from_nodes <= before.from_nodes or tier.rebate_fraction <= before.rebate_fraction:
            yield Problem(
                here,
                f"does not rise: {tier.from_nodes} nodes and {tier.rebate_fraction:.3g} come "
                f"after {before.from_nodes} and {before.rebate_fraction:.3g}; write more nodes and "
                "a higher rebate",
            )


def move_problems(move: Move, at: str, document: Mapping[str, Any]) -> Iterator[Problem]:
    """A way between two sites, for nodes that stand there, with one statement of its carbon."""
    if move.origin == move.to:
        yield Problem(f"{at}.to", f"{shown(move.to)} is where they already are: write another site")
    if move.distance_km is not None and move.carbon_kgco2e is not None:
        yield Problem(at, "distance and carbon say the same thing twice: keep one")
    fleet = document.get("fleet")
    standing = [entry for entry in fleet if isinstance(entry, dict)] if isinstance(fleet, list) else []
    if not any(
        entry.get("site") == move.origin and move.sku in (None, entry.get("sku")) for entry in standing
    ):
        what = "nothing" if move.sku is None else f"no {shown(move.sku)}"
        yield Problem(
            f"{at}.from",
            f"the fleet has {what} at {shown(move.origin)}: write a site that has it, or remove the move",
        )


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
    engines: frozenset[str] = frozenset()
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
            yield Problem(
                "policy.carbon_price",
                'is missing, and objective = "weighted" needs it: '
                'write for example carbon_price = "150 USD/t"',
            )
        elif price == 0:
            yield Problem(
                "policy.carbon_price",
                'is zero, and objective = "weighted" needs a price: raise it, or write objective = "money"',
            )


def unknown_names(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Names that the catalogue does not have, and overrides that its facts cannot take."""
    one = {
        "sku": ("SKU", known.skus),
        "reference": ("SKU", known.skus),
        "model": ("model", known.models),
        "grid": ("grid region", known.grids),
        "traffic": ("traffic trace", known.traffics),
        "checkpoint_storage": ("storage class", known.storages),
        "engine": ("serving engine", known.engines),
    }
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
    """Values of your own for facts that do not exist, of another unit, or that no such thing can have."""
    for key, text in facts.items():
        path = f"facts.{shown_key(key)}"
        if key not in known.fact_units:
            yield Problem(path, f"the catalogue has no such fact; {near(key, known.fact_units)}")
            continue
        if idle := known.ranges.without_effect(key):
            yield Problem(path, f"{idle}; remove it")
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
        yield Problem(
            path,
            f"{shown(name)} is looked for in the folder of the scenario, and this text has no file: "
            "save it, and read the scenario from there",
        )
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
        yield Problem(
            "reliability.repair",
            f'is missing, and {shown(table["log"])} holds no outages: write for example repair = "5.5 d"',
        )


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
            yield Problem(
                f"fleet[{i}].in_service",
                f"{day} is after the horizon's start, {horizon.start}: "
                "write an earlier day, or offer the nodes on the market",
            )
    for i, job in parts.jobs.items():
        at = place(("training", i), document)
        if job.earliest < horizon.start:
            yield Problem(
                f"{at}.earliest",
                f"{job.earliest} is before the horizon's start, {horizon.start}: "
                "write that day or a later one",
            )
        if job.deadline <= job.earliest:
            yield Problem(
                f"{at}.deadline",
                f"{job.deadline} is not after earliest, {job.earliest}: write a later deadline",
            )
        elif job.deadline > horizon.end:
            yield Problem(
                f"{at}.deadline",
                f"{job.deadline} is after the horizon's end, {horizon.end}: "
                "write an earlier deadline, or more periods",
            )


def _leaving_out(job: TrainingJob, at: str) -> Iterator[Problem]:
    if job.may_be_left_out and job.left_out_penalty_usd is None:
        yield Problem(
            f"{at}.left_out_penalty",
            'is missing, and may_be_left_out needs it: write for example left_out_penalty = "5 MUSD"',
        )
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


# What a future leaves out of itself: the futures, and the policy that is about them.
AHEAD = ("futures", "uncertainty", "policy.robust", "policy.decide_until")


def value_problems(scenario: Scenario, check: Callable[[dict[str, Any]], Scenario]) -> Iterator[Problem]:
    """What is wrong with values that futures set, each at its path below the future."""
    stated = None
    for number, future in enumerate(scenario.futures):
        if not future.values:
            continue
        stated = stated or tables(scenario)
        name = label({"name": future.name}, "futures", [{"name": future.name}])
        at = f"futures.{name}.set" if name else f"futures[{number}].set"
        document = deepcopy(stated)
        wrong = [found for path, value in future.values.items() if (found := change(document, path, value))]
        for path in AHEAD:
            change(document, path, None)
        if not wrong:
            try:
                check(document)
            except ScenarioError as error:
                wrong = list(error.problems)
        yield from (Problem(f"{at}.{found.path}", found.message) for found in wrong)
