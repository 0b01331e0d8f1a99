"""Each story in a real Chromium, on files of the visitor's own, in at most six interactions."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from browsing import JOB, LOG, OPTIMAL, SCENARIO, Visitor, opened
from playwright.sync_api import Page, expect

from planner.cli import ANSWER, main

MOST_INTERACTIONS = 6
pytestmark = pytest.mark.browser
EVERY_DRAW = True  # the app, which is another process, takes all


@pytest.fixture
def visitor(page: Page, app_url: str) -> Visitor:
    """Someone who has just come."""
    opened(page, app_url)
    return Visitor(page)


def written(folder: Path, *command: str) -> Path:
    """What a command writes."""
    assert main([*command, "--out", str(folder)]) == ANSWER
    return folder


def untimed(document: dict[str, Any]) -> dict[str, Any]:
    """A plan without how long its search took."""
    return document | {"status": document["status"] | {"seconds": None}}


def test_plan_the_next_quarter(visitor: Visitor) -> None:
    """The plan that the page gives is, to the last digit, the one that the command prints for that file."""
    page = visitor.page
    expect(page.get_by_role("heading", name="Next quarter: pre-training")).to_be_visible()
    visitor.click(page.get_by_role("link", name="Plan the next quarter"))
    visitor.bring(SCENARIO)
    expect(page.get_by_text(OPTIMAL)).to_be_visible()
    expect(page.get_by_role("heading", name="A first training run of our own")).to_be_visible()
    expect(page.get_by_text("Run our-8b on 2 nodes of a100-80-8 at lund")).to_be_visible()
    taken = json.loads(visitor.take("Data (JSON)"))
    visitor.press("why?")
    expect(page.get_by_text("It rests on").first).to_be_visible()
    visitor.click(page.get_by_text("Every step, down to the sources").first)
    expect(page.get_by_text("Source: user cost of capital").first).to_be_visible()

    assert visitor.interactions <= MOST_INTERACTIONS
    with redirect_stdout(io.StringIO()) as printed:
        assert main(["plan", str(SCENARIO), "--quiet", "--json"]) == ANSWER
    assert untimed(taken) == untimed(json.loads(printed.getvalue()))


def test_estimate_the_carbon_of_a_job(visitor: Visitor, tmp_path: Path) -> None:
    """The text for the model card is the one that the command writes for that job file."""
    page = visitor.page
    visitor.click(page.get_by_role("link", name="Carbon of one training job"))
    visitor.click(page.get_by_text("Bring a job file or metered energy"))
    visitor.bring(JOB)
    visitor.press("Use this file")
    expect(page.get_by_role("heading", name="A fine-tune of our own")).to_be_visible()
    card = visitor.take("Model card (Markdown)")
    visitor.press("why?")
    expect(page.get_by_text("It rests on").first).to_be_visible()

    assert visitor.interactions <= MOST_INTERACTIONS
    assert card == (written(tmp_path / "job", "carbon", str(JOB)) / "job.md").read_bytes()


def test_compare_checkpoint_intervals(visitor: Visitor, tmp_path: Path) -> None:
    """Intervals from a Slurm log: the tables are those that `fit`, then `checkpoint`, write for it."""
    page = visitor.page
    visitor.click(page.get_by_role("link", name="Checkpoint intervals"))
    visitor.click(page.get_by_text("Failures from a log of your own"))
    visitor.bring(LOG)
    visitor.press("Fit this log")
    expect(page.get_by_role("combobox", name="Failures as in")).to_have_value("sacct (your log)")
    taken = zipfile.ZipFile(io.BytesIO(visitor.take("Tables (CSV)")))

    assert visitor.interactions <= MOST_INTERACTIONS
    fit = written(tmp_path / "fit", "fit", str(LOG), "--quiet") / "fit.json"
    folder = written(tmp_path / "intervals", "checkpoint", "--failures", str(fit)) / "csv"
    for name in ("best.csv", "checkpoints.csv", "marks.csv", "policies.csv"):
        assert taken.read(name) == (folder / name).read_bytes(), name
