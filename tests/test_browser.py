"""The app and the report in a real Chromium: what a visitor sees, clicks and carries away."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import _wait_until_healthy
from test_app import checkpoint_sample

from planner.report import to_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = json.loads((ROOT / "tests" / "sample_plan.json").read_text(encoding="utf-8"))
pytestmark = pytest.mark.browser

# The app itself, on sample documents: these tests are of the pages, and a solve would only make them slow.
LAUNCHER = """
import json, runpy
from pathlib import Path
from planner.ui import shared

here = Path(__file__).parent
shared.load_plan = lambda text, name: json.loads((here / "plan.json").read_text(encoding="utf-8"))
shared.load_checkpoints = lambda **inputs: json.loads((here / "checkpoints.json").read_text(encoding="utf-8"))
runpy.run_path({app!r}, run_name="__main__")
"""


@pytest.fixture(scope="module")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on sample documents, on a free port of this machine."""
    folder = tmp_path_factory.mktemp("app")
    (folder / "plan.json").write_text(json.dumps(SAMPLE), encoding="utf-8")
    (folder / "checkpoints.json").write_text(json.dumps(checkpoint_sample()), encoding="utf-8")
    script = folder / "launch.py"
    script.write_text(LAUNCHER.format(app=str(ROOT / "app.py")), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        _wait_until_healthy(f"http://127.0.0.1:{port}", server)
        yield f"http://127.0.0.1:{port}"
        server.terminate()


@contextlib.contextmanager
def silent_console(page: Page) -> Iterator[None]:
    """Fails where the page wrote an error to the console."""
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield
    assert not errors, errors


def scrolls_sideways(page: Page) -> bool:
    """Whether the page, or the part of it that Streamlit scrolls, is wider than the window."""
    script = """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
        .some(part => part && part.scrollWidth > part.clientWidth)"""
    return bool(page.evaluate(script))


def wait_for_charts(page: Page, count: int) -> None:
    page.wait_for_function(
        "count => document.querySelectorAll('[data-testid=stVegaLiteChart] svg').length >= count", arg=count
    )


def test_from_start_to_the_source_of_the_cost(page: Page, app_url: str) -> None:
    """The first page is a solved plan; a door and one click later the cost lies open."""
    with silent_console(page):
        page.goto(app_url)
        wait_for_charts(page, 1)
        page.get_by_text("6.352 MUSD", exact=True).wait_for()
        bars = page.locator("[data-testid=stVegaLiteChart] svg .mark-rect path")
        assert bars.count() == 13, "one bar for each site, period and SKU in service"

        page.get_by_role("link", name="Plan the next quarter").click()
        wait_for_charts(page, 7)
        page.get_by_role("button", name="why?").first.click()
        page.get_by_text("total_usd = 6,352,261 USD").wait_for()
        assert page.get_by_text("C = sum of terms").is_visible()


def test_the_door_to_one_job_opens_its_page(page: Page, app_url: str) -> None:
    page.goto(app_url)
    page.get_by_role("link", name="Carbon of one training job").click()
    page.get_by_role("heading", name="Carbon of a job").wait_for()

    assert page.url.endswith("/job")


def test_the_report_is_carried_away(page: Page, app_url: str) -> None:
    """The file that the browser saves is the file that the command writes."""
    page.goto(app_url)
    page.get_by_role("link", name="Plan", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Report (HTML)").click()

    assert Path(saved.value.path()).read_text(encoding="utf-8") == to_html(SAMPLE)


def test_checkpoint_curve_and_its_other_measures(page: Page, app_url: str) -> None:
    with silent_console(page):
        page.goto(app_url)
        page.get_by_role("link", name="Compare checkpoint intervals").click()
        wait_for_charts(page, 1)
        chart = page.locator("[data-testid=stVegaLiteChart] svg")
        chart.get_by_text("ETTR (%)").wait_for()
        page.get_by_text("carbon per useful hour (kg CO2e)", exact=True).first.click()
        chart.get_by_text("carbon per useful hour").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_never_scrolls_sideways(chromium: Browser, app_url: str, scheme: str) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    for name, count in (("", 1), ("plan", 7), ("checkpoints", 1)):
        page.goto(f"{app_url}/{name}")
        wait_for_charts(page, count)
        assert not scrolls_sideways(page), name or "start"
    context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_report_file_opens_anywhere(chromium: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    """From a disk, without a network: no request but the file, no error, letters of the scheme."""
    file = tmp_path / "plan.html"
    file.write_text(to_html(SAMPLE), encoding="utf-8")
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )  # type: ignore[arg-type]
    page = context.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    with silent_console(page):
        page.goto(file.as_uri())
        letters = page.locator("svg text").first.evaluate("text => getComputedStyle(text).fill")
        paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        page.locator("#totals details").first.locator("summary").click()

        assert page.get_by_text("total_usd = 6,352,261 USD").is_visible()
        assert (letters, paper) == {
            "light": ("rgb(28, 35, 33)", "rgb(255, 255, 255)"),
            "dark": ("rgb(230, 235, 233)", "rgb(18, 22, 21)"),
        }[scheme]
        assert page.locator("svg").count() == 7
        assert not scrolls_sideways(page)
    assert requested == [file.as_uri()]
    context.close()
