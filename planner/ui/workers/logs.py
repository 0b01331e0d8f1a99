"""A failure log of the user's own, read and fitted in a process of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from planner.trace.errors import InputError
from planner.trace.records import Record
from planner.ui.workers.messages import Tell

if TYPE_CHECKING:
    from reliability.logs import FailureLog, Mapping

LONGEST_NAME = 80  # characters


def read(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """What the log `name` of `content` holds, by `mapping`; an empty one stands for the one that fits.

    Where that one needs a word more, such as the year of a syslog, it is given with what is `refused`.

    Raises:
        InputError: every problem of the log or the mapping.
    """
    from planner.answers.failures import read_document
    from reliability.logs import mapping_text

    proposed: list[Mapping] = []
    try:
        with _opened(arguments, tell, proposed) as (log, mapping):
            return _plain(read_document(log, mapping))
    except InputError as error:
        if not proposed or arguments["mapping"].strip():
            raise
        return {"refused": str(error), "mapping": mapping_text(proposed[0])}


def fit(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """The fit of the same log, with the options `question`.

    Raises:
        InputError: every problem of the log, the mapping or the options; or it was asked to stop.
    """
    from planner.answers.failures import FitQuestion, fit_document

    def watch(text: str) -> None:
        if should_stop():
            raise InputError("The fit was stopped before it was done.")
        tell(text)

    question = FitQuestion(**arguments["question"])
    with _opened(arguments, tell, []) as (log, _):
        return _plain(fit_document(log, question, watch=watch))


@contextmanager
def _opened(arguments: Record, tell: Tell, mappings: list[Mapping]) -> Iterator[tuple[FailureLog, Mapping]]:
    """The log as read, and its mapping, which is in `mappings` even where the log cannot be read by it.

    What a person named is cleaned before it is a file's name, and stays in its folder.
    """
    from planner.answers.failures import mapping_for, read_failures

    with TemporaryDirectory(prefix="everfleet-") as name:
        rules, log = Path(name) / "mapping.toml", Path(name) / "log" / _file_name(arguments["name"])
        log.parent.mkdir()
        log.write_bytes(arguments["content"])
        rules.write_text(arguments["mapping"], encoding="utf-8")
        tell("reading the log")
        mapping = mapping_for(log, rules if arguments["mapping"].strip() else None)
        mappings.append(mapping)
        yield read_failures(log, mapping, fleet_size=arguments.get("fleet_size")), mapping


def _file_name(name: str) -> str:
    """Letters, digits and dots of a name, its end kept: the end says how a file is packed."""
    return re.sub(r"[^\w.-]+", "_", Path(name).name).lstrip(".")[-LONGEST_NAME:] or "log"


def _plain(document: Record) -> Record:
    """As it is kept in a file: no NaN, nothing of NumPy."""
    from planner.report.data import to_json

    found: Record = json.loads(to_json(document, sort_keys=False))
    return found
