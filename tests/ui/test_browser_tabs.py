"""The tabs of long pages in a real Chromium: what is made out of sight is whole once it is seen."""

from __future__ import annotations

import pytest
from browsing import cut_short, opened, scrolls_sideways, settled
from playwright.sync_api import Page
from test_browser_axe import found_by_axe

NARROWEST_PX = 150  # of a chart on a phone; one that is drawn out of sight and never again has no width
pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", ["plan", "failures", "job", "checkpoints"])
def test_each_tab_is_drawn_and_readable_on_a_phone_in_the_dark(page: Page, app_url: str, name: str) -> None:
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, f"{app_url}/{name}")
    for tab in page.get_by_role("tab").all():
        tab.click()
        settled(page)
        panel = page.locator("[role=tabpanel]:visible")
        panel.first.wait_for()
        page.wait_for_timeout(300)  # ms; the mark below the tab moves, and charts are drawn

        for chart in panel.locator("[data-testid=stVegaLiteChart] svg").all():
            box = chart.bounding_box()
            assert box is not None, tab.inner_text()
            assert box["width"] > NARROWEST_PX, tab.inner_text()
        assert not found_by_axe(page), tab.inner_text()
        assert not scrolls_sideways(page), tab.inner_text()
        assert not cut_short(page), tab.inner_text()


def test_figures_on_a_phone_are_whole(page: Page, app_url: str) -> None:
    """By day on the page with the longest units; at night every page and tab is looked at so."""
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, f"{app_url}/job")
    page.get_by_text("kgCO2e/h", exact=False).first.wait_for()

    assert not cut_short(page)


def test_a_tab_is_sent_without_the_page_around_it(page: Page, app_url: str) -> None:
    """The switches above the tabs come with the page, and not again; the part that is opened does."""
    frames: list[bytes] = []
    page.on("websocket", lambda one: one.on("framereceived", lambda sent: frames.append(_bytes(sent))))
    opened(page, f"{app_url}/job")
    assert any(b"What is counted, phase by phase" in one for one in frames)
    frames.clear()
    page.get_by_role("tab", name="What would change it").click()
    settled(page)
    page.get_by_text("What is least certain").wait_for()

    assert frames
    assert not any(b"What is counted, phase by phase" in one for one in frames)


def _bytes(sent: str | bytes) -> bytes:
    return sent.encode() if isinstance(sent, str) else sent
