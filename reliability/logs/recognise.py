"""Which shape a log has, by its header and its first rows."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from reliability.logs.files import header_of, lines_of
from reliability.logs.mapping import Mapping
from reliability.logs.moves import moves_of
from reliability.logs.names import EXAMPLES, FAILED_AT, plain
from reliability.logs.problems import LogError
from reliability.logs.roles import DURATIONS, NEEDED, TIMES, Columns
from reliability.logs.shapes import EVENT_TABLE, NAMELESS, SACCT, SHAPES, XIDS, Shape
from reliability.logs.source import (
    COLUMNS_FROM,
    FLAT,
    KERNEL,
    KERNEL_MARK,
    columns_of,
    first_objects,
    object_columns,
    split_line,
)
from reliability.logs.times import NAIVE_ISO

SEPARATORS = ("|", ",", "\t", ";")
SAMPLE_ROWS = 200
ZONED = r" ?(Z|UTC|GMT|[+-]\d\d(:?\d\d)?)"
ISO = f"{NAIVE_ISO}({ZONED})?"
NUMBER = r"-?\d+(\.\d+)?"
# The day that a number of seconds since 1970 must lie after, to be taken for one: 1973.
FIRST_UNIX_S = 1e8
# Seconds of the year 5138, milliseconds of 1973.
FIRST_UNIX_MS = 1e11
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
DAYS = (
    *("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%m/%d/%y", "%d/%m/%y"),
    *("%b %d, %Y", "%d %b %Y", "%d-%b-%Y"),
)
FORMS = tuple(day + clock for day in DAYS for clock in CLOCKS)
# What sacct calls the columns that a job log needs.
SACCT_COLUMNS = {"job": "JobID", "state": "State", "start": "Start", "end": "End", "nodes": "NNodes"}
KERNEL_FORMS = {
    "boot": "since_start_s",
    "date": "%a %b %d %H:%M:%S %Y",
    "iso": "iso",
    "day": "%b %d %H:%M:%S",
}


@dataclass(frozen=True, slots=True)
class Head:
    """Columns and first rows of a table."""

    layout: str
    separator: str
    columns: tuple[str, ...]
    rows: tuple[Sequence[str], ...]

    def samples(self, column: str, missing: tuple[str, ...]) -> list[str]:
        """What its first rows hold in a column."""
        place = self.columns.index(column)
        cells = (row[place].strip() for row in self.rows if len(row) == len(self.columns))
        return [cell for cell in cells if cell and cell not in missing]

    def plain_columns(self) -> dict[str, str]:
        """Each column by its name as `plain` has it; of two alike the first."""
        return {plain(column): column for column in reversed(self.columns)}


def propose(path: Path, file: Path) -> Mapping:
    """The mapping that fits the plain `file`; `path` names it in messages.

    Raises:
        LogError: its shape is not known, or not clear.
    """
    head = _head(path.name, file)
    for shape in SHAPES:
        columns = _columns(shape, head)
        if columns is not None:
            return _mapping(path.name, shape, columns, head)
    found = _kernel(file) or _nameless(path.name, head)
    if found is None:
        raise LogError([_not_known(path.name, head)])
    return found


def _nameless(name: str, head: Head) -> Mapping | None:
    """A table of failures in which no column names a node; None where it is not clear that it is one."""
    known = head.plain_columns()
    columns: Columns = {
        role: next(known[word] for word in words if word in known)
        for role, words in EVENT_TABLE.roles.items()
        if not known.keys().isdisjoint(words)
    }
    says_what = columns.keys() & {"cause", "severity", "end", *DURATIONS}
    if {"unit", "jobid"} & {*columns, *known} or "start" not in columns or not says_what:
        return None
    if moves_of(name, head.columns, {column: head.samples(column, ()) for column in head.columns}):
        return None  # which end belongs to which start, the names would say
    return _mapping(name, replace(EVENT_TABLE, about=NAMELESS), columns, head)


def _head(name: str, file: Path) -> Head:
    if objects := first_objects(name, file, COLUMNS_FROM):
        columns = tuple(leaf.column for leaf in object_columns(objects))
        texts = ({leaf.column: leaf.text for leaf in leaves} for leaves in objects)
        return Head("json", ",", columns, tuple([row.get(column, "") for column in columns] for row in texts))
    skipped_lines, header = header_of(file, name)
    separator = max(SEPARATORS, key=lambda mark: len(split_line(header, mark)))
    columns = columns_of(name, header, separator)
    lines = itertools.islice(lines_of(file), skipped_lines, skipped_lines + SAMPLE_ROWS)
    rows = tuple(split_line(line.rstrip("\r\n"), separator) for line in lines)
    return Head("table", separator, columns, rows)


def _columns(shape: Shape, head: Head) -> Columns | None:
    """The column of each role, or None where the shape does not fit."""
    known = head.plain_columns()
    columns: Columns = {
        role: next(known[name] for name in names if name in known)
        for role, names in shape.roles.items()
        if not known.keys().isdisjoint(names)
    }
    columns |= shape.columns
    complete = columns.keys() >= set(NEEDED[shape.kind]) and known.keys() >= set(shape.signs)
    complete = complete and known.keys().isdisjoint(shape.never)
    if shape.kind == "lives":
        complete = complete and any(role in columns for role in (*DURATIONS, "entry"))
        complete = complete and sum(role in columns for role in ("died", "censored", "death")) == 1
        complete = complete and not _fails_again(columns, head)
    return columns if complete else None


def _fails_again(columns: Columns, head: Head) -> bool:
    """Whether what the names call a death is a failure: a unit has several in the first rows."""
    unit, death = columns.get("unit"), columns.get("death")
    if not isinstance(unit, str) or not isinstance(death, str) or plain(death) not in FAILED_AT:
        return False
    units = head.samples(unit, ())
    return len(set(units)) < len(units)


def _mapping(name: str, shape: Shape, columns: Columns, head: Head) -> Mapping:
    settings: dict[str, Any] = dict(shape.settings)
    missing = settings.get("missing", ())
    if shape is EVENT_TABLE and columns.keys().isdisjoint(("end", *DURATIONS)):
        samples = {column: head.samples(column, missing) for column in head.columns}
        if moves := moves_of(name, head.columns, samples):
            columns = {role: column for role, column in columns.items() if column != moves[0]}
            columns["transition"] = moves[0]
            settings |= {"transitions": moves[1], "states": True}
    timed = next((columns[role] for role in ("start", "entry") if role in columns), None)
    if "time_format" not in settings and isinstance(timed, str):
        cells = head.samples(timed, missing)
        others = {
            column: head.samples(column, missing)
            for role, column in columns.items()
            if role in TIMES and isinstance(column, str) and column != timed
        }
        form = _time_format(name, timed, cells, [cell for more in others.values() for cell in more])
        settings = {"timezone": _zone(cells), **settings, "time_format": (form,)}
        _refuse_lengths(name, others)
    if shape.covariates:
        used = set(columns.values())
        settings["covariates"] = tuple(
            dict.fromkeys(column for column in head.columns if column and column not in used)
        )
    return Mapping(shape.kind, columns, shape.about, head.layout, head.separator, **settings)


def _refuse_lengths(name: str, samples: dict[str, list[str]]) -> None:
    """Refuse columns with the name of a time that hold lengths, of which the name does not say the unit.

    Raises:
        LogError: most of the first rows hold numbers that are no time.
    """
    for column, cells in samples.items():
        lengths = [cell for cell in cells if re.fullmatch(NUMBER, cell) and float(cell) < FIRST_UNIX_S]
        if 2 * len(lengths) > len(cells):
            raise LogError(
                [
                    f"{name}: {column} holds plain numbers such as '{lengths[0]}': is it how long an outage "
                    "lasted? Name it duration_h (or _s, _min, _d) after its unit, or say so in a mapping"
                ]
            )


def _time_format(name: str, column: str, cells: list[str], more: list[str]) -> str:
    """The form that most of the first rows have; `more` are other times of the log, which may settle it.

    Raises:
        LogError: none has, or several forms fit and would read different days.
    """
    if not cells:
        return "iso"
    needed = len(cells) / 2

    def fits(pattern: str) -> bool:
        return sum(re.fullmatch(pattern, cell) is not None for cell in cells) > needed

    if fits(ISO):
        return "iso"
    if fits(NUMBER):
        if sum(bool(re.fullmatch(NUMBER, cell)) and float(cell) > FIRST_UNIX_S for cell in cells) > needed:
            return "unix_ms" if float(cells[0]) > FIRST_UNIX_MS else "unix_s"
        raise LogError(
            [
                f"{name}: {column} holds plain numbers such as '{cells[0]}': say what they count in a "
                'mapping, with time_format = "since_start_d" (or _h, _min, _s)'
            ]
        )
    counts = {form: sum(_parses(cell, form) for cell in cells) for form in FORMS}
    best = [form for form, count in counts.items() if count == max(counts.values()) and count > needed]
    if len(best) > 1:
        counts = {form: sum(_parses(cell, form) for cell in more) for form in best}
        best = [form for form in best if counts[form] == max(counts.values())]
    if len(best) == 1:
        return best[0]
    if not best and re.fullmatch(r"\d\d?:\d\d(:\d\d)?", cells[0]):
        raise LogError(
            [f"{name}: {column} holds hours such as '{cells[0]}': write day and time into one column"]
        )
    what = f"of more than one form ({' or '.join(best)})" if best else "of no form that is known"
    shown = cells[0] if best else next((cell for cell in cells if not _is_known(cell)), cells[0])
    raise LogError([f"{name}: {column} holds times {what}, such as '{shown}': give time_format in a mapping"])


def _is_known(cell: str) -> bool:
    """Whether a time is of a form that is read, so that it is no example of one that is not."""
    return bool(re.fullmatch(ISO, cell) or re.fullmatch(NUMBER, cell)) or any(
        _parses(cell, form) for form in FORMS
    )


def _parses(cell: str, form: str) -> bool:
    try:
        datetime.strptime(cell, form)
    except ValueError:
        return False
    return True


def _zone(cells: list[str]) -> str | None:
    """UTC where the first rows have times without a zone; what is read says so."""
    aware = f"{NUMBER}|{NAIVE_ISO}{ZONED}"
    naive = any(not re.fullmatch(aware, cell) for cell in cells)
    return "UTC" if naive else None


def _kernel(file: Path) -> Mapping | None:
    line = next((line for line in lines_of(file) if KERNEL_MARK in line), None)
    found = re.match(KERNEL, line.rstrip("\r\n")) if line else None
    if found is None:
        return None
    stamp = next(kind for kind in KERNEL_FORMS if found[kind])
    columns: Columns = {"start": "timestamp", "xid": "xid"}
    if found["host"]:
        columns["unit"] = "host"
    zone = _zone([found[stamp]]) if stamp != "boot" else None
    return Mapping(
        "events",
        columns,
        "kernel messages with `NVRM: Xid`",
        "kernel",
        time_format=(KERNEL_FORMS[stamp],),
        coalesce_s=5,
        severity=XIDS,
        timezone=zone,
    )


def _not_known(name: str, head: Head) -> str:
    lists = [
        column for column in head.columns if any(cell.startswith("[{") for cell in head.samples(column, ()))
    ]
    if head.layout == "json" and lists:
        return f"{name}: its records are inside '{lists[0]}': {FLAT}"
    known = head.plain_columns()
    if len(known) == 1 and {"JobID", "State"} <= set(head.columns[0].split()):
        return f"{name}: sacct has cut its columns to a width: print it with --parsable2"
    if {"jobid", "state"} <= known.keys():
        lacking = [role for role in NEEDED["jobs"] if known.keys().isdisjoint(SACCT.roles[role])]
        columns = ", ".join(SACCT_COLUMNS[role] for role in lacking)
        return f"{name}: a job log lacks {columns}: let sacct print {columns}, too"
    lacking = [_lacking(role, head.columns) for role in NEEDED["events"] if role not in _event_roles(head)]
    lacking_words = " and ".join(lacking) or "what tells whether a unit died"
    shown = ", ".join(repr(column[:40]) for column in head.columns[:12] if column) or "nothing"
    return (
        f"{name}: is of no known shape: its header has {shown}, but no column for {lacking_words}. Name the "
        'columns in a mapping: kind = "events", then [columns] with unit = "..." and start = "..."'
    )


def _lacking(role: str, columns: tuple[str, ...]) -> str:
    names = EVENT_TABLE.roles[role]
    meant = [column for column in columns if difflib.get_close_matches(plain(column), names, cutoff=0.75)]
    return f"{role} (such as {EXAMPLES[role]}{'; is it ' + repr(meant[0]) + '?' if meant else ''})"


def _event_roles(head: Head) -> set[str]:
    known = head.plain_columns().keys()
    return {role for role, names in EVENT_TABLE.roles.items() if known & set(names)}
