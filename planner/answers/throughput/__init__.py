"""What hardware delivers and draws: for a model, every SKU at every size, with range and reasons."""

from planner.answers.throughput.across import across_document, across_text
from planner.answers.throughput.document import throughput_document
from planner.answers.throughput.graph import step_graph
from planner.answers.throughput.question import choices, question_of
from planner.answers.throughput.text import to_csv, to_text
from planner.inputs.hardware_question import Question

__all__ = [
    "Question",
    "across_document",
    "across_text",
    "choices",
    "question_of",
    "step_graph",
    "throughput_document",
    "to_csv",
    "to_text",
]
