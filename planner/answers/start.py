"""A scenario out of spreadsheets and lists of nodes: written, checked, and what was assumed in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from planner.answers.check import check
from planner.inputs.catalogue import load_catalogue
from planner.inputs.editing import Found
from planner.inputs.scenario import Scenario
from planner.inputs.scenario.files import write_toml
from planner.inputs.sheets import TEMPLATES, Made, read_sheet_files, read_sheets, scenario_from
from planner.report.spreadsheets import csv_of
from planner.trace.errors import InputError
from planner.trace.records import Record

TITLE = "From spreadsheets"


@dataclass(frozen=True, slots=True)
class Started:
    """The text of a scenario that is right, and how it came about."""

    text: str
    scenario: Scenario
    notes: tuple[str, ...]


def start_from(
    paths: Sequence[Path],
    *,
    title: str = TITLE,
    today: date | None = None,
    site: str | None = None,
    in_service: date | None = None,
) -> Started:
    """A scenario out of files on this machine.

    Raises:
        InputError: a file cannot be understood, or what they state is no scenario; every problem at once.
    """
    made = scenario_from(
        read_sheet_files(paths),
        load_catalogue(),
        title=title,
        today=today or date.today(),
        site=site,
        in_service=in_service,
    )
    return _started(made)


def uploads_found(files: Mapping[str, bytes], *, title: str, today: date) -> tuple[str, Found]:
    """The same of files that were sent: the text of the scenario, and what a page says of it.

    Raises:
        InputError: as `start_from`.
    """
    sheets = [sheet for name, content in files.items() for sheet in read_sheets(name, content)]
    started = _started(scenario_from(sheets, load_catalogue(), title=title, today=today))
    read = [
        (sheet.where, f"{sheet.table}, {len(sheet.rows)} row{'s' * (len(sheet.rows) != 1)}")
        for sheet in sheets
    ]
    return started.text, Found(what="a scenario", facts=tuple(read), notes=started.notes)


def _started(made: Made) -> Started:
    text = write_toml(made.tables)
    return Started(text, check(text, "what the tables state"), made.notes)


def started_record(started: Started) -> Record:
    """The same as plain data."""
    return {"title": started.scenario.title, "notes": list(started.notes), "text": started.text}


def template_files() -> dict[str, str]:
    """Tables to fill in, by their file name."""
    return {
        f"{name}.csv": csv_of([dict(zip(head, row, strict=True)) for row in rows], head)
        for name, (head, *rows) in TEMPLATES.items()
    }


def write_templates(folder: Path) -> list[Path]:
    """Write tables to fill in; no file that is there is written over.

    Raises:
        InputError: one of them is there, or cannot be written.
    """
    files = {folder / name: text for name, text in template_files().items()}
    if there := [str(path) for path in files if path.exists()]:
        raise InputError(f"{', '.join(there)}: is there already: name an empty folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}") from None
    return list(files)
