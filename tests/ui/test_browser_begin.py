"""The guided start in a real Chromium: from the empty start to a scenario that checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from test_browser_axe import looks, readable

from benchmarks.studies.first_plan import AT_ONCE, MOST_INTERACTIONS, Newcomer, to_the_review
from planner.cli import ANSWER, main

pytestmark = pytest.mark.browser


@pytest.mark.nightly  # by day test_app_begin.py goes the same way without a browser
def test_from_the_empty_start_to_two_sites_and_65_nodes(page: Page, app_url: str, tmp_path: Path) -> None:
    """One click from the plan; the search is left to `python -m benchmarks.studies.first_plan`."""
    newcomer = Newcomer(page, AT_ONCE)
    to_the_review(newcomer, app_url)
    with page.expect_download() as taken:
        page.get_by_role("button", name="Scenario (TOML)").click()
    file = tmp_path / "mine.toml"
    taken.value.save_as(file)
    text = file.read_text(encoding="utf-8")

    assert newcomer.interactions + 1 <= MOST_INTERACTIONS["plan"]
    assert main(["check", str(file)]) == ANSWER
    assert [text.count(f"[[{table}]]") for table in ("sites", "fleet", "services", "pools")] == [2, 2, 2, 2]
    assert "nodes = 40\n" in text
    assert "nodes = 25\n" in text
    page.get_by_role("radio", name="Work").click()
    expect(page.get_by_text("Nothing is missing in this step.")).to_be_visible()
    readable(page, each=looks(1))


@pytest.mark.nightly  # by day test_app_begin.py opens the same without a browser
def test_each_kind_of_work_and_what_it_may_state_can_be_read(page: Page, app_url: str) -> None:
    """Regions, a wrong value below its field, workers of a run: wide and narrow, light and dark."""
    newcomer = Newcomer(page, AT_ONCE)
    page.goto(f"{app_url}/begin")
    newcomer.choose("Add a place", "germany (de)")
    newcomer.fill("Power cap", "700 kW")
    page.get_by_role("radio", name="Work").click()
    newcomer.choose("Add a model that is served", "llama-3.1-8b")
    newcomer.press(page.get_by_role("button", name="Where users are"))
    newcomer.press(page.get_by_role("button", name="Add a region"))
    newcomer.pick("Kind of work", "agents")
    newcomer.choose("Add a model that they", "llama-3.1-8b")
    newcomer.fill("Agents at once", "none")
    newcomer.pick("Kind of work", "training run")
    newcomer.choose("Add a model that is trained", "llama-3.1-8b")
    newcomer.press(page.get_by_role("button", name="Workers that feed it"))

    expect(page.get_by_text("'none' is no number")).to_be_visible()
    expect(page.get_by_text("One value is wrong: see the message below the field.")).to_be_visible()
    readable(page, each=looks(0))
