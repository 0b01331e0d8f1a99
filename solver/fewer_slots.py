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
    """The problem with its slots joined to so many parts of a day, alike in length, on one type of day.

    What happens in a joined slot happens in each of its slots: hours and what is saved add up, prices of an
    hour are their mean, and it has to be ready for its busiest slot. Days begin where the least more has to
    be ready. A problem whose days do not divide so, or differ in their slots, stays as it is.
    """
    slots, types = problem.slots, np.unique(problem.slots.day_type)
    a_day = len(slots) // max(len(types), 1)
    alike = np.array_equal(slots.day_type, np.repeat(types, a_day))
    if not alike or a_day <= parts or a_day % parts:
        return problem
    clock = np.arange(len(slots)) % a_day
    turned = [(clock - turn) % a_day * parts // a_day for turn in range(a_day // parts)]
    return _with(problem, min(turned, key=lambda of: _readiness_h(problem, of)))


def _readiness_h(problem: Problem, of: Whole) -> float:
    """Hours for which services have to be ready, each by its share of the peak."""
    return float((_most(problem.slot_demand.ready_fraction, of) * _sum(problem.slots.hours.T, of)).sum())


def _with(problem: Problem, of: Whole) -> Problem:
    """The problem with slots joined to those that `of` says [Y], in the order of the clock."""
    slots, hours, parts = problem.slots, problem.slots.hours.T, int(of.max()) + 1
    wide, part = _sum(hours, of), np.arange(parts)
    days = slots.days[np.unique(slots.day_type, return_index=True)[1]].sum(axis=0)

    def joined(table: Joined) -> Joined:
        """What is said of an hour by its mean, and what is said of a slot by its sum."""
        columns = {}
        for name, shape in table.SHAPES.items():
            if shape.axes == "*TY":
                values = getattr(table, name)
                if name.startswith("highest_"):
                    columns[name] = _most(values, of)
                elif name.endswith(("_per_node_h", "_per_kwh", "_kw")):
                    columns[name] = _sum(values * hours, of) / np.maximum(wide, TINY)
                else:
                    columns[name] = _sum(values, of)
        return replace(table, **columns)  # type: ignore[type-var]  # every table is a dataclass

    demand = problem.slot_demand
    return replace(
        problem,
        slots=Slots(
            hours=wide.T,
            before=(part - 1) % parts,
            day_type=0 * part,
            days=np.broadcast_to(days, (parts, problem.periods)).copy(),
        ),
        slot_demand=replace(demand, ready_fraction=_most(demand.ready_fraction, of)),
        work_shifts=joined(problem.work_shifts),
        pausable_shifts=joined(problem.pausable_shifts),
        resting=joined(problem.resting),
        switching=joined(problem.switching),
        drawing=joined(problem.drawing),
        site_energy=joined(problem.site_energy),
    )


def _sum(values: Floats, of: Whole) -> Floats:
    """The sum of each joined slot."""
    total: Floats = values @ np.eye(int(of.max()) + 1)[of]
    return total


def _most(values: Floats, of: Whole) -> Floats:
    """The most of each joined slot."""
    return np.stack([values[..., of == one].max(axis=-1) for one in range(int(of.max()) + 1)], axis=-1)
