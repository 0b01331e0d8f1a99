"""Hardware and fitted constants for the tests of planner.performance, as literals.

Hardware: vendor data sheets (dense peaks, one-way links). Constants: the fit described in
planner/performance/README.md. Two software stacks are told apart: before fused attention and overlap
(SC'21, 2205.05198, the Megatron-LM baseline of MegaScale, vTrain) and after (Megatron-Core, MegaScale,
llm-foundry, Megatron-Bridge, Llama 3).
"""

from typing import Any

HARDWARE: dict[str, dict[str, float]] = {
    "A100-40GB-SXM": {"bf16": 312, "memory_gb_per_s": 1555, "link_gb_per_s": 300, "network_gb_per_s": 25,
                      "link_domain": 8, "matrix_efficiency_fraction": 0.95, "memory_gb": 40},
    "A100-80GB-SXM": {"bf16": 312, "memory_gb_per_s": 2040, "link_gb_per_s": 300, "network_gb_per_s": 25,
                      "link_domain": 8, "matrix_efficiency_fraction": 0.95, "memory_gb": 80},
    "H100-80GB-SXM": {"bf16": 989, "fp8": 1979, "memory_gb_per_s": 3350, "link_gb_per_s": 450,
                      "network_gb_per_s": 50, "link_domain": 8, "matrix_efficiency_fraction": 0.702,
                      "memory_gb": 80},
    "H200-141GB-SXM": {"bf16": 989, "fp8": 1979, "memory_gb_per_s": 4800, "link_gb_per_s": 450,
                       "network_gb_per_s": 50, "link_domain": 8, "matrix_efficiency_fraction": 0.702,
                       "memory_gb": 141},
    "B200-SXM": {"bf16": 2250, "fp8": 4500, "memory_gb_per_s": 7700, "link_gb_per_s": 900,
                 "network_gb_per_s": 50, "link_domain": 8, "matrix_efficiency_fraction": 0.729,
                 "memory_gb": 180},
    "GB200-NVL72": {"bf16": 2500, "fp8": 5000, "memory_gb_per_s": 8000, "link_gb_per_s": 900,
                    "network_gb_per_s": 50, "link_domain": 72, "matrix_efficiency_fraction": 0.729,
                    "memory_gb": 186},
}  # fmt: skip

FITTED: dict[str, float] = {
    "precision_factor": 1.0, "hidden_half_width": 182.0, "tokens_half": 597.0,
    "elementwise_bytes_per_value": 97.7, "attention_efficiency_fraction": 0.27,
    "memory_efficiency_fraction": 0.85, "link_efficiency_fraction": 0.5, "network_efficiency_fraction": 0.98,
    "collective_latency_s": 20e-6, "fsdp_latency_s": 50e-6, "fsdp_exposed_fraction": 0.47, "fixed_s": 0.043,
    "scale_drag_ratio": 0.0056,
}  # fmt: skip

MODERN: dict[str, float] = {
    "stack_factor": 1.0, "tensor_exposed_fraction": 0.27, "pipeline_exposed_fraction": 0.3,
    "data_parallel_hidden_fraction": 0.98, "sequence_parallel": 1, "fused_attention": 1,
}  # fmt: skip
EARLY: dict[str, float] = {
    "stack_factor": 1.0, "tensor_exposed_fraction": 0.5, "pipeline_exposed_fraction": 1.0,
    "data_parallel_hidden_fraction": 0.0, "sequence_parallel": 0, "fused_attention": 0,
}  # fmt: skip

# vLLM on H100, dense models (ML.ENERGY v3).
VLLM: dict[str, float] = {
    "weight_factor": 1.08, "compute_factor": 0.49, "kv_factor": 1.16, "link_latency_s": 7.9e-6,
    "ring_factor": 5.0, "layer_s": 59e-6, "sequence_s": 74e-6,
}  # fmt: skip

SERVED: dict[str, dict[str, float]] = {
    "Llama 3.1 8B": {"parameters": 8.03e9, "layers": 32, "hidden": 4096, "kv_heads": 8, "head_dim": 128},
    "Qwen 3 8B": {"parameters": 8.19e9, "layers": 36, "hidden": 4096, "kv_heads": 8, "head_dim": 128},
    "Qwen 3 32B": {"parameters": 32.76e9, "layers": 64, "hidden": 5120, "kv_heads": 8, "head_dim": 128},
    "Llama 3.3 70B": {"parameters": 70.55e9, "layers": 80, "hidden": 8192, "kv_heads": 8, "head_dim": 128},
    "Llama 3.1 405B": {"parameters": 405.85e9, "layers": 126, "hidden": 16384, "kv_heads": 8,
    "head_dim": 128},
}  # fmt: skip

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
        "attention_tflop_per_s": attention,
    }


def stack_of(source: str, recompute: str) -> tuple[dict[str, float], int]:
    """Constants of the stack that a source measured, and the ZeRO stage that it used beside ZeRO-3.

    SC'21 had neither sequence parallelism nor fused attention; 2205.05198 introduced the first together
    with selective recomputation, its "full" rows are the baseline without it; vTrain ran DeepSpeed later
    (exposed share as fitted for new stacks, matrix factor 0.92) and let one tensor group span two nodes.
    """
    if "Narayanan" in source:
        return EARLY, 0
    if "Korthikanti" in source:
        return EARLY | {"sequence_parallel": float(recompute != "full")}, 0
    if "Megatron-LM rows" in source:
        return EARLY | {"sequence_parallel": 1}, 0
    if "vTrain" in source:
        return EARLY | {"tensor_exposed_fraction": 0.27, "stack_factor": 0.92}, 0
    if "MegaScale" in source:
        return MODERN | {"stack_factor": 1.04}, 1
    if "llm-foundry" in source:
        return MODERN | {"stack_factor": 0.95}, 1
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
