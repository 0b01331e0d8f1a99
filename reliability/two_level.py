"""Quick local saves between durable remote ones: hours in each state, and the pattern of least cost.

Local failures (a process, a card that a peer can replace) resume at the last local save, the others at
the last remote one. `checkpoint.two_level_plan` gives the first-order pattern; here it is exact.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reliability.checkpoint import TwoLevelPlan
from reliability.columns import Column
from reliability.domain import require_not_negative, require_positive
from reliability.search import flat_ends, least_point
from reliability.two_level_ettr import two_level_attempts

Entry = Any  # a number or a column; a traced one while a question is put together

# Patterns tried on each pass: multiples of the first-order one, then all that lie next to the best of them.
_TRIED = 41
_WIDEST = 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveLevels:
    """How often a failure leaves the local save or only the remote one, and what each level takes."""

    local_rate_per_h: Entry
    remote_rate_per_h: Entry
    local_write_h: Entry
    remote_write_h: Entry
    local_restart_h: Entry
    remote_restart_h: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class HourWeights:
    """What an hour of work, of a write on each level and of a restart counts, such as by its power."""

    work_weight_factor: Entry = 1.0
    local_write_weight_factor: Entry = 1.0
    remote_write_weight_factor: Entry = 1.0
    restart_weight_factor: Entry = 1.0


TIME = HourWeights()  # each hour counts alike


@dataclass(frozen=True, slots=True)
class TwoLevelHours:
    """Hours in each state for one useful hour; they add up to 1 / ETTR."""

    useful_h: Column
    local_write_h: Column
    remote_write_h: Column
    lost_h: Column
    local_restart_h: Column
    remote_restart_h: Column


@dataclass(frozen=True, slots=True)
class TwoLevelFlat:
    """Intervals from `low_h` to `high_h` that cost next to nothing at the same number of local saves."""

    low_h: Column
    high_h: Column


def two_level_hours_by_state(
    *,
    interval_h: Column,
    local_saves: Column,
    levels: SaveLevels,
    rolled_back_h: Column = 0.0,
) -> TwoLevelHours:
    """Expected hours in each state for one useful hour of a two-level pattern; exact.

        work and writes = s * attempts * (hours of one),  restart_i = s * l_i * R_i * (hours up)
        s = 1 / (1 - B * (l_1 + l_2) * (hours up))

    Writes that a failure cuts short count as writes; restarts do not fail. `rolled_back_h` B is stored work
    that a failure throws away, too, in the mean over all failures (`hours_by_state`).

    Source: pattern of Benoit et al., "Towards optimal multi-level checkpointing", IEEE TC, 2016; solved
    as a chain of stages by `two_level_attempts`, as `two_level_ettr_fraction`.
    """
    require_not_negative(local_restart_h=levels.local_restart_h, remote_restart_h=levels.remote_restart_h)
    spent = two_level_attempts(
        interval_h=interval_h,
        local_saves=local_saves,
        local_rate_per_h=levels.local_rate_per_h,
        remote_rate_per_h=levels.remote_rate_per_h,
        local_write_h=levels.local_write_h,
        remote_write_h=levels.remote_write_h,
    )
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        up_h = spent.up_h
        failures = np.add(levels.local_rate_per_h, levels.remote_rate_per_h) * up_h
        again = 1.0 / np.maximum(1.0 - np.multiply(rolled_back_h, failures), 0.0)
        up_h = again * up_h
        return TwoLevelHours(
            useful_h=np.ones_like(up_h)[()],
            local_write_h=(again * spent.every * spent.local_write_h)[()],
            remote_write_h=(again * spent.last * spent.remote_write_h)[()],
            lost_h=(again * spent.every * spent.work_h - 1.0)[()],
            local_restart_h=(np.multiply(levels.local_rate_per_h, levels.local_restart_h) * up_h)[()],
            remote_restart_h=(np.multiply(levels.remote_rate_per_h, levels.remote_restart_h) * up_h)[()],
        )


def two_level_weighted_hours_ratio(
    *,
    interval_h: Column,
    local_saves: Column,
    levels: SaveLevels,
    weights: HourWeights = TIME,
    rolled_back_h: Column = 0.0,
) -> Column:
    """Weighted hours of a two-level pattern for one useful hour, such as energy where weights are powers.

        cost = w_work * (1 + lost) + w_1 * local write + w_2 * remote write + w_restart * restarts

    The weights share one unit, which is that of the answer. All at 1: 1 / ETTR.

    Source: expected hours by state of this room.
    """
    _check(weights)
    hours = two_level_hours_by_state(
        interval_h=interval_h, local_saves=local_saves, levels=levels, rolled_back_h=rolled_back_h
    )
    work = weights.work_weight_factor * (hours.useful_h + hours.lost_h)
    local = weights.local_write_weight_factor * hours.local_write_h
    remote = weights.remote_write_weight_factor * hours.remote_write_h
    restarts_h = hours.local_restart_h + hours.remote_restart_h
    found: Column = work + local + remote + weights.restart_weight_factor * restarts_h
    return found


def two_level_optimal_plan(
    *,
    levels: SaveLevels,
    weights: HourWeights = TIME,
    rolled_back_h: Column = 0.0,
) -> TwoLevelPlan:
    """Pattern of least weighted hours: whole local saves for each remote one, and the work before each.

        (n, W) = argmin cost(n, W),  tried around n = sqrt(l1 * w_2 * C2 / (l2 * w_1 * C1))

    All weights at 1: highest ETTR. Near the best pattern the cost is flat in n as in W.

    Source: weighted hours of this room, least by search; first-order pattern of Benoit et al., 2016.
    """
    require_positive(local_rate_per_h=levels.local_rate_per_h, remote_rate_per_h=levels.remote_rate_per_h)
    require_positive(local_write_h=levels.local_write_h, remote_write_h=levels.remote_write_h)
    require_not_negative(rolled_back_h=rolled_back_h)
    _check(weights)
    given = asdict(levels) | asdict(weights) | {"rolled_back_h": rolled_back_h}
    columns = np.broadcast_arrays(*(np.asarray(column, dtype=float) for column in given.values()))
    case = {name: column[..., None] for name, column in zip(given, columns, strict=True)}
    local = case["local_write_weight_factor"] * case["local_write_h"]
    remote = case["remote_write_weight_factor"] * case["remote_write_h"]
    saves = np.sqrt(case["local_rate_per_h"] * remote / (case["remote_rate_per_h"] * local))
    step = _WIDEST ** (2.0 / (_TRIED - 1))
    for widest in (_WIDEST, step):
        tried = np.maximum(np.round(saves * np.geomspace(1.0 / widest, widest, _TRIED)), 1.0)
        interval_h, cost = _best_interval(case, tried)
        least = np.argmin(cost, axis=-1, keepdims=True)
        saves = np.take_along_axis(tried, least, axis=-1)
    best_h = np.take_along_axis(interval_h, least, axis=-1)
    return TwoLevelPlan(local_saves=saves[..., 0][()], interval_h=best_h[..., 0][()])


def two_level_flat_h(
    *,
    interval_h: Column,
    local_saves: Column,
    levels: SaveLevels,
    loss_fraction: Column,
    weights: HourWeights = TIME,
    rolled_back_h: Column = 0.0,
) -> TwoLevelFlat:
    """Intervals around the best one, at its number of local saves, that cost less than a share more.

        cost(W) = (1 + loss) * cost(W_best), on both sides

    `interval_h` is that of `two_level_optimal_plan`.

    Source: weighted hours of this room, solved by halving.
    """
    require_positive(loss_fraction=loss_fraction)

    def cost(tried_h: Column) -> Column:
        return two_level_weighted_hours_ratio(
            interval_h=tried_h,
            local_saves=local_saves,
            levels=levels,
            weights=weights,
            rolled_back_h=rolled_back_h,
        )

    return TwoLevelFlat(*flat_ends(cost, best=interval_h, loss_fraction=loss_fraction))


def _best_interval(
    case: dict[str, NDArray[np.float64]], saves: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The best work before each save for some numbers of saves, and what it costs."""
    halves_per_h = case["local_rate_per_h"] + saves * case["remote_rate_per_h"]
    plain_h = case["local_write_h"] + case["remote_write_h"] / saves
    weighted_h = (
        case["local_write_weight_factor"] * case["local_write_h"]
        + case["remote_write_weight_factor"] * case["remote_write_h"] / saves
    ) / case["work_weight_factor"]
    guesses = [np.sqrt(2.0 * writes_h / halves_per_h) for writes_h in (plain_h, weighted_h)]

    def cost(interval_h: Column) -> Column:
        return two_level_weighted_hours_ratio(
            interval_h=interval_h,
            local_saves=saves,
            levels=SaveLevels(**{f.name: case[f.name] for f in fields(SaveLevels)}),
            weights=HourWeights(**{f.name: case[f.name] for f in fields(HourWeights)}),
            rolled_back_h=case["rolled_back_h"],
        )

    best_h = np.asarray(least_point(cost, low=np.minimum(*guesses) / 64.0, high=np.maximum(*guesses) * 8.0))
    return best_h, np.asarray(cost(best_h))


def _check(weights: HourWeights) -> None:
    require_positive(
        work_weight_factor=weights.work_weight_factor,
        local_write_weight_factor=weights.local_write_weight_factor,
        remote_write_weight_factor=weights.remote_write_weight_factor,
    )
    require_not_negative(restart_weight_factor=weights.restart_weight_factor)
