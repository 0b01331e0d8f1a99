"""Hardware and fitted constants for the tests of planner.performance, as literals.

Hardware: vendor data sheets (dense peaks, one-way links). Constants: the fit described in
planner/performance/README.md. Two software stacks are told apart: before fused attention and overlap
(SC'21, 2205.05198, the Megatron-LM baseline of MegaScale, vTrain) and after (Megatron-Core, MegaScale,
llm-foundry, Megatron-Bridge, Llama 3).
"""

from typing import Any

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
    "network_efficiency_fraction": 0.485,
    "collective_latency_s": 20e-6,
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

FLASH_1, FLASH_1_HOPPER = 0.35, 0.166  # first fused kernels, share of the 16-bit peak
FP8_FACTOR = 0.855  # what is left of the 8-bit peak beside the 16-bit one

# vLLM on H100, dense models (ML.ENERGY v3).
VLLM: dict[str, float] = {
    "weight_factor": 1.08,
    "compute_factor": 0.49,
    "kv_factor": 1.16,
    "link_latency_s": 7.9e-6,
    "ring_factor": 5.0,
    "layer_s": 59e-6,
    "sequence_s": 74e-6,
}

SERVED: dict[str, dict[str, float]] = {
    "Llama 3.1 8B": {"parameters": 8.03e9, "layers": 32, "hidden": 4096, "kv_heads": 8, "head_dim": 128},
    "Qwen 3 8B": {"parameters": 8.19e9, "layers": 36, "hidden": 4096, "kv_heads": 8, "head_dim": 128},
    "Qwen 3 32B": {"parameters": 32.76e9, "layers": 64, "hidden": 5120, "kv_heads": 8, "head_dim": 128},
    "Llama 3.3 70B": {"parameters": 70.55e9, "layers": 80, "hidden": 8192, "kv_heads": 8, "head_dim": 128},
    "Llama 3.1 405B": {
        "parameters": 405.85e9,
        "layers": 126,
        "hidden": 16384,
        "kv_heads": 8,
        "head_dim": 128,
    },
}

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
    names = ("layers", "hidden", "heads", "kv_heads", "ffn", "gpus", "global_batch")
    layout = {"interleave": "vp", "tp": "tp", "pp": "pp", "cp": "cp", "micro_batch": "micro_batch"}
    return (
        {name: row[name] for name in names}
        | {name: row.get(key, 1) for name, key in layout.items()}
        | {"gated": int(row["gated_mlp"]), "vocabulary": row["vocab"], "sequence_tokens": row["seq"]}
    )
