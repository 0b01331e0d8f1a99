"""A CSV file as texts, with the line that each row stands on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.inputs.files import csv_rows, read_limited
from planner.trace.errors import InputError

# Beyond any power, energy or intensity of a grid, in any unit; sums of such numbers stay finite.
_LARGEST_NUMBER = 1e15
_MISSING = frozenset({"", "-", "n/a", "n/e", "na", "nan", "null", "none"})


@dataclass(frozen=True, slots=True)
class Table:
    """Header, rows and their lines; `decimal_commas` where something else than a comma parts the cells."""

    name: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]
    decimal_commas: bool

    def texts(self, column: str) -> list[str]:
        """One column, stripped."""
        place = self.header.index(column)
        return [row[place].strip() for row in self.rows]

    def numbers(self, column: str, *, thousands: bool = False) -> NDArray[np.float64]:
        """One column as numbers; a cell that says that it is missing is not a number.

        Commas inside a cell part `thousands` where the caller knows that the file is written so.

        Raises:
            InputError: a cell is neither; the message names its line.
        """
        found = np.full(len(self.rows), np.nan)
        for i, text in enumerate(self.texts(column)):
            if text.casefold() in _MISSING:
                continue
            try:
                plain = text.replace(",", "") if thousands and not self.decimal_commas else text
                found[i] = float(plain.replace(",", ".") if self.decimal_commas else plain)
                if not abs(found[i]) <= _LARGEST_NUMBER:
                    raise ValueError
            except ValueError:
                hint = ": decimal commas need ';' between cells" if "," in text else ""
                raise InputError(
                    f"{self.where(i)}: '{column}' is not a number, got '{text[:40]}'{hint}"
                ) from None
        return found

    def where(self, row: int) -> str:
        """File and line of a row."""
        return f"{self.name}:{self.lines[row]}"

    def column(self, *patterns: str) -> str | None:
        """The first column that one of the patterns matches, the patterns in order."""
        for pattern in patterns:
            for name in self.header:
                if re.fullmatch(pattern, name, flags=re.IGNORECASE):
                    return name
        return None


def read_table(path: Path) -> Table:
    """Read a CSV file whose cells are set apart by commas, semicolons or tabs.

    Raises:
        InputError: no such file, not UTF-8, empty, or a row is longer or shorter than the header.
    """
    try:
        text = read_limited(path).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from error
    lines = text.splitlines()
    separator = max(",;\t", key=next((line for line in lines if line.strip()), "").count)
    rows = csv_rows(path.name, lines, delimiter=separator)
    found = [(line, row) for line, row in rows if any(cell.strip() for cell in row)]
    if len(found) < 2:
        raise InputError(f"{path.name}: empty: a header and rows of a time and a value are wanted")
    header = tuple(cell.strip() for cell in found[0][1])
    for line, row in found[1:]:
        if len(row) != len(header):
            raise InputError(
                f"{path.name}:{line}: {len(row)} cells, the header names {len(header)}: "
                "decimal commas need ';' between cells"
            )
    return Table(
        path.name, header, [row for _, row in found[1:]], [line for line, _ in found[1:]], separator != ","
    )
