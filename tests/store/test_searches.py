"""Searches that are kept: where, for whom, how many; and what cannot be kept is no error."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from planner.cli.loading import solve
from planner.notebook.plans import plan
from planner.store import searches
from planner.store.searches import KeptSearches, kept_searches
from planner.ui.workers import planning


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user without any variable of ours, and a data folder of their own."""
    for variable in ("EVERFLEET_SEARCHES", "EVERFLEET_STORE", "EVERFLEET_READ_ONLY"):
        monkeypatch.delenv(variable, raising=False)
    data = tmp_path / "data"
    usual = str(data / "plans.sqlite")
    monkeypatch.setattr(searches, "user_data_folder", lambda: data)
    monkeypatch.setattr(searches, "default_address", lambda: os.environ.get("EVERFLEET_STORE", usual))
    return tmp_path


def test_what_is_put_is_got_whole_and_by_this_user_alone(tmp_path: Path) -> None:
    kept = KeptSearches(tmp_path / "a" / "searches")
    assert kept.get("4f") is None
    kept.put("4f", b"first")
    kept.put("4f", b"second")

    assert kept.get("4f") == b"second"
    (file,) = kept.folder.iterdir()
    assert (kept.folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    anew = KeptSearches(kept.folder, anew=True)
    assert anew.get("4f") is None
    anew.put("4f", b"third")
    assert kept.get("4f") == b"third"


@pytest.mark.parametrize(
    ("most", "left"), [(("MOST_FILES", 2), {"1", "4"}), (("MOST_BYTES", 25), {"1", "4"})]
)
def test_what_was_used_longest_ago_goes_first(
    most: tuple[str, int], left: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four files of 10 bytes; the first one was asked for after the third was kept."""
    kept = KeptSearches(tmp_path)
    for number in (1, 2, 3):
        kept.put(str(number), b"0123456789")
        os.utime(tmp_path / f"{number}.search", (number, number))
    kept.get("1")
    monkeypatch.setattr(searches, *most)
    kept.put("4", b"0123456789")

    assert {path.stem for path in tmp_path.iterdir()} == left


def test_a_folder_that_cannot_be_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    kept = KeptSearches(tmp_path / "file")
    kept.put("4f", b"first")

    assert kept.get("4f") is None
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_where_they_lie(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Next to the store; where that is no file, in the data folder; where the variable says, or nowhere."""

    def folder(**said: str) -> Path | None:
        with pytest.MonkeyPatch.context() as now:
            for name, value in said.items():
                now.setenv(f"EVERFLEET_{name}", value)
            kept = kept_searches()
        return None if kept is None else kept.folder

    assert folder() == home / "data" / "searches"
    assert folder(STORE=str(home / "team" / "plans.sqlite")) == home / "team" / "searches"
    assert folder(STORE="postgresql://planner@db.example/fleet") == home / "data" / "searches"
    assert folder(STORE="postgresql://") == home / "data" / "searches"
    assert folder(STORE="sqlite:///:memory:") is None
    assert folder(SEARCHES=str(home / "here")) == home / "here"
    assert folder(SEARCHES="") is None
    assert folder(READ_ONLY="1") is None
    assert folder(READ_ONLY="1", SEARCHES=str(home / "here")) is None


class _Asked(Exception):  # ends a door once it has asked
    pass


@pytest.mark.parametrize("anew", [False, True])
def test_every_door_hands_them_in(
    anew: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    """The command, the function (and HTTP with it), and the page, which always finds again."""
    monkeypatch.setenv("EVERFLEET_SEARCHES", str(tmp_path))
    handed = []

    def asked(*_: Any, memory: Any = None, **__: Any) -> None:
        handed.append(memory)
        raise _Asked

    monkeypatch.setattr("planner.program.plan.plan_fleet", asked)
    own = root / "tests" / "own_scenario.toml"
    said = {"name": own.name, "text": own.read_text(), "store_address": ""}
    for door in (
        lambda: solve(None, quiet=True, baselines=False, anew=anew),  # type: ignore[arg-type]
        lambda: plan(own, anew=anew),
        lambda: planning.plan(said, lambda *_, **__: None, lambda: False),
    ):
        with pytest.raises(_Asked):
            door()
    assert [one.folder for one in handed] == [tmp_path] * 3
    assert [one.anew for one in handed] == [anew, anew, False]
