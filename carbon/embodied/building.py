"""Carbon of the building and of the batteries in it, by the power and the years that they serve."""

from __future__ import annotations

import numpy as np

from carbon import _domain
from carbon.columns import Column


def building_share_kgco2e(
    *, provisioned_kw: Column, building_kgco2e_per_kw: Column, used_h: Column, building_lifetime_h: Column
) -> Column:
    """Share of a building's embodied carbon for power that it provides over some hours.

    E = P * c_b * t / L_b

    By provisioned power, because that is what building, cooling and power plant are sized for. Refits of
    cooling and power plant within the building's life belong in c_b.

    Source: form of Schneider et al., "Life-Cycle Emissions of AI Hardware", arXiv 2502.01671 (2025).
    """
    _domain.nonnegative(
        provisioned_kw=provisioned_kw, building_kgco2e_per_kw=building_kgco2e_per_kw, used_h=used_h
    )
    _domain.positive(building_lifetime_h=building_lifetime_h)
    return provisioned_kw * building_kgco2e_per_kw * used_h / building_lifetime_h


def battery_kgco2e_per_y(
    *,
    capacity_kwh: Column,
    battery_kgco2e_per_kwh: Column,
    life_cycles: Column,
    cycles_per_y: Column,
    shelf_life_y: Column,
) -> Column:
    """Embodied carbon of a battery for each year that it serves.

    E_year = C * e / min(N_life / N_year, L_shelf)

    Cycles count at the depth of discharge for which the cycle life is given. Fading is left out.

    Source: Acun et al., "Carbon Explorer", ASPLOS 2023 (cycle life); shelf life as an upper limit.
    """
    _domain.nonnegative(
        capacity_kwh=capacity_kwh, battery_kgco2e_per_kwh=battery_kgco2e_per_kwh, cycles_per_y=cycles_per_y
    )
    _domain.positive(life_cycles=life_cycles, shelf_life_y=shelf_life_y)
    # The reciprocal of the life in years: an idle battery (no cycles) still ages on the shelf.
    lives_per_y = np.maximum(np.divide(cycles_per_y, life_cycles), np.divide(1.0, shelf_life_y))
    return capacity_kwh * battery_kgco2e_per_kwh * lives_per_y
