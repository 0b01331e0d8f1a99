"""Records of a log in DuckDB: the good ones in a table, the bad ones as a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reliability.logs.problems import BadRow, LogError, count_of
from reliability.logs.source import Source, literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many records there were, and those that were left out."""

    rows: int
    bad_rows: tuple[BadRow, ...]
    bad_row_count: int
    unread: int = 0  # rows that `only` of the mapping does not want


def load(
    connection: DuckDBPyConnection,
    source: Source,
    select: Callable[[str], str],
    *,
    columns: Sequence[str],
    keep_bad_rows: int,
) -> Loaded:
    """Put the good records into the table `records`.

    `select` is SQL that makes `columns` from the source's table, and a `problem`, NULL for a good record.

    Raises:
        LogError: there are no records, or most are bad.
    """
    # Records may come in any order but where they are numbered, which takes less memory.
    connection.execute("SET preserve_insertion_order = false")
    rows_of = select(source.table(numbered=False))
    connection.execute(f"CREATE TABLE records AS SELECT {', '.join(columns)}, problem FROM {rows_of}")
    rows, bad = one_row(connection, "SELECT count(*), count(problem) FROM records")
    unread = 0
    if source.only != "true":
        (every,) = one_row(
            connection, f"SELECT count(*) FROM {replace(source, only='true').table(numbered=False)}"
        )
        unread = every - rows
    rejects = connection.execute(f"SELECT DISTINCT line FROM {source.undecoded} ORDER BY line").fetchall()
    undecoded = [line for (line,) in rejects]
    bad_rows = [BadRow(source.name, line, "is not a line of UTF-8 text below 1 MiB") for line in undecoded]
    if bad:
        connection.execute("SET preserve_insertion_order = true")
        numbered = select(source.table(numbered=True))
        found = connection.execute(
            f"SELECT number, problem FROM {numbered} WHERE problem IS NOT NULL LIMIT {keep_bad_rows}"
        ).fetchall()
        bad_rows += [BadRow(source.name, _true_line(line, undecoded), reason) for line, reason in found]
        bad_rows.sort(key=lambda row: row.line)
    loaded = Loaded(rows + len(rejects), tuple(bad_rows[:keep_bad_rows]), bad + len(rejects), unread)
    _require_most(source.name, loaded)
    if bad:
        connection.execute("DELETE FROM records WHERE problem IS NOT NULL")
    return loaded


def first_problem(*checks: tuple[str, str]) -> str:
    """SQL for the message of the first condition that holds, else NULL; both parts of a check are SQL."""
    cases = "\n".join(f"WHEN {condition} THEN {message}" for condition, message in checks)
    return f"(CASE {cases} END)"


def not_a(what: str, column: str, text: str) -> str:
    """SQL for a message on one cell, with a word on decimal commas where it holds one."""
    comma = f"CASE WHEN regexp_matches({text}, '^-?\\d+,\\d+$') THEN ': write a decimal point' ELSE '' END"
    before, after = literal(f"{column} '"), literal(f"' is not {what}")
    return f"concat({before}, {text}, {after}, {comma})"


def number(text: str) -> str:
    """SQL for a finite number, else NULL."""
    return f"(CASE WHEN isfinite(TRY_CAST({text} AS DOUBLE)) THEN TRY_CAST({text} AS DOUBLE) END)"


def words(text: str, table: dict[str, str], otherwise: str) -> str:
    """SQL for a text by a table of words."""
    if not table:
        return otherwise
    cases = " ".join(f"WHEN {literal(word)} THEN {literal(meaning)}" for word, meaning in table.items())
    return f"(CASE {text} {cases} ELSE {otherwise} END)"


def listed(texts: Iterable[str]) -> str:
    """SQL for what follows IN."""
    return ", ".join(map(literal, texts)) or "NULL"


def one_row(connection: DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    """The only row of an answer."""
    row = connection.execute(query).fetchone()
    assert row is not None
    return row


def _true_line(line: int, undecoded: list[int]) -> int:
    """Lines that could not be decoded were not numbered: count them in."""
    for missing in undecoded:
        line += missing <= line
    return line


def _require_most(name: str, loaded: Loaded) -> None:
    if loaded.rows == 0:
        why = "holds no records: is it the right file, and the right layout?"
        if loaded.unread:
            why = f"none of its {count_of(loaded.unread, 'row')} is one that [only] of the mapping wants"
        raise LogError([f"{name}: {why}"])
    if 2 * loaded.bad_row_count > loaded.rows:
        share = f"{loaded.bad_row_count:,} of {count_of(loaded.rows, 'row')}"
        raise LogError(
            [
                f"{name}: {share} cannot be used: correct the mapping or the file",
                *map(str, loaded.bad_rows[:SHOWN]),
            ]
        )
