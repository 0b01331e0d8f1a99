"""What a checkpoint question rests on: the values that flags, a scenario or a fitted log may each state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from planner.inputs.catalogue import Catalogue
from planner.inputs.fits import FittedFleet, is_fit, read_fit
from planner.inputs.job_question import CheckpointQuestion
from planner.inputs.resolved import HOURS_PER_YEAR, Inputs
from planner.inputs.scenario import TrainingJob
from planner.physics.checkpoints import trained_parameters
from planner.physics.failures import OLDEST, ages_y, measured_bursts
from planner.physics.hours import electricity_of
from planner.physics.requests import given
from planner.physics.run_stops import loss_spikes, rollback
from planner.physics.slow_steps import SlowSteps, slow_steps, slow_steps_of
from planner.physics.training_options import adapters_of
from planner.trace.errors import InputError
from planner.trace.quantities import Fact, Traced, chosen

# Parts of a restart that the asker may time, by the fact that is used otherwise.
RESTART_PARTS = {
    "detect": "reliability.detection_time",
    "replace": "reliability.swap_time",
    "initialise": "reliability.initialisation_time",
    "warm_up": "checkpoint.warm_up_time",
}


@dataclass(frozen=True)
class Terms:
    """One model on one site with one fleet's failures, as traced quantities; the size is still open."""

    catalogue: Catalogue
    fact: Callable[[str], Fact]
    model: str
    storage: str
    asynchronous: bool
    failure_rate: Traced
    reference_accelerators: Traced
    restart: Traced
    repair: Traced
    variance_to_mean: Traced
    fleet_nodes: Traced
    spare_confidence: Traced
    grid: Traced
    electricity: Traced
    pue: Traced
    discount: Traced
    capital_life: Traced
    embodied_life: Traced
    price: Callable[[str], Traced]
    question: CheckpointQuestion
    spikes_per_h: Traced | None = None
    spike_back_h: Traced | None = None
    slow: SlowSteps | None = None
    adapters: Traced | None = None  # their weights, where they alone are trained
    age_y: Traced = field(default_factory=lambda: chosen("age_y", 0.0, "new nodes"))


def terms_of_flags(catalogue: Catalogue, failures: str | FittedFleet, question: CheckpointQuestion) -> Terms:
    """Terms of a question on the command line or in the app; the rest comes from the catalogue."""
    said = question.stated()
    grid = said["grid"]
    fact = catalogue.fact
    ratio, fleet_nodes = measured_bursts(None, fact)
    terms = Terms(
        catalogue=catalogue,
        fact=fact,
        model=said["model"],
        storage=said["storage"],
        asynchronous=bool(question.asynchronous),
        failure_rate=fact("reliability.prior.failure_rate"),
        reference_accelerators=fact("reliability.reference_accelerators"),
        restart=given("restart", said["restart_min"] / 60.0, "h"),
        repair=fact("reliability.repair_time.mean"),
        variance_to_mean=ratio,
        fleet_nodes=fleet_nodes,
        spare_confidence=given("spare_confidence", said["spare_confidence_fraction"], "1"),
        grid=fact(f"grid.{grid}.intensity"),
        electricity=electricity_of(fact, catalogue.has, grid),
        pue=fact("pue.default"),
        discount=fact("finance.discount_rate"),
        capital_life=fact("finance.capex_life"),
        embodied_life=fact("embodied.lifetime"),
        price=lambda server: fact(f"server.{server}.price"),
        question=question,
        spikes_per_h=(
            given("loss_spikes", question.loss_spikes_per_month * 12.0 / HOURS_PER_YEAR, "1/h")
            if question.loss_spikes_per_month
            else None
        ),
        spike_back_h=(
            None if question.rollback_min is None else given("rollback", question.rollback_min / 60.0, "h")
        ),
        slow=slow_steps(
            fact,
            *(
                None if value is None else given(name, value, "1")
                for name, value in (
                    ("slow_nodes", question.slow_nodes_fraction),
                    ("slowdown", question.slowdown_factor),
                    ("step_spread", question.step_spread_fraction),
                )
            ),
        ),
    )
    return with_failures(terms, failures)


def terms_of_job(
    inputs: Inputs, job: TrainingJob, group: tuple[int, int], question: CheckpointQuestion
) -> Terms:
    """Terms of a scenario's training job on the nodes of a SKU at a site, in the first period."""
    site = group[1]
    scenario, catalogue = inputs.scenario, inputs.catalogue
    reliability, policy = scenario.reliability, scenario.policy
    life = inputs.yours("policy.node_life", policy.node_life_y, "y")
    held = adapters_of(inputs, job, f"training.{job.name}")
    ratio, fleet_nodes = measured_bursts(scenario.fit, inputs.fact)
    stated = {
        catalogue.skus[offer.sku].server: inputs.money(f"market.{offer.sku}.price", first, "USD")
        for offer in scenario.market
        if offer.price_usd is not None and (first := offer.price_usd[0]) is not None
    }
    return Terms(
        catalogue=catalogue,
        fact=inputs.fact,
        model=job.model,
        storage=job.checkpoint_storage,
        asynchronous=job.checkpoint == "asynchronous",
        failure_rate=inputs.failure_rate(),
        reference_accelerators=inputs.reference_accelerators(),
        restart=inputs.yours("reliability.restart", reliability.restart_h, "h"),
        repair=inputs.repair(),
        variance_to_mean=ratio,
        fleet_nodes=fleet_nodes,
        spare_confidence=inputs.yours(
            "reliability.spare_confidence", reliability.spare_confidence_fraction, "1"
        ),
        grid=inputs.grid[site * inputs.periods],
        electricity=inputs.electricity[site * inputs.periods],
        pue=inputs.pue[site],
        discount=inputs.yours("policy.discount_rate", policy.discount_rate_fraction, "1"),
        capital_life=life,
        embodied_life=life,
        price=lambda server: stated[server] if server in stated else inputs.fact(f"server.{server}.price"),
        question=replace(question, detect_corruption=reliability.detect_corruption),
        spikes_per_h=loss_spikes(inputs),
        spike_back_h=rollback(inputs),
        slow=slow_steps_of(inputs),
        adapters=trained_parameters(inputs, job.model, held) if held else None,
        age_y=chosen("age_y", float(ages_y(inputs)[inputs.node_groups.index(group)]), OLDEST),
    )


def with_failures(terms: Terms, failures: str | FittedFleet) -> Terms:
    """The same question with the failures of a published fleet, or of a fit, read or in a fit.json."""
    if isinstance(failures, FittedFleet):
        return _with_fit(terms, failures)
    if is_fit(failures):
        return _with_fit(terms, read_fit(Path(failures)))
    own = f"reliability.{failures}.accelerators_per_node"
    ratio, fleet_nodes = measured_bursts(None, terms.fact)
    return replace(
        terms,
        variance_to_mean=ratio,
        fleet_nodes=fleet_nodes,
        failure_rate=terms.fact(f"reliability.{failures}.failure_rate"),
        reference_accelerators=terms.fact(
            own if terms.catalogue.has(own) else "reliability.reference_accelerators"
        ),
    )


def fleets(catalogue: Catalogue) -> list[str]:
    """Fleets of the catalogue whose failure rate is known, and the belief about a fleet not yet seen."""
    return list(catalogue.names("reliability", "failure_rate"))


def states(catalogue: Catalogue) -> list[str]:
    """Kinds of training state whose bytes for each parameter are known."""
    start = "checkpoint.bytes_per_parameter@"
    return [key.removeprefix(start) for key in catalogue.facts if key.startswith(start)]


def restart_part(terms: Terms, name: str) -> Traced:
    """One part of the restart: as stated, or the catalogue's."""
    parts = terms.question.restart_parts or {}
    return given(name, parts[name] / 60.0, "h") if name in parts else terms.fact(RESTART_PARTS[name])


def parse_restart_parts(text: str) -> dict[str, float]:
    """Minutes by part of a restart from `detect=0.5,replace=2`.

    Raises:
        InputError: a part is unknown or its minutes are no number from 0 up.
    """
    found: dict[str, float] = {}
    for piece in filter(None, text.split(",")):
        name, _, minutes = (part.strip() for part in piece.partition("="))
        try:
            found[name] = float(minutes)
        except ValueError:
            found[name] = -1.0
        if name not in RESTART_PARTS or not 0 <= found[name] < 10_000:
            raise InputError(
                f"restart parts: '{piece}' is not understood; write minutes of {', '.join(RESTART_PARTS)}, "
                "for example 'detect=0.5,replace=2'"
            )
    return found


def _with_fit(terms: Terms, fit: FittedFleet) -> Terms:
    ratio, fleet_nodes = measured_bursts(fit, terms.fact)
    return replace(
        terms,
        variance_to_mean=ratio,
        fleet_nodes=fleet_nodes,
        failure_rate=fit.failure_rate,
        reference_accelerators=fit.accelerators_per_node or terms.fact("reliability.reference_accelerators"),
        repair=fit.repair or terms.repair,
    )
