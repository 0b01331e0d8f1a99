"""Equations of a table of hardware beyond the leaves: whole systems, energy, error and range, replicas."""

from __future__ import annotations

import numpy as np

from planner.trace.columns import Column


def yield_per_kwh(*, rate_per_s: Column, nodes: Column, node_kw: Column) -> Column:
    """What a system delivers for a kWh at the plugs of its nodes: tokens, samples, images or requests.

    y = 3600 X / (n P_node)

    Network, storage and building are left out.

    Source: definition.
    """
    return 3600.0 * np.asarray(rate_per_s) / (nodes * np.asarray(node_kw))


def each_j(*, per_kwh: Column) -> Column:
    """Energy at the plugs for one token, sample, image or request.

    e = 3.6 10^6 / y

    Source: 1 kWh is 3.6 MJ.
    """
    result: Column = 3.6e6 / np.asarray(per_kwh)
    return result


def million_usd(*, nodes: Column, had_usd: Column, energy_usd: Column, rate_per_s: Column) -> Column:
    """Money of a million of what is delivered, on nodes that deliver at this rate in every hour.

    M = n (m_had + m_energy) 10^6 / (3600 X)

    Both are of one node for one hour.

    Source: definition.
    """
    return nodes * (np.asarray(had_usd) + energy_usd) * 1e6 / (3600.0 * np.asarray(rate_per_s))


def million_kgco2e(
    *, nodes: Column, made_kgco2e: Column, energy_kgco2e: Column, rate_per_s: Column
) -> Column:
    """Carbon of a million of what is delivered, on nodes that deliver at this rate in every hour.

    C = n (c_made + c_energy) 10^6 / (3600 X)

    Both are of one node for one hour.

    Source: definition.
    """
    return nodes * (np.asarray(made_kgco2e) + energy_kgco2e) * 1e6 / (3600.0 * np.asarray(rate_per_s))


def joint_error_fraction(
    *, fit_error_fraction: Column, hardware_error_fraction: Column, model_error_fraction: Column
) -> Column:
    """Error of a rate from parts that do not know of each other.

    e = sqrt(e_fit^2 + e_hardware^2 + e_model^2)

    Source: propagation of independent errors.
    """
    result: Column = np.sqrt(
        np.square(fit_error_fraction) + np.square(hardware_error_fraction) + np.square(model_error_fraction)
    )
    return result


def needed_per_s(*, amount: Column, by_h: Column) -> Column:
    """Rate that gets an amount done in a time.

    X = D / t

    Hours without failures: what they cost is for `everfleet plan`.

    Source: definition.
    """
    return amount / (3600.0 * np.asarray(by_h))
