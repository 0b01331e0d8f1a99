"""Equations of a training run beyond the leaves: its hours, checkpoints, ETTR, power, and its periods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from planner.trace.columns import Column
from reliability.finish import finish_quantile_h

# What failures add is cut into slices of chance, fine at both ends (Gauss and Legendre).
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_HALVINGS = 30  # of the bracket of a finish: to 1e-9 of it


def useful_time_h(*, tokens: Column, tokens_per_s_per_gpu: Column, accelerators: Column) -> Column:
    """Hours of training if nothing ever failed and no checkpoint was written.

    U = D / (x * n) / 3600

    Source: definition.
    """
    return tokens / (tokens_per_s_per_gpu * accelerators) / 3600.0


def checkpoint_gb_per_s(*, nodes: Column, node_gb_per_s: Column, storage_gb_per_s: Column) -> Column:
    """Bandwidth at which all nodes together write a checkpoint.

    B = min(N * b_node, B_storage)

    Source: the narrower of the nodes' links and the storage.
    """
    return np.minimum(np.asarray(nodes) * node_gb_per_s, storage_gb_per_s)


def background_stall_h(*, storage_write_h: Column, host_write_h: Column, blocking_fraction: Column) -> Column:
    """Hours that training waits for a checkpoint that is written in the background.

    b = max(C_host, beta * C_storage)

    The copy to the hosts' memory stops training, and so does a share beta of the write: gathering, planning
    and what the network loses to it. A copy alone would be hundredths of a second on thousands of nodes.

    Source: PyTorch distributed checkpointing, pytorch.org/blog/reducing-checkpointing-times (6.3 of 148.8 s).
    """
    return np.maximum(host_write_h, np.multiply(blocking_fraction, storage_write_h))


def stall_h(*, storage_write_h: Column, background_stall_h: Column, asynchronous: Column) -> Column:
    """Hours that training waits for one checkpoint.

    C = b if asynchronous, else the write to storage

    Source: definition.
    """
    return np.where(np.asarray(asynchronous) > 0, background_stall_h, storage_write_h)


def persist_h(*, storage_write_h: Column, asynchronous: Column) -> Column:
    """Hours in the background until an asynchronous checkpoint is safe.

    P = storage write if asynchronous, else 0

    Source: definition.
    """
    return np.where(np.asarray(asynchronous) > 0, storage_write_h, 0.0)


def hour_weight_factor(*, state_kw: Column, training_kw: Column, by_energy: Column) -> Column:
    """What an hour in a state weighs against an hour of work when the interval is chosen.

    w = P_state / P_training if energy is to be least, 1 if time is

    Source: hours weighted by power; reliability/README.md.
    """
    return np.where(np.asarray(by_energy) > 0, np.divide(state_kw, training_kw), 1.0)


def interval_in_use_h(*, optimal_interval_h: Column, stated_interval_h: Column) -> Column:
    """Hours of work between two checkpoints.

    tau = the stated interval where one is stated (above 0), else the best one

    Source: definition.
    """
    return np.where(np.asarray(stated_interval_h) > 0, stated_interval_h, optimal_interval_h)


def ettr_ratio(*, useful_h: Column, checkpoint_h: Column, lost_h: Column, restart_h: Column) -> Column:
    """Effective training time ratio: queue and planned stops are not counted.

    ETTR = useful / (useful + checkpoint + lost + restart)

    Source: Kokolis et al., arXiv 2410.21680, section II; hours by state in the exact renewal form.
    """
    return useful_h / (useful_h + checkpoint_h + lost_h + restart_h)


def run_finish_quantile_h(
    *,
    useful_h: Column,
    interval_h: Column,
    mttf_h: Column,
    write_h: Column,
    restart_h: Column,
    persist_h: Column,
    quantile_fraction: Column,
    run_variation_fraction: Column,
    rate_shape: Column = np.inf,
    rolled_back_h: Column = 0.0,
) -> Column:
    """Hours after its start by which a run is done with a given chance, from failures and from its pace.

    t_q = {t : E_u[Phi(ln(t / F_u) / s)] = q},  s^2 = log(1 + v^2)

    F_u is the finish at the modelled step time (`finish_quantile_h`, u its chance); one run differs from the
    next by other nodes, network paths and clocks, lognormal with median 1 and coefficient of variation v
    for the whole run. Hours that failures add grow with those of the run.

    Source: product of two independent times, one of them lognormal.
    """
    failing = {
        "useful_h": useful_h,
        "interval_h": interval_h,
        "mttf_h": mttf_h,
        "write_h": write_h,
        "restart_h": restart_h,
        "persist_h": persist_h,
        "rate_shape": rate_shape,
        "rolled_back_h": rolled_back_h,
    }
    if not np.any(run_variation_fraction):
        return finish_quantile_h(quantile_fraction=quantile_fraction, **failing)
    wide = {name: np.asarray(column)[..., None] for name, column in failing.items()}
    finish_h = np.asarray(finish_quantile_h(quantile_fraction=(_NODES + 1.0) / 2.0, **wide))
    deviation = np.sqrt(np.log1p(np.square(run_variation_fraction)))
    late = np.exp(deviation * ndtri(quantile_fraction))
    low, high = finish_h.min(axis=-1) * late, finish_h.max(axis=-1) * late
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        done = ndtr(np.log(middle[..., None] / finish_h) / np.asarray(deviation)[..., None]) @ _WEIGHTS / 2.0
        early = done < quantile_fraction
        low, high = np.where(early, middle, low), np.where(early, high, middle)
    return np.asarray(high)[()]


def joint_variation_fraction(*, variation_fraction: Column, log_sigma: Column) -> Column:
    """Coefficient of variation of a run's pace, its rate in doubt too.

    v' = sqrt((1 + v^2) exp(s^2) - 1)

    Source: product of two independent lognormal factors.
    """
    joint: Column = np.sqrt(np.expm1(np.log1p(np.square(variation_fraction)) + np.square(log_sigma)))
    return joint


def later_h(*, one_h: Column, other_h: Column) -> Column:
    """The later of two hours.

    t = max(a, b)

    Source: definition.
    """
    return np.maximum(one_h, other_h)


def chance_of_pace(*, after_h: Column, run_variation_fraction: Column, **failing: Column) -> Column:
    """Chance that a run is done some time after its start; arguments as of `run_finish_quantile_h`.

    P = E_u[Phi(ln(t / F_u) / s)],  s^2 = log(1 + v^2)

    Source: as there.
    """
    wide = {name: np.asarray(column)[..., None] for name, column in failing.items()}
    finish_h = np.asarray(finish_quantile_h(quantile_fraction=(_NODES + 1.0) / 2.0, **wide))
    deviation = np.maximum(np.sqrt(np.log1p(np.square(run_variation_fraction))), 1e-9)
    after = np.maximum(np.asarray(after_h), 1e-9)[..., None]
    done: Column = ndtr(np.log(after / finish_h) / np.asarray(deviation)[..., None]) @ _WEIGHTS / 2.0
    return done


def mean_node_kw(
    *,
    useful_h: Column,
    checkpoint_h: Column,
    lost_h: Column,
    restart_h: Column,
    training_kw: Column,
    checkpoint_kw: Column,
    restart_kw: Column,
) -> Column:
    """Power of a node averaged over a run: lost work burns at training power, stalls and restarts do not.

    P = ((useful + lost) P_training + checkpoint P_checkpoint + restart P_restart) / (sum of hours)

    Source: energy by state; Groeneveld et al., "OLMo", arXiv 2402.00838, on power during checkpoints.
    """
    energy = (useful_h + lost_h) * training_kw + checkpoint_h * checkpoint_kw + restart_h * restart_kw
    return energy / (useful_h + checkpoint_h + lost_h + restart_h)


def run_increment_kw(
    *, nodes: Column, training_kw: Column, idle_kw: Column, pue: Column, held: Column
) -> Column:
    """Facility power that a run adds at its peak to the idle power of its nodes.

    dP = N * (P_training - P_idle) * PUE, while it holds its nodes

    Source: definition.
    """
    return nodes * np.maximum(0.0, np.asarray(training_kw) - idle_kw) * pue * held


def active_h(
    *, start_h: Column, duration_h: Column, period_start_h: Column, period_end_h: Column
) -> NDArray[np.float64]:
    """Hours of each period in which a run is active.

    h = max(0, min(start + duration, end_t) - max(start, start_t))

    Source: overlap of two intervals.
    """
    end_h = np.asarray(start_h) + duration_h
    overlap: NDArray[np.float64] = np.minimum(end_h, period_end_h) - np.maximum(start_h, period_start_h)
    return np.maximum(0.0, overlap)


def late_h(*, start_h: Column, finish_h: Column, deadline_h: Column) -> NDArray[np.float64]:
    """Hours by which a run misses its deadline.

    late = max(0, start + finish - deadline)

    Source: definition.
    """
    return np.maximum(0.0, np.asarray(start_h) + finish_h - deadline_h)
