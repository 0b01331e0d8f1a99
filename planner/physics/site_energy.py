"""Batteries and sun of sites by slot: what the sun gives, what a battery takes, what both change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from carbon.synthetic import sun_height
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Site
from planner.physics.equations.slots import slot_kgco2e, slot_usd
from planner.physics.levers import Energy
from planner.physics.site_purchases import BATTERY, SOLAR, BoughtForSites, bought_for_sites
from planner.physics.slots import SLOTS_A_DAY, Ratios, SlotTimes
from planner.trace.columns import Floats
from planner.trace.quantities import Traced, chosen, derive

MONTH_DAYS = 365.25 / 12
DEGREES_AN_HOUR = 15.0


@dataclass(frozen=True, eq=False)
class SiteEnergy:
    """Batteries and sun of every site (S), rented locations included, which have neither."""

    stated: NDArray[np.bool_]
    most_kwh: Floats
    kw_per_kwh: Floats
    one_way_fraction: Floats
    sun_kw: Floats  # (S, T, Y) of what stands there
    solar_most_kw: Floats  # of the sun's cells that may be bought
    solar_kw_per_kw: Floats  # (S, T, Y) of each kilowatt that is bought
    solar: BoughtForSites  # a kilowatt of them
    battery: BoughtForSites  # a kilowatt-hour of it
    drawn: Energy  # a kilowatt-hour into a battery, by slot (S, T, Y)
    given: Energy  # a kilowatt-hour out of it, below zero
    shone: Energy  # a kilowatt-hour of the sun on load that cannot move, below zero
    shone_moved: Energy  # the same on what may move


def states_energy(inputs: Inputs) -> bool:
    """Whether any site states a battery or the sun."""
    return any(one.has_energy for one in inputs.scenario.sites)


def site_energy(inputs: Inputs, times: SlotTimes | None) -> SiteEnergy | None:
    """What sites may do with batteries and the sun; None where no site states any, or nothing has slots.

    What a battery draws and gives back takes the price and the intensity of work that moves within its day,
    the sun those of load that cannot move (`carbon.slots`).
    """
    if times is None or not states_energy(inputs):
        return None
    sites, every = inputs.scenario.sites, np.arange(len(inputs.sites))
    rented = len(inputs.sites) - len(sites)
    gives = np.zeros((len(inputs.sites), inputs.periods, len(times.day_type)))
    for s, one in enumerate(sites):
        gives[s] = sun_of_a_kilowatt(inputs, times, one)

    def column(name: str, otherwise: float) -> Floats:
        found = [getattr(one, name) for one in sites] + [None] * rented
        return np.array([otherwise if one is None else one for one in found], dtype=float)

    stands, more, battery = column("solar_kw", 0.0), column("solar_more_kw", 0.0), column("battery_kwh", 0.0)
    of_battery, of_solar = bought_for_sites(inputs, BATTERY), bought_for_sites(inputs, SOLAR)
    return SiteEnergy(
        stated=(battery > 0) | (stands > 0) | (more > 0),
        most_kwh=battery,
        kw_per_kwh=1.0 / column("battery_full_power_h", 1.0),
        one_way_fraction=np.sqrt(column("battery_efficiency_fraction", 1.0)),
        sun_kw=stands[:, None, None] * gives,
        solar_most_kw=more,
        solar_kw_per_kw=gives * (more[:, None] * of_solar.in_use > 0)[:, :, None],
        solar=of_solar,
        battery=of_battery,
        drawn=_kilowatt_hour(inputs, times, every, 1.0, (times.price.day, times.grid.day)),
        given=_kilowatt_hour(inputs, times, every, -1.0, (times.price.day, times.grid.day)),
        shone=_kilowatt_hour(inputs, times, every, -1.0, (times.price.fixed, times.grid.fixed)),
        shone_moved=_kilowatt_hour(
            inputs, times, every, -1.0, (_least(times, "price"), _least(times, "grid"))
        ),
    )


def lesser_ratio(*, one_ratio: Floats, other_ratio: Floats) -> Floats:
    """The lesser of two ratios, slot by slot.

    r[y] = min(a[y], b[y])

    Source: definition; the sun on what moves saves no more than any work could meet in the slot.
    """
    return np.minimum(one_ratio, other_ratio)


def _least(times: SlotTimes, kind: Literal["price", "grid"]) -> tuple[Traced, ...]:
    """The least that a kilowatt-hour meets in each slot, whatever draws it; site by site as `SlotTimes`."""
    ratios: Ratios[tuple[Traced, ...]] = getattr(times, kind)
    least = ratios.fixed
    for others in (ratios.day, ratios.period, *(getattr(one, kind) for one in times.of_jobs.values())):
        least = tuple(
            one if one is other else derive(lesser_ratio, one_ratio=one, other_ratio=other)
            for one, other in zip(least, others, strict=True)
        )
    return least


def _kilowatt_hour(
    inputs: Inputs,
    times: SlotTimes,
    site: NDArray[np.intp],
    sign: float,
    met: tuple[Sequence[Traced], Sequence[Traced]],
) -> Energy:
    """A kilowatt-hour more, or less, from the grid of each site in each slot: its bill and its carbon."""
    shape = (len(site), inputs.periods, len(times.day_type))
    more = chosen("facility_kwh", np.full(shape, sign), "a kilowatt-hour from the grid, or one not drawn")
    price, grid = (inputs.site_by_period(items, site) for items in met)
    return Energy(
        more,
        derive(
            slot_usd,
            facility_kwh=more,
            electricity_usd_per_kwh=inputs.site_by_period(inputs.electricity, site),
            slot_ratio=price,
        ),
        derive(
            slot_kgco2e,
            facility_kwh=more,
            grid_kgco2e_per_kwh=inputs.site_by_period(inputs.grid, site),
            slot_ratio=grid,
        ),
    )


def sun_of_a_kilowatt(inputs: Inputs, times: SlotTimes, site: Site) -> Floats:
    """Power of a kilowatt of the sun's cells at a site in each slot [T, Y], in the months of the period.

    P = min(1, y s / mean(s)), s the sine of the sun's height, y the yearly yield; on clear days (1 + v) P,
    1 at the most, v the spread of days; dull days have what is left of the mean of both. 0 without cells.

    Without a spread weather is in the yield alone: days are alike.

    Source: the sun's height after Cooper, Solar Energy 12, 1969; two kinds of days with the mean and the
    standard deviation that are stated.
    """
    found = np.zeros((inputs.periods, len(times.day_type)))
    if site.solar_kw is None and site.solar_more_kw is None:
        return found
    assert site.solar_latitude_deg is not None, "refused on reading"
    assert site.solar_yield_fraction is not None, "refused on reading"
    assert site.solar_longitude_deg is not None, "refused on reading"
    hours = (np.arange(24) + 0.5 + site.solar_longitude_deg / DEGREES_AN_HOUR) % 24
    days = np.arange(365) + 0.5
    height = sun_height(day=days[:, None], solar_h=hours[None, :], latitude_deg=site.solar_latitude_deg)
    scaled = np.minimum(1.0, site.solar_yield_fraction * height / height.mean())
    by_slot = scaled.reshape(len(days), SLOTS_A_DAY, -1).mean(axis=2)
    month = np.minimum(days // MONTH_DAYS, 11).astype(int)
    horizon = inputs.scenario.horizon
    for t, start in enumerate(horizon.period_starts):
        held = [(start.month - 1 + i) % 12 for i in range(horizon.period_months)]
        day = by_slot[np.isin(month, held)].mean(axis=0)
        found[t] = _under_clouds(day, times.days[:, t], site.solar_spread_fraction or 0.0)
    return found


def _under_clouds(day: Floats, days: Floats, spread: float) -> Floats:
    """The sun in each slot of each type of day; clear types and dull ones in turn where it varies."""
    types = len(days) // SLOTS_A_DAY
    found: Floats = np.tile(day, (types, 1))
    if spread > 0:
        each = days[::SLOTS_A_DAY]
        ratio = np.divide(each[::2], each[1::2], out=np.zeros(types // 2), where=each[1::2] > 0)[:, None]
        clear = np.where(ratio > 0, np.minimum(1.0, (1 + spread) * day), day)
        found[::2], found[1::2] = clear, np.maximum(day - ratio * (clear - day), 0.0)
    return found.ravel()
