"""Every way to lay one model over a number of accelerators, and the fastest that fits in memory.

The search knows no model or chip: it is handed the shape, the hardware and the fitted constants.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_open_share, require_positive
from planner.performance.memory import training_memory_gb
from planner.performance.throughput import tokens_per_s_per_gpu
from planner.performance.training import training_step_s

Column = float | NDArray[np.float64]
Columns = dict[str, NDArray[np.float64]]

RECOMPUTE_NAMES = {0: "none", 1: "selective", 2: "full"}


@dataclass(frozen=True, slots=True)
class Layout:
    """The fastest layout that fits, and how many were looked at."""

    tp: int
    pp: int
    interleave: int
    cp: int
    dp: int
    micro_batch: int
    recompute: int
    sharding: int
    memory_gb: float
    step_s: float
    tokens_per_s_per_gpu: float
    enumerated: int
    fitting: int

    def says(self) -> str:
        """The layout in one line."""
        pipeline = f"PP{self.pp}" + (f"x{self.interleave}" if self.interleave > 1 else "")
        return (
            f"TP{self.tp} {pipeline} CP{self.cp} DP{self.dp}, micro-batch {self.micro_batch}, "
            f"recompute {RECOMPUTE_NAMES[self.recompute]}, ZeRO-{self.sharding}"
        )


@dataclass(frozen=True, slots=True)
class NoLayout:
    """No layout works, and why. `smallest_memory_gb` is infinite where none divides evenly."""

    reason: str
    smallest_memory_gb: float


def layout_candidates(
    *,
    gpus: int,
    global_batch: int,
    layers: int,
    heads: int,
    kv_heads: int,
    sequence_tokens: int,
    link_domain: int,
    largest_micro_batch: int = 8,
    largest_cp: int = 8,
    largest_interleave: int = 8,
    spare_layers: int = 2,
) -> Columns:
    """Whole-number columns of every layout that divides evenly, one entry per layout.

    t divides the fast domain and the heads; p leaves at most `spare_layers` places empty (the first and
    the last stage may be a layer shorter); v divides the layers of a stage and p the micro-batches;
    d = n/(t p c) is whole and d b divides B; weights are sharded (ZeRO-3) only without a pipeline.
    """
    require_positive(
        gpus=gpus, global_batch=global_batch, layers=layers, heads=heads, kv_heads=kv_heads,
        sequence_tokens=sequence_tokens, link_domain=link_domain,
    )  # fmt: skip
    plain = _splits(
        gpus, global_batch, layers, heads, kv_heads, sequence_tokens, link_domain,
        largest_micro_batch, largest_cp, largest_interleave, spare_layers,
    )  # fmt: skip
    names = ("tp", "pp", "interleave", "cp", "micro_batch")
    columns = {name: np.tile(plain[:, i], 6) for i, name in enumerate(names)}
    columns["recompute"] = np.tile(np.repeat([0.0, 1.0, 2.0], len(plain)), 2)
    columns["sharding"] = np.repeat([1.0, 3.0], 3 * len(plain))
    allowed = (columns["sharding"] == 1) | (columns["pp"] == 1)
    columns = {name: column[allowed] for name, column in columns.items()}
    columns["dp"] = gpus / (columns["tp"] * columns["pp"] * columns["cp"])
    return columns


def best_layout(
    *,
    gpus: int,
    global_batch: int,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    ffn: int,
    gated: int,
    vocabulary: int,
    sequence_tokens: int,
    sequence_parallel: int,
    fused_attention: int,
    link_domain: int,
    memory_gb: float,
    usable_fraction: float,
    largest_micro_batch: int = 8,
    largest_cp: int = 8,
    largest_interleave: int = 8,
    **step_arguments: float,
) -> Layout | NoLayout:
    """The layout with the shortest step among those that fit in `usable_fraction` of the memory.

    `step_arguments` are the hardware and the constants of `training_step_s` (all that are not above).
    Of layouts that differ only in recomputation the one that recomputes least is kept before any step
    is timed: recomputation never makes this model's step shorter.
    """
    require_positive(memory_gb=memory_gb)
    require_open_share(usable_fraction=usable_fraction)
    shape: dict[str, float] = {
        "layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "ffn": ffn, "gated": gated,
        "vocabulary": vocabulary, "sequence_tokens": sequence_tokens, "gpus": gpus,
        "global_batch": global_batch, "sequence_parallel": sequence_parallel,
        "fused_attention": fused_attention,
    }  # fmt: skip
    columns = layout_candidates(
        gpus=gpus, global_batch=global_batch, layers=layers, heads=heads, kv_heads=kv_heads,
        sequence_tokens=sequence_tokens, link_domain=link_domain,
        largest_micro_batch=largest_micro_batch, largest_cp=largest_cp, largest_interleave=largest_interleave,
    )  # fmt: skip
    ranks = columns.pop("dp")
    enumerated = len(ranks)
    if not enumerated:
        reason = f"no layout divides {gpus} accelerators, {layers} layers and a batch of {global_batch}"
        return NoLayout(reason, np.inf)
    needed = np.asarray(training_memory_gb(**shape, **columns))
    fits = needed <= usable_fraction * memory_gb
    if not fits.any():
        return NoLayout(
            f"the smallest of {enumerated} layouts needs {needed.min():.1f} GB, "
            f"{usable_fraction * memory_gb:.1f} GB of {memory_gb:.0f} GB are usable",
            float(needed.min()),
        )
    kept = np.flatnonzero(fits & _least_recompute(columns, fits))
    tried = {name: column[kept] for name, column in columns.items()}
    times = np.asarray(training_step_s(**shape, **tried, link_domain=link_domain, **step_arguments).total_s)
    best = int(kept[np.argmin(times)])
    step_s = float(times.min())
    return Layout(
        **{name: int(column[best]) for name, column in columns.items()},
        dp=int(ranks[best]), memory_gb=float(needed[best]), step_s=step_s,
        tokens_per_s_per_gpu=float(
            tokens_per_s_per_gpu(
                global_batch=global_batch, sequence_tokens=sequence_tokens, step_s=step_s, gpus=gpus
            )
        ),
        enumerated=enumerated, fitting=int(fits.sum()),
    )  # fmt: skip


def _least_recompute(columns: Columns, fits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True where no layout with the same split and less recomputation fits."""
    split = np.stack([columns[name] for name in ("tp", "pp", "interleave", "cp", "micro_batch", "sharding")])
    radix = np.cumprod(np.concatenate([[1.0], split.max(axis=1)[:-1] + 1.0]))
    key = radix @ split
    least = np.full(len(key), np.inf)
    _, same = np.unique(key, return_inverse=True)
    np.minimum.at(least, same, np.where(fits, columns["recompute"], np.inf))
    result: NDArray[np.bool_] = columns["recompute"] == least[same]
    return result


@lru_cache(maxsize=4096)  # a sweep over chips asks for the same sizes again and again
def _splits(
    gpus: int,
    global_batch: int,
    layers: int,
    heads: int,
    kv_heads: int,
    sequence_tokens: int,
    link_domain: int,
    largest_micro_batch: int,
    largest_cp: int,
    largest_interleave: int,
    spare_layers: int,
) -> NDArray[np.float64]:
    """Rows of t, p, v, c, b that divide evenly; never written to."""
    tensor = [
        t for t in _divisors(link_domain)
        if heads % t == 0 and gpus % t == 0 and (kv_heads % t == 0 or t % kv_heads == 0)
    ]  # fmt: skip
    pipeline = [p for p in range(1, min(layers, gpus) + 1) if -(-layers // p) * p - layers <= spare_layers]
    context = [c for c in _powers_of_two(largest_cp) if sequence_tokens % (2 * c) == 0 or c == 1]
    rows = [
        (t, p, v, c, b)
        for t in tensor
        for p in pipeline
        if gpus % (t * p) == 0
        for c in context
        if gpus % (t * p * c) == 0 and global_batch % (gpus // (t * p * c)) == 0
        for b in _powers_of_two(largest_micro_batch)
        if (global_batch * t * p * c // gpus) % b == 0
        for v in _interleavings(-(-layers // p), p, global_batch * t * p * c // gpus // b)
        if v <= largest_interleave
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 5)


def _interleavings(stage_layers: int, stages: int, micro_batches: int) -> list[int]:
    """Chunks per stage: the interleaved schedule wants whole rounds of micro-batches over the stages."""
    return _divisors(stage_layers) if stages > 1 and micro_batches % stages == 0 else [1]


@lru_cache(maxsize=4096)
def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def _powers_of_two(largest: int) -> list[int]:
    return [1 << i for i in range(largest.bit_length()) if 1 << i <= largest]
