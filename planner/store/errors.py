"""What can go wrong between us and a database, in one line each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from planner.trace.errors import InputError

# What a driver says -> what it means and what to do instead.
_REASONS = {
    "database is locked": "another program is writing to it and did not finish in time: try again",
    "readonly database": "it may not be written: ask for the right to write to the file and its folder, "
    "or name another store",
    "unable to open": "it is gone, or may not be opened: put it back, or name another store",
    "no such table": "its tables are gone: put back the file that was there, or name another store",
    "not a database": "it is not a SQLite database: name another file",
    "malformed": "the file is damaged: put back a copy of it",
    "is full": "the disk is full: make room, and try again",
    "disk i/o error": "the disk failed, or the file was taken away: put it back, and try again",
    "can't create a connection": "no server answers there: see that it runs, at this host and port",
    "connection reset": "the connection to the server broke: try again",
    "network error": "the connection to the server broke: try again",
    "terminating connection": "the connection to the server broke: try again",
}


class StoreError(InputError):
    """The store cannot be used as asked; the message names it and says what to do instead."""


class StoreUnreachable(StoreError):
    """The database did not do as asked: nothing is known of what it holds."""


@contextmanager
def in_words(address: str, outcome: str) -> Iterator[None]:
    """Turn what a driver raises into one line that ends with what became of the work."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        raise StoreUnreachable(f"{address}: {_reason(error)}. {outcome}") from error


def _reason(error: BaseException) -> str:
    """The first reason that is known, of the error or of what it came from.

    A server that falls silent is met as a broken connection, which came from the end of our patience.
    A full disk ends the whole transaction, so what is heard last is that a savepoint is gone.
    """
    if any(isinstance(each, TimeoutError) for each in _chain(error)):
        return (
            "the server does not answer in time: see that it runs and is not held up, at this host and port, "
            "and try again"
        )
    for heard in _chain(error):
        said = _said(heard).lower()
        for words, reason in _REASONS.items():
            if words in said:
                return reason
    return _said(error).rstrip(".")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, what it came from, and so on."""
    heard: BaseException | None = error
    while heard is not None:
        yield heard
        heard = heard.__context__


def _said(error: BaseException) -> str:
    """What the database itself says: PostgreSQL's driver hands over a table of fields, M the message."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    first = cause.args[0] if cause.args else cause
    said = str(first.get("M", first) if isinstance(first, dict) else first if cause is not error else error)
    return " ".join(said.split()) or type(cause).__name__
