"""Every way to lay one model over a number of accelerators, and the fastest that fits in memory.

The search knows no model or chip: it is handed the shape, the hardware and the fitted constants.
"""

from dataclasses import dataclass, fields
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_open_share, require_positive
from planner.performance.memory import TrainingMemory, memory_shortage, training_memory_parts
from planner.performance.throughput import exposed_communication_fraction, tokens_per_s_per_gpu
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
    ep: int = 1
    exposed_communication_fraction: float = 0.0

    def says(self) -> str:
        """The layout in one line."""
        pipeline = f"PP{self.pp}" + (f"x{self.interleave}" if self.interleave > 1 else "")
        experts = f" EP{self.ep}" if self.ep > 1 else ""
        return (
            f"TP{self.tp} {pipeline} CP{self.cp} DP{self.dp}{experts}, micro-batch {self.micro_batch}, "
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
    experts: int = 0,
    shard_gradients: int = 0,
) -> Columns:
    """Whole-number columns of every layout that divides evenly, one entry per layout.

    t divides the fast domain and the heads; p leaves at most `spare_layers` places empty (the first and
    the last stage may be a layer shorter); v divides the layers of a stage and p the micro-batches;
    d = n/(t p c) is whole and d b divides B; weights are sharded (ZeRO-3) only without a pipeline;
    `shard_gradients` 1 also tries ZeRO-2, which changes little beside ZeRO-1. Where
    there are experts, e divides them and the n/p accelerators of a stage (`ep`, absent in dense models).
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
    columns = {name: plain[:, i] for i, name in enumerate(names)}
    if experts:
        columns = _spread_experts(columns, gpus, experts)
    stages = [1.0, 2.0, 3.0] if shard_gradients else [1.0, 3.0]
    split = len(columns["tp"])
    columns = {name: np.tile(column, 3 * len(stages)) for name, column in columns.items()}
    columns["recompute"] = np.tile(np.repeat([0.0, 1.0, 2.0], split), len(stages))
    columns["sharding"] = np.repeat(stages, 3 * split)
    allowed = (columns["sharding"] < 3) | (columns["pp"] == 1)
    columns = {name: column[allowed] for name, column in columns.items()}
    columns["dp"] = gpus / (columns["tp"] * columns["pp"] * columns["cp"])
    return columns


def _spread_experts(columns: Columns, gpus: int, experts: int) -> Columns:
    """Each layout once for every number of accelerators that its experts may be spread over."""
    ep = np.array(_divisors(experts), dtype=np.float64)
    row, choice = np.nonzero((gpus / columns["pp"])[:, None] % ep[None, :] == 0)
    return {**{name: column[row] for name, column in columns.items()}, "ep": ep[choice]}


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
    shard_gradients: int = 0,
    head_dim: float | None = None,
    mixer_parameters: float | None = None,
    experts: int = 0,
    experts_per_token: int = 0,
    shared_experts: int = 0,
    adapter_parameters: float = 0.0,
    weight_bytes: float = 2.0,
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
        "fused_attention": fused_attention, "experts": experts, "experts_per_token": experts_per_token,
        "shared_experts": shared_experts, "adapter_parameters": adapter_parameters,
    }  # fmt: skip
    if head_dim is not None:
        shape["head_dim"] = head_dim
    if mixer_parameters is not None:
        shape["mixer_parameters"] = mixer_parameters
    divided = partial(
        layout_candidates,
        gpus=gpus, layers=layers, heads=heads, kv_heads=kv_heads, sequence_tokens=sequence_tokens,
        link_domain=link_domain, largest_micro_batch=largest_micro_batch, largest_cp=largest_cp,
        largest_interleave=largest_interleave, experts=experts, shard_gradients=shard_gradients,
    )  # fmt: skip
    columns = divided(global_batch=global_batch)
    ranks = columns.pop("dp")
    enumerated = len(ranks)
    if not enumerated:
        reason = f"no layout divides {gpus} accelerators, {layers} layers and a batch of {global_batch}"
        other = _batch_with_odd_factor(gpus, global_batch)
        helps = other != global_batch and len(divided(global_batch=other)["tp"])
        return NoLayout(reason + (f"; a batch of {other} would do" if helps else ""), np.inf)
    memory = training_memory_parts(**shape, **columns, weight_bytes=weight_bytes)
    needed = np.asarray(memory.total_gb)
    fits = needed <= usable_fraction * memory_gb
    if not fits.any():
        smallest = _entry(memory, int(needed.argmin()))
        why = memory_shortage(memory=smallest, memory_gb=memory_gb, usable_fraction=usable_fraction)
        return NoLayout(f"the smallest of {enumerated} layouts {why}", float(needed.min()))
    kept = np.flatnonzero(fits & _least_recompute(columns, fits))
    tried = {name: column[kept] for name, column in columns.items()}
    steps = training_step_s(**shape, **tried, link_domain=link_domain, **step_arguments)
    times = np.asarray(steps.total_s)
    first = int(np.argmin(times))
    best, step_s = int(kept[first]), float(times[first])
    waits = ("tensor_parallel_s", "expert_parallel_s", "weight_gather_s", "pipeline_transfer_s",
             "data_parallel_s", "total_s")  # fmt: skip
    exposed = exposed_communication_fraction(**{name: _at(getattr(steps, name), first) for name in waits})
    return Layout(
        **{name: int(column[best]) for name, column in columns.items()},
        dp=int(ranks[best]), memory_gb=float(needed[best]), step_s=step_s,
        tokens_per_s_per_gpu=float(
            tokens_per_s_per_gpu(
                global_batch=global_batch, sequence_tokens=sequence_tokens, step_s=step_s, gpus=gpus
            )
        ),
        enumerated=enumerated, fitting=int(fits.sum()), exposed_communication_fraction=float(exposed),
    )  # fmt: skip


def require_layout(
    *,
    gpus: int,
    global_batch: int,
    layers: int,
    heads: int,
    kv_heads: int,
    sequence_tokens: int,
    tp: int,
    pp: int,
    interleave: int,
    cp: int,
    micro_batch: int,
    experts: int = 0,
    ep: int = 1,
) -> None:
    """Raise ValueError that names everything that a stated layout does not divide.

    n = t p c d,  B = m b d,  a = 0 mod t,  kv = 0 mod t or t = 0 mod kv,  l = 0 mod v,  s = 0 mod c,
    E = 0 mod e,  n/p = 0 mod e

    Source: Narayanan et al., SC'21, arXiv 2104.04473; Liu et al., arXiv 2504.14960 (experts).
    """
    if heads < 1 or kv_heads < 1:
        raise ValueError(
            f"heads and kv_heads must be at least 1, got {heads} and {kv_heads}: a model without attention "
            "is described by mixer_parameters and attention_fraction 0, with heads 1"
        )
    require_positive(
        gpus=gpus, global_batch=global_batch, layers=layers, sequence_tokens=sequence_tokens, tp=tp, pp=pp,
        interleave=interleave, cp=cp, micro_batch=micro_batch, ep=ep,
    )  # fmt: skip
    split, held = tp * pp * cp, -(-layers // pp)
    problems = [
        text
        for wrong, text in (
            (gpus % split != 0, f"tp x pp x cp = {split} does not divide {gpus} accelerators"),
            (heads % tp != 0, f"tp {tp} does not divide {heads} heads"),
            (kv_heads % tp != 0 and tp % kv_heads != 0, f"tp {tp} does not divide {kv_heads} kv_heads"),
            (pp > layers, f"pp {pp} is more than {layers} layers"),
            (held % interleave != 0, f"interleave {interleave} does not divide {held} layers of a stage"),
            (sequence_tokens % cp != 0, f"cp {cp} does not divide {sequence_tokens} tokens"),
            (experts > 0 and experts % ep != 0, f"ep {ep} does not divide {experts} experts"),
            (experts == 0 and ep > 1, f"ep {ep} needs a model with experts"),
            (gpus % (pp * ep) != 0, f"ep {ep} does not divide the {gpus}/{pp} accelerators of a stage"),
        )
        if wrong
    ]
    if gpus % split == 0 and global_batch % (gpus // split * micro_batch):
        problems.append(
            f"dp {gpus // split} x micro_batch {micro_batch} does not divide a batch of {global_batch}"
        )
    if problems:
        raise ValueError("; ".join(problems))


def _batch_with_odd_factor(gpus: int, global_batch: int) -> int:
    """The nearest batch with the odd factor of the accelerators: 19 nodes need a multiple of 19."""
    odd = gpus // (gpus & -gpus)
    return odd * max(1, round(global_batch / odd))


def _entry(memory: TrainingMemory, index: int) -> TrainingMemory:
    return TrainingMemory(*(_at(getattr(memory, part.name), index) for part in fields(memory)))


def _at(column: Column, index: int) -> float:
    return float(column if np.ndim(column) == 0 else np.asarray(column)[index])


def _least_recompute(columns: Columns, fits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True where no layout with the same split and less recomputation fits."""
    split = np.stack([column for name, column in columns.items() if name != "recompute"])
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
