"""The seam between rooms: `derive` calls a plain function and remembers where its inputs came from.

Four kinds of node make up every number that this program shows:

- `Fact`: one row of the catalogue or one value of the user's scenario, with its source;
- `Chosen`: a number that was enumerated or decided here (nodes, layouts, the solver's counts);
- `Derived`: the result of a leaf function on other nodes, a number or a whole column;
- `Pick` and `Rows`: which node, or which row, stands where in a column.

`explain` opens a number down to its facts, `recomputation` asks what it would be if facts were different.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.trace.arithmetic import COLUMN_SUM, SUM, Formula
from planner.trace.columns import Column
from planner.trace.numbers import exact_text
from planner.trace.units import DIMENSIONLESS, UnitError, convert_factor, unit_of

P = ParamSpec("P")
R = TypeVar("R")
Kind = Literal["measured", "published", "declared", "estimated", "assumed", "yours"]


class TraceError(ValueError):
    """A quantity was given to an equation that it does not fit."""


class BoundaryError(TraceError):
    """Two quantities of different boundaries (grid signal, embodied scope, ...) met in one equation."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where facts come from; written once in `data/sources.toml`."""

    name: str
    title: str
    authors: str = ""
    year: str = ""
    link: str = ""
    licence: str = ""

    def cite(self) -> str:
        """One line for a reader: authors, title, year, link."""
        return ", ".join(part for part in (self.authors, self.title, self.year, self.link) if part)


@dataclass(frozen=True, eq=False, slots=True)
class Traced:
    """A value with its unit and the boundaries that it keeps (`{"grid": "average/direct/production"}`)."""

    value: Any
    unit: str
    boundary: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def __add__(self, other: Traced | float) -> Derived:
        return _arithmetic("+", self, other)

    def __radd__(self, other: float) -> Derived:
        return _arithmetic("+", other, self)

    def __sub__(self, other: Traced | float) -> Derived:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: float) -> Derived:
        return _arithmetic("-", other, self)

    def __mul__(self, other: Traced | float) -> Derived:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: float) -> Derived:
        return _arithmetic("*", other, self)

    def __truediv__(self, other: Traced | float) -> Derived:
        return _arithmetic("/", self, other)

    def __rtruediv__(self, other: float) -> Derived:
        return _arithmetic("/", other, self)

    def __getitem__(self, index: int | tuple[int, ...]) -> Traced:
        """One row of a column, or one entry; a scalar, or an axis of one entry, stands for all."""
        found = self
        for at in index if isinstance(index, tuple) else (index,):
            if not np.ndim(found.value):
                return found
            found = rows(found, np.asarray(0 if len(found.value) == 1 else at))
        return found

    def named(self, name: str, about: str = "") -> Derived:
        """This arithmetic as one step of that name; its unit has to be what the name ends in.

        Raises:
            UnitError: it is in another unit.
        """
        return _named(self, name, about)


@dataclass(frozen=True, eq=False, slots=True)
class Fact(Traced):
    """One row of the catalogue, or one value of the scenario (kind `yours`)."""

    key: str
    source: Source
    locator: str
    kind: Kind
    low: float | None = None
    high: float | None = None
    note: str = ""
    stated: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Chosen(Traced):
    """A number that this program enumerated or decided, and why."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False, slots=True)
class Pick(Traced):
    """A column whose row i is `items[index[i]]`."""

    items: tuple[Traced, ...]
    index: NDArray[np.intp]


@dataclass(frozen=True, eq=False, slots=True)
class Rows(Traced):
    """Some rows of a column, in a new order."""

    column: Traced
    index: NDArray[np.intp]


@dataclass(frozen=True, eq=False, slots=True)
class Call:
    """One call of a leaf function on whole columns."""

    function: Callable[..., Any]
    inputs: Mapping[str, Traced]


@dataclass(frozen=True, eq=False, slots=True)
class Derived(Traced):
    """The result of a call; `part` names the field when the function returned several columns."""

    call: Call
    part: str = ""

    @property
    def name(self) -> str:
        """Name of the function, and of the field where it returns several."""
        return self.call.function.__name__ + (f".{self.part}" if self.part else "")


Part = tuple[Traced, Chosen]  # of a sum: what one of a kind takes, and how many there are


class Parts(Mapping[str, Derived]):
    """Columns that one call returned together, by field name."""

    def __init__(self, parts: dict[str, Derived]) -> None:
        self._parts = parts

    def __getitem__(self, name: str) -> Derived:
        return self._parts[name]

    def __getattr__(self, name: str) -> Derived:
        try:
            return self._parts[name]
        except KeyError:
            raise AttributeError(f"no part '{name}', only {', '.join(self._parts)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def chosen(name: str, value: Any, reason: str, unit: str | None = None) -> Chosen:
    """A number enumerated or decided by the planner; its unit is read from its name."""
    return Chosen(value, unit_of(name) if unit is None else unit, name=name, reason=reason)


def pick(items: Sequence[Traced], index: NDArray[np.intp]) -> Pick:
    """Column whose row i is `items[index[i]]`; all items share unit and boundary.

    Raises:
        TraceError: when the units differ.
        BoundaryError: when the boundaries differ.
    """
    units = {item.unit for item in items}
    if len(units) > 1:
        raise TraceError(
            f"one column cannot hold {' and '.join(sorted(units))}: {', '.join(map(label, items))}"
        )
    boundary = _joint_boundary({label(item): item for item in items})
    values = np.asarray([item.value for item in items])
    return Pick(
        values[index],
        items[0].unit if items else DIMENSIONLESS,
        boundary=boundary,
        items=tuple(items),
        index=index,
    )


def rows(column: Traced, index: NDArray[np.intp]) -> Traced:
    """Rows of a column; a scalar stands for every row and is returned as it is."""
    if np.ndim(column.value) == 0:
        return column
    return Rows(column.value[index], column.unit, boundary=column.boundary, column=column, index=index)


def interleaved(columns: Sequence[Traced], counts: Sequence[int], order: NDArray[np.intp]) -> Traced:
    """Row i is row `order[i]` of the columns one below the other, `counts` rows each; it opens to its own."""
    which = np.repeat(np.arange(len(columns)), counts)[order]
    at = np.concatenate([np.arange(count) for count in counts])[order]
    return pick([columns[w][int(k)] for w, k in zip(which, at, strict=True)], np.arange(len(order)))


def derive(function: Callable[..., Any], gives: str = "", /, **inputs: Any) -> Derived:
    """Call `function` once on the values of `inputs` and keep what it was given.

    Args:
        function: a plain function whose name and parameters end in their units.
        gives: boundary of the result (`"embodied=server"`) where the function joins other boundaries
            on purpose; otherwise inputs of different boundaries are refused and the common one is kept.
        inputs: traced values by parameter name, or a bundle (a dataclass whose fields are traced values),
        which
            is kept field by field as `bundle.field`.

    Raises:
        TraceError: an input has another unit than its parameter says, or is a bare number.
        BoundaryError: inputs of different boundaries meet.
    """
    call, boundary, result = _call(function, gives, inputs)
    return Derived(result, unit_of(function.__name__), boundary=boundary, call=call)


def derive_parts(function: Callable[..., Any], gives: str = "", /, **inputs: Any) -> Parts:
    """As `derive`, for a function that returns a dataclass of columns named with their units."""
    call, boundary, result = _call(function, gives, inputs)
    return Parts(
        {
            part.name: Derived(
                getattr(result, part.name), unit_of(part.name), boundary=boundary, call=call, part=part.name
            )
            for part in dataclasses.fields(result)
        }
    )


def each_row(function: Callable[P, R]) -> Callable[P, R]:
    """Say of a function that row i of its result rests on row i of its columns alone, whatever axes follow.

    Without it the axes of a result and of an input are matched from the last one, as numpy does.
    """
    function.each_row = True  # type: ignore[attr-defined]
    return function


def by_rows(function: Callable[P, R]) -> Callable[P, R]:
    """Say of a function that it answers each row alone, also where what was one number is a column of rows.

    The rows of many questions may then be asked as one, as of what `performance.remembered` keeps.
    """
    function.by_rows = True  # type: ignore[attr-defined]
    return each_row(function)


def is_each_row(call: Call) -> bool:
    """Whether the function of a call was said to work row by row."""
    return getattr(call.function, "each_row", False)


def convert(quantity: Traced, unit: str) -> Traced:
    """The same quantity in another unit of its dimension, as a step that `explain` shows."""
    if quantity.unit == unit:
        return quantity
    factor = convert_factor(quantity.unit, unit)

    def converted(*, quantity: Column) -> Column:
        return quantity * factor

    converted.__name__ = f"in {unit}"
    converted.__doc__ = f"Unit conversion.\n\n    1 {quantity.unit} = {exact_text(factor)} {unit}\n"
    return Derived(
        converted(quantity=quantity.value),
        unit,
        boundary=quantity.boundary,
        call=Call(converted, {"quantity": quantity}),
    )


def quotient(*, numerator: Column, denominator: Column) -> Column:
    """How much one quantity is of another of the same unit.

    q = a / b

    Source: definition.
    """
    return np.divide(numerator, denominator)


def ratio(numerator: Traced, denominator: Traced) -> Derived:
    """One quantity over another of the same unit, a plain number.

    Raises:
        TraceError: the units differ.
    """
    if numerator.unit != denominator.unit:
        raise TraceError(
            f"a ratio needs one unit: {label(numerator)} is in {numerator.unit}, "
            f"{label(denominator)} in {denominator.unit}"
        )
    inputs = {"numerator": numerator, "denominator": denominator}
    value = quotient(numerator=numerator.value, denominator=denominator.value)
    return Derived(value, DIMENSIONLESS, boundary=_joint_boundary(inputs), call=Call(quotient, inputs))


def _arithmetic(sign: str, left: Traced | float, right: Traced | float) -> Derived:
    """One operation; it becomes a part of the expression that it meets, until that is `named`.

    Raises:
        UnitError: what is added is in other units.
        BoundaryError: the boundaries differ.
    """
    one, other = _operand(left, sign, first=True), _operand(right, sign, first=False)
    inputs, text = _joined(one, other)
    units = [side.unit if isinstance(side, Traced) else DIMENSIONLESS for side in (left, right)]
    if sign in "+-" and units[0] != units[1]:
        sides = " and ".join(f"{text} in {unit}" for (text, _), unit in zip((one, other), units, strict=True))
        raise UnitError(f"'{sign}' wants one unit: {sides}")
    unit = units[0] if sign in "+-" else _joint_unit(sign, *units)
    formula = Formula("", text.format(sign))
    value = formula(**{name: node.value for name, node in inputs.items()})
    return Derived(value, unit, boundary=_joint_boundary(inputs, formula.text), call=Call(formula, inputs))


def _joint_unit(sign: str, one: str, other: str) -> str:
    if other == DIMENSIONLESS:
        return one
    return other if sign == "*" and one == DIMENSIONLESS else f"{one}{sign}({other})"


def _operand(side: Traced | float, sign: str, first: bool) -> tuple[str, dict[str, Traced]]:
    """The text of one side, and the numbers that it names."""
    if not isinstance(side, Traced):
        return (f"{side:g}" if float(f"{side:g}") == side else repr(side)), {}
    formula = _unnamed(side)
    if formula is None:
        name = re.sub(r"\W+", "_", label(_first(side)).rpartition(".")[2].partition("[")[0]).strip("_")
        return (name, {name: side}) if name.isidentifier() else (f"number_{name}", {f"number_{name}": side})
    text, inputs = formula
    sums = re.search(r" [+-] ", text) and (sign in "*/" or (sign == "-" and not first))
    return (f"({text})" if sums or (sign == "/" and not first and " " in text) else text), inputs


def _first(node: Traced) -> Traced:
    """What a column picks first, which has the name of all that it picks."""
    while isinstance(node, Pick | Rows):
        node = node.column if isinstance(node, Rows) else node.items[0]
    return node


def _unnamed(node: Traced) -> tuple[str, dict[str, Traced]] | None:
    """Text and numbers of an expression that has no name yet; None for any other number."""
    if isinstance(node, Derived) and isinstance(node.call.function, Formula) and not node.name:
        return node.call.function.text, dict(node.call.inputs)
    return None


def _joined(
    one: tuple[str, dict[str, Traced]], other: tuple[str, dict[str, Traced]]
) -> tuple[dict[str, Traced], str]:
    """The numbers of both sides and their text with a place for the sign; equal names are numbered."""
    inputs, renamed = dict(one[1]), dict[str, str]()
    for name, node in other[1].items():
        fresh, tries = name, 1
        while inputs.get(fresh, node) is not node:
            tries += 1
            fresh = f"{name}_{tries}"
        renamed[name] = fresh
        inputs[fresh] = node
    text = re.sub(r"\b[A-Za-z_]\w*\b", lambda word: renamed.get(word[0], word[0]), other[0])
    return inputs, f"{one[0]} {{}} {text}"


def _named(node: Traced, name: str, about: str) -> Derived:
    text, inputs = _unnamed(node) or _operand(node, "", first=True)
    unit = unit_of(name)
    if not math.isclose(convert_factor(node.unit, unit), 1.0, rel_tol=1e-12):
        raise UnitError(f"{name} = {text} is in {node.unit}")
    call = Call(Formula(name, text, about), inputs)
    return Derived(node.value, unit, boundary=node.boundary, call=call)


def exchanged(amount: Traced, rate: Traced, unit: str) -> Derived:
    """Money of another currency in USD, as a step that `explain` shows; `unit` is what it is in then.

    USD = amount r
    """
    formula = Formula("in_usd", "amount * rate", "money at the one rate of its currency")
    inputs = {"amount": amount, "rate": rate}
    return Derived(formula(amount=amount.value, rate=rate.value), unit, call=Call(formula, inputs))


def calculated(name: str, text: str, unit: str, about: str = "", /, **inputs: Traced) -> Derived:
    """Arithmetic whose unit is said, as a step; `text` is of `+ - * /` and the inputs."""
    formula = Formula(name, text, about)
    value = formula(**{key: one.value for key, one in inputs.items()})
    return Derived(value, unit, call=Call(formula, inputs))


def end_of(fact: Fact, end: str) -> Fact:
    """The low or the high end of the range of a fact, as a fact of its own."""
    note = f"the {end} end of its range. {fact.note}".strip()
    return dataclasses.replace(fact, value=getattr(fact, end), low=None, high=None, note=note)


MOST_PARTS = 12  # of a sum that an explanation shows one by one; the smaller ones are shown as one


def total(
    name: str, parts: Mapping[str, Traced], about: str = "", *, most: int = MOST_PARTS, gives: str = ""
) -> Traced:
    """The sum of parts named in words, all in the unit that the name ends in; nothing where there are none.

    Of more than `most` parts the largest are kept apart, and the others are one part. `gives` as of `derive`.

    Raises:
        UnitError: a part is in another unit.
        BoundaryError: parts of different boundaries.
    """
    unit = unit_of(name)
    if not parts:
        none = chosen(name, 0.0, about or "nothing of this kind in the plan")
        return dataclasses.replace(none, boundary=_boundary(gives, {}, name))
    for word, part in parts.items():
        if part.unit != unit:
            raise UnitError(f"{name} is in {unit}, its part '{word}' in {part.unit}")
    if len(parts) > most:
        ordered = sorted(parts, key=lambda word: -abs(float(parts[word].value)))
        small = [parts[word] for word in ordered[most - 1 :]]
        column = pick(small, np.arange(len(small)))
        value = float(np.sum(column.value))
        rest = Derived(
            value,
            unit,
            boundary=column.boundary,
            call=Call(Formula(name, COLUMN_SUM), {f"largest_of_{len(small)}": column}),
        )
        parts = {word: parts[word] for word in ordered[: most - 1]} | {f"{len(small)} others": rest}
    formula = Formula(name, SUM, about)
    value = formula(**{word: part.value for word, part in parts.items()})
    return Derived(value, unit, boundary=_boundary(gives, parts, name), call=Call(formula, dict(parts)))


def label(node: Traced) -> str:
    """Short name of a node for messages and trees."""
    match node:
        case Fact():
            return node.key
        case Chosen() | Derived():
            return node.name
        case Pick():
            names = sorted({label(item) for item in node.items})
            parts = {name.rpartition(".")[2] for name in names}
            if len(parts) == 1 and all(isinstance(item, Rows) for item in node.items):
                return parts.pop()  # one result of several laws
            return names[0] if len(names) == 1 else f"one of {len(names)}: {names[0]}, ..."
        case Rows():
            return label(node.column)
    raise TypeError(f"{type(node).__name__} is not a traced node")


def children(node: Traced) -> dict[str, Traced]:
    """Nodes that this one was made from, by parameter name or position."""
    match node:
        case Derived():
            return dict(node.call.inputs)
        case Pick():
            return {str(i): item for i, item in enumerate(node.items)}
        case Rows():
            return {"column": node.column}
    return {}


def _unbundled(
    function: Callable[..., Any], inputs: Mapping[str, Any]
) -> tuple[Callable[..., Any], dict[str, Traced]]:
    """A function of plain columns, and its inputs where some were bundles: `chip.memory_gb_per_s`.

    What a bundle has by default is not an input.
    """
    bundles: dict[str, Any] = {
        name: type(one) for name, one in inputs.items() if is_dataclass(one) and not isinstance(one, Traced)
    }
    if not bundles:
        return function, dict(inputs)

    @wraps(function)
    def of_columns(**columns: Any) -> Any:
        own = {name: value for name, value in columns.items() if "." not in name}
        for name, kind in bundles.items():
            given = {f.name: f"{name}.{f.name}" for f in fields(kind) if f"{name}.{f.name}" in columns}
            own[name] = kind(**{field: columns[column] for field, column in given.items()})
        return function(**own)

    flat: dict[str, Traced] = {}
    for name, one in inputs.items():
        if name in bundles:
            given = {
                f.name: getattr(one, f.name) for f in fields(one) if getattr(one, f.name) is not f.default
            }
            flat |= {f"{name}.{field}": column for field, column in given.items()}
        else:
            flat[name] = one
    return of_columns, flat


def _call(
    function: Callable[..., Any], gives: str, given: Mapping[str, Any]
) -> tuple[Call, dict[str, str], Any]:
    function, inputs = _unbundled(function, given)
    for parameter, quantity in inputs.items():
        if not isinstance(quantity, Traced):
            raise TraceError(
                f"{function.__name__}({parameter}) got the bare value {quantity!r}: "
                "hand it a fact or `chosen(...)`"
            )
        wanted = unit_of(parameter.rpartition(".")[2])
        if quantity.unit != wanted:
            raise TraceError(
                f"{function.__name__}({parameter}) wants {wanted}, "
                f"but {label(quantity)} is in {quantity.unit}"
            )
    boundary = _boundary(gives, inputs, function.__name__)
    result = function(**{parameter: quantity.value for parameter, quantity in inputs.items()})
    return Call(function, dict(inputs)), boundary, result


def _boundary(gives: str, inputs: Mapping[str, Traced], where: str) -> dict[str, str]:
    """The common boundary of inputs; that of a family which is joined on purpose is said."""
    if not gives:
        return _joint_boundary(inputs, where)
    family, _, tag = gives.partition("=")
    others = {name: one for name, one in inputs.items() if family not in one.boundary}
    return _joint_boundary(others, where) | {family: tag}


def _joint_boundary(inputs: Mapping[str, Traced], where: str = "one column") -> dict[str, str]:
    joint: dict[str, tuple[str, str]] = {}
    for name, quantity in inputs.items():
        for family, tag in quantity.boundary.items():
            first_tag, first = joint.setdefault(family, (tag, name))
            if first_tag != tag:
                raise BoundaryError(
                    f"{where}: {first} is {family} '{first_tag}' and {name} is {family} '{tag}'; "
                    "they must not be mixed"
                )
    return {family: tag for family, (tag, _) in joint.items()}
