"""Equations of a job beyond the leaves: hours of nodes, energy, sums over phases."""

from __future__ import annotations

import numpy as np

from planner.trace.columns import Column
from planner.trace.errors import InputError

# All of a job together holds hardware of every kind.
WHOLE = "embodied=job"


def run_cycles(
    *, node_h: Column, useful_h: Column, lost_h: Column, checkpoint_h: Column, restart_h: Column
) -> Column:
    """How often a run passes through its states, all nodes together.

    n = N_h / (t_useful + t_lost + t_ckpt + t_restart)

    Source: definition; hours by state from the renewal model of failures.
    """
    return np.divide(node_h, useful_h + lost_h + checkpoint_h + restart_h)


def answering_h(*, requests: Column, requests_per_s: Column, mean_to_peak_fraction: Column) -> Column:
    """Replica-hours that requests take.

    t = n / (x * m) / 3600

    A replica is sized for the peak hour x and carries m of it on average; the idle rest is charged to the
    requests. Standby replicas are left out.

    Source: definition.

    Raises:
        InputError: no load is carried in time, by facts within their ranges.
    """
    if not np.all(np.asarray(requests_per_s) > 0):
        raise InputError(
            "inference: within the ranges of the facts there are some by which no load meets the latency "
            "targets, so that nothing can be said of its hours: allow longer ones, or choose another SKU"
        )
    return np.divide(requests, np.multiply(requests_per_s, mean_to_peak_fraction)) / 3600.0


def writing_h(*, requests: Column, tokens_out: Column, tokens_per_s: Column) -> Column:
    """Node-hours that answers take at a measured rate of one node.

    N_h = n * osl / x / 3600

    Source: definition.
    """
    return np.divide(np.multiply(requests, tokens_out), tokens_per_s) / 3600.0


def asked_requests(*, daily_requests: Column, duration_h: Column) -> Column:
    """Requests over some time.

    n = r * t / 24

    Source: definition.
    """
    return np.multiply(daily_requests, duration_h) / 24.0


def day_kgco2e(*, footprint_kgco2e: Column, duration_h: Column) -> Column:
    """Carbon of a day of a service.

    c = C / t * 24

    Source: definition.
    """
    return np.divide(footprint_kgco2e, duration_h) * 24.0


def mean_compute_h(*, compute_h: Column, tier_ratio: Column, tier_weight: Column) -> Column:
    """Time that a session computes, in the mean over tiers of devices, along the last axis.

    t_c = t * sum(w_i * k_i) / sum(w_i)

    Source: mean by shares.
    """
    shares: Column = np.sum(np.multiply(tier_weight, tier_ratio), axis=-1) / np.sum(tier_weight, axis=-1)
    return compute_h * shares


def federated_facility_kwh(
    *,
    sessions: Column,
    compute_kwh: Column,
    upload_kwh: Column,
    download_kwh: Column,
    network_kwh: Column,
    server_kw: Column,
    server_h: Column,
) -> Column:
    """Energy of devices, network and servers; the servers' at the meter of their facility.

    E = n * (E_c + E_up + E_down + E_net) + P_server * t

    Source: sum of parts.
    """
    return sessions * (compute_kwh + upload_kwh + download_kwh + network_kwh) + server_kw * server_h


def federated_kgco2e(
    *,
    compute_kgco2e: Column,
    upload_kgco2e: Column,
    download_kgco2e: Column,
    network_kgco2e: Column,
    server_kgco2e: Column,
) -> Column:
    """Carbon of a federated job.

    C = C_compute + C_up + C_down + C_net + C_server

    Source: Yousefpour et al., "Green Federated Learning", arXiv 2303.14604.
    """
    return compute_kgco2e + upload_kgco2e + download_kgco2e + network_kgco2e + server_kgco2e


def change_kgco2e(*, then_kgco2e: Column, now_kgco2e: Column) -> Column:
    """What a change adds to a job's carbon, or takes from it.

    dC = C' - C

    Source: definition.
    """
    return np.subtract(then_kgco2e, now_kgco2e)


def change_fraction(*, then_kgco2e: Column, now_kgco2e: float) -> Column:
    """The same as a share of the job's carbon; nothing where the job emits nothing.

    d = (C' - C) / C

    Source: definition.
    """
    change = np.subtract(then_kgco2e, now_kgco2e)
    return change / now_kgco2e if now_kgco2e else 0.0 * change


def share_fraction(*, part_kgco2e: float, whole_kgco2e: float) -> float:
    """How much of the whole a part is; nothing where there is no whole.

    s = C_part / C

    Source: definition.
    """
    return part_kgco2e / whole_kgco2e if whole_kgco2e else 0.0
