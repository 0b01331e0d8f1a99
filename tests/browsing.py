"""What the tests in a browser share: a visitor whose interactions are counted, and waiting for a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, Response, expect

TESTS = Path(__file__).resolve().parent
SCENARIO, CLASH = TESTS / "own_scenario.toml", TESTS / "own_clash.toml"
JOB, LOG = TESTS / "own_job.toml", TESTS / "logs" / "sacct.txt"
ROW_PX, HEADING_PX = 35, 35  # of a table
PATIENCE_MS = 60_000  # a busy machine takes its time to draw, and more to plan
OPTIMAL = "No better plan exists for these facts."

_DONE = """() => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
    && document.querySelector('[data-testid=stMain] h1')
    && !document.querySelector('[data-testid=stSpinner], [data-testid=stSkeleton]')"""
_WIDER = """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
    .some(part => part && part.scrollWidth > part.clientWidth)"""

# Text of the page that its place is too narrow for; what only a screen reader is given is one pixel wide.
_CUT = """() => [...document.querySelectorAll('[data-testid=stMain] *')].filter(part => {
    if (part.closest('canvas, svg, input, table') || !part.checkVisibility()) return false;
    const {overflowX, textOverflow} = getComputedStyle(part);
    const words = [...part.childNodes].some(one => one.nodeType === Node.TEXT_NODE && one.data.trim());
    const hides = ['hidden', 'clip'].includes(overflowX) && (words || textOverflow === 'ellipsis');
    return hides && part.clientWidth > 1 && part.scrollWidth > part.clientWidth + 1;
}).map(part => part.textContent)"""


class Visitor:
    """Someone at a page, and how often they clicked, brought a file or took one along."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.interactions = 0

    def click(self, what: Locator) -> None:
        """One click."""
        self.interactions += 1
        what.click()

    def press(self, name: str) -> None:
        """A click on the first button of a name, once the page is still: a run that ends may lose it."""
        settled(self.page)
        self.click(self.page.get_by_role("button", name=name).first)

    def bring(self, *paths: Path) -> None:
        """Files through the one place for files that the page shows, until the server has them all.

        A server that has just lost the connection of the page refuses a file, which the page shows below its
        name: no run of the page can come then.
        """
        self.interactions += 1
        answers: list[Response] = []

        def all_came(answer: Response) -> bool:
            if answer.request.method == "PUT" and "/upload_file/" in answer.url:
                answers.append(answer)
            return len(answers) == len(paths)

        with self.page.expect_response(all_came):
            self.page.locator("input[type=file]").set_input_files(paths)
        refused = [f"{answer.status} {answer.text()}" for answer in answers if not answer.ok]
        assert not refused, refused

    def take(self, name: str) -> bytes:
        """The file behind a button, as the page stands once it is done."""
        settled(self.page)
        with self.page.expect_download() as taken:
            self.press(name)
        return taken.value.path().read_bytes()


def settled(page: Page) -> None:
    """Wait until the page runs no more."""
    page.wait_for_function(_DONE, timeout=PATIENCE_MS)


def opened(page: Page, address: str) -> None:
    """Go to an address and wait for what stands there."""
    page.goto(address)
    settled(page)


def at_rest(table: Locator) -> Locator:
    """The same table, once nothing moves it any more: an expander unfolds, a chart above is being drawn."""
    table.locator("canvas").first.wait_for()
    before = None
    while before != (now := table.bounding_box()):
        before = now
        table.page.wait_for_timeout(200)  # ms
    return table


def go_to_cell(table: Locator, *, column: int, row: int = 0) -> None:
    """Click the first cell of a row and go right by the keys.

    The table is one picture; the words behind it say which cell is chosen: each step waits for the last one.
    """
    at_rest(table).click(position={"x": 40, "y": HEADING_PX + ROW_PX * (row + 0.5)})
    for now in range(column + 1):
        if now:
            table.page.keyboard.press("ArrowRight")
        chosen = table.locator("[role=gridcell][aria-selected=true]")
        expect(chosen).to_have_attribute("aria-colindex", str(now + 1))
        settled(table.page)


def scrolls_sideways(page: Page) -> bool:
    """Whether the page, or the part of it that Streamlit scrolls, is wider than the window."""
    return bool(page.evaluate(_WIDER))


def cut_short(page: Page) -> list[str]:
    """Texts of which the window shows only the beginning."""
    found: list[str] = page.evaluate(_CUT)
    return found


def found_by_axe(page: Page) -> list[str]:
    """What axe finds serious or critical, with the first element of each."""
    violations: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}: {one['nodes'][0]['failureSummary']}"
        for one in violations
        if one["impact"] in ("serious", "critical")
    ]


def plan_of_own(page: Page, app_url: str, file: Path = SCENARIO) -> None:
    """Bring a scenario to the page of plans and wait for its answer."""
    opened(page, f"{app_url}/plan")
    Visitor(page).bring(file)
    expect(page.get_by_text(OPTIMAL)).to_be_visible(timeout=PATIENCE_MS)


def address_of_plan(page: Page) -> str:
    """The address that names the saved plan on the page."""
    expect(page.get_by_text("Saved. It comes back by this end of the address")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?plan=[0-9a-f]{64}$"))
    return page.url


def open_tree(page: Page) -> None:
    """Below the sentences and the small table of a number: every step, down to the sources."""
    label = page.locator("label").filter(has_text="Every step, down to the sources")
    label.locator("visible=true").first.click()
    settled(page)
