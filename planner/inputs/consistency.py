"""Does a scenario agree with the facts that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from planner.inputs.catalogue import SPARE, Catalogue
from planner.inputs.fits import Calibration
from planner.inputs.housing import not_housed
from planner.inputs.kind_checks import kind_problems
from planner.inputs.model_kinds import IN_BATCHES, kind_of_model, models_of, score_key
from planner.inputs.models import ModelCardError, with_model_cards
from planner.inputs.pipeline_checks import pipeline_problems
from planner.inputs.scenario import Known, Problem, Scenario, ScenarioError, Service, Site
from planner.inputs.scenario.checks import list_in
from planner.inputs.scenario.fields import CARD, Frame
from planner.inputs.scenario.known_names import own_facts, unknown_names
from planner.inputs.scenario.parts import entries_of, once, read_far
from planner.inputs.scenario.problems import place, shown_key
from planner.inputs.scenario.reading import Reading, set_problems
from planner.inputs.scenario.schema_fleet import Offer
from planner.inputs.scenario.schema_pools import ANSWERED
from planner.inputs.scenario.table_files import table_problems
from planner.inputs.scenario.writing import tables
from planner.inputs.techniques import techniques
from planner.inputs.user_checks import user_problems
from planner.performance.hardware import require_dense_peak, require_one_way_link
from planner.trace.numbers import stated_text
from planner.trace.units import UnitError, parse_quantity

BUDGETS = ("quality_budget", "mean_quality_budget")


def with_cards(scenario: Scenario, catalogue: Catalogue) -> Catalogue:
    """The catalogue with the models and measurements that a scenario names by the path of a file next to it.

    For a scenario that was read from no file none is read: `check_scenario` refuses the name.

    Raises:
        ModelCardError: one of the files is no configuration that is understood.
    """
    names = [job.model for job in scenario.training] + [pool.model for pool in scenario.pools]
    names += [service.model for service in scenario.services]
    catalogue = catalogue.with_own(scenario.own)
    if scenario.calibration is not None:
        catalogue = catalogue.with_facts(scenario.calibration.facts)
    if scenario.path is None:
        return catalogue
    cards = [name for name in names if CARD.fullmatch(name)]
    return with_model_cards(catalogue, cards, scenario.path.parent)


def check_scenario(scenario: Scenario, catalogue: Catalogue) -> None:
    """Check a scenario against the catalogue: names, grid signals that may be next to each other, storage.

    Raises:
        ScenarioError: listing every problem.
    """
    folder, catalogue = scenario.path.parent if scenario.path else None, catalogue.with_own(scenario.own)
    found = once(*_against(tables(scenario), folder, scenario.calibration, catalogue))
    if found:
        raise ScenarioError(scenario.path.name if scenario.path else "scenario", found)


def problems_in(reading: Reading, catalogue: Catalogue) -> list[Problem]:
    """What is wrong with a file besides its values: names and meaning, and what its futures set."""
    catalogue = catalogue.with_own(reading.own)
    own = list(_against(reading.document, reading.folder, reading.calibration, catalogue))

    def all_of(changed: Reading) -> list[Problem]:
        stages = _against(changed.document, changed.folder, changed.calibration, catalogue)
        return once(changed.problems, *stages)

    return once(*own, set_problems(reading, all_of))


def cards_of(
    document: Mapping[str, Any], folder: Path | None, catalogue: Catalogue
) -> tuple[Catalogue, list[Problem]]:
    """The catalogue with the models that tables name by a path, and why others cannot be read."""
    problems: list[Problem] = []
    for section, held in document.items():
        entries = held if isinstance(held, list) else [held]
        for i, entry in enumerate(entries):
            name = entry.get("model") if isinstance(entry, dict) else None
            if folder is None or not isinstance(name, str) or not CARD.fullmatch(name):
                continue
            try:
                catalogue = with_model_cards(catalogue, [name], folder)
            except ModelCardError as error:
                loc = (section, i, "model") if isinstance(held, list) else (section, "model")
                lines = str(error).replace(f"{folder}/", "").splitlines()
                problems += [Problem(place(loc, document), line) for line in lines]
    return catalogue, problems


def _against(
    document: Mapping[str, Any], folder: Path | None, measured: Calibration | None, shipped: Catalogue
) -> Iterator[list[Problem]]:
    """What is wrong with names, then with what they mean, in tables of which other things may be wrong."""
    catalogue, unread = cards_of(
        document, folder, shipped.with_facts(measured.facts) if measured is not None else shipped
    )
    yield unread
    yield list(unknown_names(document, known_names(catalogue)))
    yield [
        *_mixed_signals(document, catalogue),
        *_mortal_storage(document, catalogue),
        *_unpriced_rental(document, catalogue),
        *_split_units(document, catalogue),
        *_without_a_place(document, catalogue),
        *_before_they_were_made(document, catalogue),
        *doubled_figures(own_facts(document), catalogue),
        *_measured_elsewhere(measured, shipped),
        *_quality_unknown(document, catalogue),
        *_idle_budget(document),
        *_without_effect(document, catalogue),
        *kind_problems(document, catalogue),
        *pipeline_problems(document, catalogue),
        *user_problems(document, catalogue),
        *table_problems(document, folder, catalogue),
    ]


def _mixed_signals(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Sites whose grid factors mean different things: their carbon must not be compared or added."""
    first: tuple[str, str, str] | None = None
    for section in ("sites", "rental"):
        for i, entry in entries_of(document, section):
            grid = entry.get("grid")
            if not isinstance(grid, str) or not catalogue.has(key := f"grid.{grid}.intensity"):
                continue
            signal = catalogue.fact(key).boundary.get("grid", "")
            of_region = (
                f" (of region {entry['region']}; grid next to it replaces it)" if "region" in entry else ""
            )
            first = first or (str(entry.get("name")), grid, signal)
            if signal != first[2]:
                yield Problem(
                    f"{place((section, i), document)}.grid",
                    f"'{grid}'{of_region} is {signal} and '{first[1]}' of {first[0]} is {first[2]}: "
                    "one plan needs one signal. Choose regions of one family (us-*, gcp-* or countries), "
                    "or write grid_intensity",
                )


def _without_effect(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Techniques that change nothing of what may use them, and a budget of no choice."""
    policy, every = document.get("policy"), list[tuple[str, str, bool]]()
    of_all = list_in(policy, "techniques") if isinstance(policy, dict) else []
    tables = ("training", "pools", "services")
    for section, (i, entry) in ((table, one) for table in tables for one in entries_of(document, table)):
        at, models = place((section, i), document), [entry.get("model")]
        if section == "services":
            models += list_in(entry, "models")
        work = [
            (phase, model, section == "pools")
            for model in models
            if isinstance(model, str)
            and (catalogue.has(f"model.{model}.layers") or kind_of_model(catalogue, model) in IN_BATCHES)
            for phase in _phases(section, entry)
        ]
        every += work
        yield from _idle_techniques(f"{at}.techniques", list_in(entry, "techniques"), work, catalogue)
        chosen = ("precisions", "models", "techniques")
        budget = next((key for key in BUDGETS if key in entry), "")
        if budget and not of_all and not any(entry.get(key) for key in chosen):
            yield Problem(
                f"{at}.{budget}",
                f"has no effect without {', '.join(chosen[:-1])} or {chosen[-1]}: write one, or remove this",
            )
    yield from _idle_techniques("policy.techniques", of_all, every, catalogue)


def _phases(section: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Phases of a job that the work of a table is of; of pools as `planner.physics.pool_ways.phases_of`."""
    if section != "pools":
        return ("training",) if section == "training" else ("inference",)
    if any(key in entry for key in ANSWERED):
        return ("inference",)
    return ("experimentation", "fine_tuning", *(("inference",) if "prompts" in entry else ()))


def _idle_techniques(
    at: str, names: list[Any], work: list[tuple[str, str, bool]], catalogue: Catalogue
) -> Iterator[Problem]:
    """Techniques that are idle in all work that may use them: phases, models, whether they are a pool's."""
    for k, name in enumerate(names):
        if isinstance(name, str) and name in techniques() and work:
            why = [
                techniques()[name].idle_in(catalogue, phase, model, pools=pools)
                for phase, model, pools in work
            ]
            if all(why):
                yield Problem(f"{at}[{k}]", f"'{name}' changes nothing here: {why[0]}. Remove it")


def _quality_unknown(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Models to choose from under a quality budget whose score nobody published."""
    for i, entry in entries_of(document, "services"):
        others = entry.get("models")
        budget = next((key for key in BUDGETS if key in entry), "")
        if not budget or not isinstance(others, list) or not others:
            continue
        named = [one for one in (entry.get("model"), *others) if isinstance(one, str)]
        known = [one for one in named if kind_of_model(catalogue, one)]
        if unknown := [one for one in known if not catalogue.has(score_key(catalogue, one))]:
            fact = score_key(catalogue, unknown[0])
            score = fact.split(".")[-1]
            yield Problem(
                f"{place(('services', i), document)}.{budget}",
                f"the catalogue has no score ({score}) of {', '.join(unknown)}: leave the budget out and "
                f"name only models that are good enough, or add {fact} to facts of your own",
            )


def _idle_budget(document: Mapping[str, Any]) -> Iterator[Problem]:
    """A mean of quality that no request may go below anyway."""
    for i, entry in entries_of(document, "services"):
        stated = {key: entry[key] for key in BUDGETS if key in entry}
        service = read_far(Service, stated, Frame()) if len(stated) == len(BUDGETS) else None
        if service is None or not service.has(*(f"{key}_fraction" for key in BUDGETS)):
            continue
        each, mean = service.quality_budget_fraction, service.mean_quality_budget_fraction
        if mean is not None and each is not None and mean >= each:
            yield Problem(
                f"{place(('services', i), document)}.mean_quality_budget",
                f"{mean:g} limits nothing, as no request may lose more than quality_budget = {each:g}: write "
                "less, or remove one of them",
            )


def _measured_elsewhere(measured: Calibration | None, catalogue: Catalogue) -> Iterator[Problem]:
    """Measurements of accelerators that the catalogue does not have: they would change nothing."""
    facts = measured.facts if measured is not None else ()
    unknown = [f.key for f in facts if f.key.startswith("accelerator.") and not catalogue.has(f.key)]
    if unknown:
        yield Problem(
            "performance.calibration", f"the catalogue has no {', '.join(unknown)}: calibrate again"
        )


def _without_a_place(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Nodes at sites that cannot house them, for their cooling or the power of their racks."""
    read = [read_far(Site, entry, Frame()) for _, entry in entries_of(document, "sites")]
    wanted = {"name", "cooling", "rack_power_kw"}
    sites = {site.name: site for site in read if site is not None and wanted <= vars(site).keys()}

    def reason(name: object, sku: object) -> str | None:
        site, one = sites.get(str(name)), catalogue.skus.get(str(sku))
        return None if site is None or one is None else not_housed(site, one, catalogue.fact)

    for i, entry in entries_of(document, "fleet"):
        if why := reason(entry.get("site"), entry.get("sku")):
            yield Problem(f"fleet[{i}].site", f"{why}: write another site, or what its racks really have")
    for i, entry in entries_of(document, "market"):
        at, named = place(("market", i), document), entry.get("sites")
        for k, name in enumerate(named if isinstance(named, list) else []):
            if why := reason(name, entry.get("sku")):
                yield Problem(f"{at}.sites[{k}]", f"{why}: remove it, or write what its racks really have")
        found = [reason(name, entry.get("sku")) for name in sites]
        if "sites" not in entry and found and all(found):
            yield Problem(at, f"no site can house it: {'; '.join(map(str, found))}")
    for i, entry in entries_of(document, "moves"):
        fleet = [one for _, one in entries_of(document, "fleet") if one.get("site") == entry.get("from")]
        for sku in dict.fromkeys(str(one.get("sku")) for one in fleet):
            if entry.get("sku", sku) == sku and (why := reason(entry.get("to"), sku)):
                yield Problem(f"moves[{i}].to", f"{why}: write another site, or name the SKU that moves")


def _before_they_were_made(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Nodes that stood before the year in which their accelerator was first sold: their age is wrong then."""
    for i, entry in entries_of(document, "fleet"):
        sku, day = catalogue.skus.get(str(entry.get("sku"))), entry.get("in_service")
        launch = None if sku is None else catalogue.facts.get(f"accelerator.{sku.accelerator}.launch")
        if launch is not None and isinstance(day, date) and day.year < launch.value:
            yield Problem(
                f"fleet[{i}].in_service",
                f"{day} is before {entry['sku']} was sold, {int(launch.value)}: write the day on which these "
                "nodes began to work, or the SKU that they are",
            )


def _split_units(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Orders of a part of what is sold as one."""
    for i, entry in entries_of(document, "market"):
        sku, nodes = catalogue.skus.get(str(entry.get("sku"))), entry.get("order_nodes")
        if sku is not None and type(nodes) is int and nodes != 1 and nodes % sku.buying_unit:
            yield Problem(
                f"{place(('market', i), document)}.order_nodes",
                f"{nodes} nodes are no whole rack or slice: {sku.title} is sold "
                f"{sku.buying_unit} nodes at a time. Write {sku.buying_unit} or a multiple, or leave it out",
            )
        one_by_one = sku is not None and sku.buying_unit == 1 and nodes in (None, 1)
        if one_by_one and "single_spares" in entry:
            yield Problem(
                f"{place(('market', i), document)}.single_spares",
                "its nodes are ordered one at a time already: leave it out, or write order_nodes",
            )


def sale_notes(scenario: Scenario, catalogue: Catalogue) -> list[str]:
    """What is worth knowing of the SKUs on offer: sold by the rack or slice, or not sold yet."""
    notes = []
    for offer in scenario.market:
        sku = catalogue.skus[offer.sku]
        if sku.buying_unit > 1:
            notes.append(
                f"{sku.name} is sold {sku.buying_unit} nodes at a time (a rack or slice); "
                "a failure takes one node"
            )
        if sku.announced:
            notes.append(
                f"{sku.name} is announced, not sold yet: its figures are its maker's or assumed, "
                "its price a guess"
            )
        notes += _wait_for_a_period(scenario, offer)
    return notes


LONG_WAIT = 0.5  # of a period, from delivery to service: told from here on


def serves_from(scenario: Scenario, offer: Offer) -> date:
    """First day on which what is ordered on the first day serves; the horizon's end where that is later."""
    horizon = scenario.horizon
    first = (*horizon.period_starts, horizon.end)
    return first[min(horizon.lead_periods(offer.lead_time_h), horizon.periods)]


def _wait_for_a_period(scenario: Scenario, offer: Offer) -> list[str]:
    """That orders which arrive within a period serve from the next one, where that is long."""
    horizon, days = scenario.horizon, offer.lead_time_h / 24
    first = (*horizon.period_starts, horizon.end)
    serves = serves_from(scenario, offer)
    if (serves - first[0]).days - days <= LONG_WAIT * (first[1] - first[0]).days:
        return []
    return [
        f"market.{offer.sku}.lead_time of {days:g} d: what is ordered on {first[0].isoformat()} serves from "
        f"{serves.isoformat()}, as nodes serve from the first day of a period"
        + ('; with period = "month" they wait less' if horizon.period == "quarter" else "")
    ]


def space_notes(scenario: Scenario, catalogue: Catalogue) -> list[str]:
    """What a plan will assume of space; nothing where every site says it."""
    return [space_note(scenario, catalogue)] if any(map(space_unstated, scenario.sites)) else []


def space_unstated(site: Site) -> bool:
    """Whether a site says neither that its building is owned nor what its space costs."""
    return site.space is None and site.space_price_usd_per_kw_month is None


def space_note(scenario: Scenario, catalogue: Catalogue) -> str:
    """The price of space that is assumed, where, and what to write."""
    price = stated_text(scenario.facts.get("finance.space") or str(catalogue.fact("finance.space").stated))
    names = [site.name for site in scenario.sites if space_unstated(site)]
    where = "every site" if len(names) == len(scenario.sites) > 1 else ", ".join(names)
    return (
        f"Space at {where} is charged at {price} by the rated power of its nodes (fact finance.space), "
        'as nothing is stated there: write space_price, or space = "owned"'
    )


def _unpriced_rental(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Rented nodes without a price, where the catalogue has none either."""
    for i, entry in entries_of(document, "rental"):
        sku = catalogue.skus.get(str(entry.get("sku")))
        if sku is not None and "price" not in entry and not catalogue.has(f"rental.{sku.accelerator}.price"):
            yield Problem(
                f"{place(('rental', i), document)}.price",
                f'is missing, and the catalogue has none for {sku.name}: write for example price = "4 USD/h"',
            )


def doubled_figures(facts: Mapping[str, str], catalogue: Catalogue) -> Iterator[Problem]:
    """Figures of your own that are about twice the known ones: sparse peaks, links in both directions."""
    for key, text in facts.items():
        if not key.startswith("accelerator."):
            continue
        if not catalogue.has(key):
            continue
        known = catalogue.fact(key)
        try:
            yours = parse_quantity(text, known.unit)
        except UnitError:  # told of its own
            continue
        try:
            if key.endswith("_peak"):
                require_dense_peak(peak_tflop_per_s=yours, dense_tflop_per_s=known.value)
            elif key.endswith(".link_bandwidth"):
                require_one_way_link(link_gb_per_s=yours, one_way_gb_per_s=known.value)
        except ValueError as error:
            yield Problem(f"facts.{shown_key(key)}", str(error))


def _mortal_storage(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Checkpoints that would die with the node whose failure they are for."""
    for i, entry in entries_of(document, "training"):
        storage = entry.get("checkpoint_storage")
        survives = f"checkpoint_storage.{storage}.survives_node_loss"
        if catalogue.has(survives) and not catalogue.fact(survives).value:
            yield Problem(
                f"{place(('training', i), document)}.checkpoint_storage",
                f"'{storage}' is lost with its node; choose a storage that outlives a node, "
                'such as parallel-fs, and checkpoint = "asynchronous" for a short stall',
            )


def known_names(catalogue: Catalogue) -> Known:
    """Names that a scenario may refer to."""
    return Known(
        skus=frozenset(catalogue.skus),
        spares=frozenset(f"{name}{SPARE}" for name in catalogue.skus),
        models=frozenset(models_of(catalogue)),
        grids=frozenset(catalogue.names("grid", "intensity")),
        traffics=frozenset(catalogue.names("traffic", "mean_context")),
        storages=frozenset(catalogue.names("checkpoint_storage", "bandwidth")),
        fleets=frozenset(catalogue.names("reliability", "failure_rate")),
        engines=frozenset(one.name for one in catalogue.engines.values() if not one.only),
        techniques=frozenset(techniques()),
        fact_units={key: fact.unit for key, fact in catalogue.facts.items()},
        ranges=catalogue.ranges,
    )
