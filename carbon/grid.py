"""Grid intensity: conversions, projections, and what hours do to a yearly mean.

Hourly series lie along the last axis. Average and marginal, direct and life-cycle, production and
consumption factors are different quantities; these functions cannot tell them apart, the trace does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]

HOURS_A_DAY = 24
KG_A_POUND = 0.45359237


def pounds_kgco2e_per_kwh(*, lb_per_mwh: Column) -> Column:
    """Grid intensity from pounds per megawatt-hour, as the EPA prints it.

    CI = lb/MWh * 0.45359237 / 1000

    Source: definition of the international pound.
    """
    _domain.nonnegative(lb_per_mwh=lb_per_mwh)
    return lb_per_mwh * KG_A_POUND / 1000


def projected_kgco2e_per_kwh(
    *, grid_kgco2e_per_kwh: Column, decline_fraction_per_y: Column, years_ahead_y: Column
) -> Column:
    """Grid intensity some years after the year of its factor, at a stated yearly decline.

    CI(t) = CI_0 * (1 - d)^t

    A smooth decline, no retirements of single plants. A negative decline is a grid that gets dirtier.

    Source: compound decline; the rate is the scenario's.
    """
    _domain.nonnegative(grid_kgco2e_per_kwh=grid_kgco2e_per_kwh, years_ahead_y=years_ahead_y)
    kept = np.subtract(1.0, decline_fraction_per_y)
    _domain.positive(one_minus_decline_fraction_per_y=kept)
    return grid_kgco2e_per_kwh * np.power(kept, years_ahead_y)


def weighted_kgco2e_per_kwh(*, grid_kgco2e_per_kwh: NDArray[np.float64], load_kwh: Column) -> Column:
    """Grid intensity that a load meets, each hour weighted with its energy.

    CI = sum_h(CI_h * E_h) / sum_h(E_h)

    Hours lie along the last axis; a constant load gives the plain mean.

    Source: GSF, "Software Carbon Intensity", ISO/IEC 21031:2024 (energy matched to intensity in time).
    """
    _domain.nonnegative(grid_kgco2e_per_kwh=grid_kgco2e_per_kwh, load_kwh=load_kwh)
    grid, load = np.broadcast_arrays(np.atleast_1d(grid_kgco2e_per_kwh), load_kwh)
    energy = np.sum(load, axis=-1)
    _domain.positive(sum_of_load_kwh=energy)
    weighted: Column = np.sum(grid * load, axis=-1) / energy
    return weighted


def best_hours_kgco2e_per_kwh(*, grid_kgco2e_per_kwh: NDArray[np.float64], best_hours: int) -> Column:
    """Mean intensity when work runs in the cleanest hours of every day: the limit of shifting in a day.

    CI = mean_d( mean of the k lowest CI_h of day d )

    Days are the blocks of 24 hours from the first on. Slack, capacity and forecast errors are left out, so
    no real schedule reaches it.

    Source: Sukprasert et al., "On the Limitations of Carbon-Aware ... Workload Shifting", EuroSys 2024.
    """
    days = _days(grid_kgco2e_per_kwh)
    _check_hours("best_hours", best_hours)
    lowest = np.partition(days, best_hours - 1, axis=-1)[..., :best_hours]
    mean: Column = np.mean(lowest, axis=(-2, -1))
    return mean


def best_window_kgco2e_per_kwh(*, grid_kgco2e_per_kwh: NDArray[np.float64], window_hours: int) -> Column:
    """Mean intensity when work runs once a day without a break, in the cleanest window of the day.

    CI = mean_d( min_s( mean(CI_s, ..., CI_{s+k-1}) of day d ) )

    The window does not cross midnight. Slack, capacity and forecast errors are left out.

    Source: Sukprasert et al., "On the Limitations of Carbon-Aware ... Workload Shifting", EuroSys 2024.
    """
    days = _days(grid_kgco2e_per_kwh)
    _check_hours("window_hours", window_hours)
    windows = np.lib.stride_tricks.sliding_window_view(days, window_hours, axis=-1)
    lowest = np.min(np.mean(windows, axis=-1), axis=-1)
    mean: Column = np.mean(lowest, axis=-1)
    return mean


def cfe_fraction(
    *,
    load_kwh: NDArray[np.float64],
    contracted_kwh: NDArray[np.float64],
    grid_cfe_fraction: NDArray[np.float64],
) -> Column:
    """Share of a load that carbon-free energy met in the same hour (24/7 score).

    CFE = sum_h( min(L_h, C_h + g_h * max(L_h - C_h, 0)) ) / sum_h(L_h)

    Contracted energy beyond an hour's load does not count for another hour. Hours lie along the last axis.

    Source: Google, "24/7 Carbon-Free Energy: Methodologies and Metrics", 2021.
    """
    _domain.nonnegative(load_kwh=load_kwh, contracted_kwh=contracted_kwh)
    _domain.share(grid_cfe_fraction=grid_cfe_fraction)
    load, contracted, grid = np.broadcast_arrays(load_kwh, contracted_kwh, grid_cfe_fraction)
    total = np.sum(load, axis=-1)
    _domain.positive(sum_of_load_kwh=total)
    met = np.minimum(load, contracted + grid * np.maximum(load - contracted, 0.0))
    covered: Column = np.sum(met, axis=-1) / total
    return covered


def market_kgco2e_per_kwh(
    *, contracted_fraction: Column, contract_kgco2e_per_kwh: Column, residual_kgco2e_per_kwh: Column
) -> Column:
    """Grid intensity under market-based accounting.

    CI_m = q * CI_contract + (1 - q) * CI_residual

    What no contract covers takes the residual mix, not the grid average: that already counts other people's
    contracts. Never to be added to a location-based figure.

    Source: GHG Protocol, "Scope 2 Guidance", 2015.
    """
    _domain.share(contracted_fraction=contracted_fraction)
    _domain.nonnegative(
        contract_kgco2e_per_kwh=contract_kgco2e_per_kwh, residual_kgco2e_per_kwh=residual_kgco2e_per_kwh
    )
    return contracted_fraction * contract_kgco2e_per_kwh + (1 - contracted_fraction) * residual_kgco2e_per_kwh


def _days(grid_kgco2e_per_kwh: NDArray[np.float64]) -> NDArray[np.float64]:
    series = np.atleast_1d(np.asarray(grid_kgco2e_per_kwh, dtype=np.float64))
    _domain.nonnegative(grid_kgco2e_per_kwh=series)
    hours = series.shape[-1]
    if hours == 0 or hours % HOURS_A_DAY:
        raise ValueError(f"grid_kgco2e_per_kwh holds whole days of {HOURS_A_DAY} hours, got {hours} hours")
    return series.reshape(*series.shape[:-1], -1, HOURS_A_DAY)


def _check_hours(name: str, hours: int) -> None:
    if not 1 <= hours <= HOURS_A_DAY:
        raise ValueError(f"{name} is a number of hours of a day, 1 to {HOURS_A_DAY}, got {hours}")
