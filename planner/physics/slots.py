"""Slots of every period: which hours of a site's year they stand for, what they emit and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from carbon.slots import HOURS_A_DAY, day_types
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Policy
from planner.physics.day_loads import PARTS_A_DAY, day_loads
from planner.physics.equations.slots import (
    day_slot_ratio,
    fixed_slot_ratio,
    period_slot_ratio,
    signal_ratio,
    window_slot_ratio,
)
from planner.physics.hour_series import (
    Day,
    KnownHours,
    days_in_window,
    days_of_period,
    grid_hours,
    price_hours,
    shared_days,
)
from planner.trace.errors import InputError
from planner.trace.quantities import Traced, chosen, derive

T = TypeVar("T")
SLOTS_A_DAY = PARTS_A_DAY


@dataclass(frozen=True, eq=False)
class Ratios(Generic[T]):
    """What a kilowatt-hour in each slot emits, or costs, over the mean of the period.

    For load that cannot move, for work that moves in its day, and for work that moves in the period.
    """

    fixed: T
    day: T
    period: T


@dataclass(frozen=True, eq=False)
class OfJob:
    """The same of a pausable job whose window has some days of a period alone, among these days."""

    grid: tuple[Traced, ...]
    price: tuple[Traced, ...]


@dataclass(frozen=True, eq=False)
class SlotTimes:
    """Slots (Y) of each period (T), type of day by type of day, and what a kilowatt-hour in them takes.

    Ratios are site by site as those of `Inputs.site_by_period`; those of jobs by their number, where their
    window is not of whole periods.
    """

    hours: NDArray[np.float64]  # (Y, T)
    days: NDArray[np.float64]  # (Y, T) days of the type that a slot is of
    day_type: NDArray[np.intp]
    start_h: NDArray[np.float64]
    grid: Ratios[tuple[Traced, ...]]
    price: Ratios[tuple[Traced, ...]]
    of_jobs: Mapping[int, OfJob]
    load_fraction: Traced  # of each service in each part of a day (I, 12), on the mean day
    ready_load_fraction: Traced  # the same on its highest day
    calendar: tuple[Mapping[Day, int], ...]  # by period, the type of each day whose hours are known
    notes: tuple[str, ...]

    @property
    def before(self) -> NDArray[np.intp]:
        """The slot before each on its day."""
        slot = np.arange(len(self.day_type))
        return np.where(slot % SLOTS_A_DAY == 0, slot + SLOTS_A_DAY - 1, slot - 1)

    @property
    def slot_h(self) -> Traced:
        """Hours of each slot (1, T, Y)."""
        return chosen("slot_h", self.hours.T[None], "hours of the days that a slot stands for")

    @property
    def slot_fraction(self) -> Traced:
        """Part of the period that each slot is (1, T, Y)."""
        share = (self.hours / self.hours.sum(axis=0)).T[None]
        return chosen("slot_fraction", share, "part of the period that a slot stands for")


def slot_times(inputs: Inputs) -> SlotTimes | None:
    """The slots of a scenario; None where its levers decide nothing by slot, or nothing differs by slot.

    Raises:
        InputError: series that have no day of a year in common, or prices without a mean above zero.
    """
    policy, slots = inputs.scenario.policy, inputs.scenario.solve.slots
    if not policy.levers or slots == 1:
        return None
    grids, notes = grid_hours(inputs)
    prices, more = price_hours(inputs)
    known = [one for one in (*grids, *prices) if one is not None]
    serves = bool(inputs.scenario.services) and policy.levers != ("shift",)
    stores = any(one.has_energy for one in inputs.scenario.sites)
    if not known and not serves and not stores:
        return None
    types, skies = slots // SLOTS_A_DAY if known else 1, _skies(inputs)
    types = max(types // skies, 1) * skies
    shared = shared_days(known, otherwise=skies)
    count, periods = types * SLOTS_A_DAY, inputs.periods
    shares = np.zeros((types, periods))
    hourly = [(grid, price) for grid, price in zip(grids, prices, strict=True)]
    cuts = [
        _Cut(inputs, t, days_of_period(inputs, t, shared), shared, hourly, (types, skies))
        for t in range(periods)
    ]
    for t, cut in enumerate(cuts):
        shares[:, t] = np.bincount(cut.day_type, minlength=types) / len(cut.day_type)
    of_site = [[cut.ratios(s) for cut in cuts] for s in range(len(grids))]
    flat = chosen("slot_ratio", np.ones(count), "rented nodes are the same at all hours")
    rented = [(_flat(flat), _flat(flat)) for _ in inputs.scenario.rental for _ in range(periods)]
    each = [*(pair for site in of_site for pair in site), *rented]
    hours = np.array(inputs.scenario.horizon.hours)
    load, ready, said = day_loads(inputs)
    return SlotTimes(
        hours=np.repeat(shares, SLOTS_A_DAY, axis=0) * hours / SLOTS_A_DAY,
        days=np.repeat(shares, SLOTS_A_DAY, axis=0) * hours / HOURS_A_DAY,
        day_type=np.repeat(np.arange(types), SLOTS_A_DAY),
        start_h=np.tile(np.arange(SLOTS_A_DAY) * HOURS_A_DAY / SLOTS_A_DAY, types),
        grid=_together([pair[0] for pair in each]),
        price=_together([pair[1] for pair in each]),
        of_jobs=_of_jobs(inputs, cuts, each),
        load_fraction=load,
        ready_load_fraction=ready,
        calendar=tuple(cut.calendar for cut in cuts) if known else ({},) * periods,
        notes=(*notes, *more, *said),
    )


def _flat(ratio: Traced) -> Ratios[Traced]:
    return Ratios(ratio, ratio, ratio)


def _together(each: Sequence[Ratios[Traced]]) -> Ratios[tuple[Traced, ...]]:
    """Site by site, those of a site period by period."""
    return Ratios(
        tuple(one.fixed for one in each), tuple(one.day for one in each), tuple(one.period for one in each)
    )


def _of_jobs(
    inputs: Inputs, cuts: Sequence[_Cut], each: Sequence[tuple[Ratios[Traced], Ratios[Traced]]]
) -> dict[int, OfJob]:
    """Ratios of pausable jobs that begin or end inside a period; site by site, as `each`."""
    found: dict[int, OfJob] = {}
    for j, job in enumerate(inputs.scenario.training):
        inside = [cut.within(job.earliest, job.deadline) for cut in cuts]
        if not job.pausable or not any(days.any() and not days.all() for days in inside):
            continue
        pairs = [(one.period, other.period) for one, other in each]
        for s in range(len(inputs.scenario.sites)):
            for t, (cut, days) in enumerate(zip(cuts, inside, strict=True)):
                if days.any() and not days.all():
                    pairs[s * len(cuts) + t] = cut.in_window(s, days, job.name)
        found[j] = OfJob(tuple(one for one, _ in pairs), tuple(other for _, other in pairs))
    return found


def _hour_weights(policy: Policy) -> tuple[float, float]:
    """Weights of money and carbon by which hours are the best: those of what is minimised first."""
    first = policy.first if policy.objective == "lexicographic" else policy.objective
    if first == "carbon":
        return 0.0, 1.0
    return 1.0, float(policy.carbon_price_usd_per_kgco2e or 0.0) if first == "weighted" else 0.0


class _Cut:
    """One period: its days, which type each is of, and the ratios of each site."""

    def __init__(
        self,
        inputs: Inputs,
        period: int,
        days: NDArray[np.intp],
        shared: Sequence[Day],
        hourly: Sequence[tuple[KnownHours | None, KnownHours | None]],
        types_and_skies: tuple[int, int],
    ) -> None:
        types, skies = types_and_skies
        self.inputs, self.period, self.shared, self.hourly = inputs, period, shared, hourly
        known = [one.on(shared) for pair in zip(*hourly, strict=True) for one in pair if one is not None]
        self.day_type = _under_skies(_types(known, days, types // skies), skies)
        self.days = chosen("days", days.astype(float), "days of the calendar months of the period")
        self.columns = {
            "days": self.days,
            "day_type": chosen("day_type", self.day_type.astype(float), "by Ward's method, all together"),
            "slots_a_day": chosen("slots_a_day", float(SLOTS_A_DAY), "two hours each"),
            "types": chosen("types", float(types), "solve.slots"),
        }
        self.count = types * SLOTS_A_DAY

    def ratios(self, site: int) -> tuple[Ratios[Traced], Ratios[Traced]]:
        """Those of the grid and of the price of a site (Y)."""
        grid, price = self._both(site)
        return self._cut(grid), self._cut(price)

    @property
    def calendar(self) -> dict[Day, int]:
        """The type of each day."""
        days = [self.shared[int(day)] for day in np.asarray(self.days.value)]
        return dict(zip(days, self.day_type.tolist(), strict=True))

    def within(self, first: date, last: date) -> NDArray[np.bool_]:
        """Which days of the period are in a window."""
        return days_in_window(self.inputs, self.period, list(self.calendar), first, last)

    def in_window(self, site: int, days: NDArray[np.bool_], name: str) -> tuple[Traced, Traced]:
        """Those of work that is free among some days."""
        within = chosen("within_ratio", days.astype(float), f"days from earliest to deadline of {name}")
        known = self.inputs.fact("planning.slots.known_in_period")
        grid, price = (
            self._flat(one)
            if one.known is None
            else derive(
                window_slot_ratio, **one.moved(self.columns), within_ratio=within, known_fraction=known
            )
            for one in self._both(site)
        )
        return grid, price

    def _both(self, site: int) -> tuple[_Hours, _Hours]:
        """Hours of the grid and of the price, and the order that both have."""
        known = self.hourly[site]
        grid, price = self._hours(known[0], _NO_GRID), self._hours(known[1], _NO_PRICE)
        signal = None if None in known else self._signal(site, grid, price)
        return (
            _Hours(known[0], grid, grid if signal is None else signal, _NO_GRID),
            _Hours(known[1], price, price if signal is None else signal, _NO_PRICE),
        )

    def _hours(self, known: KnownHours | None, otherwise: str) -> Traced:
        if known is None:
            return chosen("hours_ratio", np.ones(len(self.shared) * HOURS_A_DAY), otherwise)
        return chosen("hours_ratio", known.on(self.shared), known.said)

    def _signal(self, site: int, grid: Traced, price: Traced) -> Traced:
        """By what hours are good or bad where both intensity and price differ."""
        item, policy = site * self.inputs.periods + self.period, self.inputs.scenario.policy
        money, carbon = _hour_weights(policy)
        return derive(
            signal_ratio,
            price_ratio=price,
            grid_ratio=grid,
            days=self.days,
            electricity_usd_per_kwh=self.inputs.electricity[item],
            grid_kgco2e_per_kwh=self.inputs.grid[item],
            money_weight_ratio=chosen("money_weight_ratio", money, "policy.objective"),
            carbon_weight_usd_per_kgco2e=chosen("carbon_weight_usd_per_kgco2e", carbon, "policy.objective"),
        )

    def _flat(self, one: _Hours) -> Traced:
        return chosen("slot_ratio", np.ones(self.count), one.otherwise)

    def _cut(self, one: _Hours) -> Ratios[Traced]:
        if one.known is None:
            return _flat(self._flat(one))
        if float(np.mean(one.known.on(list(self.calendar)))) < 0:
            label = self.inputs.scenario.horizon.period_labels[self.period]
            raise InputError(f"price_shape: the mean price of {label} is below zero ({one.known.said})")
        moved = one.moved(self.columns)
        in_day, in_period = (
            self.inputs.fact(f"planning.slots.known_in_{window}") for window in ("day", "period")
        )
        return Ratios(
            derive(fixed_slot_ratio, hours_ratio=one.hours, **self.columns),
            derive(day_slot_ratio, **moved, known_fraction=in_day),
            derive(period_slot_ratio, **moved, known_fraction=in_period),
        )


@dataclass(frozen=True, eq=False)
class _Hours:
    """Hours of a grid or a price of a site, and in which order they are the best."""

    known: KnownHours | None
    hours: Traced
    signal: Traced
    otherwise: str  # why they are flat where they are not known

    def moved(self, columns: Mapping[str, Traced]) -> dict[str, Traced]:
        """What a ratio of work that moves is made of."""
        return {"hours_ratio": self.hours, "signal_ratio": self.signal, **columns}


_NO_GRID = "no hours of this grid are known: it is taken as flat"
_NO_PRICE = "no hours of this price are stated: it is the same at all hours"


def _skies(inputs: Inputs) -> int:
    """How many kinds of sky each type of day has: clear and dull where a site says how they differ."""
    return 2 if any(one.solar_spread_fraction for one in inputs.scenario.sites) else 1


def _under_skies(day_type: NDArray[np.intp], skies: int) -> NDArray[np.intp]:
    """Days of each type under each sky in turn, so that those of one sky are like those of the other."""
    found = day_type * skies
    for one in np.unique(day_type):
        days = np.flatnonzero(day_type == one)
        found[days] += np.arange(len(days)) % skies
    return found


def _types(hours: Sequence[NDArray[np.float64]], days: NDArray[np.intp], types: int) -> NDArray[np.intp]:
    """Types of the days of a period, by all series together, each over its mean."""
    columns = [one.reshape(-1, HOURS_A_DAY)[days] for one in hours]
    if not columns:
        return np.zeros(len(days), dtype=np.intp)
    scaled = [one / max(float(one.mean()), 1e-12) for one in columns]
    return day_types(day_values=np.concatenate(scaled, axis=1), types=types)
