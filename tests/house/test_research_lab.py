"""The tutorial of a research lab: its pools are the shipped ones, and its commands print what it shows."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from sizes import few_ranges

from planner.cli import ANSWER, NO_PLAN, main
from planner.inputs.loading import data_folder

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "research-lab.md").read_text(encoding="utf-8")
RUNS = data_folder() / "samples" / "scaling-runs.csv"


def blocks() -> list[tuple[str, str]]:
    """Language and text of each block of the page, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def ended(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    commands: tuple[str, ...],
) -> list[int]:
    """How these commands of the page ended; each shown line is one that the command before it printed."""
    monkeypatch.chdir(folder)
    (folder / RUNS.name).write_bytes(RUNS.read_bytes())
    codes, printed = list[int](), None
    for kind, text in blocks():
        if kind == "sh":
            runs = shlex.split(text)[1] in commands
            codes += [main(shlex.split(text)[1:])] if runs else []
            printed = capsys.readouterr().out.splitlines() if runs else None
        elif kind == "text" and printed is not None:
            assert set(text.splitlines()) <= set(printed)
    return codes


def test_the_pools_of_the_page_are_those_of_the_scenario() -> None:
    shipped = tomllib.loads((data_folder() / "scenarios" / "research-lab.toml").read_text(encoding="utf-8"))
    shown = [tomllib.loads(text)["pools"][0] for kind, text in blocks() if kind == "toml"]

    assert shown == shipped["pools"]


def test_targets_of_the_page_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(tmp_path, monkeypatch, capsys, ("scaling",)) == [ANSWER, NO_PLAN]


@pytest.fixture
def no_ranges() -> Iterator[None]:
    """The page shows no range."""
    with few_ranges(plans=8, jobs=20):
        yield


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.solve
@pytest.mark.usefixtures("no_ranges")
def test_the_lab_of_the_page_is_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(tmp_path, monkeypatch, capsys, ("plan", "explain")) == [ANSWER, ANSWER]
