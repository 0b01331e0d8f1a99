"""Parts of a period in which operation is decided: slots, and what each kind of operation takes in them.

The other tables say what a period takes in the mean; the columns here say what comes on top in a slot, or is
saved. So a problem without slots is the problem of periods, and one with them differs from it by operation
alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from solver.tables import (
    ROW,
    Flags,
    Floats,
    ProblemError,
    Shape,
    Table,
    Whole,
    no_flags,
    no_numbers,
)


class BySlot(Table):
    """A table with a row for each row of another one, and columns by slot."""

    __slots__ = ()

    @classmethod
    def nothing(cls, rows: int, periods: int, slots: int) -> Self:
        """The table in which nothing is allowed, and nothing has a price or another limit."""
        sizes = {"*": rows, "T": periods, "Y": slots}
        columns: dict[str, Any] = {
            name: np.full([sizes[axis] for axis in shape.axes], shape.default or 0, dtype=shape.kind)
            for name, shape in cls.SHAPES.items()
        }
        return cls(**columns)


@dataclass(frozen=True, slots=True, eq=False)
class Slots(Table):
    """The slots of every period, all of its hours. The last slot of a day precedes its first."""

    hours: Floats  # [Y, T]
    before: Whole  # [Y] the slot before it on its day
    day_type: Whole  # [Y]
    days: Floats  # [Y, T] days of its type

    SHAPES: ClassVar[dict[str, Shape]] = {
        "hours": Shape("*T", low=0),
        "before": ROW,
        "day_type": ROW,
        "days": Shape("*T", low=0),
    }

    def share(self) -> Floats:
        """Part of the period that each slot is [T, Y]."""
        found: Floats = (self.hours / self.hours.sum(axis=0)).T
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Shifting(BySlot):
    """Options whose work may move between slots, and work on lent nodes: one row for each option.

    `usd` and `kgco2e` are those of a node-hour in the slot over those of the mean of the period, `lent`
    ones what a node-hour takes on a node that rests, over what it takes there anyway. Work that shrinks
    from a slot to the next stops nodes: each loses some hours, and takes what they take.
    """

    may_move: Flags  # [O] or [E]
    usd_per_node_h: Floats  # [., T, Y]
    kgco2e_per_node_h: Floats  # [., T, Y]
    stop_h: Floats  # [.] hours of a node that are lost when it stops
    stop_usd: Floats = field(default_factory=no_numbers)  # [., T] of each node that stops, each time
    stop_kgco2e: Floats = field(default_factory=no_numbers)  # [., T]
    may_borrow: Flags = field(default_factory=no_flags)  # [.]
    lent_usd_per_node_h: Floats = field(default_factory=no_numbers)  # [., T, Y]
    lent_kgco2e_per_node_h: Floats = field(default_factory=no_numbers)  # [., T, Y]
    lent_speed_fraction: Floats = field(default_factory=no_numbers)  # [.] of the speed on nodes of its own
    stop_kwh: Floats = field(default_factory=no_numbers)  # [., T] energy: only contracts read it
    lent_kwh_per_node_h: Floats = field(default_factory=no_numbers)  # [., T, Y]
    ramp_nodes: Floats = field(default_factory=no_numbers)  # [E] from a slot to the next, of one job

    SHAPES: ClassVar[dict[str, Shape]] = {
        "may_move": Shape("*", bool),
        "usd_per_node_h": Shape("*TY"),
        "kgco2e_per_node_h": Shape("*TY"),
        "stop_h": Shape("*", low=0),
        "stop_usd": Shape("*T", low=0, default=0.0),
        "stop_kgco2e": Shape("*T", low=0, default=0.0),
        "may_borrow": Shape("*", bool, default=0.0),
        "lent_usd_per_node_h": Shape("*TY", default=0.0),
        "lent_kgco2e_per_node_h": Shape("*TY", default=0.0),
        "lent_speed_fraction": Shape("*", low=0, high=1, default=0.0),
        "stop_kwh": Shape("*T", default=0.0),
        "lent_kwh_per_node_h": Shape("*TY", default=0.0),
        "ramp_nodes": Shape("*", low=0, infinite=True, default=np.inf),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Windows(BySlot):
    """How long each kind of work may wait: one row for each."""

    within_day: Flags  # [W] done on its own type of day; else anywhere in the period
    may_wait_fraction: Floats  # [W] of the work; the rest is done in every slot alike
    ramp_fraction: Floats = field(default_factory=no_numbers)  # [W] of its mean, from a slot to the next

    SHAPES: ClassVar[dict[str, Shape]] = {
        "within_day": Shape("*", bool),
        "may_wait_fraction": Shape("*", low=0, high=1),
        "ramp_fraction": Shape("*", low=0, infinite=True, default=np.inf),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Resting(BySlot):
    """Replicas that serve nothing in a slot: one row for each serve option.

    A quiet replica keeps its weights and is back at once; one that rests gives its nodes back to idling, and
    takes something to wake. Columns hold what is saved as less than zero.
    """

    may_rest: Flags  # [V]
    quiet_usd: Floats  # [V, T, Y] of one replica through the slot
    quiet_kgco2e: Floats  # [V, T, Y]
    rest_usd: Floats  # [V, T, Y]
    rest_kgco2e: Floats  # [V, T, Y]
    wake_usd: Floats = field(default_factory=no_numbers)  # [V, T] of each replica that wakes, each time
    wake_kgco2e: Floats = field(default_factory=no_numbers)  # [V, T]
    quiet_kwh: Floats = field(default_factory=no_numbers)  # [V, T, Y] energy: only contracts read it
    rest_kwh: Floats = field(default_factory=no_numbers)  # [V, T, Y]
    wake_kwh: Floats = field(default_factory=no_numbers)  # [V, T]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "may_rest": Shape("*", bool),
        "quiet_usd": Shape("*TY"),
        "quiet_kgco2e": Shape("*TY"),
        "rest_usd": Shape("*TY"),
        "rest_kgco2e": Shape("*TY"),
        "wake_usd": Shape("*T", low=0, default=0.0),
        "wake_kgco2e": Shape("*T", low=0, default=0.0),
        "quiet_kwh": Shape("*TY", default=0.0),
        "rest_kwh": Shape("*TY", default=0.0),
        "wake_kwh": Shape("*T", default=0.0),
    }


@dataclass(frozen=True, slots=True, eq=False)
class SlotDemand(BySlot):
    """What of the demand of its peak hour each service has to be ready for in a slot, reserve included."""

    ready_fraction: Floats  # [I, T, Y]

    SHAPES: ClassVar[dict[str, Shape]] = {"ready_fraction": Shape("*TY", low=0, high=1)}


@dataclass(frozen=True, slots=True, eq=False)
class Switching(BySlot):
    """Nodes that are off in a slot rather than idle: one row for each node group, as `Resting` has it."""

    may_switch: Flags  # [P]
    off_usd: Floats  # [P, T, Y] of one node through the slot
    off_kgco2e: Floats  # [P, T, Y]
    boot_usd: Floats = field(default_factory=no_numbers)  # [P, T] of each node that is switched on, each time
    boot_kgco2e: Floats = field(default_factory=no_numbers)  # [P, T]
    off_kwh: Floats = field(default_factory=no_numbers)  # [P, T, Y] energy: only contracts read it
    boot_kwh: Floats = field(default_factory=no_numbers)  # [P, T]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "may_switch": Shape("*", bool),
        "off_usd": Shape("*TY"),
        "off_kgco2e": Shape("*TY"),
        "boot_usd": Shape("*T", low=0, default=0.0),
        "boot_kgco2e": Shape("*T", low=0, default=0.0),
        "off_kwh": Shape("*TY", default=0.0),
        "boot_kwh": Shape("*T", default=0.0),
    }


@dataclass(frozen=True, slots=True, eq=False)
class SiteEnergy(BySlot):
    """Battery and sun of sites: one row for each site. Nothing is sold to the grid.

    What a battery draws and gives back takes the price and the intensity of work that moves within its day,
    the sun on load that cannot move those of such load. On what may move, or is stored, the sun takes the
    least of what such work could meet in the slot: else drawing more for nothing would save something.
    """

    most_kwh: Floats  # [S] of battery that may be bought; 0: none
    kw_per_kwh: Floats  # [S]
    sun_kw: Floats  # [S, T, Y] that may be used, of what stands there
    one_way_fraction: Floats = field(default_factory=no_numbers)  # [S] efficiency of one way
    battery_usd_per_kwh: Floats = field(default_factory=no_numbers)  # [S, T] a kilowatt-hour through t
    battery_kgco2e_per_kwh: Floats = field(default_factory=no_numbers)  # [S, T]
    battery_ready: Floats = field(default_factory=no_numbers)  # [S, T] 1 where what is bought is in use
    battery_capex_usd_per_kwh: Floats = field(default_factory=no_numbers)  # [S, T] cash; the budget reads it
    solar_most_kw: Floats = field(default_factory=no_numbers)  # [S] of the sun's cells that may be bought
    solar_kw_per_kw: Floats = field(default_factory=no_numbers)  # [S, T, Y] of each kilowatt that is bought
    solar_usd_per_kw: Floats = field(default_factory=no_numbers)  # [S, T] a kilowatt of them through t
    solar_kgco2e_per_kw: Floats = field(default_factory=no_numbers)  # [S, T]
    solar_capex_usd_per_kw: Floats = field(default_factory=no_numbers)  # [S, T] cash; the budget reads it
    moved_usd_per_kwh: Floats = field(default_factory=no_numbers)  # [S, T, Y]
    moved_kgco2e_per_kwh: Floats = field(default_factory=no_numbers)  # [S, T, Y]
    fixed_usd_per_kwh: Floats = field(default_factory=no_numbers)  # [S, T, Y]
    fixed_kgco2e_per_kwh: Floats = field(default_factory=no_numbers)  # [S, T, Y]
    least_usd_per_kwh: Floats = field(default_factory=no_numbers)  # [S, T, Y]
    least_kgco2e_per_kwh: Floats = field(default_factory=no_numbers)  # [S, T, Y]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "most_kwh": Shape("*", low=0, infinite=True),
        "kw_per_kwh": Shape("*", low=0),
        "one_way_fraction": Shape("*", low=1e-3, high=1, default=1.0),
        "battery_usd_per_kwh": Shape("*T", default=0.0),
        "battery_kgco2e_per_kwh": Shape("*T", default=0.0),
        "sun_kw": Shape("*TY", low=0),
        "battery_ready": Shape("*T", low=0, high=1, default=1.0),
        "battery_capex_usd_per_kwh": Shape("*T", low=0, default=0.0),
        "solar_most_kw": Shape("*", low=0, infinite=True, default=0.0),
        "solar_kw_per_kw": Shape("*TY", low=0, default=0.0),
        "solar_usd_per_kw": Shape("*T", default=0.0),
        "solar_kgco2e_per_kw": Shape("*T", default=0.0),
        "solar_capex_usd_per_kw": Shape("*T", low=0, default=0.0),
        "moved_usd_per_kwh": Shape("*TY", default=0.0),
        "moved_kgco2e_per_kwh": Shape("*TY", default=0.0),
        "fixed_usd_per_kwh": Shape("*TY", default=0.0),
        "fixed_kgco2e_per_kwh": Shape("*TY", default=0.0),
        "least_usd_per_kwh": Shape("*TY", default=0.0),
        "least_kgco2e_per_kwh": Shape("*TY", default=0.0),
    }

    def stated(self) -> Flags:
        """Sites with a battery or the sun [S]."""
        found: Flags = (self.most_kwh > 0) | (self.solar_most_kw > 0) | self.sun_kw.any(axis=(1, 2))
        return found

    def given_kw(self, solar_kw: Floats) -> Floats:
        """What the sun gives [S, T, Y] where so much more of its cells is bought [S]."""
        found: Floats = self.sun_kw + solar_kw[:, None, None] * self.solar_kw_per_kw
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Drawing(BySlot):
    """What a replica draws above idle in each slot: one row for each serve option.

    Sites with a battery or the sun read it; at others a replica draws the same in every slot.
    """

    drawn_kw: Floats  # [V, T, Y] in the mean of the slot
    highest_kw: Floats  # [V, T, Y] in its highest hour

    SHAPES: ClassVar[dict[str, Shape]] = {"drawn_kw": Shape("*TY"), "highest_kw": Shape("*TY")}


def check_slots(slots: Slots, hours: Floats) -> None:
    """Slots are all hours of each period, and each day is a circle of its slots.

    Raises:
        ProblemError: they are not; the message names the slot or the period.
    """
    short = np.abs(slots.hours.sum(axis=0) - hours) > 1e-6 * hours
    for period in np.flatnonzero(short)[:1]:
        raise ProblemError(
            f"Problem.slots.hours has {slots.hours[:, period].sum():g} h in period {period}, which has "
            f"{hours[period]:g} h"
        )
    for slot in np.flatnonzero(slots.before >= len(slots))[:1]:
        raise ProblemError(f"Problem.slots.before[{slot}] is {slots.before[slot]}, and there is no such slot")
    for slot in np.flatnonzero(slots.day_type[slots.before] != slots.day_type)[:1]:
        raise ProblemError(f"Problem.slots.before[{slot}] is of another type of day")
