"""What a footprint comes to: for a useful hour, a request, a million tokens; and what failures cost of it."""

from __future__ import annotations

from carbon.grid import market_kgco2e_per_kwh
from carbon.ledger import footprint_kgco2e
from carbon.operational import operational_kgco2e
from carbon.scores import (
    answered_kgco2e_per_request,
    item_kgco2e,
    million_tokens_kgco2e,
    useful_kgco2e_per_gpu_h,
)
from carbon.states import WorkHours, work_carbon
from planner.answers.job.equations import day_kgco2e
from planner.answers.job.footprint import Footprint
from planner.answers.job.work import Phase
from planner.physics.upstream import is_marginal
from planner.trace.errors import InputError
from planner.trace.quantities import Parts, Traced, chosen, derive, derive_parts
from planner.trace.units import DIMENSIONLESS

Named = dict[str, tuple[str, Traced]]


def market_based(footprint: Footprint) -> tuple[Traced, Traced] | None:
    """Intensity under the contracts that the job states, and the carbon of its electricity by it.

    Raises:
        InputError: the hours of the job are marginal, and contracts are of an inventory.
    """
    setting, contract = footprint.setting, footprint.setting.job.contract
    if contract is None:
        return None
    if is_marginal(footprint.operational.boundary.get("grid", "")):
        raise InputError(
            "contract: is for an inventory, next to average hours or a grid; those of site.hourly are "
            "marginal: leave out one of the two"
        )
    residual: Traced = chosen("residual_kgco2e_per_kwh", 0.0, "all of the energy is under contract")
    if contract.residual_kgco2e_per_kwh is not None:
        residual = setting.yours("contract.residual", contract.residual_kgco2e_per_kwh, "kgCO2e/kWh")
    intensity = derive(
        market_kgco2e_per_kwh,
        contracted_fraction=setting.yours("contract.covered", contract.covered_fraction or 0.0, "1"),
        contract_kgco2e_per_kwh=setting.yours(
            "contract.intensity", contract.contract_kgco2e_per_kwh or 0.0, "kgCO2e/kWh"
        ),
        residual_kgco2e_per_kwh=residual,
    )
    carbon = derive(
        operational_kgco2e, facility_energy_kwh=footprint.facility_kwh, grid_kgco2e_per_kwh=intensity
    )
    return intensity, carbon


def scores_of(footprint: Footprint) -> Named:
    """Carbon for what the job gives, of the phase that gives it alone.

    A software carbon intensity shares the network, the building and the like among them: `--as sci` has it.
    """
    found: Named = {}
    training = footprint.phase("training")
    if training is not None:
        found |= _of_training(footprint, training)
    given, answers = footprint.answered, footprint.phase("inference")
    if given is not None and answers is not None:
        carbon = phase_kgco2e(answers)
        found["per_request"] = (
            "inference alone, per request",
            derive(answered_kgco2e_per_request, footprint_kgco2e=carbon, requests=given.requests),
        )
        if given.tokens is not None:
            found["per_million_tokens_written"] = (
                "inference alone, per million tokens written",
                derive(million_tokens_kgco2e, footprint_kgco2e=carbon, tokens=given.tokens),
            )
        if given.items is not None:
            found["per_item"] = (
                f"inference alone, per {given.item}",
                derive(item_kgco2e, footprint_kgco2e=carbon, items=given.items),
            )
        if given.requests_per_day is not None:
            hours = footprint.setting.yours("inference.duration", _duration_h(footprint), "h")
            found["per_day"] = (
                "inference alone, per day",
                derive(day_kgco2e, footprint_kgco2e=carbon, duration_h=hours),
            )
        if answers.facility_kwh is not None:
            found["energy_per_request"] = (
                "inference alone, energy per request",
                (answers.facility_kwh / given.requests).named(
                    "answer_kwh_per_request", "Energy at the meter of one answered request"
                ),
            )
    return found


def failures_of(footprint: Footprint) -> Parts | None:
    """Carbon of the training run by what its hours were for, where they are predicted."""
    training = footprint.phase("training")
    if training is None or training.done is None or training.done.states is None:
        return None
    states = training.done.states
    assert training.embodied is not None, "training has nodes"
    assert training.grid is not None, "training draws power"
    energy = {f"{name.removesuffix('_kwh')}_it_kwh": part for name, part in states.energy.items()}
    return derive_parts(
        work_carbon,
        **energy,
        hours=WorkHours(**states.hours, idle_h=chosen("idle_h", 0.0, "a run leaves no node of its own idle")),
        pue=footprint.setting.pue,
        grid_kgco2e_per_kwh=training.grid,
        embodied_kgco2e=training.embodied,
    )


def phase_kgco2e(phase: Phase) -> Traced:
    """Electricity and hardware of a phase of work."""
    assert phase.operational is not None, "work draws power"
    assert phase.embodied is not None, "work has nodes"
    return derive(footprint_kgco2e, operational_kgco2e=phase.operational, embodied_kgco2e=phase.embodied)


def whole_kgco2e(phase: Phase) -> Traced:
    """What a phase emits: its electricity, its hardware, or both."""
    if phase.operational is not None and phase.embodied is not None:
        return phase_kgco2e(phase)
    only = phase.operational or phase.embodied
    assert only is not None, "a phase draws power or rests on hardware"
    return only


def _of_training(footprint: Footprint, training: Phase) -> Named:
    setting, work = footprint.setting, footprint.setting.job.training
    assert training.done is not None, "training has nodes"
    assert work is not None, "training is stated"
    carbon = phase_kgco2e(training)
    server = setting.sku(training.done.sku).server
    hours = (training.done.node_h * setting.fact(f"server.{server}.accelerators")).named(
        "accelerator_time_h", "Accelerator-hours of node-hours"
    )
    useful = training.done.useful or chosen("useful_fraction", 1.0, "not stated: every hour is counted")
    known = training.done.useful is not None
    found: Named = {
        "per_useful_hour": (
            "training, per useful accelerator-hour" if known else "training, per accelerator-hour",
            derive(
                useful_kgco2e_per_gpu_h, footprint_kgco2e=carbon, held_gpu_h=hours, useful_fraction=useful
            ),
        )
    }
    if work.tokens is not None:
        tokens = setting.yours("training.tokens", work.tokens, DIMENSIONLESS)
        found["per_million_tokens_trained"] = (
            "training, per million tokens",
            derive(million_tokens_kgco2e, footprint_kgco2e=carbon, tokens=tokens),
        )
    return found


def _duration_h(footprint: Footprint) -> float:
    stated = footprint.setting.job.inference
    assert stated is not None, "inference is stated"
    return stated.duration_h or 0.0
