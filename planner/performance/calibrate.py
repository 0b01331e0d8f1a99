"""One measured point per accelerator, carried to all sizes; and what a probe of a device saw."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance.columns import Column


def calibrated_efficiency_fraction(
    *, step_s: Callable[[float], float], measured_step_s: float, least_fraction: float
) -> float:
    """Matrix efficiency at which the modelled step takes as long as the measured one.

    e* : T(e*) = T_measured,  e_min <= e* <= 1

    `step_s` is the step of the measured size as a function of the efficiency alone. Only what runs at the
    speed of the matrix units is scaled: matrices and the head, and through them the bubble. Links, memory,
    attention and host keep their times, so that sizes bound by them gain less than sizes bound by matrices.

    Raises:
        ValueError: no efficiency from `least_fraction` to 1 explains the measurement.

    Source: definition, on the terms of `training_step_s`.
    """
    from scipy.optimize import brentq  # slow to import, and most questions calibrate nothing

    require_positive(measured_step_s=measured_step_s)
    require_open_share(least_fraction=least_fraction)
    shortest_s, longest_s = step_s(1.0), step_s(least_fraction)
    if not shortest_s <= measured_step_s <= longest_s:
        raise ValueError(
            f"measured_step_s must lie between {shortest_s:.4g} s (matrices at their peak) and "
            f"{longest_s:.4g} s (at {least_fraction:g} of it), got {measured_step_s:.4g}"
        )
    if shortest_s == longest_s:
        raise ValueError("step_s does not depend on the efficiency: nothing can be calibrated")

    def excess_s(efficiency: float) -> float:
        return step_s(efficiency) - measured_step_s

    return float(brentq(excess_s, least_fraction, 1.0, xtol=1e-12, rtol=1e-12))


def kernels_s(
    *, matrix_s: Column, attention_s: Column, elementwise_s: Column, head_s: Column, optimizer_s: Column
) -> Column:
    """Time in which an accelerator runs kernels that do not communicate.

    C = matrix + attention + elementwise + head + optimizer

    Source: definition, on the terms of `training_step_s`.
    """
    return matrix_s + attention_s + elementwise_s + head_s + optimizer_s


def exchanges_s(
    *,
    tensor_parallel_s: Column,
    expert_parallel_s: Column,
    context_parallel_s: Column,
    weight_gather_s: Column,
    pipeline_transfer_s: Column,
    data_parallel_s: Column,
) -> Column:
    """Time in which an accelerator exchanges data and runs nothing else.

    X = tensor + expert + context + gather + transfer + data, each after what overlap hides

    Source: definition, on the terms of `training_step_s`.
    """
    waited = tensor_parallel_s + expert_parallel_s + context_parallel_s
    return waited + weight_gather_s + pipeline_transfer_s + data_parallel_s


def measured_exchange_factor(
    *, exposed_s: float, exchanges_s: float, bubble_s: float, bubble_without_exchanges_s: float
) -> float:
    """Exposed communication of a trace over the modelled one, what receives wait for in the bubble taken off.

    E = r X + B_0 + r (B - B_0),  r = max(0, E - B_0) / (X + B - B_0);  1 where nothing is exchanged

    A receive starts before its data are there: its kernel runs through the bubble of the pipeline. B is the
    bubble at r = 1, B_0 that of steps without exchanges; both are 0 where a trace has no receives.

    Source: definition, on the terms of `training_step_s`.
    """
    require_not_negative(
        exposed_s=exposed_s,
        exchanges_s=exchanges_s,
        bubble_s=bubble_s,
        bubble_without_exchanges_s=bubble_without_exchanges_s,
    )
    modelled_s = exchanges_s + bubble_s - bubble_without_exchanges_s
    return max(0.0, exposed_s - bubble_without_exchanges_s) / modelled_s if modelled_s > 0 else 1.0


def measured_fixed_s(*, step_s: float, total_s: float, scale_drag_s: float, modelled_fixed_s: float) -> float:
    """Time of a step in which the device waits for its host: what a measured step has beyond all else.

    t_fix = max(0, T_measured / (1 + k) - (T - k T_0 - t_fix')),  1 + k = T / (T - k T_0)

    T is the modelled step, k T_0 what stragglers add, t_fix' the fixed time in it.

    Source: `training_step_s`, solved for its fixed time.
    """
    require_positive(step_s=step_s, total_s=total_s)
    steady_s = total_s - scale_drag_s
    return max(0.0, step_s * steady_s / total_s - (steady_s - modelled_fixed_s))


def joint_factor(*, factors: Sequence[float]) -> float:
    """One factor for several measurements of the same accelerator: their geometric mean.

    f = (prod f_i)^(1/n)

    Source: definition; too fast by a share and too slow by the same share weigh alike.
    """
    column = np.asarray(factors, dtype=np.float64)
    if not column.size:
        raise ValueError("factors must hold at least one factor, got none")
    require_positive(factors=column)
    return float(np.exp(np.mean(np.log(column))))


def factors_without_each(*, factors: Sequence[float]) -> tuple[float, ...]:
    """For each measurement, the factor that all others would have set (leave one out).

    f_-i = (prod_{j != i} f_j)^(1/(n-1))

    Source: Stone, "Cross-validatory choice and assessment of statistical predictions", JRSS B 1974.
    """
    if len(factors) < 2:
        raise ValueError(f"factors must hold at least two to leave one out, got {len(factors)}")
    return tuple(joint_factor(factors=[*factors[:i], *factors[i + 1 :]]) for i in range(len(factors)))


def median_error(*, error_fraction: NDArray[np.float64]) -> float:
    """Half of the points come closer.

    e = median |e_i|

    Source: definition.
    """
    return float(np.median(np.abs(error_fraction)))


def worst_error(*, error_fraction: NDArray[np.float64]) -> float:
    """No point is further off.

    e = max |e_i|

    Source: definition.
    """
    return float(np.max(np.abs(error_fraction)))


def accelerator_share_kw(
    *,
    node_kw: Column,
    host_idle_kw: Column,
    host_kw: Column,
    accelerators: Column,
    idle_kw: Column,
    tdp_kw: Column,
) -> Column:
    """Power of one accelerator in a node whose plug was metered.

    P = (P_node - P_host(P)) / n,  between (P_node - P_busy)/n and (P_node - P_idle)/n

    The host is taken as known: what it draws beyond that is charged to the accelerators.

    Source: `node_power_kw` with `host_at_load_kw`, solved for the accelerator.
    """
    require_positive(
        node_kw=node_kw, accelerators=accelerators, tdp_over_idle_kw=tdp_kw - np.asarray(idle_kw)
    )
    require_not_negative(host_idle_kw=host_idle_kw, host_above_idle_kw=host_kw - np.asarray(host_idle_kw))
    if np.any(np.asarray(node_kw) <= host_idle_kw):
        raise ValueError(f"node_kw must be above what the host draws, {host_idle_kw} kW, got {node_kw}")
    slope = (host_kw - np.asarray(host_idle_kw)) / (tdp_kw - np.asarray(idle_kw))
    within = (node_kw - np.asarray(host_idle_kw) + slope * idle_kw) / (accelerators + slope)
    most, least = (node_kw - np.asarray(host_idle_kw)) / accelerators, (node_kw - host_kw) / accelerators
    share: Column = np.minimum(np.maximum(within, least), most)
    return share


def power_ratio(*, measured_kw: Column, modelled_kw: Column) -> Column:
    """Factor on the rating that the power law scales; every state of the accelerator follows.

    f = P_measured / P_model,  P = f TDP min(1, c0 + ...)

    Source: definition; the law is proportional to the rating.
    """
    require_positive(measured_kw=measured_kw, modelled_kw=modelled_kw)
    return measured_kw / modelled_kw


def square_product_tflop_per_s(*, width: Column, repeats: Column, elapsed_s: Column) -> Column:
    """Rate at which a device multiplied square matrices.

    X = 2 n^3 k / t

    Source: definition; a multiplication and an addition count as two operations.
    """
    require_positive(width=width, repeats=repeats, elapsed_s=elapsed_s)
    return 2.0 * np.power(width, 3.0) * repeats / elapsed_s / 1e12


def copied_gb_per_s(*, copied_gb: Column, repeats: Column, elapsed_s: Column) -> Column:
    """Memory traffic of a copy on the device: each byte is read and written.

    B = 2 S k / t

    Source: McCalpin, "Memory bandwidth and machine balance in current high performance computers", 1995.
    """
    require_positive(copied_gb=copied_gb, repeats=repeats, elapsed_s=elapsed_s)
    return 2.0 * copied_gb * repeats / elapsed_s
