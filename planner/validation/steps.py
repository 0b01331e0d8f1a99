"""What a training step is given: accelerator, the software that the planner assumes, shape of the model.

Where no layout is given, the planner's own search chooses it. Software that a row ran instead: `software.py`.
"""

from __future__ import annotations

from typing import Any

from planner.performance.layouts import Layout, NoLayout, best_layout
from planner.physics.training_options import ACCELERATOR_FACTS, SHAPE, TRAINING_CONSTANTS
from planner.validation.aliases import catalogue_name, constant
from planner.validation.forms import NotUnderstood

RECOMPUTE = {"none": 0, "selective": 1, "full": 2}
# Far beyond any run: a slip of the keyboard must not keep the search busy for hours.
_DEEPEST, _LARGEST = 1000, 1_000_000
SHARDING = {"none": 0, "none_or_optimizer": 1, "zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3}


def hardware(chip: str, dtype: str) -> dict[str, float]:
    """Arguments of the step that an accelerator and a precision set."""
    facts = {name: constant(f"accelerator.{chip}.{word}", name) for name, word in ACCELERATOR_FACTS.items()}
    facts["matrix_tflop_per_s"] = constant(f"accelerator.{chip}.{dtype}_peak", "matrix_tflop_per_s")
    facts["precision_factor"] = (
        constant("performance.training.fp8_factor", "factor") if dtype == "fp8" else 1.0
    )
    return facts


def modern_stack() -> dict[str, float]:
    """Constants of the software that the planner assumes."""
    facts = {
        name: constant(f"performance.training.{word}", name) for name, word in TRAINING_CONSTANTS.items()
    }
    return {**facts, "sequence_parallel": 1, "fused_attention": 1}


def model_shape(name: str) -> dict[str, int]:
    """Shape of a model of the catalogue."""
    shape = {part: round(constant(f"model.{name}.{part}", part)) for part in SHAPE}
    return {**shape, "vocabulary": round(constant(f"model.{name}.vocab", "vocabulary"))}


def planned_rate(
    gpu: str, gpus: int, global_batch: int, sequence_tokens: int, dtype: str, shape: dict[str, int]
) -> float:
    """Tokens a second and accelerator on the layout that the planner would choose.

    Raises:
        NotUnderstood: no layout fits.
    """
    return float(planned(gpu, gpus, global_batch, sequence_tokens, dtype, shape).tokens_per_s_per_gpu)


def planned(
    gpu: str, gpus: int, global_batch: int, sequence_tokens: int, dtype: str, shape: dict[str, int]
) -> Layout:
    """The layout that the planner would choose."""
    if shape["layers"] > _DEEPEST or gpus > _LARGEST:
        raise NotUnderstood(f"the layout search takes up to {_DEEPEST} layers and {_LARGEST} accelerators")
    chip = catalogue_name("accelerator", gpu)
    step: dict[str, Any] = {**hardware(chip, dtype), **modern_stack()}
    step["link_domain"] = round(step["link_domain"])
    found = best_layout(
        gpus=gpus,
        global_batch=global_batch,
        sequence_tokens=sequence_tokens,
        **shape,
        **step,
        memory_gb=constant(f"accelerator.{chip}.memory", "memory_gb"),
        usable_fraction=constant("performance.training.usable_memory", "usable_fraction"),
    )
    if isinstance(found, NoLayout):
        raise NotUnderstood(found.reason)
    return found
