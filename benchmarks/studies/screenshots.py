"""Draws the pictures of the documentation: pages of the app, by an installed Chromium.

Run by `make screenshots`. CHROMIUM names a Chromium that is not on the path. With a folder, every page in
both themes, on a desk and on a phone, is drawn there instead, to be looked at: `FOLDER [PAGE...]`.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Scheme = Literal["light", "dark"]
ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
CHART = "[data-testid=stVegaLiteChart] svg"
WHOLE_PX = 3000
DOCUMENTED = ("plan", "job", "checkpoints")
# Page -> height of the picture, and what is there once the page is drawn.
PAGES = {
    "start": (1330, CHART),
    "begin": (900, "[data-testid=stSelectbox]"),
    "scenario": (1300, "[data-testid=stTextInput]"),
    "plan": (1500, CHART),
    "tradeoffs": (1000, f"{CHART}, button:has-text('Find the front')"),
    "futures": (1000, "button:has-text('Plan for all of them')"),
    "compare": (1500, CHART),
    "job": (1500, CHART),
    "track": (1500, CHART),
    "throughput": (1500, CHART),
    "placement": (1500, CHART),
    "checkpoints": (1500, CHART),
    "failures": (1500, CHART),
    "sources": (1300, "[data-testid=stDataFrame]"),
    "accuracy": (1500, CHART),
}
LOOKS: tuple[tuple[Scheme, int, int], ...] = (
    ("light", 1280, 800),
    ("dark", 1280, 800),
    ("light", 390, 844),
    ("dark", 390, 844),
)


def main() -> int:
    """Serve, photograph."""
    named = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if named is None:
        print("No Chromium is installed (apt install chromium); CHROMIUM may name one.", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=named, args=ARGUMENTS)
        if sys.argv[1:]:
            folder, *names = sys.argv[1:]
            every_look(browser, Path(folder), names or list(PAGES))
        else:
            documented(browser)
        browser.close()
    return 0


def documented(browser: Browser) -> None:
    """The pages that the documentation shows, in light."""
    with served() as url:
        for name in DOCUMENTED:
            height, drawn = PAGES[name]
            shoot(browser, f"{url}/{name}", name, 1280, height, "light", drawn)


def every_look(browser: Browser, folder: Path, names: list[str]) -> None:
    """Pages in both themes and widths: the first screen alone, and the whole page."""
    folder.mkdir(parents=True, exist_ok=True)
    with served() as url:
        for name in names:
            address = f"{url}/{'' if name == 'start' else name}"
            for scheme, width, height in LOOKS:
                picture = f"{name}-{width}-{scheme}"
                shoot(browser, address, picture, width, height, scheme, PAGES[name][1], folder, whole=True)


def shoot(
    browser: Browser,
    url: str,
    name: str,
    width: int,
    height: int,
    scheme: Scheme,
    drawn: str,
    folder: Path = IMAGES,
    *,
    whole: bool = False,
) -> None:
    """One picture, once a chart is drawn and nothing runs; with `whole`, one of the whole page next to it."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector(drawn, timeout=180_000)
    page.wait_for_function(
        "() => !document.querySelector('[data-testid=stStatusWidget], [data-testid=stSpinner]')",
        timeout=180_000,
    )
    page.wait_for_timeout(1500)
    page.screenshot(path=folder / f"{name}.png")
    if whole:
        page.set_viewport_size({"width": width, "height": WHOLE_PX})
        page.wait_for_timeout(1500)
        page.screenshot(path=folder / f"{name}-whole.png")
    context.close()
    print(folder / f"{name}.png", flush=True)


@contextmanager
def served() -> Iterator[str]:
    """The app on a free port, with a store of its own: no plan of the user's is in a picture."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={url.rpartition(':')[2]}"]
    with tempfile.TemporaryDirectory() as folder:
        own = os.environ | {"EVERFLEET_STORE": f"{folder}/plans.sqlite"}
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, env=own) as server:
            try:
                wait_for(f"{url}/_stcore/health")
                yield url
            finally:
                server.terminate()


def wait_for(url: str, patience_s: float = 60.0) -> None:
    """Until the address answers."""
    give_up = time.monotonic() + patience_s
    while True:
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except OSError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.25)


if __name__ == "__main__":
    sys.exit(main())
