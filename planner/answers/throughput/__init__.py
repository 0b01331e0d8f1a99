"""What hardware delivers and draws: for a model, every SKU at every size, with range and reasons."""

from planner.answers.throughput.document import throughput_document
from planner.answers.throughput.question import Question, choices, question_of
from planner.answers.throughput.text import to_csv, to_text

__all__ = ["Question", "choices", "question_of", "throughput_document", "to_csv", "to_text"]
