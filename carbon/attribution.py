"""Who carries embodied carbon, and when: by the hour of the calendar, or by the hour of use.

By either rule the shares of a whole life sum to the embodied carbon, no more and no less.
"""

from __future__ import annotations

import numpy as np

from carbon import _domain
from carbon.columns import Column

HOURS_A_YEAR = 8766.0  # 365.25 days


def lifetime_h(*, lifetime_y: Column) -> Column:
    """Calendar hours of a life given in years of 365.25 days.

    L = 8766 * years

    Tools that count 365 days come out 0.07 % higher per hour.

    Source: definition of the Julian year.
    """
    _domain.positive(lifetime_y=lifetime_y)
    return lifetime_y * HOURS_A_YEAR


def calendar_share_kgco2e(*, embodied_kgco2e: Column, used_h: Column, lifetime_h: Column) -> Column:
    """Embodied carbon of some hours, every calendar hour alike.

    M = TE * t / L

    Hours in which nobody used the hardware keep their part: charge them to idle and spare lines, or the
    fleet does not add to 100 %.

    Source: GSF, "Software Carbon Intensity", ISO/IEC 21031:2024; Cloud Carbon Footprint; OLMo 2.
    """
    _domain.nonnegative(embodied_kgco2e=embodied_kgco2e, used_h=used_h)
    _domain.positive(lifetime_h=lifetime_h)
    return embodied_kgco2e * used_h / lifetime_h


def embodied_share_kgco2e(
    *, embodied_kgco2e: Column, used_h: Column, lifetime_h: Column, utilisation_fraction: Column
) -> Column:
    """Embodied carbon of some hours, idle hours charged to the used ones.

    M = TE * t / (L * u)

    u is the share of the life that somebody uses, planned or measured. At u = 1 this is the calendar share.

    Source: Luccioni et al., "BLOOM", JMLR 24:253, 2023, sec. 4.1; Wu et al., "Sustainable AI", MLSys 2022.
    """
    _domain.share_above_zero(utilisation_fraction=utilisation_fraction)
    calendar = calendar_share_kgco2e(embodied_kgco2e=embodied_kgco2e, used_h=used_h, lifetime_h=lifetime_h)
    return calendar / utilisation_fraction


def intensity_ratio(*, old_kgco2e: Column, new_kgco2e: Column, throughput_ratio: Column) -> Column:
    """Embodied carbon for the same work, of new hardware over old.

    r = (TE_new / TE_old) / k

    k is how many times the old hardware's work the new one does in the same life. Below 1 the new one takes
    less to make for each unit of work, however much more it takes by itself. Energy in use is left out.

    Source: embodied carbon intensity, e.g. Schneider et al., "Life-Cycle Emissions of AI Hardware", 2025.
    """
    _domain.nonnegative(new_kgco2e=new_kgco2e)
    _domain.positive(old_kgco2e=old_kgco2e, throughput_ratio=throughput_ratio)
    return np.divide(new_kgco2e, old_kgco2e) / throughput_ratio
