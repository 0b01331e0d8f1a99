"""What measured serving points say about other batches, sizes and models of the same hardware and engine."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column


def measured_rate_per_s(*, batch: Column, inter_token_s: Column) -> Column:
    """Tokens that a replica writes, from the mean time between two tokens of its requests.

    X = b / ITL

    `batch` is the mean number of requests that run, as a server reports it; a client that counts chunks of
    several tokens sees other gaps.

    Source: Little's law (every running request gets one token a step).
    """
    require_positive(batch=batch, inter_token_s=inter_token_s)
    return batch / inter_token_s


def uniform_mean(*, longest: float, shortest_fraction: float) -> float:
    """Mean length of requests that are drawn evenly between a share of the longest and the longest.

    m = L (1 + r)/2

    Source: mean of a uniform distribution.
    """
    require_positive(longest=longest)
    return longest * (1.0 + shortest_fraction) / 2.0


def uniform_scv_ratio(*, shortest_fraction: float) -> float:
    """Squared coefficient of variation of such lengths.

    c^2 = (1 - r)^2/(3 (1 + r)^2)

    Source: variance of a uniform distribution, L^2 (1 - r)^2/12, over the square of its mean.
    """
    return (1.0 - shortest_fraction) ** 2 / (3.0 * (1.0 + shortest_fraction) ** 2)


def serving_factor(*, measured_tokens_per_s: Column, modelled_tokens_per_s: Column) -> Column:
    """How much faster than modelled an engine serves on some hardware.

    f = X_measured / X_model,  T' = T / f

    One factor on the whole step: measured points tell the host from the memory only at several batches.

    Source: definition.
    """
    require_positive(measured_tokens_per_s=measured_tokens_per_s, modelled_tokens_per_s=modelled_tokens_per_s)
    return measured_tokens_per_s / modelled_tokens_per_s


def serving_factor_at(
    *, batch: Column, measured_batches: NDArray[np.float64], factors: NDArray[np.float64]
) -> Column:
    """Factor at a batch, from one measured point or several.

    ln f(b) = ln f_i + (ln f_j - ln f_i) (ln b - ln b_i)/(ln b_j - ln b_i) between two points, flat beyond

    The points lie on the last axis of the two columns, of which rows belong to other engines; a row with
    fewer points repeats its last one.

    Source: interpolation in logarithms; flat beyond the ends, where nothing was measured.

    Raises:
        ValueError: no point, unequal columns, or batches that do not rise.
    """
    require_positive(batch=batch, measured_batches=measured_batches, factors=factors)
    if not measured_batches.size or measured_batches.shape != factors.shape or measured_batches.ndim < 1:
        raise ValueError(
            f"measured_batches and factors are one column each of the same length, got shapes "
            f"{measured_batches.shape} and {factors.shape}"
        )
    at, height = np.log(measured_batches), np.log(factors)
    apart, rise = np.diff(at), np.diff(height)
    if np.any((apart < 0) | ((apart == 0) & (rise != 0))):
        raise ValueError(f"measured_batches must rise, got {measured_batches.tolist()}")
    # How far the batch is on its way through each stretch between two points: 0 before it, 1 behind it.
    way = (np.log(batch)[..., None] - at[..., :-1]) / np.where(apart > 0, apart, 1.0)
    result = np.exp(height[..., 0] + np.sum(np.clip(way, 0.0, 1.0) * rise, axis=-1))
    return result if np.ndim(result) else float(result)


def calibrated_step_s(*, step_s: Column, factor: Column, least_s: Column = 0.0) -> Column:
    """Time of a step of an engine that was measured.

    T' = max(T / f, T_least)

    A factor found where memory or host decide may be larger than what is left where arithmetic decides:
    `least_s` is the arithmetic of the step at the dense peak.

    Source: definition of `serving_factor`.
    """
    require_positive(step_s=step_s, factor=factor)
    require_not_negative(least_s=least_s)
    result: Column = np.maximum(step_s / factor, least_s)
    return result


def step_arithmetic_s(
    *, active_parameters: Column, tokens: Column, tp: Column, peak_tflop_per_s: Column
) -> Column:
    """Time of the arithmetic of a step at the dense peak: no step is shorter.

    T_least = 2 N_act n / (t P)

    Source: two operations for each weight and token.
    """
    require_positive(
        active_parameters=active_parameters, tokens=tokens, tp=tp, peak_tflop_per_s=peak_tflop_per_s
    )
    return 2.0 * active_parameters * tokens / (tp * peak_tflop_per_s * 1e12)


def fitted_log_factors(
    *,
    log_errors: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    spreads: NDArray[np.float64],
    largest_logs: NDArray[np.float64],
    noise_fraction: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Factors on constants that explain measured rates, held by what was known before; and how sure they are.

    min over z: sum_i (e_i(s z)/n)^2 + sum_j z_j^2;  f_j = exp(s_j z_j),  sd(ln f) = s sqrt(diag((J^T J)^-1))

    Args:
        log_errors: e, ln of modelled over measured rates, from the ln of the factors.
        spreads: s, standard deviation of the ln of each constant before anything was measured.
        largest_logs: how far the ln of each factor may go either way: the range of the constant.
        noise_fraction: n, how far rates measured alike lie apart.

    Source: regularised least squares as the mode of a posterior (Gelman et al., "Bayesian data analysis",
    3rd edition, 2013, chapter 4): few points move the constants little.
    """
    from scipy.optimize import least_squares  # slow to import, and most questions calibrate nothing

    require_positive(spreads=spreads, largest_logs=largest_logs, noise_fraction=noise_fraction)

    def residuals(z: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.concatenate([log_errors(spreads * z) / noise_fraction, z])
        return found

    most = largest_logs / spreads
    # Rates themselves are known to percents: more digits of the factors say nothing.
    found = least_squares(
        residuals, np.zeros(len(spreads)), bounds=(-most, most), ftol=1e-5, xtol=1e-5, gtol=1e-5, max_nfev=200
    )
    slopes: NDArray[np.float64] = np.asarray(found.jac)  # a matrix here: sparse ones only where asked for
    sure = np.linalg.inv(slopes.T @ slopes)
    return spreads * found.x, spreads * np.sqrt(np.diag(sure))
