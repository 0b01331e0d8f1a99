"""What lies upstream of power stations, where the factor of a grid is of their whole lives.

An inventory takes what stations burn as scope 2, and their fuels, building and waste as scope 3, category 3.
A life-cycle factor holds both; the mix of a country says how much of it is burnt.

Source: GHG Protocol, "Scope 2 Guidance", 2015, chapter 5; "Corporate Value Chain (Scope 3) Standard", 2011,
category 3.
"""

from __future__ import annotations

from collections.abc import Callable

from carbon.signals import GridSignal
from planner.trace.quantities import Fact

BOUNDARY = "power stations"  # of a line of what lies upstream of them
UPSTREAM = "what lies upstream of power stations (scope 3, category 3)"
TOGETHER = f"Scope 2 holds {UPSTREAM}, too: the factor of the grid is of whole lives, and is not parted here."
LEFT_OUT = f"Not counted: {UPSTREAM}, and losses of lines; the factor of the grid is of what stations burn."
UNSTATED = f"Whether your factor of the grid holds {UPSTREAM} is not stated: all of it stands in scope 2."

MARGINAL = (
    "Marginal hours say what this work makes stations emit more, and what leaving it, or another hour, would "
    "spare. They are of no scope: for an inventory name average hours, or a grid."
)


def direct_fraction(fact: Callable[[str], Fact], has: Callable[[str], bool], grid: str | None) -> Fact | None:
    """Share of a grid's life-cycle factor that power stations burn; None where it is not known."""
    key = f"grid.{grid}.direct_fraction"
    return fact(key) if grid is not None and has(key) else None


def of_whole_lives(signal: GridSignal) -> bool:
    """Whether a factor holds what lies upstream of power stations."""
    return signal.scope == "life-cycle"


def is_marginal(tag: str) -> bool:
    """Whether a factor is of the stations that answer a change, and so of no inventory.

    Not of a figure without a signal, whose tag is empty, nor of one by the market.
    """
    return tag.startswith("marginal/")


def scope_note(tag: str | None, parted: bool) -> str:
    """What scope 2 holds or leaves out, by the signal of the grid's factor, None of a figure without one.

    Empty where upstream has a line of its own.
    """
    if parted:
        return ""
    if tag is None:
        return UNSTATED
    if is_marginal(tag):
        return MARGINAL
    return TOGETHER if of_whole_lives(GridSignal.parse(tag)) else LEFT_OUT
