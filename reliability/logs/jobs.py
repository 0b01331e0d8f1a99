"""Job logs as `sacct --parsable2` prints them: one row for each run of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from reliability.logs.fleet import MOST_UNITS, Fleet
from reliability.logs.frames import Window, event_frame, no_lives, unit_frame
from reliability.logs.hostlist import expand
from reliability.logs.job_rows import RECORD, job_rows
from reliability.logs.log import FailureLog
from reliability.logs.mapping import Mapping
from reliability.logs.problems import LogError, count_of
from reliability.logs.records import load, one_row, words
from reliability.logs.source import Source
from reliability.logs.times import check_zones, has_calendar, window_edge

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NODE_LISTS_AT_ONCE = 100_000
NODES_AT_ONCE = 1_000_000


def read_jobs(
    connection: DuckDBPyConnection, source: Source, mapping: Mapping, fleet: Fleet, *, keep_bad_rows: int
) -> FailureLog:
    """The runs in `source`, counted by size of job; only failures and counts leave the database."""
    loaded = load(
        connection,
        source,
        lambda table: job_rows(source, mapping, table),
        columns=RECORD,
        keep_bad_rows=keep_bad_rows,
    )
    notes = [*check_zones(connection, source.name, mapping), *_make_runs(connection)]
    window = _window(connection, mapping, source.name)
    notes += _make_inside(connection, window)
    units = _units(connection, notes, source.name)
    if fleet.size is not None and len(units) > fleet.size:
        raise LogError(
            [
                f"{source.name}: {len(units):,} nodes appear, but the fleet has {fleet.size:,}: correct "
                "fleet_size"
            ]
        )
    exposure = _exposure(connection, window)
    events = _events(connection, mapping, notes)
    notes += _uncounted(connection)
    return FailureLog(
        name=source.name,
        kind="jobs",
        origin=window.origin,
        window_h=window.hours,
        units=units,
        events=events,
        lives=no_lives(),
        jobs=_sizes(connection, notes),
        exposure=exposure,
        node_h=float(exposure["node_h"].iloc[-1]),
        notes=tuple(notes),
        bad_rows=loaded.bad_rows,
        bad_row_count=loaded.bad_row_count,
    )


def _make_runs(connection: DuckDBPyConnection) -> list[str]:
    """Make `runs` of the records: no steps, nothing that never ran, and each run once."""
    steps, waiting, runs, jobs = one_row(
        connection,
        """SELECT count_if(step), count_if(NOT step AND start_s IS NULL), count_if(ran),
               count(DISTINCT job) FILTER (ran)
           FROM (SELECT *, NOT step AND start_s IS NOT NULL AS ran FROM records)""",
    )
    different = runs
    if jobs < runs:
        ran = "NOT step AND start_s IS NOT NULL"
        (different,) = one_row(
            connection, f"SELECT count(DISTINCT hash(job, start_s)) FROM records WHERE {ran}"
        )
    once = "QUALIFY row_number() OVER (PARTITION BY job, start_s ORDER BY end_s DESC NULLS LAST) = 1"
    connection.execute(
        f"CREATE {'TABLE' if different < runs else 'VIEW'} runs AS "
        f"SELECT * FROM records WHERE NOT step AND start_s IS NOT NULL {once if different < runs else ''}"
    )
    said = [
        (steps, "of a job step ignored: its job has a row of its own"),
        (waiting, "of a job that never ran ignored"),
        (runs - different, "ignored as a repetition: same job and same start"),
        (different - jobs, "of a job that had run before: requeued, and counted as a run of its own"),
    ]
    return [f"{count_of(rows, 'row')} {what}." for rows, what in said if rows]


def _window(connection: DuckDBPyConnection, mapping: Mapping, name: str) -> Window:
    first, last = one_row(connection, "SELECT min(start_s), max(greatest(start_s, end_s)) FROM runs")
    if first is None:
        raise LogError([f"{name}: no job ever ran: nothing can be counted"])
    return Window.of(
        window_edge(connection, "start", mapping.window_start, mapping),
        window_edge(connection, "end", mapping.window_end, mapping),
        (first, last),
        dated=has_calendar(mapping),
        name=name,
    )


def _make_inside(connection: DuckDBPyConnection, window: Window) -> list[str]:
    """Make `inside` of the runs: in hours since the window's start, cut at its edges."""
    connection.execute(
        f"""CREATE VIEW inside AS
            SELECT *, greatest(start_h, 0) AS from_h, least(end_h, {window.hours}) AS to_h
            FROM (SELECT *, (start_s - {window.start_s}) / 3600 AS start_h,
                      (end_s - {window.start_s}) / 3600 AS end_h FROM runs)
            WHERE start_h <= {window.hours} AND (end_h IS NULL OR end_h >= 0)"""
    )
    (before,) = one_row(connection, "SELECT count(*) FROM runs")
    after, early, late, running = one_row(
        connection,
        f"""SELECT count(*), count_if(start_h < 0), count_if(end_h > {window.hours}), count_if(end_h IS NULL)
            FROM inside""",
    )
    said = [
        (before - after, "outside the window left out"),
        (early, "cut at the start of the window"),
        (late, "cut at the end of the window"),
        (running, "still going at the end of the window: censored"),
    ]
    return [f"{count_of(runs, 'run')} {what}." for runs, what in said if runs]


def _sizes(connection: DuckDBPyConnection, notes: list[str]) -> pd.DataFrame:
    (skewed,) = one_row(connection, "SELECT count_if(wait_h < 0) FROM inside")
    if skewed:
        notes.append(f"{count_of(skewed, 'run')} started before being eligible: its wait is left out.")
    return connection.execute(
        """SELECT CAST(nodes AS BIGINT) AS nodes, count(*) AS jobs, sum(nodes * (to_h - from_h)) AS node_h,
               count(*) FILTER (failed AND NOT planned) AS failures,
               avg(wait_h) FILTER (wait_h >= 0) AS queue_mean_h,
               median(wait_h) FILTER (wait_h >= 0) AS queue_median_h
           FROM (SELECT *, severity <> 'ignore' AND end_h = to_h AS failed FROM inside)
           GROUP BY nodes ORDER BY nodes"""
    ).fetch_df()


def _events(connection: DuckDBPyConnection, mapping: Mapping, notes: list[str]) -> pd.DataFrame:
    """Runs that ended in a state with a severity; the unit is the failed node, where the log tells it."""
    found = connection.execute(
        f"""SELECT coalesce(failed_node, CASE WHEN nodes = 1 THEN node_list END, '') AS unit,
                end_h AS start_h, CAST('NaN' AS DOUBLE) AS end_h,
                {words("state", mapping.causes, "state")} AS cause, severity, planned
            FROM inside WHERE severity <> 'ignore' AND end_h = to_h"""
    ).fetch_df()
    nameless = int((found["unit"] == "").sum())
    if nameless:
        notes.append(
            f"{count_of(nameless, 'failure')} of a job name no node: let sacct print NodeList, FailedNode."
        )
    return event_frame(found)


def _uncounted(connection: DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        """SELECT state, count(*) FROM inside
           WHERE severity IS NULL AND end_h IS NOT NULL AND state <> 'COMPLETED'
           GROUP BY state ORDER BY count(*) DESC, state"""
    ).fetchall()
    if not rows:
        return []
    states = ", ".join(f"{state} {runs:,}" for state, runs in rows)
    return [f"Not counted as failures: {states}. Name a state under [severity] to count it."]


def _exposure(connection: DuckDBPyConnection, window: Window) -> pd.DataFrame:
    """Node-hours up to each whole hour.

    E(T) = sum_(start < T) n * (T - start)  -  sum_(end < T) n * (T - end)
    """
    steps = connection.execute(
        """SELECT hour, sum(n) AS n, sum(n * t) AS nt FROM (
               SELECT floor(from_h) AS hour, nodes AS n, from_h AS t FROM inside
               UNION ALL SELECT floor(to_h), -nodes, to_h FROM inside) GROUP BY hour ORDER BY hour"""
    ).fetchnumpy()
    time_h = np.unique(np.append(np.arange(0.0, window.hours), window.hours))
    # At the end of the window every run has ended, also in its last, broken hour.
    before = np.searchsorted(steps["hour"], np.append(time_h[:-1], np.inf))
    n = np.append(0.0, np.cumsum(steps["n"]))[before]
    nt = np.append(0.0, np.cumsum(steps["nt"]))[before]
    return pd.DataFrame({"time_h": time_h, "node_h": time_h * n - nt})


def _units(connection: DuckDBPyConnection, notes: list[str], name: str) -> pd.DataFrame:
    """First and last hour that each node of a NodeList ran anything."""
    lists = connection.execute(
        """SELECT node_list, min(from_h), max(to_h) FROM inside WHERE node_list IS NOT NULL
           GROUP BY node_list ORDER BY node_list"""
    )
    seen, unread = _Seen(), 0
    while batch := lists.fetchmany(NODE_LISTS_AT_ONCE):
        for node_list, from_h, to_h in batch:
            try:
                expanded = expand(node_list)
            except ValueError:
                unread += 1
                continue
            if len(seen.place) + len(expanded) > MOST_UNITS:
                raise LogError(
                    [
                        f"{name}: its node lists name more than {MOST_UNITS:,} nodes: is a range a digit too "
                        f"long, as in '{node_list}'?"
                    ]
                )
            seen.add(expanded, from_h, to_h)
    seen.fold()
    if unread:
        notes.append(f"{count_of(unread, 'node list')} cannot be expanded: its nodes are not in `units`.")
    return unit_frame(
        pd.DataFrame({"unit": list(seen.place), "entry_h": seen.entry_h, "exit_h": seen.exit_h})
    )


class _Seen:
    """Nodes by their place, and the first and the last hour of each; added to in columns."""

    def __init__(self) -> None:
        self.place: dict[str, int] = {}
        self.entry_h, self.exit_h = np.zeros(0), np.zeros(0)
        self._places: list[int] = []
        self._lists: list[tuple[float, float, int]] = []

    def add(self, nodes: list[str], from_h: float, to_h: float) -> None:
        """Nodes of one list, which ran something from one hour to another."""
        place = self.place
        self._places += [place.setdefault(node, len(place)) for node in nodes]
        self._lists.append((from_h, to_h, len(nodes)))
        if len(self._places) > NODES_AT_ONCE:
            self.fold()

    def fold(self) -> None:
        """Take in what was added."""
        more = len(self.place) - len(self.entry_h)
        self.entry_h = np.append(self.entry_h, np.full(more, np.inf))
        self.exit_h = np.append(self.exit_h, np.full(more, -np.inf))
        from_h, to_h, sizes = np.array(self._lists, dtype=float).reshape(-1, 3).T
        counts = sizes.astype(np.int64)
        np.minimum.at(self.entry_h, self._places, np.repeat(from_h, counts))
        np.maximum.at(self.exit_h, self._places, np.repeat(to_h, counts))
        self._places, self._lists = [], []
