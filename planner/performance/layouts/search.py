"""The fastest layout that fits in memory.

The search knows no model or chip: it is given the shape, the hardware and the fitted constants.
"""

import math
from dataclasses import dataclass, fields
from functools import partial

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_open_share, require_positive
from planner.performance.bundles import (
    KeptBytes,
    SplitLimits,
    TrainedTransformer,
    TrainingChip,
    TrainingLayout,
    TrainingRun,
    TrainingSoftware,
)
from planner.performance.columns import Column
from planner.performance.layouts.candidates import RECOMPUTE_CODES, evenly_divided
from planner.performance.memory import (
    TrainingMemory,
    memory_shortage,
    redone_fraction,
    stage_layers,
    training_memory_parts,
)
from planner.performance.throughput import exposed_communication_fraction, tokens_per_s_per_gpu
from planner.performance.training import training_step_s

WHOLE, BARELY = 2.0, 1.0 + 1e-9  # codes: whole layers are redone in all of them, and in nearly none
RECOMPUTE_NAMES = {0: "none", 1: "selective", 2: "full"}


def recompute_says(code: float) -> str:
    """What a code of recomputation means, in words."""
    share = float(redone_fraction(recompute=code))
    return f"full in {share:.0%} of layers" if 0 < share < 1 else RECOMPUTE_NAMES[round(code)]


@dataclass(frozen=True, slots=True)
class Layout:
    """The fastest layout that fits, and how many were looked at."""

    tp: int
    pp: int
    interleave: int
    cp: int
    dp: int
    micro_batch: int
    recompute: float
    sharding: int
    memory_gb: float
    step_s: float
    tokens_per_s_per_gpu: float
    enumerated: int
    fitting: int
    ep: int = 1
    exposed_communication_fraction: float = 0.0

    def says(self) -> str:
        """The layout in one line."""
        pipeline = f"PP{self.pp}" + (f"x{self.interleave}" if self.interleave > 1 else "")
        experts = f" EP{self.ep}" if self.ep > 1 else ""
        return (
            f"TP{self.tp} {pipeline} CP{self.cp} DP{self.dp}{experts}, micro-batch {self.micro_batch}, "
            f"recompute {recompute_says(self.recompute)}, ZeRO-{self.sharding}"
        )


@dataclass(frozen=True, slots=True)
class NoLayout:
    """No layout works, and why. `smallest_memory_gb` is infinite where none divides evenly."""

    reason: str
    smallest_memory_gb: float


def best_layout(
    *,
    model: TrainedTransformer,
    run: TrainingRun,
    chip: TrainingChip,
    software: TrainingSoftware,
    sequence_parallel: int,
    fused_attention: int,
    memory_gb: float,
    usable_fraction: float,
    as_fast_fraction: float = 0.0,
    kept: KeptBytes | None = None,
    limits: SplitLimits | None = None,
) -> Layout | NoLayout:
    """The layout with the shortest step among those that fit in `usable_fraction` of the memory.

    Of those whose step is longer by no more than `as_fast_fraction` the simplest, which people run where
    nothing speaks against it: first no split of the sequence, then few accelerators a copy, few stages, few
    chunks of a stage; of what is alike, the fastest.

    Of layouts that differ only in recomputation the one that recomputes least is kept before any step
    is timed: recomputation never makes this model's step shorter. Where whole layers have to be redone, they
    are as few of each stage as fit.
    """
    require_positive(memory_gb=memory_gb)
    require_open_share(usable_fraction=usable_fraction)
    # Shapes and sizes are counted; facts of them are floats.
    sizes = {name: int(getattr(model, name)) for name in ("layers", "heads", "kv_heads", "experts")}
    accelerators, global_batch = int(run.accelerators), int(run.global_batch)
    divided = partial(
        evenly_divided,
        accelerators=accelerators,
        sequence_tokens=int(run.sequence_tokens),
        link_domain=int(chip.link_domain),
        limits=limits,
        **sizes,
    )
    columns = divided(global_batch=global_batch)
    ranks = columns.pop("dp")
    enumerated = len(RECOMPUTE_CODES) * len(ranks)
    if not enumerated:
        whole = f"{accelerators} accelerators, {sizes['layers']} layers"
        reason = f"no layout divides {whole} and a batch of {global_batch} sequences"
        near = _near_batches(accelerators, global_batch)
        other = next((one for one in near if len(divided(global_batch=one)["tp"])), None)
        if other is not None:
            reason += f"; {other} of them, {other * int(run.sequence_tokens):,} tokens, would do"
        return NoLayout(reason, np.inf)
    # One row of memory for each recomputation, one column for each way to divide.
    codes = np.array(RECOMPUTE_CODES)[:, None]
    split_as = {"sequence_parallel": sequence_parallel, "fused_attention": fused_attention}
    memory = training_memory_parts(
        model=model, run=run, layout=TrainingLayout(**columns, recompute=codes, **split_as), kept=kept
    )
    needed = np.asarray(memory.total_gb)
    fits = needed <= usable_fraction * memory_gb
    if not fits.any():
        smallest = _entry(memory, needed.shape, int(needed.argmin()))
        frozen = float(np.max(model.adapter_parameters)) > 0
        why = memory_shortage(
            memory=smallest, memory_gb=memory_gb, usable_fraction=usable_fraction, frozen=frozen
        )
        return NoLayout(f"the smallest of {enumerated} layouts {why}", float(needed.min()))
    fitting = np.flatnonzero(fits.any(axis=0))
    least = fits.argmax(axis=0)[fitting]  # the first recomputation that fits
    tried = {name: column[fitting] for name, column in columns.items()}
    takes_gb, tried["recompute"] = needed[least, fitting], codes[least, 0]
    redone = np.flatnonzero(tried["recompute"] == WHOLE)
    few = {name: column[redone] for name, column in tried.items()} | {"recompute": np.array(BARELY)}
    barely = training_memory_parts(model=model, run=run, layout=TrainingLayout(**few, **split_as), kept=kept)
    tried["recompute"][redone], takes_gb[redone] = _fewest_layers(
        np.asarray(barely.total_gb),
        takes_gb[redone],
        usable_fraction * memory_gb,
        stage_layers(layers=model.layers, pp=few["pp"]),
    )
    layouts = TrainingLayout(**tried, **split_as)
    steps = training_step_s(model=model, run=run, layout=layouts, chip=chip, software=software)
    times = np.asarray(steps.total_s)
    first = _simplest(tried, times, as_fast_fraction)
    step_s = float(times[first])
    waits = (
        "tensor_parallel_s",
        "expert_parallel_s",
        "context_parallel_s",
        "weight_gather_s",
        "pipeline_transfer_s",
        "data_parallel_s",
        "total_s",
    )
    exposed = exposed_communication_fraction(**{name: _at(getattr(steps, name), first) for name in waits})
    return Layout(
        **{name: int(column[first]) for name, column in tried.items() if name != "recompute"},
        recompute=_code(float(tried["recompute"][first])),
        dp=int(ranks[fitting[first]]),
        memory_gb=float(takes_gb[first]),
        step_s=step_s,
        tokens_per_s_per_gpu=float(
            tokens_per_s_per_gpu(
                global_batch=global_batch,
                sequence_tokens=run.sequence_tokens,
                step_s=step_s,
                accelerators=accelerators,
            )
        ),
        enumerated=enumerated,
        fitting=int(fits.sum()),
        exposed_communication_fraction=float(exposed),
    )


def _code(recompute: float) -> float:
    """A code as it is written: those without a share are whole numbers."""
    return int(recompute) if recompute.is_integer() else recompute


def _fewest_layers(
    barely_gb: NDArray[np.float64], whole_gb: NDArray[np.float64], usable_gb: float, deep: Column
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Codes of the fewest layers of a stage that are redone so that it fits, and what it takes then.

    Between (nearly) no layer and all of them the memory falls in proportion.
    """
    falls = np.maximum(barely_gb - whole_gb, np.finfo(np.float64).tiny)
    layers = np.ceil((barely_gb - usable_gb) / falls * deep - 1e-9)
    share = np.clip(layers, 1.0, deep) / deep
    return 1.0 + share, barely_gb - share * falls


def _simplest(
    tried: dict[str, NDArray[np.float64]], times: NDArray[np.float64], as_fast_fraction: float
) -> int:
    """The simplest of the layouts that are nearly as fast as the fastest one, and the fastest of those."""
    if not as_fast_fraction:
        return int(np.argmin(times))
    near = np.flatnonzero(times <= (1.0 + as_fast_fraction) * times.min())
    columns = {name: column[near] for name, column in tried.items()}
    copies = columns["tp"] * columns["pp"]
    # The last key sorts first.
    order = np.lexsort((times[near], columns["interleave"], columns["pp"], copies, columns["cp"]))
    return int(near[order[0]])


def _near_batches(accelerators: int, global_batch: int) -> list[int]:
    """Batches that share a factor with the accelerators, nearest first: 19 nodes need a multiple of 19."""
    small = (d for d in range(2, math.isqrt(accelerators) + 1) if accelerators % d == 0)
    factors = {accelerators, *(one for d in small for one in (d, accelerators // d))}
    near = {factor * max(1, round(global_batch / factor)) for factor in factors} - {global_batch}
    return sorted(near, key=lambda one: (abs(one - global_batch), one))


def _entry(memory: TrainingMemory, shape: tuple[int, ...], index: int) -> TrainingMemory:
    """The parts of one layout."""
    return TrainingMemory(
        *(float(np.broadcast_to(getattr(memory, part.name), shape).flat[index]) for part in fields(memory))
    )


def _at(column: Column, index: int) -> float:
    return float(column if np.ndim(column) == 0 else np.asarray(column)[index])
