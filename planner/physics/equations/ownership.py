"""Equations of owning nodes beyond the leaves: failures by age, replaced parts, space, and sums of parts."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from planner.trace.columns import Column
from reliability.fleet import gamma_prior


def node_failure_rate_per_node_h(
    *,
    reference_rate_per_node_h: Column,
    accelerators: Column,
    reference_accelerators: Column,
    ageing_fraction_per_y: Column,
    age_y: Column,
) -> Column:
    """Failures of a node an hour, from the rate of a published fleet.

    r = r_ref * n / n_ref * (1 + a)^age

    A node with more accelerators fails in proportion; age raises the rate by a share a year.

    Source: rates add over parts in series; ageing as in the Titan lifetimes (Ostrouchov et al., SC'20).
    """
    return (
        reference_rate_per_node_h
        * accelerators
        / reference_accelerators
        * (1.0 + ageing_fraction_per_y) ** age_y
    )


def rate_log_sigma(*, low_per_node_h: Column, high_per_node_h: Column, confidence_fraction: Column) -> Column:
    """Standard deviation of the logarithm of a failure rate, from its range.

    sigma = ln(high / low) / (2 * z),  z the normal quantile of (1 + p) / 2

    Source: lognormal belief about a rate.
    """
    reach: Column = 2.0 * ndtri((1.0 + np.asarray(confidence_fraction)) / 2.0)
    return np.log(np.divide(high_per_node_h, low_per_node_h)) / reach


def rate_shape(*, log_sigma: Column) -> Column:
    """How sure a failure rate is, as the shape of a gamma belief: its standard error is 1/sqrt(a) of it.

    trigamma(a) = sigma^2

    Source: log-moment matching; reliability/README.md.
    """
    return gamma_prior(median_per_node_h=1.0, log_sigma=log_sigma).shape


def down_variance_to_mean_ratio(
    *, nodes: Column, fleet_variance_to_mean_ratio: Column, fleet_nodes: Column
) -> Column:
    """Variance over mean of the nodes down at once among some nodes, from that of a whole fleet.

    v(N) = 1 + max(v_fleet - 1, 0) * N / N_fleet

    A burst hits a part of the fleet with its share of the nodes; a count narrower than Poisson is taken as
    Poisson. Taken as it is, the ratio of a large
    fleet would ask a small group for several times the spares that it needs, and the smallest ones for none.

    Source: nodes that share one random rate (gamma-mixed Poisson counts: variance m + m^2/k); within 0.2 of
    parts of 16 to 300 servers of the InfiniteHBD trace (Shou et al., arXiv 2502.03885).
    """
    return 1.0 + np.maximum(np.subtract(fleet_variance_to_mean_ratio, 1.0), 0.0) * nodes / fleet_nodes


def replacement_kgco2e(
    *,
    failure_rate_per_node_h: Column,
    hours_h: Column,
    replacement_fraction: Column,
    server_kgco2e: Column,
    accelerators: Column,
) -> Column:
    """Carbon of the parts that failures use up, for one node.

    R = r * hours * f * E_server / n

    A failure is not a replacement: only the share f swaps a part, taken as one accelerator with its share
    of the host.

    Source: Kokolis et al., arXiv 2410.21680 (swaps against failures); Llama 3, arXiv 2407.21783, Table 5.
    """
    return failure_rate_per_node_h * hours_h * replacement_fraction * server_kgco2e / accelerators


def powered_racks_per_node(*, racks: Column, node_kw: Column, rack_kw: Column) -> Column:
    """Share of a rack that a node fills where racks have a power of their own.

    n = max(U / U_rack, 1 / floor(P_rack / P))

    No node draws from two racks, so that the nodes of a rack are counted.

    Source: power of a rack over the rating of a node.
    """
    fits = np.floor(np.divide(rack_kw, node_kw) * (1.0 + 1e-6))
    return np.maximum(racks, 1.0 / np.maximum(fits, 1.0))
