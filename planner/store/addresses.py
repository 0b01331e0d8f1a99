"""Where a store lies: a file of your own by default, any address of a database where one is given."""

from __future__ import annotations

import os
import re
import sqlite3
import struct
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from planner.store.errors import StoreError

VARIABLE = "EVERFLEET_STORE"
READ_ONLY = "EVERFLEET_READ_ONLY"
FILE = "plans.sqlite"
DRIVERS = {"postgresql": "postgresql+pg8000", "postgres": "postgresql+pg8000", "sqlite": "sqlite"}
WRITES = "everfleet_writes"  # execution option of a connection that is going to write
SILENT_S = 10.0  # a server that says nothing for so long, at the connect or in a statement, is given up
# What an address of PostgreSQL may say after its question mark; user and password may stand there too.
OPTIONS = ("application_name", "unix_sock")
# An address with a slash lost, which would otherwise be a file of that name, password and all.
_NEARLY = re.compile(r"[A-Za-z][A-Za-z0-9+]+:/|postgres(ql)?(\+\w+)?//")


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


def read_only() -> bool:
    """Whether visitors of the app may look and plan, and nothing of theirs is kept."""
    return os.environ.get(READ_ONLY, "") not in ("", "0")


def parsed(address: str) -> URL:
    """The address of a database; what holds no '://' is the path of a SQLite file.

    Raises:
        StoreError: it is no address, or one of a database in memory, which would be gone at once.
    """
    if "://" not in address and not _NEARLY.match(address):
        return URL.create("sqlite", database=str(Path(address).expanduser().absolute()))
    try:
        if address.count("@") > 1:  # nobody knows where the password ends
            raise ValueError("more than one @")
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise StoreError(
            f"{_kind(address)} is no address of a store: write a file, or for example "
            "postgresql://user@host/database; in a password @ is written %40, / %2F and : %3A"
        ) from None
    url = url.set(drivername=DRIVERS.get(url.drivername, url.drivername))
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise StoreError(f"{_kind(address)} names no file: a store in memory would be gone at once")
    return _with_user(url)


def shown(url: URL) -> str:
    """An address as it may be shown: without the password, wherever it stood."""
    return url.set(query={}).render_as_string(hide_password=True)


def engine_for(url: URL, busy_s: float) -> Engine:
    """An engine whose transactions are whole, on any database.

    Raises:
        StoreError: the driver is unknown or not installed, the address lacks a user or holds an option that
            nobody knows, or the folder of the file cannot be made.
    """
    if url.get_backend_name() == "sqlite":
        return _sqlite(Path(str(url.database)), busy_s)
    try:
        engine = create_engine(url, pool_pre_ping=True)
    except NoSuchModuleError:
        raise StoreError(f"'{shown(url)}': no kind of database is called '{url.drivername}'") from None
    except ModuleNotFoundError as missing:
        extra = "pip install 'everfleet[postgresql]'" if missing.name == "pg8000" else "install it"
        raise StoreError(
            f"'{shown(url)}' needs the driver {missing.name}, which is missing: {extra}"
        ) from None
    if engine.driver == "pg8000":
        _check_options(url)
        event.listen(engine, "do_connect", _connect)
    return engine


def _kind(address: str) -> str:
    """What may be shown of an address that is not understood, where anything may be the password."""
    found = re.match(r"[\w+]*", address)
    return f"'{found[0] if found else ''}://…'"


def _with_user(url: URL) -> URL:
    """User and password in their place, where the end of the address names them."""
    held = dict(url.query)
    user, password = held.pop("user", None), held.pop("password", None)
    if isinstance(user, str):
        url = url.set(username=url.username or user)
    if isinstance(password, str):
        url = url.set(password=url.password or password)
    return url.set(query=held)


def _check_options(url: URL) -> None:
    """What the driver would refuse with an error of its own, or take for a fault of ours."""
    if not url.username:  # what stands for a port may be the password of a user without host
        raise StoreError(
            f"{_kind(url.drivername)} names no user: write postgresql://user@host/database, or "
            "postgresql://user:password@host/database"
        )
    if not set(url.query) <= set(OPTIONS):  # its name may be a part of a password
        raise StoreError(f"'{shown(url)}' has an option that nobody knows: there are {' and '.join(OPTIONS)}")


def _connect(dialect: Any, record: Any, arguments: Any, options: dict[str, Any]) -> Any:
    """A connection that is given up when its server falls silent, and that ends without a word."""
    from pg8000.legacy import Connection as Pg8000  # type: ignore[import-untyped, unused-ignore]

    class Quiet(Pg8000):  # type: ignore[misc, unused-ignore]
        """What the server has ended cannot be closed: the loss was told when it was met."""

        def close(self) -> None:
            with suppress(dialect.dbapi.Error, OSError):
                super().close()

    try:
        return Quiet(*arguments, timeout=SILENT_S, **options)
    except (LookupError, struct.error):  # an answer that the driver cannot take apart
        raise dialect.dbapi.InterfaceError("what answers there is no PostgreSQL server") from None


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
