"""A scenario out of spreadsheets, lists of nodes or the answers of a guide: what was assumed, its check."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from planner.answers.check import check, scenario_found
from planner.inputs.catalogue import Catalogue
from planner.inputs.editing import Found
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import Scenario, ScenarioError
from planner.inputs.scenario.files import write_toml
from planner.inputs.sheets import TEMPLATES, Made, read_sheet_contents, read_sheet_files, scenario_from
from planner.inputs.sheets.guide import STEPS, Answers, missing, numbered, stated_tables, with_stand_ins
from planner.inputs.sheets.problem_fields import Field, field_of
from planner.report.spreadsheets import csv_of
from planner.trace.errors import InputError
from planner.trace.records import Record

TITLE = "From spreadsheets"
GUIDED_TITLE, GUIDED_NAME = "My fleet", "my-fleet.toml"


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
    found = scenario_from(
        read_sheet_files(paths),
        load_catalogue(),
        title=title,
        today=today or date.today(),
        site=site,
        in_service=in_service,
    )
    return _started(found)


def uploads_found(files: Mapping[str, bytes], *, title: str, today: date) -> tuple[str, Found]:
    """The same of files that were sent: the text of the scenario, and what a page says of it.

    Raises:
        InputError: as `start_from`.
    """
    sheets = read_sheet_contents(files)
    started = _started(scenario_from(sheets, load_catalogue(), title=title, today=today))
    read = [
        (sheet.where, f"{sheet.table}, {len(sheet.rows)} row{'s' * (len(sheet.rows) != 1)}")
        for sheet in sheets
    ]
    return started.text, Found(what="a scenario", facts=tuple(read), notes=started.notes)


@dataclass(frozen=True, slots=True)
class Guided:
    """How far the answers of a guide have come: what each step lacks, what is wrong in it, and the file.

    The text is empty until nothing lacks; `found` says what the file holds once it is right.
    """

    missing: Mapping[str, Sequence[str]]
    wrong: Mapping[str, Sequence[str]]
    text: str = ""
    notes: tuple[str, ...] = ()
    found: Found | None = None
    fields: Mapping[Field, str] = field(default_factory=dict)  # what of it is wrong with one value
    elsewhere: Mapping[str, Sequence[str]] = field(default_factory=dict)  # and what with none, by step


def guided(
    answers: Answers, catalogue: Catalogue, *, today: date, data: str | None, files: Mapping[str, bytes]
) -> Guided:
    """The scenario that answers make, checked as a file is, or what is to be answered yet.

    Args:
        answers: so far.
        catalogue: with the facts of one's own that the scenario takes.
        today: the horizon begins with the next quarter.
        data: the name of these facts among `files`.
        files: that lie next to the scenario.
    """
    lacks = missing(answers)
    complete = not any(lacks.values())
    rows = numbered(answers)
    stated = rows if complete else with_stand_ins(rows)
    text, notes = "", tuple[str, ...]()
    document: Mapping[str, Any] = {}
    try:
        result = stated_tables(stated, catalogue, title=GUIDED_TITLE, today=today, data=data)
        text, notes, document = _text(result), result.notes, result.tables
        found = scenario_found(GUIDED_NAME, text.encode(), files)
    except ScenarioError as error:
        wrong, fields, elsewhere = _problems(error, answers, stated, document, complete)
        held = text if complete else ""
        return Guided(lacks, wrong, held, notes, fields=fields, elsewhere=elsewhere)
    return Guided(lacks, {}, text, notes, found) if complete else Guided(lacks, {})


def _problems(
    error: ScenarioError, answers: Answers, stated: Answers, document: Mapping[str, Any], complete: bool
) -> tuple[dict[str, list[str]], dict[Field, str], dict[str, list[str]]]:
    """What is wrong by step, then by field, then what is of no field.

    Of what is not there yet only what was stated can be wrong.
    """
    wrong: dict[str, list[str]] = {}
    fields: dict[Field, str] = {}
    elsewhere: dict[str, list[str]] = {}
    for problem in error.problems:
        placed = field_of(problem, stated.tables, document)
        if not complete and not (re.search("[.,]", problem.path) and _is_stated(placed, answers)):
            continue
        step, said = _step_of(problem.path), ": ".join(filter(None, (problem.path, problem.message)))
        wrong.setdefault(step, []).append(said)
        if placed is None:
            elsewhere.setdefault(step, []).append(said)
        else:
            fields.setdefault(*placed)
    return wrong, fields, elsewhere


def _is_stated(placed: tuple[Field, str] | None, answers: Answers) -> bool:
    if placed is None or not placed[0].number:
        return True
    table, number, key = placed[0]
    return bool(answers.tables[table][number - 1].get(key))


def _step_of(path: str) -> str:
    """The step that a problem belongs to; what belongs to none is shown in the last."""
    table = re.split(r"[.,\[]", path, maxsplit=1)[0]
    return next((step for step, tables in STEPS.items() if table in tables), [*STEPS][-1])


def _started(made: Made) -> Started:
    text = _text(made)
    return Started(text, check(text, "what the tables state"), made.notes)


def _text(made: Made) -> str:
    """The file, what was assumed in it at its head."""
    return "".join(f"# {note}\n" for note in made.notes) + "\n" + write_toml(made.tables)


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
