"""Which job is meant: of a file, a shipped one by name, of its tables, or of what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.answers.opening import path_of, plain_tables
from planner.inputs.job.reading import job_from_flags, load_job, read_job
from planner.inputs.job.schema import Job
from planner.inputs.job_question import FLAGS
from planner.inputs.loading import load_catalogue
from planner.trace.errors import InputError


def open_job(named: str | Path | Mapping[str, Any] | None, flags: Mapping[str, Any]) -> Job:
    """The job of a file, of a shipped one by name or of tables; where none is named, that of the flags.

    Raises:
        InputError: both are given, or the job is wrong; the error holds every problem.
    """
    catalogue = load_catalogue()
    if named is None:
        return job_from_flags(flags, catalogue)
    if said := [f"--{name.replace('_', '-')}" for name in FLAGS if flags.get(name) is not None]:
        raise InputError(f"the job file says what {', '.join(said)} would: leave it out, or edit the file")
    if isinstance(named, Mapping):
        return read_job(plain_tables(named, "job"), "job", catalogue)
    return load_job(path_of(named, "jobs"), catalogue)
