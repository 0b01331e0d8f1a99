"""Hardware and fitted constants for the tests of planner.performance, as literals.

Hardware: vendor data sheets (dense peaks, one-way links). Constants: the fit described in
planner/performance/README.md. Two software stacks are told apart: before fused attention and overlap
(SC'21, 2205.05198, the Megatron-LM baseline of MegaScale, vTrain) and after (Megatron-Core, MegaScale,
llm-foundry, Megatron-Bridge, Llama 3).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from planner.performance.engine import Chip, Engine, ReplicaLayout, Transformer, group_size_value

HARDWARE: dict[str, dict[str, float]] = {
    "A100-40GB-SXM": {
        "bf16": 312,
        "memory_gb_per_s": 1555,
        "link_gb_per_s": 300,
        "network_gb_per_s": 25,
        "link_domain": 8,
        "matrix_efficiency_fraction": 0.869,
        "memory_gb": 40,
    },
    "A100-80GB-SXM": {
        "bf16": 312,
        "memory_gb_per_s": 2040,
        "link_gb_per_s": 300,
        "network_gb_per_s": 25,
        "link_domain": 8,
        "matrix_efficiency_fraction": 0.869,
        "memory_gb": 80,
    },
    "H100-80GB-SXM": {
        "bf16": 989,
        "fp8": 1979,
        "memory_gb_per_s": 3350,
        "link_gb_per_s": 450,
        "network_gb_per_s": 50,
        "link_domain": 8,
        "matrix_efficiency_fraction": 0.709,
        "memory_gb": 80,
    },
    "H200-141GB-SXM": {
        "bf16": 989,
        "fp8": 1979,
        "memory_gb_per_s": 4800,
        "link_gb_per_s": 450,
        "network_gb_per_s": 50,
        "link_domain": 8,
        "matrix_efficiency_fraction": 0.709,
        "memory_gb": 141,
    },
    "B200-SXM": {
        "bf16": 2250,
        "fp8": 4500,
        "memory_gb_per_s": 7700,
        "link_gb_per_s": 900,
        "network_gb_per_s": 50,
        "link_domain": 8,
        "matrix_efficiency_fraction": 0.63,
        "memory_gb": 180,
    },
    "GB200-NVL72": {
        "bf16": 2500,
        "fp8": 5000,
        "memory_gb_per_s": 8000,
        "link_gb_per_s": 900,
        "network_gb_per_s": 50,
        "link_domain": 72,
        "matrix_efficiency_fraction": 0.63,
        "memory_gb": 186,
    },
}

FITTED: dict[str, float] = {
    "hidden_half_width": 371.0,
    "tokens_half": 275.0,
    "elementwise_bytes_per_value": 65.0,
    "attention_efficiency_fraction": 0.49,
    "memory_efficiency_fraction": 0.85,
    "link_efficiency_fraction": 0.845,
    "network_efficiency_fraction": 0.51,
    "collective_latency_s": 20e-6,
    "near_hop_s": 6.5e-6,
    "far_hop_s": 18e-6,
    "fsdp_latency_s": 50e-6,
    "fsdp_exposed_fraction": 0.21,
    "fixed_s": 0.076,
    "scale_drag_ratio": 0.007,
}

MODERN: dict[str, float] = {
    "stack_factor": 1.0,
    "tensor_exposed_fraction": 0.473,
    "pipeline_exposed_fraction": 0.3,
    "data_parallel_hidden_fraction": 0.828,
    "sequence_parallel": 1,
    "fused_attention": 1,
}
EARLY: dict[str, float] = {
    "stack_factor": 1.0,
    "tensor_exposed_fraction": 1.0,
    "pipeline_exposed_fraction": 1.0,
    "data_parallel_hidden_fraction": 0.0,
    "sequence_parallel": 0,
    "fused_attention": 0,
}

FLASH_1, FLASH_1_HOPPER = 0.3, 0.166  # first fused kernels, share of the 16-bit peak
FP8_FACTOR = 0.855  # what is left of the 8-bit peak beside the 16-bit one

# vLLM of 2025 (ML.ENERGY v3), on H100 and on the nodes with B200.
VLLM = Engine(
    step_s=1150e-6,
    layer_s=0.5e-6,
    expert_layer_s=0.5e-6,
    sequence_s=32.5e-6,
    value_bytes=129.0,
    cache_factor=1.61,
    link_latency_factor=1.17,
    expert_link_factor=2.5,
    imbalance_factor=1.0,
)
VLLM_B200 = replace(
    VLLM, step_s=2530e-6, sequence_s=56e-6, value_bytes=149.0, cache_factor=0.82, link_latency_factor=0.5
)

SERVED: dict[str, dict[str, float]] = {
    name: {
        "parameters": parameters,
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": 8,
        "head_dim": 128,
        "vocab": vocab,
    }
    for name, parameters, layers, hidden, heads, vocab in (
        ("Llama 3.1 8B", 8.03e9, 32, 4096, 32, 128_256),
        ("Qwen 3 8B", 8.19e9, 36, 4096, 32, 151_936),
        ("Qwen 3 32B", 32.76e9, 64, 5120, 64, 151_936),
        ("Llama 3.3 70B", 70.55e9, 80, 8192, 64, 128_256),
        ("Llama 3.1 405B", 405.85e9, 126, 16384, 128, 128_256),
    )
}

# Measured kernels (data/facts/kernels.csv): of 16 bits, then of 8; times of a small exchange and shares of
# the link in groups of 2, 4 and 8.
KERNELS: dict[str, dict[str, Any]] = {
    "H100-80GB-SXM": {
        "bf16": (0.834, 1.0, 1.05e7, 0.84, 7.16e-6, 0.585, 137.0, 0.0, 0.925),
        "fp8": (0.681, 36.0, 1.11e7, 0.799, 12.8e-6, 0.381, 59.8, 1.7e6, 0.96),
        "attention": (0.667, 1290.0, 0.794),
        "latency": (7.96e-6, 11.1e-6, 18.9e-6),
        "ring": (0.547, 0.685, 0.818),
    },
    "B200-SXM": {
        "bf16": (0.747, 22.7, 1.35e7, 0.782, 6.69e-6, 0.371, 51.9, 0.0, 0.774),
        "fp8": (0.613, 73.0, 2.29e7, 0.674, 15.0e-6, 0.228, 45.2, 1.4e6, 0.753),
        "attention": (0.619, 1860.0, 0.713),
        "latency": (11.6e-6, 17.3e-6, 27.1e-6),
        "ring": (0.55, 0.619, 0.646),
    },
}


def served_transformer(name: str, weight_bytes: float = 2.0, **change: Any) -> Transformer:
    """A dense model as an engine holds it, its cache in 16 bits."""
    facts = SERVED[name]
    table, width = facts["vocab"] * facts["hidden"], facts["heads"] * facts["head_dim"]
    dense = Transformer(
        parameters=facts["parameters"],
        routed_parameters=0.0,
        embedding_parameters=table,
        head_parameters=table,
        experts=1.0,
        experts_per_token=1.0,
        layers=facts["layers"],
        hidden=facts["hidden"],
        attention_width=width,
        cache_width=width,
        kv_heads=facts["kv_heads"],
        head_dim=facts["head_dim"],
        weight_bytes=weight_bytes,
        kv_bytes=2.0,
    )
    return replace(dense, **change)


def served_chip(name: str, precision: str = "bf16", **change: Any) -> Chip:
    """An accelerator with its measured kernels."""
    hardware, kernels = HARDWARE[name], KERNELS[name]
    names = ("matrix_fraction", "matrix_half_tokens", "matrix_half_weights", "weight_read_fraction")
    names += ("matrix_s", "grouped_fraction", "grouped_half_tokens", "grouped_half_weights")
    names += ("grouped_read_fraction",)
    attention = ("attention_fraction", "attention_half_tokens", "cache_read_fraction")
    chip = Chip(
        peak_tflop_per_s=hardware[precision],
        half_peak_tflop_per_s=hardware["bf16"],
        memory_gb_per_s=hardware["memory_gb_per_s"],
        half_matrix_fraction=kernels["bf16"][0],
        **dict(zip(names, kernels[precision], strict=True)),
        **dict(zip(attention, kernels["attention"], strict=True)),
    )
    return replace(chip, **change)


def served_layout(name: str, tp: Any, dp: Any = 1.0, link_gb_per_s: float | None = None) -> ReplicaLayout:
    """Links of a replica of an accelerator."""
    link = HARDWARE[name]["link_gb_per_s"] if link_gb_per_s is None else link_gb_per_s

    def at(kind: str, accelerators: Any) -> Any:
        two, four, eight = KERNELS[name][kind]
        return group_size_value(at_two=two, at_four=four, at_eight=eight, accelerators=accelerators)

    ranks = np.multiply(tp, dp)
    return ReplicaLayout(
        tp=tp,
        dp=dp,
        ring_latency_s=at("latency", tp),
        ring_gb_per_s=link * at("ring", tp),
        expert_latency_s=at("latency", ranks),
        expert_gb_per_s=link * at("ring", ranks),
    )


H100_POWER = {
    "idle_share_factor": 0.301,
    "memory_factor": 0.318,
    "compute_factor": 0.0,
    "compute_root_factor": 1.176,
}
B200_POWER = {
    "idle_share_factor": 0.182,
    "memory_factor": 1.006,
    "compute_factor": 3.0,
    "compute_root_factor": 0.296,
}


def hardware_arguments(chip: str, precision: str = "bf16") -> dict[str, float]:
    """The hardware part of `training_step_s`."""
    facts = dict(HARDWARE[chip])
    attention = facts.pop("bf16")
    fp8 = facts.pop("fp8", attention)
    facts.pop("memory_gb")
    return facts | {
        "matrix_tflop_per_s": fp8 if precision == "fp8" else attention,
        "precision_factor": FP8_FACTOR if precision == "fp8" else 1.0,
        "attention_tflop_per_s": attention,
    }


def stack_of(source: str, recompute: str, gpu: str) -> tuple[dict[str, float], int]:
    """Constants of the stack that a source measured, and the ZeRO stage that it used beside ZeRO-3.

    SC'21 had neither sequence parallelism nor fused attention; 2205.05198 introduced the first together
    with selective recomputation, its "full" rows are the baseline without it; vTrain ran DeepSpeed, which
    overlaps as little, and let one tensor group span two nodes; llm-foundry had the first fused attention.
    """
    if "Narayanan" in source:
        return EARLY, 0
    if "Korthikanti" in source:
        return EARLY | {"sequence_parallel": float(recompute != "full")}, 0
    if "Megatron-LM rows" in source:
        return EARLY | {"sequence_parallel": 1}, 0
    if "vTrain" in source:
        return EARLY, 0
    if "MegaScale" in source:
        return MODERN | {"stack_factor": 1.02}, 1
    if "llm-foundry" in source:
        kernels = FLASH_1_HOPPER if "H100" in gpu else FLASH_1
        return MODERN | {"stack_factor": 0.976, "attention_efficiency_fraction": kernels}, 1
    return MODERN, 1


def shape_arguments(row: dict[str, Any]) -> dict[str, float]:
    """The model and layout part of `training_step_s` from a published row."""
    names = ("layers", "hidden", "heads", "kv_heads", "ffn", "global_batch")
    layout = {"interleave": "vp", "tp": "tp", "pp": "pp", "cp": "cp", "micro_batch": "micro_batch"}
    return (
        {name: row[name] for name in names}
        | {name: row.get(key, 1) for name, key in layout.items()}
        | {"accelerators": row.get("accelerators", row.get("gpus"))}
        | {"gated": int(row["gated_mlp"]), "vocabulary": row["vocab"], "sequence_tokens": row["seq"]}
    )
