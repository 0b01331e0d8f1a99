"""What a training step is given: accelerator, the software that a row ran, shape of the model.

Where no layout is given, the planner's own search chooses it. Which software a row ran: `software.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.inputs.loading import load_catalogue
from planner.inputs.software import stack_named
from planner.performance.adapters import adapter_parameters
from planner.performance.layouts import Layout, NoLayout
from planner.physics.training_step import (
    AS_FAST,
    PRECISIONS,
    hardware_arguments,
    is_mixture,
    layout_of,
    model_arguments,
    step_arguments,
)
from planner.trace.quantities import Traced, chosen
from planner.validation.aliases import catalogue_name, constant
from planner.validation.forms import NotUnderstood

Arguments = dict[str, Traced]

# Far beyond any run: a slip of the keyboard must not keep the search busy for hours.
_DEEPEST, _LARGEST = 1000, 1_000_000


def hardware(chip: str, dtype: str, software: str | None = None) -> Arguments:
    """Arguments of the step that an accelerator, a precision and the software on it set."""
    _require_precision(dtype)
    stack = None if software is None else stack_named(software)
    return hardware_arguments(load_catalogue(), chip, dtype, stack)


def _require_precision(dtype: str) -> None:
    if dtype not in PRECISIONS:
        raise NotUnderstood(f"dtype must be one of {', '.join(PRECISIONS)}, got '{dtype[:40]}'")


def stated_shape(shape: Mapping[str, float]) -> Arguments:
    """The shape that a row states."""
    return {name: chosen(name, value, "stated by the row") for name, value in shape.items()}


def model_shape(name: str) -> Arguments:
    """Shape of a model of the catalogue."""
    return model_arguments(load_catalogue(), name)


def model_step(name: str, chip: str, dtype: str, software: str | None = None) -> Arguments:
    """All arguments of the step of a model of the catalogue, a mixture of experts or not."""
    _require_precision(dtype)
    stack = None if software is None else stack_named(software)
    return step_arguments(load_catalogue(), name, chip, dtype, stack=stack)


def is_model_mixture(name: str) -> bool:
    """Whether a model of the catalogue has experts."""
    return is_mixture(load_catalogue(), name)


def names_mixture(inputs: Mapping[str, Any]) -> bool:
    """Whether a row names a model of the catalogue that has experts."""
    try:
        return is_model_mixture(catalogue_name("model", str(inputs.get("model", ""))))
    except ValueError:
        return False


def adapted(arguments: Arguments) -> Arguments:
    """The same with adapters of the usual rank on all four projections of attention, all else frozen."""
    trained = adapter_parameters(
        rank=constant("performance.adapter.rank", "rank"),
        **{part: arguments[part].value for part in ("hidden", "heads", "kv_heads")},
    )
    return {**arguments, "adapter_parameters": chosen("adapter_parameters", trained, "of the usual rank")}


def values(arguments: Arguments) -> dict[str, Any]:
    """The plain numbers of arguments, for a leaf."""
    return {name: node.value for name, node in arguments.items()}


def planned(
    chip: str, accelerators: int, global_batch: int, sequence_tokens: int, arguments: Arguments
) -> Layout:
    """The layout that the planner would choose.

    Raises:
        NotUnderstood: no layout fits.
    """
    if arguments["layers"].value > _DEEPEST or accelerators > _LARGEST:
        raise NotUnderstood(f"the layout search takes up to {_DEEPEST} layers and {_LARGEST} accelerators")
    found = layout_of(
        arguments,
        accelerators=accelerators,
        global_batch=global_batch,
        sequence_tokens=sequence_tokens,
        memory_gb=constant(f"accelerator.{chip}.memory", "memory_gb"),
        usable_fraction=constant("performance.training.usable_memory", "usable_fraction"),
        as_fast_fraction=constant(AS_FAST, "as_fast_fraction"),
    )
    if isinstance(found, NoLayout):
        raise NotUnderstood(found.reason)
    return found
