"""Sizes and policies side by side: each number is that of the job asked about alone."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from explained import explained

from planner.answers.checkpoints import checkpoint_document, sizes_around
from planner.answers.checkpoints.page import csv_files
from planner.answers.checkpoints.policies import Pattern, policies_of
from planner.answers.checkpoints.question import terms_of_flags
from planner.answers.checkpoints.rows import plainly, row
from planner.answers.checkpoints.setting import setting_of
from planner.inputs.fits import fit_of
from planner.inputs.job_question import CheckpointQuestion
from planner.inputs.loading import load_catalogue
from planner.report.charts import MEASURES, checkpoint_curve, interval_map, policy_curves, size_curves
from planner.trace.errors import InputError
from planner.trace.quantities import chosen

Record = dict[str, Any]
FIT: Record = {
    "everfleet_fit": 1,
    "name": "north",
    "accelerators_per_node": 8,
    "definition": "unplanned stops",
    "source": "north.csv",
    "rate": {"value": 4.0, "low": 2.0, "high": 8.0, "unit": "1/(1000 node d)"},
}


@cache
def document(asynchronous: bool = False) -> Record:
    return checkpoint_document(CheckpointQuestion(asynchronous=asynchronous), across=sizes_around(64))


@pytest.mark.parametrize(
    ("nodes", "sizes"),
    [(64, (8, 16, 32, 64, 128, 256, 512, 1024)), (1, (1, 2, 4, 8, 16)), (3, (1, 2, 3, 6, 12, 24, 48))],
)
def test_sizes_double_around_the_one_asked_for(nodes: int, sizes: tuple[int, ...]) -> None:
    """From an eighth to sixteen times as many; a job has one node at least, and no size stands twice."""
    assert sizes_around(nodes) == sizes


@pytest.mark.slow
def test_each_size_is_the_job_of_that_size() -> None:
    """A row of the sizes says what a document of that size alone says of its best intervals."""
    for size in (8, 1024):
        found = next(one for one in document()["sizes"] if one["nodes"] == size)
        alone = {mark["name"]: mark for mark in checkpoint_document(CheckpointQuestion(nodes=size))["marks"]}

        assert found["interval_min"] == pytest.approx(alone["time-optimal"]["interval_min"], rel=1e-12)
        assert found["ettr_fraction"] == pytest.approx(alone["time-optimal"]["ettr_fraction"], rel=1e-12)
        assert found["money_interval_min"] == pytest.approx(alone["money-optimal"]["interval_min"], rel=1e-12)
        assert found["carbon_interval_min"] == pytest.approx(
            alone["carbon-optimal"]["interval_min"], rel=1e-12
        )


@pytest.mark.slow
def test_nothing_on_the_map_beats_the_best_interval() -> None:
    """More time, money and carbon than at the optimum are never negative, and next to none beside it."""
    for size in sizes_around(64):
        rows = [one for one in document()["map"] if one["nodes"] == size]
        for name in ("time", "money", "carbon"):
            more = [one[f"{name}_more_fraction"] for one in rows]
            assert min(more) >= -1e-12
            assert min(more) == pytest.approx(0.0, abs=0.005), "a cell of the map is near each optimum"


@pytest.mark.slow
def test_what_a_cell_loses_is_told_against_its_own_size() -> None:
    """ETTR of the best over ETTR of the cell, less one: the hours that a useful hour takes more."""
    best = {one["nodes"]: one["ettr_fraction"] for one in document()["sizes"]}

    for cell in document()["map"]:
        more = best[cell["nodes"]] / cell["ettr_fraction"] - 1
        assert cell["time_more_fraction"] == pytest.approx(more, rel=1e-9, abs=1e-12)


def test_no_curve_passes_its_own_optimum() -> None:
    """Three policies, each below what the table of policies says of its best; two levels keep their saves."""
    best = {one["policy"]: one for one in document()["policies"] if one["objective"] == "time"}
    rows = document()["curves"]

    assert {one["policy"] for one in rows} == set(best) == {"blocking", "asynchronous", "two-level"}
    for name, optimum in best.items():
        curve = [one for one in rows if one["policy"] == name]
        assert {one["local_saves"] for one in curve} == {optimum["local_saves"]}
        highest = max(one["ettr_fraction"] for one in curve)
        assert optimum["ettr_fraction"] * 0.999 <= highest <= optimum["ettr_fraction"] * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_background_write_ends_before_the_next_begins() -> None:
    """The map holds no interval shorter than what the storage still needs after the job goes on."""
    inputs = document(asynchronous=True)["inputs"]
    least = inputs["persist_min"] - inputs["write_min"]

    assert min(one["interval_min"] for one in document(asynchronous=True)["map"]) >= least


@pytest.mark.parametrize("end", ["low", "high"])
def test_the_band_is_what_another_rate_would_give(end: str) -> None:
    """Money, carbon and ETTR at an end of the rate's range are those of a fleet that fails at that rate.

    Failures cost: the low end of money and carbon, and the high one of ETTR, are those of the low rate.
    """
    interval = Pattern(chosen("interval_h", 1.5, "the same for both"))
    there = FIT | {"rate": FIT["rate"] | {"value": FIT["rate"][end], "low": None, "high": None}}
    ours, other = plainly(
        row(
            policies_of(
                setting_of(
                    terms_of_flags(load_catalogue(), fit_of(fit, "fit"), CheckpointQuestion().complete()),
                    "h100-8",
                    512,
                )
            )["blocking"],
            interval,
        )
        for fit in (FIT, there)
    )

    assert ours[f"usd_{end}_per_useful_h"] == pytest.approx(other["usd_per_useful_h"], rel=1e-12)
    assert ours[f"kgco2e_{end}_per_useful_h"] == pytest.approx(other["kgco2e_per_useful_h"], rel=1e-12)
    mirrored = {"low": "high", "high": "low"}[end]
    assert ours[f"ettr_{mirrored}_fraction"] == pytest.approx(other["ettr_fraction"], rel=1e-12)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_fit_at_hand_is_the_fit_in_a_file(tmp_path: Path) -> None:
    """What an app holds in memory and what the command reads from disk give the same intervals."""
    file = tmp_path / "fit.json"
    file.write_text(json.dumps(FIT), encoding="utf-8")
    held, read = (checkpoint_document(CheckpointQuestion(failures=fit)) for fit in (FIT, str(file)))

    assert held["inputs"]["failures"] == "north"
    assert held["rows"] == read["rows"]
    assert held["marks"] == read["marks"]


def test_what_is_no_fit_is_refused() -> None:
    with pytest.raises(InputError, match="the fit: is not a fit"):
        checkpoint_document(CheckpointQuestion(failures={"rate": 3}))
    with pytest.raises(InputError, match="--nodes: has to be from 1 to 1,000,000, got 0"):
        checkpoint_document(CheckpointQuestion(), across=(0, 8))


def test_every_best_interval_of_a_size_opens_to_its_sources() -> None:
    """Each size, each objective; the tree ends in the failure rate's paper."""
    names = {f"{size}.{name}" for size in sizes_around(64) for name in ("time", "money", "carbon")}

    assert names <= set(document()["explanations"])
    assert all("Llama 3" in explained(document(), name).to_text() for name in names)


def test_csv_holds_every_table_whole() -> None:
    files = csv_files(document())

    assert set(files) == {
        "checkpoints.csv",
        "marks.csv",
        "policies.csv",
        "best.csv",
        "detection.csv",
        "recovery.csv",
        "stops.csv",
        "by_nodes.csv",
        "map.csv",
        "curves.csv",
    }
    assert files["map.csv"].count("\n") == len(document()["map"]) + 1
    assert files["by_nodes.csv"].startswith("nodes,mttf_h,interval_min,flat_low_min,flat_high_min")


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_charts_say_their_optimum_and_stay_small(measure: str) -> None:
    """The words name the best interval that the document names; a chart has 2,000 marks at most."""
    found = document()
    one = [checkpoint_curve(found, measure), policy_curves(found, measure), interval_map(found, measure)]
    pictures = [*one, *size_curves(found, measure)]

    assert len(pictures) == 3 + len(found["sizes"])
    for picture in pictures:
        assert picture is not None
        spec = picture.chart.to_dict()
        assert sum(len(layer.get("data", {}).get("values", ())) for layer in spec["layer"]) <= 2000
    column = {"ettr_fraction": "interval_min", "usd_per_useful_h": "money_interval_min"}
    for size, picture in zip(found["sizes"], pictures[3:], strict=True):
        assert picture is not None
        assert f"{size[column.get(measure, 'carbon_interval_min')]:.4g}".rstrip("0") in picture.alt


@pytest.mark.slow
def test_charts_of_one_size_alone_draw_nothing_beside() -> None:
    """A document that was not asked for sizes has none to draw, and a rate without a range no band."""
    found = checkpoint_document(CheckpointQuestion(failures="meta-rsc-1"))
    curve = checkpoint_curve(found)

    assert policy_curves(found) is None
    assert interval_map(found) is None
    assert size_curves(found) == []
    assert curve is not None
    assert "Band" not in curve.alt
    assert "Band" in checkpoint_curve(document()).alt  # type: ignore[union-attr]
