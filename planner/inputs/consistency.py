"""Does a scenario agree with the facts that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.inputs.catalogue import Catalogue
from planner.inputs.models import with_model_cards
from planner.inputs.scenario import (
    Known,
    Problem,
    Scenario,
    ScenarioError,
    check_against,
)
from planner.inputs.scenario.fields import CARD
from planner.inputs.scenario.problems import shown_key
from planner.performance.hardware import require_dense_peak, require_one_way_link
from planner.trace.units import parse_quantity


def with_cards(scenario: Scenario, catalogue: Catalogue) -> Catalogue:
    """The catalogue with the models and measurements that a scenario names by the path of a file next to it.

    For a scenario that was read from no file none is read: `check_scenario` refuses the name.

    Raises:
        ModelCardError: one of the files is no configuration that is understood.
    """
    names = [job.model for job in scenario.training] + [pool.model for pool in scenario.pools]
    names += [service.model for service in scenario.services]
    if scenario.calibration is not None:
        catalogue = catalogue.with_facts(scenario.calibration.facts)
    if scenario.path is None:
        return catalogue
    cards = [name for name in names if CARD.fullmatch(name)]
    return with_model_cards(catalogue, cards, scenario.path.parent)


def check_scenario(scenario: Scenario, catalogue: Catalogue) -> None:
    """Check a scenario against the catalogue: names, grid signals that may be side by side, storage.

    Raises:
        ScenarioError: listing every problem.
        ModelCardError: a model's configuration is none that is understood.
    """
    shipped, catalogue = catalogue, with_cards(scenario, catalogue)
    check_against(scenario, known_names(catalogue))
    problems = [
        *_mixed_signals(scenario, catalogue),
        *_mortal_storage(scenario, catalogue),
        *_without_effect(scenario),
        *_unpriced_rental(scenario, catalogue),
        *_split_units(scenario, catalogue),
        *doubled_figures(scenario.facts, catalogue),
        *_measured_elsewhere(scenario, shipped),
    ]
    if problems:
        raise ScenarioError(scenario.path.name if scenario.path else "scenario", problems)


def _mixed_signals(scenario: Scenario, catalogue: Catalogue) -> Iterator[Problem]:
    """Sites whose grid factors mean different things: their carbon must not be compared or added."""
    grids: dict[str, str | None] = {site.name: site.grid for site in scenario.sites}
    grids |= {one.name: one.grid for one in scenario.rental}
    signals = {
        name: (grid, catalogue.fact(f"grid.{grid}.intensity").boundary.get("grid", ""))
        for name, grid in grids.items()
        if grid is not None
    }
    for name, (grid, signal) in signals.items():
        first, (first_grid, first_signal) = next(iter(signals.items()))
        if signal != first_signal:
            section = "rental" if name in {one.name for one in scenario.rental} else "sites"
            yield Problem(
                f"{section}.{name}.grid",
                f"'{grid}' is {signal} and '{first_grid}' of {first} is {first_signal}: "
                "one plan needs one signal. Choose regions of one family (us-*, gcp-* or countries), "
                "or write grid_intensity",
            )


def _without_effect(scenario: Scenario) -> Iterator[Problem]:
    """What may be written but no plan reads yet: refused rather than silently ignored."""
    for site in scenario.sites:
        if site.wue_l_per_kwh is not None:
            yield Problem(f"sites.{site.name}.wue", "plans do not count water yet: leave it out")


def _measured_elsewhere(scenario: Scenario, catalogue: Catalogue) -> Iterator[Problem]:
    """Measurements of accelerators that the catalogue does not have: they would change nothing."""
    facts = scenario.calibration.facts if scenario.calibration is not None else ()
    unknown = [f.key for f in facts if f.key.startswith("accelerator.") and not catalogue.has(f.key)]
    if unknown:
        yield Problem(
            "performance.calibration", f"the catalogue has no {', '.join(unknown)}: calibrate again"
        )


def _split_units(scenario: Scenario, catalogue: Catalogue) -> Iterator[Problem]:
    """Orders of a part of what is sold as one."""
    for offer in scenario.market:
        sku = catalogue.skus[offer.sku]
        if "order_nodes" in offer.model_fields_set and offer.order_nodes % sku.buying_unit:
            yield Problem(
                f"market.{offer.sku}.order_nodes",
                f"{offer.order_nodes} nodes are no whole rack or slice: {sku.title} is sold "
                f"{sku.buying_unit} nodes at a time. Write {sku.buying_unit} or a multiple, or leave it out",
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
    return notes


def _unpriced_rental(scenario: Scenario, catalogue: Catalogue) -> Iterator[Problem]:
    """Rented nodes without a price, where the catalogue has none either."""
    for one in scenario.rental:
        key = f"rental.{catalogue.skus[one.sku].accelerator}.price"
        if one.price_usd_per_h is None and not catalogue.has(key):
            yield Problem(
                f"rental.{one.name}.price",
                f'is missing, and the catalogue has none for {one.sku}: write for example price = "4 USD/h"',
            )


def doubled_figures(facts: Mapping[str, str], catalogue: Catalogue) -> Iterator[Problem]:
    """Figures of your own that are about twice the known ones: sparse peaks, links in both directions."""
    for key, text in facts.items():
        if not key.startswith("accelerator."):
            continue
        known = catalogue.fact(key)
        yours = parse_quantity(text, known.unit)
        try:
            if key.endswith("_peak"):
                require_dense_peak(peak_tflop_per_s=yours, dense_tflop_per_s=known.value)
            elif key.endswith(".link_bandwidth"):
                require_one_way_link(link_gb_per_s=yours, one_way_gb_per_s=known.value)
        except ValueError as error:
            yield Problem(f"facts.{shown_key(key)}", str(error))


def _mortal_storage(scenario: Scenario, catalogue: Catalogue) -> Iterator[Problem]:
    """Checkpoints that would die with the node whose failure they are for."""
    for job in scenario.training:
        survives = f"checkpoint_storage.{job.checkpoint_storage}.survives_node_loss"
        if catalogue.has(survives) and not catalogue.fact(survives).value:
            yield Problem(
                f"training.{job.name}.checkpoint_storage",
                f"'{job.checkpoint_storage}' is lost with its node; choose a storage that outlives a node, "
                'such as parallel-fs, and checkpoint = "asynchronous" for a short stall',
            )


def known_names(catalogue: Catalogue) -> Known:
    """Names that a scenario may refer to."""
    return Known(
        skus=frozenset(catalogue.skus),
        models=frozenset(catalogue.names("model", "layers")),
        grids=frozenset(catalogue.names("grid", "intensity")),
        traffics=frozenset(catalogue.names("traffic", "mean_context")),
        storages=frozenset(catalogue.names("checkpoint_storage", "bandwidth")),
        fleets=frozenset(catalogue.names("reliability", "failure_rate")),
        engines=frozenset(one.name for one in catalogue.engines.values() if not one.only),
        fact_units={key: fact.unit for key, fact in catalogue.facts.items()},
        ranges=catalogue.ranges,
    )
