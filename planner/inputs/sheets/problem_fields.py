"""The field of a guide that a problem belongs to, so that it is told there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from planner.inputs.scenario import Problem
from planner.inputs.scenario.problems import place
from planner.inputs.sheets.kinds import CHILDREN, PARENT, WORKERS, Row, needed
from planner.inputs.sheets.reading import NUMBER

_WORKED_OUT = ("peak_rate", "gpu_time")  # from another way to state a need
_COLUMNS = {key: column for column, key in WORKERS.items()}


class Field(NamedTuple):
    """A value that is asked for: of a row of a table by its number, from 1; 0 is a table that has no rows."""

    table: str
    number: int
    key: str


def field_of(
    problem: Problem, rows: Mapping[str, Sequence[Row]], document: Mapping[str, Any]
) -> tuple[Field, str] | None:
    """The field, and what is to be told there; None where it belongs to none.

    Args:
        problem: as the check tells it.
        rows: those that were stated, with their numbers.
        document: the tables that were made of them; as far as they were.
    """
    if line := re.fullmatch(r"(\w+), line (\d+)", problem.path):
        said = re.match(r"(\w+)[\w, ]*: ", problem.message)
        if said is None:
            return None
        return Field(line[1], int(line[2]), said[1]), problem.message[len(said[0]) :]
    table = _table_of(problem.path)
    if table in ("policy", "horizon"):
        return Field(table, 0, problem.path.partition(".")[2]), problem.message
    for number, row, rest in _under(problem.path, rows, document):
        if (found := _in_row(table, number, row, rest, problem.message, rows)) is not None:
            return found
    return None


def _table_of(path: str) -> str:
    """The table that a path begins with; entries without a name follow it in brackets: `fleet[0]`."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _under(
    path: str, rows: Mapping[str, Sequence[Row]], document: Mapping[str, Any]
) -> Iterator[tuple[int, Row, str]]:
    """Rows whose entry a path leads into, with the rest of it; of names alike the longest first."""
    table = _table_of(path)
    stated = rows.get(table, ())
    entries = document.get(table, ())
    if len(entries) != len(stated):
        entries = stated
    fits = []
    for i, row in enumerate(stated):
        here = place((table, i), {table: entries})
        if path == here or path.startswith((f"{here}.", f"{here}[")):
            fits.append((len(here), int(row[NUMBER]), row, path[len(here) :].lstrip(".")))
    for _, number, row, rest in sorted(fits, key=lambda fit: -fit[0]):
        yield number, row, rest


def _in_row(
    table: str, number: int, row: Row, rest: str, message: str, rows: Mapping[str, Sequence[Row]]
) -> tuple[Field, str] | None:
    if not rest:
        said = re.match(r"(\w+): ", message)
        return (Field(table, number, said[1]), message[len(said[0]) :]) if said else None
    inside = re.fullmatch(r"(\w+)(?:\[(\d+)\])?(?:\.(\w+))?.*", rest)
    if inside is None:
        return None
    key, at, inner = inside[1], int(inside[2] or 0), inside[3]
    if key in CHILDREN:
        held = [int(one[NUMBER]) for one in rows.get(key, ()) if one.get(PARENT) == row.get("name")]
        return (
            (Field(key, held[at], inner or _OF_ALL[key, inside[2] is None]), message) if held[at:] else None
        )
    if inner in _COLUMNS:
        key = _COLUMNS[inner]
    if key in _WORKED_OUT and key not in row:
        key = next((one for ways in needed(table, row) for one in ways if row.get(one)), key)
    return Field(table, number, key), message


# What is told of all rows of a table, and of a whole row of it.
_OF_ALL = {
    ("regions", True): "share",
    ("regions", False): "users",
    ("classes", True): "share",
    ("classes", False): "share",
}
