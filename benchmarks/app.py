"""The app: how soon a page is there, how quickly it follows, and many visitors at once.

`python -m benchmarks.app [--quick]` measures the app alone and prints its part of the page.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from benchmarks.clock import Record, spread
from benchmarks.page import app_lines
from benchmarks.serving import Served, app_served
from benchmarks.sessions import Session
from planner.ui.frame import ADDRESSES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
# What a visitor waits for: the first chart; on a page that has none, all of it.
FIRST_SHOWN = """() => {
    const chart = '[data-testid=stVegaLiteChart]';
    if (document.querySelector(chart + ' svg')) return 'chart';
    const app = document.querySelector('[data-testid=stApp]');
    const ended = app && app.dataset.testScriptState === 'notRunning' && document.querySelector('h1');
    const coming = document.querySelector(chart + ', [data-testid=stSkeleton]');
    return ended && !coming ? 'page' : false;
}"""
CHOICES = "[data-testid=stButtonGroup] button, [role=tab]"
# Page -> what is clicked on it by turns, each of which runs the page anew. The others have nothing to choose.
CLICKED = {
    "scenario": ("All inputs", "Main inputs"),
    "plan": ("Why this plan", "In short"),
    "tradeoffs": ("Time and carbon", "Money and carbon"),
    "futures": ("Replay", "One plan for all"),
    "compare": ("Carbon", "Cost"),
    "job": ("For a model card", "What it is made of"),
    "throughput": ("Carbon of a million", "Money of a million"),
    "checkpoints": ("carbon per useful hour", "share of time that trains"),
    "failures": ("Rate and causes", "Lifetimes"),
    "accuracy": ("Chip generation", "What is modelled"),
}
# Pages that many visitors open by turns: each has a scenario of its own, and none begins a solve.
CROWD_PAGES = ("scenario", "checkpoints", "failures", "sources", "compare", "tradeoffs")
PATIENCE_MS = 60_000
PAUSE_MS, LOST_MS = 500, 10_000
ENDED = "document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'"
# Notes when a run of the page's script begins and ends, as Streamlit tells it to the tests.
WATCHED = """() => {
    const app = document.querySelector('[data-testid=stApp]');
    window.ended = 0;
    const told = records => {
        const ran = records.some(one => one.oldValue === 'running');
        if (ran && app.dataset.testScriptState === 'notRunning') window.ended = performance.now();
    };
    const watched = {attributes: true, attributeOldValue: true, attributeFilter: ['data-test-script-state']};
    new MutationObserver(told).observe(app, watched);
}"""
CLICK = """([choices, label]) => {
    window.ended = 0;
    window.began = performance.now();
    [...document.querySelectorAll(choices)].find(one => one.textContent.includes(label)).click();
}"""


def app_measured(*, quick: bool) -> Record:
    """Everything; the server is warm when its scripts are timed, and so is the crowd's."""
    with app_served() as served:
        runs = [_runs(served, page, 3 if quick else 20) for page in ADDRESSES]
        browser = _in_browser(served.url, 1 if quick else 3, 2 if quick else 20)
        together = crowd(served, visitors=5 if quick else 50, rounds=2 if quick else 6)
    return {"pages": runs, "browser": browser, "crowd": together}


def _runs(served: Served, page: str, repeats: int) -> Record:
    """Runs of one page for one visitor, after the first of the server and of the visitor."""
    with Session(served.url) as visitor:
        first = _whole(visitor, page)
        before = served.cpu_s()
        seconds = [_whole(visitor, page) for _ in range(repeats)]
        after = served.cpu_s()
    cpu_s = None if before is None or after is None else (after - before) / repeats
    return {"page": page, "first_s": first, "cpu_s": cpu_s, "s": _shares(seconds)}


def _whole(visitor: Session, page: str) -> float:
    """Seconds of a run that came to its end.

    Raises:
        RuntimeError: the page showed an error instead: it would be quick for a wrong reason.
    """
    run = visitor.run(ADDRESSES[page])
    if run.failed():
        raise RuntimeError(f"the page {page} failed")
    return run.seconds


def _shares(seconds: Sequence[float]) -> Record:
    """The middle, and what 95 of 100 stay below."""
    last = statistics.quantiles(seconds, n=20, method="inclusive")[-1]
    return {"p50": statistics.median(seconds), "p95": last, "count": len(seconds)}


# In a browser


def _in_browser(url: str, repeats: int, clicks: int) -> Record | None:
    """First charts and re-runs as a visitor sees them; None where no Chromium is installed."""
    named = os.environ.get("CHROMIUM")
    found = named or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if found is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=CHROMIUM_ARGUMENTS)
        first = [_first_shown(browser, url, page, repeats) for page in ADDRESSES]
        reruns = [_reruns(browser, url, page, clicks) for page in CLICKED]
        browser.close()
    return {"first": first, "reruns": reruns}


def _opened(browser: Browser, url: str, page: str) -> tuple[Page, str]:
    """A page in a fresh context, with nothing of it kept from before, and what was waited for."""
    tab = browser.new_context(viewport={"width": 1280, "height": 1300}).new_page()
    tab.goto(f"{url}/{ADDRESSES[page]}")
    return tab, str(tab.wait_for_function(FIRST_SHOWN, timeout=PATIENCE_MS).json_value())


def _first_shown(browser: Browser, url: str, page: str, repeats: int) -> Record:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        tab, shown = _opened(browser, url, page)
        seconds.append(time.perf_counter() - began)
        tab.context.close()
    return {"page": page, "shown": shown, "s": spread(seconds)}


def _reruns(browser: Browser, url: str, page: str, clicks: int) -> Record:
    """From a click to the end of the run that it brings about; the first of each choice is left out."""
    tab, _ = _opened(browser, url, page)
    labels = CLICKED[page]
    for label in labels:
        tab.locator(CHOICES, has_text=label).first.wait_for(timeout=PATIENCE_MS)
    tab.wait_for_function(ENDED, timeout=PATIENCE_MS)
    tab.evaluate(WATCHED)
    read = [_rerun_s(tab, labels[number % len(labels)]) for number in range(clicks + len(labels))]
    tab.context.close()
    seconds = [one for one in read[len(labels) :] if one is not None]
    return {"page": page, "lost": clicks - len(seconds), "s": _shares(seconds)}


def _rerun_s(tab: Page, label: str) -> float | None:
    """One click; None where nothing came of it: one that meets a page that is being drawn is lost."""
    from playwright.sync_api import TimeoutError as Lost

    tab.wait_for_timeout(PAUSE_MS)
    tab.evaluate(CLICK, [CHOICES, label])
    try:
        tab.wait_for_function("window.ended > 0", timeout=LOST_MS)
    except Lost:
        return None
    return float(tab.evaluate("(window.ended - window.began) / 1000"))


# Many at once


def crowd(served: Served, *, visitors: int, rounds: int) -> Record:
    """Visitors side by side, each with a scenario of its own, whose title no other one may ever be sent."""
    before = served.resident_mb()
    ready = threading.Barrier(visitors + 1)
    with ThreadPoolExecutor(visitors) as pool:
        going = [
            pool.submit(_visit, served.url, number, visitors, rounds, ready) for number in range(visitors)
        ]
        ready.wait()
        began = time.perf_counter()
        visits = [one.result() for one in going]
        seconds = time.perf_counter() - began
    times = [each for visit in visits for each in visit["s"]]
    return {
        "visitors": visitors,
        "runs": len(times),
        "runs_per_s": len(times) / seconds,
        "s": _shares(times),
        "leaks": sum(visit["leaks"] for visit in visits),
        "failed": sum(visit["failed"] for visit in visits),
        "before_mb": before,
        "after_mb": served.resident_mb(),
    }


def marker(number: int) -> str:
    """A word that stands in the scenario of one visitor only."""
    return f"visitor{number:05d}marker"


def _visit(url: str, number: int, visitors: int, rounds: int, ready: threading.Barrier) -> Record:
    """One visitor's pages. Begins with the others, once its scenario has its title."""
    others = [marker(other) for other in range(visitors) if other != number]
    seen: Record = {"s": [], "leaks": 0, "failed": 0}
    with Session(url) as visitor:
        own_title(visitor, marker(number))
        ready.wait()
        for turn in range(rounds):
            page = CROWD_PAGES[(number + turn) % len(CROWD_PAGES)]
            run = visitor.run(page)
            seen["s"].append(run.seconds)
            seen["leaks"] += any(run.holds(other) for other in others)
            seen["failed"] += run.failed()
        # A page that lost its visitor's scenario has mixed sessions up too.
        seen["leaks"] += not visitor.run("scenario").holds(marker(number))
    return seen


def own_title(visitor: Session, title: str, own: str = "") -> None:
    """Give a visitor's scenario a title, as somebody does who edits its text.

    Args:
        visitor: whose scenario it is.
        title: what its title shall begin with.
        own: text of another scenario to take the place of the one that stands.
    """

    def chosen(state: Any) -> None:
        state.string_array_value.data.append("Text")

    visitor.set(visitor.run("scenario").widget("button_group", "View"), chosen)
    area = visitor.run("scenario").widget("text_area", "Scenario as TOML; Ctrl+Enter takes it")
    text = (own or area.default).replace('title = "', f'title = "{title} ', 1)
    visitor.set(area, lambda state: setattr(state, "string_value", text))
    if not visitor.run("scenario").holds(title):
        raise RuntimeError("the page Scenario did not take a title")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.app")
    parser.add_argument("--quick", action="store_true", help="few repeats: does it run?")
    print("\n".join(app_lines(app_measured(quick=parser.parse_args().quick))))
