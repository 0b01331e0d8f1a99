"""The carbon of a job that takes its time: one whose service is predicted, anew for each draw of facts."""

from __future__ import annotations

from collections.abc import Callable

from planner.trace.records import Record
from planner.ui.workers.messages import Tell


def estimate(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """The document of the job file `text`, called `name`, with the `files` that it names.

    Raises:
        InputError: every problem of the job.
    """
    from planner.answers.job.upload import uploaded_document

    tell("Working the job out, with its range: about ten seconds")
    return uploaded_document(arguments["text"], arguments["name"], arguments["files"])
