"""What only a browser can show: clicks in charts and tables, files in and out, long searches, phones."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import (
    CLASH,
    HEADING_PX,
    OPTIMAL,
    SCENARIO,
    TESTS,
    Visitor,
    address_of_plan,
    at_rest,
    found_by_axe,
    go_to_cell,
    open_tree,
    opened,
    plan_of_own,
    scrolls_sideways,
    settled,
)
from playwright.sync_api import Browser, Page, expect

from planner.inputs.loading import data_folder
from planner.inputs.scenario.link import packed_link
from planner.report.page import to_html

SAMPLE = json.loads((TESTS / "sample_plan.json").read_text(encoding="utf-8"))
CANCEL = "Cancel: keep the best so far"
pytestmark = pytest.mark.browser

NewPage = Callable[[], Page]


@pytest.fixture
def long_scenario(tmp_path: Path) -> Path:
    """The shipped quarter, to be proved to the last dollar: many times what a test waits for."""
    text = (data_folder() / "scenarios" / "next-quarter.toml").read_text(encoding="utf-8")
    path = tmp_path / "to-the-last-dollar.toml"
    path.write_text(re.sub(r"^gap = .*$", 'gap = "0 %"', text, flags=re.MULTILINE), encoding="utf-8")
    return path


def searching(page: Page, app_url: str, scenario: Path) -> None:
    """Begin a long search, until it has something to keep: the first finds are rough, some break a rule."""
    opened(page, f"{app_url}/plan")
    Visitor(page).bring(scenario)
    expect(page.get_by_text("Best so far", exact=True)).to_be_visible()
    gap = page.get_by_test_id("stMetric").filter(has_text="Gap")
    expect(gap).to_contain_text(re.compile(r"Gap\s*\d\.\d+\s?%"), timeout=100_000)  # ms; below ten per cent


def above_the_best(page: Page) -> float:
    """The share by which the plan of a search that was cancelled may be worse than the best."""
    expect(page.get_by_role("button", name=CANCEL)).to_have_count(0)
    said = page.get_by_text(re.compile("the best plan found so far, at most .* above the best"))
    expect(said).to_be_visible(timeout=400_000)  # ms; the plan is added up and its ranges drawn first
    settled(page)
    found = re.search(r"at most ([\d.]+)\s?%", said.inner_text())
    assert found is not None
    return float(found[1]) / 100


# Charts and tables


@pytest.mark.nightly
def test_a_click_on_the_front_opens_its_plan(page: Page, app_url: str) -> None:
    """The third of the shipped points; the knee, the eighth, is open at first."""
    opened(page, f"{app_url}/tradeoffs")
    choice = page.get_by_role("combobox", name="Open a plan")
    expect(choice).to_have_value(re.compile(r"Point \d+ \(knee\)"))
    point = page.get_by_label(re.compile("; point: 3; "))
    cost = re.search("plan: (.*?) at", point.get_attribute("aria-label") or "")
    assert cost is not None
    point.click()

    expect(choice).to_have_value(re.compile("^Point 3: "))
    label = "Cost in the horizon, fall of value and interest included"
    expect(page.get_by_text(f"{label}: {cost[1]}")).to_be_visible()


def test_a_number_of_a_table_is_opened_by_keys(page: Page, app_url: str) -> None:
    """From the name of the job three keys to its nodes; the tree below is that of the cell."""
    opened(page, f"{app_url}/plan")
    page.get_by_role("tab", name="Jobs and arrivals").click()
    settled(page)
    panel = page.locator("[role=tabpanel]:visible")
    expect(panel.get_by_text("Choose a number to see where it comes from.")).to_be_visible()
    go_to_cell(panel.get_by_test_id("stDataFrame").first, column=3)
    open_tree(page)

    expect(panel.get_by_text("nodes (pretrain-70b, oregon, h100-8) = 24")).to_be_visible()
    assert not found_by_axe(page)


@pytest.mark.nightly  # by day the test before opens a row of a table as it comes
def test_a_table_that_is_sorted_opens_the_row_that_is_seen(page: Page, app_url: str) -> None:
    """The fleet with its last period first, which the document has last."""
    opened(page, f"{app_url}/plan")
    page.get_by_text("Show data").first.click()
    settled(page)
    expect(page.get_by_text("Choose a number to see where it comes from.").last).to_be_visible()
    table = page.get_by_test_id("stDataFrame").nth(1)  # below what to do
    table.scroll_into_view_if_needed()
    first = table.locator("[role=gridcell][aria-colindex='1']").first
    for period in ("2027 Q1", "2027 Q4"):  # rising, then falling
        at_rest(table).click(position={"x": 15, "y": HEADING_PX / 2})  # left of the menu of the column
        expect(first).to_have_text(period)
    go_to_cell(table, column=3)
    open_tree(page)

    expect(page.get_by_text("in_service_nodes (2027 Q4, ").first).to_be_visible()


@pytest.mark.nightly  # by day test_app_checkpoints.py has each measure drawn
def test_a_curve_is_drawn_in_the_measure_that_is_asked_for(page: Page, app_url: str) -> None:
    """The axis says which: time at first, then carbon."""
    opened(page, f"{app_url}/checkpoints")
    curve = page.get_by_test_id("stVegaLiteChart").first
    expect(curve.get_by_text("ETTR (%)")).to_be_visible()
    page.get_by_role("radio", name="carbon per useful hour (kgCO2e)").click()

    expect(curve.get_by_text("carbon per useful hour")).to_be_visible()


@pytest.mark.nightly
def test_a_cell_that_is_edited_ends_in_the_file(page: Page, app_url: str) -> None:
    """The first row of the fleet has 64 nodes; the keys go from SKU by site to nodes."""
    opened(page, f"{app_url}/scenario")
    visitor = Visitor(page)
    visitor.click(page.get_by_role("radio", name="Tables"))
    settled(page)
    go_to_cell(page.get_by_test_id("stDataFrame").first, column=2)
    page.keyboard.press("Enter")  # the number is opened for writing; a key typed before it is open gets lost
    page.get_by_test_id("portal").get_by_role("textbox").fill("40")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 edit")).to_be_visible()
    before = (data_folder() / "scenarios" / "next-quarter.toml").read_text(encoding="utf-8")

    assert visitor.take("Scenario (TOML)").decode() == before.replace("\nnodes = 64\n", "\nnodes = 40\n")


# Files in and out


@pytest.mark.nightly  # by day test_app_failures.py has them shown with a reason
def test_rows_that_are_left_out_are_shown_with_the_reason(page: Page, app_url: str) -> None:
    """Five of the seven jobs are of no use, each in a way of its own; they are told before a fit is made."""
    opened(page, f"{app_url}/failures")
    visitor = Visitor(page)
    visitor.click(page.get_by_role("combobox", name="Log"))
    visitor.click(page.get_by_role("option", name="A log of your own"))
    visitor.bring(TESTS / "logs" / "broken" / "bad-jobs.txt")
    expect(page.get_by_text("5 rows left out; the reason of each is below.")).to_be_visible()
    visitor.click(page.get_by_text("Rows left out (5)"))
    reasons = page.locator("[role=gridcell]")  # of the words beside the picture of a table

    expect(reasons.filter(has_text="State 'EXPLODED' is not a state of Slurm")).to_have_count(1)
    expect(reasons.filter(has_text="NNodes '1,5' is not a whole number from 1 up")).to_have_count(1)
    expect(page.get_by_role("button", name="Fit this log")).to_be_visible()


@pytest.mark.nightly  # by day the test of this name in test_app.py
def test_a_saved_plan_opens_by_its_address(new_page: NewPage, app_url: str) -> None:
    """Another visitor, who has another scenario, sees it; the way back to their own is one click."""
    first, second = new_page(), new_page()
    plan_of_own(first, app_url)
    opened(second, address_of_plan(first))
    expect(second.get_by_role("heading", name="A first training run of our own")).to_be_visible()
    second.get_by_role("button", name="Back to my scenario").click()

    expect(second.get_by_role("heading", name="Next quarter: pre-training")).to_be_visible()
    assert "plan=" not in second.url


# Searches that take their time


@pytest.mark.nightly  # by day test_app_survival.py finds the work again, and test_workers.py keeps the best
@pytest.mark.timeout(600)  # a busy machine adds up for minutes
def test_a_search_of_a_closed_tab_is_found_again_and_cancelled_keeps_its_best(
    new_page: NewPage, app_url: str, long_scenario: Path
) -> None:
    """The address names the work: who comes back by it sees it going on, and may end it.

    So does who brings the same file; both have the same plan then, with how far it may be from the best: not
    nought, or the search had ended itself.
    """
    began = new_page()
    searching(began, app_url, long_scenario)
    expect(began.get_by_test_id("stMetric").filter(has_text="Bound")).to_contain_text("USD")
    assert not found_by_axe(began)
    address = began.url
    began.close()
    by_address, by_file = new_page(), new_page()
    opened(by_address, address)
    opened(by_file, f"{app_url}/plan")
    Visitor(by_file).bring(long_scenario)
    for page in (by_file, by_address):
        expect(page.get_by_text("Best so far", exact=True)).to_be_visible()
    by_address.get_by_role("button", name=CANCEL).click()
    above = {above_the_best(page) for page in (by_address, by_file)}

    for page in (by_address, by_file):
        expect(page.get_by_role("heading", name="Next quarter: pre-training")).to_be_visible()
    assert len(above) == 1
    assert 0 < above.pop() < 5


@pytest.mark.nightly
def test_a_repair_is_one_click_away(page: Page, app_url: str) -> None:
    """20 kW feed two nodes, and ten days are too few: the cheapest way out is planned on a copy."""
    opened(page, f"{app_url}/plan")
    visitor = Visitor(page)
    visitor.bring(CLASH)
    expect(page.get_by_role("heading", name="No plan meets every limit")).to_be_visible()
    assert not found_by_axe(page)
    visitor.press("give way")
    expect(page.get_by_text(OPTIMAL)).to_be_visible()
    expect(page.get_by_role("combobox", name="Scenario")).to_have_value("own_clash-repaired (yours)")
    copy = visitor.take("Scenario (TOML)").decode()

    assert copy != CLASH.read_text(encoding="utf-8")
    assert tomllib.loads(copy)["title"] == "A training run that does not fit (repaired)"


# Looks


@pytest.mark.nightly
def test_a_phone_reaches_every_page_by_its_menu(page: Page, app_url: str) -> None:
    """The menu is closed at first, so that the page is seen; it opens by a button that has a name."""
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, app_url)
    expect(page.get_by_role("link", name="Checkpoints", exact=True)).not_to_be_in_viewport()
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name="Checkpoints", exact=True).click()

    expect(page.get_by_role("heading", name="Checkpoint intervals")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_report_file_opens_anywhere(chromium: Browser, tmp_path: Path, width: int, scheme: Any) -> None:
    """From a disk, without a network: no request but the file, no error, letters of the scheme."""
    file = tmp_path / "plan.html"
    file.write_text(to_html(SAMPLE), encoding="utf-8")
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    requested: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(file.as_uri())
    letters = page.locator("svg text").first.evaluate("text => getComputedStyle(text).fill")
    paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    page.locator("#totals details").first.locator("summary").click()

    assert page.get_by_text("total_usd = 6,352,261 USD").is_visible()
    assert (letters, paper) == {
        "light": ("rgb(28, 35, 33)", "rgb(255, 255, 255)"),
        "dark": ("rgb(230, 235, 233)", "rgb(18, 22, 21)"),
    }[scheme]
    assert page.locator("svg").count() == 9
    assert not scrolls_sideways(page)
    assert (requested, errors) == ([file.as_uri()], [])
    context.close()


def test_a_link_holds_the_scenario_itself(page: Page, app_url: str) -> None:
    """Whoever opens it has the scenario, and shares it by the same link; one that is cut says so."""
    packed = packed_link(SCENARIO.name, SCENARIO.read_text(encoding="utf-8"))
    opened(page, f"{app_url}/plan?open={packed}")
    expect(page.get_by_text(OPTIMAL)).to_be_visible()
    page.get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_text(f"/plan?open={packed}")).to_be_visible()

    opened(page, f"{app_url}/plan?open={packed[:-8]}")
    expect(page.get_by_text("this link holds no scenario: it was cut short")).to_be_visible()
