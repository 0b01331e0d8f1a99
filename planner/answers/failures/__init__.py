"""A person's own failure or job log: how often, how long, what it costs, what to hold and what to expect."""

from planner.answers.failures.backtest import backtest_document
from planner.answers.failures.document import as_failures, fit_document, read_document
from planner.answers.failures.reading import mapping_for, open_log, proposed_mapping_text, read_failures
from planner.answers.failures.shipped import SAMPLES, fit_of_sample
from planner.inputs.log_question import FitQuestion

__all__ = [
    "SAMPLES",
    "FitQuestion",
    "as_failures",
    "backtest_document",
    "fit_document",
    "fit_of_sample",
    "mapping_for",
    "open_log",
    "proposed_mapping_text",
    "read_document",
    "read_failures",
]
