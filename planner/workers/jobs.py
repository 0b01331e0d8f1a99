"""The carbon of a job that takes its time: one whose service is predicted, anew for each draw of facts."""

from __future__ import annotations

from collections.abc import Callable

from planner.workers.messages import Record, Tell


def estimate(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """The document of the job file `text`, called `name`, with the `files` that it names.

    Raises:
        InputError: every problem of the job.
    """
    from planner.jobs.handed import handed_document

    tell("Working the job out, with its range: about ten seconds")
    return handed_document(arguments["text"], arguments["name"], arguments["files"])
