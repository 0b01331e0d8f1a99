"""A cell of a fit's tables, and the numbers that it is made of.

The document of a fit keeps no rows of the log. What rests on them is shown with its equation and with what is
known of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.trace.quantities import Call, Derived, Fact, Source, Traced, children, chosen, derive
from planner.trace.records import Record
from reliability.fleet import failure_rate_per_node_h, failures_in_1000_node_days

IN_1000_NODE_DAYS_H = 24_000.0
RATE = ("failures", "node_h", "confidence_fraction", "variance_to_mean_ratio")
# Names of inputs in fits that were saved earlier, by the name of today.
FORMER_INPUTS = {"mttf_h": "mtbf_h"}


@dataclass(frozen=True)
class Cell:
    """One cell: the document, where the table is, its rows, and which row and column.

    `made` are the numbers behind the explanations of a document that is being made; without them they are
    read from one that was saved.
    """

    document: Record
    section: str
    table: str
    number: int
    key: str
    made: Mapping[str, Traced] = field(default_factory=dict)

    @property
    def rows(self) -> list[Record]:
        """All rows of the table."""
        return self.table_of(self.section, self.table)

    @property
    def row(self) -> Record:
        """The row of the cell."""
        return self.rows[self.number]

    @property
    def value(self) -> float:
        """The number in the cell."""
        return float(self.row[self.key])

    def table_of(self, section: str, table: str) -> list[Record]:
        """The rows of any table; none where the log has no such table."""
        found: list[Record] = self.document["sections"][section]["tables"].get(table, [])
        return found

    def counted(self, key: str, value: float, unit: str = "1", note: str = "") -> Fact:
        """A number that was counted in the log."""
        log = Source("log", f"the log '{self.document['source']}'")
        return Fact(float(value), unit, key=f"log.{key}", source=log, locator="", kind="yours", note=note)

    def here(self, note: str, unit: str = "1") -> Fact:
        """The cell's own number as counted in the log."""
        return self.counted(f"{self.table}.{self.key}", self.value, unit, note)

    def kept(self, name: str, *path: str) -> Traced:
        """A number of a kept explanation, found by names of inputs, with all that lies beneath it."""
        if name in self.made:
            node = self.made[name]
            for below in path:
                node = children(node)[below]
            return node
        steps, number = self.document["explanations"][name], 0
        for below in path:
            inputs = steps[number]["inputs"]
            number = inputs[below if below in inputs else FORMER_INPUTS.get(below, below)]
        return _rebuilt(steps, number)

    def inputs_of(self, name: str) -> dict[str, Traced]:
        """What the number of a kept explanation was worked out from."""
        if name in self.made:
            return children(self.made[name])
        return {below: self.kept(name, below) for below in self.document["explanations"][name][0]["inputs"]}

    def rate_counts(self) -> dict[str, Traced]:
        """Failures, node-hours, confidence and scatter behind the rate of the log."""
        found = self.inputs_of("rate")
        return {name: found[name] for name in RATE}

    def reported(
        self, function: Callable[..., Any], part: str = "", unit: str = "1", /, **inputs: Traced
    ) -> Derived:
        """The cell's number as a function gave it for rows of the log that are not kept."""
        return Derived(self.value, unit, call=Call(function, inputs), part=part)

    def rate_of(self, failures: float, node_h: float, hours: str) -> Derived:
        """Failures over node-hours."""
        return derive(
            failure_rate_per_node_h,
            failures=self.counted("failures", failures),
            nodes=chosen("nodes", 1.0, "its hours are counted node by node", "1"),
            period_h=self.counted("node_hours", node_h, "h", hours),
        )


def in_papers_unit(rate: Traced) -> Derived:
    """The same rate in failures in 1000 node-days."""
    return derive(failures_in_1000_node_days, failure_rate_per_node_h=rate)


def _rebuilt(steps: Sequence[Record], number: int) -> Traced:
    """What a kept step was, with its inputs; a derived one keeps its value, and says its equation."""
    step = steps[number]
    if step["kind"] == "chosen":
        return chosen(step["name"], step["value"], step.get("about", ""), step["unit"])
    if step["kind"] != "derived":
        return Fact(
            step["value"],
            step["unit"],
            key=step["name"],
            source=Source("kept", step.get("source", "")),
            locator="",
            kind=step["kind"],
            low=step.get("low"),
            high=step.get("high"),
            note=step.get("about", ""),
        )
    inputs = {name: _rebuilt(steps, below) for name, below in step.get("inputs", {}).items()}
    return Derived(step["value"], step["unit"], call=Call(_named(step), inputs))


def _named(step: Record) -> Callable[..., Any]:
    """What stands for the function of a kept step: its name, equation and source."""

    def function(**_: Any) -> None:
        raise NotImplementedError(f"{step['name']} is kept, not worked out again")

    function.__name__ = step["name"]
    function.__doc__ = "\n\n".join((step.get("equation", ""),) * 2 + (step.get("about", ""),))
    return function
