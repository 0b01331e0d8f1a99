"""Columns that stand in line in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from planner.trace.records import Record


@dataclass(frozen=True, slots=True)
class Column:
    """A column for a terminal: its heading, what a row shows there, and how wide it is at least."""

    heading: str
    show: Callable[[Record], str]
    width: int = 0
    right: bool = True


def words(*shown: tuple[str, Callable[[Record], str]]) -> list[Column]:
    """Columns that begin at their left edge, by heading and what a row shows there."""
    return [Column(heading, show, right=False) for heading, show in shown]


def aligned(
    columns: Sequence[Column], rows: Iterable[Record], *, indent: str = "", gap: str = "  "
) -> list[str]:
    """Rows under their headings, each column as wide as what stands in it; nothing is cut."""
    lines = [
        tuple(column.heading for column in columns),
        *(tuple(column.show(row) for column in columns) for row in rows),
    ]
    widths = [
        max(column.width, *map(len, cells))
        for column, cells in zip(columns, zip(*lines, strict=True), strict=True)
    ]
    right = [column.right for column in columns]
    return [f"{indent}{text_line(line, widths, right, gap)}".rstrip() for line in lines]


def text_line(line: Sequence[str], widths: Sequence[int], numeric: Sequence[bool], gap: str = "  ") -> str:
    """Cells of a line, each cut or filled to its width."""
    cells = []
    for cell, width, right in zip(line, widths, numeric, strict=True):
        short = cell if len(cell) <= width else f"{cell[: width - 1]}…"
        pad: Callable[[int], str] = short.rjust if right else short.ljust
        cells.append(pad(width))
    return gap.join(cells).rstrip()
