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
from planner.physics.equations.money import capital_charge_usd, maintenance_usd
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
    sun_kw: Floats  # (S, T, Y) of what stands there
    solar_most_kw: Floats  # of the sun's cells that may be bought
    solar_kw_per_kw: Floats  # (S, T, Y) of each kilowatt that is bought
    solar_usd: Traced  # of a kilowatt that is bought through a period (S, T)
    solar_kgco2e: Traced  # (S, T)
    battery_ready: Floats  # (S, T) 1 where what is bought is in use
    battery_usd: Traced  # of a kilowatt-hour of battery through a period (S, T)
    battery_kgco2e: Traced  # (S, T)
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
    battery_usd, battery_kgco2e = _bought(inputs, BATTERY)
    solar_usd, solar_kgco2e = _bought(inputs, SOLAR)
    return SiteEnergy(
        stated=(battery > 0) | (stands > 0) | (more > 0),
        most_kwh=battery,
        kw_per_kwh=1.0 / column("battery_full_power_h", 1.0),
        one_way_fraction=np.sqrt(column("battery_efficiency_fraction", 1.0)),
        sun_kw=stands[:, None, None] * gives,
        solar_most_kw=more,
        solar_kw_per_kw=gives * (more[:, None] * _in_use(inputs, SOLAR) > 0)[:, :, None],
        solar_usd=solar_usd,
        solar_kgco2e=solar_kgco2e,
        battery_ready=_in_use(inputs, BATTERY),
        battery_usd=battery_usd,
        battery_kgco2e=battery_kgco2e,
        drawn=_kilowatt_hour(inputs, times, every, 1.0, (times.price.day, times.grid.day)),
        given=_kilowatt_hour(inputs, times, every, -1.0, (times.price.day, times.grid.day)),
        shone=_kilowatt_hour(inputs, times, every, -1.0, (times.price.fixed, times.grid.fixed)),
        shone_moved=_kilowatt_hour(
            inputs, times, every, -1.0, (_least(times, "price"), _least(times, "grid"))
        ),
    )


@dataclass(frozen=True, slots=True)
class _Bought:
    """What may be bought for a site, by the attributes of `Site` that price it."""

    what: str
    key: str
    unit: str
    most: str
    upkeep: str | None = None

    def has(self, site: Site | None) -> bool:
        """Whether it may be bought for a site; a rented location has none."""
        return site is not None and getattr(site, self.most) is not None


BATTERY = _Bought("a battery", "battery", "kWh", "battery_kwh")
SOLAR = _Bought("the sun's cells", "solar", "kW", "solar_more_kw", upkeep="solar_upkeep_fraction")


def _in_use(inputs: Inputs, what: _Bought) -> Floats:
    """1 where what is bought is in use: in periods that begin on its day or later [S, T]."""
    starts = inputs.scenario.horizon.period_starts
    days = [getattr(site, f"{what.key}_from") for site in inputs.scenario.sites]
    days += [None] * (len(inputs.sites) - len(days))
    return np.array([[day is None or start >= day for start in starts] for day in days], dtype=float)


def _bought(inputs: Inputs, what: _Bought) -> tuple[Traced, Traced]:
    """Money and carbon of one unit of what may be bought through each period (S, T).

    Its share of price and of making by its life, and its upkeep, for the periods in which it is in use.
    """
    sites = inputs.scenario.sites
    rented = len(inputs.sites) - len(sites)
    unit, one_unit = what.unit.lower(), chosen("bought", 1.0, f"one {what.unit} of {what.what}", what.unit)
    columns = dict[str, list[Traced]]()

    def put(name: str, value: Traced) -> None:
        columns.setdefault(name, []).append(value)

    for site in [*sites, *[None] * rented]:
        if site is None or not what.has(site):
            none = f"{what.what} may not be bought here"
            put("price_usd", chosen("price_usd", 0.0, none, "USD"))
            put("embodied_kgco2e", chosen("embodied_kgco2e", 0.0, none, "kgCO2e"))
            put("life_y", chosen("life_y", 1.0, none, "y"))
            put("upkeep", chosen("maintenance_fraction", 0.0, none))
            continue
        at = f"sites.{site.name}.{what.key}"
        usd, kgco2e = (
            getattr(site, f"{what.key}_{one}_per_{unit}") for one in ("price_usd", "embodied_kgco2e")
        )
        paid = inputs.money(f"{at}_price", usd, f"USD/{what.unit}") * one_unit
        put("price_usd", paid.named("price_usd"))
        made = inputs.yours(f"{at}_embodied", kgco2e, f"kgCO2e/{what.unit}") * one_unit
        put("embodied_kgco2e", made.named("embodied_kgco2e"))
        put("life_y", inputs.yours(f"{at}_life", getattr(site, f"{what.key}_life_y"), "y"))
        if what.upkeep is not None:
            put("upkeep", inputs.yours(f"{at}_upkeep", getattr(site, what.upkeep), "1"))
    tall = np.arange(len(columns["price_usd"]))[:, None]
    price, making, life = (pick(columns[name], tall) for name in ("price_usd", "embodied_kgco2e", "life_y"))
    in_use = chosen("in_use", _in_use(inputs, what), f"1 where {what.what} is in use")
    used_h = (inputs.period_h * in_use).named("used_h")
    hours = {"hours_h": used_h, "year_h": inputs.year_h}
    capital = derive(
        capital_charge_usd,
        price_usd=price,
        discount_fraction=inputs.discount_rate(),
        life_y=life,
        residual_fraction=chosen(
            "residual_fraction", 0.0, f"{what.what} is worth nothing at the end of its life"
        ),
        **hours,
    )
    share = derive(
        calendar_share_kgco2e,
        embodied_kgco2e=making,
        used_h=used_h,
        lifetime_h=derive(lifetime_h, lifetime_y=life),
    )
    if what.upkeep is None:
        return capital, share
    upkeep = pick(columns["upkeep"], tall)
    kept = derive(maintenance_usd, price_usd=price, maintenance_fraction=upkeep, **hours)
    return (capital + kept).named("solar_usd"), share


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
