"""From the plug of the node to the meter of the facility.

PUE enters once, in `facility_energy_kwh`; everything before it is energy of the IT equipment. Losses of
uninterruptible supplies, transformers on site and cooling are in the PUE; losses of the grid are not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]


def facility_energy_kwh(*, it_energy_kwh: Column, pue: Column) -> Column:
    """Energy at the meter of the facility.

    E_facility = E_IT * PUE

    The one place where PUE enters. A yearly PUE hides that cooling costs more in summer.

    Source: ISO/IEC 30134-2 (power usage effectiveness).
    """
    _domain.nonnegative(it_energy_kwh=it_energy_kwh)
    _domain.at_least(1.0, pue=pue)
    return it_energy_kwh * pue


def load_pue(
    *, load_fraction: Column, fixed_overhead_fraction: Column, proportional_overhead_fraction: Column
) -> Column:
    """PUE of a facility at a share of the IT power it was built for.

    PUE(l) = (a + b * l) / l = 1 + c + a / l,  b = 1 + c

    a is overhead that runs whatever the load (transformers, fans, lights), as a share of the rated IT power;
    c follows the load. Losses that grow with its square are left out: they matter near full load only.

    Source: Rasmussen, "Electrical Efficiency Modeling for Data Centers", Schneider White Paper 113.
    """
    _domain.share_above_zero(load_fraction=load_fraction)
    _domain.nonnegative(
        fixed_overhead_fraction=fixed_overhead_fraction,
        proportional_overhead_fraction=proportional_overhead_fraction,
    )
    return 1 + proportional_overhead_fraction + fixed_overhead_fraction / load_fraction


def fixed_overhead_fraction(*, full_pue: Column, part_pue: Column, part_load_fraction: Column) -> Column:
    """Fixed overhead of a facility whose PUE is known at full and at part load.

    a = (PUE(l) - PUE(1)) / (1 / l - 1)

    What remains, c = PUE(1) - 1 - a, follows the load.

    Source: `load_pue`, solved for a.
    """
    _domain.at_least(1.0, full_pue=full_pue, part_pue=part_pue)
    _domain.share_above_zero(part_load_fraction=part_load_fraction)
    if np.any(np.greater_equal(part_load_fraction, 1)) or np.any(np.less(part_pue, full_pue)):
        raise ValueError(
            "part_pue is at a part_load_fraction below 1 and not below full_pue, "
            f"got {part_pue} at {part_load_fraction} and {full_pue} at full load"
        )
    fixed = (part_pue - full_pue) / (1 / part_load_fraction - 1)
    if np.any(np.greater(fixed, full_pue - 1)):
        raise ValueError(
            f"full_pue leaves room for the fixed overhead of {fixed}, got {full_pue}: "
            "so steep a rise means that less equipment ran at full load"
        )
    return fixed
