"""Throughput, Futures and Accuracy: each shows what its command answers, and its numbers open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_pages import texts, work_at_once
from question_inputs_held import fields_held
from streamlit.testing.v1 import AppTest

from planner.answers.throughput import Question, throughput_document
from planner.inputs.loading import data_folder
from planner.report.cells import opened_cell
from planner.ui.workers import Seen, shipped
from planner.validation import validate

pytestmark = pytest.mark.app


PAGES = Path(throughput_document.__code__.co_filename).parents[2] / "ui"
OTHERS = ("scenario", "plan", "tradeoffs", "sources")


def open_page(name: str, **state: Any) -> AppTest:
    """A page, with those that it leads to."""
    pages = [str(PAGES / f"{one}.py") for one in (name, *OTHERS)]
    app = AppTest.from_string(
        f"import streamlit as st\nst.navigation([st.Page(one) for one in {pages!r}]).run()",
        default_timeout=60,
    )
    for key, value in state.items():
        app.session_state[key] = value
    return app.run()


def table(page: Any, *headings: str) -> list[dict[str, Any]]:
    """The first table with these columns."""
    found = [frame.value.to_dict("records") for frame in page.dataframe]
    return next(rows for rows in found if set(headings) <= set(rows[0]))


@pytest.mark.nightly
def test_chips_stand_side_by_side_as_the_command_has_them() -> None:
    """The page's own chips, targets and grid, asked again without it."""
    page = open_page("throughput")
    asked = Question(
        "llama-3.1-70b",
        serve=True,
        skus=("h100-8", "h200-8", "b200-8", "mi300x-8"),
        mix="azure-conversation",
        grid="us",
    )
    best = throughput_document(asked)["best"]

    assert not page.exception
    names = ("precision", "grid", "ttft_s", "tpot_s", "requests_per_s", "mix")
    fields_held(page, Question, {name: f"tp.{name}" for name in names})
    shown = table(page, "SKU", "a million costs (USD)", "error (%)")
    assert [row["SKU"] for row in shown] == [row["sku"] for row in best]
    assert [row["a million costs (USD)"] for row in shown] == pytest.approx(
        [row["million_usd"] for row in best], rel=1e-5
    )


def test_what_no_chip_does_is_said_with_its_reason() -> None:
    page = open_page("throughput", **{"tp.model": "llama-3.1-405b", "tp.skus": ["l40s-8"]})

    assert not page.exception
    assert [one.value for one in page.warning] == ["None of these chips does this: the reasons are below."]


@pytest.fixture
def validated(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    found = validate([data_folder() / "published" / "carbon.csv"])
    monkeypatch.setattr(shipped, "shipped", lambda name, text: found)
    return found


def test_accuracy_is_what_validate_answers(validated: dict[str, Any]) -> None:
    page = open_page("accuracy")

    assert not page.exception
    rows = table(page, "id", "ours", "published")
    assert [row["id"] for row in rows] == [row["id"] for row in validated["rows"]]
    page.text_input(key="acc.words").set_value("llama1 tco2").run()
    words = [row["id"] for row in table(page, "id", "ours", "published")]
    assert words
    assert all("llama1" in one.lower() for one in words)
    page.text_input(key="acc.words").set_value("no such word").run()
    assert [one.value for one in page.info] == ["No row holds all of these. Take a word or a choice away."]


def test_numbers_of_a_validation_open_to_their_source(validated: dict[str, Any]) -> None:
    row = next(row for row in validated["rows"] if row["ours"] is not None)
    opened = opened_cell(validated, "rows", row, "error")
    assert opened is not None
    assert "(ours - expected)" in opened.to_text()
    assert row["source"] in opened.to_text()
    group = validated["summary"]["by_subject"][0]
    median = opened_cell(validated, "summary_by_subject", group, "median_error")
    assert median is not None
    assert median.steps[0].value == group["median_error"]
    assert opened_cell(validated, "rows", row, "source") is None


def test_futures_start_from_rows_that_move_the_scenario_and_ask_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A quarter with services and pools: their requests and their work are multiplied."""
    work_at_once(monkeypatch, Seen("failed", error="as said"))
    page = open_page("futures")

    assert not page.exception
    assert "The scenario states no futures; here are three to begin with" in texts(page)
    (rows,) = (frame.value for frame in page.dataframe)
    assert rows["name"].tolist() == ["as stated", "more", "less"]
    assert rows["demand"].tolist()[1:] == [1.3, 0.7]
    page.button(key="begin-futures").click().run()
    assert "This cannot be worked out with these inputs." in [one.value for one in page.error]


SHIPPED = Path(__file__).resolve().parents[2] / "data" / "scenarios" / "one-training-job.toml"


@pytest.mark.slow
@pytest.mark.solve
def test_futures_and_replay_answer_as_their_commands() -> None:
    """One job in three futures: each has a row; a replay plans every period."""
    from planner.ui.workers.futures import replayed, several

    futures = [{"name": "as stated", "probability": 0.6}, {"name": "more", "probability": 0.4, "tokens": 1.3}]
    asked = {
        "name": SHIPPED.name,
        "text": SHIPPED.read_text(encoding="utf-8"),
        "changes": {"uncertainty": None, "futures": futures},
    }

    def tell(*_: Any, **__: Any) -> None:
        """Nobody listens."""

    found = several(asked, tell, lambda: False)
    assert [row["future"] for row in found["futures"]] == ["as stated", "more"]
    assert found["status"]["verified"]
    played = replayed(asked | {"draw": 1, "persist": False}, tell, lambda: False)
    assert played["realised"] in ("as stated", "more")
    assert all(step["planned"] for step in played["periods"])
