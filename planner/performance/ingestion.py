"""Feeding data to trainers: preprocessing workers, drives, and the fast tier in front of them."""

import numpy as np

from planner.performance._checks import (
    require_not_negative,
    require_open_share,
    require_positive,
)
from planner.performance.columns import Column
from planner.performance.rounding import rounded_up


def preprocessing_workers(*, trainers: Column, workers_per_trainer: Column) -> Column:
    """Preprocessing workers that keep trainer nodes busy.

    n = ceil(trainers w)

    Source: Zhao et al., "Understanding data storage and ingestion", ISCA 2022 (9 to 55 a trainer node).
    """
    require_positive(trainers=trainers, workers_per_trainer=workers_per_trainer)
    return rounded_up(trainers * workers_per_trainer)


def workers_in_use(*, needed_workers: Column, stated_workers: Column) -> Column:
    """Preprocessing workers of a run that can have so many.

    n = min(n_needed, n_stated)

    Source: definition.
    """
    require_positive(needed_workers=needed_workers, stated_workers=stated_workers)
    result: Column = np.minimum(needed_workers, stated_workers)
    return result


def supplied_fraction(*, workers: Column, trainers: Column, workers_per_trainer: Column) -> Column:
    """Share of what trainer nodes take that so many workers deliver; the rest of the time they wait.

    s = min(1, n / (trainers w))

    Source: Zhao et al., ISCA 2022 (a stall is what demand exceeds supply by).
    """
    require_positive(workers=workers, trainers=trainers, workers_per_trainer=workers_per_trainer)
    result: Column = np.minimum(1.0, np.asarray(workers) / (np.asarray(trainers) * workers_per_trainer))
    return result


def drives_for_reads(*, capacity_drives: Column, iops_demand_ratio: Column) -> Column:
    """Drives that hold the data and serve its reads.

    n = ceil(n_capacity max(1, ratio))

    `iops_demand_ratio` is the operations needed over those that the drives for the capacity give. More
    drives than the data fills leave room for copies.

    Source: Zhao et al., ISCA 2022 (hard disks short of operations by 8 times).
    """
    require_positive(capacity_drives=capacity_drives)
    require_not_negative(iops_demand_ratio=iops_demand_ratio)
    return rounded_up(capacity_drives * np.maximum(1.0, iops_demand_ratio))


def hot_tier_gb(
    *, stored_gb: Column, hot_fraction: Column, hot_reads_fraction: Column, hit_fraction: Column
) -> Column:
    """Size of a fast tier that serves a wanted share of the reads.

    S = stored hit^(1/theta),  theta = ln(hot reads) / ln(hot bytes)

    One published point (40 % of the bytes, 80 % of the reads) sets a power law of popularity, which is that
    point where the wanted share is its own, and all bytes where every read must hit.

    Source: Zhao et al., ISCA 2022; Zipf's law of popularity, whose cumulative form is a power law.
    """
    require_positive(stored_gb=stored_gb)
    require_open_share(
        hot_fraction=hot_fraction, hot_reads_fraction=hot_reads_fraction, hit_fraction=hit_fraction
    )
    if np.any(np.asarray(hot_reads_fraction) <= hot_fraction) or np.any(np.asarray(hot_reads_fraction) >= 1):
        raise ValueError(
            f"hot_reads_fraction must lie above hot_fraction {hot_fraction} and below 1, or nothing is hot, "
            f"got {hot_reads_fraction}"
        )
    power = np.log(hot_reads_fraction) / np.log(hot_fraction)
    size_gb: Column = stored_gb * np.power(hit_fraction, 1.0 / power)
    return size_gb
