"""Files of others, within limits: whole as bytes, as JSON, or as rows of cells."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from planner.trace.errors import InputError
from planner.trace.numbers import count_text

LARGEST_BYTES = 200_000_000
LONGEST_LINE_CHARACTERS = 1_000_000
MOST_COLUMNS = 2_000  # more than any meter, grid operator or person writes into one table
MOST_DEPTH = 200  # lists and tables inside each other; what we write has ten
# A pipe that the caller has opened ends; one that lies in a folder may never.
_OPENED = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
NO_FILE = "is no regular file: write what it holds to a file and name that"


def read_limited(path: Path, *, most_bytes: int = LARGEST_BYTES, instead: str = "split it") -> bytes:
    """All of a file; `instead` says how where it is too large.

    Raises:
        OSError: it cannot be opened.
        InputError: it is a pipe or a device, or too large.
    """
    if may_never_end(path):
        raise InputError(f"{path}: {NO_FILE}")
    with path.open("rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise InputError(f"{path}: larger than {most_bytes // 1_000_000} MB: {instead}")
    return data


def may_never_end(path: Path) -> bool:
    """Whether it is a pipe or a device, and none that the caller has opened."""
    return path.exists() and not path.is_file() and not path.is_dir() and not str(path).startswith(_OPENED)


def parse_json(text: str | bytes) -> Any:
    """What a JSON text holds.

    Raises:
        ValueError: it is no JSON, or nested too deep.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {MOST_DEPTH} levels") from None
    level = [found]
    for _ in range(MOST_DEPTH):
        level = [inner for one in level if isinstance(one, dict | list) for inner in _inside(one)]
    if level:
        raise ValueError(f"it is nested deeper than {MOST_DEPTH} levels")
    return found


def csv_rows(
    name: str, lines: Iterable[str], *, delimiter: str = ",", tight: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Rows of a delimited text, each with the number of its last line; `tight` skips spaces before a cell.

    Raises:
        InputError: a line, a cell or the number of cells is too large.
    """
    reader = csv.reader(limited_lines(name, lines), delimiter=delimiter, skipinitialspace=tight)
    try:
        for row in reader:
            refuse_many(name, reader.line_num, len(row))
            yield reader.line_num, row
    except csv.Error as error:
        raise no_cells(name, reader.line_num, error) from None


def no_cells(name: str, line: int, error: csv.Error) -> InputError:
    """What to raise where a line cannot be cut into cells."""
    return InputError(f"{name}:{line}: cannot be read as cells: {error}: is a quote left open?")


def limited_lines(name: str, lines: Iterable[str]) -> Iterator[str]:
    """The lines of a table.

    Raises:
        InputError: one is too long.
    """
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE_CHARACTERS:
            raise InputError(
                f"{name}:{number}: is longer than {count_text(LONGEST_LINE_CHARACTERS)} characters: "
                "is it a table, with a line for each row?"
            )
        yield line


def refuse_many(name: str, line: int, columns: int) -> None:
    """Refuse a row of far too many cells."""
    if columns > MOST_COLUMNS:
        raise InputError(
            f"{name}:{line}: has {count_text(columns)} cells, and {count_text(MOST_COLUMNS)} are read at "
            "most: "
            "is it a table, with a line for each row?"
        )


def _inside(one: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return one.values() if isinstance(one, dict) else one
