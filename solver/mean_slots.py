"""Few slots in place of many, each the mean of those that it joins: what the best operation cannot be below.

What any plan does in joined slots has a mean, by their hours, that is a plan of the smaller problem: rows of
each slot hold in the mean, and nothing takes less than its least price among them. What is whole is the same
in all slots, so that it is found where a slot is one of few; `fewer_slots` joins the other way, where each
plan of the smaller problem is one of the finer. Days are joined, hours that a stop loses are free, and where
contracts, batteries or the sun count energy by the hour there is no such problem.

Where all types of days have slots of the same lengths, neighbours may be joined instead of slots that are
alike in what has to be ready, and a change from one to the next costs what it does. On a day, a mean over
neighbours falls no further than what it is of (from a part with a high mean to one with a low, some slot of
the first is as high and one of the second as low), and the mean of days falls no further than days do in the
mean, since what falls is convex:

    sum_d days[d] * sum_y max(0, x[d,y'] - x[d,y])  >=  (sum_d days[d]) * sum_g max(0, x[g'] - x[g])

Of 8 node groups in 24 slots, three joined ones bound 1.1 % higher so, of 72 2.7 %; of the shipped quarter
0.02 %, for which a search with whole numbers takes longer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from scipy.cluster.hierarchy import fcluster, ward

from solver.account_energy import has_energy
from solver.problem import Problem
from solver.slots import BySlot, Slots
from solver.tables import Floats, Whole

Joined = TypeVar("Joined", bound=BySlot)
TINY = 1e-9  # hours of a type of day that a period lacks
CHANGES = ("stop_", "wake_", "boot_")  # what is taken from a slot to the next
SAME = 1e-6  # hours


def mean_slots(problem: Problem, parts: int, *, changes: bool = False) -> Problem:
    """The problem with its slots joined to so many at most; where `changes`, neighbours, if days allow it.

    No plan of the problem costs less than the best of this one. It stays as it is where there are no more
    slots than that, or where energy is counted by the hour.
    """
    if len(problem.slots) <= parts or len(problem.contracts) or has_energy(problem).any():
        return problem
    neighbours = _neighbours(problem, parts) if changes else None
    of = _alike(problem, parts) if neighbours is None else neighbours
    free = ("stop_h",) if neighbours is not None else CHANGES
    hours = problem.slots.hours.T
    joins = np.eye(int(of.max()) + 1)[of]  # [Y, joined]
    wide, every = hours @ joins, np.arange(joins.shape[1])

    def mean(values: Floats) -> Floats:
        found: Floats = (values * hours) @ joins / np.maximum(wide, TINY)
        return found

    def least(values: Floats) -> Floats:
        return np.stack([values[..., of == one].min(axis=-1) for one in every], axis=-1)

    def joined(table: Joined) -> Joined:
        """What is said of an hour by its least; what is said of a slot by the least of an hour in it."""
        columns = {}
        for name, shape in table.SHAPES.items():
            values = getattr(table, name)
            if name.startswith(free):
                columns[name] = np.zeros_like(values)
            elif shape.axes == "*TY" and name.endswith("_per_node_h"):
                columns[name] = least(values)
            elif shape.axes == "*TY":
                columns[name] = least(values / np.maximum(hours, TINY)) * wide
        return replace(table, **columns)  # type: ignore[type-var]  # every table is a dataclass

    windows, pausable = problem.windows, joined(problem.pausable_shifts)
    return replace(
        problem,
        slots=Slots(
            hours=wide.T,
            before=(every - 1) % len(every),
            day_type=0 * every,
            days=np.broadcast_to(_days(problem.slots), (len(every), problem.periods)).copy(),
        ),
        slot_demand=replace(problem.slot_demand, ready_fraction=mean(problem.slot_demand.ready_fraction)),
        windows=replace(
            windows,
            within_day=np.zeros_like(windows.within_day),
            ramp_fraction=np.full_like(windows.ramp_fraction, np.inf),
        ),
        work_shifts=joined(problem.work_shifts),
        pausable_shifts=replace(pausable, ramp_nodes=np.full_like(pausable.ramp_nodes, np.inf)),
        resting=joined(problem.resting),
        switching=joined(problem.switching),
        drawing=problem.drawing.nothing(len(problem.drawing), problem.periods, len(every)),
        site_energy=joined(problem.site_energy),
    )


def _neighbours(problem: Problem, parts: int) -> Whole | None:
    """Which joined slot each slot is of [Y], in the order of the clock; None where days differ in theirs.

    Days begin where what has to be ready falls most from a part to the next: what wakes again has a price.
    """
    slots, types = problem.slots, np.unique(problem.slots.day_type)
    a_day = len(slots) // len(types)
    clock = np.arange(len(slots)) % a_day
    if a_day < parts or not np.array_equal(slots.day_type, np.repeat(types, a_day)):
        return None
    if not np.array_equal(slots.before, np.arange(len(slots)) - clock + (clock - 1) % a_day):
        return None
    lengths = np.divide(slots.hours, slots.days, out=np.zeros_like(slots.hours), where=slots.days > 0)
    lengths = lengths.reshape(len(types), a_day, -1)
    if (np.abs(lengths - lengths.max(axis=0)) > SAME)[slots.days.reshape(lengths.shape) > 0].any():
        return None
    turned = [(clock - turn) % a_day * parts // a_day for turn in range(a_day)]
    return max(turned, key=lambda of: _falls(problem, of))


def _falls(problem: Problem, of: Whole) -> float:
    """How much what has to be ready falls from a part to the next, in the mean of each."""
    hours, joins = problem.slots.hours.T, np.eye(int(of.max()) + 1)[of]
    means = (problem.slot_demand.ready_fraction * hours) @ joins / np.maximum(hours @ joins, TINY)
    return float(np.maximum(np.roll(means, 1, axis=-1) - means, 0.0).sum())


def _alike(problem: Problem, parts: int) -> Whole:
    """Which joined slot each slot is of [Y]: by Ward's method on what has to be ready, else by the clock."""
    count = len(problem.slots)
    ready = problem.slot_demand.ready_fraction.reshape(-1, count)
    if not ready.size:
        return np.arange(count) * parts // count
    groups = fcluster(ward(ready.T), parts, "maxclust")
    found: Whole = np.unique(groups, return_inverse=True)[1]
    return found


def _days(slots: Slots) -> Floats:
    """Days of all types [T]."""
    found: Floats = slots.days[np.unique(slots.day_type, return_index=True)[1]].sum(axis=0)
    return found
