"""Batteries and sun of sites by slot: what the sun gives, what a battery takes, what both change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from carbon.attribution import calendar_share_kgco2e, lifetime_h
from carbon.synthetic import sun_height
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Site
from planner.physics.equations.money import capital_charge_usd
from planner.physics.equations.slots import slot_kgco2e, slot_usd
from planner.physics.levers import Energy
from planner.physics.slots import SLOTS_A_DAY, Ratios, SlotTimes
from planner.trace.columns import Floats
from planner.trace.quantities import Traced, chosen, derive, pick

MONTH_DAYS = 365.25 / 12
DEGREES_AN_HOUR = 15.0


@dataclass(frozen=True, eq=False)
class SiteEnergy:
    """Batteries and sun of every site (S), rented locations included, which have neither."""

    stated: NDArray[np.bool_]
    most_kwh: Floats
    kw_per_kwh: Floats
    one_way_fraction: Floats
    sun_kw: Floats  # (S, T, Y)
    battery_usd: Traced  # of a kilowatt-hour of battery through a period (S, T)
    battery_kgco2e: Traced  # (S, T)
    drawn: Energy  # a kilowatt-hour into a battery, by slot (S, T, Y)
    given: Energy  # a kilowatt-hour out of it, below zero
    shone: Energy  # a kilowatt-hour of the sun on load that cannot move, below zero
    shone_moved: Energy  # the same on what may move


def states_energy(inputs: Inputs) -> bool:
    """Whether any site states a battery or the sun."""
    return any(one.battery_kwh is not None or one.solar_kw is not None for one in inputs.scenario.sites)


def site_energy(inputs: Inputs, times: SlotTimes | None) -> SiteEnergy | None:
    """What sites may do with batteries and the sun; None where no site states any, or nothing has slots.

    What a battery draws and gives back takes the price and the intensity of work that moves within its day,
    the sun those of load that cannot move (`carbon.slots`).
    """
    if times is None or not states_energy(inputs):
        return None
    sites, every = inputs.scenario.sites, np.arange(len(inputs.sites))
    rented = len(inputs.sites) - len(sites)
    sun = np.zeros((len(inputs.sites), inputs.periods, len(times.day_type)))
    for s, one in enumerate(sites):
        sun[s] = sun_kw(inputs, times, one)
    batteries = [one if one.battery_kwh is not None else None for one in sites] + [None] * rented

    def column(name: str, otherwise: float) -> Floats:
        found = [otherwise if one is None else getattr(one, name) for one in batteries]
        return np.array(found, dtype=float)

    usd, kgco2e = _of_batteries(inputs, batteries)
    return SiteEnergy(
        stated=np.array([one is not None for one in batteries]) | sun.any(axis=(1, 2)),
        most_kwh=column("battery_kwh", 0.0),
        kw_per_kwh=1.0 / column("battery_full_power_h", 1.0),
        one_way_fraction=np.sqrt(column("battery_efficiency_fraction", 1.0)),
        sun_kw=sun,
        battery_usd=usd,
        battery_kgco2e=kgco2e,
        drawn=_kilowatt_hour(inputs, times, every, 1.0, (times.price.day, times.grid.day)),
        given=_kilowatt_hour(inputs, times, every, -1.0, (times.price.day, times.grid.day)),
        shone=_kilowatt_hour(inputs, times, every, -1.0, (times.price.fixed, times.grid.fixed)),
        shone_moved=_kilowatt_hour(
            inputs, times, every, -1.0, (_least(times, "price"), _least(times, "grid"))
        ),
    )


def _of_batteries(inputs: Inputs, batteries: Sequence[Site | None]) -> tuple[Traced, Traced]:
    """Money and carbon of a kilowatt-hour of battery through each period: its share of price and making."""
    one_kwh = chosen("battery_kwh", 1.0, "one kilowatt-hour of battery")
    prices, making, lives = list[Traced](), list[Traced](), list[Traced]()
    for one in batteries:
        if one is None:
            prices.append(chosen("price_usd", 0.0, "no battery may be bought here", "USD"))
            making.append(chosen("embodied_kgco2e", 0.0, "no battery may be bought here", "kgCO2e"))
            lives.append(chosen("life_y", 1.0, "no battery may be bought here", "y"))
            continue
        at, price, embodied = (
            f"sites.{one.name}",
            one.battery_price_usd_per_kwh,
            one.battery_embodied_kgco2e_per_kwh,
        )
        assert price is not None, "refused on reading"
        assert embodied is not None, "refused on reading"
        assert one.battery_life_y is not None, "refused on reading"
        prices.append((inputs.money(f"{at}.battery_price", price, "USD/kWh") * one_kwh).named("price_usd"))
        per_kwh = inputs.yours(f"{at}.battery_embodied", embodied, "kgCO2e/kWh")
        making.append((per_kwh * one_kwh).named("embodied_kgco2e"))
        lives.append(inputs.yours(f"{at}.battery_life", one.battery_life_y, "y"))
    tall = np.arange(len(batteries))[:, None]
    life = pick(lives, tall)
    usd = derive(
        capital_charge_usd,
        price_usd=pick(prices, tall),
        discount_fraction=inputs.discount_rate(),
        life_y=life,
        residual_fraction=chosen(
            "residual_fraction", 0.0, "a battery is worth nothing at the end of its life"
        ),
        hours_h=inputs.period_h,
        year_h=inputs.year_h,
    )
    kgco2e = derive(
        calendar_share_kgco2e,
        embodied_kgco2e=pick(making, tall),
        used_h=inputs.period_h,
        lifetime_h=derive(lifetime_h, lifetime_y=life),
    )
    return usd, kgco2e


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
