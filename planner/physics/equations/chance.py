"""Equations of how sure a plan is: rates, demand and deliveries that turn out otherwise."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from planner.physics.equations.training import chance_of_pace, joint_variation_fraction
from planner.trace.columns import Column

DELAYS = 40  # quantiles of the delay of an order
MOST_ORDERS = 10  # SKUs whose orders are late or not one by one: 1,024 cases


def rate_sigma(*, mean_error_fraction: Column) -> Column:
    """Standard deviation of the logarithm of a rate, from the mean absolute error of rates of its kind.

    s = m sqrt(pi / 2)

    Source: mean absolute deviation of the normal distribution.
    """
    return np.multiply(mean_error_fraction, np.sqrt(np.pi / 2.0))


def demand_sigma(
    *, quarter_error_fraction: Column, ahead_h: Column, quarter_h: Column, growth_exponent: Column
) -> Column:
    """Standard deviation of the logarithm of demand that lies some time ahead.

    s = s_1 (t / quarter)^b

    b is 0.5 for a random walk, 1 for a growth rate that is not known.

    Source: power law of forecast errors by lead.
    """
    ahead: Column = np.divide(ahead_h, quarter_h)
    return quarter_error_fraction * np.power(ahead, growth_exponent)


def headroom_ratio(*, confidence_fraction: Column, rate_sigma: Column, demand_sigma: Column) -> Column:
    """Capacity over demand that meets it with a given chance.

    h = exp(z_c sqrt(s_r^2 + s_d^2)),  at least 1

    Source: quantile of the ratio of two independent lognormal quantities.
    """
    both = np.hypot(rate_sigma, demand_sigma)
    return np.maximum(np.exp(ndtri(confidence_fraction) * both), 1.0)


def on_time_fraction(*, slack_h: Column, late_p95_h: Column) -> Column:
    """Chance that an order is there some time after its stated lead.

    q = Phi(z_0.95 * slack / L)

    L is the delay that one order in 20 exceeds; half of them are no later than stated.

    Source: normal delay, cut at zero.
    """
    return ndtr(ndtri(0.95) * np.divide(slack_h, late_p95_h))


def missing_fraction(
    *, slack_h: Column, late_p95_h: Column, hours_h: Column, tail_fraction: Column
) -> Column:
    """Share of a period for which the nodes of an order that is late are missing, at shares of such delays.

    e_k = min(1, (s z(1 - Q(a) (1 - k)) - slack) / H),  a = slack / s,  s = L / z_0.95

    Q(a) is the chance of being late at all, k the share of late orders that come sooner than that.

    Source: quantiles of the normal delay beyond the slack.
    """
    spread_h = np.divide(late_p95_h, ndtri(0.95))
    late = ndtr(-np.divide(slack_h, spread_h))
    delay_h = -spread_h * ndtri(np.maximum(late * (1.0 - np.asarray(tail_fraction)), 1e-300))
    return np.clip((delay_h - slack_h) / hours_h, 0.0, 1.0)


def met_fraction(
    *,
    capacity_ratio: NDArray[Any],
    sku: NDArray[Any],
    rate_sigma: NDArray[Any],
    demand_sigma: float,
    used_nodes: NDArray[Any],
    free_nodes: NDArray[Any],
    order_group: NDArray[Any],
    order_nodes: NDArray[Any],
    on_time_fraction: NDArray[Any],
    late_fraction: NDArray[Any] | float = 1.0,
) -> float:
    """Chance that what a plan provides carries what is asked for.

    P = sum over which orders are late of q * Phi(ln R / s),  R = sum_g r_g,  s^2 = s_d^2 + sum_k (w_k s_k)^2

    r_g is the capacity on a node group over the demand, w_k the share of a SKU in it: rates of one SKU are
    off together, and its orders of one period are late together. Nodes that are late are missed where no free
    ones stand in: for the whole period, or of work that waits for equally likely shares of it.

    Source: sum of lognormal quantities by its moments (Fenton 1960); total probability.
    """
    order_group = np.asarray(order_group, dtype=int)
    of, first, order_kind = np.unique(np.asarray(sku)[order_group], return_index=True, return_inverse=True)
    nodes_of = np.bincount(order_kind, weights=np.asarray(order_nodes, dtype=float), minlength=len(of))
    several = np.argsort(-nodes_of)[:MOST_ORDERS]
    in_time = np.asarray(on_time_fraction)[first[several]]
    kinds = np.unique(sku)
    found = 0.0
    shares = np.broadcast_to(
        late_fraction, (len(order_group), np.shape(late_fraction)[-1] if np.ndim(late_fraction) else 1)
    )
    for case in product(range(shares.shape[1] + 1), repeat=len(several)):
        late = np.array(case, dtype=int)
        away = late > 0
        chance = float(np.prod(np.where(away, (1.0 - in_time) / shares.shape[1], in_time)))
        if chance < 1e-9:
            continue
        missing = np.zeros(len(capacity_ratio))
        how_late = np.zeros(len(of), dtype=int)
        how_late[several] = late
        orders = np.flatnonzero(how_late[order_kind])
        away_nodes = np.asarray(order_nodes)[orders] * shares[orders, how_late[order_kind[orders]] - 1]
        np.add.at(missing, order_group[orders], away_nodes)
        short = np.maximum(missing - free_nodes, 0.0)
        left = capacity_ratio * np.clip(1.0 - short / np.maximum(used_nodes, 1e-12), 0.0, 1.0)
        whole = float(left.sum())
        if whole <= 0.0:
            continue
        weights = np.array([left[sku == kind].sum() / whole for kind in kinds])
        sigmas = np.array([rate_sigma[sku == kind].max() for kind in kinds])
        deviation = float(np.sqrt(demand_sigma**2 + np.sum(np.square(weights * sigmas))))
        if deviation:
            found += chance * float(ndtr(np.log(whole) / deviation))
        else:
            found += chance * (whole >= 1.0 - 1e-9)
    return found


def in_time_fraction(
    *,
    due_h: Column,
    useful_h: Column,
    interval_h: Column,
    mttf_h: Column,
    write_h: Column,
    restart_h: Column,
    persist_h: Column,
    run_variation_fraction: Column,
    rate_sigma: Column,
    slack_h: Column,
    late_p95_h: Column,
    rate_shape: Column = np.inf,
    rolled_back_h: Column = 0.0,
) -> Column:
    """Chance that a run is done by its deadline: failures, its pace, the rate of its chips, late deliveries.

    P = E_d,u[Phi(ln((t - d) / F_u) / s)],  s^2 = log(1 + v^2) + s_r^2

    d is by how much its nodes come later than its start, as in `on_time_fraction`.

    Source: as `run_finish_quantile_h`, with the error of the rate next to the variation between runs.
    """
    spread = joint_variation_fraction(variation_fraction=run_variation_fraction, log_sigma=rate_sigma)
    quantiles = ndtri((np.arange(DELAYS) + 0.5) / DELAYS) / ndtri(0.95)
    late_h = np.maximum(
        np.multiply.outer(np.asarray(late_p95_h), quantiles) - np.asarray(slack_h)[..., None], 0.0
    )
    # An axis for the delays: the finish of a run, which takes the time here, is worked out once for all.
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
    each = chance_of_pace(
        after_h=np.asarray(due_h)[..., None] - late_h,
        run_variation_fraction=np.asarray(spread)[..., None],
        **{name: np.asarray(column)[..., None] for name, column in failing.items()},
    )
    found: Column = np.mean(each, axis=-1)
    return found
