"""What batteries and the sun at the sites add up to, by plain sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solver.problem import Problem
from solver.solution import Decisions, SlotUse
from solver.tables import Flags, Floats

FLOWS = ("charge", "discharge", "stored", "sun", "sun_moved")  # of sites, in `SlotUse`


def has_energy(problem: Problem) -> Flags:
    """Sites with a battery or the sun [S]; none where the problem has no slots."""
    if not len(problem.slots):
        return np.zeros(len(problem.site_names), dtype=bool)
    return problem.site_energy.stated()


def without_energy(problem: Problem) -> Problem:
    """The problem without batteries and the sun: a plan of it is one of the problem."""
    table = problem.site_energy
    nothing = {name: np.zeros_like(getattr(table, name)) for name in ("most_kwh", "solar_most_kw", "sun_kw")}
    return replace(problem, site_energy=replace(table, **nothing))


def shares_energy(problem: Problem) -> Flags:
    """Limits of shared power under which some site has a battery or the sun [F]."""
    sites = problem.limits.shared_power_sites & has_energy(problem)
    found: Flags = np.any(sites, axis=1, keepdims=True)[:, 0]
    return found


def battery_kwh(problem: Problem, chosen: Decisions) -> Floats:
    """What is bought at each site [S]; who says nothing of it buys none."""
    return _bought(problem, chosen.battery_kwh)


def solar_kw(problem: Problem, chosen: Decisions) -> Floats:
    """What of the sun's cells is bought at each site [S]; who says nothing of it buys none."""
    return _bought(problem, chosen.solar_kw)


def _bought(problem: Problem, amounts: Floats) -> Floats:
    found: Floats = np.zeros(len(problem.site_names)) + (amounts if amounts.size else 0.0)
    return found


def installed_usd(problem: Problem, chosen: Decisions) -> Floats:
    """Cash of each period for batteries and the sun's cells that are put up.

    c[t] = sum_s (battery_capex[s,t] * battery[s] + solar_capex[s,t] * solar[s])
    """
    table = problem.site_energy
    if not len(problem.slots):
        return np.zeros(problem.periods)
    found: Floats = battery_kwh(problem, chosen) @ table.battery_capex_usd_per_kwh
    return found + solar_kw(problem, chosen) @ table.solar_capex_usd_per_kw


def flows_kw(problem: Problem, used: SlotUse | None) -> tuple[Floats, Floats, Floats, Floats]:
    """Charge, discharge, sun on fixed load and other sun [S, T, Y]; who says nothing of them uses none."""
    nothing = np.zeros((len(problem.site_names), problem.periods, len(problem.slots)))
    if used is None or not used.charge.size:
        return nothing, nothing, nothing, nothing
    return used.charge, used.discharge, used.sun, used.sun_moved


def net_kw(problem: Problem, used: SlotUse | None) -> Floats:
    """What a site draws from the grid over its load, in the mean of each slot [S, T, Y].

    n[s,t,y] = charge[s,t,y] - discharge[s,t,y] - sun[s,t,y] - sun_moved[s,t,y]
    """
    charge, discharge, sun, sun_moved = flows_kw(problem, used)
    found: Floats = charge - discharge - sun - sun_moved
    return found


def net_kwh(problem: Problem, chosen: Decisions) -> Floats:
    """The same through each period [S, T].

    E[s,t] = sum_y h[y,t] * n[s,t,y]
    """
    if not len(problem.slots):
        return np.zeros((len(problem.site_names), problem.periods))
    found: Floats = (net_kw(problem, chosen.slots) * problem.slots.hours.T).sum(axis=2)
    return found


def energy_terms(problem: Problem, chosen: Decisions, kind: str) -> dict[str, Floats]:
    """Money (`usd`) or carbon (`kgco2e`) of batteries and of the sun, by site [S, T].

    battery = b[s] * c_battery[s,t];  solar = k[s] * c_solar[s,t]
    store = sum_y h[y,t] * (charge - discharge) * c_moved[s,t,y]
    sun = - sum_y h[y,t] * (sun * c_fixed[s,t,y] + sun_moved * c_least[s,t,y])
    """
    nothing = np.zeros((len(problem.site_names), problem.periods))
    if not len(problem.slots):
        return dict.fromkeys(("battery", "solar", "store", "sun"), nothing)
    table, hours = problem.site_energy, problem.slots.hours.T
    charge, discharge, sun, sun_moved = flows_kw(problem, chosen.slots)
    moved, fixed, least = (getattr(table, f"{load}_{kind}_per_kwh") for load in ("moved", "fixed", "least"))
    return {
        "battery": battery_kwh(problem, chosen)[:, None] * getattr(table, f"battery_{kind}_per_kwh"),
        "solar": solar_kw(problem, chosen)[:, None] * getattr(table, f"solar_{kind}_per_kw"),
        "store": (hours * (charge - discharge) * moved).sum(axis=2),
        "sun": -(hours * (sun * fixed + sun_moved * least)).sum(axis=2),
    }


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
