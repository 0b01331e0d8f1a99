"""A person's own failure or job log: how often, how long, what it costs, what to hold and what to expect."""

from planner.failures.asked import FitAsked
from planner.failures.backtest import backtest_document
from planner.failures.document import fit_document
from planner.failures.reading import mapping_for, proposed_mapping_text, read_failures

__all__ = [
    "FitAsked",
    "backtest_document",
    "fit_document",
    "mapping_for",
    "proposed_mapping_text",
    "read_failures",
]
