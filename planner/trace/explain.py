"""`explain`: open a number down to its equations, its choices and the sources of its facts."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import takewhile
from typing import Any

import numpy as np

from planner.trace.arithmetic import Formula
from planner.trace.currency import USD, Currency, in_its_currency, showing, shown, shown_unit
from planner.trace.numbers import exact_quantity, exact_text
from planner.trace.quantities import Chosen, Derived, Fact, Pick, Rows, Traced, children, is_each_row, label
from planner.trace.sums import Rule, rule_of

Index = tuple[int, ...]
# Of what a step shares with an earlier one a file says only which: key -> the parts that are there.
_SHARED = {
    "like": ("unit", "kind", "equation", "about", "source", "closes"),
    "inputs_of": ("inputs", "places"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One number of an explanation; `inputs` maps parameter names to the numbers of other steps.

    `places` says of an input which entry of a column it is; where the equation `closes`, it is arithmetic
    that anybody can do again on the inputs.
    """

    number: int
    name: str
    value: float
    unit: str
    kind: str
    equation: str = ""
    about: str = ""
    source: str = ""
    place: str = ""
    low: float | None = None
    high: float | None = None
    inputs: dict[str, int] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    closes: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The step as plain data, without what says nothing."""
        held = {name: getattr(self, name) for name in Step.__slots__}
        return {
            name: value for name, value in held.items() if value not in ("", None, {}) and value is not False
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps behind one number; step 0 is the number itself."""

    steps: tuple[Step, ...]
    currency: Currency = field(default_factory=shown, compare=False)

    def to_text(self, depth: int | None = None) -> str:
        """Indented tree; a step that was shown before is only referred to."""
        lines: list[str] = []
        with showing(self.currency):
            self._write(0, "", "", 0, depth, set(), lines)
        if self.currency.code != USD and any(USD in step.unit for step in self.steps):
            lines.append(rate_line(self.currency))
        return "\n".join(lines)

    def to_dict(self) -> list[dict[str, Any]]:
        """Steps as plain data, for the app and for files."""
        return [step.to_dict() for step in self.steps]

    def facts(self) -> tuple[Step, ...]:
        """Steps that are facts, in the order of their first use."""
        return tuple(step for step in self.steps if step.source)

    def _write(
        self,
        number: int,
        parameter: str,
        place: str,
        level: int,
        depth: int | None,
        shown: set[int],
        lines: list[str],
    ) -> None:
        step = self.steps[number]
        indent = "  " * level
        name = f"{parameter} = {step.name}" if parameter and parameter != step.name else step.name
        head = f"{indent}{name}{place or step.place} = {_value_text(step)}"
        if number in shown and step.inputs:
            lines.append(f"{head}  (opened above)")
            return
        shown.add(number)
        factor = 1.0 if step.source else shown_unit(step.unit)[0]  # a fact says its range in its own unit
        ends = [exact_text(None if end is None else factor * end) for end in (step.low, step.high)]
        spread = f" [{' .. '.join(ends)}]" if step.low is not None else ""
        lines.append(f"{head}{spread}" + (f"  ({step.kind})" if step.kind != "derived" else ""))
        lines.extend(f"{indent}    {text}" for text in (step.equation, step.about, step.source) if text)
        if depth is None or level < depth:
            for below, child in step.inputs.items():
                self._write(child, below, step.places.get(below, ""), level + 1, depth, shown, lines)


@dataclass(frozen=True, slots=True)
class _MadeFrom:
    """How a result was made: each input with its shape, and what its function says."""

    inputs: dict[str, tuple[Traced, tuple[int, ...]]]
    shape: tuple[int, ...]
    rule: Rule | None  # which entries stand behind one of a sum
    each_row: bool
    label: str
    equation: str
    about: str
    closes: bool

    @staticmethod
    def of(node: Derived) -> _MadeFrom:
        function = node.call.function
        return _MadeFrom(
            {name: (child, np.shape(child.value)) for name, child in children(node).items()},
            np.shape(node.value),
            rule_of(function),
            is_each_row(node.call),
            label(node),
            *_equation(node),
            closes=isinstance(function, Formula) and function.closes,
        )


class Steps:
    """The steps behind many numbers: what they share is kept once."""

    def __init__(self) -> None:
        self._steps: list[Step | None] = []
        self._numbers: dict[tuple[int, Index], int] = {}
        self._single: dict[int, int] = {}  # of nodes of one number, whatever row is asked for
        self._known: dict[int, _MadeFrom] = {}
        self._roots: list[Traced] = []  # as long as they live, no other node has the same id

    def add(self, node: Traced, row: int | Index | None = None) -> int:
        """The number of the step that is this number, or one row of this column."""
        return self.add_at(node, row)[0]

    def add_at(self, node: Traced, row: int | Index | None = None) -> tuple[int, str]:
        """The same, and which entry of a column it is where that is not said."""
        self._roots.append(node)
        return self._visit(node, (row,) if isinstance(row, int) else row)

    def to_list(self) -> list[Step]:
        """Every step; the inputs of each are numbers of this list."""
        return [step for step in self._steps if step is not None]

    def packed(self) -> list[dict[str, Any]]:
        """Every step as plain data, without what an earlier one says: `whole_step` puts it together again.

        All parts that one call gives have its inputs, of which there may be dozens.
        """
        return packed([step.to_dict() for step in self.to_list()])

    def _visit(self, node: Traced, row: Index | None) -> tuple[int, str]:
        node, index, place = _resolve(node, row)
        key = (id(node), index)
        if key in self._numbers:
            return self._numbers[key], place
        number = self._numbers[key] = len(self._steps)
        if np.ndim(node.value) == 0:
            self._single[id(node)] = number
        self._steps.append(None)
        value = float(np.asarray(node.value)[index])
        match node:
            case Fact():
                self._steps[number] = Step(
                    number,
                    node.key,
                    value,
                    node.unit,
                    node.kind,
                    about=node.note,
                    source=f"{node.source.cite()}; {node.locator}" if node.locator else node.source.cite(),
                    low=node.low,
                    high=node.high,
                )
            case Chosen():
                self._steps[number] = Step(number, node.name, value, node.unit, "chosen", about=node.reason)
            case Derived():
                below, places = self._below(node, index)
                made = self._made_from(node)
                self._steps[number] = Step(
                    number,
                    made.label,
                    value,
                    node.unit,
                    "derived",
                    equation=made.equation,
                    about=made.about,
                    inputs=below,
                    places=places,
                    closes=made.closes,
                )
            case _:
                raise TypeError(f"{type(node).__name__} is not a traced node")
        return number, place

    def _below(self, node: Derived, index: Index) -> tuple[dict[str, int], dict[str, str]]:
        """The steps of the inputs behind an entry of a result, and which entries of columns they are."""
        made, single = self._made_from(node), self._single
        rows, of_term = _rows_below(made, index)
        below, places = {}, {}
        for name, (child, _) in made.inputs.items():
            number, place = single.get(id(child)), ""
            if number is None:
                number, place = self._visit(child, rows[name])
            below[name] = number
            if place := of_term if of_term and rows.get(name) else place:
                places[name] = place
        return below, places

    def _made_from(self, node: Derived) -> _MadeFrom:
        """What is the same for all entries of a result."""
        made = self._known.get(id(node))
        if made is None:
            made = self._known[id(node)] = _MadeFrom.of(node)
        return made


def explain(node: Traced, row: int | Index | None = None) -> Explanation:
    """Steps behind `node`, or behind one row of a column.

    Where a total is taken over a column, the row that weighs most is opened and named.
    """
    steps = Steps()
    place = steps.add_at(node, row)[1]
    first, *rest = steps.to_list()
    return Explanation((replace(first, place=place), *rest))


def explanation_from(steps: Sequence[Mapping[str, Any]]) -> Explanation:
    """The explanation that `to_dict` wrote."""
    return Explanation(tuple(Step(**step) for step in steps))


@in_its_currency
def kept_step(document: Mapping[str, Any], name: str | int | None) -> Explanation | None:
    """What a document keeps of a number, by name or by the number of its step; None where it keeps none."""
    kept = document.get("explanations", {}).get(name) if isinstance(name, str) else name
    if isinstance(kept, int):
        found = _below(document["steps"], kept)
        places = {old: new for new, old in enumerate(found)}
        return explanation_from(
            [
                {**step, "number": places[old], "inputs": {name: places[at] for name, at in _inputs(step)}}
                for old, step in found.items()
            ]
        )
    return explanation_from(kept) if kept else None


def packed(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Whole steps without what an earlier one says."""
    first: dict[str, int] = {}
    found = [dict(step) for step in steps]
    for number, step in enumerate(found):
        for key, names in _SHARED.items():
            held = {name: step.pop(name) for name in names if name in step}
            at = first.setdefault(f"{key} {held}", number)
            step |= held if at == number else {key: at} if held else {}
    return found


class Gathered:
    """Whole steps out of several documents as one list; `packed` makes it that of a document."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []

    def take(self, document: Mapping[str, Any]) -> dict[str, int]:
        """The steps behind all that a document keeps by name, and their numbers here."""
        roots = {name: at for name, at in document.get("explanations", {}).items() if isinstance(at, int)}
        start, found = len(self.steps), _below(document.get("steps", []), *roots.values())
        places: dict[int, int] = {}
        for old, step in found.items():
            places[old] = start + len(places)
            self.steps.append(step)
        for step in self.steps[start:]:
            step["number"] = places[step["number"]]
            if step.get("inputs"):
                step["inputs"] = {name: places[at] for name, at in step["inputs"].items()}
        return {name: places[at] for name, at in roots.items()}

    def add(self, step: Step) -> int:
        """A step of one's own; its inputs are numbers of this list."""
        self.steps.append(replace(step, number=len(self.steps)).to_dict())
        return len(self.steps) - 1


def whole_step(steps: Sequence[Mapping[str, Any]], number: int) -> dict[str, Any]:
    """One step of a document, with what it shares with an earlier one."""
    step = dict(steps[number])
    for key, names in _SHARED.items():
        if (at := step.pop(key, None)) is not None:
            step |= {name: steps[at][name] for name in names if name in steps[at]}
    return step


def _below(steps: Sequence[Mapping[str, Any]], *first: int) -> dict[int, dict[str, Any]]:
    """Some of many steps with all that is below them, by number; inputs in the order of their making.

    A file keeps the names of inputs by the alphabet, so that their own order says nothing.
    """
    found: dict[int, dict[str, Any]] = {}
    waiting = list(reversed(first))
    while waiting:
        at = waiting.pop()
        if at not in found:
            found[at] = whole_step(steps, at)
            waiting.extend(below for _, below in reversed(_inputs(found[at])))
    return found


def _inputs(step: Mapping[str, Any]) -> list[tuple[str, int]]:
    return sorted(step.get("inputs", {}).items(), key=lambda one: (one[1], one[0]))


def pooled(
    explanations: Mapping[str, Sequence[Mapping[str, Any]]],
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Explanations that each hold their own steps, as one list of steps and the numbers of the first ones."""
    steps: list[dict[str, Any]] = []
    numbers: dict[str, int] = {}
    for name, own in explanations.items():
        start = len(steps)
        if own:
            numbers[name] = start
        for step in own:
            inputs = {key: at + start for key, at in step.get("inputs", {}).items()}
            steps.append({**step, "number": step["number"] + start} | ({"inputs": inputs} if inputs else {}))
    return steps, numbers


def _value_text(step: Step) -> str:
    """A value with its unit; a limit without an end, which a file writes as null, is no limit."""
    if step.name.startswith("limit") and (step.value is None or math.isinf(step.value)):
        return "no limit"
    said = exact_quantity(step.value, step.unit)
    if not step.source or shown().code == USD or USD not in step.unit:
        return said
    with showing(Currency()):  # as its source has it
        own = exact_quantity(step.value, step.unit)
    return own if own == said or step.unit.startswith(f"{USD}/{shown().code}") else f"{own}, {said}"


def rate_line(currency: Currency) -> str:
    """In which currency money is shown, at which rate, of which day and by whom."""
    of = ", ".join(part for part in (currency.date, currency.source) if part)
    return f"Money is shown in {currency.code}: 1 {currency.code} = {exact_text(currency.usd)} USD ({of})"


def _resolve(node: Traced, row: Index | None) -> tuple[Traced, Index, str]:
    """Follow picks and row selections to the node that really holds the value.

    Where `row` names fewer axes than the node has, the entry that weighs most on the others is taken.
    """
    index, place = row or (), ""
    if len(index) < np.ndim(node.value):
        size = np.nan_to_num(np.abs(np.asarray(node.value, dtype=float)[index]), posinf=0.0)
        index += tuple(int(i) for i in np.unravel_index(int(np.argmax(size)), size.shape))
        place = f" (the largest of {size.size})" if size.size > 1 else ""
    while isinstance(node, Pick | Rows):
        depth = node.index.ndim
        inside = int(node.index[index[:depth]])
        if isinstance(node, Pick):
            node, index = node.items[inside], index[depth:]
        else:
            node, index = node.column, (inside, *index[depth:])
    return node, index[: np.ndim(node.value)], place


def _rows_below(made: _MadeFrom, index: Index) -> tuple[dict[str, Index | None], str]:
    """Row of each input behind `index` of a result, and which of the terms of a sum that is."""
    if made.rule is not None:
        behind, terms = made.rule(index, {name: child.value for name, (child, _) in made.inputs.items()})
        return dict(behind), f" (the largest of {terms})" if terms > 1 else ""
    row_of = _same_row_of if made.each_row else _row_of
    return {
        name: row_of(inner, index, made.shape) if inner else () for name, (_, inner) in made.inputs.items()
    }, ""


def _row_of(inner: tuple[int, ...], index: Index, shape: tuple[int, ...]) -> Index | None:
    """Row of an input that stands behind `index` of the result, by broadcasting; None after a reduction.

    Of an input with further axes behind those of the result (classes of requests, periods of a sum) it is
    the row without them.
    """
    seen = inner[: len(shape)]
    behind = index[len(index) - len(seen) :]
    if any(size not in (1, whole) for size, whole in zip(seen, shape[len(shape) - len(seen) :], strict=True)):
        return None
    return tuple(0 if size == 1 else i for size, i in zip(seen, behind, strict=True))


def _same_row_of(inner: tuple[int, ...], index: Index, shape: tuple[int, ...]) -> Index | None:
    """The same row of an input of a function that works row by row, and of further axes that agree.

    Axes are matched from the first one; an input that has no rows is matched from the last.
    """
    if not shape or inner[0] not in (1, shape[0]):
        return _row_of(inner, index, shape)
    agree = list(takewhile(lambda one: one[0] in (1, one[1]), zip(inner, shape, index, strict=False)))
    return tuple(0 if size == 1 else i for size, _, i in agree)


def _equation(node: Derived) -> tuple[str, str]:
    """The equation and the source lines of a function's docstring."""
    if isinstance(node.call.function, Formula):
        return f"{node.name} = {node.call.function.text}", node.call.function.about
    return _documented(node.call.function)


@cache
def _documented(function: Callable[..., Any]) -> tuple[str, str]:
    """The equation of a function and its source, read from the docstring once."""
    text = inspect.cleandoc(function.__doc__ or "")
    lines = text.splitlines()
    equation = next((line.strip() for line in lines[1:] if " = " in line), "")
    source = ""
    for i, line in enumerate(lines):
        if line.startswith("Source"):
            source = " ".join(part.strip() for part in lines[i:] if part.strip())
    return equation or (lines[0] if lines else ""), source
