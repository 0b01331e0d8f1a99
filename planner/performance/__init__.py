"""What a layout achieves: memory, speed and power of training and serving on numbers or columns.

Every public function is one documented equation; see README.md of this folder for symbols and errors.
"""

from planner.performance.capacity import ReplicaCapacity, replica_capacity
from planner.performance.layouts import Layout, NoLayout, best_layout, layout_candidates
from planner.performance.memory import (
    activation_gb,
    data_parallel_ranks,
    kv_cache_gb_per_token,
    largest_batch,
    layer_parameters,
    logits_gb,
    rank_parameters,
    serving_weights_gb,
    stage_layers,
    training_memory_gb,
    weights_optimizer_gb,
)
from planner.performance.power import (
    accelerator_power_kw,
    capped_power_kw,
    node_power_kw,
    serving_compute_use_fraction,
    serving_memory_use_fraction,
    stalled_power_kw,
    sustained_power_kw,
    training_compute_use_fraction,
    training_memory_use_fraction,
)
from planner.performance.queueing import (
    erlang_c_fraction,
    largest_rate_per_s,
    mmc_wait_h,
    n_plus_k_spares,
    pool_servers,
    pool_wait_h,
    replica_state,
)
from planner.performance.serving import (
    decode_step_s,
    offline_tokens_per_s,
    output_tokens_per_s,
    prefill_steps,
    prefill_tokens,
    touched_parameters,
    tpot_s,
    ttft_s,
)
from planner.performance.throughput import (
    calibration_ratio,
    mfu_fraction,
    model_flops_per_token,
    tokens_per_s_per_gpu,
    training_time_h,
)
from planner.performance.training import StepTime, training_step_s

__all__ = [
    "Layout", "NoLayout", "ReplicaCapacity", "StepTime", "accelerator_power_kw", "activation_gb",
    "best_layout",
    "calibration_ratio", "capped_power_kw", "data_parallel_ranks", "decode_step_s", "erlang_c_fraction",
    "kv_cache_gb_per_token", "largest_batch", "largest_rate_per_s", "layer_parameters", "layout_candidates",
    "logits_gb", "mfu_fraction", "mmc_wait_h", "model_flops_per_token", "n_plus_k_spares", "node_power_kw",
    "offline_tokens_per_s", "output_tokens_per_s", "pool_servers", "pool_wait_h", "prefill_steps",
    "prefill_tokens", "rank_parameters", "replica_capacity", "replica_state", "serving_compute_use_fraction",
    "serving_memory_use_fraction", "serving_weights_gb", "stage_layers", "stalled_power_kw",
    "sustained_power_kw",
    "tokens_per_s_per_gpu", "touched_parameters", "tpot_s", "training_compute_use_fraction",
    "training_memory_gb", "training_memory_use_fraction", "training_step_s", "training_time_h", "ttft_s",
    "weights_optimizer_gb",
]  # fmt: skip
