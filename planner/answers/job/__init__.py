"""Carbon, energy and water of a job, from data to end of life, each with its range and its sources.

`load_job` reads a job file, `job_from_flags` what a command line says; `job_document` works it out.
"""

from planner.answers.job.document import job_document
from planner.answers.job.model_card import to_card
from planner.answers.job.opening import open_job
from planner.answers.job.text import to_text
from planner.inputs.job.reading import job_from_flags, load_job, read_job

__all__ = ["job_document", "job_from_flags", "load_job", "open_job", "read_job", "to_card", "to_text"]
