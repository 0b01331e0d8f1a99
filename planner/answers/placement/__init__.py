"""Embedding tables on the memories of nodes: the least time of a step, or the fewest nodes."""

from planner.answers.placement.document import placement_document
from planner.answers.placement.text import facts_toml, to_csv, to_text

__all__ = ["facts_toml", "placement_document", "to_csv", "to_text"]
