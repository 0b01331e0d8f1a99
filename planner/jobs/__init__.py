"""Carbon, energy and water of a job, from data to end of life, each with its range and its sources.

`load_job` reads a job file, `job_from_flags` what a command line says; `job_document` works it out.
"""

from planner.jobs.card import to_card
from planner.jobs.document import job_document
from planner.jobs.reading import job_from_flags, load_job, read_job
from planner.jobs.text import to_text

__all__ = ["job_document", "job_from_flags", "load_job", "read_job", "to_card", "to_text"]
