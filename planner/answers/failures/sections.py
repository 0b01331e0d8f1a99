"""How a section of the answer about a log looks, and the words that several have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.trace.records import Record, plain_rows

DAY_H = 24.0
NO_PRIOR = "none"


@dataclass(frozen=True, slots=True)
class Section:
    """One subject of the answer: sentences, and tables of rows; without tables the sentences say why not."""

    title: str
    said: Sequence[str]
    tables: dict[str, list[Record]] = field(default_factory=dict)

    def to_dict(self) -> Record:
        """Plain data."""
        return {
            "title": self.title,
            "said": list(self.said),
            "tables": {name: plain_rows(rows) for name, rows in self.tables.items()},
        }


def ends(interval_fraction: float) -> str:
    """An interval in words: `90 %`."""
    return f"{100 * interval_fraction:g} %"
