"""How far off the rates are that a plan rests on, by SKU: from how many points, or from none of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.answers.throughput.equations import joint_error_fraction
from planner.answers.throughput.setting import FITTED as TRAINED
from planner.answers.throughput.setting import OUT_OF_SAMPLE, spread_fraction
from planner.inputs.resolved import Inputs
from planner.physics.chance import TRAINING_ERROR, error_key
from planner.physics.measured_serving import factors_of, rate_error, rate_error_text
from planner.program.plan import Plan
from planner.program.solution import Solution
from planner.trace.numbers import percent_text


def rate_sentences(plan: Plan, solution: Solution) -> list[str]:
    """A sentence for each SKU that trains or serves, and one for each that is had on a prior alone."""
    inputs, problem = plan.inputs, plan.problem
    trains = sorted(
        (
            int(problem.node_groups.sku[problem.run_options.node_group[r]]),
            error_key(inputs, inputs.scenario.training[int(problem.run_options.job[r])]),
        )
        for r in np.flatnonzero(solution.run)
    )
    pausable = problem.pausable_options
    trains += sorted(
        (
            int(problem.node_groups.sku[pausable.node_group[e]]),
            error_key(inputs, inputs.scenario.training[int(pausable.job[e])]),
        )
        for e in np.flatnonzero(solution.done_node_h.sum(axis=1))
    )
    serves: dict[int, set[int]] = {}
    for v in np.flatnonzero(np.any(solution.replicas > 0, axis=1)):
        sku = int(problem.node_groups.sku[problem.serve_options.node_group[v]])
        serves.setdefault(sku, set()).add(int(problem.serve_options.service[v]))
    bought = {int(problem.node_groups.sku[p]) for p in np.flatnonzero(np.any(solution.orders > 0, axis=1))}
    said = [_training(inputs, sku, key) for sku, key in trains]
    for sku, services in sorted(serves.items()):
        said += _of_services(inputs, sku, sorted(services))
        name, models = inputs.skus[sku].name, [inputs.scenario.services[i].model for i in services]
        if sku in bought and any(_on_prior(inputs, sku, model) for model in models):
            said.append(f"{name} is bought on that prior: a measurement of it may change what is best.")
    return list(dict.fromkeys(said))


def _on_prior(inputs: Inputs, sku: int, model: str) -> bool:
    """Whether rates of a model on a SKU are those of a typical chip: images and scores have runs."""
    return not rate_error(inputs, inputs.skus[sku].accelerator, model).measured_kernels


def _of_services(inputs: Inputs, sku: int, services: list[int]) -> Iterator[str]:
    """Errors of serving rates on a SKU; where they differ by service, each says whose it is."""
    title, whose = f"Rates of serving on {inputs.skus[sku].name}", dict[str, list[str]]()
    for i in services:
        whose.setdefault(_serving(inputs, sku, i, title), []).append(inputs.scenario.services[i].name)
    if len(whose) == 1:
        yield from whose
        return
    for said, names in whose.items():
        yield said.replace(title, f"{title} ({', '.join(names)})", 1)


def _training(inputs: Inputs, sku: int, key: str) -> str:
    """Error of training rates on a SKU, of runs of one kind of model."""
    one = inputs.skus[sku]
    if key != TRAINING_ERROR:
        of_kind = inputs.fact(key)
        most = f", at worst {percent_text(of_kind.high, 0)}" if of_kind.high is not None else ""
        spread = f"±{percent_text(of_kind.value, 0)}{most}"
        return f"Rates of training by samples on {one.name}: {spread} (fact {key})."
    title = f"Rates of training on {one.name}"
    calibration = inputs.scenario.calibration
    if calibration is not None and one.accelerator in calibration.training_errors:
        worst, what = calibration.training_errors[one.accelerator]
        return f"{title}: at worst ±{percent_text(worst, 0)}, calibrated: {what}."
    own, fit = inputs.fact(f"accelerator.{one.accelerator}.matrix_efficiency"), inputs.fact(OUT_OF_SAMPLE)
    if own.source.name == TRAINED or own.low is None or own.high is None:
        most = f", at worst {percent_text(fit.high, 0)}" if fit.high is not None else ""
        return (
            f"{title}: ±{percent_text(fit.value, 0)}{most}, from published runs, each publication left out."
        )
    error = float(
        joint_error_fraction(
            fit_error_fraction=fit.high or fit.value,
            hardware_error_fraction=spread_fraction(own),
            model_error_fraction=0.0,
        )
    )
    ends = f"{percent_text(-error / (1.0 + error), 0, sign=True)} .. {percent_text(error, 0, sign=True)}"
    return f"{title}: {ends}, as no training run fixes its efficiency ({own.source.title})."


def _serving(inputs: Inputs, sku: int, i: int, title: str) -> str:
    """Error of serving rates on a SKU: of a service whose model was measured there, or of others."""
    one, service = inputs.skus[sku], inputs.scenario.services[i]
    points = factors_of(inputs.catalogue, one.accelerator, service.model, service.precision, 1)
    if not points:
        return rate_error_text(title, rate_error(inputs, one.accelerator, service.model))
    worst = max(float((fact.high or fact.value) / fact.value - 1.0) for _, fact in points)
    count = f"{len(points)} own point{'s' * (len(points) != 1)}"
    return f"{title}, {service.model}: at worst ±{percent_text(worst, 0)} at other batches, from {count}."
