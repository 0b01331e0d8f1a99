"""The way through the app: each page of the plan says what comes next, and what it writes can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from planner.report.charts.drawing import columns
from planner.ui import shared

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _own_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVERFLEET_STORE", str(tmp_path / "plans.sqlite"))


def test_each_page_of_the_story_leads_to_the_next() -> None:
    """Scenario, Plan, Trade-offs, Compare, and back to an input: nobody has to guess what to do now."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    leads = {}
    for name in ("scenario", "plan", "tradeoffs", "compare"):
        page = app.switch_page(str(ROOT / "planner" / "ui" / f"{name}.py")).run()
        assert not page.exception
        last = page.main.get("page_link")[-1].proto
        assert last.label.startswith("Next: ")
        leads[name] = last.page

    assert leads == {"scenario": "plan", "plan": "tradeoffs", "tradeoffs": "compare", "compare": "scenario"}


def test_backticks_of_our_own_words_are_code_and_nothing_else_is_markup() -> None:
    assert shared.ours("one *after* the other, `first_of[0]` first") == (
        "one \\*after\\* the other\\, `first_of[0]` first"
    )
    assert shared.ours("a stray ` and <b>") == "a stray \\` and \\<b\\>"


def test_a_legend_has_as_many_columns_as_its_longest_label_leaves_room_for() -> None:
    """A column is 24 pixels and 6.5 for each letter wide; three at most, and always one."""
    assert columns(["adds", "takes away"]).to_dict() == {"expr": "clamp(floor(width / 89.0), 1, 3)"}
    assert columns([]).to_dict() == columns(["x" * 10]).to_dict(), "where labels are not known: short ones"
