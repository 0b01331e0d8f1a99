"""Batteries and cells that may be bought for sites: what one unit is charged, costs and is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from carbon.attribution import calendar_share_kgco2e, lifetime_h
from planner.inputs.resolved import HOURS_PER_YEAR, Inputs
from planner.inputs.scenario import Site
from planner.physics.equations.money import book_usd, capital_charge_usd, maintenance_usd, uncharged_usd
from planner.trace.columns import Floats
from planner.trace.quantities import Traced, chosen, derive, pick

DAY_H = 24.0  # years of the calendar are up to a day longer than the mean one


@dataclass(frozen=True, slots=True)
class Purchase:
    """What may be bought for a site, by the attributes of `Site` that price it."""

    what: str
    key: str
    unit: str
    most: str
    upkeep: str | None = None

    def has(self, site: Site | None) -> bool:
        """Whether it may be bought for a site; a rented location has none."""
        return site is not None and getattr(site, self.most) is not None


BATTERY = Purchase("a battery", "battery", "kWh", "battery_kwh")
SOLAR = Purchase("the sun's cells", "solar", "kW", "solar_more_kw", upkeep="solar_upkeep_fraction")


@dataclass(frozen=True, eq=False)
class BoughtForSites:
    """One unit of what may be bought, at every site (S) through each period (T); sites without it have 0.

    It is charged by the period, as a lease would be: its price as an annuity over its life, and its upkeep.
    Its price is due in the first period in which it stands, and again where a life ends within the horizon.
    """

    usd: Traced  # (S, T) its share of price, and upkeep
    kgco2e: Traced  # (S, T) its share of making
    capital_usd: Traced  # (S, T) its share of price alone
    capex_usd: Traced  # (S, T) its price in the periods in which it is due
    price_usd: Traced  # (S, 1)
    life_y: Traced  # (S, 1)
    discount: Traced
    in_use: Floats  # (S, T) 1 or 0
    age_y: Floats  # (S, T + 1) since it stands, at the start of each period and at the end of the last

    def first_period(self, site: int) -> int:
        """The period from whose first day on it stands at a site."""
        return int(np.argmax(self.in_use[site] > 0))

    @property
    def from_usd(self) -> Traced:
        """What it is worth when a period begins, before its price is paid (S, T)."""
        return self.worth_at(self.age_y[:, :-1])

    @property
    def to_usd(self) -> Traced:
        """What it is worth when a period ends (S, T)."""
        return self.worth_at(self.age_y[:, 1:])

    @property
    def book_from_usd(self) -> Traced:
        """What the books show of it when a period begins (S, T)."""
        return self._book_at(self.age_y[:, :-1])

    @property
    def book_to_usd(self) -> Traced:
        """What the books show of it when a period ends (S, T)."""
        return self._book_at(self.age_y[:, 1:])

    def worth_at(self, age_y: Floats) -> Traced:
        """What of its price is not charged yet, by its age (S, any)."""
        return derive(
            uncharged_usd, price_usd=self.price_usd, discount_fraction=self.discount, **self._aged(age_y)
        ).named("value_usd")

    def _book_at(self, age_y: Floats) -> Traced:
        return derive(book_usd, price_usd=self.price_usd, **self._aged(age_y))

    def _aged(self, age_y: Floats) -> dict[str, Traced]:
        """Its age in the life that it is in; that of a whole life, worth nothing, before it stands."""
        life_y = np.asarray(self.life_y.value, dtype=float)
        within = age_y - life_y * (_lives(age_y, life_y) - 1)
        ages = np.where(age_y > 0, within, life_y)
        return {"age_y": chosen("age_y", ages, "since it stands"), "life_y": self.life_y}


def in_use(inputs: Inputs, what: Purchase) -> Floats:
    """1 where what is bought is in use: in periods that begin on its day or later [S, T]."""
    starts = inputs.scenario.horizon.period_starts
    days = [getattr(site, f"{what.key}_from") for site in inputs.scenario.sites]
    days += [None] * (len(inputs.sites) - len(days))
    return np.array([[day is None or start >= day for start in starts] for day in days], dtype=float)


def bought_for_sites(inputs: Inputs, what: Purchase) -> BoughtForSites:
    """What one unit of what may be bought takes: its share of price and of making by its life, its upkeep."""
    columns = _stated(inputs, what)
    tall = np.arange(len(inputs.sites))[:, None]
    price, making, life = (pick(columns[name], tall) for name in ("price_usd", "embodied_kgco2e", "life_y"))
    stands = in_use(inputs, what)
    used = chosen("in_use", stands, f"1 where {what.what} is in use")
    used_h = (inputs.period_h * used).named("used_h")
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
    charged: Traced = capital
    if what.upkeep is not None:
        upkeep = pick(columns["upkeep"], tall)
        kept = derive(maintenance_usd, price_usd=price, maintenance_fraction=upkeep, **hours)
        charged = (capital + kept).named(f"{what.key}_usd")
    ages = np.cumsum(np.asarray(used_h.value), axis=1) / HOURS_PER_YEAR
    age_y = np.concatenate([np.zeros((len(ages), 1)), ages], axis=1)
    due = np.diff(_lives(age_y, np.asarray(life.value, dtype=float)), axis=1)
    paid = chosen("due", due, f"1 where the price of {what.what} is due: when it is put up, or again")
    return BoughtForSites(
        usd=charged,
        kgco2e=share,
        capital_usd=capital,
        capex_usd=(price * paid).named("capex_usd"),
        price_usd=price,
        life_y=life,
        discount=inputs.discount_rate(),
        in_use=stands,
        age_y=age_y,
    )


def _lives(age_y: Floats, life_y: Floats) -> Floats:
    """How many lives have begun by an age, a day after the end of one at the latest."""
    found: Floats = np.ceil(np.maximum(age_y - DAY_H / HOURS_PER_YEAR, 0.0) / life_y)
    return found


def _stated(inputs: Inputs, what: Purchase) -> dict[str, list[Traced]]:
    """Price, making, life and upkeep of one unit at each site, rented locations included."""
    unit, one_unit = what.unit.lower(), chosen("bought", 1.0, f"one {what.unit} of {what.what}", what.unit)
    columns = dict[str, list[Traced]]()

    def put(name: str, value: Traced) -> None:
        columns.setdefault(name, []).append(value)

    for site in [*inputs.scenario.sites, *[None] * (len(inputs.sites) - len(inputs.scenario.sites))]:
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
    return columns
