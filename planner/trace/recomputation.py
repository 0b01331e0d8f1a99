"""What numbers would be if facts were different: what depends on those facts is worked out again.

What was chosen (layouts, counts) stays as it is. Only what depends on a changed fact is called again.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

MOST_ROWS = 200  # that a function is asked for at once: its columns by state stay within a few hundred MB
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

    Of a function by rows only rows are asked of which an input is another one, those of all changes together.
    """
    changed = _inputs_of(call.inputs, known)
    rows = max((len(one) for each in changed.values() for one in each.values() if np.ndim(one)), default=0)
    if len(changed) < 2 or not rows or not getattr(call.function, "by_rows", False):
        results = {i: call.function(**inputs) for i, inputs in changed.items()}
        return lambda node: {i: getattr(one, node.part) if node.part else one for i, one in results.items()}
    stated = {name: one.value for name, one in call.inputs.items()}
    again = {name for name, one in call.inputs.items() if id(one) in known}
    others = {i: _other_rows(stated, each, again, rows) for i, each in changed.items()}
    answers = [
        (some, call.function(**_below(stated, again, [(changed[i], others[i]) for i in some], rows)))
        for some in _at_once({i: int(own.sum()) for i, own in others.items() if own.any()})
    ]

    def of_node(node: Derived) -> _Again:
        found: _Again = dict.fromkeys(changed, node.value)
        for some, answer in answers:
            column = np.asarray(getattr(answer, node.part) if node.part else answer)
            ends = np.cumsum([others[i].sum() for i in some])[:-1]
            for i, part in zip(some, np.split(column, ends), strict=True):
                whole = np.array(node.value, dtype=np.result_type(node.value, part))
                whole[others[i]] = part
                found[i] = whole
        return found

    return of_node


def _other_rows(
    stated: Mapping[str, Any], changed: Mapping[str, Any], again: Iterable[str], rows: int
) -> NDArray[np.bool_]:
    """Rows of which an input is another one than as stated."""
    other = np.zeros(rows, dtype=bool)
    for name in again:
        differs = np.atleast_1d(np.not_equal(stated[name], changed[name]))
        other |= differs.reshape(len(differs), -1).any(axis=1)
    return other


def _at_once(rows: Mapping[int, int]) -> list[list[int]]:
    """Changes whose rows are asked for together, no more than some hundreds of rows."""
    groups: list[list[int]] = []
    held = MOST_ROWS
    for i, count in rows.items():
        if held + count > MOST_ROWS:
            groups.append([])
            held = 0
        groups[-1].append(i)
        held += count
    return groups


def _below(
    stated: Mapping[str, Any],
    again: Container[str],
    changed: Sequence[tuple[Mapping[str, Any], NDArray[np.bool_]]],
    rows: int,
) -> dict[str, Any]:
    """Inputs with these rows of all changes one below the other; a number that stays as stated stays one."""
    return {
        name: one
        if name not in again and not np.ndim(one)
        else np.concatenate(
            [
                np.broadcast_to(value, (rows, *value.shape[1:]))[own]
                for each, own in changed
                for value in [np.atleast_1d(each[name])]
            ]
        )
        for name, one in stated.items()
    }


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
