"""From one phase of a model's life to another, where only their shares are known."""

from __future__ import annotations

import numpy as np

from carbon import _domain
from carbon.columns import Column


def phase_kgco2e(*, known_kgco2e: Column, known_fraction: Column, wanted_fraction: Column) -> Column:
    """Carbon of a phase, from that of another and the shares of both.

    C_w = C_k * s_w / s_k

    Shares of carbon, not of energy: phases in different places differ in grid.

    Source: Wu et al., "Sustainable AI", MLSys 2022, section 3 (data, experimentation, training, inference).
    """
    _domain.nonnegative(known_kgco2e=known_kgco2e)
    return known_kgco2e * _share_ratio(known_fraction, wanted_fraction)


def phase_energy_kwh(*, known_energy_kwh: Column, known_fraction: Column, wanted_fraction: Column) -> Column:
    """Energy of a phase, from that of another and the shares of both.

    E_w = E_k * s_w / s_k

    Source: Wu et al., "Sustainable AI", MLSys 2022, section 3 (31:29:40 for one recommendation model).
    """
    _domain.nonnegative(known_energy_kwh=known_energy_kwh)
    return known_energy_kwh * _share_ratio(known_fraction, wanted_fraction)


def _share_ratio(known_fraction: Column, wanted_fraction: Column) -> Column:
    _domain.share_above_zero(known_fraction=known_fraction)
    _domain.share(wanted_fraction=wanted_fraction)
    return np.divide(wanted_fraction, known_fraction)
