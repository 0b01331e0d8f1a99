"""Tables of Checkpoints and Failures in a real Chromium: a number is chosen by keys and opened."""

from __future__ import annotations

import pytest
from browsing import go_to_cell, open_tree, opened, scrolls_sideways, settled
from playwright.sync_api import Page, expect
from test_browser_axe import found_by_axe

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("address", "tab", "table", "column", "top"),
    [
        ("checkpoints", "Policies side by side", 0, 2, "in min = 55.093"),
        ("failures", "", 1, 2, "aic = 4,686.18"),
    ],
)
def test_a_number_is_opened_by_keys(
    page: Page, app_url: str, address: str, tab: str, table: int, column: int, top: str
) -> None:
    """On a phone in the dark: the tree stands below its table, no wider than the page, and reads well."""
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, f"{app_url}/{address}")
    if tab:
        page.get_by_role("tab", name=tab).click()
        settled(page)
    page.locator("[data-testid=stVegaLiteChart] svg:visible").first.wait_for()
    go_to_cell(page.get_by_test_id("stDataFrame").nth(table), column=column)
    open_tree(page)

    expect(page.get_by_test_id("stCode").filter(has_text=top).first).to_be_visible()
    assert not found_by_axe(page)
    assert not scrolls_sideways(page)
