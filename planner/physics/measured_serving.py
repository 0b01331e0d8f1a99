"""Serving engines that somebody measured: what their points say of each row, how far off others may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.catalogue import Catalogue
from planner.inputs.fits import factor_key
from planner.inputs.model_kinds import IN_BATCHES, SPEECH, WORDS, kind_of_model
from planner.inputs.resolved import Inputs
from planner.physics.engines import is_measured
from planner.physics.hybrids import is_hybrid
from planner.physics.training_options import is_mixture
from planner.trace.numbers import count_text, percent_text
from planner.trace.quantities import Fact, Traced, chosen, pick

MEASURED = {"h100-sxm-80gb": "", "b200-sxm-180gb": "@b200"}  # accelerators with runs -> their facts
MODERATE = 20e9  # parameters; on fast chips the host decides for smaller models, and its time is not steady
CALIBRATED_ERROR = "performance.serving.calibrated_error"
RATE_ERROR = "performance.serving.rate_error"
RATE_POINTS = "performance.serving.rate_points"  # behind the error of an accelerator
OTHER_HARDWARE = "performance.serving.other_hardware_error"

Points = list[tuple[float, Fact]]  # batch and factor, by rising batch


def measured_points(
    inputs: Inputs, service: NDArray[np.intp], sku: NDArray[np.intp], tp: Traced
) -> dict[str, Traced]:
    """What was measured of each row's model on its SKU: batches and factors; factor 1 where nothing was."""
    services, splits = inputs.scenario.services, np.broadcast_to(tp.value, service.shape)
    found = [
        factors_of(
            inputs.catalogue, inputs.skus[k].accelerator, services[i].model, services[i].precision, int(split)
        )
        for i, k, split in zip(service, sku, splits, strict=True)
    ]
    most = max((len(points) for points in found), default=0) or 1
    batches = [_filled([batch for batch, _ in points] or [1.0], most) for points in found]
    keys = list(dict.fromkeys(fact.key for points in found for _, fact in points))
    items = [chosen("factor", 1.0, "nobody measured this model here"), *(inputs.fact(key) for key in keys)]
    index = [_filled([1 + keys.index(fact.key) for _, fact in points] or [0], most) for points in found]
    return {
        "measured_batches": chosen("batches", np.array(batches), "requests that ran when it was measured"),
        "measured_factors": pick(items, np.array(index, dtype=np.intp)),
    }


def factors_of(catalogue: Catalogue, accelerator: str, model: str, precision: str, tp: int) -> Points:
    """Measured points of a model on an accelerator.

    A split that was measured has its own points, any other those of the nearest split.
    """
    beginning = factor_key(accelerator, model, precision)
    by_split: dict[int, Points] = {}
    for key in catalogue.beginning(beginning):
        split, batch = key.removeprefix(beginning).split(":")
        by_split.setdefault(int(split), []).append((float(batch), catalogue.facts[key]))
    if not by_split:
        return []
    nearest = min(by_split, key=lambda split: (abs(np.log(split / tp)), split))
    return sorted(by_split[nearest], key=lambda point: point[0])


def measured_split(fact: Fact) -> int:
    """Accelerators of the replica behind a measured factor."""
    return int(fact.key.split(":")[-2])


def _filled(values: list[Any], length: int) -> list[Any]:
    """Rows with fewer points repeat their last one."""
    return values + values[-1:] * (length - len(values))


def calibrated_error(inputs: Inputs, accelerator: str, model: str) -> Fact:
    """How far off other batches are where one was measured: by kind of model and hardware."""
    if is_mixture(inputs, model):
        return inputs.fact(f"{CALIBRATED_ERROR}@experts")
    own = MEASURED.get(accelerator, "@other-hardware")
    small = own and inputs.fact(f"model.{model}.parameters").value < MODERATE
    return inputs.fact(f"{CALIBRATED_ERROR}{'@b200-small' if small else own}")


@dataclass(frozen=True, slots=True)
class RateError:
    """How far off serving rates of a model on an accelerator are: the fact, what it is of, and its points.

    `points` is None where nobody counted them. An accelerator whose kernels nobody measured rests on a prior.
    """

    fact: Fact
    what: str
    points: int | None
    own: bool
    measured_kernels: bool


def rate_error(inputs: Inputs, accelerator: str, model: str) -> RateError:
    """The error of serving rates: of the accelerator, else of its kind of model, else of other hardware."""
    if (of := kind_of_model(inputs.catalogue, model)) in (*IN_BATCHES, SPEECH):
        fact = inputs.fact(f"performance.{of}.rate_error")
        return RateError(fact, f"what was published of {WORDS[of]}", None, False, True)
    known = is_measured(inputs, accelerator)
    if is_hybrid(inputs, model):
        return RateError(
            inputs.fact(OTHER_HARDWARE), "hybrids, none of which was compared", None, False, known
        )
    kind = "-experts" if is_mixture(inputs, model) else ""
    key = f"{RATE_ERROR}@{accelerator}{kind}"
    if not inputs.catalogue.has(key):
        what = "other chips, engines and kinds of models"
        return RateError(inputs.fact(OTHER_HARDWARE), what, None, False, known)
    counted, fact = f"{RATE_POINTS}@{accelerator}{kind}", inputs.fact(key)
    points = int(inputs.fact(counted).value) if inputs.catalogue.has(counted) else None
    return RateError(fact, "models on it, each left out", points, fact.kind == "measured", known)


def rate_error_text(title: str, error: RateError) -> str:
    """One sentence on how far off rates on an accelerator may be, and what that rests on."""
    fact = error.fact
    worst = (
        f", at worst {percent_text(fact.high, 0)}" if fact.high is not None and fact.high > fact.value else ""
    )
    rests = "of other chips, as none of its own is published"
    if error.points is not None:
        rests = f"from {count_text(error.points)} {'own' if error.own else 'published'} points"
    elif fact.key != OTHER_HARDWARE:
        rests = f"from published runs ({fact.key})"
    said = f"{title}: ±{percent_text(fact.value, 0)}{worst}, {rests}"
    if error.measured_kernels:
        return f"{said}."
    return (
        f"{said}; nobody measured its kernels, so that its rate is that of a typical chip of its "
        "specification: measure it (`everfleet calibrate`) before anything rests on it."
    )


def other_split_error(inputs: Inputs) -> Fact:
    """How far off other splits of a model are where one was measured."""
    return inputs.fact(f"{CALIBRATED_ERROR}@other-split")
