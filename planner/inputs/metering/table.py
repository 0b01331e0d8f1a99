"""A text file as rows of cells under a header, and columns of it as numbers, with every fault kept."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from planner.inputs.files import csv_rows, read_limited
from planner.inputs.metering.result import BadRow
from planner.trace.columns import Floats
from planner.trace.errors import InputError
from planner.trace.units import UnitError, convert_factor

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HEADER_UNIT = re.compile(r"\s*\[(?P<unit>[^\]]*)\]\s*\Z")
# More than any counter of millijoules or seconds reaches; sums and products of such numbers stay finite.
_LARGEST = 1e18
_QUANTITY = r"([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)"


@dataclass
class Table:
    """Rows of one length under lower-case names; `units` are those that the header names.

    Reading a column adds to `bad_rows` what could not be read; `dropped` says which rows those are.
    """

    name: str
    header: Sequence[str]
    units: Sequence[str]
    rows: list[list[str]]
    lines: list[int]
    decimal_comma: bool = False
    notes: list[str] = field(default_factory=list)
    bad_rows: list[BadRow] = field(default_factory=list)

    def has(self, column: str) -> bool:
        """Whether the header names this column."""
        return column in self.header

    def first_of(self, columns: Iterable[str]) -> str | None:
        """The first of these columns that the header names."""
        return next((column for column in columns if column in self.header), None)

    def text(self, column: str) -> pd.Series[str]:
        """Cells of a column, without spaces around them."""
        at = self.header.index(column)
        return pd.Series([row[at] for row in self.rows], dtype=object).astype(str).str.strip()

    def drop(self, wrong: NDArray[np.bool_], reasons: Iterable[str]) -> None:
        """Leave out rows, each with its reason."""
        self.bad_rows += [
            BadRow(self.lines[i], reason) for i, reason in zip(np.flatnonzero(wrong), reasons, strict=True)
        ]

    def numbers(self, column: str, *, unit: str = "", inside: str = "", empty: bool = False) -> Floats:
        """A column in the unit `inside`; `unit` is the one it has where neither cell nor header says so.

        A cell that is no number, is negative, is more than any meter counts or has a strange unit becomes
        NaN, and its row is left out; an empty one only becomes NaN where `empty` allows it.
        """
        text = self.text(column)
        found = text.str.extract(rf"\A{_QUANTITY}\Z")
        digits = found[0].str.replace(",", ".", regex=False) if self.decimal_comma else found[0]
        value = pd.to_numeric(digits, errors="coerce").to_numpy(dtype=float)
        stated = self.units[self.header.index(column)]
        value = value * self._factors(found[1].fillna(""), stated, unit, inside)
        large = value > _LARGEST
        wrong = large | ~(value >= 0)
        value[wrong] = np.nan
        left = wrong & (text != "").to_numpy() if empty else wrong
        wanted = f"a number{f' in {stated or unit}' if stated or unit else ''} of at least 0"
        self.drop(
            left,
            (
                f"{column} is '{cell}', {'more than any meter counts' if much else f'not {wanted}'}"
                for cell, much in zip(text[left], large[left], strict=True)
            ),
        )
        return value

    def _factors(self, cells: pd.Series[str], stated: str, unit: str, inside: str) -> Floats:
        """Factor of each row into `inside`; NaN for a unit that is unknown or not the header's."""

        def factor(cell: str) -> float:
            if cell and stated and cell != stated:
                return np.nan
            try:
                return convert_factor(cell or stated or unit, inside)
            except UnitError:
                return np.nan

        if not inside:
            return np.where(cells == "", 1.0, np.nan)
        return cells.map({cell: factor(cell) for cell in cells.unique()}).to_numpy(dtype=float)


def read_lines(path: Path) -> list[str]:
    """Lines of a text file, whatever its byte order mark.

    Raises:
        InputError: it cannot be opened, is empty or is no text.
    """
    try:
        data = read_limited(path)
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read: {error.strerror}") from None
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        lines = data.decode(encoding).splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path.name}: is not a text file") from None
    if not any(line.strip() for line in lines):
        raise InputError(f"{path.name}: is empty")
    return lines


def delimiter_of(line: str) -> str:
    """The delimiter that occurs most often in a line."""
    return max(",|;\t", key=line.count)


def make_table(name: str, lines: Sequence[str], columns: Sequence[str] | None) -> Table:
    """A table of delimited lines; `columns` names them where the file has no header."""
    start = next(i for i, line in enumerate(lines) if line.strip())
    delimiter = delimiter_of(lines[start])
    rows = csv_rows(name, lines[start:], delimiter=delimiter, tight=True)
    titles = list(columns) if columns else _without_last_empty(next(rows)[1])
    named = [_title(title) for title in titles]
    header, units = [title for title, _ in named], [unit for _, unit in named]
    table = Table(name, header, units, [], [], decimal_comma=delimiter != ",")
    repeats = 0
    for line, row in rows:
        cells = _without_last_empty(row) if len(row) == len(header) + 1 else row
        if not any(cell.strip() for cell in cells):
            continue
        if cells[0].lower().startswith(header[0]) and [_title(cell)[0] for cell in cells] == header:
            repeats += 1
        elif len(cells) != len(header):
            hint = ": decimal commas?" if delimiter == "," and len(cells) > len(header) else ""
            reason = f"has {len(cells)} cells, {len(header)} were expected{hint}"
            table.bad_rows.append(BadRow(start + line, reason))
        else:
            table.rows.append(cells)
            table.lines.append(start + line)
    if repeats:
        table.notes.append(f"the header occurs {repeats + 1} times: several starts, read as one log")
    return table


def _title(text: str) -> tuple[str, str]:
    """Name and unit of a column: 'power.draw [W]' is power.draw in W."""
    unit = _HEADER_UNIT.search(text)
    name = text[: unit.start()] if unit else text
    return name.strip().lower(), unit["unit"].strip() if unit else ""


def _without_last_empty(cells: list[str]) -> list[str]:
    """`sacct -p` ends each line with its delimiter."""
    return cells[:-1] if cells and not cells[-1].strip() else cells
