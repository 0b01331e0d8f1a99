"""The one type that every function gives: an answer with its sentences, tables, charts and trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.notebook.tables import NoSuchName, OpenCell, Record, Table, Why
from planner.trace.currency import currency_of, showing
from planner.trace.errors import InputError

if TYPE_CHECKING:
    from planner.inputs.scenario import Scenario
    from planner.notebook.drawing import Chart
    from planner.report.charts import Picture

Steps = list[dict[str, Any]]
Drawings = Mapping[str, Callable[[Any], "Picture | None"]]


def _nothing_opens(table: str, row: int, key: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Kind:
    """How answers of a kind are written; each function takes the document."""

    name: str
    text: Callable[[Any], str]
    markdown: Callable[[Any], str]
    save: Callable[[Any, Path], list[Path]]
    drawings: Callable[[], Drawings] = dict


@dataclass(frozen=True, slots=True)
class Content:
    """What an answer says, before it is written in any way."""

    title: str
    said: tuple[str, ...]
    totals: Sequence[Record]
    tables: Mapping[str, Sequence[Record]]
    explanations: Mapping[str, Steps] = field(default_factory=dict)


class Answer:
    """What a question is answered by, with all that it rests on.

    Attributes:
        title: what it is about.
        said: the answer in sentences.
        totals: the numbers that matter most, with their ranges.
        tables: every table by name; `answer["purchases"]` is one of them.
        charts: every chart by name.
        trace: where kept numbers come from, by name; `answer.explain(name)` opens these and every cell.
    """

    def __init__(
        self,
        content: Content,
        document: Any,
        kind: Kind,
        *,
        open_cell: OpenCell = _nothing_opens,
        scenario: Scenario | None = None,
    ) -> None:
        with showing(currency_of(document)):
            self._filled(content, document, kind, open_cell, scenario)

    def _filled(
        self, content: Content, document: Any, kind: Kind, open_cell: OpenCell, scenario: Scenario | None
    ) -> None:
        self.title = content.title
        self.said = content.said
        self.totals = Table("totals", content.totals, self._open)
        self.tables: Mapping[str, Table] = {
            name: Table(name, rows, self._open) for name, rows in content.tables.items()
        }
        self._document, self._kind, self._scenario = document, kind, scenario
        self._explanations, self._open_cell = content.explanations, open_cell

    @property
    def kind(self) -> str:
        """What kind of answer it is: plan, job, checkpoints, fit and so on."""
        return self._kind.name

    @cached_property
    def charts(self) -> Mapping[str, Chart]:
        """Every chart by name, drawn when it is first looked for."""
        from planner.notebook.drawing import Chart

        with showing(currency_of(self._document)):
            drawn = {name: draw(self._document) for name, draw in self._kind.drawings().items()}
        return {name: Chart(picture) for name, picture in drawn.items() if picture is not None}

    @cached_property
    def trace(self) -> Mapping[str, Why]:
        """Numbers whose origin is kept, by name."""
        from planner.trace.explain import explanation_from

        with showing(currency_of(self._document)):
            return {name: Why(explanation_from(steps)) for name, steps in self._explanations.items()}

    def explain(self, name: str, depth: int | None = None) -> Why:
        """Where a number comes from, down to equations and sources.

        Args:
            name: of `trace`, such as `cost`, or of a cell: table, row from 1 and column, as in
                `purchases.1.capex_usd`.
            depth: how many levels are shown; all where it is None.

        Raises:
            InputError: there is no such number; the message says which there are.
        """
        if name in self.trace:
            return Why(self.trace[name].explanation, depth)
        table, _, rest = name.partition(".")
        number, _, key = rest.partition(".")
        held = {"totals": self.totals, **self.tables}
        if table in held and number.isdecimal() and 0 < int(number) <= len(held[table]):
            return held[table].explain(int(number) - 1, key or "value", depth)
        cells = [f"{one}.1 to {one}.{len(rows)}" for one, rows in held.items() if len(rows)]
        known = [*self.trace, *cells]
        raise InputError(f"there is no number '{name}'; there are: {', '.join(known) or 'none'}")

    def save(self, folder: str | Path) -> list[Path]:
        """Write the answer into a folder, all of its files or none: as `--out` of the command does.

        Raises:
            InputError: the folder cannot be written, or holds something else.
        """
        return self._kind.save(self._document, Path(folder))

    def to_text(self) -> str:
        """The answer as the command prints it."""
        return self._kind.text(self._document)

    def to_markdown(self) -> str:
        """The answer as Markdown."""
        return self._kind.markdown(self._document)

    def to_json(self) -> str:
        """The document as the command's `--json` prints it."""
        from planner.report.shape import answer_json

        return answer_json(self._document)

    def to_dict(self) -> Any:
        """The document of `--json` as plain data."""
        return json.loads(self.to_json())

    def _open(self, table: str, row: int, key: str) -> Any:
        """The explanation of a cell: as its kind opens it, or the kept one of a total."""
        if table == "totals" and key == "value":
            record = self.totals.records[row]
            why = self.trace.get(record.get("explain") or record.get("name") or "")
            if why is not None:
                return why.explanation
        return self._open_cell(table, row, key)

    def __getitem__(self, name: str) -> Table:
        held = {"totals": self.totals, **self.tables}
        if name not in held:
            raise NoSuchName(f"there is no table '{name}'; there are: {', '.join(held)}")
        return held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __contains__(self, name: object) -> bool:
        return name == "totals" or name in self.tables

    def __getattr__(self, name: str) -> Table:
        tables: Mapping[str, Table] = self.__dict__.get("tables", {})
        if name.startswith("_") or name not in tables:
            raise AttributeError(f"an answer has no '{name}'; its tables are: {', '.join(tables)}")
        return tables[name]

    def __dir__(self) -> list[str]:
        own = [name for name in super().__dir__() if not name.startswith("_")]
        return sorted({*own, *(name for name in self.tables if name.isidentifier())})

    def __repr__(self) -> str:
        filled = sum(len(table) > 0 for table in self.tables.values())
        return f"<everfleet {self._kind.name}: {self.title} ({filled} tables)>"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from planner.notebook.drawing import answer_html

        with showing(currency_of(self._document)):
            return answer_html(self)

    def _ipython_key_completions_(self) -> list[str]:
        return ["totals", *self.tables]
