"""Answers on stdout, talk on stderr, and what a command returns."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from planner.trace.errors import InputError

ANSWER, NO_PLAN, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


# What a terminal draws in bold, dim, or in a colour.
_BOLD, _DIM, _RED, _GREEN, _YELLOW = "1", "2", "31", "32", "33"
_ENDS = {
    "OPTIMAL": _GREEN,
    "WITHIN GAP": _GREEN,
    "TIME LIMIT": _YELLOW,
    "INTERRUPTED": _YELLOW,
    "NO INCUMBENT": _RED,
    "INFEASIBLE": _RED,
    "UNBOUNDED": _RED,
}


def in_colour(stream: TextIO) -> bool:
    """Whether somebody reads this on a terminal with colours, and has not said NO_COLOR (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_text(text: str) -> str:
    """A text as a terminal draws it: title and headings bold, rules dim, how a search ended in colour."""
    if text.startswith(("{", "[", "#")):  # data, and Markdown: to be copied as it is
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        rule = lines[number + 1] if number + 1 < len(lines) else ""
        ended = line.partition(": ")[0]
        if number == 0 or _is_rule(rule):
            lines[number] = _in(_BOLD, line)
        elif _is_rule(line):
            lines[number] = _in(_DIM, line)
        elif ended in _ENDS:
            lines[number] = _in(_ENDS[ended], ended) + line.removeprefix(ended)
    return "\n".join(lines)


def _is_rule(line: str) -> bool:
    return bool(re.fullmatch(r"-[- ]*", line))


def _in(style: str, text: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if text else text


def keep_stdout() -> None:
    """What libraries print past Python is dropped: stdout is the answer, which programs read.

    HiGHS 1.15 prints a line whenever it repairs a plan, whatever it is told of its output. What goes wrong
    they say on stderr, which stays.
    """
    own = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout = sys.__stdout__ = own  # type: ignore[misc]  # the width of a terminal is that of the latter


def say(text: str) -> None:
    """Talk aside."""
    print(text, file=sys.stderr)


def wrong(text: str) -> int:
    """Say what is wrong with the input, on a terminal each place in red."""
    if in_colour(sys.stderr):
        text = re.sub(r"^[^:\n]+:", lambda place: _in(_RED, place[0]), text, flags=re.MULTILINE)
    say(text)
    return WRONG_INPUT


def show(text: str) -> None:
    """Print what is also to be saved: a reader that left early (`| head`) does not stop the saving."""
    if in_colour(sys.stdout):
        text = terminal_text(text)
    try:
        print(text, flush=True)
    except BrokenPipeError:
        nobody_reads()


def nobody_reads() -> None:
    """Let what is still printed, and what is flushed at the end, go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_COUNTED = re.compile(r", bound|: \d+ of \d+$")  # how far within a step


def progress(text: str) -> None:
    """One line that overwrites itself on a terminal; in a log only the steps, not every second."""
    if sys.stderr.isatty():
        print(f"\r{text:<78}", end="" if text else "\r", file=sys.stderr, flush=True)
    elif text and not _COUNTED.search(text):
        say(text)


def clear(options: argparse.Namespace) -> None:
    """End the line of progress."""
    if not options.quiet:
        progress("")


def watcher(options: argparse.Namespace) -> Callable[[str], None] | None:
    """Whom the work tells how far it is: nobody where --quiet is requested."""
    return None if options.quiet else progress


def show_json(value: Any) -> None:
    """Print data as JSON, an answer in the one shape; NaN and infinity, which it does not know, are null."""
    from planner.report.shape import answer_json

    show(answer_json(value).rstrip("\n"))


def show_answer(options: argparse.Namespace, said: tuple[Any, str]) -> int:
    """Print an answer, as data or in words."""
    record, text = said
    if options.json:
        show_json(record)
    else:
        show(text)
    return ANSWER


def write_file(path: Path, content: str | bytes) -> None:
    """Write one file of an answer, and say so."""
    try:
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    say(f"written: {path}")


def put_files(files: Mapping[str, str], options: argparse.Namespace) -> int:
    """Write files of a published format into `--out`; without it, print the only one.

    Raises:
        InputError: there are several, and nobody has said where to.
    """
    if options.out is not None:
        from planner.report.standards import save_files

        for path in save_files(files, Path(options.out)):
            say(f"written: {path}")
        return ANSWER
    if options.json:
        show_json(dict(files))
    elif len(files) > 1:
        raise InputError(f"these are {len(files)} files ({', '.join(files)}): say where to by --out FOLDER")
    else:
        show(next(iter(files.values())).rstrip("\n"))
    return ANSWER


@contextmanager
def cleaning_up() -> Iterator[None]:
    """Inside, a request to end (SIGTERM) leaves as an exception does, so that temporary files go with it."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # only that one may hear signals
        yield
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Inside, the first Ctrl-C is only noted, for the search to ask about; the second one interrupts."""
    stop = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    if threading.current_thread() is not threading.main_thread():  # only that one may hear signals
        yield stop.is_set
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield stop.is_set
    finally:
        signal.signal(signal.SIGINT, before)
