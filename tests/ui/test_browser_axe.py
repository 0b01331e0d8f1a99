"""Every page by the rules of axe: light, dark and on a phone, as it opens and with its parts opened.

What axe calls serious or critical keeps somebody from reading or using a page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import pytest
from browsing import (
    CLASH,
    LOG,
    SCENARIO,
    TESTS,
    Visitor,
    cut_short,
    found_by_axe,
    opened,
    scrolls_sideways,
    settled,
)
from playwright.sync_api import Page, expect
from sizes import at_night

from planner.ui.frame import ADDRESSES, GROUPS

Look = tuple[Literal["light", "dark"], tuple[int, int]]

DESK, PHONE = (1280, 1300), (390, 844)
# Each theme and each width. Colours are the same at any width, but a phone hides the menu of all pages.
LOOKS: tuple[Look, ...] = (("light", DESK), ("dark", PHONE))
MENU: Look = ("dark", DESK)


def looks(number: int) -> tuple[Look, ...]:
    """Of the page, view or part of that number: both at night, in turn one or the other by day."""
    return LOOKS if at_night() else LOOKS[number % 2 :][:1]


_PAPER_IS = """scheme => {
    const paper = getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor;
    return (parseInt(paper.match(/[0-9]+/)[0]) > 127) === (scheme === 'light');
}"""
_STILL = "() => document.getAnimations().every(one => one.playState !== 'running')"
pytestmark = pytest.mark.browser


def readable(page: Page, name: str = "", each: Sequence[Look] = LOOKS) -> None:
    """In each look nothing that axe finds serious, and nothing that scrolls sideways or is cut short."""
    settled(page)
    for scheme, (width, height) in each:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        page.mouse.move(1, 1)  # or it would hover over something
        page.wait_for_function(_PAPER_IS, arg=scheme)
        page.wait_for_function(_STILL)
        assert not found_by_axe(page), f"{name}, {scheme}, {width} px"
        assert not scrolls_sideways(page), f"{name}, {scheme}, {width} px"
        assert not cut_short(page), f"{name}, {scheme}, {width} px"


@pytest.mark.parametrize("pages", GROUPS.values(), ids=[name or "Start" for name in GROUPS])
@pytest.mark.timeout(300)  # six pages on a busy machine
def test_every_page_as_it_opens(page: Page, app_url: str, pages: Mapping[str, object]) -> None:
    """All pages of the menu, by its groups; one visitor opens them in turn. By day the start shows the menu.

    At night the first page of each group does.
    """
    for number, name in enumerate(pages):
        opened(page, f"{app_url}/{ADDRESSES[name]}")
        shows_the_menu = not number if at_night() else not ADDRESSES[name]
        readable(page, name, (*looks(number), MENU) if shows_the_menu else looks(number))


VIEWS = {
    "scenario": ("Tables", "All inputs", "Import", "Text"),
    "tradeoffs": ("Time and carbon", "Other plans", "Sensitivity"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_of_a_page(page: Page, app_url: str, name: str) -> None:
    """What a page shows when another of its views is chosen; one visitor chooses them in turn."""
    opened(page, f"{app_url}/{name}")
    for number, view in enumerate(VIEWS[name]):
        page.set_viewport_size({"width": DESK[0], "height": DESK[1]})
        page.get_by_role("radio", name=view).click()
        expect(page.get_by_role("radio", name=view)).to_be_checked()
        readable(page, f"{name}, {view}", looks(number))


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
    expect(page.get_by_role("button", name="Start again")).to_be_visible()


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


PARTS = (a_long_why, a_wrong_scenario, a_clash, a_file_before_it_is_used, a_log_that_was_read)


@pytest.mark.parametrize("open_it", PARTS)
def test_parts_that_a_visitor_opens(page: Page, app_url: str, open_it: Callable[[Page, str], None]) -> None:
    open_it(page, app_url)
    readable(page, each=looks(PARTS.index(open_it)))
