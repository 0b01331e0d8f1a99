"""Water that a load evaporates, on site on IT energy and at power stations on facility energy: each once."""

from __future__ import annotations

from carbon import _domain
from carbon.columns import Column


def onsite_water_l(*, it_energy_kwh: Column, onsite_l_per_kwh: Column) -> Column:
    """Water that the site's cooling evaporates.

    W_on = E_IT * WUE

    WUE is defined on IT energy: PUE must not multiply it.

    Source: ISO/IEC 30134-9 (water usage effectiveness).
    """
    _domain.nonnegative(it_energy_kwh=it_energy_kwh, onsite_l_per_kwh=onsite_l_per_kwh)
    return it_energy_kwh * onsite_l_per_kwh


def offsite_water_l(*, facility_energy_kwh: Column, offsite_l_per_kwh: Column) -> Column:
    """Water that power stations consume to make the electricity.

    W_off = E_facility * EWIF

    Source: Li et al., "Making AI Less Thirsty", arXiv 2304.03271.
    """
    _domain.nonnegative(facility_energy_kwh=facility_energy_kwh, offsite_l_per_kwh=offsite_l_per_kwh)
    return facility_energy_kwh * offsite_l_per_kwh
