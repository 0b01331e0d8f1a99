"""Every page by the rules of axe: light, dark and on a phone, as it opens and with its parts opened.

What axe calls serious or critical keeps somebody from reading or using a page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
from browsing import CLASH, LOG, SCENARIO, TESTS, Visitor, found_by_axe, opened, scrolls_sideways, settled
from playwright.sync_api import Page, expect

PAGES = (
    "",
    "begin",
    "scenario",
    "plan",
    "tradeoffs",
    "futures",
    "compare",
    "job",
    "throughput",
    "checkpoints",
    "failures",
    "sources",
    "accuracy",
)
DESK, PHONE = (1280, 1300), (390, 844)
LOOKS: tuple[tuple[Literal["light", "dark"], tuple[int, int]], ...] = (
    ("light", DESK),
    ("dark", DESK),
    ("dark", PHONE),
)
_PAPER_IS = """scheme => {
    const paper = getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor;
    return (parseInt(paper.match(/[0-9]+/)[0]) > 127) === (scheme === 'light');
}"""
_STILL = "() => document.getAnimations().every(one => one.playState !== 'running')"
pytestmark = pytest.mark.browser


def readable(page: Page) -> None:
    """In each look nothing that axe finds serious, and nothing that scrolls sideways."""
    settled(page)
    for scheme, (width, height) in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        page.mouse.move(1, 1)  # or it would hover over something
        page.wait_for_function(_PAPER_IS, arg=scheme)
        page.wait_for_function(_STILL)
        assert not found_by_axe(page), f"{scheme}, {width} px"
        assert not scrolls_sideways(page), f"{scheme}, {width} px"


@pytest.mark.parametrize("name", PAGES, ids=lambda name: name or "start")
def test_every_page_as_it_opens(page: Page, app_url: str, name: str) -> None:
    opened(page, f"{app_url}/{name}")
    readable(page)


@pytest.mark.parametrize("view", ["Tables", "All inputs", "Import", "Text"])
def test_every_view_of_a_scenario(page: Page, app_url: str, view: str) -> None:
    opened(page, f"{app_url}/scenario")
    page.get_by_role("radio", name=view).click()
    readable(page)


@pytest.mark.parametrize("view", ["Time and carbon", "Other plans", "Sensitivity"])
def test_every_view_of_what_is_traded(page: Page, app_url: str, view: str) -> None:
    opened(page, f"{app_url}/tradeoffs")
    page.get_by_role("radio", name=view).click()
    readable(page)


def a_long_why(page: Page, app_url: str) -> None:
    """A number opened whose explanation scrolls in its place."""
    opened(page, f"{app_url}/plan")
    page.get_by_role("button", name="why?").first.click()
    page.get_by_text("Every step, down to the sources").first.click()
    expect(page.get_by_text("Source: user cost of capital").first).to_be_visible()


def a_wrong_scenario(page: Page, app_url: str) -> None:
    """Every problem of a file, in an error."""
    opened(page, f"{app_url}/plan")
    Visitor(page).bring(TESTS / "broken" / "many-problems.toml")
    expect(page.get_by_role("button", name="Begin anew")).to_be_visible()


def a_clash(page: Page, app_url: str) -> None:
    """No plan, with ways out."""
    opened(page, f"{app_url}/plan")
    Visitor(page).bring(CLASH)
    expect(page.get_by_role("heading", name="No plan meets every limit")).to_be_visible()


def a_file_before_it_is_used(page: Page, app_url: str) -> None:
    """What was recognised in a scenario, and the button that takes it."""
    opened(page, f"{app_url}/scenario")
    visitor = Visitor(page)
    visitor.click(page.get_by_role("radio", name="Import"))
    visitor.click(page.get_by_role("radio", name="My scenario"))
    settled(page)
    visitor.bring(SCENARIO)
    expect(page.get_by_role("button", name="Use it")).to_be_visible()


def a_log_that_was_read(page: Page, app_url: str) -> None:
    """A log with what was recognised, in an opened part of the page."""
    opened(page, f"{app_url}/checkpoints")
    visitor = Visitor(page)
    visitor.click(page.get_by_text("Failures from a log of your own"))
    visitor.bring(LOG)
    expect(page.get_by_role("button", name="Fit this log")).to_be_visible()


@pytest.mark.parametrize(
    "open_it", [a_long_why, a_wrong_scenario, a_clash, a_file_before_it_is_used, a_log_that_was_read]
)
def test_parts_that_a_visitor_opens(page: Page, app_url: str, open_it: Callable[[Page, str], None]) -> None:
    open_it(page, app_url)
    readable(page)
