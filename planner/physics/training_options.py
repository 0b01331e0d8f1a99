"""Which ways to train exist at all: job x node group x nodes x layout x power cap; why others do not.

Enumeration only; what a candidate takes, costs and emits is worked out in `planner.physics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.catalogue import Facts
from planner.inputs.job.schema_work import Work
from planner.inputs.model_kinds import DIFFUSION, RECOMMENDATION, kind_of_model
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Pool, Service, TrainingJob
from planner.performance.bundles import SplitLimits
from planner.performance.layouts import Layout, NoLayout
from planner.physics.across import CROSSES, PIPELINE
from planner.physics.batch_work import image_tokens
from planner.physics.denoiser_training import run_stage
from planner.physics.hybrids import is_hybrid
from planner.physics.links import link_domain
from planner.physics.placed_tables import no_room
from planner.physics.run_ways import sets_of
from planner.physics.sample_training import run_memory_gb
from planner.physics.shared_runs import Halves, Split, splits
from planner.physics.training_step import (
    ACCELERATOR_FACTS,
    ADAPTER_RANK,
    AS_FAST,
    EXPERTS,
    LAYOUT,
    OUTSIDE_STEP,
    PRECISIONS,
    SHAPE,
    TRAINING_CONSTANTS,
    WHOLE,
    Workload,
    adapter_arguments,
    is_mixture,
    layout_of,
    peak,
    step_arguments,
    without_precision,
)
from planner.trace.columns import Indices
from planner.trace.numbers import how_many
from planner.trace.quantities import Traced

__all__ = [
    "ACCELERATOR_FACTS",
    "AS_FAST",
    "EXPERTS",
    "LAYOUT",
    "OUTSIDE_STEP",
    "PRECISIONS",
    "SHAPE",
    "TRAINING_CONSTANTS",
    "WHOLE",
    "is_mixture",
    "link_domain",
    "peak",
    "without_precision",
]


COPIED = (RECOMMENDATION, DIFFUSION)  # kinds whose layers no layout splits over tensors or stages
NOT_LINKED = "no link that it may use has nodes of one SKU at both ends, or it has a node alone"
UNCAPPED = 1.0  # accelerators may draw their rated power
UNLOCKED = 1.0  # and run at their highest clock
Mode = tuple[float, float]  # power cap and locked clock, as shares
FREELY: Mode = (UNCAPPED, UNLOCKED)
_Found = tuple[int, int, int, Layout, Mode, int]  # job, node group, nodes, layout, mode, way


@dataclass(frozen=True, slots=True)
class Dropped:
    """A configuration that cannot be, and why."""

    what: str
    sku: str
    reason: str


@dataclass(frozen=True)
class TrainingCandidates:
    """Columns over job x node group x nodes x mode x techniques, each with its fastest layout."""

    job: Indices
    node_group: Indices
    nodes: Indices
    layout: Mapping[str, NDArray[np.float64]]
    power_cap_fraction: NDArray[np.float64]
    clock_fraction: NDArray[np.float64]
    way: Indices  # which of `run_ways.run_sets`
    halves: Halves | None = None  # of runs that two sites share; None where none is

    def __len__(self) -> int:
        """How many candidates there are."""
        return len(self.job)

    def some(self, rows: NDArray[Any]) -> TrainingCandidates:
        """Some of them, in this order."""
        layout = {name: column[rows] for name, column in self.layout.items()}
        mode = self.power_cap_fraction[rows], self.clock_fraction[rows]
        way, halves = self.way[rows], None if self.halves is None else self.halves.some(rows)
        place = self.job[rows], self.node_group[rows], self.nodes[rows]
        return TrainingCandidates(*place, layout, *mode, way, halves)


def training_candidates(inputs: Inputs) -> tuple[TrainingCandidates, list[Dropped]]:
    """Every job on every node group it may use, at every size that the scenario names."""
    found: list[_Found] = []
    dropped: list[Dropped] = []
    known: dict[tuple[int, int, int], Layout | str] = {}
    for j, job in enumerate(inputs.scenario.training):
        for p, (k, s) in enumerate(inputs.node_groups):
            if not allowed(inputs, job, k, s):
                continue
            for nodes in job.nodes:
                if (j, k, nodes) not in known:
                    known[j, k, nodes] = _run_layout(inputs, job, k, nodes)
                    if isinstance(known[j, k, nodes], str):
                        name = f"{job.name} on {how_many(nodes, 'node')}"
                        dropped.append(Dropped(name, inputs.skus[k].name, str(known[j, k, nodes])))
                layout = known[j, k, nodes]
                if isinstance(layout, Layout):
                    found += [
                        (j, p, nodes, layout, mode, way)
                        for mode in modes(inputs, job, k)
                        for way in sets_of(inputs, job, k)
                    ]
    halves = _add_shared(inputs, found, dropped)
    columns = {name: np.array([float(getattr(row[3], name)) for row in found]) for name in LAYOUT}
    job_, group, nodes_ = (np.array([row[i] for row in found], dtype=np.intp) for i in range(3))
    caps, clocks = (np.array([row[4][i] for row in found], dtype=float) for i in range(2))
    ways = np.array([row[5] for row in found], dtype=np.intp)
    return TrainingCandidates(job_, group, nodes_, columns, caps, clocks, ways, halves), dropped


def _add_shared(inputs: Inputs, found: list[_Found], dropped: list[Dropped]) -> Halves | None:
    """Runs that two sites share go after the others, each as two rows; what the rows know of each other."""
    alone = len(found)
    pairs: list[tuple[Split, int]] = []
    known: dict[tuple[int, int, int, int, bool], Layout | str] = {}
    for j, job in enumerate(inputs.scenario.training):
        able = np.array([allowed(inputs, job, k, s) for k, s in inputs.node_groups], dtype=bool)
        ways = list(splits(inputs, job, able))
        if job.across and not ways:
            names = ", ".join(dict.fromkeys(sku.name for sku in inputs.skus))
            dropped.append(Dropped(f"{job.name} at two sites", names, NOT_LINKED))
        for split in ways:
            k, nodes = int(inputs.node_group_sku[split.groups[0]]), sum(split.nodes)
            staged = split.crosses == PIPELINE
            limits = SplitLimits(**{"stages_of" if staged else "copies_of": split.parts})
            key = (j, k, nodes, split.parts, staged)
            if key not in known:
                known[key] = _layout(inputs, job_workload(inputs, job), k, nodes, limits=limits)
                if isinstance(known[key], str):
                    name = f"{job.name} on {nodes} nodes of two sites, {split.crosses} across"
                    dropped.append(Dropped(name, inputs.skus[k].name, str(known[key])))
            layout = known[key]
            if isinstance(layout, Layout):
                for mode in modes(inputs, job, k):
                    for way in sets_of(inputs, job, k):
                        found += [
                            (j, p, count, layout, mode, way)
                            for p, count in zip(split.groups, split.nodes, strict=True)
                        ]
                        pairs.append((split, len(pairs) + 1))
    if not pairs:
        return None
    rows = [(number, half, split) for split, number in pairs for half in (0, 1)]

    def column(values: Iterable[int]) -> Indices:
        return np.array([*([0] * alone), *values], dtype=np.intp)

    return Halves(
        joint=column(number for number, _, _ in rows),
        second=column(half for _, half, _ in rows).astype(bool),
        group=column(split.groups[1 - half] for _, half, split in rows),
        nodes=column(split.nodes[1 - half] for _, half, split in rows),
        link=column(split.link for _, _, split in rows),
        crosses=column(CROSSES.index(split.crosses) for _, _, split in rows),
    )


def training_arguments(
    inputs: Inputs,
    model: str,
    sku: int,
    precision: str,
    *,
    mixed: bool = False,
    with_hybrid: bool = False,
) -> dict[str, Traced]:
    """Everything that `training_step_s` wants and that does not depend on the layout, on one of the SKUs."""
    arguments = step_arguments(
        inputs,
        model,
        inputs.skus[sku].accelerator,
        precision,
        mixed=mixed,
        with_hybrid=with_hybrid,
    )
    return {**arguments, "link_domain": link_domain(inputs, sku)}


def adapters_of(inputs: Inputs, work: TrainingJob | Pool, where: str) -> dict[str, Traced]:
    """Arguments of the step that only adapters have; none where all weights are trained."""
    if work.method != "lora":
        return {}
    if work.adapter_rank is None:
        return adapter_arguments(inputs, work.model, inputs.fact(ADAPTER_RANK))
    rank = inputs.yours(f"{where}.adapter_rank", float(work.adapter_rank), "1")
    return adapter_arguments(inputs, work.model, rank)


def trained_says(facts: Facts, work: TrainingJob | Work) -> str:
    """What of a model is trained, in words."""
    if work.method != "lora":
        return str(work.model)
    rank = facts.fact(ADAPTER_RANK).value if work.adapter_rank is None else work.adapter_rank
    return f"rank-{rank:g} adapters of {work.model}"


def job_workload(inputs: Inputs, job: TrainingJob) -> Workload:
    """What a training job trains; its batch in whole sequences, of which an image of patches is one."""
    if job.samples is not None:
        tokens = int(image_tokens(inputs, job.model).value)
        return Workload(job.model, job.precision, tokens, int(job.step_amount))
    assert job.batch_tokens is not None, "asked of runs by tokens"
    assert job.sequence_tokens is not None, "asked of runs by tokens"
    sequences = max(1, round(job.batch_tokens / job.sequence_tokens))
    return Workload(job.model, job.precision, job.sequence_tokens, sequences)


def allowed(inputs: Inputs, wish: Any, sku: int, site: int) -> bool:
    """Whether a job, service or pool of work may use a SKU at a site."""
    one = inputs.skus[sku]
    named = not wish.skus or one.name in wish.skus
    return not one.spare_of and named and (not wish.sites or inputs.sites[site].name in wish.sites)


def _run_layout(inputs: Inputs, job: TrainingJob, sku: int, nodes: int) -> Layout | str:
    """The layout of a run, by the kind of its model."""
    kind = kind_of_model(inputs.catalogue, job.model)
    if kind not in COPIED:
        return _layout(
            inputs, job_workload(inputs, job), sku, nodes, adapters_of(inputs, job, f"training.{job.name}")
        )
    accelerator = inputs.skus[sku].accelerator
    if reason := cannot_train(inputs, sku) or without_precision(inputs, accelerator, job.precision):
        return reason
    accelerators = nodes * int(inputs.server("accelerators")[sku].value)
    if kind == DIFFUSION:
        stage, held, reason = run_stage(inputs, job, sku, accelerators)
        return reason or _copied(accelerators, job.step_amount, stage, held)
    needed = run_memory_gb(inputs, job, sku, nodes)
    if reason := no_room(inputs, job.tables, f"training.{job.name}", sku, accelerators):
        return reason
    usable = inputs.fact("performance.training.usable_memory").value * inputs.accelerator("memory")[sku].value
    if job.tables is None and needed > usable:
        return f"tables and activations need {needed:,.3g} GB of {usable:,.3g} GB that are usable"
    return _copied(accelerators, job.step_amount, 0, needed)


def _copied(accelerators: int, samples: float, sharding: int, memory_gb: float) -> Layout:
    """Every accelerator with samples of its own; its step is worked out with the run."""
    return Layout(
        tp=1,
        pp=1,
        interleave=1,
        cp=1,
        dp=accelerators,
        micro_batch=max(1, round(samples / accelerators)),
        recompute=0,
        sharding=sharding,
        memory_gb=memory_gb,
        step_s=0.0,
        tokens_per_s_per_gpu=0.0,
        enumerated=1,
        fitting=1,
    )


def _layout(
    inputs: Inputs,
    work: Workload,
    sku: int,
    nodes: int,
    more: Mapping[str, Traced] | None = None,
    limits: SplitLimits | None = None,
) -> Layout | str:
    found = searched(inputs, work, sku, nodes, more, limits)
    return found.reason if isinstance(found, NoLayout) else found


def searched(
    inputs: Inputs,
    work: Workload,
    sku: int,
    nodes: int,
    more: Mapping[str, Traced] | None = None,
    limits: SplitLimits | None = None,
) -> Layout | NoLayout | str:
    """The fastest layout of some nodes that fits in memory, the nearest to one, or why there is none.

    `more` are arguments of the step that only some work has, as adapters.
    """
    accelerator = inputs.skus[sku].accelerator
    if reason := cannot_train(inputs, sku) or without_precision(inputs, accelerator, work.precision):
        return reason
    if reason := unknown_step(inputs, work.model):
        return reason
    return layout_of(
        {**training_arguments(inputs, work.model, sku, work.precision), **(more or {})},
        accelerators=nodes * int(inputs.server("accelerators")[sku].value),
        global_batch=work.batch_sequences,
        sequence_tokens=work.sequence_tokens,
        memory_gb=inputs.accelerator("memory")[sku].value,
        usable_fraction=inputs.fact("performance.training.usable_memory").value,
        as_fast_fraction=inputs.fact(AS_FAST).value,
        limits=limits,
    )


def modes(inputs: Inputs, wish: TrainingJob | Service | Pool, sku: int) -> tuple[Mode, ...]:
    """Power caps and clocks to try for a job, service or pool: each a cap or a clock; else neither.

    A cap leaves an accelerator more than it draws when idle.
    """
    tdp, idle = inputs.accelerator("tdp")[sku].value, inputs.accelerator("idle_power")[sku].value
    return tuple(mode for mode in stated_modes(inputs, wish) if mode[0] * tdp > idle)


def stated_modes(inputs: Inputs, wish: TrainingJob | Service | Pool) -> tuple[Mode, ...]:
    """The caps and clocks that a job, service or pool states, or the policy for all; else full power."""
    caps, clocks = wish.power_caps_fraction, wish.clocks_fraction
    if caps is None and clocks is None:
        clocks = inputs.scenario.policy.clocks_fraction
    if (clocks is None and caps is None) or kind_of_model(inputs.catalogue, wish.model) == RECOMMENDATION:
        return (FREELY,)
    each = [(cap, UNLOCKED) for cap in caps or ()] + [(UNCAPPED, clock) for clock in clocks or ()]
    return tuple(dict.fromkeys(each))


def unknown_step(inputs: Inputs, model: str) -> str:
    """Why no step of training is known for a model, whatever trains it; empty where one is."""
    if is_hybrid(inputs, model) and inputs.catalogue.has(f"model.{model}.dense_layers"):
        return (
            "experts in some layers of a hybrid alone: such a model is served here, its training is not known"
        )
    return ""


def cannot_train(inputs: Inputs, sku: int) -> str:
    """Why nobody trains on a SKU; empty where it does."""
    one = inputs.skus[sku]
    return "" if one.trains else f"{one.title}: it scores and serves; no step of training is known for it"
