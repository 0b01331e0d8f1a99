"""The energy side of one site: battery, sun and demand charge against a load that is given.

A linear program over the slots of every period. Letters: periods t, slots y, y' the slot before y on its day,
l hours of a slot on its day, b kilowatt-hours of battery that are bought, r its power for a kilowatt-hour,
e the efficiency of one way.

    import[t,y] = load[t,y] + charge[t,y] - discharge[t,y] - used[t,y] >= 0;  used[t,y] <= sun[t,y]
    stored[t,y] = stored[t,y'] + l (e charge[t,y] - discharge[t,y] / e) <= b;  charge, discharge <= r b
    import[t,y] <= peak[t];  import[t,y] <= feed[t];  b <= most

A day ends as it began, so nothing is stored from one type of day to another. Nothing is sold to the grid.
The battery takes the intensity and the price of work that moves within its day, the sun those of load which
cannot move (carbon/slots.py).

Minimised is money weight * USD + carbon weight * kgCO2e of what changes against the load alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pulp

from solver import backend
from solver.problem import Objective
from solver.tables import Floats, Whole

CLOSE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A site and what may be had there; slots as in `solver.slots.Slots`, with periods first."""

    load_kw: Floats  # [T, Y]
    hours: Floats  # [T, Y]
    before: Whole  # [Y]
    slot_h: float  # of a day
    moved_usd_per_kwh: Floats  # [T, Y] of what moves within its day
    fixed_usd_per_kwh: Floats  # [T, Y] of what cannot move
    moved_kgco2e_per_kwh: Floats  # [T, Y]
    fixed_kgco2e_per_kwh: Floats  # [T, Y]
    peak_usd_per_kw: Floats  # [T]
    feed_kw: Floats  # [T]
    sun_kw: Floats  # [T, Y]
    most_kwh: float = 0.0
    kw_per_kwh: float = 0.0
    one_way_fraction: float = 1.0
    battery_usd_per_kwh: float = 0.0
    battery_kgco2e_per_kwh: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """What is decided, in mean kilowatts of a slot, and what it changes."""

    battery_kwh: float
    charge_kw: Floats  # [T, Y]
    discharge_kw: Floats
    stored_kwh: Floats
    used_kw: Floats  # of the sun
    usd: float
    kgco2e: float

    def import_kw(self, site: Site) -> Floats:
        """What the site draws from the grid [T, Y]."""
        drawn: Floats = site.load_kw + self.charge_kw - self.discharge_kw - self.used_kw
        return drawn


class WrongUse(RuntimeError):
    """An answer breaks a rule: a fault of ours or of the engine."""


def best_use(site: Site, objective: Objective, *, time_limit_s: float = 20.0) -> Use:
    """The least that the site takes.

    Raises:
        ValueError: its load is more than its feed carries, whatever is done.
        TimeoutError: nothing was found in the time limit.
        WrongUse: the engine's answer breaks a rule.
    """
    model = pulp.LpProblem("site", pulp.LpMinimize)
    periods, count = site.load_kw.shape
    places = [(t, y) for t in range(periods) for y in range(count) if site.hours[t, y] > 0]
    battery = pulp.LpVariable("battery", 0, site.most_kwh)
    peak = [pulp.LpVariable(f"peak_{t}", 0) for t in range(periods)]

    def amounts(stem: str) -> dict[tuple[int, int], pulp.LpVariable]:
        return {(t, y): pulp.LpVariable(f"{stem}_{t}_{y}", 0) for t, y in places}

    charge, discharge, stored, used = (amounts(stem) for stem in ("charge", "discharge", "stored", "used"))
    weight = _weights(site, objective)
    total = weight["battery"] * battery + pulp.lpSum(
        objective.money_weight * float(site.peak_usd_per_kw[t]) * peak[t] for t in range(periods)
    )
    for t, y in places:
        at, back = (t, y), (t, int(site.before[y]))
        used[at].upBound = float(site.sun_kw[t, y])
        drawn = float(site.load_kw[t, y]) + charge[at] - discharge[at] - used[at]
        total += float(weight["moved"][t, y]) * (charge[at] - discharge[at])
        total += -float(weight["fixed"][t, y]) * used[at]
        model += drawn >= 0
        model += drawn <= peak[t]
        if np.isfinite(site.feed_kw[t]):
            model += drawn <= float(site.feed_kw[t])
        ways = site.one_way_fraction * charge[at] - (1 / site.one_way_fraction) * discharge[at]
        model += stored[at] == stored[back] + site.slot_h * ways
        model += stored[at] <= battery
        model += charge[at] <= site.kw_per_kwh * battery
        model += discharge[at] <= site.kw_per_kwh * battery
    model.setObjective(total)
    found = backend.solve(model, gap_fraction=1e-9, time_limit_s=time_limit_s)
    if found.status is backend.Status.INFEASIBLE:
        raise ValueError("the feed carries less than the load of the site, whatever its battery and sun do")
    if not found.status.has_plan:
        raise TimeoutError(f"no use of battery and sun was found within {time_limit_s:g} s")

    def read(variables: dict[tuple[int, int], pulp.LpVariable]) -> Floats:
        values = np.zeros(site.load_kw.shape)
        for at, variable in variables.items():
            values[at] = max(found.values.get(variable.name, 0.0), 0.0)
        return values

    use = Use(
        max(found.values.get("battery", 0.0), 0.0),
        read(charge),
        read(discharge),
        read(stored),
        read(used),
        0.0,
        0.0,
    )
    use = replace(use, usd=_usd(site, use), kgco2e=_kgco2e(site, use))
    if broken := broken_rules(site, use):
        raise WrongUse("; ".join(broken))
    return use


def _weights(site: Site, objective: Objective) -> dict[str, Floats]:
    """What a kilowatt of a slot, and a kilowatt-hour of battery, take by the weights of the objective."""
    money, carbon = objective.money_weight, objective.carbon_weight
    return {
        "moved": site.hours * (money * site.moved_usd_per_kwh + carbon * site.moved_kgco2e_per_kwh),
        "fixed": site.hours * (money * site.fixed_usd_per_kwh + carbon * site.fixed_kgco2e_per_kwh),
        "battery": np.asarray(money * site.battery_usd_per_kwh + carbon * site.battery_kgco2e_per_kwh).item(),
    }


def _usd(site: Site, use: Use) -> float:
    """Money over that of the load alone: energy, peaks, battery.

    U = sum_t,y h ((c - d) p_day - g p_fixed) + sum_t (max_y import - max_y load) D + b u
    """
    moved = (use.charge_kw - use.discharge_kw) * site.moved_usd_per_kwh
    energy = float((site.hours * (moved - use.used_kw * site.fixed_usd_per_kwh)).sum())
    there = site.hours > 0
    peaks = [np.where(there, kw, 0.0).max(axis=1) for kw in (use.import_kw(site), site.load_kw)]
    return (
        energy
        + float((site.peak_usd_per_kw * (peaks[0] - peaks[1])).sum())
        + (use.battery_kwh * site.battery_usd_per_kwh)
    )


def _kgco2e(site: Site, use: Use) -> float:
    """Carbon over that of the load alone.

    C = sum_t,y h ((c - d) I_day - g I_fixed) + b m
    """
    moved = (use.charge_kw - use.discharge_kw) * site.moved_kgco2e_per_kwh
    sun = use.used_kw * site.fixed_kgco2e_per_kwh
    return float((site.hours * (moved - sun)).sum()) + use.battery_kwh * site.battery_kgco2e_per_kwh


def broken_rules(site: Site, use: Use) -> list[str]:
    """Rules that a use breaks, worked out without the program."""
    there, scale = site.hours > 0, max(1.0, float(site.load_kw.max(initial=0.0)))
    slack = CLOSE * scale
    drawn, most = use.import_kw(site), site.kw_per_kwh * use.battery_kwh
    ways = site.one_way_fraction * use.charge_kw - use.discharge_kw / site.one_way_fraction
    after = use.stored_kwh[:, site.before] + site.slot_h * ways
    rules = {
        "sells to the grid": (drawn < -slack) & there,
        "draws more than the feed carries": (drawn > site.feed_kw[:, None] + slack) & there,
        "uses more sun than there is": use.used_kw > site.sun_kw + slack,
        "stores more than it holds": use.stored_kwh > use.battery_kwh + slack,
        "charges or discharges too fast": np.maximum(use.charge_kw, use.discharge_kw) > most + slack,
        "loses or makes energy": (np.abs(use.stored_kwh - after) > slack * site.slot_h) & there,
        "buys more battery than it may": np.asarray(use.battery_kwh > site.most_kwh + slack),
    }
    return [rule for rule, where in rules.items() if where.any()]


def matched_fractions(load_kw: Floats, clean_kw: Floats, hours: Floats) -> tuple[float, float]:
    """Share of a load that clean energy covers by the year and by the hour; the second is never more.

    year: min(sum h C, sum h L) / sum h L;  hour: sum h min(C, L) / sum h L

    Source: Google, "24/7 Carbon-Free Energy: Methodologies and Metrics", 2021, on slots;
    the clean share of the grid itself is left out.
    """
    load, clean = float((hours * load_kw).sum()), float((hours * clean_kw).sum())
    if load <= 0:
        return 0.0, 0.0
    return min(clean, load) / load, float((hours * np.minimum(load_kw, clean_kw)).sum()) / load
