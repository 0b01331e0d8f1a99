"""From the plug of the node to the meter of the facility.

PUE enters once, in `facility_energy_kwh`; everything before it is energy of the IT equipment. Losses of
uninterruptible supplies, transformers on site and cooling are in the PUE; losses of the grid are not.
"""

from __future__ import annotations

from carbon import _domain
from carbon.columns import Column


def facility_energy_kwh(*, it_energy_kwh: Column, pue: Column) -> Column:
    """Energy at the meter of the facility.

    E_facility = E_IT * PUE

    The one place where PUE enters. A yearly PUE hides that cooling costs more in summer.

    Source: ISO/IEC 30134-2 (power usage effectiveness).
    """
    _domain.nonnegative(it_energy_kwh=it_energy_kwh)
    _domain.at_least(1.0, pue=pue)
    return it_energy_kwh * pue
