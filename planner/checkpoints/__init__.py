"""Checkpoint intervals and policies: what each does to time, money and carbon, and which is best."""

from planner.checkpoints.across import sizes_around
from planner.checkpoints.cells import cell_explanation
from planner.checkpoints.document import checkpoint_document
from planner.checkpoints.rows import FLAT
from planner.checkpoints.scenarios import scenario_document
from planner.checkpoints.terms import Asked, parse_restart_parts
from planner.checkpoints.text import scenario_text, to_text

__all__ = [
    "FLAT",
    "Asked",
    "cell_explanation",
    "checkpoint_document",
    "parse_restart_parts",
    "scenario_document",
    "scenario_text",
    "sizes_around",
    "to_text",
]
