"""What changed the answer between two saved plans: every mix of their inputs, planned."""

from __future__ import annotations

from collections.abc import Callable

from planner.trace.records import Record
from planner.ui.workers.messages import Tell


def attribution(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """The difference between the scenarios `before` and `after`, each with name, text and files.

    Raises:
        InputError: they name different files alike, or one is no scenario.
    """
    from planner.answers.sweeps.attribution import attribution as shared_out
    from planner.inputs.scenario.bundle import unsaved

    before, after = (
        unsaved(held["name"], held["text"], held.get("files") or {})
        for held in (arguments["before"], arguments["after"])
    )
    return shared_out(
        before, after, watch=tell, should_stop=should_stop, met=lambda row: tell(part={"mix": row})
    )
