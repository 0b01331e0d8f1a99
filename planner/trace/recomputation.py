"""What numbers would be if facts were different: what depends on those facts is worked out again.

What was chosen (layouts, counts) stays as it is. Only what depends on a changed fact is called again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

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

_NUMBERS_AT_ONCE = 4_000_000  # of all nodes behind the targets, over the changes that are worked out together


def recompute(targets: Sequence[Traced], changes: Mapping[str, float]) -> list[Any]:
    """Values of `targets` if facts had the values in `changes` (by key, in the fact's own unit)."""
    return next(recomputed(targets, [changes]))


def recomputed(targets: Sequence[Traced], many: Iterable[Mapping[str, float]]) -> Iterator[list[Any]]:
    """`recompute` for many changes, one after the other.

    Small columns are worked out for many changes together: a function that answers each row alone (`by_rows`)
    is called once, with the rows of all changes one below the other, so that hundreds of draws of a replica
    take as long as a few.
    """
    order, waiting = _in_order(targets), iter(many)
    numbers = sum(np.size(node.value) for node, _ in order.values())
    depending: dict[frozenset[str], list[Traced]] = {}
    while changes := list(islice(waiting, max(1, _NUMBERS_AT_ONCE // max(numbers, 1)))):
        keys = frozenset().union(*changes)
        if keys not in depending:
            depending[keys] = _depending(order, keys)
        yield from _values(targets, depending[keys], changes)


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


def _depending(order: Mapping[int, tuple[Traced, list[Traced]]], keys: frozenset[str]) -> list[Traced]:
    """The nodes that rest on a fact of these keys, each after what it was made from."""
    moved: set[int] = set()
    for at, (node, made_from) in order.items():
        if (isinstance(node, Fact) and node.key in keys) or any(id(child) in moved for child in made_from):
            moved.add(at)
    return [order[at][0] for at in order if at in moved]


def _values(
    targets: Sequence[Traced], depending: Sequence[Traced], many: Sequence[Mapping[str, float]]
) -> Iterator[list[Any]]:
    """Values of the targets for each change, with the nodes that depend on one worked out in their order."""
    known: dict[int, dict[int, Any]] = {}  # of a node, by the number of each change that moves it
    called: dict[int, tuple[list[int], list[Any]]] = {}  # a call that gives several parts is made once

    def moving(nodes: Iterable[Traced]) -> list[int]:
        """Changes that move one of these."""
        return sorted(set().union(*(known.get(id(node), ()) for node in nodes)))

    def at(node: Traced, change: int) -> Any:
        return known.get(id(node), {}).get(change, node.value)

    for node in depending:
        match node:
            case Fact():
                known[id(node)] = {i: one[node.key] for i, one in enumerate(many) if node.key in one}
            case Pick():
                known[id(node)] = {
                    i: np.asarray([at(item, i) for item in node.items])[node.index]
                    for i in moving(node.items)
                }
            case Rows():
                known[id(node)] = {i: one[node.index] for i, one in known[id(node.column)].items()}
            case Derived():
                call = node.call
                if id(call) not in called:
                    moved = moving(call.inputs.values())
                    drawn = {
                        name: [at(one, i) for i in moved]
                        for name, one in call.inputs.items()
                        if id(one) in known
                    }
                    fixed = {name: one.value for name, one in call.inputs.items() if id(one) not in known}
                    called[id(call)] = moved, _results(call, fixed, drawn, len(moved))
                moved, results = called[id(call)]
                parts = [getattr(one, node.part) if node.part else one for one in results]
                if len(parts) < len(moved):  # the rows of all changes, one below the other
                    parts = np.split(parts[0], len(moved))
                known[id(node)] = dict(zip(moved, parts, strict=True))
    for i in range(len(many)):
        yield [at(target, i) for target in targets]


def _results(
    call: Call, fixed: Mapping[str, Any], drawn: Mapping[str, Sequence[Any]], changes: int
) -> list[Any]:
    """The result of each change, or a single one with the rows of all changes one below the other."""
    columns = [one for one in (*fixed.values(), *(values[0] for values in drawn.values())) if np.ndim(one)]
    if changes > 1 and columns and getattr(call.function, "by_rows", False):
        height = max(len(column) for column in columns)
        below = {
            name: np.concatenate([np.broadcast_to(one, (height, *np.shape(one)[1:])) for one in values])
            for name, values in {
                **{name: [one] * changes for name, one in fixed.items() if np.ndim(one)},
                **{name: [np.atleast_1d(one) for one in values] for name, values in drawn.items()},
            }.items()
        }
        return [call.function(**{**fixed, **below})]
    return [
        call.function(**{name: drawn[name][i] if name in drawn else fixed[name] for name in call.inputs})
        for i in range(changes)
    ]


def replaced(targets: Sequence[Traced], facts: Mapping[str, Fact]) -> list[Traced]:
    """The same numbers with other facts in place of those of these keys, traced; what was chosen stays."""
    known: dict[int, Traced] = {}
    calls: dict[int, tuple[Call, Any]] = {}  # a call that gives several parts is made once
    for node in _depending(_in_order(targets), frozenset(facts)):
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
