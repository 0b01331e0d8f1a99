"""Every way to lay a model over a number of accelerators that divides evenly."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_positive
from planner.performance.bundles import SplitLimits
from planner.performance.layouts.stated import divisors, require_heads

Columns = dict[str, NDArray[np.float64]]

RECOMPUTE_CODES = (0.0, 1.0, 2.0)


def layout_candidates(
    *,
    accelerators: int,
    global_batch: int,
    layers: int,
    heads: int,
    kv_heads: int,
    sequence_tokens: int,
    link_domain: int,
    experts: int = 0,
    limits: SplitLimits | None = None,
) -> Columns:
    """Whole-number columns of every layout that divides evenly, one entry per layout.

    t divides the fast domain and the heads; p leaves at most `spare_layers` places empty (the first
    and the last stage may be a layer shorter); v divides the layers of a stage and p the micro-batches;
    d = n/(t p c) is whole and d b divides B; weights are sharded (ZeRO-3) only without a pipeline, and not
    where `shard_weights` is 0; `shard_gradients` 1 also tries ZeRO-2, which changes little next to ZeRO-1.
    Where there are experts, e divides them and the n/p accelerators of a stage (`ep`, absent in dense
    models).
    """
    columns = evenly_divided(
        accelerators=accelerators,
        global_batch=global_batch,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        sequence_tokens=sequence_tokens,
        link_domain=link_domain,
        experts=experts,
        limits=limits,
    )
    divided = len(columns["tp"])
    every = {name: np.tile(column, len(RECOMPUTE_CODES)) for name, column in columns.items()}
    return {**every, "recompute": np.repeat(RECOMPUTE_CODES, divided)}


def evenly_divided(
    *,
    accelerators: int,
    global_batch: int,
    layers: int,
    heads: int,
    kv_heads: int,
    sequence_tokens: int,
    link_domain: int,
    experts: int = 0,
    limits: SplitLimits | None = None,
) -> Columns:
    """The columns of `layout_candidates` but for recomputation, which divides nothing."""
    limits = SplitLimits() if limits is None else limits
    require_heads(heads=heads, kv_heads=kv_heads)
    require_positive(
        accelerators=accelerators,
        global_batch=global_batch,
        layers=layers,
        sequence_tokens=sequence_tokens,
        link_domain=link_domain,
    )
    plain = splits(
        accelerators,
        global_batch,
        layers,
        heads,
        kv_heads,
        sequence_tokens,
        link_domain,
        limits,
    )
    names = ("tp", "pp", "interleave", "cp", "micro_batch")
    columns = {name: plain[:, i] for i, name in enumerate(names)}
    if experts:
        columns = _spread_experts(columns, accelerators, experts)
    stages = [1.0, 2.0] if limits.shard_gradients else [1.0]
    columns["dp"] = accelerators / (columns["tp"] * columns["pp"] * columns["cp"])
    # Weights are sharded in full only where one stage holds them all.
    whole = columns["pp"] == 1
    rows = [np.arange(len(whole))] * len(stages)
    if limits.shard_weights:
        stages, rows = [*stages, 3.0], [*rows, np.flatnonzero(whole)]
    row = np.concatenate(rows)
    sharding = np.repeat(stages, [len(each) for each in rows])
    return {**{name: column[row] for name, column in columns.items()}, "sharding": sharding}


def _spread_experts(columns: Columns, accelerators: int, experts: int) -> Columns:
    """Each layout once for every number of accelerators that its experts may be spread over."""
    ep = np.array(divisors(experts), dtype=np.float64)
    row, choice = np.nonzero((accelerators / columns["pp"])[:, None] % ep[None, :] == 0)
    return {**{name: column[row] for name, column in columns.items()}, "ep": ep[choice]}


@lru_cache(maxsize=4096)  # a sweep over chips asks for the same sizes again and again
def splits(
    accelerators: int,
    global_batch: int,
    layers: int,
    heads: int,
    kv_heads: int,
    sequence_tokens: int,
    link_domain: int,
    limits: SplitLimits,
) -> NDArray[np.float64]:
    """Rows of t, p, v, c, b that divide evenly; never written to."""
    tensor = [
        t
        for t in divisors(link_domain)
        if heads % t == 0 and accelerators % t == 0 and (kv_heads % t == 0 or t % kv_heads == 0)
    ]
    pipeline = [
        p
        for p in range(1, min(layers, accelerators) + 1)
        if -(-layers // p) * p - layers <= limits.spare_layers and p % limits.stages_of == 0
    ]
    context = [c for c in _powers_of_two(limits.largest_cp) if sequence_tokens % (2 * c) == 0 or c == 1]
    rows = [
        (t, p, v, c, b)
        for t in tensor
        for p in pipeline
        if accelerators % (t * p) == 0
        for c in context
        if accelerators % (t * p * c) == 0 and global_batch % (accelerators // (t * p * c)) == 0
        if accelerators // (t * p * c) % limits.copies_of == 0
        for b in _powers_of_two(limits.largest_micro_batch)
        if (global_batch * t * p * c // accelerators) % b == 0
        for v in _interleavings(-(-layers // p), p, global_batch * t * p * c // accelerators // b)
        if v <= (limits.largest_interleave if limits.stages_of == 1 else 1)
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 5)


def _interleavings(stage_layers: int, stages: int, micro_batches: int) -> tuple[int, ...]:
    """Chunks per stage: the interleaved schedule wants whole rounds of micro-batches over the stages."""
    return divisors(stage_layers) if stages > 1 and micro_batches % stages == 0 else (1,)


def _powers_of_two(largest: int) -> list[int]:
    return [1 << i for i in range(largest.bit_length()) if 1 << i <= largest]
