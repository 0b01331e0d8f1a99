"""Recommendation models: time of a training step and of an inference batch, memory.

The dense layers are copied to every accelerator, the embedding tables are cut across them. A sample's
pooled vectors therefore travel twice (all-to-all, forward and backward) and the dense gradients once
(all-reduce). Bandwidths are one way and per accelerator.
"""

from planner.performance.recommendation.memory import recommendation_memory_gb, table_devices
from planner.performance.recommendation.parts import (
    all_to_all_s,
    dense_forward_s,
    embedding_forward_s,
)
from planner.performance.recommendation.steps import (
    RecommendationStep,
    recommendation_batch_s,
    recommendation_training_step,
    scheduled_step,
)

__all__ = [
    "RecommendationStep",
    "all_to_all_s",
    "dense_forward_s",
    "embedding_forward_s",
    "recommendation_batch_s",
    "recommendation_memory_gb",
    "recommendation_training_step",
    "scheduled_step",
    "table_devices",
]
