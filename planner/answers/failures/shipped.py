"""Fits of the shipped logs: made beforehand, so that a first look at a log costs nothing."""

from __future__ import annotations

from planner.answers.failures.document import fit_document
from planner.answers.failures.reading import mapping_for, read_failures
from planner.inputs.loading import data_folder
from planner.inputs.log_question import FitQuestion
from planner.trace.records import Record

# Name -> file under `data/samples`, and the mapping next to it where its header does not say enough.
SAMPLES = {
    "infinitehbd": ("infinitehbd-outages.csv", "infinitehbd-outages.toml"),
    "slurm": ("slurm-simulated.txt", ""),
}


def fit_of_sample(name: str) -> Record:
    """The fit of a shipped log, made anew; both clusters have nodes of eight accelerators."""
    folder = data_folder() / "samples"
    log, mapping = SAMPLES[name]
    read = read_failures(folder / log, mapping_for(folder / log, folder / mapping if mapping else None))
    return fit_document(read, FitQuestion(name=name, accelerators_per_node=8))
