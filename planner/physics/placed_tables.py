"""What the placement of embedding tables gives the step of a run or a unit: its imbalance, or no room.

Tables are placed by the program, which fills `Inputs.placements` before options are worked out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario.schema_tables import Tables
from planner.trace.quantities import Traced, chosen, pick

NO_ROOM = "the tables of {file} do not fit on {count} of its accelerators"


def imbalance_of(inputs: Inputs, work: str, sku: int, accelerators: int) -> Traced | None:
    """The imbalance of the tables of some work on accelerators of a SKU; None where they do not fit."""
    found: Traced | None = inputs.placements[work, inputs.skus[sku].name, accelerators]
    return found


def imbalance_column(
    inputs: Inputs,
    tables: Tables | None,
    work: str,
    sku: NDArray[np.intp],
    accelerators: NDArray[Any],
) -> Traced | None:
    """The imbalance of each row; None where the work names no tables. A row without room has none to lose."""
    if tables is None:
        return None
    pairs, index = np.unique(
        np.stack([sku, np.asarray(accelerators, dtype=np.intp)]), axis=1, return_inverse=True
    )
    none = chosen("imbalance_ratio", 1.0, "the tables do not fit")
    each = [imbalance_of(inputs, work, k, n) or none for k, n in pairs.T.tolist()]
    return pick(each, index.ravel())


def no_room(inputs: Inputs, tables: Tables | None, work: str, sku: int, accelerators: int) -> str:
    """Why tables cannot be on accelerators that share them; empty where they can, or none are named."""
    if tables is None or imbalance_of(inputs, work, sku, accelerators) is not None:
        return ""
    return NO_ROOM.format(file=tables.file, count=accelerators)
