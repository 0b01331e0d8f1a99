"""Placement, and Plan against actual: each shows what its command answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from planner.answers.placement import placement_document
from planner.answers.saved.tracking import tracked_plan
from planner.inputs.loading import data_folder
from planner.inputs.placement_question import PlacementQuestion
from planner.report.charts import PLACEMENT_PICTURES, TRACK_PICTURES
from planner.report.shape import written
from planner.ui import shared

pytestmark = pytest.mark.app

PAGES = Path(shared.__file__).parent
SET = "mlperf_dlrm_dcnv2_multihot"
ACTUAL = data_folder() / "samples" / "actual-months.csv"


def open_page(name: str, *others: str, **state: Any) -> AppTest:
    pages = [str(PAGES / f"{one}.py") for one in (name, *others)]
    app = AppTest.from_string(
        f"import streamlit as st\nst.navigation([st.Page(one) for one in {pages!r}]).run()",
        default_timeout=60,
    )
    for key, value in state.items():
        app.session_state[key] = value
    return app.run()


def test_placement_shows_what_place_answers() -> None:
    """One node of the shipped tables: totals and sizes of the command, in ms."""
    page = open_page("placement", "throughput", **{"pl.nodes": (1, 1), "pl.train": True})
    document = placement_document(
        Path("criteo_tables.csv"), PlacementQuestion(model=SET, nodes=(1,), train=True)
    )

    assert not page.exception
    (size,) = document["sizes"]
    shown = next(frame.value for frame in page.dataframe if "step (ms)" in frame.value)
    assert shown["step (ms)"][0] == pytest.approx(1e3 * size["step_s"], rel=1e-5)
    assert next(one.value for one in page.metric) == f"{1e3 * size['step_s']:.3g} ms"


def test_pictures_of_a_placement_hold_each_device_and_its_bytes() -> None:
    """26 tables on 8 devices: bars end where the device's time does, and hold what its memories hold."""
    document = placement_document(Path("criteo_tables.csv"), PlacementQuestion(model=SET, nodes=(1,)))
    loads, held = (PLACEMENT_PICTURES[name](document) for name in ("devices", "bytes"))
    assert loads is not None
    assert held is not None
    bars = held.chart.to_dict()["layer"][0]["data"]["values"]
    ends = {row["device"]: row["end"] for row in bars}
    assert ends == {row["device"]: pytest.approx(row["hbm_gb"]) for row in document["devices"]}
    assert "8 of 8 devices" in held.alt
    assert PLACEMENT_PICTURES["bytes"](document | {"devices": []}) is None


def test_actual_months_stand_next_to_the_shipped_quarter() -> None:
    """Every figure of the shipped months, those that have left their bands, and the plan from here."""
    page = open_page("track", "plan", "scenario")
    text = shared.scenario_text(shared.FIRST)
    plan = shared.load_plan(text, f"{shared.FIRST}.toml")
    assert plan is not None
    document, _ = tracked_plan(written(plan), [ACTUAL])

    assert not page.exception
    shown = next(frame.value for frame in page.dataframe if "above plan (%)" in frame.value)
    assert shown["actual"].tolist() == pytest.approx([row["actual"] for row in document["rows"]], rel=1e-5)
    left = len(document["left"])
    assert [one.value for one in page.warning] == [
        f"{left} of {len(document['rows'])} figures have left their band."
    ]
    picture = TRACK_PICTURES["off"](document)
    assert picture is not None
    values = json.loads(picture.chart.to_json())["layer"][2]["data"]["values"]
    assert sum(row["kept"] == "has left its band" for row in values) == left
    assert any(one.label == "Open it" for one in page.button)


def test_tables_of_ones_own_are_placed_or_refused_in_words() -> None:
    page = open_page("placement", "throughput", **{"pl.tables": "own", "pl.nodes": (1, 1)})
    assert "Bring a CSV" in page.info[0].value
    page.file_uploader(key="pl.file").upload("mine.csv", b"table,rows,dim,pooling\na,1000,64,3\n").run()
    assert not page.exception
    assert any("1 tables" in one.value for one in page.markdown)
    page.file_uploader(key="pl.file").upload("other.csv", b"table,rows\na,1000\n").run()
    assert [one.value for one in page.error] == ["These tables cannot be placed."]
    assert page.code[0].value == "other.csv: has no column dim, pooling; it has table, rows"
