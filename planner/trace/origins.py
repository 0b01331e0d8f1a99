"""Which facts stand behind numbers: of a column, only those behind the rows in use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.trace.quantities import Derived, Fact, Pick, Rows, Traced, is_each_row


def facts_of(*nodes: Traced) -> dict[str, Fact]:
    """Every fact that the nodes rest on, by key: of a column only what stands behind the rows in use."""
    found: dict[str, Fact] = {}
    used: dict[int, NDArray[np.bool_]] = {}
    waiting = [(node, np.ones(np.shape(node.value), dtype=bool)) for node in nodes]
    while waiting:
        node, mask = waiting.pop()
        before = used.get(id(node))
        if before is not None:
            if not np.any(mask & ~before):
                continue
            mask = mask | before
        elif not mask.any():
            continue
        used[id(node)] = mask
        match node:
            case Fact():
                found[node.key] = node
            case Pick():
                rows_used = node.index[mask.reshape(*node.index.shape, -1).any(axis=-1)]
                waiting += [(item, _all(item)) for item in (node.items[i] for i in np.unique(rows_used))]
            case Rows():
                below = np.zeros(np.shape(node.column.value), dtype=bool)
                np.logical_or.at(below, node.index, mask)
                waiting.append((node.column, below))
            case Derived():
                behind = _rows_behind if is_each_row(node.call) else _behind
                waiting += [(child, behind(mask, child)) for child in node.call.inputs.values()]
    return found


_ONE = np.ones((), dtype=bool)  # of a node of one number


def _all(node: Traced) -> NDArray[np.bool_]:
    return np.ones(np.shape(node.value), dtype=bool)


def _behind(mask: NDArray[np.bool_], child: Traced) -> NDArray[np.bool_]:
    """Entries of an input behind some of the result, by broadcasting; all of them after a reduction."""
    shape = np.shape(child.value)
    if not shape:
        return _ONE if mask.any() else ~_ONE
    wide = (1,) * (mask.ndim - len(shape)) + shape
    if len(shape) > mask.ndim or any(n not in (1, whole) for n, whole in zip(wide, mask.shape, strict=True)):
        return _all(child)
    axes = tuple(i for i, n in enumerate(wide) if n == 1)
    return mask.any(axis=axes, keepdims=True).reshape(shape)


def _rows_behind(mask: NDArray[np.bool_], child: Traced) -> NDArray[np.bool_]:
    """Rows of an input behind some rows of the result; a scalar and a column of one row stand for all."""
    shape = np.shape(child.value)
    if not shape or not mask.ndim or shape[0] != len(mask):
        return _all(child)
    below = np.zeros(shape, dtype=bool)
    below[mask.reshape(len(mask), -1).any(axis=1)] = True
    return below
