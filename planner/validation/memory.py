"""Adapters of what weights fill: the size of a model, training memory, and what sharded weights send."""

from __future__ import annotations

from planner.performance.communication import VALUE_BYTES
from planner.performance.experts import layer_weights
from planner.performance.memory import activation_gb, layer_parameters, rank_parameters, weights_optimizer_gb
from planner.validation.aliases import constants
from planner.validation.forms import Book, NotUnderstood
from planner.validation.steps import RECOMPUTE

MEMORY = "training memory"
SIZE = "model size"
SENT = "sharded weights"

# Values of two bytes, with states of the optimiser in four.
TWO_BYTES = {"dtype": ("fp16", "bf16", "float16", "bfloat16")}

BOOK = Book({"seq": ("sequence_tokens", 1.0), "vp": ("interleave", 1.0), "vocab": ("vocabulary", 1.0)})


@BOOK.takes("model_parameters", unit="1", subject=SIZE, labels=("model",))
def model_parameters(
    *,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    ffn: int,
    gated: bool = False,
    vocabulary: int,
    tied: bool = False,
) -> float:
    """Weights of a dense model with the tables of both ends, which are one where they are tied."""
    one = layer_weights(
        hidden=hidden, heads=heads, kv_heads=kv_heads or heads, ffn=ffn, gated=int(gated), head_dim=head_dim
    )
    return float(layers * one.common_parameters + (1 if tied else 2) * vocabulary * hidden)


@BOOK.takes("train_fsdp_collectives_peer", unit="s", subject=SENT, labels=("gpu", "gpus"))
def sharded_weights_as_peer(
    *, layers: int, hidden: int, ffn: int, gated: bool = False, nvlink_util: float, roce_util: float
) -> float:
    """Time that weights sharded over all ranks travel in a step, at the bandwidth of MAD-Max.

    The volume is ours: gathered forward and backward, gradients scattered once, two bytes a weight, three
    times the gather of the step. Its all-reduce bandwidth is a mix of fast links and network; a gather
    sends half of what an all-reduce does, hence at twice the rate.
    """
    own = constants(
        "peer.madmax",
        {
            "link_gb_per_s": "link_bandwidth",
            "network_gb_per_s": "network_bandwidth",
            "near_fraction": "all_reduce_near",
        },
    )
    # As many heads for keys as for queries, whose number then cancels out.
    one = layer_parameters(hidden=hidden, heads=1, kv_heads=1, ffn=ffn, gated=int(gated))
    gathered_gb = VALUE_BYTES * layers * one / 1e9
    near = own["near_fraction"]
    fast_gb_per_s = near * own["link_gb_per_s"] * nvlink_util
    reduce_gb_per_s = fast_gb_per_s + (1.0 - near) * own["network_gb_per_s"] * roce_util
    return float(3.0 * gathered_gb / (2.0 * reduce_gb_per_s))


@BOOK.takes(
    "memory_weights_optimizer",
    unit="GB",
    subject=MEMORY,
    labels=("gpu", "gpus", "micro_batch", "seq", "vocab", "vp"),
    only=TWO_BYTES,
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


@BOOK.takes("memory_activations", unit="GB", subject=MEMORY, labels=("gpu", "gpus", "vocab"), only=TWO_BYTES)
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
            layers=layers,
            hidden=hidden,
            heads=heads,
            sequence_tokens=sequence_tokens,
            micro_batch=micro_batch,
            tp=tp,
            pp=pp,
            interleave=interleave,
            cp=cp,
            micro_batches=pp,
            recompute=RECOMPUTE[recompute],
            sequence_parallel=int(sequence_parallel),
            fused_attention=0,
        )
    )
