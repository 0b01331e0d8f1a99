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
