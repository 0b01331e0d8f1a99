"""Battery and sun of a site by slot: what the sun gives, and what a kilowatt-hour of battery takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carbon.attribution import calendar_share_kgco2e, lifetime_h
from carbon.synthetic import sun_height
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Site
from planner.physics.equations.money import capital_charge_usd
from planner.physics.slots import SLOTS_A_DAY, SlotTimes

Floats = NDArray[np.float64]
MONTH_DAYS = 365.25 / 12
DEGREES_AN_HOUR = 15.0


def sun_kw(inputs: Inputs, times: SlotTimes, site: Site) -> Floats:
    """Power of the sun's cells of a site in each slot [T, Y], the mean day of the months of the period.

    P = min(P_rated, P_rated y s / mean(s)), s the sine of the sun's height, y the yearly yield

    Weather is in the yield alone: days are alike.

    Source: the sun's height after Cooper, Solar Energy 12, 1969.
    """
    found = np.zeros((inputs.periods, len(times.day_type)))
    rated, latitude = site.solar_kw, site.solar_latitude_deg
    if rated is None or latitude is None:
        return found
    assert site.solar_yield_fraction is not None, "refused on reading"
    assert site.solar_longitude_deg is not None, "refused on reading"
    hours = (np.arange(24) + 0.5 + site.solar_longitude_deg / DEGREES_AN_HOUR) % 24
    days = np.arange(365) + 0.5
    height = sun_height(day=days[:, None], solar_h=hours[None, :], latitude_deg=latitude)
    scaled = np.minimum(rated, rated * site.solar_yield_fraction * height / height.mean())
    by_slot = scaled.reshape(len(days), SLOTS_A_DAY, -1).mean(axis=2)
    month = np.minimum(days // MONTH_DAYS, 11).astype(int)
    horizon = inputs.scenario.horizon
    for t, start in enumerate(horizon.period_starts):
        held = [(start.month - 1 + i) % 12 for i in range(horizon.period_months)]
        day = by_slot[np.isin(month, held)].mean(axis=0)
        found[t] = np.tile(day, len(times.day_type) // SLOTS_A_DAY)
    return found


def battery_terms(inputs: Inputs, site: Site) -> dict[str, Any]:
    """Columns of a battery for `solver.site_energy.Site`; none where the site states none."""
    if site.battery_kwh is None:
        return {}
    parts = (
        site.battery_full_power_h,
        site.battery_efficiency_fraction,
        site.battery_price_usd_per_kwh,
        site.battery_embodied_kgco2e_per_kwh,
        site.battery_life_y,
    )
    full_h, efficiency, price, embodied, life = (float(one) for one in parts if one is not None)
    hours = float(np.sum(inputs.scenario.horizon.hours))
    return {
        "most_kwh": site.battery_kwh,
        "kw_per_kwh": 1.0 / full_h,
        "one_way_fraction": math.sqrt(efficiency),
        "battery_usd_per_kwh": float(
            capital_charge_usd(
                price_usd=price,
                discount_fraction=inputs.scenario.policy.discount_rate_fraction,
                life_y=life,
                residual_fraction=0.0,
                hours_h=hours,
                hours_per_year_h=inputs.hours_per_year_h.value,
            )
        ),
        "battery_kgco2e_per_kwh": float(
            calendar_share_kgco2e(
                embodied_kgco2e=embodied, used_h=hours, lifetime_h=lifetime_h(lifetime_y=life)
            )
        ),
    }
