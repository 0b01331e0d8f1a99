"""Metered files in: from what a tool wrote to the IT energy that it saw, with what it did not see.

CodeCarbon, nvidia-smi, DCGM and Slurm. Nothing is guessed: a row that cannot be read is left out and named,
a time that was not metered is counted, and what only the reader of the file can know is an argument.
"""

from planner.inputs.metering.reading import read_metered
from planner.inputs.metering.result import BadRow, Covers, MeteredEnergy

__all__ = ["BadRow", "Covers", "MeteredEnergy", "read_metered"]
