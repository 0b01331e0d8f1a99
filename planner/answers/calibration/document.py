"""The document of a file of measurements: for each accelerator ours before, the factor, ours after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from planner.answers.calibration.measured import error_of, looked_at, measured_rate, range_of, stated
from planner.answers.calibration.other_layouts import other_layouts
from planner.answers.calibration.reading import POWERS, Measurement, Problems, Served
from planner.answers.calibration.results import read_files, settled
from planner.answers.calibration.serving import served_chip
from planner.answers.calibration.steps import LEAST_EFFICIENCY, NoStep, Step, known, step_of
from planner.answers.calibration.traced import TracedFit, fit_trace, traced_record
from planner.inputs.catalogue import Catalogue, make_fact
from planner.inputs.hardware_question import Stated
from planner.inputs.loading import load_catalogue
from planner.inputs.models import with_model_cards
from planner.performance.calibrate import (
    accelerator_share_kw,
    calibrated_efficiency_fraction,
    factors_without_each,
    joint_factor,
    median_error,
    power_ratio,
    worst_error,
)
from planner.trace.errors import InputError
from planner.trace.numbers import number_text, written_text
from planner.trace.quantities import Fact, Source, Traced, calculated, chosen, derive, end_of, pick
from planner.trace.records import Record, stepped

EXPECTED_ERROR = "performance.training.calibrated_error"
SIZES = (0.5, 1.0, 2.0, 4.0)  # of the first measured size, where no others are requested
ROUNDS = 4  # a new efficiency may prefer another layout; two rounds settle nearly all


@dataclass(frozen=True)
class _Point:
    """One measured step: its model at the catalogue's efficiency and at the one that explains it."""

    measured: Measurement
    shipped: Step
    before: Fact
    step: Step
    efficiency: Traced

    @property
    def rate(self) -> Traced:
        """What was measured, in tokens a second of the whole system."""
        return measured_rate(self.measured)

    @property
    def factor(self) -> Traced:
        """By how much the efficiency that explains it is larger."""
        return calculated(
            "factor", "efficiency / before", "1", efficiency=self.efficiency, before=self.before
        )


def calibration_document(
    paths: Path | Sequence[Path],
    sizes: Sequence[int] = (),
    catalogue: Catalogue | None = None,
    stated: Stated | None = None,
    layouts: str = "",
) -> Record:
    """What the measurements of files change, what follows at other sizes, and how wrong it may be.

    Args:
        paths: tables of measurements, result files of serving benchmarks, and traces of a run's ranks.
        sizes: accelerators to look at; none: half, once, twice and four times the first measured size.
        catalogue: where our values come from; the shipped one where it is None.
        stated: what result files and traces do not say.
        layouts: those to look at, as 'dp=4,tp=8; dp=8,tp=4'.

    Raises:
        InputError: every problem of the files.
    """
    stated = stated or Stated()
    cards = [stated.model] if stated.model else []
    catalogue = with_model_cards(catalogue or load_catalogue(), cards, Path())
    files = [paths] if isinstance(paths, Path) else list(paths)
    found = read_files(files, catalogue, stated)
    problems = found.problems
    if layouts and not found.trained:
        raise InputError("--at: nothing in the files measured training")
    trained, answering = _by_accelerator(found.trained), _by_chip(found.served)
    hardware = [
        {
            **_accelerator(name, trained.get(name, []), sizes, layouts, catalogue, problems),
            **dict(
                zip(
                    ("constants", "serving"),
                    served_chip(name, answering.get(name, []), catalogue, problems),
                    strict=True,
                )
            ),
        }
        for name in dict.fromkeys([*trained, *answering])
    ]
    read_as = settled(found)
    facts = {one["key"]: one["stated"] for each in hardware for one in (each["speed"], each["power"]) if one}
    return stepped(
        {
            "everfleet_calibration": 1,
            "file": ", ".join(one["file"] for one in read_as),
            "files": [
                one | {"points": chosen("points", one["points"], "read in the file")} for one in read_as
            ],
            "hardware": hardware,
            "facts": facts,
        }
    )


def _by_accelerator(measurements: Iterable[Measurement]) -> dict[str, list[Measurement]]:
    groups: dict[str, list[Measurement]] = {}
    for one in measurements:
        groups.setdefault(one.workload.sku.accelerator, []).append(one)
    return groups


def _by_chip(served: Iterable[Served]) -> dict[str, list[Served]]:
    groups: dict[str, list[Served]] = {}
    for one in served:
        groups.setdefault(one.sku.accelerator, []).append(one)
    return groups


def _accelerator(
    name: str,
    group: Sequence[Measurement],
    sizes: Sequence[int],
    layouts: str,
    catalogue: Catalogue,
    problems: Problems,
) -> Record:
    points: list[_Point] = []
    fit, fitted = None, catalogue
    for one in sorted(group, key=lambda one: one.traced is None):  # what a trace says is known to the rest
        if one.quantity in POWERS:
            continue
        try:
            if one.traced:
                fit = fit_trace(one, catalogue)
                fitted = fit.catalogue
            points.append(_point(one, catalogue, fitted, fit if one.traced else None))
        except ValueError as error:
            problems.append((one.file, one.line, str(error)))
    speed = _speed(name, points, sizes, layouts, catalogue, fitted) if points else None
    calibrated = catalogue if speed is None else _with(fitted, name, float(speed["after"].value))
    power = _power(name, [one for one in group if one.quantity in POWERS], calibrated, problems)
    traced = None
    if fit and speed:
        traced = traced_record(points[0].measured, fit, points[0].shipped, speed["after"])
    return {"accelerator": name, "speed": speed, "traced": traced, "power": power}


def _point(measured: Measurement, catalogue: Catalogue, fitted: Catalogue, fit: TracedFit | None) -> _Point:
    """The efficiency at which the step, on the layout that is best at it, takes as long as measured."""
    name = measured.workload.sku.accelerator
    shipped, before = step_of(catalogue, measured.workload), _fact(catalogue, name)
    if fit is not None:
        return _Point(measured, shipped, before, fit.step, fit.efficiency)
    step = step_of(fitted, measured.workload)
    for _ in range(ROUNDS):
        efficiency = calibrated_efficiency_fraction(
            step_s=step.seconds, measured_step_s=measured.step_s, least_fraction=LEAST_EFFICIENCY
        )
        again = step_of(_with(fitted, name, efficiency), measured.workload)
        if again.says == step.says:
            break
        step = again
    return _Point(measured, shipped, before, step, step.efficiency_at(measured_rate(measured), efficiency))


def _speed(
    name: str,
    points: Sequence[_Point],
    sizes: Sequence[int],
    layouts: str,
    catalogue: Catalogue,
    fitted: Catalogue,
) -> Record:
    before = _fact(catalogue, name)
    factors = [point.factor for point in points]
    factor = derive(joint_factor, factors=_column(factors))
    after = _efficiency_after(before, factor)
    error = _expected_error(points, factors, catalogue)
    calibrated = _with(fitted, name, float(after.value))
    return {
        "key": f"accelerator.{name}.matrix_efficiency",
        "before": before,
        "factor": factor,
        "after": after,
        "stated": written_text(float(after.value)),
        "points": [_point_row(point, after, calibrated) for point in points],
        "expected_error": error,
        "sizes": _sizes(points[0], sizes, after, error["worst"], catalogue, calibrated),
        "layouts": other_layouts(points[0].step, layouts, after, error["worst"], calibrated),
    }


def _efficiency_after(before: Traced, factor: Traced) -> Traced:
    """The calibrated efficiency; matrices at their peak where it came out above."""
    found = calculated("after", "before * factor", "1", before=before, factor=factor)
    return found if found.value <= 1.0 else chosen("after", 1.0, "matrices at their peak")


def _column(rows: Sequence[Traced]) -> Traced:
    return pick(rows, np.arange(len(rows)))


def _point_row(point: _Point, after: Traced, calibrated: Catalogue) -> Record:
    measured, one = point.rate, point.measured.workload
    step = step_of(calibrated, one)
    ours, now = point.shipped.rate(point.before), step.rate(after)
    return {
        "line": stated(point.measured, "line", point.measured.line),
        "source": point.measured.source,
        "model": one.model,
        "precision": one.precision,
        "accelerators": stated(point.measured, "accelerators", one.accelerators),
        "layout": step.says,
        "measured_tokens_per_s": measured,
        "before_tokens_per_s": ours,
        "factor": point.factor,
        "after_tokens_per_s": now,
        "before_error": error_of("before_error", ours, measured),
        "after_error": error_of("after_error", now, measured),
    }


def _expected_error(points: Sequence[_Point], factors: Sequence[Traced], catalogue: Catalogue) -> Record:
    """How far off other sizes may be: from the points themselves where they are of several sizes."""
    if len({point.measured.workload.accelerators for point in points}) < 2:
        fact = catalogue.fact(EXPECTED_ERROR)
        alone = ": one trace cannot be left out" if points[0].measured.traced else ""
        return {
            "median": fact,
            "worst": end_of(fact, "high"),
            "errors": [],
            "from": f"published series ({EXPECTED_ERROR}){alone}; a second measured size would say more",
        }
    errors = []
    for number, point in enumerate(points):
        others = derive(joint_factor, factors=_column([*factors[:number], *factors[number + 1 :]]))
        predicted = point.step.rate(_efficiency_after(point.before, others))
        errors.append(error_of("error", predicted, point.rate))
    apart = _column(errors)
    return {
        "median": derive(median_error, error_fraction=apart),
        "worst": derive(worst_error, error_fraction=apart),
        "errors": [float(error.value) for error in errors],
        "from": f"each of the {len(points)} measurements predicted from the others",
    }


def _sizes(
    point: _Point,
    sizes: Sequence[int],
    after: Traced,
    worst: Traced,
    catalogue: Catalogue,
    calibrated: Catalogue,
) -> list[Record]:
    """The first measured workload at other sizes: the same batch on more or fewer accelerators."""
    one = point.measured.workload
    wanted = sizes or sorted({max(1, round(one.accelerators * share)) for share in SIZES})
    found: list[Record] = []
    for size in wanted:
        other = replace(one, accelerators=size)
        try:
            before = step_of(catalogue, other).rate(point.before)
            step = step_of(calibrated, other)
        except NoStep as error:
            found.append({"accelerators": looked_at(size), "reason": str(error)})
            continue
        now = step.rate(after)
        found.append(
            {
                "accelerators": looked_at(size),
                "layout": step.says,
                "before_tokens_per_s": before,
                "after_tokens_per_s": now,
                **range_of(now, worst),
            }
        )
    return found


def _power(
    name: str, group: Sequence[Measurement], catalogue: Catalogue, problems: Problems
) -> Record | None:
    rows: list[Record] = []
    for one in group:
        try:
            rows.append(_power_row(one, catalogue))
        except ValueError as error:
            problems.append((one.file, one.line, str(error)))
    if not rows:
        return None
    tdp_kw = known(catalogue, f"accelerator.{name}.tdp", "tdp_kw")
    factors = [row["factor"] for row in rows]
    factor = derive(joint_factor, factors=_column(factors))
    after_kw = calculated("after_kw", "before_kw * factor", "kW", before_kw=tdp_kw, factor=factor)
    return {
        "key": f"accelerator.{name}.tdp",
        "before_kw": tdp_kw,
        "factor": factor,
        "left_out_errors": _left_out([float(one.value) for one in factors]),
        "after_kw": after_kw,
        "stated": f"{written_text(1000 * float(after_kw.value))} W",
        "points": rows,
    }


def _left_out(factors: Sequence[float]) -> list[float]:
    """Error of each measured power as the others predict it; none where there is only one."""
    if len(factors) < 2:
        return []
    return [
        without / own - 1 for without, own in zip(factors_without_each(factors=factors), factors, strict=True)
    ]


def _power_row(measured: Measurement, catalogue: Catalogue) -> Record:
    one = measured.workload
    seen = stated(measured, "measured_kw", measured.value)
    kw: Traced = seen
    _refuse_above_rating(measured, catalogue)
    if measured.quantity == "node_power":
        server, chip = f"server.{one.sku.server}", f"accelerator.{one.sku.accelerator}"
        kw = derive(
            accelerator_share_kw,
            node_kw=seen,
            host_idle_kw=known(catalogue, f"{server}.host_idle_power", "host_kw"),
            host_kw=known(catalogue, f"{server}.host_power", "host_kw"),
            idle_kw=known(catalogue, f"{chip}.idle_power", "idle_kw"),
            tdp_kw=known(catalogue, f"{chip}.tdp", "tdp_kw"),
            accelerators=known(catalogue, f"{server}.accelerators", "accelerators"),
        )
    ours = step_of(catalogue, one).accelerator_kw(_fact(catalogue, one.sku.accelerator))
    return {
        "line": stated(measured, "line", measured.line),
        "source": measured.source,
        "quantity": measured.quantity,
        "measured_kw": seen,
        "accelerator_kw": kw,
        "before_kw": ours,
        "factor": derive(power_ratio, measured_kw=kw, modelled_kw=ours),
    }


def _refuse_above_rating(measured: Measurement, catalogue: Catalogue) -> None:
    """Refuse a power that the node cannot draw: that of a rack, or one in another unit.

    Raises:
        ValueError: it is above the most that the server draws, or an accelerator's part of it.
    """
    server, whole = f"server.{measured.workload.sku.server}", measured.quantity == "node_power"
    parts = 1.0 if whole else float(catalogue.fact(f"{server}.accelerators").value)
    most_kw = float(catalogue.fact(f"{server}.max_power").value) / parts
    if measured.value > most_kw:
        raise ValueError(
            f"{measured.quantity} is {number_text(1000 * measured.value)} W, and "
            f"{'a node' if whole else 'its part of a node'} of {measured.workload.sku.name} draws "
            f"{number_text(1000 * most_kw)} W at most: write that of one, with its unit"
        )


def _fact(catalogue: Catalogue, accelerator: str) -> Fact:
    return catalogue.fact(f"accelerator.{accelerator}.matrix_efficiency")


def _with(catalogue: Catalogue, accelerator: str, efficiency: float) -> Catalogue:
    """The catalogue with a calibrated efficiency."""
    key, source = f"accelerator.{accelerator}.matrix_efficiency", Source("calibration", "own measurements")
    return catalogue.with_facts([make_fact(key, efficiency, "1", source)])
