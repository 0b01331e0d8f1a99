"""Step and power of a measured workload by the catalogue, as functions of what is calibrated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from planner.answers.calibration.reading import Workload
from planner.inputs.catalogue import Catalogue
from planner.performance.bundles import (
    KeptBytes,
    Split,
    TrainedTransformer,
    TrainingLayout,
    TrainingRun,
    bundled,
    search_bundles,
    step_bundles,
)
from planner.performance.calibrate import calibrated_efficiency_fraction, kernels_s
from planner.performance.layouts import NoLayout, best_layout, require_layout
from planner.performance.memory import memory_shortage, training_memory_parts
from planner.performance.power import training_compute_use_fraction, training_power_kw
from planner.performance.training import StepTime, training_step_s
from planner.physics.nodes import POWER_CURVE
from planner.physics.training_step import AS_FAST, LAYOUT, OUTSIDE_STEP, WHOLE, step_arguments
from planner.trace.quantities import Call, Derived, Parts, Traced, chosen, convert, derive, derive_parts
from planner.trace.units import convert_factor, unit_of

LEAST_EFFICIENCY = 0.01  # below it a measurement is not about matrices
EFFICIENCY = "matrix_efficiency_fraction"
KERNELS = ("matrix_s", "attention_s", "elementwise_s", "head_s", "optimizer_s")
EXCHANGES = (
    "tensor_parallel_s",
    "expert_parallel_s",
    "context_parallel_s",
    "weight_gather_s",
    "pipeline_transfer_s",
    "data_parallel_s",
)
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
    traced: dict[str, Traced]
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

    def parts(self, efficiency: Traced) -> Parts:
        """The step by cause, traced."""
        return derive_parts(training_step_s, **step_bundles({**self.traced, EFFICIENCY: efficiency}))

    def rate(self, efficiency: Traced) -> Traced:
        """Tokens a second of the whole system, traced."""
        one = self.traced
        step_s = self.parts(efficiency).total_s
        return (one["global_batch"] * one["sequence_tokens"] / step_s).named("tokens_per_s")

    def efficiency_at(self, measured_per_s: Traced, found: float) -> Traced:
        """The efficiency that was found for a measured rate, with what it was found from."""

        @wraps(calibrated_efficiency_fraction)
        def of_step(*, measured_tokens_per_s: float, **arguments: Any) -> float:
            measured_s = self.workload.tokens / measured_tokens_per_s
            return _efficiency(arguments, lambda time: float(time.total_s), measured_s)

        others = {name: one for name, one in self.traced.items() if name != EFFICIENCY}
        return Derived(found, "1", call=Call(of_step, {"measured_tokens_per_s": measured_per_s} | others))

    def efficiency_of_kernels(self, measured_s: Traced) -> Traced:
        """The efficiency at which kernels that do not communicate take as long as measured.

        Raises:
            ValueError: there is none.
        """

        @wraps(calibrated_efficiency_fraction)
        def of_kernels(*, measured_compute_s: float, **arguments: Any) -> float:
            return _efficiency(
                arguments, lambda time: float(kernels_s(**terms(time, KERNELS))), measured_compute_s
            )

        others = {name: one for name, one in self.traced.items() if name != EFFICIENCY}
        inputs = {"measured_compute_s": measured_s} | others
        found = of_kernels(**{name: one.value for name, one in inputs.items()})
        return Derived(found, "1", call=Call(of_kernels, inputs))

    def with_constant(self, name: str, value: Traced) -> Step:
        """The same step with another constant of its software."""
        return replace(
            self, arguments=self.arguments | {name: value.value}, traced=self.traced | {name: value}
        )

    def accelerator_kw(self, efficiency: Traced) -> Traced:
        """Power of one accelerator in training."""
        time, one, own = self.parts(efficiency), self.workload, self.traced
        compute = derive(
            training_compute_use_fraction,
            parameters=known(self.catalogue, f"model.{one.model}.parameters", "parameters"),
            recompute=own["recompute"],
            global_batch=own["global_batch"],
            sequence_tokens=own["sequence_tokens"],
            accelerators=own["accelerators"],
            step_s=time.total_s,
            peak_tflop_per_s=own["attention_tflop_per_s"],
        )
        curve = {
            name: known(self.catalogue, f"performance.power.{one.sku.power_curve}.{c}", name)
            for name, c in POWER_CURVE.items()
        }
        return derive(
            training_power_kw,
            tdp_kw=known(self.catalogue, f"accelerator.{one.sku.accelerator}.tdp", "tdp_kw"),
            computing_s=(time.matrix_s + time.attention_s + time.head_s).named("computing_s"),
            moving_s=(time.elementwise_s + time.optimizer_s).named("moving_s"),
            total_s=time.total_s,
            compute_use_fraction=compute,
            memory_efficiency_fraction=own["memory_efficiency_fraction"],
            exchange_power_fraction=known(self.catalogue, "performance.power.exchange", "power_fraction"),
            **curve,
        )


def terms(time: StepTime | Parts, names: Iterable[str]) -> dict[str, Any]:
    """Some terms of a step by their names, as numbers or traced."""
    return {name: getattr(time, name) for name in names}


def _efficiency(arguments: dict[str, Any], part_s: Callable[[StepTime], float], measured_s: float) -> float:
    """The efficiency at which a part of the step takes as long as measured."""

    def modelled_s(efficiency: float) -> float:
        return part_s(training_step_s(**step_bundles({**arguments, EFFICIENCY: efficiency})))

    return calibrated_efficiency_fraction(
        step_s=modelled_s, measured_step_s=measured_s, least_fraction=LEAST_EFFICIENCY
    )


def without_memory(catalogue: Catalogue, workload: Workload) -> str:
    """Why the stated layout of a workload does not fit in memory; empty where it does."""
    values = {**_arguments(catalogue, workload), **dict(workload.layout or ())}
    kinds = {"model": TrainedTransformer, "run": TrainingRun, "layout": TrainingLayout, "kept": KeptBytes}
    held = bundled(values, **kinds)
    needed = training_memory_parts(**{name: held[name] for name in kinds})
    chip = f"accelerator.{workload.sku.accelerator}"
    return memory_shortage(
        memory=needed,
        memory_gb=value(catalogue, f"{chip}.memory", "memory_gb"),
        usable_fraction=value(catalogue, "performance.training.usable_memory", "usable_fraction"),
    )


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
        step = Step(catalogue, workload, timed, _traced(catalogue, workload, timed, says), says)
        step.seconds(fixed[EFFICIENCY])
    except ValueError as error:
        raise NoStep(str(error)) from None
    return step


def value(catalogue: Catalogue, key: str, parameter: str) -> float:
    """A fact in the unit that the name of a parameter says."""
    fact = catalogue.fact(key)
    return float(fact.value) * convert_factor(fact.unit, unit_of(parameter))


def known(catalogue: Catalogue, key: str, parameter: str) -> Traced:
    """A fact in the unit that the name of a parameter says, traced."""
    fact, unit = catalogue.fact(key), unit_of(parameter)
    return fact if fact.unit == unit else convert(fact, unit)


def _traced(catalogue: Catalogue, workload: Workload, timed: dict[str, Any], says: str) -> dict[str, Traced]:
    """The arguments of the step as they came: facts, what the file states, and the layout."""
    nodes = step_arguments(catalogue, workload.model, workload.sku.accelerator, workload.precision)
    stated = ("accelerators", "global_batch", "sequence_tokens")
    found: dict[str, Traced] = {}
    for name, held in timed.items():
        if name in stated:
            found[name] = chosen(name, held, "stated by the file of measurements")
        elif name in LAYOUT:
            found[name] = chosen(name, held, f"layout {says}")
        else:
            found[name] = nodes[name]
    return found


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
