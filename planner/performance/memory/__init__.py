"""Memory of one accelerator: weights, optimizer and activations in training, weights and cache in serving.

Layout codes used throughout this room:
recompute 0 nothing, 1 attention only ("selective"), 2 whole layers ("full"), 1 + x a share x of the layers;
sharding 0 nothing, 1 optimizer state, 2 and gradients, 3 and weights (the ZeRO stages).
"""

from planner.performance.memory.activations import activation_gb, kept_fraction, logits_gb
from planner.performance.memory.ranks import (
    data_parallel_ranks,
    expert_copies,
    layer_parameters,
    rank_expert_parameters,
    rank_parameters,
    redone_fraction,
    stage_layers,
)
from planner.performance.memory.serving import (
    kv_cache_gb_per_token,
    largest_batch,
    replica_weights_gb,
    serving_weights_gb,
)
from planner.performance.memory.training import (
    TrainingMemory,
    memory_shortage,
    training_memory_gb,
    training_memory_parts,
    weights_optimizer_gb,
)

__all__ = [
    "TrainingMemory",
    "activation_gb",
    "data_parallel_ranks",
    "expert_copies",
    "kept_fraction",
    "kv_cache_gb_per_token",
    "largest_batch",
    "layer_parameters",
    "logits_gb",
    "memory_shortage",
    "rank_expert_parameters",
    "rank_parameters",
    "redone_fraction",
    "replica_weights_gb",
    "serving_weights_gb",
    "stage_layers",
    "training_memory_gb",
    "training_memory_parts",
    "weights_optimizer_gb",
]
