"""What one field cannot know: names that must differ or exist, dates in order, ways that exclude each other.

These checks read the tables as written and whatever parts of them are right, so that they speak up with
the problems of single fields and not only once those are gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

from planner.inputs.exchange import rates_in, usd_text
from planner.inputs.fits import FittedFleet
from planner.inputs.ranges import Ranges
from planner.inputs.scenario.data_mix import (
    bought_twice,
    generated_for_nothing,
    generated_samples,
    price_of_another,
    without_price,
)
from planner.inputs.scenario.data_places import data_in_whole
from planner.inputs.scenario.fields import CARD, quantity_like
from planner.inputs.scenario.parts import entries_of, reported
from planner.inputs.scenario.problems import Problem, near, near_or_own, place, shown, shown_key
from planner.inputs.scenario.schema import Horizon, Policy, TrainingJob
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
from planner.inputs.scenario.schema_ingestion import pausable_fed
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
from planner.inputs.scenario.service_checks import request_problems
from planner.inputs.scenario.training_checks import amount_problems, at_one_site
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


def partial_without_pause(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A job that may be done in part has to be able to pause."""
    if job.partial and not job.pausable:
        yield Problem(f"{at}.partial", "has no effect without pausable = true: write that, or remove it")


def ramp_without_pause(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A job that does not pause has nothing to ramp."""
    if job.ramp_per_h is not None and not job.pausable:
        yield Problem(f"{at}.ramp", "has no effect without pausable = true: write that, or remove it")


def partial_without_price(job: TrainingJob, at: str) -> Iterator[Problem]:
    """What is not done of a job has to have a price."""
    if job.partial and not job.may_be_left_out:
        yield Problem(
            f"{at}.partial",
            "needs a price for what is not done: write may_be_left_out = true and "
            'for example left_out_penalty = "5 MUSD"',
        )


def less_than_a_step(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A job that may pause does whole steps of the optimiser."""
    stated = job.samples is not None or job.tokens is not None
    if not stated or (job.batch_samples is None and job.batch_tokens is None):
        return
    if job.pausable and job.amount < job.step_amount:
        yield Problem(
            f"{at}.{job.amount_key}",
            f"{job.amount:g} are less than one step of the optimiser, which is all "
            f"that a pausable job can do at once: write {job.step_amount:g} or more",
        )


def leaving_out(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A job that may be left out has a penalty, and only that one."""
    priced = job.has("left_out_penalty_usd")
    if job.may_be_left_out and not priced:
        yield Problem(
            f"{at}.left_out_penalty",
            'is missing, and may_be_left_out needs it: write for example left_out_penalty = "5 MUSD"',
        )
    if priced and not job.may_be_left_out:
        yield Problem(f"{at}.left_out_penalty", "has no effect: write may_be_left_out = true, or remove it")


def needless_keys(cohort: Cohort, at: str) -> Iterator[Problem]:
    """An extension needs a life and resale that falls from something."""
    for key, attribute in {"extend_to": "extend_to_y", "extension_cost": "extension_usd_per_node_h"}.items():
        if cohort.has(attribute) and not cohort.has("life_y"):
            yield Problem(
                f"{at}.{key}", 'needs a life to go beyond: write for example life = "6 y", or remove it'
            )
    if cohort.has("life_y", "extension_usd_per_node_h") and not cohort.has("extend_to_y"):
        yield Problem(
            f"{at}.extension_cost", 'has no effect: write for example extend_to = "8 y", or remove it'
        )
    if cohort.has("resale_decline_fraction") and not cohort.has("resale_usd"):
        yield Problem(
            f"{at}.resale_decline", 'has no effect: write for example resale = "8 kUSD", or remove it'
        )


def extended_back(cohort: Cohort, at: str) -> Iterator[Problem]:
    """A life and its extension in order."""
    if cohort.life_y is not None and cohort.extend_to_y is not None and cohort.extend_to_y <= cohort.life_y:
        yield Problem(
            f"{at}.extend_to",
            f"{cohort.extend_to_y:g} y is not beyond life, {cohort.life_y:g} y: "
            "write a longer time, or remove it",
        )


def above_supply(offer: Offer, at: str) -> Iterator[Problem]:
    """A minimum within the supply."""
    supply = None if offer.supply_nodes is None else sum(offer.supply_nodes)
    if supply is not None and offer.minimum_nodes is not None and offer.minimum_nodes > supply:
        yield Problem(
            f"{at}.minimum_nodes",
            f"{offer.minimum_nodes} is more than the supply of the horizon, "
            f"{supply}: lower it, or raise supply_nodes",
        )


def tiers_above_supply(offer: Offer, at: str) -> Iterator[Problem]:
    """Tiers that can be reached."""
    supply = None if offer.supply_nodes is None else sum(offer.supply_nodes)
    for i, tier in enumerate(offer.tiers):
        if supply is not None and tier.from_nodes > supply:
            yield Problem(
                f"{at}.tiers[{i}].from_nodes",
                f"{tier.from_nodes} is more than the supply of the horizon, "
                f"{supply}: lower it, or raise supply_nodes",
            )


def falling_tiers(offer: Offer, at: str) -> Iterator[Problem]:
    """Tiers that rise."""
    for i, (before, tier) in enumerate(pairwise(offer.tiers), start=1):
        if tier.from_nodes <= before.from_nodes or tier.rebate_fraction <= before.rebate_fraction:
            yield Problem(
                f"{at}.tiers[{i}]",
                f"does not rise: {tier.from_nodes} nodes and {tier.rebate_fraction:.3g} come "
                f"after {before.from_nodes} and {before.rebate_fraction:.3g}; write more nodes and "
                "a higher rebate",
            )


def move_to_itself(move: Move, at: str, document: Mapping[str, Any]) -> Iterator[Problem]:
    """A way between two sites."""
    if move.origin == move.to:
        yield Problem(f"{at}.to", f"{shown(move.to)} is where they already are: write another site")


def carbon_of_move_twice(move: Move, at: str, document: Mapping[str, Any]) -> Iterator[Problem]:
    """One statement of its carbon."""
    if move.has("distance_km", "carbon_kgco2e"):
        yield Problem(at, "distance and carbon say the same thing twice: keep one")


def nothing_to_move(move: Move, at: str, document: Mapping[str, Any]) -> Iterator[Problem]:
    """Nodes that move stand there."""
    standing = [entry for _, entry in entries_of(document, "fleet")]
    if not any(
        entry.get("site") == move.origin and move.sku in (None, entry.get("sku")) for entry in standing
    ):
        what = "nothing" if move.sku is None else f"no {shown(move.sku)}"
        yield Problem(
            f"{at}.from",
            f"the fleet has {what} at {shown(move.origin)}: write a site that has it, or remove the move",
        )


def target_without_curve(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A loss is reached along a curve."""
    if job.has("target_loss") and not job.has("curve"):
        yield Problem(f"{at}.target", 'has no effect without curve: write for example curve = "runs.csv"')


OF_POLICY = (contracts_without_effect, limits_twice, profiles_in_parts, order_problems)
OF_DATA = (bought_twice, without_price, generated_samples, generated_for_nothing)
OF_JOBS = (
    target_without_curve,
    partial_without_pause,
    ramp_without_pause,
    less_than_a_step,
    partial_without_price,
    leaving_out,
    pausable_fed,
    *OF_DATA,
)
OF_COHORTS = (needless_keys, extended_back)
OF_OFFERS = (above_supply, tiers_above_supply, falling_tiers)
OF_RENTAL = (needless_terms,)
OF_SITES = (owned_and_priced, counted_twice, energy_in_parts, reads_of_nothing)
OF_MOVES = (move_to_itself, carbon_of_move_twice, nothing_to_move)
MAX_ENTRIES = 200
WORK = ("training", "pools", "services")
PLACES = ("sites", "power_groups", "links")
LISTS = (*PLACES, "fleet", "market", "moves", "rental", "contracts", *WORK, "futures")
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


@dataclass(frozen=True, slots=True)
class Known:
    """Names that the catalogue has, the unit of each of its facts, and what their families may be."""

    skus: frozenset[str]
    models: frozenset[str]
    grids: frozenset[str]
    traffics: frozenset[str]
    storages: frozenset[str]
    fleets: frozenset[str]
    spares: frozenset[str] = frozenset()  # SKUs of nodes on a shelf, which may stand already
    engines: frozenset[str] = frozenset()
    techniques: frozenset[str] = frozenset()
    fact_units: Mapping[str, str] = field(default_factory=dict)
    ranges: Ranges = field(default_factory=lambda: Ranges(()))


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
    yield from reported(OF_FUTURES, document, parts.futures, policy, horizon)
    if parts.uncertainty is not None:
        yield from reported(OF_DRAWS, parts.uncertainty)
    if horizon is not None:
        yield from reported((_late_cohorts,), document, horizon)
        for i, job in parts.jobs.items():
            yield from reported((_early_jobs, _deadlines), job, place(("training", i), document), horizon)
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


def unknown_names(document: Mapping[str, Any], known: Known) -> Iterator[Problem]:
    """Names that the catalogue does not have, and overrides that its facts cannot take, in tables."""
    one = {
        "sku": ("SKU", known.skus),
        "reference": ("SKU", known.skus),
        "model": ("model", known.models),
        "grid": ("grid region", known.grids),
        "traffic": ("traffic trace", known.traffics),
        "checkpoint_storage": ("storage class", known.storages),
        "engine": ("serving engine", known.engines),
    }
    several = {
        "skus": ("SKU", known.skus),
        "skus_today": ("SKU", known.skus),
        "models": ("model", known.models),
        "techniques": ("technique", known.techniques),
    }
    for section in LISTS:
        stands = section in ("fleet", "moves")
        for i, entry in entries_of(document, section):
            at = place((section, i), document)
            for key, (kind, names) in one.items():
                if isinstance(name := entry.get(key), str) and not (stands and name in known.spares):
                    yield from _unknown(f"{at}.{key}", name, kind, names)
            for key, (kind, names) in several.items():
                for k, name in enumerate(list_in(entry, key)):
                    if isinstance(name, str):
                        yield from _unknown(f"{at}.{key}[{k}]", name, kind, names)
    for i, entry in entries_of(document, "training"):
        fed = entry.get("ingestion")
        if isinstance(fed, dict) and isinstance(name := fed.get("sku"), str):
            yield from _unknown(f"{place(('training', i), document)}.ingestion.sku", name, "SKU", known.skus)
    policy = document.get("policy")
    for k, name in enumerate(list_in(policy, "techniques") if isinstance(policy, dict) else ()):
        if isinstance(name, str):
            yield from _unknown(f"policy.techniques[{k}]", name, "technique", known.techniques)
    reliability = document.get("reliability")
    fleet = reliability.get("failures") if isinstance(reliability, dict) else None
    if isinstance(fleet, str):
        yield from _unknown("reliability.failures", fleet, "fleet", known.fleets)
    if known.fact_units:
        yield from own_fact_problems(own_facts(document), known)


def own_facts(document: Mapping[str, Any]) -> dict[str, str]:
    """The values of one's own in the tables of a file, those that are written as a quantity."""
    facts = document.get("facts")
    held = facts if isinstance(facts, dict) else {}
    kinds = str | int | float
    rates = rates_in(document)
    return {
        key: usd_text(str(entry), rates)
        for key, entry in held.items()
        if isinstance(entry, kinds) and not isinstance(entry, bool) and quantity_like(str(entry))
    }


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
    yield Problem(path, f"the catalogue has no {kind} {shown(name)}; {near_or_own(kind, name, names)}")


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
        yield Problem(path, f"{shown(name)} {said}; {near(name, known)}")


def _late_cohorts(document: Mapping[str, Any], horizon: Horizon) -> Iterator[Problem]:
    for i, entry in entries_of(document, "fleet"):
        day = entry.get("in_service")
        if type(day) is date and day > horizon.start:
            yield Problem(
                f"fleet[{i}].in_service",
                f"{day} is after the horizon's start, {horizon.start}: "
                "write an earlier day, or offer the nodes on the market",
            )


def _early_jobs(job: TrainingJob, at: str, horizon: Horizon) -> Iterator[Problem]:
    if job.earliest < horizon.start:
        yield Problem(
            f"{at}.earliest",
            f"{job.earliest} is before the horizon's start, {horizon.start}: write that day or a later one",
        )


def _deadlines(job: TrainingJob, at: str, horizon: Horizon) -> Iterator[Problem]:
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


def _words(document: Mapping[str, Any], section: str, key: str) -> set[str]:
    return {word for _, entry in entries_of(document, section) if isinstance(word := entry.get(key), str)}


def list_in(entry: Mapping[str, Any], key: str) -> list[Any]:
    """A list of a table; empty where it is none."""
    value = entry.get(key)
    return value if isinstance(value, list) else []
