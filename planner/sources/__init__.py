"""The catalogue as a reader uses it: found by words, what rests on a fact, and values of one's own."""

from planner.sources.dependents import facts_asked, shipped_dependents
from planner.sources.overrides import Override, override_of, overrides_in, with_override, without_override
from planner.sources.rows import Wanted, choices, fact_row, found_rows

__all__ = [
    "Override", "Wanted", "choices", "fact_row", "facts_asked", "found_rows", "override_of", "overrides_in",
    "shipped_dependents", "with_override", "without_override",
]  # fmt: skip
