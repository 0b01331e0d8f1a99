"""Tables of an answer: rows of numbers that know their unit and open, and the way to pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from planner.trace.currency import showing, shown
from planner.trace.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from planner.trace.explain import Explanation

Record = Mapping[str, Any]
# Opens a number: which table, which row of it from 0, which column; None where nothing is known of it.
OpenCell = Callable[[str, int, str], "Explanation | None"]


class NoSuchName(InputError, KeyError):
    """There is no table, row or column of that name; the message says which there are."""


class Why:
    """Where a number comes from: equations, choices and facts with their sources, as an indented tree."""

    def __init__(self, explanation: Explanation, depth: int | None = None) -> None:
        self.explanation = explanation
        self._depth = depth

    @property
    def value(self) -> float:
        """The number itself."""
        return self.explanation.steps[0].value

    @property
    def unit(self) -> str:
        """Its unit."""
        return self.explanation.steps[0].unit

    def facts(self) -> Table:
        """Facts that the number rests on, each with its range and source."""
        keys = ("name", "value", "unit", "kind", "low", "high", "source")
        steps = {step.name: step for step in self.explanation.facts()}
        return Table("facts", [{key: getattr(step, key) for key in keys} for step in steps.values()])

    def to_text(self, depth: int | None = None) -> str:
        """The tree, down to `depth` levels where one is stated."""
        return self.explanation.to_text(self._depth if depth is None else depth)

    def to_dict(self) -> list[dict[str, Any]]:
        """The steps as plain data."""
        return self.explanation.to_dict()

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from planner.notebook.drawing import why_html

        return why_html(self.to_text())


class _Cell:
    """What a number of a table knows next to its value."""

    _table: Table
    _row: int
    key: str

    @property
    def unit(self) -> str:
        """The unit in which it is kept; `1` for counts and ratios."""
        return self._table.unit(self.key, self._row)

    def explain(self, depth: int | None = None) -> Why:
        """Where it comes from.

        Raises:
            InputError: nothing is kept of this number but its value.
        """
        return self._table.explain(self._row, self.key, depth)


class Real(_Cell, float):
    """A number of a table; it computes as any float does."""

    def __reduce__(self) -> tuple[type[float], tuple[float]]:
        return float, (float(self),)


class Count(_Cell, int):
    """A whole number of a table; it computes as any int does."""

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


class Row(Mapping[str, Any]):
    """A row of a table by column; its numbers have `.unit` and `.explain()`."""

    def __init__(self, table: Table, number: int) -> None:
        self._table, self._number = table, number

    def __getitem__(self, key: str) -> Any:
        record = self._table.records[self._number]
        if key not in record:
            raise NoSuchName(f"{self._table.name} has no column '{key}'; it has: {', '.join(record)}")
        return self._table.cell(self._number, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.records[self._number])

    def __len__(self) -> int:
        return len(self._table.records[self._number])

    def __repr__(self) -> str:
        return repr(dict(self._table.records[self._number]))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


class Table(Sequence[Row]):
    """Rows of one table.

    `table[0]` is a row, `table["nodes"]` a column, and where rows have names `table["cost"]` the row of that
    name. `to_pandas()` gives a data frame in the units of `units`.
    """

    def __init__(self, name: str, records: Sequence[Record], open_cell: OpenCell | None = None) -> None:
        self.name = name
        self.records = tuple(records)
        self._open_cell = open_cell
        self._currency = shown()

    @property
    def columns(self) -> tuple[str, ...]:
        """Keys of the columns, those of every row."""
        return tuple(dict.fromkeys(key for record in self.records for key in record))

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column that has one, in which its numbers are kept."""
        found = {key: self._unit_of(key) for key in self.columns}
        return {key: unit for key, unit in found.items() if unit}

    def unit(self, key: str, row: int) -> str:
        """Unit of one number: of its row where that says one, else of its column."""
        own = self.records[row].get("unit")
        return own if own and not key.endswith("_fraction") else self._unit_of(key) or "1"

    def _unit_of(self, key: str) -> str:
        from planner.report.table_columns import column_unit

        return column_unit(key, [dict(record) for record in self.records])

    def cell(self, row: int, key: str) -> Any:
        """What stands in a cell; a number as one that opens."""
        value = self.records[row][key]
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        cell: Real | Count = Count(value) if isinstance(value, int) else Real(value)
        cell._table, cell._row, cell.key = self, row, key
        return cell

    def explain(self, row: int, key: str, depth: int | None = None) -> Why:
        """Where the number of a row, from 0, in a column comes from.

        Raises:
            InputError: the cell holds no number, or nothing is kept of it but its value.
        """
        row = range(len(self.records))[row]
        value = self.records[row].get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{self.name}[{row}]['{key}'] holds no number: {value!r}")
        found = None if self._open_cell is None else self._open_cell(self.name, row, key)
        if found is None:
            raise InputError(f"{self.name}[{row}]['{key}'] is kept without what it was worked out from")
        return Why(found, depth)

    def to_pandas(self) -> pd.DataFrame:
        """A data frame; `frame.attrs` has the units by column."""
        import pandas as pd

        frame = pd.DataFrame([dict(record) for record in self.records], columns=list(self.columns))
        frame.attrs |= {"table": self.name, "units": self.units}
        return frame

    def to_dict(self) -> list[dict[str, Any]]:
        """The rows as plain data."""
        return [dict(record) for record in self.records]

    @overload
    def __getitem__(self, which: int) -> Row: ...

    @overload
    def __getitem__(self, which: slice) -> Table: ...

    @overload
    def __getitem__(self, which: str) -> Any: ...

    def __getitem__(self, which: int | slice | str) -> Any:
        if isinstance(which, slice):
            first = range(len(self.records))[which]
            return Table(self.name, self.records[which], self._within(first))
        if isinstance(which, str):
            return self._by_text(which)
        return Row(self, range(len(self.records))[which])

    def _by_text(self, which: str) -> Any:
        if which in self.columns:
            return [self.cell(row, which) if which in one else None for row, one in enumerate(self.records)]
        for row, record in enumerate(self.records):
            if record.get("name") == which:
                return Row(self, row)
        raise NoSuchName(f"{self.name} has no column or row '{which}'; it has: {', '.join(self._names())}")

    def _within(self, rows: range) -> OpenCell | None:
        """Opens cells of some of the rows by where they stand among them."""
        outer = self._open_cell
        return None if outer is None else lambda table, row, key: outer(table, rows[row], key)

    def _names(self) -> list[str]:
        return [*self.columns, *(record["name"] for record in self.records if record.get("name"))]

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        rows, columns = len(self.records), self.columns
        shown = ", ".join(columns[:6]) + (", …" if len(columns) > 6 else "")
        return f"<table '{self.name}': {rows} row{'s' * (rows != 1)}; {shown or 'empty'}>"

    def __str__(self) -> str:
        from planner.notebook.drawing import table_text
        from planner.report.text import text_table

        return text_table(table_text(self)) if self.records else repr(self)

    def _repr_html_(self) -> str:
        from planner.notebook.drawing import table_html

        with showing(self._currency):
            return table_html(self)

    def _ipython_key_completions_(self) -> list[str]:
        return self._names()
