"""Number formats: bytes of a value, the peak that computes in it, and the kernels measured for it."""

from __future__ import annotations

from dataclasses import dataclass

from planner.inputs.resolved import Inputs
from planner.trace.quantities import Fact


@dataclass(frozen=True, slots=True)
class Format:
    """Bytes of one value with its share of scales, whose peak computes in it, whose kernels were measured.

    `grouped` says whose kernels stand for the matrices of experts where they have their own, `one_scale`
    whose where a whole matrix has one scale.
    """

    value_bytes: float
    peak: str
    kernels: str
    grouped: str = ""
    one_scale: str = ""


# A block of 16 (nvfp4) or 32 values (mx formats) shares one 8-bit scale.
FORMATS = {
    "bf16": Format(2.0, "bf16", "bf16"),
    "fp16": Format(2.0, "fp16", "bf16"),
    "fp8": Format(1.0, "fp8", "fp8", one_scale="fp8-tensor"),
    "mxfp8": Format(1.0 + 1.0 / 32.0, "fp8", "fp8"),
    "int8": Format(1.0, "int8", "fp8"),
    "fp6": Format(0.75 + 1.0 / 32.0, "fp6", "fp8"),
    "nvfp4": Format(0.5 + 1.0 / 16.0, "fp4", "fp4"),
    "mxfp4": Format(0.5 + 1.0 / 32.0, "fp4", "fp4"),
    # Weights alone in 4 bits, widened to 16 as they are multiplied.
    "w4a16": Format(0.5 + 1.0 / 32.0, "bf16", "bf16", "w4a16"),
    # Weights alone in 4 bits, activations in 8.
    "w4a8": Format(0.5 + 1.0 / 32.0, "fp8", "fp8", "w4a8"),
    # The same by integer units.
    "w4int8": Format(0.5 + 1.0 / 32.0, "int8", "fp8"),
}


def value_bytes(precision: str) -> float:
    """Bytes of one weight, or of one cached value."""
    return FORMATS[precision].value_bytes


def kernels_of(precision: str) -> str:
    """Precision whose measured kernels stand for this one."""
    return FORMATS[precision].kernels


def grouped_kernels_of(precision: str, *, one_scale: bool = False) -> str:
    """Precision whose measured kernels of experts stand for those of this one.

    Args:
        precision: of the weights.
        one_scale: whether a whole matrix has one scale, and the engine has kernels for it.
    """
    own = FORMATS[precision]
    return (own.one_scale if one_scale else "") or own.grouped or own.kernels


def peak_of(inputs: Inputs, accelerator: str, precision: str) -> Fact:
    """Dense matrix rate at a precision.

    Raises:
        UnknownFact: the accelerator has no such matrix rate.
    """
    return inputs.fact(f"accelerator.{accelerator}.{FORMATS[precision].peak}_peak")
