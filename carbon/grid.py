"""Grid intensity: conversions, projections, and what hours do to a yearly mean.

Hourly series lie along the last axis. Average and marginal, direct and life-cycle, production and
consumption factors are different quantities: numbers cannot tell them apart, `GridSignal` and the trace do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain
from carbon.columns import Column

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
