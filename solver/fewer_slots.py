"""Longer slots: a smaller problem, of which every plan is one of the finer problem, too."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from solver.problem import Problem
from solver.slots import BySlot, Slots
from solver.tables import Floats, Whole

Joined = TypeVar("Joined", bound=BySlot)
TINY = 1e-9  # hours of a type of day that a period lacks


def fewer_slots(problem: Problem, parts: int) -> Problem:
    """The problem with slots of each type of day joined to so many parts of a day, alike in length.

    What happens in a joined slot happens in each of its slots: hours and what is saved add up, prices of an
    hour are their mean, and it has to be ready for its busiest slot. Days begin where the least more has to
    be ready. A problem whose days do not divide so stays as it is.
    """
    a_day = len(problem.slots) // max(int(problem.slots.day_type.max(initial=-1)) + 1, 1)
    if a_day <= parts or a_day % parts:
        return problem
    turned = [_joined(problem.slots, a_day, parts, turn) for turn in range(a_day // parts)]
    return _with(problem, min(turned, key=lambda of: _readiness_h(problem, of)))


def _readiness_h(problem: Problem, of: Whole) -> float:
    """Hours for which services have to be ready, each by its share of the peak."""
    return float((_most(problem.slot_demand.ready_fraction, of) * _sum(problem.slots.hours.T, of)).sum())


def _joined(slots: Slots, a_day: int, parts: int, turn: int) -> Whole:
    """The joined slot that each is of [Y]."""
    clock = np.arange(len(slots)) % a_day
    found: Whole = slots.day_type * parts + (clock - turn) % a_day * parts // a_day
    return found


def _with(problem: Problem, of: Whole) -> Problem:
    slots, first = problem.slots, np.unique(of, return_index=True)[1]
    count, hours = len(first), slots.hours.T
    start = np.array([np.flatnonzero((of == one) & (of[slots.before] != one))[0] for one in range(count)])
    wide = _sum(hours, of)

    def joined(table: Joined) -> Joined:
        """What is said of an hour by its mean, and what is said of a slot by its sum."""
        columns = {}
        for name, shape in table.SHAPES.items():
            if shape.axes == "*TY":
                values = getattr(table, name)
                of_hour = name.endswith("_per_node_h")
                columns[name] = (
                    _sum(values * hours, of) / np.maximum(wide, TINY) if of_hour else _sum(values, of)
                )
        return replace(table, **columns)  # type: ignore[type-var]  # every table is a dataclass

    demand = problem.slot_demand
    return replace(
        problem,
        slots=Slots(
            hours=wide.T,
            before=of[slots.before[start]],
            day_type=slots.day_type[first],
            days=slots.days[first],
        ),
        slot_demand=replace(demand, ready_fraction=_most(demand.ready_fraction, of)),
        work_shifts=joined(problem.work_shifts),
        pausable_shifts=joined(problem.pausable_shifts),
        resting=joined(problem.resting),
        switching=joined(problem.switching),
    )


def _sum(values: Floats, of: Whole) -> Floats:
    """The sum of each joined slot."""
    total: Floats = values @ np.eye(int(of.max()) + 1)[of]
    return total


def _most(values: Floats, of: Whole) -> Floats:
    """The most of each joined slot."""
    return np.stack([values[..., of == one].max(axis=-1) for one in range(int(of.max()) + 1)], axis=-1)
