"""What tests share: how examples are drawn, where files are, and a browser."""

from __future__ import annotations

import atexit
import fcntl
import gc
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import vl_convert
from hypothesis import settings
from sizes import NIGHTLY, at_night, few_ranges, size

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, ViewportSize

ROOT = Path(__file__).resolve().parents[1]

# Byte code is kept even where the environment says not to: to rewrite the assertions of every file takes as
# long as a room of tests, and the programs that tests start would be compiled at each start.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["EVERFLEET_SEARCHES"] = ""  # what a test plans is searched; those of the memory name a folder
# Each process has a core of its own: on matrices as small as ours, threads only wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Documents are made of many small parts that stay: they are looked through for garbage less often.
gc.set_threshold(50_000, 10, 10)

# The same examples on each run, so that a change is judged by what it changed; HYPOTHESIS_PROFILE=explore
# looks for new ones. No deadline: a busy machine is not a defect.
settings.register_profile("repeat", derandomize=True, deadline=None, max_examples=size(40, nightly=100))
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

VIEWPORT: ViewportSize = {"width": 1280, "height": 1300}
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",  # the tests may run as root, on a machine of their own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


# Rooms and files whose every test is of a kind; the rest are marked where they stand.
MARKED_PATHS = {
    "app": ("ui/*",),
    "browser": ("ui/test_browser_*",),
    "simulation": ("reliability/*_simulation.py", "reliability/*_variation.py"),
    "solve": (
        "solver/*",
        "program/*",
        "answers/test_plan_*",
        "answers/test_sweeps.py",
        "answers/test_tradeoffs.py",
        "house/test_savings.py",
        "house/test_tutorial.py",
        "report/*",
        "cli/*",
        "store/*",
        "notebook/test_notebook_answers.py",
        "notebook/test_notebook_documents.py",
        "notebook/test_notebook_pages.py",
    ),
    "slow": ("serve/*", "answers/test_checkpoint_cells.py", "answers/test_failure_cells.py"),
}
MARKED_FIXTURES = {"browser": "chromium", "package": "built"}
KINDS = {*MARKED_PATHS, *MARKED_FIXTURES}
# Rooms that document plans and jobs.
DRAWING = (
    "answers/",
    "cli/",
    "inputs/test_model_cards",
    "inputs/test_own_facts",
    "notebook/",
    "program/",
    "report/",
    "store/",
    "ui/",
    "validation/test_peers_page",
)
# What results of `planner.performance` that are remembered rest on.
PHYSICS = (
    "carbon",
    "planner.inputs",
    "planner.performance",
    "planner.physics",
    "planner.trace",
    "reliability",
)
VEGALITE_TO_SVG = vl_convert.vegalite_to_svg
BLANK_SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'
SLOW_S = 0.25  # above it a test is `slow`
PATIENCE_S = 3.0  # above it an unmarked one fails: first imports count too, and a busy machine


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="draw, play and try more where a test can")
    parser.addoption("--quick", action="store_true", help="only what is of none of the kinds that take time")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("nightly"):
        os.environ[NIGHTLY] = "1"
    if config.args == config.getini("testpaths"):
        config.args = _rooms_in_turn(getattr(config, "workerinput", {"workerid": "gw0", "workercount": 1}))
    atexit.register(_end_in_silence)


def _rooms_in_turn(worker: dict[str, Any]) -> list[str]:
    """Folders of tests, from another one on in each process: what one has compiled, the others only load.

    To rewrite the assertions of all files takes longer than anything else of collecting them.
    """
    rooms = sorted({path.parent.as_posix() for path in (ROOT / "tests").glob("*/test_*.py")})
    first = int(worker["workerid"].removeprefix("gw")) * len(rooms) // worker["workercount"]
    return rooms[first:] + rooms[:first]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file stays in one process, and so do all files of the browser: they share its page and a server."""
    from xdist.scheduler import LoadFileScheduling

    class OneBrowser(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            place: str = super()._split_scope(nodeid)
            return "the browser" if "test_browser_" in place else place

    return OneBrowser(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files unread whose every test takes time, where only the quick ones are asked for."""
    if config.getoption("quick") and collection_path.suffix == ".py" and _kinds_of(collection_path):
        return True
    return None


def _end_in_silence() -> None:
    """The last words are pytest's summary: nothing of what ends after Python is written below it.

    A thread that waits for ever, as those of pages do, holds what it used when the interpreter ends. Nothing
    is lost by that, but DuckDB's binding lists all that it still has, line by line, and has no switch for it.
    """
    sys.stderr.flush()
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not asked for, and mark each other test by where it lies and what it asks for.

    The browser, which waits longest, comes first, then files with any test that takes its time: the last ones
    are short, so that no process works on alone.
    """
    if not at_night():
        _leave_out(config, items, _is_for_the_night)
    for item in items:
        for kind in _kinds_of(item.path):
            item.add_marker(kind)
        for kind, fixture in MARKED_FIXTURES.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(kind)
    if config.getoption("quick"):
        _leave_out(config, items, _takes_time)
    long = {item.path for item in items if _takes_time(item)}
    items.sort(
        key=lambda item: (item.get_closest_marker("browser") is None, item.path not in long, item.path)
    )


def _leave_out(config: pytest.Config, items: list[pytest.Item], what: Callable[[pytest.Item], bool]) -> None:
    """Take the tests of which something is so from those to be run."""
    config.hook.pytest_deselected(items=[item for item in items if what(item)])
    items[:] = [item for item in items if not what(item)]


def _takes_time(item: pytest.Item) -> bool:
    """Whether a test is of one of the kinds."""
    return any(map(item.get_closest_marker, KINDS))


def _is_for_the_night(item: pytest.Item) -> bool:
    """Whether a test is marked so, or is one of the cases of `night.txt`."""
    marked = item.get_closest_marker("nightly") is not None
    return marked or item.nodeid.removeprefix("tests/") in cases_of_the_night()


@cache
def cases_of_the_night() -> frozenset[str]:
    """Node ids below `tests/` of the cases of parametrised tests that only the night tries."""
    return frozenset((ROOT / "tests" / "night.txt").read_text(encoding="utf-8").splitlines()[1:])


@cache
def _kinds_of(path: Path) -> tuple[str, ...]:
    """Kinds of every test of a file; a file holds dozens."""
    place = path.relative_to(ROOT / "tests").as_posix()
    return tuple(kind for kind, patterns in MARKED_PATHS.items() if any(fnmatch(place, p) for p in patterns))


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no page that ends looks through it for what can be freed."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that computes long and says so by no mark, for `make quick` is to stay quick.

    Counted are seconds of computing, of programs that it starts too: a busy machine hardly changes them.
    """
    before_s = computed_s()
    yield
    took_s = computed_s() - before_s
    if took_s > PATIENCE_S and not at_night() and not _takes_time(item):
        pytest.fail(
            f"it computed for {took_s:.1f} s, above {SLOW_S:.2f} s, and is not marked: make it quicker, "
            f"or mark it as one of {', '.join(sorted(KINDS))}",
            pytrace=False,
        )


def computed_s() -> float:
    """Seconds that this process and the ended ones that it started have kept a processor busy."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Measurements that lie beside the checkout; a test that needs them is skipped where they do not."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder 'shared' beside the checkout")
    return folder


@pytest.fixture(scope="session")
def worked_out_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[], Any]], Any]:
    """What tests of several files look at, as JSON: the first process to ask works it out, others read it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # of all processes of this run, and of no other run

    def of_name(name: str, work: Callable[[], Any]) -> Any:
        path = folder / f"{name}.json"
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                path.write_text(json.dumps(work(), allow_nan=False), encoding="utf-8")
        return json.loads(path.read_text(encoding="utf-8"))

    return of_name


@pytest.fixture(scope="session")
def shipped_validation(worked_out_once: Callable[[str, Callable[[], Any]], Any]) -> tuple[int, Any]:
    """What `everfleet validate --json` ends with and prints: all rows of `data/published/`, judged."""

    def judged() -> tuple[int, Any]:
        from planner.cli import main
        from planner.report.shape import read_back

        with redirect_stdout(io.StringIO()) as said:
            code = main(["validate", "--json"])
        return code, read_back(json.loads(said.getvalue()))

    code, document = worked_out_once("shipped-validation", judged)
    return code, document


class Exchange(pytest.MonkeyPatch):
    """As pytest's own; where a part of the physics is exchanged, nothing is remembered of what it gave."""

    of_physics = False

    def setattr(self, target: Any, *part: Any, **options: Any) -> None:
        super().setattr(target, *part, **options)
        place = (
            target
            if isinstance(target, str)
            else getattr(target, "__module__", None) or getattr(target, "__name__", "")
        )
        if place.startswith(PHYSICS):
            self.of_physics = True
            self._forget()

    def undo(self) -> None:
        super().undo()
        if self.of_physics:
            self._forget()

    @staticmethod
    def _forget() -> None:
        from planner.performance.remembered import forget

        forget()


@pytest.fixture
def monkeypatch() -> Iterator[pytest.MonkeyPatch]:
    """Takes back at the end what a test exchanged, and what was worked out meanwhile."""
    exchange = Exchange()
    yield exchange
    exchange.undo()


@pytest.fixture(scope="module", autouse=True)
def few_draws(request: pytest.FixtureRequest) -> Iterator[None]:
    """Ranges of plans and jobs from few draws, and few facts that move them: tests look at all the rest.

    A file whose claims are about ranges says `EVERY_DRAW = True`.
    """
    place = request.path.relative_to(ROOT / "tests").as_posix()
    if getattr(request.module, "EVERY_DRAW", False) or not place.startswith(DRAWING):
        yield
    else:
        with few_ranges(plans=8, jobs=20):
            yield


@pytest.fixture(scope="module", autouse=True)
def blank_pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Charts of documents are made whole, but written as an empty picture where no browser looks."""
    place = request.path.relative_to(ROOT / "tests").as_posix()
    with pytest.MonkeyPatch.context() as patched:
        if place.startswith(DRAWING) and "test_browser_" not in place and not at_night():
            patched.setattr(vl_convert, "vegalite_to_svg", lambda spec, vl_version: BLANK_SVG)
        yield


@pytest.fixture
def drawn_pictures() -> Iterator[None]:
    """For tests that look at what is drawn."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vl_convert, "vegalite_to_svg", VEGALITE_TO_SVG)
        yield


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as on a terminal: a shell that starts the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app with a store of its own, served on a free port of this machine, one for all tests."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "planner.cli", "app", f"--port={port}"]
    environment = os.environ | {"EVERFLEET_STORE": str(tmp_path_factory.mktemp("store") / "plans.sqlite")}
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=quiet, stderr=quiet)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(url, server)
        yield url
    finally:
        server.terminate()
        server.wait(10)


def _wait_until_healthy(url: str, server: subprocess.Popen[bytes], patience_s: float = 60.0) -> None:
    give_up = time.monotonic() + patience_s
    while time.monotonic() < give_up and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.25)
    raise RuntimeError(f"the app did not start at {url} in {patience_s:.0f} s")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """An installed Chromium; CHROMIUM names another one. None is ever downloaded, and CI has to have one."""
    named = os.environ.get("CHROMIUM")
    found = named or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if found is None:
        missing = "no Chromium is installed (apt install chromium)"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)  # ms: two browsers, their servers and planners may share two cores
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


class Window:
    """One page of the browser, which the first visitor of each test is given.

    It has the scripts of the app compiled: a page of its own would compile them for three seconds.
    """

    def __init__(self, chromium: Browser) -> None:
        self._chromium = chromium
        self._page: Page | None = None

    def cleared(self, url: str) -> Page:
        """The page as a new one: nothing is left of who was there, in it or in what the browser keeps."""
        if self._page is None or self._page.is_closed():
            self._page = new_visitor(self._chromium)
            self._page.on("crash", self._crashed)
        page = self._page
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.set_viewport_size(VIEWPORT)
        page.mouse.move(0, 0)
        kept = {"origin": url, "storageTypes": "cookies,local_storage,session_storage,indexeddb"}
        page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
        return page

    def _crashed(self, page: Page) -> None:
        self._page = None


def new_visitor(chromium: Browser) -> Page:
    """A page of somebody who was never there."""
    return chromium.new_context(viewport=VIEWPORT, reduced_motion="reduce").new_page()


@pytest.fixture(scope="session")
def window(chromium: Browser) -> Window:
    """The page that first visitors share, one after the other."""
    return Window(chromium)


@pytest.fixture
def new_page(chromium: Browser, window: Window, app_url: str) -> Iterator[Callable[[], Page]]:
    """Pages, each of a visitor of its own.

    Their test fails if a script fails in one, if one writes an error to its console, or if one asks any other
    machine for anything.
    """
    errors: list[str] = []
    outside: list[str] = []
    local = (app_url, app_url.replace("http", "ws", 1), "data:", "blob:")

    def failed(error: Error) -> None:
        errors.append(str(error))

    def heard(message: ConsoleMessage) -> None:
        # On the address of a page below the root Streamlit asks there for what lies at the root, then there.
        if message.type == "error" and "/_stcore/" not in message.location["url"]:
            errors.append(message.text)

    def asked(request: Request) -> None:
        if not request.url.startswith(local):
            outside.append(request.url)

    watching = {"pageerror": failed, "console": heard, "request": asked}
    pages: list[Page] = []

    def opened() -> Page:
        page = new_visitor(chromium) if pages else window.cleared(app_url)
        for event, listener in watching.items():
            page.on(event, listener)
        pages.append(page)
        return page

    yield opened
    for number, page in enumerate(pages):
        if number:
            page.context.close()
        elif not page.is_closed():
            for event, listener in watching.items():
                page.remove_listener(event, listener)
            page.goto("about:blank")
    assert not errors, errors
    assert not outside, outside


@pytest.fixture
def page(new_page: Callable[[], Page]) -> Page:
    """A fresh page, watched as all are."""
    return new_page()
