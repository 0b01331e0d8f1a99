"""One measured point of a SKU, or a saved calibration, carried to all of its sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from planner.answers.throughput.setting import Setting, worst
from planner.answers.throughput.traffic import asking
from planner.answers.throughput.training import Work, layout_of, work_of
from planner.inputs.catalogue import make_fact
from planner.inputs.fits import factor_fact, factor_key, read_calibration
from planner.inputs.scenario.problems import nearest_remedy, shown
from planner.performance.bundles import step_bundles
from planner.performance.calibrate import calibrated_efficiency_fraction
from planner.performance.calibrate_serving import measured_rate_per_s
from planner.performance.layouts import Layout
from planner.performance.training import training_step_s
from planner.physics.calibrated_serving import measured_factor
from planner.physics.measured_serving import calibrated_error
from planner.physics.requests import inputs_of
from planner.physics.training_options import LAYOUT, OUTSIDE_STEP
from planner.trace.errors import InputError
from planner.trace.quantities import Fact, Source, Traced, chosen

CALIBRATED_ERROR = "performance.training.calibrated_error"
LEAST_EFFICIENCY = 0.01  # below it a measurement is not about matrices
ROUNDS = 4  # a new efficiency may prefer another layout; two rounds settle nearly all
POINT = re.compile(
    r"\s*(?P<sku>\S+)\s*[x*]\s*(?P<nodes>\d+)\s*(?:nodes?)?\s*=\s*(?P<value>[\d.,_]+(?:[eE][+-]?\d+)?)\s*"
    r"(?P<unit>tokens/s/GPU|tokens/s|samples/s|s)\s*"
)
EXAMPLE = "h100-8 x 64 nodes = 410000 tokens/s"
SERVING_POINT = re.compile(
    r"\s*(?P<sku>\S+)\s+tp\s*(?P<tp>\d+)\s*=\s*(?P<value>[\d.,_]+(?:[eE][+-]?\d+)?)\s*(?P<unit>tokens/s|ms)\s+"
    r"at\s+batch\s+(?P<batch>[\d.,_]+)\s*"
)
SERVING_EXAMPLE = "h100-8 tp4 = 2500 tokens/s at batch 64"


def with_point(setting: Setting) -> Setting:
    """The setting whose SKU trains as fast as the question says that it was measured to.

    Raises:
        InputError: the text is not understood, or no matrix efficiency explains the measurement.
    """
    name, nodes, value, unit = _read(setting)
    sku = setting.catalogue.skus[name]
    # The measured SKU need not be among those shown.
    alone = Setting(setting.question, inputs_of(setting.catalogue, (name,)), {})
    accelerators = nodes * int(alone.inputs.server("accelerators")[0].value)
    key = f"accelerator.{sku.accelerator}.matrix_efficiency"
    source = Source("measurement", f"measured by you: {setting.question.measured.strip()}")
    calibrated, efficiency = alone, float(alone.fact(key).value)
    says = ""
    for _ in range(ROUNDS):
        work = work_of(calibrated)
        layout = layout_of(calibrated, work, 0, accelerators, work.batch)
        if isinstance(layout, str):
            raise InputError(f"--measured: {name} x {nodes} nodes: {layout}")
        if layout.says() == says:
            break
        says = layout.says()
        efficiency = _efficiency(work, accelerators, layout, _seconds(work, accelerators, value, unit))
        fact = make_fact(key, efficiency, "1", source, locator=says)
        calibrated = replace(alone, inputs=inputs_of(alone.catalogue.with_facts([fact]), (name,)))
    fact = make_fact(key, efficiency, "1", source, locator=says)
    error = worst(setting.fact(CALIBRATED_ERROR), "the worst pair of published sizes")
    return _calibrated(setting, [fact], {sku.accelerator: error})


def with_serving_point(setting: Setting) -> Setting:
    """The setting whose SKU serves the model as fast as the question says that it was measured to.

    Raises:
        InputError: the text is not understood, or the measurement is above the peak.
    """
    text = setting.question.measured
    match = SERVING_POINT.fullmatch(text)
    if match is None:
        raise InputError(
            f"--measured: {shown(text)} is not understood: write for example '{SERVING_EXAMPLE}'; "
            "tokens/s that are written, or ms between two tokens"
        )
    name, split = _sku(setting, match["sku"]), int(match["tp"])
    value, batch = (_positive(match[part], text) for part in ("value", "batch"))
    rate = value
    if match["unit"] == "ms":
        rate = float(measured_rate_per_s(batch=batch, inter_token_s=value / 1e3))
    # The measured SKU need not be among those shown.
    inputs = asking(replace(setting, question=replace(setting.question, skus=(name,)))).inputs
    try:
        factor = measured_factor(rate, inputs, split, batch)
    except ValueError as error:
        raise InputError(f"--measured: {shown(text)}: {error}") from None
    question, chip = setting.question, setting.catalogue.skus[name].accelerator
    range_of = calibrated_error(inputs, chip, question.model)
    assert range_of.high is not None, "an error has a range"
    fact = factor_fact(
        factor_key(chip, question.model, question.precision),
        split,
        batch,
        factor,
        range_of.high,
        Source("measurement", f"measured by you: {text.strip()}"),
        range_of.key,
    )
    return _calibrated(setting, [fact], {})


def with_calibration(setting: Setting, path: Path) -> Setting:
    """The setting with the measurements of a file that `everfleet calibrate --json` wrote.

    Raises:
        InputError: the file is none.
    """
    try:
        calibration = read_calibration(path)
    except InputError as error:
        raise InputError(f"--calibration: {error}") from None
    unknown = [
        fact.key
        for fact in calibration.facts
        if fact.key.startswith("accelerator.") and not setting.catalogue.has(fact.key)
    ]
    if unknown:
        raise InputError(f"--calibration: {path.name}: the catalogue has no {', '.join(unknown)}")
    errors = {
        chip: chosen("fit_error_fraction", worst_of, f"worst of {what}")
        for chip, (worst_of, what) in calibration.training_errors.items()
    }
    return _calibrated(setting, calibration.facts, errors)


def _calibrated(setting: Setting, facts: Sequence[Fact], errors: Mapping[str, Traced]) -> Setting:
    catalogue = setting.catalogue.with_facts(facts)
    names = tuple(sku.name for sku in setting.inputs.skus)
    return Setting(setting.question, inputs_of(catalogue, names), errors)


def _read(setting: Setting) -> tuple[str, int, float, str]:
    """SKU, nodes, value and unit of a measured point."""
    text = setting.question.measured
    match = POINT.fullmatch(text)
    if match is None:
        raise InputError(
            f"--measured: {shown(text)} is not understood: write for example '{EXAMPLE}'; "
            "tokens/s, tokens/s/GPU, samples/s or s (of a step)"
        )
    nodes, value = int(match["nodes"]), _positive(match["value"], text)
    if nodes < 1:
        raise InputError(f"--measured: {shown(text)}: nodes must be above zero")
    return _sku(setting, match["sku"]), nodes, value, match["unit"]


def _sku(setting: Setting, name: str) -> str:
    known = setting.catalogue.skus
    if name not in known:
        raise InputError(f"--measured: the catalogue has no SKU {shown(name)}; {nearest_remedy(name, known)}")
    return name


def _positive(text: str, point: str) -> float:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        value = 0.0
    if not 0 < value < np.inf:
        raise InputError(f"--measured: {shown(point)}: {shown(text)} must be a number above zero")
    return value


def _seconds(work: Work, accelerators: int, value: float, unit: str) -> float:
    """The measured step."""
    tokens = work.batch * float(work.sequence.value)
    of_unit = {"s": value, "samples/s": work.batch / value, "tokens/s": tokens / value}
    return of_unit.get(unit, tokens / (value * accelerators))


def _efficiency(work: Work, accelerators: int, layout: Layout, measured_s: float) -> float:
    """Matrix efficiency at which the step on this layout takes as long as measured."""
    arguments = work.arguments[0]
    assert not isinstance(arguments, str), "a layout was found"
    fixed: dict[str, Any] = {name: node.value for name, node in arguments.items() if name not in OUTSIDE_STEP}
    fixed |= {name: getattr(layout, name) for name in LAYOUT}
    fixed |= {
        "accelerators": accelerators,
        "global_batch": work.batch,
        "sequence_tokens": work.sequence.value,
    }

    def step_s(efficiency: float) -> float:
        bundles = step_bundles({**fixed, "matrix_efficiency_fraction": efficiency})
        return float(training_step_s(**bundles).total_s)

    try:
        return calibrated_efficiency_fraction(
            step_s=step_s, measured_step_s=measured_s, least_fraction=LEAST_EFFICIENCY
        )
    except ValueError as error:
        raise InputError(f"--measured: no efficiency of its matrices explains it: {error}") from None
