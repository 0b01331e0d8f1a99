"""A person's own measurements: what they change in the catalogue's accelerators, and how sure that is."""

from planner.answers.calibration.cuda import cuda_device
from planner.answers.calibration.document import calibration_document
from planner.answers.calibration.probe import NothingToMeasure, probe_csv, probe_document, probe_text
from planner.answers.calibration.text import facts_toml, to_text
from planner.inputs.hardware_question import Stated

__all__ = [
    "NothingToMeasure",
    "Stated",
    "calibration_document",
    "cuda_device",
    "facts_toml",
    "probe_csv",
    "probe_document",
    "probe_text",
    "to_text",
]
