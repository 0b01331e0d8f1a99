"""A log file as SQL: a table with one row for each record, and an expression for each of its columns.

A text is read line by line and cut in SQL: so every record has a line number, and a broken one stays one row.
A quoted cell may hold the separator but no line end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from reliability.logs.files import LONGEST_LINE_BYTES, header_of, open_text
from reliability.logs.mapping import Mapping
from reliability.logs.problems import LogError, near

KERNEL_MARK = "NVRM: Xid"
KERNEL_COLUMNS = ("timestamp", "host", "gpu", "xid", "message")
KERNEL_TIMES = ("boot", "date", "iso", "day")
KERNEL = (
    r"^(?:<\d+>1? ?)?(?:\[ *(?P<boot>\d+\.\d+)\] |\[(?P<date>\w{3} \w{3} +\d+ [\d:]+ \d{4})\] "
    r"|(?P<iso>\d{4}-\d\d-\d\dT\S+) |(?P<day>\w{3} +\d+ [\d:]+) )(?:(?P<host>\S+) kernel(?::|(?: -)+) )?.*?"
    r"NVRM: Xid \((?:PCI:)?(?P<gpu>[^)]+)\): (?P<xid>\d+)(?:, *(?P<message>.*))?$"
)
# Between these sacct quotes nothing: a quote is a character like others.
UNQUOTED = "|"
# More than any scheduler or monitor writes, `sacct` knows about a hundred; the SQL has a part for each.
MOST_COLUMNS = 2_000
FLAT = "write a flat object for each record, each on a line, as `jq -c '.items[]'` makes them of a list"
# Objects of which the keys are the columns of a JSON log.
COLUMNS_FROM = 200


@dataclass(frozen=True, slots=True)
class Source:
    """The SQL of one log.

    `lines` is a table of texts, after the first `skipped_lines` of the file; `kept` says which are records,
    `cells` cuts one, and `wrong` says what is wrong with its cells, or is NULL. `undecoded` is a table of the
    lines that are no text.
    """

    name: str
    lines: str
    kept: str
    cells: str
    wrong: str
    columns: tuple[str, ...]
    missing: tuple[str, ...] = ()
    skipped_lines: int = 0
    # DuckDB makes this table where it reads text with `store_rejects`.
    undecoded: str = "reject_errors"
    # Says of the cells of a record whether it is read.
    only: str = "true"

    def table(self, *, numbered: bool) -> str:
        """SQL for the records as `cells` and `number`; without numbers it is read by all cores at once."""
        number = f"row_number() OVER () + {self.skipped_lines}" if numbered else "0"
        lines = f"(SELECT line, {number} AS number FROM {self.lines})"
        records = f"(SELECT {self.cells} AS cells, line, number FROM {lines} WHERE {self.kept})"
        return records if self.only == "true" else f"(SELECT * FROM {records} WHERE {self.only})"

    def cell(self, column: str | None) -> str:
        """SQL for the text of a column; NULL where it is empty or a word for no value."""
        if column is None:
            return "NULL::VARCHAR"
        text = f"cells[{self.columns.index(column) + 1}]"
        empty = ", ".join(literal(word) for word in ("", *self.missing))
        return f"(CASE WHEN {text} NOT IN ({empty}) THEN {text} END)"


def literal(text: str) -> str:
    """A text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def source_of(path: Path, file: Path, mapping: Mapping) -> Source:
    """The plain `file` as its mapping reads it; `path` names it in messages.

    Raises:
        LogError: columns of the mapping are not in the file.
    """
    build = {"json": _objects, "kernel": _kernel, "table": _table}[mapping.layout]
    source = build(path.name, file, mapping)
    named = {f"columns.{role}": names for role, names in mapping.columns.items()}
    named["only"] = tuple(mapping.only)
    problems = [
        f"{source.name}: {role}: there is no column '{column}': {near(column, source.columns)}"
        for role, names in (named | {"covariates": mapping.covariates}).items()
        for column in ((names,) if isinstance(names, str) else names)
        if column not in source.columns
    ]
    if problems:
        raise LogError(problems)
    wanted = [
        f"coalesce({source.cell(column)} IN ({', '.join(map(literal, words))}), false)"
        for column, words in mapping.only.items()
    ]
    return replace(source, only=" AND ".join(wanted)) if wanted else source


def split_line(line: str, separator: str) -> list[str]:
    """The cells of one line, cut as the SQL of a table does."""
    cells = re.findall(_cell_pattern(separator), separator + line)
    if separator in UNQUOTED:
        return [cell.strip() for cell in cells]
    return [cell[1:-1].replace('""', '"') if cell.startswith('"') else cell.strip() for cell in cells]


def columns_of(name: str, header: str, separator: str) -> tuple[str, ...]:
    """The names in the header of a table; `name` begins messages.

    Raises:
        LogError: there are far too many.
    """
    columns = tuple(cell.strip() for cell in split_line(header, separator))
    _refuse_many(name, len(columns))
    return columns


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value of an object: the keys that lead to it, and its text."""

    steps: tuple[str, ...]
    text: str

    @property
    def column(self) -> str:
        """The name that a mapping writes: its keys, joined by dots."""
        return ".".join(self.steps)

    @property
    def pointer(self) -> str:
        """Where it is, as a JSON pointer: there any key can be written, whatever characters it holds."""
        return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in self.steps)


def first_objects(name: str, file: Path, most: int) -> tuple[tuple[Leaf, ...], ...]:
    """Values of the first objects in a list, or in lines of objects; none where there are none.

    Raises:
        LogError: one is nested too deep, they have far too many keys, or are no records of a log.
    """
    with open_text(file) as text:
        head = text.read(1 << 16).lstrip()
    if not head.startswith(("{", "[")):
        return ()
    rest, objects = head.removeprefix("[").lstrip(), list[tuple[Leaf, ...]]()
    try:
        while len(objects) < most:
            entry, end = json.JSONDecoder().raw_decode(rest)
            if not isinstance(entry, dict):
                break
            objects.append(tuple(_leaves(entry, ())))
            rest = rest[end:].lstrip().removeprefix(",").lstrip()
    except ValueError:  # the end, or what is read no further
        pass
    except RecursionError:
        raise LogError([f"{name}: its first objects are nested too deep: write flat objects"]) from None
    if not objects and re.match(r"\{|\[\s*\{", head):
        raise LogError([f"{name}: its first object is damaged or longer than {1 << 16:,} characters: {FLAT}"])
    _refuse_many(name, len(object_columns(objects)))
    return tuple(objects)


def object_columns(objects: Iterable[tuple[Leaf, ...]]) -> tuple[Leaf, ...]:
    """A value of each column that any of the objects has: an object may leave out what it does not know."""
    return tuple({leaf.column: leaf for leaves in objects for leaf in leaves}.values())


def _leaves(value: object, steps: tuple[str, ...]) -> Iterator[Leaf]:
    if not isinstance(value, dict):
        yield Leaf(steps, "" if value is None else str(value))
        return
    for key, inner in value.items():
        yield from _leaves(inner, (*steps, key))


def _refuse_many(name: str, columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise LogError(
            [
                f"{name}: its header has {columns:,} columns, and {MOST_COLUMNS:,} are read at most: keep "
                "those that say which unit failed, when and why"
            ]
        )


def _table(name: str, file: Path, mapping: Mapping) -> Source:
    skipped_lines, header = header_of(file, name)
    separator, mark = mapping.separator, literal(mapping.separator)
    columns = columns_of(name, header, separator)
    quotes = """contains(line, '"')""" if separator not in UNQUOTED else "false"
    # Most lines need no care; a regular expression for each would take most of the time.
    inside = f"contains(line, {literal(' ' + separator)}) OR contains(line, {literal(separator + ' ')})"
    spaces = f"{inside} OR starts_with(line, ' ') OR ends_with(line, ' ')"
    careful = f"{quotes} OR (contains(line, ' ') AND ({spaces}))"
    cut = f"regexp_extract_all({mark} || line, {literal(_cell_pattern(separator))}, 1)"
    unquoted = """CASE WHEN cell[1] = '"' THEN replace(cell[2:-2], '""', '"') ELSE trim(cell) END"""
    unquoted = unquoted if separator not in UNQUOTED else "trim(cell)"
    hint = ": quote a cell that holds a comma, and write 1.5 for 1,5" if separator == "," else ""
    return Source(
        name=name,
        lines=_lines(file, skipped_lines),
        # Files that were joined end to end repeat the header.
        kept=f"line <> '' AND line <> {literal(header)}",
        cells=f"CASE WHEN {careful} THEN list_transform({cut}, lambda cell: {unquoted}) "
        f"ELSE string_split(line, {mark}) END",
        wrong=f"""CASE WHEN {quotes} AND length(line) % 2 <> length(replace(line, '"', '')) % 2
                  THEN 'a quote that its line does not close' WHEN len(cells) <> {len(columns)}
                  THEN concat(len(cells), ' cells, the header has {len(columns)}{hint}') END""",
        columns=columns,
        missing=mapping.missing,
        skipped_lines=skipped_lines,
    )


def _objects(name: str, file: Path, mapping: Mapping) -> Source:
    leaves = object_columns(first_objects(name, file, COLUMNS_FROM))
    return Source(
        name=name,
        lines=f"(SELECT json AS line FROM read_json_objects({literal(str(file))}, format = 'auto', "
        f"maximum_object_size = {LONGEST_LINE_BYTES}))",
        kept="true",
        cells=f"json_extract_string(line, [{', '.join(literal(leaf.pointer) for leaf in leaves)}])",
        wrong="NULL",
        columns=tuple(leaf.column for leaf in leaves),
        missing=mapping.missing,
        undecoded="(SELECT 0 AS line WHERE false)",
    )


def _kernel(name: str, file: Path, mapping: Mapping) -> Source:
    groups = ", ".join(map(literal, (*KERNEL_TIMES, *KERNEL_COLUMNS[1:])))
    found = f"regexp_extract(line, {literal(re.sub('[?]P<[a-z]+>', '', KERNEL))}, [{groups}])"
    time = ", ".join(f"x.{kind}" for kind in KERNEL_TIMES)
    rest = ", ".join(f"x.{column}" for column in KERNEL_COLUMNS[1:])
    return Source(
        name=name,
        lines=_lines(file, 0),
        kept=f"contains(line, {literal(KERNEL_MARK)})",
        cells=f"list_transform([{found}], lambda x: [concat({time}), {rest}])[1]",
        wrong="CASE WHEN cells[4] = '' THEN 'an Xid line without a time, or of a form that is not known' END",
        columns=KERNEL_COLUMNS,
        missing=mapping.missing,
    )


def _lines(file: Path, skipped_lines: int) -> str:
    """SQL for the lines of a text: no text holds the separator given here, so each line is one cell."""
    return (
        f"read_csv({literal(str(file))}, auto_detect = false, "
        f"header = false, skip = {skipped_lines}, delim = '\x01', quote = '', escape = '', "
        f"columns = {{'line': 'VARCHAR'}}, max_line_size = {LONGEST_LINE_BYTES}, store_rejects = true)"
    )


def _cell_pattern(separator: str) -> str:
    """A cell after its separator: in quotes, which are doubled inside, or up to the next separator."""
    mark = "\\" + separator if separator in r"|^$.*+?\-" else separator
    quoted = '"(?:[^"]|"")*"|' if separator not in UNQUOTED else ""
    return f"{mark}({quoted}[^{mark}]*)"
