"""The page of checkpoint intervals: curve, policies, sizes, one's own failures, and every message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from log_pages import open_page, texts, work_at_once
from question_inputs_held import fields_held
from streamlit.testing.v1 import AppTest
from trees import with_trees

from planner.answers.checkpoints import checkpoint_document, sizes_around
from planner.answers.failures import as_failures
from planner.inputs.job_question import CheckpointQuestion
from planner.report import charts
from planner.ui import logs, shared

SLURM = (Path(__file__).resolve().parents[2] / "data" / "samples" / "slurm-simulated.txt").read_bytes()
POLICIES, SIZES = "Policies side by side", "Sizes side by side"
CHARTS = {"Intervals": 1, POLICIES: 1, SIZES: 1 + 8}  # curve; policies; map and eight sizes


def used(**changes: Any) -> logs.UsedFit:
    """A fit in use: that of the shipped outages."""
    contract = as_failures(logs.shipped_fit("infinitehbd")) | changes
    return logs.UsedFit("digest", contract["name"], json.dumps(contract))


def table(page: AppTest, *headings: str) -> list[dict[str, Any]]:
    """The first table with these columns."""
    found = [frame.value.to_dict("records") for frame in page.dataframe]
    return next(rows for rows in found if set(headings) <= set(rows[0]))


def opened(tab: str, **state: Any) -> AppTest:
    """The page with a tab open, and what stands closed in it."""
    return open_page("checkpoints", **{"checkpoint-tabs": tab, "size-curves": True}, **state)


def test_an_answer_is_on_screen_at_once() -> None:
    """The curve of the example with its optima; the numbers are those of the document."""
    page = open_page("checkpoints")
    document = checkpoint_document()
    flat = document["flat"]

    assert not page.exception
    assert not page.error
    assert len(page.get("vega_lite_chart")) == CHARTS["Intervals"]
    assert shared.plain(f"{flat['low_min']:.3g} to {flat['high_min']:.3g} min") in texts(page)
    assert [row["mark"] for row in table(page, "mark")] == [mark["name"] for mark in document["marks"]]
    assert "Band: from the low to the high end" in texts(page)
    keys = {name: name for name in ("failures", "nodes", "sku", "model", "storage", "asynchronous", "grid")}
    fields_held(page, CheckpointQuestion, keys | {"restart_min": "restart", "today_min": "today"})


def test_policies_stand_side_by_side() -> None:
    """Each at its best for time, money and carbon, as the document has it."""
    page = opened(POLICIES)
    best = [row["interval (min)"] for row in table(page, "objective", "policy")]

    assert best == pytest.approx([row["interval_min"] for row in checkpoint_document()["policies"]], rel=1e-5)
    assert shared.plain("Least time: asynchronous;") in texts(page)


def test_sizes_stand_side_by_side() -> None:
    """From an eighth of the job to sixteen times as many nodes; the curve of each when it is asked for."""
    page = opened(SIZES)

    assert [row["nodes"] for row in table(page, "nodes", "MTTF (h)")] == list(sizes_around(64))
    assert len(page.get("vega_lite_chart")) == CHARTS[SIZES]
    page.session_state["size-curves"] = False
    assert len(page.run().get("vega_lite_chart")) == 1


@pytest.mark.nightly
def test_a_rate_without_an_interval_has_no_band_and_says_so() -> None:
    page = open_page("checkpoints")
    page.selectbox("failures").select("meta-rsc-1").run()

    assert "No band: this failure rate was published without an interval." in texts(page)


@pytest.mark.parametrize("measure", list(charts.MEASURES)[1:])
@pytest.mark.parametrize("tab", list(CHARTS))
def test_each_measure_is_drawn(measure: str, tab: str) -> None:
    """Money and carbon have the same charts as time; none chosen is time again."""
    page = opened(tab, measure=measure)

    assert not page.exception
    assert len(page.get("vega_lite_chart")) == CHARTS[tab]


@pytest.mark.parametrize(
    ("tab", "sheet", "heading", "top"),
    [
        ("Intervals", "marks", "interval (min)", "in min = "),
        ("Intervals", "rows", "writing (%)", "state_fraction = "),
        (POLICIES, "policies", "carbon per useful hour (kgCO2e)", "useful_hour_kgco2e = "),
        (POLICIES, "curves", "money per useful hour, high (kUSD)", "useful_hour_usd = "),
        (SIZES, "sizes", "best for money (min)", "in min = "),
        (SIZES, "map", "money more (%)", "more_fraction = "),
    ],
)
def test_each_table_opens_its_numbers(tab: str, sheet: str, heading: str, top: str) -> None:
    """The tree names the equation and the paper that the rate is from; closed tables open first."""
    state = {f"sheet-{sheet}": {"selection": {"rows": [], "columns": [], "cells": [(1, heading)]}}}
    page = with_trees(opened(tab, **{f"data-{sheet}": True}, **state))

    assert not page.exception
    (tree,) = [block.value for block in page.code if block.value.startswith(top)]
    assert "Llama 3" in tree


def test_the_answer_has_its_why() -> None:
    """The interval and the ETTR that the page says first, each down to the paper of the failure rate."""
    trees = [block.value for block in with_trees(open_page("checkpoints")).code]

    assert len(trees) == 2
    assert all("Llama 3" in tree for tree in trees)


@pytest.mark.nightly
def test_a_fit_in_use_comes_first_and_changes_the_answer() -> None:
    """The shipped outages fail 4.18 times in 1000 node-days, and their fit is what the intervals are for."""
    page = open_page("checkpoints", **{"log.used": used()})
    expected = checkpoint_document(CheckpointQuestion(failures=used().failures()))

    assert page.selectbox("failures").value == "infinitehbd (your log)"
    assert table(page, "mark")[0]["interval (min)"] == pytest.approx(
        expected["marks"][0]["interval_min"], rel=1e-5
    )
    page.selectbox("failures").select("meta-rsc-1").run()
    assert table(page, "mark")[0]["interval (min)"] == pytest.approx(
        checkpoint_document(CheckpointQuestion(failures="meta-rsc-1"))["marks"][0]["interval_min"], rel=1e-5
    )


@pytest.mark.nightly
def test_a_log_brought_here_is_used_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upload, fit, use: the simulated log fails 5.24 times in 1000 node-days."""
    work_at_once(monkeypatch)
    page = open_page("checkpoints")
    page.file_uploader("log-checkpoints").set_value(("jobs.txt", SLURM, "text/plain")).run()
    next(one for one in page.button if one.key and one.key.startswith("log-fit")).click().run()
    assert shared.plain("Failures in jobs.txt: 5.24 in 1000 node-days, 4.51 to 6.05.") in texts(page)

    assert not page.exception
    assert page.selectbox("failures").value == "jobs (your log)"


def test_inputs_without_an_answer_say_so_and_the_page_goes_on() -> None:
    """A fit without a rate: the message names it, and another choice of failures is still there."""
    page = open_page("checkpoints", **{"log.used": used(rate={"value": None})})
    assert not page.exception
    assert "These inputs have no answer." in page.error[0].value
    assert "is not a whole fit" in page.code[-1].value

    page.selectbox("failures").select("meta-rsc-1").run()
    assert not page.error


def test_a_run_again_makes_no_chart_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the browser gets is kept by the digest of the inputs: making it costs more than all else."""
    page = open_page("checkpoints")
    made: list[str] = []
    for name in ("checkpoint_curve", "policy_curves", "interval_map", "size_curves"):
        monkeypatch.setattr(charts, name, lambda *_, name=name: made.append(name))
    page.run()

    assert not page.exception
    assert made == []


def test_tables_and_document_are_taken_along() -> None:
    labels = [one.label for one in open_page("checkpoints").get("download_button")]

    assert labels == ["Tables (CSV)", "Data (JSON)"]
