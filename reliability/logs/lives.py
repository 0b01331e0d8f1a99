"""Life tables: one row for each unit, with how long it was watched and whether it died."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from reliability.logs.columns import NO, YES, not_durations, not_times, selected, unit_of
from reliability.logs.fleet import Fleet, name_units, quiet_units, unknown_unit
from reliability.logs.frames import Window, covariate_names, event_frame, exposure_of, no_jobs, unit_frame
from reliability.logs.log import FailureLog
from reliability.logs.mapping import Mapping
from reliability.logs.problems import count_of
from reliability.logs.records import first_problem, listed, load, not_a, number, one_row
from reliability.logs.roles import DURATIONS, ENTRY_AGES, SECONDS
from reliability.logs.source import Source
from reliability.logs.times import check_zones, has_calendar, seconds, window_edge, zone_marks

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TIMES = ("entry", "exit", "death")
TEXTS = (*TIMES, *DURATIONS, *ENTRY_AGES, "died", "censored")
RECORD = ("unit", "start_s", "end_s", "lasted_s", "entry_age_s", "died", "zones")
DEAD = (*YES, "dead", "died", "failed")
ALIVE = (*NO, "alive", "censored", "ok")


def read_lives(
    connection: DuckDBPyConnection, source: Source, mapping: Mapping, fleet: Fleet, *, keep_bad_rows: int
) -> FailureLog:
    """The lives in `source`; where days of entry are given, with their place in the calendar."""
    name_units(connection, fleet)
    loaded = load(
        connection,
        source,
        lambda table: _rows(source, mapping, fleet, table),
        columns=(*RECORD, *(f"covariate_{i}" for i in range(len(mapping.covariates)))),
        keep_bad_rows=keep_bad_rows,
    )
    notes = [*check_zones(connection, source.name, mapping), *_once(connection)]
    dated = "entry" in mapping.columns
    window = _window(connection, mapping, source.name, dated)
    table = _table(connection, mapping, window, notes)
    quiet = quiet_units(table, fleet, window.hours, source.name)
    if len(quiet):
        notes.append(f"{count_of(len(quiet), 'unit')} without any row added to the {len(table):,} seen.")
        quiet = quiet.assign(duration_h=quiet["exit_h"], died=False)
        table = pd.concat([table, quiet], ignore_index=True)
    notes += _notes(table)
    units = unit_frame(table.drop(columns=["age_h", "duration_h", "died"]))
    exposure = exposure_of(units, units.iloc[:0].assign(start_h=0.0, end_h=0.0), window.hours)
    return FailureLog(
        name=source.name,
        kind="lives",
        origin=window.origin,
        window_h=window.hours,
        units=units,
        events=_deaths(table if dated else table.iloc[:0]),
        lives=_lives(table),
        jobs=no_jobs(),
        exposure=exposure if dated else exposure.iloc[:0],
        node_h=float((table["duration_h"] - table["age_h"]).sum()),
        notes=tuple(notes),
        bad_rows=loaded.bad_rows,
        bad_row_count=loaded.bad_row_count,
    )


def _rows(source: Source, mapping: Mapping, fleet: Fleet, table: str) -> str:
    """SQL for the records of a source's table, with their `problem`."""
    texts = {f"{role}_text": source.cell(mapping.column(role)) for role in TEXTS}
    texts["unit"] = unit_of(source, mapping)
    texts |= {f"covariate_{i}": source.cell(column) for i, column in enumerate(mapping.covariates)}
    times = {f"{role}_time": seconds(f"{role}_text", mapping) for role in TIMES}
    lasted, age = (
        ", ".join(f"{number(f'{what}_{unit}_text')} * {factor}" for unit, factor in SECONDS.items())
        for what in ("duration", "entry_age")
    )
    values = {
        "start_s": "entry_time",
        "end_s": "coalesce(exit_time, death_time)",
        "lasted_s": f"coalesce({lasted})",
        "entry_age_s": f"coalesce({age})",
        "died": _died(mapping),
        "zones": " | ".join(zone_marks(f"{role}_text", mapping) for role in TIMES),
    }
    return f"""
        (WITH texts AS (SELECT *, {selected(texts)} FROM {table}),
            times AS (SELECT *, {selected(times)} FROM texts)
         SELECT *, {_problem(source, mapping, fleet)} AS problem
         FROM (SELECT *, {selected(values)} FROM times))"""


def _died(mapping: Mapping) -> str:
    if "death" in mapping.columns:
        return "(death_time IS NOT NULL)"
    text, yes, no = ("died_text", DEAD, ALIVE) if "died" in mapping.columns else ("censored_text", NO, YES)
    word = f"lower({text})"
    return f"(CASE WHEN {word} IN ({listed(yes)}) THEN true WHEN {word} IN ({listed(no)}) THEN false END)"


def _problem(source: Source, mapping: Mapping, fleet: Fleet) -> str:
    flag = "censored" if "censored" in mapping.columns else "died"
    not_said = not_a("a word for dead or alive", mapping.column(flag) or flag, f"coalesce({flag}_text, '')")
    return first_problem(
        (f"({source.wrong}) IS NOT NULL", source.wrong),
        ("unit IS NULL", "'names no unit'"),
        unknown_unit(fleet),
        *not_times(mapping, TIMES),
        *not_durations(mapping, (*DURATIONS, *ENTRY_AGES)),
        ("died IS NULL", not_said),
        ("end_s < start_s", "concat('ends ', coalesce(exit_text, death_text), ', before ', entry_text)"),
        ("lasted_s < entry_age_s", "'ends younger than it was when watching began'"),
        ("lasted_s IS NULL AND start_s IS NULL", "'has neither a duration nor an entry'"),
        ("lasted_s IS NULL AND end_s IS NULL AND died", "'is dead, but nothing says since when'"),
    )


def _once(connection: DuckDBPyConnection) -> list[str]:
    """Leave each life once in `records`; say how many units have several."""
    (before,) = one_row(connection, "SELECT count(*) FROM records")
    connection.execute("CREATE OR REPLACE TABLE records AS SELECT DISTINCT * FROM records")
    after, units = one_row(connection, "SELECT count(*), count(DISTINCT unit) FROM records")
    said = [
        (before - after, "ignored as a copy of another"),
        (after - units, "of a unit that has one already: taken as a life of its own"),
    ]
    return [f"{count_of(rows, 'row')} {what}." for rows, what in said if rows]


def _window(connection: DuckDBPyConnection, mapping: Mapping, name: str, dated: bool) -> Window:
    """From the first entry to the last end; of ages without dates, the longest life."""
    start, end = ("min(start_s)", "max(greatest(start_s, end_s))") if dated else ("0.0", "0.0")
    first, last = one_row(
        connection,
        f"""SELECT {start}, greatest({end}, max(coalesce(start_s, 0) + lasted_s - coalesce(entry_age_s, 0)))
            FROM records""",
    )
    return Window.of(
        window_edge(connection, "start", mapping.window_start, mapping),
        window_edge(connection, "end", mapping.window_end, mapping),
        (first, last),
        dated=dated and has_calendar(mapping),
        name=name,
    )


def _table(
    connection: DuckDBPyConnection, mapping: Mapping, window: Window, notes: list[str]
) -> pd.DataFrame:
    """Lives cut to the window: age when watching began, and at death or at the end of watching."""
    covariates = "".join(f", covariate_{i}" for i in range(len(mapping.covariates)))
    table = (
        connection.execute(
            f"""SELECT unit, greatest(came_h, 0) AS entry_h, least(left_h, {window.hours}) AS exit_h,
                first_age_h + greatest(-came_h, 0) AS age_h, age_h + exit_h - entry_h AS duration_h,
                died AND left_h <= {window.hours} AS died{covariates}
            FROM (SELECT *, coalesce(entry_age_s, 0) / 3600 AS first_age_h,
                      coalesce((start_s - {window.start_s}) / 3600, 0) AS came_h,
                      coalesce(came_h + lasted_s / 3600 - first_age_h, (end_s - {window.start_s}) / 3600,
                               {window.hours}) AS left_h
                  FROM records)
            WHERE came_h <= {window.hours} AND left_h >= 0 ORDER BY unit, entry_h"""
        )
        .fetch_df()
        .rename(columns=covariate_names(mapping))
    )
    (lives,) = one_row(connection, "SELECT count(*) FROM records")
    if len(table) < lives:
        notes.append(f"{count_of(lives - len(table), 'row')} outside the window left out.")
    return table


def _lives(table: pd.DataFrame) -> pd.DataFrame:
    known = table.drop(columns=["entry_h", "exit_h"]).rename(columns={"age_h": "entry_h"})
    first = ["unit", "entry_h", "duration_h", "died"]
    return known[[*first, *known.columns.difference(first, sort=False)]].astype({"died": bool})


def _deaths(table: pd.DataFrame) -> pd.DataFrame:
    dead = table[table["died"].astype(bool)].rename(columns={"exit_h": "start_h"})
    return event_frame(dead.assign(end_h=float("nan"), cause="death", severity="unknown", planned=False))


def _notes(table: pd.DataFrame) -> list[str]:
    said = [
        (int((table["age_h"] > 0).sum()), "in service before it was watched: left-truncated"),
        (int((~table["died"].astype(bool)).sum()), "alive when last seen: right-censored"),
    ]
    return [f"{count_of(units, 'unit')} {what}." for units, what in said if units]
