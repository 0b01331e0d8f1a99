"""The integer program of a placement, and a bound that every placement keeps, without it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pulp
from scipy.optimize import linprog

from solver import backend
from solver.placing import Placement, Placing, WrongPlacement, broken_rules, steps_of
from solver.tables import Floats, Whole

MOST_PIECES, MOST_STEPS = 400, 4000  # whole numbers and fractions of a program that is worth its tree
ROUNDS, TIGHT = 60, 1e-7


@dataclass(frozen=True, slots=True)
class Bound:
    """A time that no placement is below, and the price of a gigabyte of each tier that gives it."""

    seconds: float
    prices: tuple[float, ...]  # seconds of all devices together for a gigabyte


def lower_bound(placing: Placing) -> Bound:
    """The better of two bounds that hold for every placement.

    T >= max over prices p >= 0 of 1/D [sum_j min_w R[w](p) - D sum_k p[k] capacity[k]]
    R[w](p) = count[w] (sum_i min_k (seconds[i,k] + p[k] gb[i]) + sent[w]) + D sum over steps everywhere
    T >= max_j min_w (what the device takes that holds one piece of w, all of it in the fastest tier)

    The first is the program with fractions of everything: its dual, whose prices are found by cutting planes.
    Every price gives a bound, so that the search may end early. Infinite where the tiers hold too little.
    """
    tiers, devices = placing.capacity_gb.size, placing.devices
    alone = _of_ways(placing, placing.seconds[:, 0], 1.0) + placing.sent_s
    best_s = float(_least(placing, alone).max())
    prices, best_prices, most = np.zeros(tiers), np.zeros(tiers), np.inf
    planes: list[tuple[Floats, float]] = []
    held = placing.capacity_gb * devices
    ceiling = 2.0 * float(placing.seconds[:, -1].max()) * devices / float(placing.gb.min())
    for _ in range(ROUNDS):
        value, slope = _dual(placing, prices)
        seconds = value / devices
        if seconds > best_s:
            best_s, best_prices = seconds, prices
        planes.append((slope, value - float(slope @ prices)))
        # The highest point under all planes so far: variables are the prices and the height.
        rows = np.array([[*(-slope), 1.0] for slope, _ in planes])
        found = linprog(
            np.array([*np.zeros(tiers), -1.0]),
            A_ub=rows,
            b_ub=np.array([at for _, at in planes]),
            bounds=[(0.0, ceiling)] * tiers + [(None, None)],
        )
        if found.x is None:
            break
        prices, most = found.x[:tiers], float(found.x[-1])
        if most - best_s * devices <= TIGHT * max(1e-30, abs(most)):
            break
    if _too_much(placing, held):
        return Bound(np.inf, tuple(best_prices))
    return Bound(best_s, tuple(best_prices))


def _too_much(placing: Placing, held: Floats) -> bool:
    """Whether even the smallest ways of all things exceed what the devices hold, together or two by two."""
    size = np.where(placing.everywhere, placing.devices, placing.count[placing.way]) * placing.gb
    ways = np.bincount(placing.way, weights=size, minlength=placing.thing.size).astype(float)
    if float(_least(placing, ways).sum()) > float(held.sum()) * (1 + 1e-9):
        return True
    # Two pieces above half of a device share none.
    large = _of_ways(placing, placing.gb, 0.0) > placing.capacity_gb.sum() / 2 * (1 + 1e-9)
    return float(_least(placing, np.where(large, placing.count, 0).astype(float)).sum()) > placing.devices


def _of_ways(placing: Placing, of_steps: Floats, everywhere: float) -> Floats:
    """Sums over the steps of each way, those everywhere `everywhere` times."""
    weight = np.where(placing.everywhere, everywhere, 1.0)
    return np.bincount(placing.way, weights=of_steps * weight, minlength=placing.thing.size).astype(float)


def _least(placing: Placing, of_ways: Floats) -> Floats:
    """The least over the ways of each thing."""
    first = np.searchsorted(placing.thing, np.arange(placing.things))
    return np.asarray(np.minimum.reduceat(of_ways, first), dtype=float)


def priced_steps(placing: Placing, prices: Floats) -> tuple[Whole, Floats]:
    """The tier that each step takes at these prices, and its seconds and price there."""
    priced = placing.seconds + prices[None, :] * placing.gb[:, None]
    tier: Whole = priced.argmin(axis=1)
    return tier, priced[np.arange(tier.size), tier]


def priced_ways(placing: Placing, prices: Floats) -> Floats:
    """What each way takes of all devices together at these prices."""
    cost = priced_steps(placing, prices)[1]
    times = np.where(placing.everywhere, placing.devices, placing.count[placing.way])
    taken = np.bincount(placing.way, weights=cost * times, minlength=placing.thing.size)
    return np.asarray(taken + placing.count * placing.sent_s, dtype=float)


def chosen_ways(placing: Placing, cost: Floats) -> Whole:
    """The cheapest way of each thing."""
    order = np.lexsort((cost, placing.thing))
    first = np.searchsorted(placing.thing[order], np.arange(placing.things))
    ways: Whole = order[first]
    return ways


def _dual(placing: Placing, prices: Floats) -> tuple[float, Floats]:
    """The value of the dual at prices, and its slope there."""
    cost = priced_ways(placing, prices)
    ways = chosen_ways(placing, cost)
    tier, _ = priced_steps(placing, prices)
    used = np.isin(placing.way, ways)
    size = np.where(placing.everywhere, placing.devices, placing.count[placing.way]) * placing.gb
    held = np.bincount(tier[used], weights=size[used], minlength=prices.size)
    room = placing.capacity_gb * placing.devices
    return float(cost[ways].sum() - prices @ room), held - room


def is_small(placing: Placing) -> bool:
    """Whether the integer program is worth building."""
    steps = placing.way.size * placing.devices * placing.capacity_gb.size
    return placing.thing.size * placing.devices <= MOST_PIECES and steps <= MOST_STEPS


def program(placing: Placing) -> pulp.LpProblem:
    """The rows of `solver.placing`; devices are alike, so they stand in the order of what they take."""
    devices, tiers = range(placing.devices), range(placing.capacity_gb.size)
    ways, steps = range(placing.thing.size), range(placing.way.size)
    model = pulp.LpProblem("placement", pulp.LpMinimize)
    longest = pulp.LpVariable("T", 0)
    choose = [pulp.LpVariable(f"choose_{w}", cat="Binary") for w in ways]
    pieces = [
        [pulp.LpVariable(f"pieces_{w}_{d}", 0, int(placing.count[w]), cat="Integer") for d in devices]
        for w in ways
    ]
    kept = [[[pulp.LpVariable(f"kept_{i}_{d}_{k}", 0) for k in tiers] for d in devices] for i in steps]
    model.setObjective(1.0 * longest)
    for j in range(placing.things):
        model += pulp.lpSum(choose[w] for w in ways if placing.thing[w] == j) == 1, f"thing_{j}"
    for w in ways:
        model += pulp.lpSum(pieces[w]) == int(placing.count[w]) * choose[w], f"pieces_{w}"
    for i in steps:
        w = int(placing.way[i])
        for d in devices:
            held = choose[w] if placing.everywhere[i] else pieces[w][d]
            model += pulp.lpSum(kept[i][d]) == held, f"tiers_{i}_{d}"
    taken = []
    for d in devices:
        for k in tiers:
            room = pulp.lpSum(float(placing.gb[i]) * kept[i][d][k] for i in steps)
            model += room <= float(placing.capacity_gb[k]), f"room_{d}_{k}"
        read = pulp.lpSum(float(placing.seconds[i, k]) * kept[i][d][k] for i in steps for k in tiers)
        taken.append(read + pulp.lpSum(float(placing.sent_s[w]) * pieces[w][d] for w in ways))
    model += taken[0] <= longest, "time_0"
    for d in devices[1:]:
        model += taken[d] <= taken[d - 1], f"time_{d}"
    return model


def solved(
    placing: Placing, *, below: float = np.inf, time_limit_s: float = 20.0, gap_fraction: float = 1e-6
) -> tuple[Placement | None, float]:
    """The best placement below a time, None where there is none; and a time that no placement is below.

    Raises:
        WrongPlacement: the engine's answer breaks a rule.
    """
    model = program(placing)
    scale = float(placing.seconds.max() * placing.gb.size) or 1.0
    if np.isfinite(below):
        model.variablesDict()["T"].upBound = below * (1 + 1e-9)
    found = backend.solve(model, gap_fraction=gap_fraction, time_limit_s=time_limit_s)
    if found.status is backend.Status.INFEASIBLE:
        return None, below
    if not found.status.has_plan:
        return None, max(found.bound, 0.0)
    devices, tiers = range(placing.devices), range(placing.capacity_gb.size)

    def value(name: str) -> float:
        return max(found.values.get(name, 0.0), 0.0)

    ways = chosen_ways(placing, np.array([-value(f"choose_{w}") for w in range(placing.thing.size)]))
    pieces = np.array([[round(value(f"pieces_{w}_{d}")) for d in devices] for w in ways])
    steps = steps_of(placing, ways)
    kept = np.array([[[value(f"kept_{i}_{d}_{k}") for k in tiers] for d in devices] for i in steps])
    placement = Placement(ways, pieces, steps, kept)
    if broken := broken_rules(placing, placement):
        raise WrongPlacement("; ".join(broken))
    if placement.step_s(placing) > found.objective + 1e-6 * scale:
        raise WrongPlacement("takes longer than the program says")
    return placement, max(found.bound, 0.0)
