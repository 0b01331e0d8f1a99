"""Checkpoint intervals and policies: what each does to time, money and carbon, and which is best."""

from planner.answers.checkpoints.by_size import sizes_around
from planner.answers.checkpoints.document import checkpoint_document, choices_of
from planner.answers.checkpoints.question import parse_restart_parts
from planner.answers.checkpoints.rows import FLAT
from planner.answers.checkpoints.scenarios import checkpoint_answer, scenario_document
from planner.answers.checkpoints.text import retried_said, scenario_text, to_text, today_said

__all__ = [
    "FLAT",
    "checkpoint_answer",
    "checkpoint_document",
    "choices_of",
    "parse_restart_parts",
    "retried_said",
    "scenario_document",
    "scenario_text",
    "sizes_around",
    "to_text",
    "today_said",
]
