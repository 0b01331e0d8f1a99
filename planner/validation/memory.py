"""Adapters of training memory."""

from __future__ import annotations

from planner.performance.memory import activation_gb, layer_parameters, rank_parameters, weights_optimizer_gb
from planner.validation.forms import Book, NotUnderstood
from planner.validation.steps import RECOMPUTE

MEMORY = "training memory"

BOOK = Book({"seq": ("sequence_tokens", 1.0), "vp": ("interleave", 1.0)})


@BOOK.takes(
    "memory_weights_optimizer",
    unit="GB",
    subject=MEMORY,
    labels=("gpu", "gpus", "dtype", "micro_batch", "seq", "vocab", "vp"),
)
def weights_memory(
    *,
    layers: int,
    hidden: int,
    heads: int,
    tp: int,
    pp: int,
    kv_heads: int | None = None,
    ffn: int | None = None,
    gated: bool = False,
) -> float:
    """Weights, gradients and unsharded optimizer; a GPT block (4 h) where none is given, no tables."""
    one = layer_parameters(
        hidden=hidden, heads=heads, kv_heads=kv_heads or heads, ffn=ffn or 4 * hidden, gated=int(gated)
    )
    held = rank_parameters(layers=layers, layer_parameters=one, hidden=hidden, vocabulary=0, tp=tp, pp=pp)
    return float(weights_optimizer_gb(rank_parameters=held, data_parallel=1, sharding=0))


@BOOK.takes("memory_activations", unit="GB", subject=MEMORY, labels=("gpu", "gpus", "dtype", "vocab"))
def activations_memory(
    *,
    layers: int,
    hidden: int,
    heads: int,
    sequence_tokens: int,
    micro_batch: int,
    tp: int,
    pp: int,
    recompute: str,
    sequence_parallel: bool,
    interleave: int = 1,
    cp: int = 1,
) -> float:
    """Activations of a full pipeline, without fused attention."""
    if recompute not in RECOMPUTE:
        raise NotUnderstood(f"unknown recomputation '{recompute}'; known: {', '.join(RECOMPUTE)}")
    return float(
        activation_gb(
            layers=layers, hidden=hidden, heads=heads, sequence_tokens=sequence_tokens,
            micro_batch=micro_batch, tp=tp,
            pp=pp, interleave=interleave, cp=cp, micro_batches=pp, recompute=RECOMPUTE[recompute],
            sequence_parallel=int(sequence_parallel), fused_attention=0,
        )
    )  # fmt: skip
