"""Tasks for the tests of the workers: quick, and each with one way to end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from planner.trace.errors import InputError
from planner.ui.workers import Step, Tell

Record = dict[str, Any]


def count(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """Count to `to`; each number is a better incumbent, the best of which is kept at a stop."""
    best = 0
    for number in range(1, arguments["to"] + 1):
        if should_stop():
            break
        best = number
        tell(f"at {number}", step=Step(0.1 * number, float(-number), float(-arguments["to"]), None))
        tell(part={"number": number})
        time.sleep(arguments.get("pause_s", 0.0))
    print("what a library prints stays out of the answer")
    return {"best": best, "process": os.getpid(), "content": len(arguments.get("content", b""))}


def refuse(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """Find the input wrong."""
    raise InputError("mine.toml: horizon: missing")


def fail(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """Have a fault."""
    raise RuntimeError("a wire is loose")


def add_up(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """Asked for an end, take four steps of a quarter of a second more, each told."""
    while not should_stop():
        time.sleep(0.01)
    for step in range(4):
        tell(f"adding up: {step} of 4")
        time.sleep(0.25)
    return {"sum": 4}


def dawdle(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """Take ten minutes, whoever asks for an end."""
    tell("dawdling")
    time.sleep(600)
    return {}
