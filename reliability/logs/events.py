"""Event logs: failures and outages of units, one row for each, or one for its start and one for its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from reliability.logs.event_rows import RECORD, event_rows
from reliability.logs.fleet import Fleet, name_units, quiet_units, quiet_units_of_groups
from reliability.logs.frames import (
    Window,
    covariate_names,
    event_frame,
    exposure_of,
    no_jobs,
    no_lives,
    unit_frame,
)
from reliability.logs.log import FailureLog
from reliability.logs.mapping import Mapping
from reliability.logs.outages import make_outages
from reliability.logs.problems import LogError, count_of
from reliability.logs.records import load, one_row
from reliability.logs.source import Source
from reliability.logs.times import check_zones, has_calendar, window_edge

INTENDED = r"(?<!un)(?<!non-)(?:planned|scheduled)|maintenance"

# Events due at the mean rate after the last one, of which chance has none once in 20,000 logs.
MOST_DUE = 10.0

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def read_events(
    connection: DuckDBPyConnection, source: Source, mapping: Mapping, fleet: Fleet, *, keep_bad_rows: int
) -> FailureLog:
    """The events in `source`, after alarms that belong together were joined."""
    if mapping.is_nameless and fleet.size is None:
        raise LogError(
            [
                f'{source.name}: no column names a node: if one does, say so in a mapping (unit = "..."); '
                "else state fleet_size: the rate is then of all nodes, and nothing is said of single ones"
            ]
        )
    name_units(connection, fleet)
    loaded = load(
        connection,
        source,
        lambda table: event_rows(source, mapping, fleet, table),
        columns=(*RECORD, *(f"covariate_{i}" for i in range(len(mapping.covariates)))),
        keep_bad_rows=keep_bad_rows,
    )
    notes = list(check_zones(connection, source.name, mapping))
    if loaded.unread:
        notes.append(f"{count_of(loaded.unread, 'row')} that [only] of the mapping does not want: not read.")
    if mapping.is_nameless:  # each row is of a node that nobody knows, so that none is joined with another
        connection.execute("UPDATE records SET unit = concat('of row ', rowid + 1)")
    window = _window(connection, mapping, source.name, notes)
    notes += make_outages(connection, mapping)
    units = _units(connection, mapping, window)
    down_h = _in_hours(connection, window, "down")
    if mapping.is_nameless:
        stays, units = _unnamed(fleet, window), _unnamed(fleet, window)
        down = _cut(down_h.assign(entry_h=0.0, exit_h=window.hours))
        notes.append(
            f"No row names its node: each is a failure of one of {count_of(len(units), 'unit')}. Nothing is "
            "said of single nodes, and rows that tell one failure twice count twice."
        )
    elif mapping.needs_cause:
        stays = _stays(connection, window)
    else:
        quiet = _quiet(connection, units, fleet, window, source.name)
        notes += _fleet_notes(units, quiet)
        stays = units = units if quiet is None else _with(units, quiet)
    if not mapping.is_nameless:
        down = _within(down_h, units)
    exposure = exposure_of(stays, down, window.hours)
    events = _in_window(event_frame(_in_hours(connection, window, "outages")), window, notes)
    notes += _window_notes(mapping, window, units, events)
    notes += _intended_notes(events)
    return FailureLog(
        name=source.name,
        kind="events",
        origin=window.origin,
        window_h=window.hours,
        units=units.drop(columns=["age_h", "age_known"]),
        events=events,
        lives=no_lives() if mapping.is_nameless else first_failures(units, events),
        jobs=no_jobs(),
        exposure=exposure,
        node_h=float(exposure["node_h"].iloc[-1]),
        notes=tuple(notes),
        bad_rows=loaded.bad_rows,
        bad_row_count=loaded.bad_row_count,
    )


def first_failures(units: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """Age of each unit at its first failure, or at the end of watching; planned stops are no failures."""
    failed = events[~events["planned"]].merge(units[["unit", "entry_h", "exit_h"]], on="unit")
    failed = failed[failed["start_h"].between(failed["entry_h"], failed["exit_h"])]
    first_h = units["unit"].map(failed.groupby("unit")["start_h"].min())
    lives = pd.DataFrame(
        {
            "unit": units["unit"],
            "entry_h": units["age_h"],
            "duration_h": units["age_h"] + first_h.fillna(units["exit_h"]) - units["entry_h"],
            "died": first_h.notna(),
        }
    )
    return lives.join(units.drop(columns=["unit", "entry_h", "exit_h", "age_h", "age_known"]))


def _window(connection: DuckDBPyConnection, mapping: Mapping, name: str, notes: list[str]) -> Window:
    """From the first event to the last time. A day of installation does not say that a log was kept then.

    Ends after the last event say that the log was kept up to them, but for a log that was cut by the day on
    which events begin: there none begins for far longer than they do else.
    """
    times = ", ".join(["start_s", "end_s", *(["entry_s", "exit_s"] if mapping.needs_cause else [])])
    first, last = one_row(connection, f"SELECT min(least({times})), max(greatest({times})) FROM records")
    events, last_start = one_row(
        connection,
        "SELECT count(DISTINCT start_s), max(start_s) FROM records WHERE coalesce(moved, 'start') = 'start'",
    )
    if mapping.window_end is None and not mapping.needs_cause and events > 1:
        due = (last - last_start) / ((last_start - first) / (events - 1))
        if due > MOST_DUE:
            notes.append(
                f"No event begins in the last {(last - last_start) / 3600:,.0f} h of its times, in which "
                f"{due:,.0f} were due: the log was cut by the day on which events begin, and is taken to end "
                "with the last of them. State [window] with an end if it was kept for longer."
            )
            last = last_start
    return Window.of(
        window_edge(connection, "start", mapping.window_start, mapping),
        window_edge(connection, "end", mapping.window_end, mapping),
        (first, last),
        dated=has_calendar(mapping),
        name=name,
    )


def _units(connection: DuckDBPyConnection, mapping: Mapping, window: Window) -> pd.DataFrame:
    """Each unit that a row names: when it was watched, how old it was then, and its covariates."""
    covariates = "".join(f", min(covariate_{i}) AS covariate_{i}" for i in range(len(mapping.covariates)))
    units = connection.execute(
        f"""SELECT unit, least(greatest(coalesce(came_h, 0), 0), {window.hours}) AS entry_h,
                greatest(least(coalesce(left_h, {window.hours}), {window.hours}), entry_h) AS exit_h,
                greatest(coalesce(-came_h, 0), 0) AS age_h, came_h IS NOT NULL AS age_known,
                * EXCLUDE (unit, came_h, left_h)
            FROM (SELECT unit, (min(entry_s) - {window.start_s}) / 3600 AS came_h,
                      (max(exit_s) - {window.start_s}) / 3600 AS left_h{covariates}
                  FROM records GROUP BY unit)"""
    ).fetch_df()
    return unit_frame(units.rename(columns=covariate_names(mapping)))


def _quiet(
    connection: DuckDBPyConnection, seen: pd.DataFrame, fleet: Fleet, window: Window, name: str
) -> pd.DataFrame | None:
    """The units that no row names, or None where nobody says how many there are."""
    if fleet.size is not None:
        return quiet_units(seen, fleet, window.hours, name)
    groups = connection.execute(
        """SELECT unit, min(group_name) AS group_name, max(group_size) AS group_size FROM records
           WHERE group_size IS NOT NULL GROUP BY unit"""
    ).fetch_df()
    return None if groups.empty else quiet_units_of_groups(seen.merge(groups, on="unit"), name)


def _with(seen: pd.DataFrame, quiet: pd.DataFrame) -> pd.DataFrame:
    return unit_frame(pd.concat([seen, quiet.assign(age_known=False)], ignore_index=True))


def _fleet_notes(seen: pd.DataFrame, quiet: pd.DataFrame | None) -> list[str]:
    if quiet is not None:
        return [f"{count_of(len(quiet), 'unit')} without any row added to the {len(seen):,} seen."]
    return [
        f"{count_of(len(seen), 'unit')} seen; those that never failed are in no log: state fleet_size, or "
        "rates come out too high."
    ]


def _stays(connection: DuckDBPyConnection, window: Window) -> pd.DataFrame:
    return connection.execute(
        f"""SELECT greatest((entry_s - {window.start_s}) / 3600, 0) AS entry_h,
                least((exit_s - {window.start_s}) / 3600, {window.hours}) AS exit_h
            FROM (SELECT DISTINCT unit, entry_s, exit_s FROM records
                  WHERE entry_s IS NOT NULL AND exit_s IS NOT NULL)
            WHERE exit_h > entry_h"""
    ).fetch_df()


def _in_hours(connection: DuckDBPyConnection, window: Window, table: str) -> pd.DataFrame:
    return connection.execute(
        f"""SELECT unit, (start_s - {window.start_s}) / 3600 AS start_h,
                (end_s - {window.start_s}) / 3600 AS end_h,
                nullif(array_to_string(list_sort(list_distinct(causes)), '+'), '') AS cause, severity, planned
            FROM {table}"""
    ).fetch_df()


def _within(down: pd.DataFrame, units: pd.DataFrame) -> pd.DataFrame:
    """Outages with a known end, cut to the time that their unit was watched."""
    return _cut(down.merge(units[["unit", "entry_h", "exit_h"]], on="unit"))


def _unnamed(fleet: Fleet, window: Window) -> pd.DataFrame:
    """Units of which nobody knows more than how many there are, in service for the whole window."""
    assert fleet.size is not None, "asked for above"
    names = [f"unit {i + 1}" for i in range(fleet.size)]
    return unit_frame(
        pd.DataFrame(
            {"unit": names, "entry_h": 0.0, "exit_h": window.hours, "age_h": 0.0, "age_known": False}
        )
    )


def _cut(down: pd.DataFrame) -> pd.DataFrame:
    down = down.dropna(subset=["end_h"])
    return down.assign(
        start_h=down["start_h"].clip(down["entry_h"], down["exit_h"]),
        end_h=down["end_h"].clip(down["entry_h"], down["exit_h"]),
    )


def _in_window(events: pd.DataFrame, window: Window, notes: list[str]) -> pd.DataFrame:
    inside = events["start_h"].between(0.0, window.hours)
    if not inside.all():
        notes.append(f"{count_of(int((~inside).sum()), 'event')} outside the window left out.")
    return events[inside].reset_index(drop=True)


def _intended_notes(events: pd.DataFrame) -> list[str]:
    """Causes that read like a stop which somebody intended, and count as failures as nothing says so."""
    counted = events.loc[~events["planned"], "cause"].dropna()
    found = counted[counted.str.contains(INTENDED, case=False, regex=True)].value_counts()
    return [
        f"{count_of(int(rows), 'event')} of the cause '{cause}' counted as failures: if they were intended, "
        f'write planned = ["{cause}"] in the mapping.'
        for cause, rows in found.items()
        if "+" not in str(cause)
    ]


def _window_notes(mapping: Mapping, window: Window, units: pd.DataFrame, events: pd.DataFrame) -> list[str]:
    notes = []
    if mapping.window_start is None or mapping.window_end is None:
        notes.append(
            f"Watched for {window.hours:,.1f} h, by the first and last time in the log: state [window] if "
            "it was kept for longer."
        )
    older = int((units["age_h"] > 0).sum())
    if older:
        notes.append(f"{count_of(older, 'unit')} in service before the window: left-truncated.")
    if not units["age_known"].any() and not mapping.is_nameless:
        notes.append("No day of entry: ages count from the start of the window, as if all were new then.")
    still = int(events["end_h"].isna().sum())
    if 0 < still < len(events):
        notes.append(f"{count_of(still, 'outage')} without an end: taken as over at once in the node-hours.")
    return notes
