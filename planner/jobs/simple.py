"""The few inputs that most estimates need, read from a job and put back into the tables of its file."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

from planner.jobs.parts import Job
from planner.units import parse_quantity

# Input -> its place in a job file, in the order in which they are asked for.
PLACES = {
    "model": "training.model", "tokens": "training.tokens", "nodes": "training.nodes",
    "accelerator_hours": "training.accelerator_hours", "requests_per_day": "inference.requests_per_day",
    "sku": "hardware.sku", "grid": "site.grid", "pue": "site.pue", "lifetime_y": "hardware.lifetime",
}  # fmt: skip
# Phases that need nothing stated: each is a share of the others, by facts of the catalogue.
WITHOUT_INPUTS = ("experimentation", "network", "building", "end_of_life")
_ALWAYS = ("sku", "grid", "pue", "lifetime_y")
# What else a file says of its grid gives way to a region that is chosen.
_OTHER_GRIDS = (
    "grid_intensity", "hourly", "hourly_signal", "hourly_zone", "hourly_column", "hourly_unit",
    "hourly_time_zone", "hourly_repeats", "fill", "longest_gap",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Simple:
    """The few inputs of a job; None is what its file leaves to the catalogue or says in another way."""

    model: str | None = None
    tokens: float | None = None
    nodes: int | None = None
    accelerator_hours: float | None = None
    requests_per_day: float | None = None
    sku: str | None = None
    grid: str | None = None
    pue: float | None = None
    lifetime_y: float | None = None


def simple_of(job: Job) -> Simple:
    """The few inputs as a job states them."""
    training, inference = job.training, job.inference
    return Simple(
        model=None if training is None else training.model,
        tokens=None if training is None else training.tokens,
        nodes=None if training is None else training.nodes,
        accelerator_hours=None if training is None else training.accelerator_hours,
        requests_per_day=None if inference is None else inference.requests_per_day,
        sku=job.hardware.sku,
        grid=job.site.grid,
        pue=job.site.pue,
        lifetime_y=job.hardware.lifetime_y,
    )


def asked_of(job: Job) -> tuple[str, ...]:
    """Which of the few inputs a job can take: those of its own phases, and those of every job."""
    stated = asdict(simple_of(job))
    return tuple(name for name in PLACES if name in _ALWAYS or stated[name] is not None)


def simple_stated(tables: Mapping[str, Any]) -> Simple:
    """The few inputs as the tables that `with_simple` made state them, a job or not yet one."""
    found = {}
    for name, place in PLACES.items():
        section, _, key = place.partition(".")
        found[name] = tables.get(section, {}).get(key)
    if found["lifetime_y"] is not None:
        found["lifetime_y"] = parse_quantity(found["lifetime_y"], "y")
    return Simple(**found)


def asked_of_own(tables: Mapping[str, Any]) -> tuple[str, ...]:
    """Which of the few inputs a job of one's own takes: a metered run needs no other word for its size."""
    metered = "metered" in tables.get("training", {})
    sizes = ("model", "tokens", "nodes", "accelerator_hours")
    return tuple(name for name in PLACES if name in _ALWAYS or (name in sizes and not metered))


def lacking(tables: Mapping[str, Any]) -> str:
    """What a job of one's own lacks before it can be worked out; empty where it lacks nothing."""
    work = tables.get("training", {})
    if "model" in work and not {"tokens", "accelerator_hours", "metered"} & work.keys():
        return "Write the training tokens: the hours are predicted from them and the model."
    if "tokens" in work and "model" not in work:
        return "Choose a model: the hours are predicted from it and the tokens."
    if not {"model", "accelerator_hours", "metered"} & work.keys():
        return (
            "Nothing is stated yet: choose a model and write its training tokens, or write accelerator-hours "
            "that were measured, or bring a file of metered energy."
        )
    return ""


def with_phases(tables: Mapping[str, Any], wanted: Mapping[str, bool]) -> dict[str, Any]:
    """The tables with some phases switched on, as the catalogue has them, and others off."""
    kept = {name: held for name, held in deepcopy(dict(tables)).items() if wanted.get(name, True)}
    return kept | {name: {} for name, on in wanted.items() if on and name not in kept}


def with_simple(tables: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a job file with other values for some of the few inputs; None leaves it to the facts."""
    changed = deepcopy(dict(tables))
    for name, value in wanted.items():
        section, _, key = PLACES[name].partition(".")
        table = changed.setdefault(section, {})
        if value is None:
            table.pop(key, None)
            continue
        if name == "grid":
            for other in _OTHER_GRIDS:
                table.pop(other, None)
        table[key] = f"{value:.15g} y" if name == "lifetime_y" else value
    return changed


def with_metered(tables: Mapping[str, Any], name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a job whose training run is what a meter saw; `known` is what the file does not say."""
    said = {f"metered_{key}": value for key, value in known.items() if value is not None}
    return {**deepcopy(dict(tables)), "training": {"metered": name, **said}}
