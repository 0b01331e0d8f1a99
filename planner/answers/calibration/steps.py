"""Step and power of a measured workload by the catalogue, as functions of what is calibrated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.answers.calibration.reading import Workload
from planner.inputs.catalogue import Catalogue
from planner.performance.bundles import Split, bundled, search_bundles, step_bundles
from planner.performance.layouts import NoLayout, best_layout, require_layout
from planner.performance.power import training_compute_use_fraction, training_power_kw
from planner.performance.training import StepTime, training_step_s
from planner.physics.nodes import POWER_CURVE
from planner.physics.training_step import AS_FAST, LAYOUT, OUTSIDE_STEP, WHOLE, step_arguments
from planner.trace.units import convert_factor, unit_of

EFFICIENCY = "matrix_efficiency_fraction"
DIVIDED = (
    "accelerators",
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
        return training_step_s(**step_bundles({**self.arguments, EFFICIENCY: efficiency}))

    def seconds(self, efficiency: float) -> float:
        """The step at a matrix efficiency."""
        return float(self.time(efficiency).total_s)

    def tokens_per_s(self, efficiency: float) -> float:
        """Tokens a second of the whole system."""
        return self.workload.tokens / self.seconds(efficiency)

    def accelerator_kw(self, efficiency: float) -> float:
        """Power of one accelerator in training."""
        time, one = self.time(efficiency), self.workload
        compute = training_compute_use_fraction(
            parameters=value(self.catalogue, f"model.{one.model}.parameters", "parameters"),
            recompute=self.arguments["recompute"],
            global_batch=one.batch_sequences,
            sequence_tokens=one.sequence_tokens,
            accelerators=one.accelerators,
            step_s=time.total_s,
            peak_tflop_per_s=self.arguments["attention_tflop_per_s"],
        )
        tdp_kw = value(self.catalogue, f"accelerator.{one.sku.accelerator}.tdp", "tdp_kw")
        curve = {
            name: value(self.catalogue, f"performance.power.{one.sku.power_curve}.{c}", name)
            for name, c in POWER_CURVE.items()
        }
        drawn = training_power_kw(
            tdp_kw=tdp_kw,
            computing_s=time.matrix_s + time.attention_s + time.head_s,
            moving_s=time.elementwise_s + time.optimizer_s,
            total_s=time.total_s,
            compute_use_fraction=compute,
            memory_efficiency_fraction=self.arguments["memory_efficiency_fraction"],
            exchange_power_fraction=value(self.catalogue, "performance.power.exchange", "power_fraction"),
            **curve,
        )
        return float(drawn)


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
            require_layout(**bundled({name: {**fixed, **layout}[name] for name in DIVIDED}, split=Split))
        timed = {name: one for name, one in {**fixed, **layout}.items() if name not in OUTSIDE_STEP}
        step = Step(catalogue, workload, timed, says)
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
    nodes = step_arguments(catalogue, workload.model, workload.sku.accelerator, workload.precision)
    return {
        **{name: node.value for name, node in nodes.items()},
        **{name: round(float(nodes[name].value)) for name in WHOLE},
        "accelerators": workload.accelerators,
        "global_batch": workload.batch_sequences,
        "sequence_tokens": workload.sequence_tokens,
    }


def _planned(catalogue: Catalogue, workload: Workload, fixed: dict[str, Any]) -> tuple[dict[str, int], str]:
    found = best_layout(
        **search_bundles(fixed),
        memory_gb=value(catalogue, f"accelerator.{workload.sku.accelerator}.memory", "memory_gb"),
        usable_fraction=value(catalogue, "performance.training.usable_memory", "usable_fraction"),
        as_fast_fraction=value(catalogue, AS_FAST, "as_fast_fraction"),
    )
    if isinstance(found, NoLayout):
        raise NoStep(found.reason)
    return {name: getattr(found, name) for name in LAYOUT}, found.says()
