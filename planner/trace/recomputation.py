"""What numbers would be if facts were different: what depends on those facts is worked out again.

What was chosen (layouts, counts) stays as it is. Only what depends on a changed fact is called again.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.trace.columns import Column
from planner.trace.quantities import (
    Call,
    Derived,
    Fact,
    Pick,
    Rows,
    Traced,
    children,
    pick,
    rows,
)

MOST_ROWS = 128  # that a function is asked for at once: more do not stay in the cache of a core
_Again = dict[int, Any]  # values by the number of the change


def recompute(targets: Sequence[Traced], changes: Mapping[str, float]) -> list[Any]:
    """Values of `targets` if facts had the values in `changes` (by key, in the fact's own unit)."""
    return recomputed(targets, [changes])[0]


def recomputed(targets: Sequence[Traced], many: Sequence[Mapping[str, float]]) -> list[list[Any]]:
    """`recompute` for many changes: each node is worked out again only for those that it depends on.

    A function that answers each row alone (`by_rows`) is called once, with the rows of all changes one below
    the other: hundreds of draws of a replica take as long as a few.
    """
    order = _in_order(targets)
    depending = _depending(order, {key for changes in many for key in changes})
    wanted = {id(target) for target in targets}
    uses = Counter(id(child) for node in depending for child in order[id(node)][1])
    parts = Counter(id(node.call) for node in depending if isinstance(node, Derived))
    known: dict[int, _Again] = {}
    called: dict[int, Callable[[Derived], _Again]] = {}  # a call that gives several parts is made once
    for node in depending:
        match node:
            case Fact():
                key = node.key
                known[id(node)] = {i: changes[key] for i, changes in enumerate(many) if key in changes}
            case Pick():
                items = {str(i): item for i, item in enumerate(node.items)}
                known[id(node)] = {
                    i: np.asarray(list(values.values()))[node.index]
                    for i, values in _inputs_of(items, known).items()
                }
            case Rows():
                known[id(node)] = {i: column[node.index] for i, column in known[id(node.column)].items()}
            case Derived():
                call = id(node.call)
                if call not in called:
                    called[call] = _called_again(node.call, known)
                known[id(node)] = called[call](node)
                parts[call] -= 1
                if not parts[call]:
                    del called[call]
        for child in order[id(node)][1]:  # what nothing needs any more goes
            uses[id(child)] -= 1
            if not uses[id(child)] and id(child) not in wanted:
                known.pop(id(child), None)
    every: list[_Again] = [known.get(id(target), {}) for target in targets]
    return [
        [again.get(i, target.value) for target, again in zip(targets, every, strict=True)]
        for i in range(len(many))
    ]


def _in_order(targets: Sequence[Traced]) -> dict[int, tuple[Traced, list[Traced]]]:
    """Every node behind the targets with what it was made from, which comes before it."""
    found: dict[int, tuple[Traced, list[Traced]]] = {}
    waiting: list[tuple[Traced, list[Traced] | None]] = [(target, None) for target in reversed(targets)]
    while waiting:
        node, made_from = waiting.pop()
        if id(node) in found:
            continue
        if made_from is None:
            made_from = list(children(node).values())
            waiting.append((node, made_from))
            waiting += [(child, None) for child in reversed(made_from) if id(child) not in found]
        else:
            found[id(node)] = (node, made_from)
    return found


def _depending(order: Mapping[int, tuple[Traced, list[Traced]]], keys: set[str]) -> list[Traced]:
    """The nodes that rest on a fact of these keys, each after what it was made from."""
    moved: set[int] = set()
    for at, (node, made_from) in order.items():
        if (isinstance(node, Fact) and node.key in keys) or any(id(child) in moved for child in made_from):
            moved.add(at)
    return [order[at][0] for at in order if at in moved]


def _inputs_of(inputs: Mapping[str, Traced], known: Mapping[int, _Again]) -> dict[int, dict[str, Any]]:
    """Values of the inputs for each change that any of them depends on."""
    again = {name: known.get(id(one), {}) for name, one in inputs.items()}
    changed = sorted({i for each in again.values() for i in each})
    return {i: {name: again[name].get(i, one.value) for name, one in inputs.items()} for i in changed}


def _called_again(call: Call, known: Mapping[int, _Again]) -> Callable[[Derived], _Again]:
    """The results of a call for each change, for each node that is a part of them.

    Of a function by rows only rows are asked of which an input is another one: those of all changes together,
    and the same row of each next to the other, since they are alike.
    """
    changed = _inputs_of(call.inputs, known)
    rows = max((len(one) for each in changed.values() for one in each.values() if np.ndim(one)), default=0)
    if len(changed) < 2 or not rows or not getattr(call.function, "by_rows", False):
        results = {i: call.function(**inputs) for i, inputs in changed.items()}
        return lambda node: {i: getattr(one, node.part) if node.part else one for i, one in results.items()}
    stated = {name: one.value for name, one in call.inputs.items()}
    columns = {
        name: np.stack([_of_rows(each[name], rows) for each in changed.values()])
        for name, one in call.inputs.items()
        if id(one) in known or np.ndim(one.value)
    }
    other = np.zeros((len(changed), rows), dtype=bool)
    for name, column in columns.items():
        differs = column != _of_rows(stated[name], rows)
        other |= differs.reshape(*other.shape, -1).any(axis=2)
    row, change = np.nonzero(other.T)
    parts_of = [slice(at, at + MOST_ROWS) for at in range(0, row.size, MOST_ROWS)]
    answers = [
        call.function(**stated | {name: one[change[some], row[some]] for name, one in columns.items()})
        for some in parts_of
    ]

    def of_node(node: Derived) -> _Again:
        parts = [np.asarray(getattr(one, node.part) if node.part else one) for one in answers]
        value = np.asarray(node.value)
        whole = np.array(np.broadcast_to(value, (len(changed), *value.shape)), np.result_type(value, *parts))
        for some, part in zip(parts_of, parts, strict=True):
            whole[change[some], row[some]] = part
        return dict(zip(changed, whole, strict=True))

    return of_node


def _of_rows(value: Column, rows: int) -> NDArray[Any]:
    """A number or a column as a column of so many rows."""
    column = np.atleast_1d(value)
    return np.broadcast_to(column, (rows, *column.shape[1:]))


def replaced(targets: Sequence[Traced], facts: Mapping[str, Fact]) -> list[Traced]:
    """The same numbers with other facts in place of those of these keys, traced; what was chosen stays."""
    known: dict[int, Traced] = {}
    calls: dict[int, tuple[Call, Any]] = {}  # a call that gives several parts is made once
    for node in _depending(_in_order(targets), set(facts)):
        match node:
            case Fact():
                known[id(node)] = facts[node.key]
            case Pick():
                known[id(node)] = pick([known.get(id(item), item) for item in node.items], node.index)
            case Rows():
                known[id(node)] = rows(known[id(node.column)], node.index)
            case Derived():
                if id(node.call) not in calls:
                    inputs = {name: known.get(id(one), one) for name, one in node.call.inputs.items()}
                    result = node.call.function(**{name: one.value for name, one in inputs.items()})
                    calls[id(node.call)] = Call(node.call.function, inputs), result
                call, result = calls[id(node.call)]
                value = getattr(result, node.part) if node.part else result
                known[id(node)] = dataclasses.replace(node, value=value, call=call)
    return [known.get(id(target), target) for target in targets]
