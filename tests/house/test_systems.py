"""The page of systems: each of the 62 once, each command one that there is, each row one that is shipped."""

from __future__ import annotations

import csv
import shlex
import tomllib
from pathlib import Path

import pytest

from benchmarks.studies import systems
from planner.cli.commands import parser
from planner.inputs.loading import load_catalogue
from planner.inputs.techniques import techniques

ROOT = Path(__file__).resolve().parents[2]
EVERY = systems.systems()


def test_each_system_stands_once_with_what_it_waits_for() -> None:
    """Sixty-two systems; what does not work says why."""
    names = [one.name for one in EVERY]
    assert len(names) == len(set(names)) == 62
    for one in EVERY:
        assert one.state in systems.STATES, one.name
        assert (one.works and (one.command or one.lines)) if one.state != "waits" else one.left_out, one.name
    assert sum(one.state != "waits" for one in EVERY) >= 45


@pytest.mark.parametrize("one", [one for one in EVERY if one.command], ids=lambda one: one.name)
def test_each_command_is_one_that_there_is(one: systems.System) -> None:
    """It is understood, and the names in it are of the catalogue."""
    program, *rest = shlex.split(one.command)
    assert program == "everfleet"
    options = parser().parse_args(rest)
    if rest[0] == "techniques":
        assert set(rest[1:]) <= set(techniques())
    if getattr(options, "sku", None):
        assert set(options.sku if isinstance(options.sku, list) else options.sku.split(",")) <= set(
            load_catalogue().skus
        )


def test_each_line_is_toml() -> None:
    """Keys of one table, as they are written in a file."""
    for one in EVERY:
        parts = [
            part
            for part in one.lines.replace("[ingestion] ", "").replace("[storage] ", "").split(", ")
            if part
        ]
        text = "\n".join(parts) if "{" not in one.lines else one.lines.replace("}, ", "}\n")
        assert not one.lines or tomllib.loads(text), one.name


def test_each_row_is_shipped_and_each_shipped_row_has_its_system() -> None:
    """No published row of the seeds is left without a system that stands on it."""
    with systems.PUBLISHED.open(encoding="utf-8", newline="") as file:
        shipped = {row["id"] for row in csv.DictReader(file)}
    named = [row for one in EVERY for row in one.rows]
    assert set(named) <= shipped
    assert shipped - set(named) == set()


def test_the_page_holds_what_is_said_of_each() -> None:
    """`python -m benchmarks.studies.systems > docs/systems.md` writes it again."""
    page = (ROOT / "docs" / "systems.md").read_text(encoding="utf-8")
    for one in EVERY:
        row = next(line for line in page.splitlines() if line.startswith(f"| {one.name} ({one.year}) |"))
        assert one.works in row
        assert row.endswith(f"| {one.left_out} |")
