"""What the app does when a save, a solver, a session or the store dies: nothing is lost, and all is said."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sizes import size
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.testing.v1 import AppTest

import planner.store
from benchmarks.app import own_title
from benchmarks.serving import Served, app_served
from benchmarks.sessions import Run, Session
from planner.store import open_store
from planner.store.packing import content_digest
from planner.ui import session, shared
from planner.ui.workers import registry, tasks
from planner.ui.workers.planning import save
from planner.ui.workers.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
PLAN = str(ROOT / "planner" / "ui" / "plan.py")
SAMPLE = json.loads((ROOT / "tests" / "sample_plan.json").read_text(encoding="utf-8"))
SMALL = SAMPLE | {"explanations": {}, "tables": {}}
TEXT = (ROOT / "data" / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")
KILLS = size(20, nightly=200)
PATIENCE_S = 60.0
POSIX = pytest.mark.skipif(os.name != "posix", reason="kills and forks")

Record = dict[str, Any]


def until(true: Callable[[], Any]) -> None:
    """Wait for something that happens beside us."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


# A save


def saved(address: str, number: int) -> str:
    """Save a plan as the worker of the app does; gives its digest."""
    question = {"name": "mine.toml", "text": TEXT, "files": {}, "store_address": address}
    document = SMALL | {"title": f"plan {number}"}
    return str(save(question | {"document": document}, lambda text="", **_: None, lambda: False)["saved"])


def save_for_ever(address: str, first: int, telling: int) -> None:
    """Save one plan after another, and tell of each that it is saved."""
    while True:
        os.write(telling, f"{saved(address, first)}\n".encode())
        first += 1


@POSIX
@pytest.mark.timeout(400)  # a process for each kill: seconds, and minutes where others want the machine too
@pytest.mark.nightly  # by day test_store.py kills at random moments of the same saving
def test_no_kill_takes_a_saved_plan_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signal 9 at random moments of the app's own saving: what was told as saved is there, whole.

    Whole: SQLite finds no fault, and each document has the digest that it goes by.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    address, moments = str(tmp_path / "plans.sqlite"), random.Random(7)
    shown = {saved(address, 0)}  # here first, so that each fork finds everything imported
    for number in range(1, KILLS + 1):
        shown |= killed_while_saving(address, 1000 * number, moments.uniform(0, 0.02))
    store = open_store(address)
    held = {plan.digest for plan in store.plans()}

    assert shown <= held
    assert len(shown) > KILLS
    assert all(content_digest(store.document(digest)) == digest for digest in held)
    with closing(sqlite3.connect(address)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []


def killed_while_saving(address: str, first: int, after_s: float) -> set[str]:
    """Digests that were told as saved before the kill, which comes some time after the first of them."""
    reading, writing = os.pipe()
    # A fork: what is tested is the save, and a fresh Python would take a second to get there.
    victim = multiprocessing.get_context("fork").Process(target=save_for_ever, args=(address, first, writing))
    victim.start()
    os.close(writing)
    shown = os.read(reading, 100)
    time.sleep(after_s)
    victim.kill()
    victim.join()
    while more := os.read(reading, 100_000):
        shown += more
    os.close(reading)
    return set(shown.decode().splitlines())


# A solver


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """Workers of the test's own."""
    held = Registry()
    monkeypatch.setattr(registry, "_HERE", held)
    yield held
    for key in list(held.works):
        held.forget(key)


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A store of the test's own; nobody waits long for another writer."""
    file = tmp_path / "store" / "plans.sqlite"
    monkeypatch.setenv("EVERFLEET_STORE", str(file))
    monkeypatch.setattr(planner.store, "open_store", partial(open_store, busy_s=0.05))
    return file


def plan_page(text: str) -> AppTest:
    """The page Plan with a scenario that was never planned."""
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    page.session_state[session._KEY] = session.History(session.Draft(text, "mine.toml", text))
    return page.switch_page(PLAN)


def codes(page: AppTest) -> str:
    return "\n".join(code.value for code in page.code)


@pytest.mark.nightly
@POSIX
def test_a_solver_that_is_killed_says_so_and_leaves_nothing(
    works: Registry, address: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In the midst of a search: its page says how it ended and offers to begin anew; no file is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    text = shared.scenario_text(shared.FIRST).replace('title = "', 'title = "Mine: ', 1)
    page = plan_page(text).run()
    (key,) = works.works
    until(lambda: (seen := works.seen(key)) is not None and seen.trail)
    process = works.works[key].process
    assert process is not None
    assert list(tmp_path.glob("everfleet-*")), "what it needs for a while has a place"
    process.kill()
    until(lambda: (seen := works.seen(key)) is not None and seen.ended)
    page.run()

    assert not page.exception
    assert "The work ended before it was done." in [error.value for error in page.error]
    assert "(signal 9). Nothing of the scenario was lost: solve again." in codes(page)
    assert page.button(f"anew-{key}").label == "Start again"
    assert page.session_state[session._KEY].now.text == text
    assert not list(tmp_path.glob("everfleet-*"))


# A session


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """The app as it is served, with a store of its own."""
    with app_served() as found:
        yield found


def address_of(run: Run) -> str:
    """What the page put into its address."""
    shown = [ForwardMsg.FromString(content) for content in run.contents]
    return next(
        (
            one.page_info_changed.query_string
            for one in shown
            if one.WhichOneof("type") == "page_info_changed"
        ),
        "",
    )


@pytest.mark.nightly  # by day test_workers.py finds work again and keeps what was found
def test_work_goes_on_without_its_session_and_is_found_again(served: Served) -> None:
    """A tab that closes while its plan is made: by its address another tab finds the work, then the plan."""
    with Session(served.url) as visitor:
        own_title(visitor, "survivor", own=TEXT)
        query = address_of(visitor.run("plan"))
    assert query.startswith("plan="), "the address names the work before there is a plan"

    def looked() -> str:
        with Session(served.url) as other:
            run = other.run("plan", query)
        assert not run.failed()
        assert run.holds("survivor") or run.holds("Cancel")
        return address_of(run)

    until(lambda: looked() not in ("", query))
    with Session(served.url) as third:
        assert third.run("plan", looked()).holds("survivor"), "and by that of the plan itself it is saved"


# The store


def locked(file: Path) -> Callable[[], None]:
    """Another process writes, and does not end."""
    script = (
        "import sqlite3, sys, time\n"
        "held = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "held.execute('BEGIN IMMEDIATE')\n"
        "print('held', flush=True)\n"
        "time.sleep(600)\n"
    )
    other = subprocess.Popen([sys.executable, "-c", script, str(file)], stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()

    def unlocked() -> None:
        other.kill()
        other.communicate()

    return unlocked


def moved_away(file: Path) -> Callable[[], None]:
    """The folder is gone, and a file lies in its place, so that no new store can be made there."""
    away = file.parent.rename(file.parent.with_name("away"))
    file.parent.write_text("not a folder", encoding="utf-8")

    def put_back() -> None:
        file.parent.unlink()
        away.rename(file.parent)

    return put_back


def damaged(file: Path) -> Callable[[], None]:
    """Something else was written over it."""
    content = file.read_bytes()
    file.write_bytes(b"no database at all, " * 1000)
    return lambda: void(file.write_bytes(content))


def full(file: Path) -> Callable[[], None]:
    """The database may grow no further, which it tells as it tells of a full disk."""
    from sqlalchemy import Engine, event

    def no_room(connection: sqlite3.Connection, _: Any) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(Engine, "connect", no_room)
    return partial(event.remove, Engine, "connect", no_room)


def void(_: object) -> None:
    """Whatever was given back is of no use."""


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (locked, "another program is writing to it"),
        (moved_away, "plans.sqlite: "),
        (damaged, "it is not a SQLite database"),
        (full, "the disk is full: make room, and try again"),
    ],
)
def test_a_plan_outlives_its_store(
    address: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path], Callable[[], None]], said: str
) -> None:
    """The plan stays on screen with the reason why it is not saved; with that gone it is saved on asking.

    The workers work at once here; what they plan was planned before, and saving it is what is tried.
    """
    open_store(str(address)).close()
    at_once(monkeypatch)
    mended = harm(address)
    try:
        page = plan_page(TEXT).run()
        assert not page.exception
        assert page.metric[0].value == "6.35 MUSD"
        assert "The plan is here, but it is not saved." in [warning.value for warning in page.warning]
        assert said in codes(page)
    finally:
        mended()
    next(button for button in page.button if button.label == "Save it now").click().run()

    assert not page.exception
    assert "is not saved" not in "".join(warning.value for warning in page.warning)
    assert [plan.title for plan in open_store(str(address)).plans()] == [SAMPLE["title"]]


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is done in this process before it is looked at; the plan is one that was made before."""
    from log_pages import AtOnce

    def plan(arguments: Record, tell: Any, should_stop: Any) -> Record:
        document = copy.deepcopy(SAMPLE)
        written = {"scenario": {"name": arguments["name"], "text": arguments["text"]}, "document": document}
        return written | save(arguments | {"document": document}, tell, should_stop)

    monkeypatch.setattr(sys.modules[__name__], "plan_made_before", plan, raising=False)
    monkeypatch.setitem(tasks.TASKS, "plan", f"{__name__}:plan_made_before")
    monkeypatch.setattr(registry, "_HERE", AtOnce())
