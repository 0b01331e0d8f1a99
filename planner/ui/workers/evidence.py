"""Ours next to published values, which takes half a minute."""

from __future__ import annotations

from collections.abc import Callable

from planner.trace.records import Record
from planner.ui.workers.messages import Tell


def validated(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """Every shipped row, as `everfleet validate` answers; `rows` of the arguments tells editions apart."""
    from planner.validation import validate

    tell("Working out every published row again: about half a minute")
    return validate()
