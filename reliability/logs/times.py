"""Times of a log as SQL: seconds since 1970 UTC, or since a start that nobody knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reliability.logs.mapping import Mapping
from reliability.logs.problems import LogError, count_of
from reliability.logs.records import one_row
from reliability.logs.roles import SINCE_1970, SINCE_START
from reliability.logs.source import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAIVE_ISO = r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.]\d+)?)?)?"
# Nearly all times of a job log have this form, which takes half as long to read as any.
PLAIN, PLAIN_LENGTH = "%Y-%m-%dT%H:%M:%S", 19
NAIVE, AWARE = 1, 2
# The years 1 to 9999, which Python's calendar holds; times since a start are as far from it at most.
FIRST_S, LAST_S = -62_135_596_800, 253_402_300_799


def has_calendar(mapping: Mapping) -> bool:
    """Are its times days of a calendar, rather than hours since an unknown start?"""
    return not any(form in SINCE_START for form in mapping.time_format)


def plain_seconds(text: str) -> str:
    """SQL for the seconds of a time such as 2027-01-31T23:59:59 in UTC; NULL for all other texts."""
    whole = f"strlen({text}) = {PLAIN_LENGTH} AND NOT contains({text}, ' ')"
    return f"(CASE WHEN {whole} THEN epoch(try_strptime({text}, {literal(PLAIN)})) END)"


def seconds(text: str, mapping: Mapping, plain: str | None = None) -> str:
    """SQL for the seconds of a time; NULL where it is none, or lies outside the years 1 to 9999.

    `plain` is SQL for its `plain_seconds`, where these were read already.
    """
    forms = [form for form in mapping.time_format if "%" in form]
    found = [_seconds(text, form, mapping) for form in mapping.time_format if "%" not in form]
    if forms:
        year = f"{mapping.year} " if mapping.year else ""
        lead = "%Y " if mapping.year else ""
        spaced = f"{literal(year)} || regexp_replace({text}, ' +', ' ', 'g')"
        listed = ", ".join(literal(lead + form) for form in forms)
        found.append(f"epoch(CAST(try_strptime({spaced}, [{listed}]) AS TIMESTAMPTZ))")
    if plain is not None and mapping.time_format[0] == "iso" and mapping.timezone in (None, "UTC"):
        found.insert(0, plain)
    value = f"coalesce({', '.join(found)})"
    return f"(CASE WHEN {value} BETWEEN {FIRST_S} AND {LAST_S} THEN {value} END)"


def zone_marks(text: str, mapping: Mapping, plain: str | None = None) -> str:
    """SQL: 1 for a time without a zone, 2 for one with a zone, 0 where the question does not arise."""
    forms = mapping.time_format
    if not has_calendar(mapping):
        return "0"
    if set(forms) <= SINCE_1970.keys() or all("%z" in form for form in forms):
        return f"(CASE WHEN {text} IS NULL THEN 0 ELSE {AWARE} END)"
    # Other forms of strptime than those with %z hold no zone.
    naive = f"regexp_full_match({text}, {literal(NAIVE_ISO)})" if "iso" in forms else "true"
    known = f"WHEN {plain} IS NOT NULL THEN {NAIVE}" if plain is not None and "iso" in forms else ""
    return f"(CASE WHEN {text} IS NULL THEN 0 {known} WHEN {naive} THEN {NAIVE} ELSE {AWARE} END)"


def require_year(name: str, mapping: Mapping) -> None:
    """Refuse times that would all lie in 1900.

    Raises:
        LogError: a form of the mapping has no year, and the mapping gives none.
    """
    without = [form for form in mapping.time_format if "%" in form and not re.search("%-?[YyGc]", form)]
    if without and mapping.year is None:
        raise LogError(
            [
                f"{name}: times of the form '{without[0]}' carry no year: take the mapping that is proposed "
                "and add year = 2025, or whichever it was"
            ]
        )


def check_zones(connection: DuckDBPyConnection, name: str, mapping: Mapping) -> tuple[str, ...]:
    """Notes on the zones of the times in `records`.

    Raises:
        LogError: some times carry a zone and others do not, or none does and the mapping names none.
    """
    naive, aware = one_row(
        connection,
        f"SELECT count_if(zones & {NAIVE} > 0), count_if(zones & {AWARE} > 0) FROM records",
    )
    if naive and aware:
        raise LogError(
            [
                f"{name}: {count_of(aware, 'row')} with and {count_of(naive, 'row')} without a time zone: "
                "write all times with one, or all without one"
            ]
        )
    if naive and mapping.timezone is None:
        raise LogError([f"{name}: times carry no zone: add timezone, such as 'UTC', to the mapping"])
    if not naive:
        return ()
    zone = str(mapping.timezone)
    said = f"Times carry no zone and are taken as {zone}: if that is wrong, state timezone in a mapping."
    return (said, *_unclear_hours(connection, zone))


def _unclear_hours(connection: DuckDBPyConnection, timezone: str) -> tuple[str, ...]:
    """Clocks that are set back in autumn show an hour twice; DuckDB reads it as winter time."""
    if timezone == "UTC":
        return ()
    zone = literal(timezone)

    def twice(column: str) -> str:
        local = f"timezone({zone}, to_timestamp({column}))"
        earlier = f"timezone({zone}, to_timestamp({column} - 3600))"
        return f"coalesce({local} = {earlier}, false)"

    (rows,) = one_row(connection, f"SELECT count_if({twice('start_s')} OR {twice('end_s')}) FROM records")
    if not rows:
        return ()
    return (f"{count_of(rows, 'row')} in the hour that clocks show twice in autumn: read as winter time.",)


def window_edge(connection: DuckDBPyConnection, key: str, text: str | None, mapping: Mapping) -> float | None:
    """Seconds of an edge of the window; it is written as times in the log are."""
    if text is None:
        return None
    # A day or an ISO time will do, whatever the form of the times in the log.
    iso = [_seconds("edge", "iso", mapping)] if has_calendar(mapping) else []
    value = f"coalesce({', '.join([seconds('edge', mapping), *iso])})"
    (found,) = one_row(connection, f"SELECT {value} FROM (SELECT {literal(text)} AS edge)")
    if found is None:
        form = " or ".join(mapping.time_format)
        raise LogError([f"window.{key}: '{text}' is not a time as in the log ({form})"])
    return float(found)


def _seconds(text: str, form: str, mapping: Mapping) -> str:
    if form != "iso":
        return f"TRY_CAST({text} AS DOUBLE) * {(SINCE_START | SINCE_1970)[form]}"
    aware = f"epoch(TRY_CAST({text} AS TIMESTAMPTZ))"
    if mapping.timezone not in (None, "UTC"):
        return aware
    # The same, and four times as fast without a calendar of zones.
    naive = f"epoch(TRY_CAST({text} AS TIMESTAMP))"
    return f"(CASE WHEN regexp_full_match({text}, {literal(NAIVE_ISO)}) THEN {naive} ELSE {aware} END)"
