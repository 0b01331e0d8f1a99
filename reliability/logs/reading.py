"""Reading a log: from a file to a `FailureLog`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reliability.logs.events import read_events
from reliability.logs.files import plain_file
from reliability.logs.fleet import fleet_of
from reliability.logs.jobs import read_jobs
from reliability.logs.lives import read_lives
from reliability.logs.log import FailureLog
from reliability.logs.mapping import Mapping
from reliability.logs.problems import LogError, count_of
from reliability.logs.recognise import propose
from reliability.logs.shapes import EVENT_TABLE, NAMELESS
from reliability.logs.source import Source, literal, source_of
from reliability.logs.times import require_year

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SHOWN = 8  # columns that a note names
READERS = {"jobs": read_jobs, "events": read_events, "lives": read_lives}


def read_log(
    path: Path,
    mapping: Mapping | None = None,
    *,
    fleet_size: int | None = None,
    memory_gb: float = 0.5,
    keep_bad_rows: int = 100,
) -> FailureLog:
    """The failures, lives or jobs in a log; without a mapping, by the one that `propose_mapping` finds.

    The file is read out of core: DuckDB takes `memory_gb`, and what does not fit goes to a temporary folder.
    Rows that cannot be used are left out and named in `bad_rows`, the first `keep_bad_rows` of them.

    Raises:
        LogError: the log or the mapping cannot be used; the error holds every problem that was found.
    """
    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        file = plain_file(path, Path(folder))
        used = propose(path, file) if mapping is None else mapping
        require_year(path.name, used)
        fleet = fleet_of(used, fleet_size)
        source = source_of(path, file, used)
        with _database(Path(folder), path.name, file, used, memory_gb) as connection:
            log = READERS[used.kind](connection, source, used, fleet, keep_bad_rows=keep_bad_rows)
    return replace(log, notes=(*_recognised(used, source), *log.notes, *_failures(log)))


def propose_mapping(path: Path) -> Mapping:
    """The mapping that fits the header and the first rows of a log; nothing that is unclear is guessed.

    Raises:
        LogError: the file cannot be read, or its shape is not known.
    """
    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        return propose(path, plain_file(path, Path(folder)))


@contextmanager
def _database(
    folder: Path, name: str, file: Path, mapping: Mapping, memory_gb: float
) -> Iterator[DuckDBPyConnection]:
    """A database on disk, so that tables need not fit into memory."""
    import duckdb

    connection = duckdb.connect(str(folder / "log.duckdb"))
    try:
        connection.execute(f"SET memory_limit = '{memory_gb:g}GB'")
        connection.execute(f"SET temp_directory = {literal(str(folder))}")
        connection.execute(f"SET TimeZone = {literal(mapping.timezone or 'UTC')}")
        connection.execute("SET enable_progress_bar = false")
        yield connection
    except duckdb.OutOfMemoryException as error:
        raise LogError([f"{memory_gb:g} GB of memory do not do: give read_log more memory_gb"]) from error
    except duckdb.InvalidInputException as error:
        text = str(error).partition("\n")[0].replace(f'"{file}"', name)
        raise LogError([f"{name}: cannot be read: {text}"]) from error
    finally:
        connection.close()


def _recognised(mapping: Mapping, source: Source) -> list[str]:
    notes = [f"Read as {mapping.about or 'a log of ' + mapping.kind}."]
    used = {
        name for names in mapping.columns.values() for name in ([names] if isinstance(names, str) else names)
    }
    unused = [column for column in source.columns if column and column not in used]
    if mapping.about in (EVENT_TABLE.about, NAMELESS) and unused:
        more = f" and {len(unused) - SHOWN} more" if len(unused) > SHOWN else ""
        notes.append(
            f"Columns without a known meaning, not read: {', '.join(map(repr, unused[:SHOWN]))}{more}. "
            "Name those that matter in a mapping."
        )
    return notes


def _failures(log: FailureLog) -> list[str]:
    """What can be said from this few failures; and bad rows."""
    notes = []
    failed = int(log.jobs["failures"].sum()) if log.kind == "jobs" else len(log.failures)
    failed = int(log.lives["died"].sum()) if log.kind == "lives" else failed
    severities = log.failures["severity"].value_counts()
    if log.kind == "events" and len(severities):
        text = ", ".join(f"{severity} {count:,}" for severity, count in severities.items())
        notes.append(f"Failures by severity: {text}.")
    if failed == 0:
        notes.append("No failure at all, every life is censored: a rate has an upper limit only.")
    if failed == 1:
        notes.append("One failure only: a rate has a very wide interval, and a lifetime has no shape.")
    if early := int((log.lives["died"] & (log.lives["duration_h"] <= log.lives["entry_h"])).sum()):
        notes.append(
            f"{count_of(early, 'unit')} failed when watching began: the failure counts in rates, but no "
            "lifetime leads to it. State [window] if the log was kept before."
            if log.kind == "events"
            else f"{count_of(early, 'unit')} dead from the start: left out of lifetimes, which need hours."
        )
    if log.bad_row_count:
        notes.append(f"{count_of(log.bad_row_count, 'bad row')} left out; the first: {log.bad_rows[0]}.")
    capacity_h = float((log.units["exit_h"] - log.units["entry_h"]).sum())
    if log.kind == "jobs" and 0 < capacity_h < log.node_h:
        notes.append(
            f"Jobs share nodes: their {log.node_h:,.0f} node-hours are more than the {capacity_h:,.0f} that "
            "the nodes were there. Take the sizes of `jobs` that fill whole nodes."
        )
    return notes
