"""Tables of a CSV file, a workbook, or a list of nodes of Kubernetes or Slurm; nothing is judged here."""

from __future__ import annotations

import io
import re
import tomllib
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from planner.inputs.files import csv_rows, parse_json, read_limited
from planner.inputs.loading import data_folder
from planner.inputs.sheets.cells import LARGE, holds_a_number
from planner.inputs.sheets.commas import (
    first_decimal_comma,
    two_meanings,
    with_decimal_point,
    without_thousands,
)
from planner.inputs.sheets.pods import is_pods, pod_rows
from planner.trace.errors import InputError
from planner.trace.numbers import count_text, written_text

LARGEST_BYTES = 20_000_000
NUMBER = "_number"  # of a row that is stated; no key of a scenario
MOST_ROWS = 20_000  # of one table; a fleet has hundreds of lines
MOST_UNPACKED = 200_000_000  # bytes of a workbook once it is unpacked
# Units of counts by time, whose numbers may end in k, M, B or T as those of counts do.
_COUNTING = ("/s", "/d", "/month", "h/d", "h")
_UNIT = re.compile(r"[(\[]([^)\]]*)[)\]]\s*$")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: where it comes from, which it is, and its rows as text by the key of the scenario."""

    where: str
    table: str
    rows: tuple[tuple[int, Mapping[str, str]], ...]  # line, values that are filled
    left_out: tuple[str, ...]  # columns that say nothing that is known
    notes: tuple[str, ...] = ()  # how what stands there was read


@cache
def vocabulary() -> dict[str, Any]:
    """`data/sheets.toml`: how people head the columns of each table."""
    with (data_folder() / "sheets.toml").open("rb") as file:
        return tomllib.load(file)


def read_sheets(name: str, content: bytes) -> list[Sheet]:
    """The tables of one file.

    Raises:
        InputError: it is no such file, too large, or holds no table that is known.
    """
    ending = Path(name).suffix.lower()
    if ending == ".json":
        return [_nodes(name, content)]
    if ending in (".xlsx", ".xlsm"):
        tables = list(_workbook(name, content))
    elif ending in (".csv", ".tsv", ".txt"):
        tables = [(name, _lines(name, content))]
    else:
        raise InputError(
            f"{name}: is no table: write a CSV file, an XLSX workbook, or JSON of a list of nodes"
        )
    found = [_sheet(where, lines) for where, lines in tables if lines]
    if not found:
        raise InputError(f"{name}: holds no rows")
    return found


def stated_rows(table: str, rows: Sequence[Mapping[str, str]], currency: str) -> Sheet:
    """Rows that were stated key by key; bare numbers have the units of a spreadsheet, money `currency`.

    A row may say its number, where not all are there.
    """
    bare = {key: unit.replace("USD", currency) for key, unit in vocabulary()["unit"].items()}
    return Sheet(
        table,
        table,
        tuple(
            (
                int(row.get(NUMBER, number)),
                {
                    key: _with_unit(cell, bare.get(f"{table}.{key}", bare.get(key, "")))
                    for key, cell in row.items()
                    if cell and key != NUMBER
                },
            )
            for number, row in enumerate(rows, start=1)
        ),
        (),
    )


def read_sheet_files(paths: Sequence[Path]) -> list[Sheet]:
    """The tables of files on this machine.

    Raises:
        InputError: as `read_sheets`, or a file cannot be read; of all files at once.
    """
    return _each(partial(_read_path, path) for path in paths)


def read_sheet_contents(files: Mapping[str, bytes]) -> list[Sheet]:
    """The tables of files by their names.

    Raises:
        InputError: as `read_sheets`, of all files at once.
    """
    return _each(partial(read_sheets, name, content) for name, content in files.items())


def _each(readings: Iterable[Callable[[], list[Sheet]]]) -> list[Sheet]:
    """What all of them read; what is wrong with any is told at once."""
    found: list[Sheet] = []
    problems = []
    for read in readings:
        try:
            found += read()
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    return found


def _read_path(path: Path) -> list[Sheet]:
    try:
        return read_sheets(path.name, read_limited(path, most_bytes=LARGEST_BYTES))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


Lines = list[tuple[int, list[str]]]


def _lines(name: str, content: bytes) -> Lines:
    """Rows of a delimited text, with their numbers; empty ones are left out."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: byte {error.start + 1} is no UTF-8: save it as CSV UTF-8") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t|", key=first.count)
    rows = csv_rows(name, io.StringIO(text, newline=""), delimiter=delimiter, tight=True)
    return _few(name, ((number, [cell.strip() for cell in row]) for number, row in rows))


def _workbook(name: str, content: bytes) -> Iterator[tuple[str, Lines]]:
    """Every sheet of a workbook; its formulas by the values that were saved with it."""
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(one.file_size for one in packed.infolist()) > MOST_UNPACKED:
                raise InputError(f"{name}: is larger than {MOST_UNPACKED // 10**6} MB unpacked: split it")
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    except InputError:
        raise
    except Exception as error:  # the library raises what its parsers raise
        raise InputError(
            f"{name}: is no workbook that can be read ({type(error).__name__}): save it again"
        ) from None
    for sheet in book.worksheets:
        rows = enumerate(sheet.iter_rows(values_only=True, max_col=200), start=1)
        yield (
            f"{name}, {sheet.title}",
            _few(name, ((number, [_text(cell) for cell in row]) for number, row in rows)),
        )


def _few(name: str, rows: Iterator[tuple[int, list[str]]]) -> Lines:
    found: Lines = []
    for number, cells in rows:
        if any(cells):
            found.append((number, cells))
        if len(found) > MOST_ROWS:
            raise InputError(
                f"{name}: has more than {count_text(MOST_ROWS)} rows: is it a table of a fleet or of demand?"
            )
    return found


def _text(cell: Any) -> str:
    """A cell of a workbook as a person would write it."""
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.date().isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def _sheet(where: str, lines: Lines) -> Sheet:
    """A table with its columns as keys, and the units of headings at its numbers."""
    (_, head), *rest = lines
    plain = [_words(_UNIT.sub("", cell)) for cell in head]
    units = [found[1].strip() if (found := _UNIT.search(cell)) else "" for cell in head]
    table, keys = _known(where, plain, head)
    bare = vocabulary()["unit"]
    rest, notes = _with_points(where, [key and holds_a_number(table, key) for key in keys], rest)
    rows = []
    for number, cells in rest:
        row = {}
        for key, unit, cell in zip(keys, units, cells, strict=False):
            if key and cell:
                row[key] = _with_unit(cell, unit or bare.get(f"{table}.{key}", bare.get(key, "")))
        rows.append((number, row))
    left_out = tuple(cell for cell, key in zip(head, keys, strict=True) if cell and not key)
    return Sheet(where, table, tuple(rows), left_out, notes)


def _with_points(where: str, numeric: Sequence[Any], rows: Lines) -> tuple[Lines, tuple[str, ...]]:
    """Rows whose decimal commas are points, and what is to be said of it.

    Raises:
        InputError: a number may mean two things.
    """
    held = [(number, cell) for number, cells in rows for cell, of in zip(cells, numeric, strict=False) if of]
    first = first_decimal_comma(cell for _, cell in held)
    if not first:
        return rows, ()
    doubtful = [
        f"{where}, line {number}: '{cell}' may be {' or '.join(both)}, as '{first}' has a decimal comma: "
        f"write {both[0]} or {both[1].replace('.', ',')}0"
        for number, cell in held
        if (both := two_meanings(cell))
    ]
    if doubtful:
        raise InputError("\n".join(doubtful))
    pointed = [
        (number, [with_decimal_point(cell) if of else cell for cell, of in zip(cells, numeric, strict=False)])
        for number, cells in rows
    ]
    return pointed, (f"{where}: commas are decimal signs there: {first} is {with_decimal_point(first)}",)


def _known(where: str, plain: Sequence[str], head: Sequence[str]) -> tuple[str, list[str]]:
    """Which table has these columns, and the key of each; empty for those that are not known."""
    for table, columns in vocabulary().items():
        if table == "unit":
            continue
        keys = _keys(columns, plain)
        if any(set(line) <= set(keys) for line in columns["tells"]):
            return table, keys
    shown = ", ".join(cell for cell in head if cell)[:200]
    raise InputError(f"{where}: columns {shown} are of no table that is known. {_nearest(plain, head)}")


def _keys(columns: Mapping[str, Any], plain: Sequence[str]) -> list[str]:
    """The key of each heading in one table; empty for those that are none of its."""
    keys: list[str] = []
    for word in plain:
        fitting = (
            key for key, words in columns.items() if key != "tells" and key not in keys and word in words
        )
        keys.append(next(fitting, "") if word else "")
    return keys


def _nearest(plain: Sequence[str], head: Sequence[str]) -> str:
    """The table that lacks least to be known, and what it lacks; all of them where none is near."""
    tables = {table: columns for table, columns in vocabulary().items() if table != "unit"}
    near: list[tuple[int, int, int, str, list[str], list[str]]] = []
    for table, columns in tables.items():
        keys = _keys(columns, plain)
        for line in columns["tells"]:
            lacking = [key for key in line if key not in keys]
            if len(lacking) < len(line):
                near.append((len(lacking), keys.count(""), len(near), table, keys, lacking))
    if not near:
        wanted = "; ".join(
            f"{table}: {', '.join(_headings(columns, key)[0] for key in columns['tells'][0])}"
            for table, columns in tables.items()
        )
        return f"A table has {wanted}"
    *_, table, keys, lacking = min(near)
    read = ", ".join(
        f"{cell} as {key.replace('_', ' ')}" for cell, key in zip(head, keys, strict=True) if key
    )
    headed = ["' or '".join(_headings(tables[table], key)[:4]) for key in lacking]
    wanted = ", and ".join(f"a column headed '{one}'" for one in headed)
    return f"Nearest is {table}, which would read {read}; it lacks {wanted}"


def _headings(columns: Mapping[str, Any], key: str) -> list[str]:
    """How a column may be headed, in words of people first."""
    words: list[str] = columns[key]
    return [*words[1:], words[0]] if key in ("name", "sku") else words


def _words(heading: str) -> str:
    """A heading in small letters, its signs as spaces."""
    return " ".join(re.sub(r"[^a-z0-9]+", " ", heading.casefold()).split())


def _with_unit(cell: str, unit: str) -> str:
    """A number with the unit of its column; thousands may be set apart by commas or spaces, or end in k."""
    number = without_thousands(cell)
    if unit in _COUNTING and (large := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmMbBtT])", number)):
        number = written_text(float(large[1]) * LARGE[large[2].casefold()], 12)
    if unit and re.fullmatch(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?", number):
        return f"{number} {unit}"
    return number if re.fullmatch(r"[-+\d.eE]+", number) else cell


def _nodes(name: str, content: bytes) -> Sheet:
    """Nodes of `kubectl get nodes -o json`, or of `scontrol show nodes --json`, counted by kind and place.

    Pods of `kubectl get pods -o json` are work of pools.
    """
    try:
        found = parse_json(content)
    except ValueError as error:
        raise InputError(f"{name}: is no JSON: {error}") from None
    held = found if isinstance(found, dict) else {}
    counted: Counter[tuple[str, str]] = Counter()
    without = 0
    if is_pods(held):
        work, left_out = pod_rows(held["items"])
        if not work:
            raise InputError(
                f"{name}: none of its {len(held['items'])} pods is of a job that holds accelerators"
            )
        return Sheet(name, "pools", tuple(enumerate(work, start=1)), left_out)
    if isinstance(held.get("items"), list):
        kinds = [_of_kubernetes(one) for one in held["items"]]
    elif isinstance(held.get("nodes"), list):
        kinds = [_of_slurm(one) for one in held["nodes"]]
    else:
        wanted = "kubectl get nodes -o json, kubectl get pods -A -o json, or scontrol show nodes --json"
        raise InputError(f"{name}: lists no nodes: write what {wanted} prints")
    for kind, place in kinds:
        if kind:
            counted[kind, place] += 1
        else:
            without += 1
    if not counted:
        raise InputError(f"{name}: none of its {len(kinds)} nodes names an accelerator")
    rows = tuple(
        (number, {"sku": kind, "nodes": str(count)} | ({"site": place} if place else {}))
        for number, ((kind, place), count) in enumerate(sorted(counted.items()), start=1)
    )
    return Sheet(name, "fleet", rows, (f"{without} nodes without accelerators",) if without else ())


def _of_kubernetes(node: Any) -> tuple[str, str]:
    """Accelerator with its count, and the place, by the labels of the device plugins."""
    labels = _inside(node, "metadata", "labels")
    capacity = _inside(node, "status", "capacity")
    count = next(
        (str(capacity[key]) for key in capacity if str(key).endswith("/gpu")),
        labels.get("nvidia.com/gpu.count", ""),
    )
    kind = labels.get("nvidia.com/gpu.product") or labels.get("amd.com/gpu.product-name") or ""
    place = labels.get("topology.kubernetes.io/zone") or labels.get("topology.kubernetes.io/region") or ""
    return (f"{count} x {kind}" if count and kind else str(kind)), str(place)


def _of_slurm(node: Any) -> tuple[str, str]:
    """Accelerator with its count by the generic resources of a node."""
    gres = str(node.get("gres", "")) if isinstance(node, Mapping) else ""
    found = re.search(r"gpu:([\w.-]+):(\d+)", gres)
    return (f"{found[2]} x {found[1]}", "") if found else ("", "")


def _inside(found: Any, *names: str) -> Mapping[str, Any]:
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}
