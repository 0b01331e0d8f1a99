"""Published techniques: what each applies to, as `data/techniques.toml` says; how much it does is a fact."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import data_folder
from planner.inputs.model_kinds import IN_BATCHES, LANGUAGE, RECOMMENDATION, VISION, WORDS, kind_of_model
from planner.trace.errors import InputError

PHASES = ("data", "experimentation", "training", "fine_tuning", "inference", "storage", "federated")
HANDLES = (
    "tokens",
    "samples",
    "step_time",
    "throughput",
    "decode_time",
    "prompt_reading",
    "kv_bytes",
    "memory",
    "energy",
    "traffic",
    "lookups",
    "preprocessing",
    "stored_bytes",
)

# Handles that a prediction of serving reads.
SERVING = ("decode_time", "prompt_reading", "kv_bytes", "throughput", "step_time", "lookups")
# Handles that make a training run take less time.
RUNS = ("tokens", "samples", "step_time", "throughput", "traffic", "lookups")
ENERGY = "energy"  # drawn above idle: of pools alone
POOLS = (*RUNS, ENERGY)
READ = {"inference": SERVING, "training": RUNS, "fine_tuning": POOLS, "experimentation": POOLS}
KINDS = ("language", "recommendation", "diffusion", "any")


def effect_key(name: str, handle: str) -> str:
    """Key of the fact that says how many times less of a handle a technique takes."""
    return f"technique.{name}.{handle}"


class UnknownTechnique(InputError):
    """No technique has this name; the message names the nearest ones."""


@dataclass(frozen=True, slots=True)
class Technique:
    """One published technique: its scope, the handles that it turns, and what comes with it.

    The fact `technique.<name>.<handle>` says how many times less of the handle is taken.
    """

    name: str
    title: str
    phases: tuple[str, ...]
    models: str
    operator: str
    handles: tuple[str, ...]
    quality: str
    adoption: str
    published: int
    experts: bool = False
    plain_attention: bool = False
    needs: str = ""
    accelerators: tuple[str, ...] = ()
    only: str = ""
    excludes: tuple[str, ...] = ()

    def out_of_scope(
        self, catalogue: Catalogue, *, phase: str, model: str | None, accelerator: str, predicted: bool
    ) -> str:
        """Why it does not apply to work of a phase on a chip; empty where it does.

        Args:
            catalogue: of models and chips.
            phase: one of `PHASES`.
            model: that works; None where nobody says.
            accelerator: that it works on; empty for devices and drives.
            predicted: whether a model of ours says how long it takes, which counts what engines do.
        """
        on_chip = {
            f"{accelerator} has no matrix rate in {self.needs}": bool(self.needs)
            and not catalogue.has(f"accelerator.{accelerator}.{self.needs}_peak"),
            f"it does not run on {accelerator}": bool(self.accelerators)
            and not any(fnmatch(accelerator, one) for one in self.accelerators),
        }
        of_work = self._out_of_work(catalogue, phase, model, predicted)
        return of_work or next((reason for reason, holds in on_chip.items() if holds), "")

    def idle_in(self, catalogue: Catalogue, phase: str, model: str, *, pools: bool = False) -> str:
        """Why it changes nothing of a phase of a plan, whatever chip; empty else.

        Of inference and training by services and runs; with `pools`, of the phases that a pool's work is of.
        """
        what = "a service" if phase == "inference" else "a training job"
        if pools:
            what = "a pool"
        handles = set(self.handles) & set(READ[phase])
        idle = "" if handles else f"no plan reads {' and '.join(self.handles)} of {what}"
        final = not pools and self.only == "experiments"
        experiments = "no final run may use it" if final else ""
        kind = kind_of_model(catalogue, model)
        if kind in IN_BATCHES if phase == "inference" else kind == RECOMMENDATION:
            return f"no plan applies techniques to {what} of {WORDS[kind]}"
        return self._out_of_work(catalogue, phase, model, predicted=True) or idle or experiments

    def _out_of_work(self, catalogue: Catalogue, phase: str, model: str | None, predicted: bool) -> str:
        reasons = {
            f"it is for {' and '.join(map(_plain, self.phases))}": phase not in self.phases,
            "what it does is in our predictions, or not known for them": self.only == "measured"
            and predicted,
            f"it is for {self.models} models": self.models not in ("any", _spoken_kind(catalogue, model)),
            "it is for mixtures of experts": self.experts and not _has_experts(catalogue, model),
            "it is for attention with keys for each head": self.plain_attention
            and not _has_plain_attention(catalogue, model),
        }
        return next((reason for reason, holds in reasons.items() if holds), "")


@cache
def techniques() -> Mapping[str, Technique]:
    """The techniques by name, in the order of the file.

    Raises:
        InputError: a word means nothing, or names a technique that there is not.
    """
    with (data_folder() / "techniques.toml").open("rb") as file:
        entries: Mapping[str, Mapping[str, Any]] = tomllib.load(file)
    found = {name: _technique(name, entry) for name, entry in entries.items()}
    wrong = [
        f"techniques.toml: {one.name}: '{word}' means nothing here"
        for one in found.values()
        for words, known in (
            (one.phases, PHASES),
            (one.handles, HANDLES),
            (one.excludes, tuple(found)),
            ((one.models,), KINDS),
            ((one.only,), ("", "experiments", "measured")),
        )
        for word in words
        if word not in known
    ]
    if wrong:
        raise InputError("\n".join(wrong))
    return found


def _technique(name: str, entry: Mapping[str, Any]) -> Technique:
    parts: dict[str, Any] = {key: tuple(x) if isinstance(x, list) else x for key, x in entry.items()}
    return Technique(name, **parts)


def technique_named(name: str) -> Technique:
    """One technique.

    Raises:
        UnknownTechnique: there is none of that name.
    """
    known = techniques()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3) or tuple(known)
        raise UnknownTechnique(f"no technique '{name[:60]}'; near: {', '.join(near)}")
    return known[name]


def _spoken_kind(catalogue: Catalogue, model: str | None) -> str:
    """Kind of a model as techniques name it: transformers of images are like those of texts."""
    kind = kind_of_model(catalogue, model)
    return LANGUAGE if kind == VISION else kind


def _has_plain_attention(catalogue: Catalogue, model: str | None) -> bool:
    heads, kept = (f"model.{model}.{part}" for part in ("heads", "kv_heads"))
    return catalogue.has(heads) and catalogue.fact(heads).value == catalogue.fact(kept).value


def _has_experts(catalogue: Catalogue, model: str | None) -> bool:
    key = f"model.{model}.experts"
    return catalogue.has(key) and catalogue.fact(key).value > 0


def _plain(phase: str) -> str:
    return phase.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Way:
    """One way to do a service of a scenario: which one, with which techniques, from when on.

    Until `usable_h` hours after the start, the way `base` counts in its place.
    """

    of: int
    base: int
    techniques: tuple[str, ...] = ()
    usable_h: float = 0.0
    lost_fraction: float = 0.0  # of its quality, where the service limits what is lost on average
    time_fraction: float = 0.0  # of the response time of the pipeline of which it is a stage; 0: of none
    nearest: bool = True  # whether no other sites of the service are nearer to its users
    regions: int = 0  # of its users that it answers, bit r for region r; 0: all


@dataclass(frozen=True, slots=True)
class Ways:
    """Ways to do the services of a scenario; none where each is done as it is stated."""

    services: tuple[Way, ...] = ()
    quantiles: Mapping[str, float] = field(default_factory=dict)  # share of a stage in time, by pipeline
