"""A finished document checks itself: what was changed in it is named, and the file is not opened."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from explained import as_before

from planner import notebook as ef
from planner.answers.failures import fit_of_sample
from planner.answers.opening import open_answer
from planner.answers.saved.side_by_side import Compared, side_by_side
from planner.inputs.loading import data_folder
from planner.inputs.scenario import ScenarioError
from planner.report.data import to_json
from planner.report.editions import up_to_date
from planner.report.integrity import disagreements
from planner.report.shape import read_back, written

Record = dict[str, Any]
SOLVED, SAMPLES = data_folder() / "solved", data_folder() / "samples"
PUBLISHED = data_folder() / "published" / "carbon.csv"


def front() -> Record:
    shipped = json.loads(gzip.decompress((SOLVED / "next-quarter-front.json.gz").read_bytes()))
    found: Record = shipped["answer"]
    return found


def throughput() -> Record:
    """As a folder of the answer holds it."""
    found: Record = ef.throughput("llama-3.1-8b", skus="h100-8", nodes=[1, 8], target_per_s=1e5).to_dict()
    return found


def validation_of_before() -> Record:
    """Its document said nothing of its kind."""
    found = read_back(ef.validate(data_folder() / "published" / "carbon.csv").to_dict())
    return {key: held for key, held in found.items() if key != "everfleet_validation"}


@cache
def two_plans() -> tuple[Any, Any]:
    """A small plan, and the same with dear carbon."""
    changes = {"policy.carbon_price": "300 USD/t"}
    return ef.plan("one-training-job", baselines=False), ef.plan(
        "one-training-job", changes=changes, baselines=False
    )


def wrapped(kind: str, document: Record) -> Record:
    """As files of before held it."""
    return {"everfleet_answer": kind, "document": document}


def several() -> Record:
    plans = [
        Compared({"title": str(number)}, {}, read_back(plan.to_dict()))
        for number, plan in enumerate(two_plans())
    ]
    return wrapped("compare", side_by_side(plans))


def sweep() -> Record:
    rows = [
        {"point": number, "cost_usd": usd, "carbon_kgco2e": kg, "on_front": front}
        for number, (usd, kg, front) in enumerate(
            [(1.0, 5.0, True), (2.0, 3.0, True), (2.5, 4.0, False), (None, None, False)]
        )
    ]
    return {"everfleet_sweep": 2, "points": rows}


ANSWERS: dict[str, tuple[str, Callable[[], Record]]] = {
    "throughput": ("answer.json", throughput),
    "checkpoints": ("checkpoints.json", lambda: ef.checkpoint().to_dict()),
    "checkpoints of a scenario": (
        "checkpoints.json",
        lambda: ef.checkpoint("one-training-job").to_dict(),
    ),
    "fit": ("fit.json", lambda: written(fit_of_sample("slurm"))),
    "fit of before": ("fit.json", lambda: as_before(fit_of_sample("slurm"))),
    "front": ("pareto.json", lambda: written(front())),
    "front of before": ("pareto.json", front),
    "throughput of before": ("answer.json", lambda: wrapped("throughput", read_back(throughput()))),
    "validation of before": ("answer.json", lambda: wrapped("validation", validation_of_before())),
    "validation": (
        "answer.json",
        lambda: ef.validate(data_folder() / "published" / "carbon.csv").to_dict(),
    ),
    "calibration": (
        "answer.json",
        lambda: ef.calibrate(SAMPLES / "measurements.csv").to_dict(),
    ),
    "serving calibration": (
        "answer.json",
        lambda: ef.calibrate(SAMPLES / "serving-measurements.csv").to_dict(),
    ),
    "two plans": ("answer.json", lambda: ef.compare(*two_plans()).to_dict()),
    "several plans": ("answer.json", several),
    "sweep": ("sweep.json", sweep),
    "job": ("job.json", lambda: ef.job_carbon(model="llama-3.1-8b", tokens=1e12, nodes=64).to_dict()),
    "plan": ("plan.json", lambda: two_plans()[0].to_dict()),
}


@cache
def answer(name: str) -> str:
    return to_json(ANSWERS[name][1]())


def saved(name: str, document: Record, folder: Path) -> Path:
    file = folder / ANSWERS[name][0]
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def planted(name: str, path: str, factor: float) -> Record:
    """The document of an answer with one number that nothing in it gives."""
    document: Record = json.loads(answer(name))
    *way, last = path.split("/")
    at: Any = document
    for key in way:
        at = at[int(key)] if isinstance(at, list) else at[key]
    at[int(last) if isinstance(at, list) else last] *= factor
    return document


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_what_was_written_agrees(name: str, tmp_path: Path) -> None:
    document = json.loads(answer(name))

    assert disagreements(document) == []
    assert open_answer(saved(name, document, tmp_path)) == up_to_date(document)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "path", "says"),
    [
        ("throughput", "tables/rows/1/rate_per_s", "rows[1].rate_per_s"),
        ("throughput", "tables/rows/0/nodes", "rows[0].nodes"),
        ("throughput", "tables/reached/0/node_kw", "reached[0].node_kw"),
        ("checkpoints", "tables/marks/0/interval_min", "marks[0].interval_min"),
        ("checkpoints", "tables/rows/7/ettr_fraction", "rows[7].ettr_fraction (with all that is lost)"),
        ("checkpoints", "tables/policies/1/usd_per_useful_h", "policies[1].usd_per_useful_h"),
        ("checkpoints", "tables/worth/0/usd_a_point_and_day", "worth[0].usd_a_point_and_day"),
        ("checkpoints", "tables/policies/4/flat_low_min", "policies[4].flat_low_min"),
        ("checkpoints of a scenario", "answers/0/tables/sizes/2/mttf_h", "jobs[0].sizes[2].mttf_h"),
        ("fit", "rate/value", "rate.value"),
        ("fit", "tables/rate/0/low", "rate[0].low"),
        ("fit", "tables/shapes/0/shape", "shapes[0].shape"),
        ("fit", "tables/nodes/1/failures", "nodes[1].failures"),
        ("fit of before", "rate/value", "rate.value"),
        ("fit", "tables/mttf/0/ettr_fraction", "sections.sizes.mttf[0].ettr_fraction"),
        ("fit", "tables/forecast/1/median", "sections.ahead.forecast[1].median"),
        ("front", "tables/points/2/cost_usd", "sections.front.points[2].cost_usd"),
        ("front of before", "sections/front/tables/points/2/cost_usd", "sections.front.points[2].cost_usd"),
        ("throughput of before", "document/rows/0/nodes", "rows[0].nodes"),
        ("validation of before", "document/rows/0/ours", "rows[0].error"),
        ("front", "answers/1/tables/cost/0/usd", "plans[1].cost[0].usd"),
        ("front", "answers/0/tables/carbon/0/kgco2e", "plans[0].carbon[0].kgco2e"),
        ("validation", "tables/rows/0/ours", "rows[0].error"),
        ("validation", "tables/rows/3/expected", "rows[3].error"),
        ("validation", "tables/rows/1/ours", "rows[1].ours"),
        ("validation", "tables/summary/0/median_error", "summary[0].median_error"),
        ("validation", "tables/summary/0/inside", "summary.inside"),
        ("calibration", "tables/hardware_speed_points/0/measured_tokens_per_s", "points[0].before_error"),
        ("calibration", "tables/hardware/0/speed_after", "hardware[0].speed.after"),
        ("calibration", "tables/hardware_speed_sizes/1/low_tokens_per_s", "low_tokens_per_s"),
        ("calibration", "tables/hardware/0/speed_expected_error_worst", "hardware[0].speed_expected_error"),
        ("serving calibration", "tables/hardware_serving_factors/0/factor", "factors[0].factor"),
        ("serving calibration", "tables/hardware_serving_batches/2/after_tokens_per_s", "after_tokens"),
        ("two plans", "totals/0/after", "totals[0].difference"),
        ("two plans", "totals/1/before", "totals[1].before"),
        ("several plans", "document/totals/0/values/1", "totals[0].values[1]"),
        ("several plans", "document/terms/cost/0/values/0", "terms.cost[0].differences[1]"),
        ("job", "totals/0/value", "totals.carbon"),
        ("job", "tables/phases/0/energy_kwh", "phases[0].energy_kwh"),
        ("plan", "totals/0/value", "totals.cost"),
    ],
)
def test_a_number_that_was_changed_is_refused(name: str, path: str, says: str, tmp_path: Path) -> None:
    """Half as large again, or a thousandth: the message says where, what it is, and what it should be."""
    for factor in (1.5, 1.001):
        document = planted(name, path, factor)

        assert disagreements(document)
        with pytest.raises(ScenarioError, match=re.escape(says)):
            open_answer(saved(name, document, tmp_path))


def test_a_point_that_was_beaten_is_on_no_front(tmp_path: Path) -> None:
    """The third point made as cheap as the first: it is beaten by none, and says that it is behind."""
    document = planted("sweep", "points/2/cost_usd", 0.2)

    with pytest.raises(ScenarioError, match=re.escape("points[2].on_front")):
        open_answer(saved("sweep", document, tmp_path))


@pytest.mark.parametrize(
    "equation", ["x = " + "(" * 9_999 + "1", "x = " + "-".join(["1"] * 50_000), "x = a b"]
)
def test_an_equation_that_is_none_is_refused(equation: str, tmp_path: Path) -> None:
    """A step that was made to be long or deep, or is no arithmetic: one clear line, whatever Python says."""
    step = {"number": 0, "name": "x", "value": 1.0, "unit": "1", "kind": "derived", "closes": True}
    document = {"schema": 3, "status": {}, "explanations": {}, "cells": {}, "tables": {}}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({**document, "steps": [{**step, "equation": equation}]}), encoding="utf-8")

    with pytest.raises(ScenarioError, match="is damaged: its numbers cannot be compared"):
        open_answer(file)
