"""What a lever does to a footprint: its own factor, the part that it reaches, and others next to it.

Factors say how many times less: 4 is a quarter, 1 is no effect.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain
from carbon.columns import Column


def total_reduction_ratio(*, affected_fraction: Column, lever_ratio: Column) -> Column:
    """How many times lower the total gets when a lever reaches only a part of it.

    r = 1 / (1 - s + s / k)

    Source: Amdahl, "Validity of the single processor approach", AFIPS 1967, on carbon instead of time.
    """
    _domain.share(affected_fraction=affected_fraction)
    _domain.positive(lever_ratio=lever_ratio)
    return 1.0 / (1.0 - affected_fraction + np.divide(affected_fraction, lever_ratio))


def lever_ratio(
    *,
    reduction_fraction: Column | None = None,
    keep_fraction: Column | None = None,
    gain_fraction: Column | None = None,
) -> Column:
    """How many times less a lever takes, from the one way in which its effect was printed.

    k = 1 / (1 - reduction),  k = 1 / keep,  k = 1 + gain

    A gain is more work in the same time; the other two are shares of what was taken before.

    Source: definition.
    """
    given = {
        name: share
        for name, share in (
            ("reduction_fraction", reduction_fraction),
            ("keep_fraction", keep_fraction),
            ("gain_fraction", gain_fraction),
        )
        if share is not None
    }
    if len(given) != 1:
        raise ValueError(f"one effect of the lever is given, got {', '.join(given) or 'none'}")
    ((name, share),) = given.items()
    if name == "gain_fraction":
        _domain.positive(one_plus_gain_fraction=np.add(1.0, share))
        return np.add(1.0, share)
    kept = np.subtract(1.0, share) if name == "reduction_fraction" else share
    _domain.share(**given)
    _domain.positive(kept_fraction=kept)
    return np.divide(1.0, kept)


def composed_ratio(*, lever_ratios: NDArray[np.float64]) -> Column:
    """How many times lower energy gets under several levers, each on what the others leave.

    r = prod_i(k_i)

    Levers lie along the last axis. They must reach the same energy and not each other's effect; published
    factors are often best cases, and so is their product.

    Source: Wu et al., "Sustainable AI", MLSys 2022, section 4 (6.7 * 10.1 * 12, printed as above 800).
    """
    _domain.positive(lever_ratios=lever_ratios)
    composed: Column = np.prod(np.atleast_1d(lever_ratios), axis=-1)
    return composed


def lowered_energy_kwh(*, baseline_energy_kwh: Column, reduction_ratio: Column) -> Column:
    """Energy under a lever.

    E' = E / r

    Embodied carbon is not energy: it falls only where fewer hours are held.

    Source: definition of an efficiency factor (work per energy).
    """
    _domain.nonnegative(baseline_energy_kwh=baseline_energy_kwh)
    _domain.positive(reduction_ratio=reduction_ratio)
    return np.divide(baseline_energy_kwh, reduction_ratio)


def implied_growth_ratio(*, saved_fraction: Column, steps: Column, net_saved_fraction: Column) -> Column:
    """How much demand grew, where efficiency and total use are known.

    g = (1 - d_net) / (1 - d)^n

    Above 1 the gain was partly eaten by more work (the rebound that Jevons described).

    Source: Wu et al., "Sustainable AI", MLSys 2022, section 3 (20 % each half-year, 28.5 % net in two years).
    """
    _domain.share(saved_fraction=saved_fraction, net_saved_fraction=net_saved_fraction)
    _domain.nonnegative(steps=steps)
    kept = np.subtract(1.0, saved_fraction)
    _domain.positive(one_minus_saved_fraction=kept)
    return (1.0 - net_saved_fraction) / np.power(kept, steps)


def utilisation_reduction_ratio(
    *,
    before_utilisation_fraction: Column,
    after_utilisation_fraction: Column,
    embodied_fraction: Column,
    idle_power_fraction: Column,
) -> Column:
    """How many times lower the carbon of the same work gets when hardware is better used.

    c(u) = (s * u_0 + (1 - s) * u_0 * P(u) / P(u_0)) / u,  P(u) = p + (1 - p) * u,  r = c(u_0) / c(u)

    s is the embodied share before. Embodied carbon falls as 1/u, energy less: p is the share of full power
    that an idle machine draws. At p = 1 both fall alike, which is the most that utilisation can give.

    Source: Wu et al., "Sustainable AI", MLSys 2022, figure 9; power linear in utilisation.
    """
    _domain.share_above_zero(
        before_utilisation_fraction=before_utilisation_fraction,
        after_utilisation_fraction=after_utilisation_fraction,
    )
    _domain.share(embodied_fraction=embodied_fraction, idle_power_fraction=idle_power_fraction)

    def power_fraction(used: Column) -> Column:
        return idle_power_fraction + (1.0 - idle_power_fraction) * used

    drawn = power_fraction(after_utilisation_fraction) / power_fraction(before_utilisation_fraction)
    after = embodied_fraction + (1.0 - embodied_fraction) * drawn
    return np.divide(after_utilisation_fraction, before_utilisation_fraction) / after
