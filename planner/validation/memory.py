"""Adapters of what weights fill: the size of a model, training memory, and what sharded weights send."""

from __future__ import annotations

from planner.performance.bundles import TrainingLayout
from planner.performance.communication import VALUE_BYTES
from planner.performance.memory import activation_gb, layer_parameters, rank_parameters, weights_optimizer_gb
from planner.validation.aliases import constants
from planner.validation.forms import Book, NotUnderstood
from planner.validation.stated import RECOMPUTE, DenseModel, PeerShares

MEMORY = "training memory"
SIZE = "model size"
SENT = "sharded weights"

# Values of two bytes, with states of the optimiser in four.
TWO_BYTES = {"dtype": ("fp16", "bf16", "float16", "bfloat16")}

BOOK = Book(
    {
        "seq": ("sequence_tokens", 1.0),
        "vp": ("interleave", 1.0),
        "vocab": ("vocabulary", 1.0),
        "gated_mlp": ("gated", 1.0),
    }
)


@BOOK.takes("model_parameters", unit="1", subject=SIZE, labels=("model",))
def model_parameters(*, model: DenseModel) -> float:
    """Weights of a dense model with the tables of both ends, which are one where they are tied."""
    tables = (1 if model.tied else 2) * model.vocabulary * model.hidden
    return float(model.layers * model.parameters_of_a_layer + tables)


# Systems of MAD-Max, whose links and mix of them differ, and how the catalogue tells them apart.
PEER_SYSTEMS = {"A100": "", "H100": "@h100"}
PEER_NODE = 8


@BOOK.takes("train_fsdp_collectives_peer", unit="s", subject=SENT)
def sharded_weights_as_peer(
    *,
    gpu: str = "A100",
    accelerators: int | None = None,
    layers: int,
    hidden: int,
    ffn: int,
    gated: bool = False,
    nvlink_util: float,
    roce_util: float,
) -> float:
    """Time that weights sharded over all ranks travel in a step, at the bandwidth of MAD-Max.

    The volume is ours: gathered forward and backward, gradients scattered once, two bytes a weight, three
    times the gather of the step. Its all-reduce bandwidth is a mix of fast links and network; a gather
    sends half of what an all-reduce does, hence at twice the rate.
    """
    system = _peer_system(gpu, accelerators)
    return 3.0 * layers * _peer_gather_s(system, hidden, ffn, gated, nvlink_util, roce_util)


def _peer_system(gpu: str, accelerators: int | None) -> str:
    """How the facts of the peer's system with this accelerator end."""
    if gpu not in PEER_SYSTEMS:
        raise NotUnderstood(f"no system of the peer with '{gpu[:40]}': known are {', '.join(PEER_SYSTEMS)}")
    if accelerators is not None and accelerators <= PEER_NODE:
        raise NotUnderstood(f"the peer's mix of links is of several nodes of {PEER_NODE}, got {accelerators}")
    return PEER_SYSTEMS[gpu]


def _peer_gather_s(
    system: str, hidden: int, ffn: int, gated: bool, nvlink_util: float, roce_util: float
) -> float:
    """Time to gather the weights of one layer, two bytes each, at the bandwidth of MAD-Max."""
    own = constants(
        "peer.madmax",
        {
            "link_gb_per_s": f"link_bandwidth{system}",
            "network_gb_per_s": f"network_bandwidth{system}",
            "near_fraction": f"all_reduce_near{system}",
        },
    )
    # As many heads for keys as for queries, whose number then cancels out.
    one = layer_parameters(hidden=hidden, heads=1, kv_heads=1, ffn=ffn, gated=int(gated))
    near = own["near_fraction"]
    fast_gb_per_s = near * own["link_gb_per_s"] * nvlink_util
    reduce_gb_per_s = fast_gb_per_s + (1.0 - near) * own["network_gb_per_s"] * roce_util
    return float(VALUE_BYTES * one / 1e9 / (2.0 * reduce_gb_per_s))


@BOOK.takes("train_fsdp_step_peer", unit="s", subject=SENT)
def sharded_step_as_peer(
    *,
    gpu: str = "A100",
    accelerators: int | None = None,
    layers: int,
    hidden: int,
    ffn: int,
    gated: bool = False,
    sequence_tokens: int,
    local_batch: int,
    peak_tflop_per_s: float,
    used: PeerShares,
    prefetch: bool = False,
) -> float:
    """Time of a step of sharded weights in two streams, one that computes and one that sends.

    Without prefetching  T = L (g + c) + L (g + 2 c) + (L-1) max(0, r - 2 c) + r
    with it              T = g + (L-1) max(c, g) + c + (L-1) max(2 c, g + r) + 2 c + r

    g gathers a layer, r = g scatters its gradients, c = 2 tok (W + s h) / (P u) is its forward work, scores
    under a causal mask included.
    """
    if peak_tflop_per_s <= 0 or not 0 < used.flops_util <= 1:
        raise NotUnderstood("peak_tflop_per_s is above 0 and flops_util a share of it")
    gather = _peer_gather_s(
        _peer_system(gpu, accelerators), hidden, ffn, gated, used.nvlink_util, used.roce_util
    )
    weights = float(layer_parameters(hidden=hidden, heads=1, kv_heads=1, ffn=ffn, gated=int(gated)))
    tokens = float(local_batch * sequence_tokens)
    work = 2.0 * tokens * (weights + sequence_tokens * hidden) / (peak_tflop_per_s * 1e12 * used.flops_util)
    others = layers - 1
    if not prefetch:
        exposed = others * max(0.0, gather - 2.0 * work) + gather
        return layers * (2.0 * gather + 3.0 * work) + exposed
    forward = gather + others * max(work, gather) + work
    return forward + others * max(2.0 * work, 2.0 * gather) + 2.0 * work + gather


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
            micro_batches=pp,
            layout=TrainingLayout(
                tp=tp,
                pp=pp,
                interleave=interleave,
                cp=cp,
                micro_batch=micro_batch,
                recompute=RECOMPUTE[recompute],
                sharding=0,  # of weights; activations are the same
                sequence_parallel=int(sequence_parallel),
                fused_attention=0,
            ),
        )
    )
