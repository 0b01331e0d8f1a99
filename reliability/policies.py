"""How flat the best interval is.

Blocking and asynchronous checkpoints have their optimum in closed form (`checkpoint.py`), two levels theirs
in `two_level.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reliability.checkpoint import weighted_hours_ratio
from reliability.columns import Column
from reliability.domain import require_positive
from reliability.search import flat_ends


@dataclass(frozen=True, slots=True)
class FlatRegion:
    """Intervals from `low_h` to `high_h` cost next to nothing against the best one."""

    low_h: Column
    high_h: Column


def flat_region_h(
    *,
    interval_h: Column,
    mttf_h: Column,
    write_h: Column,
    restart_h: Column,
    loss_fraction: Column,
    work_weight_factor: Column = 1.0,
    write_weight_factor: Column = 1.0,
    restart_weight_factor: Column = 1.0,
    persist_h: Column = 0.0,
    rolled_back_h: Column = 0.0,
) -> FlatRegion:
    """Intervals around the best one that cost less than a share more.

        cost(W) = (1 + loss) * cost(W_best), on both sides

    `interval_h` is the best one for these weights. With a background write the low end is not below P - C,
    where one snapshot is stored as the next is taken.

    Source: weighted hours of this room, solved by halving.
    """
    require_positive(interval_h=interval_h, loss_fraction=loss_fraction)

    def cost(tried_h: Column) -> Column:
        return weighted_hours_ratio(
            interval_h=tried_h,
            mttf_h=mttf_h,
            write_h=write_h,
            restart_h=restart_h,
            persist_h=persist_h,
            rolled_back_h=rolled_back_h,
            work_weight_factor=work_weight_factor,
            write_weight_factor=write_weight_factor,
            restart_weight_factor=restart_weight_factor,
        )

    floor_h = np.maximum(np.subtract(persist_h, write_h), 0.0)
    return FlatRegion(*flat_ends(cost, best=interval_h, loss_fraction=loss_fraction, floor=floor_h))
