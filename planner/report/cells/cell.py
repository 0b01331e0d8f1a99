"""A cell of a table of a plan: the number, its row, and how its explanation is put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from planner.charts import Document, Record
from planner.explanation import Explanation
from planner.report.cells.numbers import CHOSEN, Number, is_number, stated
from planner.report.tables import COLUMNS, column_unit
from planner.scenario import Scenario

Opened = Callable[[], AbstractContextManager[Scenario]]
NAMES = (
    "period", "job", "service", "pool", "contract", "limit", "where", "site", "location", "sku", "from", "to",
    "measure", "use", "label", "what", "alternative", "fact", "key",
)  # fmt: skip
DECIDED = "decided by the program"


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a document; `row` is its record, `key` its column.

    `scenario` opens the scenario of the plan, where it is at hand.
    """

    document: Document
    table: str
    row: Record
    key: str
    scenario: Opened | None = None

    @property
    def value(self) -> float:
        """The number itself, in the unit in which it is kept."""
        return float(self.row[self.key])

    @property
    def unit(self) -> str:
        """Its unit: of its column, or of its row where that names one."""
        own = self.row.get("unit") if self.table in ("summary", "limits", "clash", "totals") else None
        return own if own and not self.key.endswith("_fraction") else column_unit(self.key) or "1"

    @property
    def place(self) -> str:
        """What the row is about, as the end of a heading."""
        named = [str(self.row[name]) for name in NAMES if self.row.get(name) and name in self._columns]
        return f" ({', '.join(named)})" if named else ""

    @property
    def _columns(self) -> tuple[str, ...]:
        return COLUMNS.get(self.table, tuple(self.row))

    def beside(self, key: str) -> Cell:
        """Another cell of the row."""
        return replace(self, key=key)

    def has(self, *keys: str) -> bool:
        """Whether the row holds these numbers: one that an earlier everfleet saved may not."""
        return all(is_number(self.row.get(key)) for key in keys)

    def number(
        self,
        equation: str = "",
        about: str = "",
        inputs: Mapping[str, Number | Explanation] | None = None,
        kind: str = "derived",
        **more: Any,
    ) -> Number:
        """This number, from what is given."""
        text = f"{self.key} = {equation}" if equation else ""
        return Number(
            self.key, self.value, self.unit, kind, text, about, place=self.place, inputs=inputs or {}, **more
        )

    def decided(self, must: str, inputs: Mapping[str, Number | Explanation] | None = None) -> Number:
        """A count that the program decided, with what it had to satisfy."""
        return self.number(about=f"{DECIDED}: {must}", inputs=inputs, kind=CHOSEN)

    def given(self, path: str, about: str = "") -> Number:
        """A number that the scenario states."""
        return replace(stated(self.document, path, self.value, self.unit, about), place=self.place)

    def part(self, name: str, value: float, unit: str = "1", about: str = "", **more: Any) -> Number:
        """A number of this row that has no column of its own."""
        return Number(name, value, unit, about=about, place=self.place, **more)
