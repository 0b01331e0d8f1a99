"""Slots of every period: which hours of a site's year they stand for, and what is emitted in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon.hourly import HourlyIntensity, filled
from carbon.slots import HOURS_A_DAY, day_types
from planner.inputs.resolved import Inputs
from planner.inputs.series import load_series, shipped_series
from planner.physics.equations.slots import (
    clock_load_fraction,
    day_slot_ratio,
    fixed_slot_ratio,
    period_slot_ratio,
)
from planner.trace.errors import InputError
from planner.trace.quantities import Traced, chosen, derive, pick

SLOTS_A_DAY = 12
_FEBRUARY_29 = (2, 29)


@dataclass(frozen=True, eq=False)
class SlotTimes:
    """Slots (Y) of each period (T), type of day by type of day, and what a kilowatt-hour in them emits.

    Ratios are over the mean of the site in the period, site by site as those of `Inputs.site_by_period`: for
    load that cannot move, for work that moves in its day, and for work that moves in the period.
    """

    hours: NDArray[np.float64]  # (Y, T)
    days: NDArray[np.float64]  # (Y, T) days of the type that a slot is of
    day_type: NDArray[np.intp]
    start_h: NDArray[np.float64]
    fixed_ratio: tuple[Traced, ...]
    day_ratio: tuple[Traced, ...]
    period_ratio: tuple[Traced, ...]
    load_fraction: Traced  # of each service in each part of a day (I, 12)
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
        InputError: series that have no day of a year in common.
    """
    policy, slots = inputs.scenario.policy, inputs.scenario.solve.slots
    if not policy.levers or slots == 1:
        return None
    series, notes = _series(inputs)
    varies = any(one is not None for one in series)
    serves = bool(inputs.scenario.services) and policy.levers != ("shift",)
    if not varies and not serves:
        return None
    types = slots // SLOTS_A_DAY if varies else 1
    known = [None if one is None else _days(one) for one in series]
    shared = _shared_days([one[0] for one in known if one is not None])
    count, periods = types * SLOTS_A_DAY, inputs.periods
    shares = np.zeros((types, periods))
    ratios: list[list[list[Traced]]] = [[[] for _ in series] for _ in range(3)]
    flat = chosen("slot_ratio", np.ones(count), "no hours of this grid are known: it is taken as flat")
    facts = (
        [inputs.fact(f"planning.slots.known_in_{window}") for window in ("day", "period")] if varies else []
    )
    for t in range(periods):
        keys = _of_period(inputs, t, shared)
        day_type = _types(known, keys, types)
        shares[:, t] = np.bincount(day_type, minlength=types) / len(day_type)
        for s, one in enumerate(known):
            if one is None:
                for column in ratios:
                    column[s].append(flat)
                continue
            found = _ratios(inputs, s, one, keys, day_type, types, facts)
            for column, ratio in zip(ratios, found, strict=True):
                column[s].append(ratio)
    hours = np.repeat(shares, SLOTS_A_DAY, axis=0) * np.array(inputs.scenario.horizon.hours) / SLOTS_A_DAY
    fixed, day, period = (tuple(one for site in column for one in site) for column in ratios)
    return SlotTimes(
        hours=hours,
        days=np.repeat(shares, SLOTS_A_DAY, axis=0) * np.array(inputs.scenario.horizon.hours) / HOURS_A_DAY,
        day_type=np.repeat(np.arange(types), SLOTS_A_DAY),
        start_h=np.tile(np.arange(SLOTS_A_DAY) * HOURS_A_DAY / SLOTS_A_DAY, types),
        fixed_ratio=fixed,
        day_ratio=day,
        period_ratio=period,
        load_fraction=_loads(inputs),
        notes=tuple(notes),
    )


def _series(inputs: Inputs) -> tuple[list[HourlyIntensity | None], list[str]]:
    """The hours of each site, without gaps, and what has to be said of them."""
    found: list[HourlyIntensity | None] = []
    notes: list[str] = []
    for site in inputs.scenario.sites:
        name = site.hourly_shape or _shipped(site.grid)
        if name is None:
            found.append(None)
            notes.append(f"{site.name}: no hours of its grid are known, so its grid is taken as flat.")
            continue
        own = inputs.scenario.shapes.get(name)
        series = load_series(name, inputs.catalogue) if own is None else own
        done = filled(series=series, rule="line", longest_gap_hours=series.hours)
        found.append(done.series)
        made = "a synthetic profile that nobody measured" if series.made == "synthetic" else "measured"
        gaps = f", {done.filled_hours} missing hours filled by a line" if done.filled_hours else ""
        notes.append(f"{site.name}: hours as in {name} of {str(series.first_hour)[:4]}, {made}{gaps}.")
    return [*found, *(None for _ in inputs.scenario.rental)], notes


def _shipped(grid: str | None) -> str | None:
    """The shipped series of a grid region: it is named for its zone."""
    ends = {f"synthetic-{grid}", f"{grid}-2021"}
    return next((name for name in shipped_series() if name in ends), None)


def _days(series: HourlyIntensity) -> tuple[dict[tuple[int, int], int], NDArray[np.float64], str]:
    """Whole days of a series by month and day, its hours from the first of them on, and what it is."""
    skip = int(-series.first_hour.astype(int) % HOURS_A_DAY)
    values = series.complete()[skip:]
    values = values[: len(values) // HOURS_A_DAY * HOURS_A_DAY]
    first = (series.first_hour + np.timedelta64(skip, "h")).astype("datetime64[D]")
    found: dict[tuple[int, int], int] = {}
    for number in range(len(values) // HOURS_A_DAY):
        day = (first + np.timedelta64(number, "D")).item()
        found.setdefault((day.month, day.day), number)
    found.pop(_FEBRUARY_29, None)
    return (
        found,
        values,
        f"hours of {series.zone} in {str(first)[:4]}, {series.made}; only their shape counts",
    )


def _shared_days(days: Sequence[dict[tuple[int, int], int]]) -> list[tuple[int, int]]:
    """Days of the year that all series have: those of different years are laid side by side by date."""
    if not days:
        return [(1, 1)]
    shared = sorted(set(days[0]).intersection(*days[1:]))
    if not shared:
        raise InputError("hourly_shape: the series of the sites have no day of the year in common")
    return shared


def _of_period(inputs: Inputs, period: int, shared: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The days of the calendar months of a period; all days where a series lacks these months."""
    horizon = inputs.scenario.horizon
    first = horizon.period_starts[period].month
    months = {(first - 1 + i) % 12 + 1 for i in range(horizon.period_months)}
    return [key for key in shared if key[0] in months] or shared


def _types(
    known: Sequence[tuple[dict[tuple[int, int], int], NDArray[np.float64], str] | None],
    keys: list[tuple[int, int]],
    types: int,
) -> NDArray[np.intp]:
    """Types of the days of a period, by the hours of all sites together, each over its mean."""
    columns = []
    for one in known:
        if one is not None:
            days = one[1].reshape(-1, HOURS_A_DAY)[[one[0][key] for key in keys]]
            columns.append(days / max(float(days.mean()), 1e-12))
    if not columns:
        return np.zeros(len(keys), dtype=np.intp)
    return day_types(day_values=np.concatenate(columns, axis=1), types=types)


def _ratios(
    inputs: Inputs,
    site: int,
    known: tuple[dict[tuple[int, int], int], NDArray[np.float64], str],
    keys: list[tuple[int, int]],
    day_type: NDArray[np.intp],
    types: int,
    facts: Sequence[Traced],
) -> tuple[Traced, Traced, Traced]:
    """Ratios of one site in one period (Y)."""
    numbers = np.array([known[0][key] for key in keys], dtype=float)
    columns = {
        "hours_kgco2e_per_kwh": chosen("hours_kgco2e_per_kwh", known[1], known[2]),
        "days": chosen("days", numbers, "days of the calendar months of the period"),
        "day_type": chosen("day_type", day_type.astype(float), "by Ward's method, all sites together"),
        "slots_a_day": chosen("slots_a_day", float(SLOTS_A_DAY), "two hours each"),
        "types": chosen("types", float(types), "solve.slots"),
    }
    in_day, in_period = facts
    return (
        derive(fixed_slot_ratio, **columns),
        derive(day_slot_ratio, **columns, known_fraction=in_day),
        derive(period_slot_ratio, **columns, known_fraction=in_period),
    )


def _loads(inputs: Inputs) -> Traced:
    """Requests of each service in each part of a day over those of its peak hour (I, 12)."""
    services = inputs.scenario.services
    if not services:
        return chosen("load_fraction", np.zeros((0, SLOTS_A_DAY)), "no services")
    row = np.arange(len(services))
    means = [
        inputs.yours(f"services.{one.name}.mean_to_peak", one.mean_to_peak_fraction, "1") for one in services
    ]
    busiest = [
        inputs.fact("traffic.default.busiest_time")
        if one.busiest_time_h is None
        else inputs.yours(f"services.{one.name}.busiest_time", one.busiest_time_h, "h")
        for one in services
    ]
    return derive(
        clock_load_fraction,
        mean_to_peak_fraction=pick(means, row),
        busiest_h=pick(busiest, row),
        slots_a_day=chosen("slots_a_day", float(SLOTS_A_DAY), "two hours each"),
    )
