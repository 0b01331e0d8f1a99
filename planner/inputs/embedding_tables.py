"""Embedding tables of a recommendation model, and how often their rows are read: CSV files."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.inputs.files import csv_rows, read_limited
from planner.inputs.loading import data_folder
from planner.trace.errors import InputError

NEEDED = ("table", "rows", "dim", "pooling")
REUSE_NEEDED = ("reuse_gt", "share_of_rows", "share_of_accesses")
BYTES = 4.0  # of a value, where no column says it
MOST_TABLES = 20_000
_ROUNDED = 0.0005  # a share that is printed with three digits
_TRUE, _FALSE = ("yes", "true", "1"), ("no", "false", "0", "")


@dataclass(frozen=True, slots=True)
class Reuse:
    """A part of the rows of a table, and the share of its reads that go to them."""

    rows_fraction: float
    reads_fraction: float


EVEN = (Reuse(1.0, 1.0),)


@dataclass(frozen=True, slots=True)
class EmbeddingTable:
    """One table. `pooling` rows are read for a sample: summed to one vector, or each sent as it is.

    `reuse` has the most read rows first.
    """

    name: str
    rows: float
    dim: float
    pooling: float
    value_bytes: float
    summed: bool = True
    reuse: tuple[Reuse, ...] = EVEN

    @property
    def row_bytes(self) -> float:
        """Width of a row."""
        return self.dim * self.value_bytes

    @property
    def size_gb(self) -> float:
        """Size of the table."""
        return self.rows * self.row_bytes / 1e9


def read_tables(path: Path, model: str = "") -> list[EmbeddingTable]:
    """Tables of a CSV with the columns table, rows, dim and pooling.

    Columns that may be left out: bytes_per_param (4), summed (yes; no where each row is sent as it is),
    model, which tells several sets of tables of one file apart.

    Raises:
        InputError: the file cannot be read, or a cell is wrong; the message has every one of them.
    """
    rows = _chosen(path, _read(path, NEEDED), "model", model)
    problems: list[str] = []
    found: list[EmbeddingTable] = []
    for line, row in rows:
        number = {
            name: _number(row, name, problems, f"{path.name}:{line}")
            for name in ("rows", "dim", "pooling", "bytes_per_param")
        }
        summed = row.get("summed", "yes").strip().lower()
        if summed not in _TRUE + _FALSE:
            problems.append(f"{path.name}:{line}: summed is yes or no, got '{summed}'")
        found.append(
            EmbeddingTable(
                row["table"].strip() or str(len(found)),
                number["rows"],
                number["dim"],
                number["pooling"],
                number["bytes_per_param"],
                summed in _TRUE,
            )
        )
    if len({one.name for one in found}) < len(found):
        problems.append(f"{path.name}: two tables have one name")
    if len(found) > MOST_TABLES:
        problems.append(f"{path.name}: {len(found)} tables; {MOST_TABLES} are placed at most")
    if problems:
        raise InputError("\n".join(problems))
    return found


def read_reuse(path: Path, dataset: str = "") -> dict[str, tuple[Reuse, ...]]:
    """Histograms of reads of a row, by table; the one of all tables is under the empty name.

    Columns: reuse_gt (rows that are read more often than this, and at most as often as reuse_le),
    share_of_rows, share_of_accesses; table where each has a histogram of its own; dataset, which tells
    several sets of one file apart; num_indices and num_unique_rows, by which rows that a rounded share leaves
    at 0.000 are counted.

    Raises:
        InputError: the file cannot be read, or a cell is wrong; the message has every one of them.
    """
    rows = _chosen(path, _read(path, REUSE_NEEDED), "dataset", dataset)
    problems: list[str] = []
    bins: dict[str, list[tuple[float, float, float]]] = {}
    for line, row in rows:
        where = f"{path.name}:{line}"
        edge, held, read = (_number(row, name, problems, where, least=0.0) for name in REUSE_NEEDED)
        if held < _ROUNDED and read > 0:
            held = _hot_rows(row, edge, read)
        bins.setdefault(row.get("table", "").strip(), []).append((edge, held, read))
    found = {}
    for table, own in bins.items():
        held, read = sum(one[1] for one in own), sum(one[2] for one in own)
        if not (held > 0 and read > 0):
            problems.append(f"{path.name}: the shares of {table or 'the histogram'} add up to nothing")
            continue
        hottest_first = sorted(own, reverse=True)
        found[table] = tuple(Reuse(h / held, r / read) for _, h, r in hottest_first if h > 0)
    if problems:
        raise InputError("\n".join(problems))
    return found


def with_reuse(
    tables: Sequence[EmbeddingTable], reuse: Mapping[str, tuple[Reuse, ...]]
) -> list[EmbeddingTable]:
    """Tables with their own histogram, or that of all."""
    usual = reuse.get("", EVEN)
    return [
        EmbeddingTable(
            one.name,
            one.rows,
            one.dim,
            one.pooling,
            one.value_bytes,
            one.summed,
            reuse.get(one.name, usual),
        )
        for one in tables
    ]


def _hot_rows(row: Mapping[str, str], edge: float, read: float) -> float:
    """Share of rows of a bin that is printed as 0.000, from its reads and the least reads of such a row.

    share = reads * (indices / touched rows) / edge: the most rows that may be meant, so that what a small
    fast tier serves is never told too high.
    """
    try:
        mean = float(row["num_indices"]) / float(row["num_unique_rows"])
    except (KeyError, ValueError, ZeroDivisionError):
        return _ROUNDED
    return min(_ROUNDED, read * mean / edge) if edge > 0 else _ROUNDED


def _read(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    shipped = data_folder() / "samples" / path.name
    if not path.exists() and not path.is_absolute() and shipped.exists():
        path = shipped
    try:
        text = read_limited(path).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no UTF-8 text") from error
    rows = csv_rows(path.name, io.StringIO(text, newline=""))
    _, head = next(rows, (0, []))
    names = [name.strip() for name in head]
    if missing := [name for name in needed if name not in names]:
        raise InputError(f"{path.name}: has no column {', '.join(missing)}; it has {', '.join(names)}")
    for line, cells in rows:
        if any(cells):
            if len(cells) != len(names):
                raise InputError(f"{path.name}:{line}: has {len(cells)} cells, the first line {len(names)}")
            yield line, dict(zip(names, cells, strict=True))


def _chosen(
    path: Path, rows: Iterator[tuple[int, dict[str, str]]], column: str, name: str
) -> list[tuple[int, dict[str, str]]]:
    """The rows of one of several sets; the only one where none is named."""
    listed = list(rows)
    known = list(dict.fromkeys(row.get(column, "") for _, row in listed))
    if name and known == [""]:
        raise InputError(f"{path.name}: has no column {column}, so that it has no '{name}': leave it out")
    if name and name not in known:
        raise InputError(f"{path.name}: has no {column} '{name}'; it has {', '.join(known[:20])}")
    if not name and len(known) > 1:
        raise InputError(f"{path.name}: has several: name one with --{column}: {', '.join(known[:20])}")
    found = [(line, row) for line, row in listed if not name or row.get(column, "") == name]
    if not found:
        raise InputError(f"{path.name}: has no rows")
    return found


def _number(row: Mapping[str, str], name: str, problems: list[str], where: str, least: float = 1.0) -> float:
    text = row.get(name, "").strip()
    if not text and name == "bytes_per_param":
        return BYTES
    if name == "bytes_per_param":
        least = 0.1
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= 1e15:
        problems.append(f"{where}: {name} is a number of at least {least:g}, got '{text[:40]}'")
        return max(least, 1.0)
    return value
