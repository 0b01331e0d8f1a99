"""Which term of a sum an explanation opens: the largest of what was asked for, the same in each column."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Index = tuple[int, ...]
Term = tuple[dict[str, Index], int]
Rule = Callable[[Index, Mapping[str, Any]], Term]


def sums(rule: Rule) -> Callable[[Callable[..., Any]], None]:
    """Say of functions that they are sums, and which term is opened.

    Args:
        rule: of an entry of the result and the values of the inputs: the entry of each input that is in the
            term, and how many terms there are.
    """

    def say(function: Callable[..., Any]) -> None:
        function.rule = rule  # type: ignore[attr-defined]

    return say


def rule_of(function: Callable[..., Any]) -> Rule | None:
    """The rule of a function that is a sum; None of any other."""
    found: Rule | None = getattr(function, "rule", None)
    return found


def over_all(_: Index, inputs: Mapping[str, Any]) -> Term:
    """The rule of a sum of products over whole columns, whose axes are matched from the last one."""
    values = {name: np.asarray(value) for name, value in inputs.items()}
    terms = _products(*values.values())
    found = tuple(map(int, np.unravel_index(int(np.argmax(terms)), terms.shape)))
    behind = {name: _entry(value, found[len(found) - value.ndim :]) for name, value in values.items()}
    return behind, int(np.count_nonzero(terms))


def over_rows(places: str) -> Rule:
    """The rule of a sum of products over the rows at each place; `places` (P, X) says where each row is.

    The other columns are by row and period (X, T), or by slot, too (X, T, Y); the result is by place and
    period, or by slot, too.
    """

    def rule(at: Index, inputs: Mapping[str, Any]) -> Term:
        here = np.asarray(inputs[places])[at[0]]
        others = {name: np.asarray(value) for name, value in inputs.items() if name != places}
        wide = (value if value.ndim > 2 else value[..., None] for value in others.values())
        terms = np.moveaxis(_products(*wide), 0, -1)[at[1:]] * here
        *slot, row = map(int, np.unravel_index(int(np.argmax(terms)), terms.shape))
        behind = {name: _entry(value, (row, *at[1:], *slot)) for name, value in others.items()}
        return behind | {places: (at[0], row)}, int(np.count_nonzero(terms))

    return rule


def _products(*values: NDArray[Any]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.abs(math.prod(values, start=np.ones(())))
    return found


def _entry(value: NDArray[Any], term: Index) -> Index:
    return tuple(0 if size == 1 else i for size, i in zip(value.shape, term, strict=False))
