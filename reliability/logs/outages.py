"""From alarms to outages, in SQL: pairs of rows, alarms that belong together, and outages that overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reliability.logs.mapping import Mapping
from reliability.logs.problems import count_of
from reliability.logs.records import one_row
from reliability.logs.source import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

EVENT = "unit, start_s, end_s, causes, severity, planned"


def make_outages(connection: DuckDBPyConnection, mapping: Mapping) -> list[str]:
    """Make `outages`, one row for each event, of `records`; `down` has what they cover, no hour twice.

    Returns notes on what was paired, dropped, coalesced and merged.
    """
    notes = _repeats(connection) if mapping.states else []
    notes += _pairs(connection) if mapping.transitions else _single_rows(connection, mapping)
    notes += _drop_ignored(connection)
    if not mapping.every_row_counts:
        before, after = _join(connection, mapping, _alone(mapping.coalesce_s), "outages")
        if before > after:
            notes.append(
                f"{count_of(before - after, 'alarm')} within {mapping.coalesce_s:g} s of another of the same "
                f"unit coalesced with it: {count_of(after, 'event')} left."
            )
    before, after = _join(connection, mapping, _after_all(), "down")
    if before > after and not mapping.every_row_counts:
        connection.execute("CREATE OR REPLACE TABLE outages AS FROM down")
        notes.append(f"{count_of(before - after, 'outage')} merged with one of its unit that was not over.")
    elif before > after:
        notes.append(f"{count_of(before - after, 'outage')} of a unit that was down already: kept as events.")
    return notes


def _single_rows(connection: DuckDBPyConnection, mapping: Mapping) -> list[str]:
    wanted = "AND cause IS NOT NULL" if mapping.needs_cause else ""
    connection.execute(
        f"CREATE TABLE outages AS SELECT {EVENT} FROM (SELECT *, [cause] AS causes FROM records) "
        f"WHERE start_s IS NOT NULL {wanted}"
    )
    return []


def _repeats(connection: DuckDBPyConnection) -> list[str]:
    """Leave out of `records` the rows that say again which state their unit is in."""
    (before,) = one_row(connection, "SELECT count(*) FROM records")
    # A unit that goes down and comes back in one second, or in one day of a log of days, is left as it was.
    connection.execute(
        """CREATE OR REPLACE TABLE records AS
           WITH once AS (SELECT * FROM records
                         QUALIFY row_number() OVER (PARTITION BY unit, start_s, moved ORDER BY cause) = 1),
           alone AS (SELECT unit, start_s, min(moved) AS moved FROM once GROUP BY unit, start_s
                     HAVING count(*) = 1),
           again AS (SELECT unit, start_s FROM alone
                     QUALIFY moved = lag(moved) OVER (PARTITION BY unit ORDER BY start_s))
           SELECT once.* FROM once ANTI JOIN again USING (unit, start_s)"""
    )
    (after,) = one_row(connection, "SELECT count(*) FROM records")
    return (
        [f"{count_of(before - after, 'row')} repeat the state that their unit was in."]
        if after < before
        else []
    )


def _pairs(connection: DuckDBPyConnection) -> list[str]:
    """The k-th start of a unit goes with the k-th end, not counting ends that no start can be meant for."""
    connection.execute(
        """CREATE TABLE moves AS
           WITH steps AS (SELECT *, CASE moved WHEN 'start' THEN 1 ELSE -1 END AS step FROM records),
           depths AS (SELECT *, sum(step) OVER (PARTITION BY unit ORDER BY start_s, step DESC
                                                ROWS UNBOUNDED PRECEDING) AS depth FROM steps),
           early AS (SELECT *, greatest(0, -min(depth) OVER (PARTITION BY unit)) AS ends_before FROM depths)
           SELECT *, row_number() OVER (PARTITION BY unit, moved ORDER BY start_s, cause)
                     - CASE moved WHEN 'end' THEN ends_before ELSE 0 END AS rank FROM early"""
    )
    connection.execute(
        """CREATE TABLE outages AS
           SELECT s.unit, s.start_s, e.start_s AS end_s, [s.cause] AS causes, s.severity, s.planned
           FROM moves s LEFT JOIN moves e ON e.unit = s.unit AND e.rank = s.rank AND e.moved = 'end'
           WHERE s.moved = 'start'"""
    )
    early, still_open = one_row(
        connection,
        """SELECT count_if(moved = 'end' AND rank < 1), (SELECT count_if(end_s IS NULL) FROM outages)
           FROM moves""",
    )
    connection.execute("DROP TABLE moves")
    said = [
        (early, "ended an outage that began before the log: left out"),
        (still_open, "began an outage that the log does not end: its end is not known"),
    ]
    return [f"{count_of(rows, 'row')} {what}." for rows, what in said if rows]


def _drop_ignored(connection: DuckDBPyConnection) -> list[str]:
    (rows,) = one_row(connection, "SELECT count_if(severity = 'ignore') FROM outages")
    connection.execute("DELETE FROM outages WHERE severity = 'ignore'")
    return [f"{count_of(rows, 'row')} dropped: [severity] says 'ignore'."] if rows else []


def _alone(coalesce_s: float) -> str:
    before = "lag(start_s) OVER (PARTITION BY unit ORDER BY start_s)"
    return f"coalesce(start_s - {before} > {coalesce_s}, true)"


def _after_all() -> str:
    latest = """max(end_s) OVER (PARTITION BY unit ORDER BY start_s, end_s DESC NULLS LAST
                                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"""
    return f"coalesce(start_s >= {latest}, true)"


def _join(connection: DuckDBPyConnection, mapping: Mapping, first: str, into: str) -> tuple[int, int]:
    """Make one event of each row of `outages` for which `first` holds and of those after it for which not.

    Where severities differ, the one named first in the mapping stays; an event is planned if all of it was.
    """
    ranks = {word: i for i, word in enumerate(dict.fromkeys(mapping.severity.values()))}
    cases = " ".join(f"WHEN {literal(word)} THEN {rank}" for word, rank in ranks.items())
    rank = f"CASE severity {cases} ELSE {len(ranks)} END" if ranks else "0"
    (before,) = one_row(connection, "SELECT count(*) FROM outages")
    connection.execute(
        f"""CREATE OR REPLACE TABLE {into} AS
            WITH firsts AS (SELECT *, {first} AS is_first FROM outages),
            parts AS (SELECT *, sum(is_first::INT) OVER (PARTITION BY unit ORDER BY start_s, is_first DESC
                                                        ROWS UNBOUNDED PRECEDING) AS part FROM firsts)
            SELECT unit, min(start_s) AS start_s, max(end_s) AS end_s, flatten(list(causes)) AS causes,
                first(severity ORDER BY {rank}, start_s, severity) AS severity, bool_and(planned) AS planned
            FROM parts GROUP BY unit, part"""
    )
    (after,) = one_row(connection, f"SELECT count(*) FROM {into}")
    return int(before), int(after)
