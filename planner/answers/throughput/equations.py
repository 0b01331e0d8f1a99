"""Equations of a table of hardware beyond the leaves: whole systems, energy, error and range, replicas."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = float | NDArray[Any]


def system_per_s(*, rate_per_s_per_gpu: Column, accelerators: Column) -> Column:
    """Rate of a whole system.

    X = x n

    Source: definition.
    """
    return rate_per_s_per_gpu * accelerators


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


def least_per_s(*, rate_per_s: Column, error_fraction: Column) -> Column:
    """Low end of a rate.

    X_low = X / (1 + e)

    Source: definition; an error is the share by which a model is off, up as well as down.
    """
    return rate_per_s / (1.0 + np.asarray(error_fraction))


def most_per_s(*, rate_per_s: Column, error_fraction: Column) -> Column:
    """High end of a rate.

    X_high = X (1 + e)

    Source: definition.
    """
    return rate_per_s * (1.0 + np.asarray(error_fraction))


def needed_per_s(*, amount: Column, by_h: Column) -> Column:
    """Rate that gets an amount done in a time.

    X = D / t

    Hours without failures: what they cost is for `everfleet plan`.

    Source: definition.
    """
    return amount / (3600.0 * np.asarray(by_h))


def mean_width(*, weights: Column, layers: Column) -> Column:
    """Width of square layers that hold as many weights.

    w = sqrt(N / L)

    Source: definition.
    """
    result: Column = np.sqrt(np.asarray(weights) / layers)
    return result


def written_tokens_per_s(*, requests_per_s: Column, tokens: Column) -> Column:
    """Tokens that are written for requests.

    X = lambda E[o]

    Source: definition.
    """
    return requests_per_s * tokens


def pool_accelerators(*, replicas: Column, spares: Column, tp: Column) -> Column:
    """Accelerators of replicas at work and standing by.

    a = (n + k) t

    Source: definition.
    """
    return (np.asarray(replicas) + spares) * tp


def pool_kw(*, replicas: Column, replica_kw: Column) -> Column:
    """Power of the replicas of a pool at their largest load; those on standby are left out.

    P = n P_replica

    Source: definition.
    """
    return replicas * replica_kw


def rank_samples(*, global_batch: Column, accelerators: Column) -> Column:
    """Samples of a step on one accelerator.

    b = B / n

    Source: definition.
    """
    return np.divide(global_batch, accelerators)


def kept_values(*, tables: Column, embedding_dim: Column, elementwise_values: Column) -> Column:
    """Values of a sample that are kept for the backward pass of a recommendation model.

    V = T D + V_interaction

    Activations of the dense layers are left out: a few thousand next to these.

    Source: Naumov et al., "DLRM", arXiv 1906.00091.
    """
    return tables * embedding_dim + np.asarray(elementwise_values)


def row_state_bytes(*, backward_traffic_ratio: Column, embedding_dim: Column, table_bytes: Column) -> Column:
    """Optimizer state of one row of a table.

    s = D B if u > 2 else 4

    An update that moves four times what a lookup reads has a state for every value, one that moves twice
    has one number a row.

    Source: the two cases of `recommendation_training_step`.
    """
    result: Column = np.where(np.asarray(backward_traffic_ratio) > 2.0, embedding_dim * table_bytes, 4.0)
    return result


def joint_efficiency_fraction(
    *, matrix_efficiency_fraction: Column, shape_efficiency_fraction: Column
) -> Column:
    """Share of the peak that matrices of one shape reach on a chip.

    e = e_hw g

    Source: the form of `training_step_s`.
    """
    return matrix_efficiency_fraction * np.asarray(shape_efficiency_fraction)


def multiplied_use_fraction(
    *,
    bottom_multiplications: Column,
    top_multiplications: Column,
    samples_per_s: Column,
    accelerators: Column,
    peak_tflop_per_s: Column,
) -> Column:
    """Share of the dense peak that the layers of a recommendation model use in training.

    u = 6 M X / (n P)

    A multiplication is two operations, and backward does twice the work of forward.

    Source: definition in the fit of `accelerator_power_kw`.
    """
    operations = 6.0 * (np.asarray(bottom_multiplications) + top_multiplications) * samples_per_s
    result: Column = np.minimum(1.0, operations / (accelerators * np.asarray(peak_tflop_per_s) * 1e12))
    return result


def looked_up_gb(*, samples: Column, lookups: Column, embedding_dim: Column, table_bytes: Column) -> Column:
    """Bytes of the rows that a batch of samples reads.

    G = b k D B

    Source: definition.
    """
    return samples * lookups * np.asarray(embedding_dim) * table_bytes / 1e9


def scored_parameters(*, bottom: Column, top: Column) -> Column:
    """Multiplications of one sample through all layers.

    M = M_bottom + M_top

    Source: definition.
    """
    return bottom + np.asarray(top)
