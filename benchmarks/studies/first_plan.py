"""How long a newcomer takes: from an empty start to a plan, a job's carbon and a checkpoint interval.

A real Chromium is driven at a person's pace, that of the keystroke-level model (Card, Moran and Newell, The
Psychology of Human-Computer Interaction, 1983): time to think and to point before each interaction, and the
key strokes of an average typist. Told are interactions, and seconds at that pace with all waiting for pages;
the search of the plan stands apart.

Run by `python -m benchmarks.studies.first_plan`. CHROMIUM names a Chromium that is not on the path.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.studies.screenshots import ARGUMENTS, ROOT, served

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

MOST_INTERACTIONS = {"plan": 25, "job carbon": 3, "checkpoint": 3}
MOST_S = 180.0
_DONE = """() => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
    && document.querySelector('[data-testid=stMain] h1')
    && !document.querySelector('[data-testid=stSpinner], [data-testid=stSkeleton]')"""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of a person before an interaction and for a key."""

    think_s: float = 0.0
    key_s: float = 0.0


AT_ONCE = Pace()
PERSON = Pace(think_s=1.35 + 1.1, key_s=0.28)


class Newcomer:
    """Someone at a page; each click, choice, field and file is one interaction."""

    def __init__(self, page: Page, pace: Pace) -> None:
        self.page, self.pace, self.interactions = page, pace, 0

    def _begin(self) -> None:
        self.page.wait_for_function(_DONE, timeout=60_000)
        self.interactions += 1
        self.page.wait_for_timeout(1000 * self.pace.think_s)

    def press(self, button: Locator) -> None:
        """A click, and what it leads to."""
        self._begin()
        button.click()
        self.page.wait_for_timeout(150)  # until the page has heard of it
        self.page.wait_for_function(_DONE, timeout=60_000)

    def choose(self, label: str, words: str) -> None:
        """The first of a list that holds some words, typed."""
        self._begin()
        count = self._entries()
        self.page.get_by_role("combobox", name=label).click()
        self.page.keyboard.type(words, delay=1000 * self.pace.key_s)
        self.page.locator("[role=option]").first.wait_for()
        self.page.keyboard.press("Enter")
        self.page.wait_for_function(f"() => ({_COUNT})() > {count}")

    def pick(self, label: str, words: str) -> None:
        """One of a list that is a setting and no entry."""
        self._begin()
        self.page.get_by_role("combobox", name=label).click()
        self.page.keyboard.type(words, delay=1000 * self.pace.key_s)
        self.page.locator("[role=option]").first.wait_for()
        self.page.keyboard.press("Enter")
        self.page.wait_for_timeout(150)

    def fill(self, label: str, text: str, which: int = 0) -> None:
        """A field."""
        self._begin()
        self.page.get_by_label(label, exact=True).nth(which).click()
        self.page.keyboard.type(text, delay=1000 * self.pace.key_s)
        self.page.keyboard.press("Enter")
        self.page.wait_for_timeout(150)

    def bring(self, path: Path) -> None:
        """A file."""
        self._begin()
        self.page.locator("input[type=file]").set_input_files(path)
        self.page.wait_for_timeout(150)

    def _entries(self) -> int:
        found: int = self.page.evaluate(_COUNT)
        return found


_COUNT = "() => document.querySelectorAll('[class*=\"st-key-begin-remove\"]').length"


def to_the_review(newcomer: Newcomer, url: str) -> None:
    """From the empty start: two sites, 65 nodes, two services, two teams; the rest by defaults."""
    page = newcomer.page
    page.goto(url)
    door = page.locator("[data-testid=stMain]").get_by_role("link", name="Start from nothing")
    door.wait_for()
    newcomer.interactions += 1
    page.wait_for_timeout(1000 * newcomer.pace.think_s)
    door.click()
    page.get_by_role("heading", name="Start from nothing").wait_for()
    newcomer.choose("Add a place", "germany (de)")
    newcomer.choose("Add a place", "aws/eu-north-1")
    newcomer.fill("Power cap", "700 kW")
    newcomer.fill("Power cap", "400 kW", 1)
    newcomer.press(page.get_by_role("button", name="Next: Fleet"))
    newcomer.choose("Add nodes", "h100-8 at de")
    newcomer.choose("Add nodes", "a100-80-8 at eu-north")
    newcomer.fill("Nodes", "40")
    newcomer.fill("Nodes", "25", 1)
    newcomer.fill("In service since", "2024-03")
    newcomer.fill("In service since", "2021", 1)
    newcomer.press(page.get_by_role("button", name="Next: Work"))
    newcomer.choose("Add a model that is served", "llama-3.1-70b")
    newcomer.choose("Add a model that is served", "llama-3.1-8b")
    newcomer.fill("Users", "100k")
    newcomer.fill("Users", "200k", 1)
    newcomer.pick("Kind of work", "team")
    newcomer.choose("Add a model that a team", "llama-3-8b")
    newcomer.choose("Add a model that a team", "qwen3-14b")
    newcomer.fill("People", "20")
    newcomer.fill("People", "10", 1)
    newcomer.press(page.get_by_role("button", name="To the review"))
    page.get_by_text("Nothing is missing, and every value checks.").wait_for()


def to_a_plan(newcomer: Newcomer) -> float:
    """From the review to the plan, once it is found; gives the seconds of the search."""
    page = newcomer.page
    newcomer.press(page.get_by_role("button", name="Plan it"))
    began = time.perf_counter()
    page.get_by_role("heading", name="What to do").first.wait_for(timeout=300_000)
    return time.perf_counter() - began


def job_carbon(newcomer: Newcomer, url: str, job: Path) -> None:
    """From the page to the carbon of a job file."""
    page = newcomer.page
    page.goto(f"{url}/job")
    newcomer.press(page.get_by_text("Bring a job file or metered energy"))
    newcomer.bring(job)
    newcomer.press(page.get_by_role("button", name="Use this file"))


def checkpoint(newcomer: Newcomer, url: str, log: Path) -> None:
    """From the page to the interval of a failure log."""
    page = newcomer.page
    page.goto(f"{url}/checkpoints")
    newcomer.press(page.get_by_text("Failures from a log of your own"))
    newcomer.bring(log)
    newcomer.press(page.get_by_role("button", name="Fit this log"))
    page.get_by_text("The intervals below use it.").wait_for()


def main() -> int:
    """Walk the three paths and print a table."""
    named = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if named is None:
        print("No Chromium is installed (apt install chromium); CHROMIUM may name one.", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    tests = ROOT / "tests"
    rows: list[tuple[str, int, float, float]] = []
    with sync_playwright() as playwright, served() as url:
        browser = playwright.chromium.launch(executable_path=named, args=ARGUMENTS)

        def someone() -> tuple[Newcomer, float]:
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            return Newcomer(page, PERSON), time.perf_counter()

        newcomer, began = someone()
        to_the_review(newcomer, url)
        search_s = to_a_plan(newcomer)
        rows.append(("plan", newcomer.interactions, time.perf_counter() - began - search_s, search_s))
        newcomer, began = someone()
        job_carbon(newcomer, url, tests / "own_job.toml")
        rows.append(("job carbon", newcomer.interactions, time.perf_counter() - began, 0.0))
        newcomer, began = someone()
        checkpoint(newcomer, url, tests / "logs" / "sacct.txt")
        rows.append(("checkpoint", newcomer.interactions, time.perf_counter() - began, 0.0))
        browser.close()
    print(f"{'path':<12}{'interactions':>14}{'at most':>9}{'seconds':>9}{'search':>8}")
    for name, count, took_s, search_s in rows:
        print(f"{name:<12}{count:>14}{MOST_INTERACTIONS[name]:>9}{took_s:>9.0f}{search_s:>8.0f}")
    kept = all(count <= MOST_INTERACTIONS[name] and took_s <= MOST_S for name, count, took_s, _ in rows)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
