"""Step and power of a measured workload by the catalogue, as functions of what is calibrated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.answers.calibration.reading import Workload
from planner.inputs.catalogue import Catalogue
from planner.performance.layouts import NoLayout, best_layout, require_layout
from planner.performance.power import (
    accelerator_power_kw,
    sustained_power_kw,
    training_compute_use_fraction,
    training_memory_use_fraction,
)
from planner.performance.training import StepTime, training_step_s
from planner.physics.nodes import POWER_CURVE
from planner.physics.training_options import ACCELERATOR_FACTS, LAYOUT, SHAPE, TRAINING_CONSTANTS
from planner.trace.units import convert_factor, unit_of

EFFICIENCY = "matrix_efficiency_fraction"
DIVIDED = (
    "gpus",
    "global_batch",
    "layers",
    "heads",
    "kv_heads",
    "sequence_tokens",
    "tp",
    "pp",
    "interleave",
    "cp",
    "micro_batch",
)


class NoStep(ValueError):
    """No step can be modelled, and why."""


@dataclass(frozen=True)
class Step:
    """The step of one workload on one layout."""

    catalogue: Catalogue
    workload: Workload
    arguments: dict[str, Any]
    says: str

    def time(self, efficiency: float) -> StepTime:
        """The step at a matrix efficiency, by cause."""
        return training_step_s(**{**self.arguments, EFFICIENCY: efficiency})

    def seconds(self, efficiency: float) -> float:
        """The step at a matrix efficiency."""
        return float(self.time(efficiency).total_s)

    def tokens_per_s(self, efficiency: float) -> float:
        """Tokens a second of the whole system."""
        return self.workload.tokens / self.seconds(efficiency)

    def accelerator_kw(self, efficiency: float) -> float:
        """Power of one accelerator in training."""
        time, one = self.time(efficiency), self.workload
        memory = training_memory_use_fraction(
            elementwise_s=time.elementwise_s,
            optimizer_s=time.optimizer_s,
            total_s=time.total_s,
            memory_efficiency_fraction=self.arguments["memory_efficiency_fraction"],
        )
        compute = training_compute_use_fraction(
            parameters=value(self.catalogue, f"model.{one.model}.parameters", "parameters"),
            recompute=self.arguments["recompute"],
            global_batch=one.batch_sequences,
            sequence_tokens=one.sequence_tokens,
            gpus=one.accelerators,
            step_s=time.total_s,
            peak_tflop_per_s=self.arguments["matrix_tflop_per_s"],
        )
        tdp_kw = value(self.catalogue, f"accelerator.{one.sku.accelerator}.tdp", "tdp_kw")
        curve = {
            name: value(self.catalogue, f"performance.power.{one.sku.power_curve}.{c}", name)
            for name, c in POWER_CURVE.items()
        }
        law = accelerator_power_kw(
            tdp_kw=tdp_kw, memory_use_fraction=memory, compute_use_fraction=compute, **curve
        )
        share = value(self.catalogue, "performance.power.training", "sustained_fraction")
        return float(sustained_power_kw(power_kw=law, tdp_kw=tdp_kw, sustained_fraction=share))


def step_of(catalogue: Catalogue, workload: Workload) -> Step:
    """The step of a workload, on its stated layout or on the planner's.

    Raises:
        NoStep: no layout divides or fits, the stated one does not divide, or the model has experts.
    """
    experts = f"model.{workload.model}.experts"
    if catalogue.has(experts) and catalogue.fact(experts).value > 0:
        raise NoStep(f"{workload.model} is a mixture of experts: calibrate on a dense model")
    fixed = _arguments(catalogue, workload)
    try:
        if workload.layout is None:
            layout, says = _planned(catalogue, workload, fixed)
        else:
            layout = dict(workload.layout)
            says = f"TP{layout['tp']} PP{layout['pp']}, as stated"
            require_layout(**{name: {**fixed, **layout}[name] for name in DIVIDED})
        step = Step(catalogue, workload, {**fixed, **layout}, says)
        step.seconds(fixed[EFFICIENCY])
    except ValueError as error:
        raise NoStep(str(error)) from None
    return step


def value(catalogue: Catalogue, key: str, parameter: str) -> float:
    """A fact in the unit that the name of a parameter says."""
    fact = catalogue.fact(key)
    return float(fact.value) * convert_factor(fact.unit, unit_of(parameter))


def _arguments(catalogue: Catalogue, workload: Workload) -> dict[str, Any]:
    """Everything that the step wants, but for the layout, on the software that the planner assumes."""
    model, chip = f"model.{workload.model}", f"accelerator.{workload.sku.accelerator}"
    fp8 = workload.precision == "fp8"
    return {
        **{name: round(value(catalogue, f"{model}.{name}", name)) for name in SHAPE},
        **{name: value(catalogue, f"{chip}.{word}", name) for name, word in ACCELERATOR_FACTS.items()},
        **{
            name: value(catalogue, f"performance.training.{word}", name)
            for name, word in TRAINING_CONSTANTS.items()
        },
        "vocabulary": round(value(catalogue, f"{model}.vocab", "vocabulary")),
        "link_domain": round(value(catalogue, f"{chip}.link_domain", "link_domain")),
        "matrix_tflop_per_s": value(catalogue, f"{chip}.{workload.precision}_peak", "matrix_tflop_per_s"),
        "precision_factor": value(catalogue, "performance.training.fp8_factor", "factor") if fp8 else 1.0,
        "sequence_parallel": 1,
        "fused_attention": 1,
        "gpus": workload.accelerators,
        "global_batch": workload.batch_sequences,
        "sequence_tokens": workload.sequence_tokens,
    }


def _planned(catalogue: Catalogue, workload: Workload, fixed: dict[str, Any]) -> tuple[dict[str, int], str]:
    found = best_layout(
        **fixed,
        memory_gb=value(catalogue, f"accelerator.{workload.sku.accelerator}.memory", "memory_gb"),
        usable_fraction=value(catalogue, "performance.training.usable_memory", "usable_fraction"),
    )
    if isinstance(found, NoLayout):
        raise NoStep(found.reason)
    return {name: getattr(found, name) for name in LAYOUT}, found.says()
