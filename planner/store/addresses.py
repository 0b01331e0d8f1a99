"""Where a store lies: a file of one's own by default, any address of a database where one is given."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from planner.store.errors import StoreError

VARIABLE = "EVERFLEET_STORE"
FILE = "plans.sqlite"
DRIVERS = {"postgresql": "postgresql+pg8000", "postgres": "postgresql+pg8000", "sqlite": "sqlite"}
WRITES = "everfleet_writes"  # execution option of a connection that is going to write


def user_data_folder() -> Path:
    """The folder of this user for what programs keep, as each system has it."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "everfleet"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "everfleet"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "everfleet"


def default_address() -> str:
    """What EVERFLEET_STORE says, else a file in the user's data folder."""
    return os.environ.get(VARIABLE) or str(user_data_folder() / FILE)


def parsed(address: str) -> URL:
    """The address of a database; what holds no '://' is the path of a SQLite file.

    Raises:
        StoreError: it is no address, or one of a database in memory, which would be gone at once.
    """
    if "://" not in address:
        return URL.create("sqlite", database=str(Path(address).expanduser().absolute()))
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        shown = re.sub(r"(//[^:/@]*):[^@]*@", r"\1:***@", address)
        raise StoreError(
            f"'{shown}' is no address of a store: write a file, or for example "
            "postgresql://user@host/database"
        ) from None
    url = url.set(drivername=DRIVERS.get(url.drivername, url.drivername))
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise StoreError(f"'{address}' names no file: a store in memory would be gone at once")
    return url


def engine_for(url: URL, busy_s: float) -> Engine:
    """An engine whose transactions are whole, on any database.

    Raises:
        StoreError: the driver is unknown or not installed, or the folder of the file cannot be made.
    """
    if url.get_backend_name() == "sqlite":
        return _sqlite(Path(str(url.database)), busy_s)
    shown = url.render_as_string(hide_password=True)
    try:
        return create_engine(url, pool_pre_ping=True)
    except NoSuchModuleError:
        raise StoreError(f"'{shown}': no kind of database is called '{url.drivername}'") from None
    except ModuleNotFoundError as missing:
        extra = "pip install 'everfleet[postgresql]'" if missing.name == "pg8000" else "install it"
        raise StoreError(f"'{shown}' needs the driver {missing.name}, which is missing: {extra}") from None


def _sqlite(file: Path, busy_s: float) -> Engine:
    """SQLite with a write-ahead log, foreign keys, and writers that wait for each other.

    A connection opens the file and never makes it: a store that was moved away is missed, not begun anew.
    """
    if not file.exists():
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with closing(sqlite3.connect(file, timeout=busy_s)) as made:
                made.execute("PRAGMA journal_mode = WAL")  # stays with the file
        except (OSError, sqlite3.Error) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise StoreError(f"{file}: cannot be made: {why}. Name another store.") from None

    def connect() -> sqlite3.Connection:
        # SQLAlchemy begins and ends the transactions, so that the driver must not.
        return sqlite3.connect(
            f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=busy_s, isolation_level=None
        )

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _: Any) -> None:
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    """A writer takes its turn at the start: halfway SQLite refuses who has read what another has changed."""
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
