"""The page of failures: a shipped log at first, then one's own, step by step, with every message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_pages import open_page, texts, work_at_once
from streamlit.testing.v1 import AppTest
from trees import with_trees

from planner.ui import logs, shared
from planner.ui.workers import registry
from planner.ui.workers.messages import Seen

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "samples"
SLURM = (SAMPLES / "slurm-simulated.txt").read_bytes()
EVENTS = (
    b"node,start,end\n"
    b"n1,2025-01-02T00:00:00Z,2025-01-02T06:00:00Z\n"
    b"n2,2025-01-09T00:00:00Z,2025-01-09T06:00:00Z\n"
    b"n2,not a time,2025-01-20T06:00:00Z\n"
    b"n3,2025-02-01T00:00:00Z,2025-02-01T12:00:00Z\n"
)
HOSTILE = "**a** :red[b] $x$.csv"


def own_log(content: bytes, name: str = "mine.csv") -> AppTest:
    """The page after an upload."""
    page = open_page("failures")
    page.selectbox("log").select("own").run()
    return page.file_uploader("log-failures").set_value((name, content, "text/plain")).run()


def button(page: AppTest, key: str) -> Any:
    """The button whose key begins so."""
    return next(one for one in page.button if one.key and one.key.startswith(key))


def frames(page: AppTest) -> list[list[dict[str, Any]]]:
    return [frame.value.to_dict("records") for frame in page.dataframe]


def test_a_real_log_is_on_screen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """584 outages of 400 nodes, fitted beforehand: no worker is asked, and nothing is to be filled in."""
    monkeypatch.delattr(registry, "_HERE")
    page = open_page("failures")
    document = logs.shipped_fit("infinitehbd")

    assert not page.exception
    assert not page.error
    assert page.metric[0].value == "4.18"
    assert shared.plain("2.87 to 5.89, 95 % interval") in texts(page)
    assert len(page.get("vega_lite_chart")) == 1
    risk = next(rows for rows in frames(page) if "at risk" in rows[0])
    assert [row["at risk"] for row in risk] == [
        row["at_risk"] for row in document["sections"]["lives"]["tables"]["risk"]
    ]
    fits = next(rows for rows in frames(page) if "AIC" in rows[0])
    assert len(fits) == 5
    assert {"log likelihood", "parameters"} <= set(fits[0])


@pytest.mark.parametrize(
    ("tab", "charts"),
    [("Jobs", 1), ("Rate and causes", 1), ("Weak nodes", 1), ("Forecast", 1), ("Spares", 1), ("Repeats", 0)],
)
def test_each_subject_is_drawn_once_it_is_looked_at(tab: str, charts: int) -> None:
    """Sizes, causes, weak nodes, forecast and outages have their chart; gaps have their table alone."""
    page = open_page("failures", **{"failure-tabs": tab})

    assert not page.exception
    assert len(page.get("vega_lite_chart")) == charts


@pytest.mark.parametrize(
    ("tab", "table", "heading", "top"),
    [
        ("Lifetimes", "lives-fits", "AIC", "aic = 4,687.87"),
        ("Lifetimes", "lives-risk", "at risk", "at_risk_units = 374"),
        ("Jobs", "sizes-mttf", "ETTR (%)", "ettr_fraction = 0.990159"),
        ("Rate and causes", "rate-causes", "low", "failures_in_1000_node_days = 0.766485"),
        ("Spares", "downtime-spares", "mean down", "mean_nodes_down = 9.26255"),
        ("What was read", "read-read", "value", "log.watched = 348.98 d"),
    ],
)
def test_each_table_opens_its_numbers(tab: str, table: str, heading: str, top: str) -> None:
    """The second row of each, down to the log; closed tables open first."""
    cells = {f"sheet-{table}": {"selection": {"rows": [], "columns": [], "cells": [(1, heading)]}}}
    page = with_trees(open_page("failures", **{"failure-tabs": tab, f"data-{table}": True}, **cells))

    assert not page.exception
    (tree,) = [block.value for block in page.code if block.value.startswith(top)]
    assert "infinitehbd-outages.csv" in tree


def test_every_number_above_opens_to_its_source() -> None:
    """Rate, forecasts, time between failures: each popover holds the tree down to the log."""
    page = with_trees(open_page("failures"))
    codes = "\n".join(code.value for code in page.code)

    assert "infinitehbd-outages.csv" in codes
    assert codes.count("log.failures") >= 2
    assert "forecast_count" in codes


def test_another_shipped_log_has_what_a_job_log_has() -> None:
    """Slurm's simulated log: measured times between failures by size, two weak nodes, and no lifetimes."""
    page = open_page("failures")
    page.selectbox("log").select("slurm").run()

    assert not page.exception
    assert shared.plain("A job log follows no node from its first day on") in texts(page)
    page.session_state["failure-tabs"], page.session_state["data-lemons-nodes"] = "Weak nodes", True
    weak = next(rows for rows in frames(page.run()) if "beyond chance" in rows[0])
    assert [row["node"] for row in weak if row["beyond chance"]] == ["node201", "node017"]
    page.session_state["failure-tabs"], page.session_state["data-sizes-measured"] = "Jobs", True
    assert any("MTTF here (h)" in rows[0] for rows in frames(page.run()))


def test_a_log_of_ones_own_is_read_then_fitted_then_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upload, fit, use: three steps; before the fit the page says what was recognised and which zone."""
    work_at_once(monkeypatch)
    page = own_log(SLURM, "jobs.txt")

    assert {"read": "times are taken", "value": "as UTC"} in frames(page)[0]
    assert "No row was left out." in texts(page)
    assert not page.metric, "nothing is fitted before it is asked for"

    button(page, "log-fit").click().run()
    assert not page.exception
    assert page.metric[0].value == "5.24"

    button(page, "use-fit").click().run()
    assert "Checkpoint intervals start from this fit." in texts(page)
    assert page.session_state["log.used"].name == "jobs"
    assert page.session_state["log.used"].failures()["rate"]["value"] == pytest.approx(5.237, abs=5e-4)


def test_rows_left_out_and_few_failures_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of four starts is no time; three failures are fewer than ten."""
    work_at_once(monkeypatch)
    page = own_log(EVENTS)

    assert "1 rows left out" in texts(page)
    assert "3 failures say little" in texts(page)
    page.session_state["data-left-out"] = True
    page.run()
    assert any("not a time" in row.get("reason", "") for rows in frames(page) for row in rows)


def test_a_log_of_unknown_shape_asks_for_a_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names what is missing, the field below takes it; a wrong mapping is answered, too."""
    work_at_once(monkeypatch)
    page = own_log(b"q1,q2\nn1,2025-01-02T00:00:00Z\nn2,2025-01-03T00:00:00Z\n")
    assert len(page.error) == 1
    assert "is of no known shape" in page.code[0].value

    page.text_area[0].set_value("kind =")
    button(page, "log-read").click().run()
    assert "is not TOML" in page.code[0].value

    page.text_area[0].set_value('kind = "events"\n[columns]\nunit = "q1"\nstart = "q2"\n')
    button(page, "log-read").click().run()
    assert not page.error
    assert "2 failures say little" in texts(page)


def test_a_syslog_is_asked_for_its_year_in_the_mapping_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The field held a blank mapping of a table, and the message spoke of a proposed one."""
    work_at_once(monkeypatch)
    line = "Jan  3 05:29:20 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
    page = own_log((line + line.replace("05:29", "06:29")).encode(), "syslog")
    assert "add year = 2025" in page.code[0].value
    assert 'layout = "kernel"' in page.text_area[0].value

    page.text_area[0].set_value("year = 2025\n" + page.text_area[0].value)
    button(page, "log-read").click().run()
    assert not page.error
    assert "2 failures say little" in texts(page)


def test_the_fleet_is_asked_for_next_to_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows without a node need it; 12 failures of 64 nodes in 33 d are 5.68 in 1000 node-days."""
    work_at_once(monkeypatch)
    rows = [f"2025-01-{day:02d}T00:00:00Z,gpu" for day in range(1, 31, 3)]
    rows += ["2025-02-02T00:00:00Z,gpu", "2025-02-03T00:00:00Z,gpu"]
    page = own_log("\n".join(["failure_time,cause", *rows, ""]).encode())
    assert "state fleet_size" in page.code[0].value

    page.number_input[0].set_value(64).run()
    assert not page.error
    button(page, "log-fit").click().run()
    assert not page.exception
    assert page.metric[0].value == "5.68"


def test_a_worker_that_dies_leaves_the_page_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says so and offers to begin anew."""
    work_at_once(monkeypatch, Seen("died", error="The worker ended (signal 9)."))
    page = own_log(SLURM)

    assert not page.exception
    assert "signal 9" in page.code[0].value
    assert any(one.label == "Start again" for one in page.button)


def test_a_log_being_read_shows_that_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the worker reads there is a sign of life and a way to end it, and no result yet."""
    work_at_once(monkeypatch, Seen("working", text="reading the log"))
    page = own_log(SLURM)

    assert not page.exception
    assert "reading the log" in texts(page)
    assert any(one.label.startswith("Cancel") for one in page.button)
    assert not page.metric


def test_names_of_files_stay_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Markdown, colours and formulas in a file's name are not acted on."""
    work_at_once(monkeypatch)
    page = own_log(SLURM, HOSTILE)
    button(page, "log-fit").click().run()

    assert not page.exception
    assert "**a**" not in texts(page)
    assert ":red[b]" not in texts(page)


def test_nothing_is_asked_before_a_file_is_there() -> None:
    page = open_page("failures")
    page.selectbox("log").select("own").run()

    assert not page.exception
    assert "at most 25 MB" in texts(page)
    assert not page.metric


def test_the_fit_is_taken_along_in_three_formats() -> None:
    labels = [one.label for one in open_page("failures").get("download_button")]

    assert labels == ["Report (HTML)", "Fit (JSON)", "Tables (CSV)"]
