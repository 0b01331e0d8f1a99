"""Columns into rows: arrays of variables, and which of them stand in which row with which coefficient.

A `Part` of a block of rows is three columns of equal length: the number of the row, the variable, and its
coefficient. Only what is not zero is listed, so that a row costs what it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import product, repeat
from operator import is_not
from typing import Any

import numpy as np
import pulp
from numpy.typing import NDArray

from solver.tables import Flags, Floats, Whole

Variables = NDArray[Any]  # of pulp.LpVariable, in the shape of the columns they stand for
Index = tuple[int, ...]
Part = tuple[Whole, Variables, Floats]

NO_PART: Part = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=object), np.zeros(0))


# At each variable PuLP warns of its next version, which takes a sixth of the time that large programs take.
with suppress(ImportError):
    import_module("pulp.v4_migration").set_v4_migration_warnings(False)


def name(stem: str, index: Iterable[Any]) -> str:
    """The stem and the indices, joined."""
    return "_".join([stem, *map(str, map(int, index))])


def array(stem: str, shape: Index, most: NDArray[Any] | None, whole: Flags | bool = True) -> Variables:
    """Variables from 0 to `most`, named by index: labels that people write may conflict, numbers do not."""
    made = np.empty(shape, dtype=object)
    limits = [None] * made.size if most is None else [_end(limit) for limit in most.ravel().tolist()]
    kinds = np.broadcast_to(np.where(whole, pulp.LpInteger, pulp.LpContinuous), shape).ravel().tolist()
    indices = product(*(map(str, range(length)) for length in shape))
    made.ravel()[:] = [
        pulp.LpVariable("_".join((stem, *index)), 0, limit, kind)
        for index, limit, kind in zip(indices, limits, kinds, strict=True)
    ]
    return made


def indicators(stem: str, *index: Whole) -> Variables:
    """Variables that are 0 or 1, for some entries of columns, named by their indices."""
    made = np.empty(index[0].size, dtype=object)
    made[:] = [pulp.LpVariable(name(stem, at), 0, 1, pulp.LpInteger) for at in zip(*index, strict=True)]
    return made


def made(variables: Variables) -> Flags:
    """Where there is a variable, of arrays in which there is one only where there may be anything."""
    there = map(is_not, variables.ravel().tolist(), repeat(None))
    return np.fromiter(there, bool, variables.size).reshape(variables.shape)


def _end(limit: float) -> float | None:
    return None if limit == np.inf else float(limit)


def dictionary(variables: Sequence[Any] | Variables, coefficients: Sequence[float]) -> dict[Any, float]:
    """The coefficient of each variable; of one that is named twice, their sum."""
    found = dict(zip(variables, coefficients, strict=True))
    if len(found) < len(variables):
        found = dict.fromkeys(found, 0.0)
        for variable, coefficient in zip(variables, coefficients, strict=True):
            found[variable] += coefficient
    return found


def linear(*parts: Iterable[tuple[Any, float]]) -> Any:
    """A sum of coefficient times variable, without the terms that are zero."""
    pairs = [
        (variable, float(coefficient)) for part in parts for variable, coefficient in part if coefficient
    ]
    return pulp.LpAffineExpression(dictionary(*zip(*pairs, strict=True)) if pairs else {})


def expression(variables: Variables, coefficients: Sequence[float]) -> Any:
    """The sum of coefficients times variables, as `dictionary` counts them."""
    found = pulp.LpAffineExpression(zip(variables, coefficients, strict=True))
    if len(found) == len(variables):
        return found
    return pulp.LpAffineExpression(dictionary(variables, coefficients))


def terms(variables: Variables, coefficients: NDArray[Any] | float) -> list[tuple[Any, float]]:
    """Pairs of a variable and its coefficient, where that is not zero."""
    flat = np.broadcast_to(coefficients, variables.shape).ravel()
    chosen = np.flatnonzero(flat)
    return list(zip(variables.ravel()[chosen], flat[chosen].tolist(), strict=True))


def cells(*shape: int) -> Whole:
    """The indices of every entry of a shape, one a row, in the order of its entries."""
    return np.indices(shape).reshape(len(shape), -1).T


def each(variables: Variables, coefficients: NDArray[Any] | float = 1.0) -> Part:
    """Row n holds entry n of the variables."""
    flat = np.broadcast_to(np.asarray(coefficients, dtype=float), variables.shape).ravel()
    row = np.flatnonzero(flat)
    return row, variables.ravel()[row], flat[row]


def grouped(group: Whole, variables: Variables, coefficients: NDArray[Any], later: Whole | int = 0) -> Part:
    """Rows of (group, period): option x stands in row group[x], period t + later[x], with coefficient [x, t].

    The variables are [X, T], or [X] where one decision counts in every period. What would come after the last
    period stands nowhere.
    """
    wide = np.broadcast_to(variables if variables.ndim > 1 else variables[:, None], coefficients.shape)
    option, period = np.nonzero(coefficients)
    periods = coefficients.shape[1]
    row_period = period + np.broadcast_to(later, group.shape)[option]
    inside = row_period < periods
    option, period, row_period = option[inside], period[inside], row_period[inside]
    row = group[option] * periods + row_period
    return row, wide[option, period], coefficients[option, period].astype(float)


def summed(group: Whole, variables: Variables, coefficients: NDArray[Any] | float = 1.0) -> Part:
    """Row group[x] holds all that stands in row x of the variables."""
    wide = np.broadcast_to(np.asarray(coefficients, dtype=float), variables.shape)
    places = np.nonzero(wide)
    return group[places[0]], variables[places], wide[places]


def alike_in_slots(whole: Variables, moving: Variables) -> Variables:
    """What the period decides and no slot does, in every slot [., T, Y]; nothing where it moves."""
    wide = np.broadcast_to(whole[:, :, None], moving.shape).copy()
    wide[made(moving)] = None
    return wide


def in_slot(group: Whole, variables: Variables, coefficients: Floats) -> Part:
    """Rows of (group, period, slot): option x stands in row (group[x], t, y) with coefficient [x, t, y]."""
    option, period, slot = np.nonzero(made(variables) & (coefficients != 0))
    _, periods, count = coefficients.shape
    row = (group[option] * periods + period) * count + slot
    return row, variables[option, period, slot], coefficients[option, period, slot].astype(float)


def in_period(group: Whole, variables: Variables, coefficients: Floats) -> Part:
    """Rows of (group, period), in which all slots stand."""
    option, period, slot = np.nonzero(made(variables) & (coefficients != 0))
    row = group[option] * coefficients.shape[1] + period
    return row, variables[option, period, slot], coefficients[option, period, slot].astype(float)
