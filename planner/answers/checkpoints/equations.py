"""Equations of a checkpoint policy beyond the leaves: hours, money and carbon of a node in each state."""

from __future__ import annotations

import numpy as np

from planner.trace.columns import Column
from reliability.restart import retried_restart_h


def local_restart_h(*, restart_h: Column, load_h: Column) -> Column:
    """Hours from a failure to running again where a local copy is loaded instead of the stored one.

    R1 = max(u0 - load, 0)

    Loading is taken to be as fast as writing, and a local copy to load in no time.

    Source: the restart less its load from storage.
    """
    return np.maximum(np.subtract(restart_h, load_h), 0.0)


def retried_ettr_fraction(*, ettr_fraction: Column, restart_h: Column, mttf_h: Column) -> Column:
    """ETTR where failures that strike while a job restarts begin the restart anew.

    ETTR' = ETTR (M + u0) / (M + u),  u = M exp(u0 / M) - M

    Each form of ETTR has the restart in the factor M + u0 alone.

    Source: Daly, FGCS 22(3), 2006; `retried_restart_h`.
    """
    retried_h = retried_restart_h(restart_h=restart_h, mttf_h=mttf_h)
    return np.multiply(ettr_fraction, np.add(mttf_h, restart_h)) / np.add(mttf_h, retried_h)


def written_kw(*, size_gb: Column, storage_kwh_per_gb: Column, write_h: Column, nodes: Column) -> Column:
    """Power that writing adds, one node's share, over the time that the write stops the job.

    P = S * e / (C * N)

    A write that a failure cuts short pays for what was written. Where the write runs on in the background,
    all of its energy is laid on the stall, so that each checkpoint pays it once.

    Source: energy by bytes written.
    """
    return np.multiply(size_gb, storage_kwh_per_gb) / np.multiply(write_h, nodes)


def state_fraction(*, state_h: Column, ettr_ratio: Column) -> Column:
    """Share of all time that a state takes.

    f = (hours of the state for one useful hour) * ETTR

    No number where the run never ends: its states are without end, and none of its hours is useful.

    Source: definition of ETTR.
    """
    with np.errstate(invalid="ignore"):
        return np.multiply(state_h, ettr_ratio)


def spared_usd(*, useful_h: Column, today_usd: Column, best_usd: Column) -> Column:
    """Money that the same work takes less at another interval; below zero: more.

    S = U (m_today - m_best)

    Both are of one useful hour of the job.

    Source: definition.
    """
    return useful_h * (np.asarray(today_usd) - best_usd)


def spared_kgco2e(*, useful_h: Column, today_kgco2e: Column, best_kgco2e: Column) -> Column:
    """Carbon that the same work takes less at another interval; below zero: more.

    S = U (c_today - c_best)

    Both are of one useful hour of the job.

    Source: definition.
    """
    return useful_h * (np.asarray(today_kgco2e) - best_kgco2e)


def point_kgco2e(
    *, units: Column, duration_h: Column, hour_kgco2e: Column, goodput_fraction: Column
) -> Column:
    """Carbon of a share of a job's hours: goodput gained, or lost.

    C = N * t * c * g

    Source: as `goodput_usd`.
    """
    return units * np.multiply(duration_h, hour_kgco2e) * goodput_fraction


def without_image_h(*, requeue_h: Column, image_h: Column) -> Column:
    """Time to new nodes from the scheduler where the image lies on them.

    t = max(t_requeue - t_image, 0)

    Source: a part of a sum is left out.
    """
    return np.maximum(np.subtract(requeue_h, image_h), 0.0)


def mixed_restart_h(*, in_process_h: Column, replaced_h: Column, in_process_fraction: Column) -> Column:
    """Mean restart where some failures leave the nodes and the others take one.

    u0 = p * u_process + (1 - p) * u_replaced

    Source: mean of a mixture.
    """
    other = np.subtract(1.0, in_process_fraction) * replaced_h
    return np.multiply(in_process_fraction, in_process_h) + other
