"""What techniques would change of a job: hours, energy and bytes of the phases in their scope."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from planner.answers.job.setting import Setting
from planner.answers.job.work import Done, Phase
from planner.inputs.techniques import SERVING, Technique, technique_named, techniques
from planner.performance.power import node_power_kw
from planner.physics.nodes import host_facts
from planner.physics.techniques import DATA_TIME, SERVING_TIME, TRAINING_TIME, effect_ratio, lowered_kwh
from planner.trace.quantities import Traced, derive

# Handles that change the hours of a phase at its meter. What changes a prediction of ours is in it already.
TIME = {
    "data": DATA_TIME,
    "experimentation": TRAINING_TIME,
    "training": TRAINING_TIME,
    "fine_tuning": TRAINING_TIME,
    "inference": SERVING_TIME,
}
ENERGY = ("energy",)
WITHOUT_NODES = {"storage": ("stored_bytes",), "federated": ("energy", "traffic")}


def with_techniques(setting: Setting, phase: str, done: Done) -> Done:
    """Work with less of its hours, and of its energy above idle, by the techniques in scope."""
    names = in_scope_of(setting, phase)
    counted = () if _is_served(setting, phase) else TIME[phase]
    shorter = effect_ratio(setting.catalogue, names, counted)
    if shorter is not None:
        lasts = None if done.duration_h is None else _less(done.duration_h, shorter, "duration_h")
        done = replace(
            done,
            node_h=_less(done.node_h, shorter, "node_h"),
            it_kwh=_less(done.it_kwh, shorter, "it_energy_kwh"),
            duration_h=lasts,
        )
    lower = effect_ratio(setting.catalogue, names, ENERGY)
    if lower is None:
        return done
    sku = setting.sku(done.sku)
    host = host_facts(setting.fact, sku)
    idle = derive(
        node_power_kw,
        host_kw=host["host_idle_kw"],
        accelerators=setting.fact(f"server.{sku.server}.accelerators"),
        accelerator_kw=host["idle_kw"],
    )
    kwh = derive(lowered_kwh, it_kwh=done.it_kwh, node_h=done.node_h, idle_kw=idle, reduction_ratio=lower)
    return replace(done, it_kwh=kwh)


def with_less(setting: Setting, phase: Phase) -> Phase:
    """Drives or devices that take less of everything, by the techniques in scope."""
    ratio = effect_ratio(setting.catalogue, in_scope_of(setting, phase.name), WITHOUT_NODES[phase.name])
    if ratio is None:
        return phase
    names = {
        "it_kwh": "it_energy_kwh",
        "facility_kwh": "facility_energy_kwh",
        "operational": "operational_kgco2e",
        "embodied": "embodied_kgco2e",
    }
    held = {part: (getattr(phase, part), name) for part, name in names.items()}
    less: dict[str, Any] = {
        part: _less(node, ratio, name) for part, (node, name) in held.items() if node is not None
    }
    return replace(phase, **less)


def _less(amount: Traced, ratio: Traced, name: str) -> Traced:
    return (amount / ratio).named(name, "with a technique")


def in_scope_of(setting: Setting, phase: str) -> tuple[str, ...]:
    """Techniques of a setting that apply to one of its phases."""
    return tuple(name for name in setting.techniques if not why_not(setting, phase, technique_named(name)))


def why_not(setting: Setting, phase: str, technique: Technique) -> str:
    """Why a technique does not apply to a phase; empty where it does."""
    table = getattr(setting.job, phase)
    if technique.operator == "rounds" and getattr(table, "mode", None) == "asynchronous":
        return "it does away with rounds, and this job has none"
    sku = getattr(table, "sku", None) or setting.job.hardware.sku
    return technique.out_of_scope(
        setting.catalogue,
        phase=phase,
        model=getattr(table, "model", None),
        accelerator="" if sku is None else setting.catalogue.skus[sku].accelerator,
        predicted=predicted(setting, phase),
    )


def predicted(setting: Setting, phase: str) -> bool:
    """Whether a model of ours says how long a phase takes."""
    table = getattr(setting.job, phase)
    measured = ("accelerator_hours", "metered", "tokens_per_s")
    return getattr(table, "model", None) is not None and not any(
        getattr(table, name, None) is not None for name in measured
    )


def techniques_that_apply(setting: Setting) -> Iterator[tuple[Technique, tuple[str, ...]]]:
    """Each technique with the phases of the job that it applies to."""
    phases = [name for name in (*TIME, *WITHOUT_NODES) if getattr(setting.job, name) is not None]
    for technique in techniques().values():
        if found := tuple(name for name in phases if not why_not(setting, name, technique)):
            yield technique, found


def turns(setting: Setting, technique: Technique, phases: tuple[str, ...]) -> tuple[str, ...]:
    """Facts of the effects that count in these phases; none where all that it does is elsewhere."""
    counted = {
        handle
        for phase in phases
        for handle in (
            WITHOUT_NODES.get(phase) or (*(SERVING if _is_served(setting, phase) else TIME[phase]), *ENERGY)
        )
    }
    return tuple(f"technique.{technique.name}.{one}" for one in technique.handles if one in counted)


def _is_served(setting: Setting, phase: str) -> bool:
    return phase == "inference" and predicted(setting, phase)
