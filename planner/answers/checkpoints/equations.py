"""Equations of a checkpoint policy beyond the leaves: hours, money and carbon of a node in each state."""

from __future__ import annotations

import numpy as np

from planner.trace.columns import Column


def local_restart_h(*, restart_h: Column, load_h: Column) -> Column:
    """Hours from a failure to running again where a local copy is loaded instead of the stored one.

    R1 = max(u0 - load, 0)

    Loading is taken to be as fast as writing, and a local copy to load in no time.

    Source: the restart less its load from storage.
    """
    return np.maximum(np.subtract(restart_h, load_h), 0.0)


def absent_h(*, restart_h: Column, queue_h: Column) -> Column:
    """Hours without progress after each failure, in the queue or restarting.

    u0 + q

    Source: sum of parts.
    """
    return restart_h + queue_h


def local_rate_per_h(*, mttf_h: Column, local_fraction: Column) -> Column:
    """Failures an hour after which a local copy is still there.

    l1 = f / M

    Source: definition.
    """
    return np.divide(local_fraction, mttf_h)


def remote_rate_per_h(*, mttf_h: Column, local_fraction: Column) -> Column:
    """Failures an hour that take the local copies with them.

    l2 = (1 - f) / M

    Source: definition.
    """
    return np.subtract(1.0, local_fraction) / mttf_h


def stops_per_h(*, failures_per_h: Column, others_per_h: Column) -> Column:
    """Stops an hour, of failures and of what throws stored work away.

    l = l2 + l_o

    Source: rates of independent causes add.
    """
    return np.add(failures_per_h, others_per_h)


def checked_ratio(*, hours_ratio: Column, check_fraction: Column) -> Column:
    """Weighted hours of one useful hour with checks of the results next to the work.

    h' = h * (1 + o)

    Source: definition of an overhead.
    """
    return np.multiply(hours_ratio, np.add(1.0, check_fraction))


def kept_gb(*, size_gb: Column, checkpoints: Column) -> Column:
    """Storage that a job's checkpoints fill.

    S_kept = k * S

    Source: definition.
    """
    return np.multiply(checkpoints, size_gb)


def kept_kw(*, kept_gb: Column, storage_kw_per_gb: Column, nodes: Column) -> Column:
    """Power of the storage that holds a job's checkpoints, one node's share.

    P = S_kept * p / N

    Source: power by capacity.
    """
    return np.multiply(kept_gb, storage_kw_per_gb) / nodes


def written_kw(*, size_gb: Column, storage_kwh_per_gb: Column, write_h: Column, nodes: Column) -> Column:
    """Power that writing adds, one node's share, over the time that the write stops the job.

    P = S * e / (C * N)

    A write that a failure cuts short pays for what was written. Where the write runs on in the background,
    all of its energy is laid on the stall, so that each checkpoint pays it once.

    Source: energy by bytes written.
    """
    return np.multiply(size_gb, storage_kwh_per_gb) / np.multiply(write_h, nodes)


def state_kw(*, node_kw: Column, kept_kw: Column, written_kw: Column) -> Column:
    """Power of a node in a state, its share of the storage in.

    P = node + holding checkpoints + writing them

    Source: sum of parts.
    """
    return node_kw + kept_kw + written_kw


def kept_usd(*, kept_gb: Column, storage_usd_per_gb_h: Column, hours_h: Column, nodes: Column) -> Column:
    """Money for the storage that holds a job's checkpoints, one node's share.

    M = S_kept * price * hours / N

    Source: price by capacity and time.
    """
    return np.multiply(kept_gb, storage_usd_per_gb_h) * hours_h / nodes


def kept_kgco2e(*, kept_gb: Column, storage_kgco2e_per_gb: Column, nodes: Column) -> Column:
    """Embodied carbon of the storage that holds a job's checkpoints, one node's share.

    E = S_kept * e / N

    Source: embodied carbon by capacity.
    """
    return np.multiply(kept_gb, storage_kgco2e_per_gb) / nodes


def spares_ratio(*, spares: Column, nodes: Column) -> Column:
    """Spare nodes held for each node of the job.

    s / N

    Source: definition.
    """
    return np.divide(spares, nodes)


def spares_usd(*, spares_ratio: Column, owned_usd: Column, energy_usd: Column) -> Column:
    """Money of the spares on standby for one node, for as long as it runs.

    m = s / N * (owning + energy while idle)

    Source: sum of parts.
    """
    return spares_ratio * (owned_usd + energy_usd)


def spares_kgco2e(*, spares_ratio: Column, embodied_kgco2e: Column, operational_kgco2e: Column) -> Column:
    """Carbon of the spares on standby for one node, for as long as it runs.

    c = s / N * (embodied share + energy while idle)

    Source: sum of parts.
    """
    return spares_ratio * (embodied_kgco2e + operational_kgco2e)


def node_hour_usd(
    *, owned_usd: Column, spares_usd: Column, storage_usd: Column, energy_usd: Column
) -> Column:
    """Money of one node for one hour in a state, with its share of spares and storage.

    m = owning + spares + storage + energy

    Source: sum of parts.
    """
    return owned_usd + spares_usd + storage_usd + energy_usd


def node_hour_kgco2e(
    *, embodied_kgco2e: Column, spares_kgco2e: Column, storage_kgco2e: Column, operational_kgco2e: Column
) -> Column:
    """Carbon of one node for one hour in a state, with its share of spares and storage.

    c = embodied share + spares + embodied share of the storage + energy

    Source: sum of parts.
    """
    return embodied_kgco2e + spares_kgco2e + storage_kgco2e + operational_kgco2e


def waited_in_a_month_h(*, month_h: Column, ettr_ratio: Column, waiting_factor: Column) -> Column:
    """Hours of a month in which a run trains, and its nodes wait for slow ones of them.

    H = M * ETTR * (1 - 1 / w)

    Source: definition; ETTR counts slow steps as training.
    """
    return np.multiply(month_h, ettr_ratio) * (1.0 - np.divide(1.0, waiting_factor))


def slowed_h(*, useful_time_h: Column, waiting_factor: Column) -> Column:
    """Hours that work takes where its steps are w times as long.

    t' = w * t

    Source: definition.
    """
    return np.multiply(useful_time_h, waiting_factor)


def slowed_usd(*, useful_hour_usd: Column, waiting_factor: Column) -> Column:
    """Money of an hour of work at full pace, which takes w hours of one's own.

    M' = w * M

    Source: definition.
    """
    return np.multiply(useful_hour_usd, waiting_factor)


def slowed_kgco2e(*, useful_hour_kgco2e: Column, waiting_factor: Column) -> Column:
    """Carbon of an hour of work at full pace, which takes w hours of one's own.

    C' = w * C

    Source: definition.
    """
    return np.multiply(useful_hour_kgco2e, waiting_factor)


def useful_hour_usd(*, nodes: Column, working_usd: Column, weighted_hours_ratio: Column) -> Column:
    """Money of one useful hour of the job, with stalls, lost work and restarts.

    M = N * m_work * (weighted hours for one useful hour)

    Source: hours by state at the price of each state.
    """
    return nodes * working_usd * weighted_hours_ratio


def useful_hour_kgco2e(*, nodes: Column, working_kgco2e: Column, weighted_hours_ratio: Column) -> Column:
    """Carbon of one useful hour of the job, with stalls, lost work and restarts.

    C = N * c_work * (weighted hours for one useful hour)

    Source: hours by state at the carbon of each state.
    """
    return nodes * working_kgco2e * weighted_hours_ratio


def hours_ratio(*, ettr_ratio: Column) -> Column:
    """Hours that pass for one useful hour.

    h = 1 / ETTR

    Source: definition of ETTR.
    """
    return np.divide(1.0, ettr_ratio)


def both_levels_h(*, local_h: Column, remote_h: Column) -> Column:
    """Hours that local and remote checkpoints take together, for one useful hour.

    h = local + remote

    Source: sum of parts.
    """
    return local_h + remote_h


def state_fraction(*, state_h: Column, ettr_ratio: Column) -> Column:
    """Share of all time that a state takes.

    f = (hours of the state for one useful hour) * ETTR

    Source: definition of ETTR.
    """
    return state_h * ettr_ratio


def more_fraction(*, to_best_ratio: Column) -> Column:
    """How much more is taken than at the best interval.

    f = q - 1

    Source: definition.
    """
    return np.subtract(to_best_ratio, 1.0)


def lost_accelerator_h(*, finish_h: Column, useful_time_h: Column, accelerators: Column) -> Column:
    """Accelerator-hours of a run that did not last: lost work, stalls and restarts.

    L = (T - U) * n

    Source: definition.
    """
    return np.subtract(finish_h, useful_time_h) * accelerators


def month_useful_h(*, ettr_ratio: Column, month_h: Column) -> Column:
    """Useful hours of a month.

    U = ETTR * H

    Source: definition of ETTR.
    """
    return np.multiply(ettr_ratio, month_h)


def freed_h(*, useful_h: Column, today_ettr_ratio: Column, best_ettr_ratio: Column) -> Column:
    """Hours sooner that the same work is done at another interval; below zero: later.

    f = U / ETTR_today - U / ETTR_best

    Source: definition of ETTR.
    """
    return np.divide(useful_h, today_ettr_ratio) - np.divide(useful_h, best_ettr_ratio)


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


def failures_per_h(*, mttf_h: Column) -> Column:
    """Failures of a job an hour.

    l = 1 / M

    Source: definition.
    """
    return np.divide(1.0, mttf_h)


def in_a_month(*, per_h: Column, month_h: Column) -> Column:
    """How many of a kind come in a month, in the mean.

    n = l * H

    Source: definition of a rate.
    """
    return np.multiply(per_h, month_h)


def lost_in_a_month_h(
    *, per_h: Column, month_h: Column, restart_h: Column, interval_h: Column, back_h: Column
) -> Column:
    """Hours that a kind of stop takes of a month, to first order.

    L = l * H * (u0 + W / 2 + b)

    Source: half an interval is lost in the mean, and what is thrown away of the stored work b.
    """
    return np.multiply(per_h, month_h) * (restart_h + np.divide(interval_h, 2.0) + back_h)


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
