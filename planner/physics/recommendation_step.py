"""What one training step of a recommendation model is given: the chip, its links, the model."""

from __future__ import annotations

from planner.inputs.catalogue import Facts
from planner.trace.quantities import Traced, chosen

# A leaf's parameter -> the last word of a fact of the model, of the kind of work, of the chip.
SHAPE = {
    "bottom_multiplications": "bottom",
    "top_multiplications": "top",
    "elementwise_values": "elementwise",
    "dense_parameters": "dense_parameters",
    "tables": "tables",
    "lookups": "lookups",
    "embedding_dim": "embedding_dim",
}
STEP = {
    "table_bytes": "table_bytes",
    "value_bytes": "value_bytes",
    "gradient_bytes": "gradient_bytes",
    "imbalance_ratio": "imbalance",
    "fixed_s": "fixed_time",
    "partner_latency_s": "partner_latency",
    "memory_efficiency_fraction": "memory_efficiency",
    "link_efficiency_fraction": "link_efficiency",
    "network_efficiency_fraction": "network_efficiency",
}
CHIP = {
    "memory_gb_per_s": "memory_bandwidth",
    "link_gb_per_s": "link_bandwidth",
    "link_domain": "link_domain",
    "network_gb_per_s": "network_bandwidth",
}
CARDS = ("pcie", "nvlink-bridge")


def recommendation_arguments(facts: Facts, model: str, accelerator: str, link: str) -> dict[str, Traced]:
    """Everything that the step wants but for its size, the peak and what its matrices reach of it.

    Cards that meet at one host have no fabric between all: their link reaches what was measured of it.
    """
    own, chip = f"recommendation.{model}", f"accelerator.{accelerator}"
    found: dict[str, Traced] = {name: facts.fact(f"{own}.{word}") for name, word in SHAPE.items()}
    found |= {name: facts.fact(f"performance.recommendation.{word}") for name, word in STEP.items()}
    found |= {name: facts.fact(f"{chip}.{word}") for name, word in CHIP.items()}
    if link in CARDS:
        found["link_efficiency_fraction"] = facts.fact(f"{chip}.link_efficiency")
    found["backward_traffic_ratio"] = (
        facts.fact(f"{own}.backward_traffic")
        if facts.has(f"{own}.backward_traffic")
        else chosen("backward_traffic_ratio", 2.0, "an optimizer with one number a row")
    )
    found["optimizer_bytes"] = facts.fact("performance.training.optimizer_bytes_per_parameter")
    found["collective_latency_s"] = facts.fact("performance.training.collective_latency")
    return found
