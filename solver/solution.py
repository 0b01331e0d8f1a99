"""The decisions of a plan and what they add up to, as columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

import numpy as np

from solver.tables import Floats, Whole, no_counts, no_numbers


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """One total taken apart; the parts add up to it. Money and carbon have the same parts."""

    purchase: Floats  # [P, T] bought nodes in service in t, rebates taken off
    order: Floats  # [P, T] counted when ordered, rebates taken off
    rental: Floats  # [P, T]
    term_left: Floats  # [P, T] terms that begin in t: what is due after the horizon, beyond its worth
    keep: Floats  # [H, T]
    retire: Floats  # [H, T]
    reuse: Floats  # [H, T] retired nodes that go on in a lower tier, over their sale
    sell: Floats  # [B, T] bought nodes: what the sale takes less capital cost counted at the order
    move: Floats  # [M, T]
    run: Floats  # [R, T]
    pausable: Floats  # [E, T]
    serve: Floats  # [V, T]
    start: Floats  # [V, T] replicas that did not run in the period before
    deploy: Floats  # [V, T] options that serve, and that did not in the period before
    work: Floats  # [O, T]
    adopt: Floats  # [A, T] techniques that a work adopts
    idle: Floats  # [P, T] nodes in service or rented, for the hours in which nothing uses them
    parked: Floats  # [P, T]
    contract: Floats  # [C, T] premium; carbon avoided is negative
    unmet: Floats  # [I, T]
    left_out: Floats  # [J]
    shift: Floats  # [P, T] work that moves between slots, over the mean of the period
    rest: Floats  # [P, T] replicas that are quiet or rest, nodes that are off in a slot
    lend: Floats  # [P, T] work on nodes of replicas that rest
    battery: Floats  # [S, T] batteries that are bought
    solar: Floats  # [S, T] the sun's cells that are bought
    store: Floats  # [S, T] what they draw less what they give back
    sun: Floats  # [S, T] of the sun, below zero: not drawn from the grid
    space: Floats  # [S, T] rated power in service or committed
    peak: Floats  # [S, T] demand charge
    curtail: Floats  # [S, T] what contracts for curtailment pay, below zero
    stopped: Floats  # [P, T] what work does not take in calls, below zero

    def by_part(self) -> dict[str, float]:
        """The sum of each part."""
        return {part.name: float(getattr(self, part.name).sum()) for part in fields(self)}

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return math.fsum(self.by_part().values())

    def by_period(self) -> Floats:
        """What falls into each period; jobs left out fall into none.

        f[t] = sum over all parts but left_out
        """
        timed = [getattr(self, part.name).sum(axis=0) for part in fields(self) if part.name != "left_out"]
        total: Floats = np.sum(timed, axis=0)
        return total


@dataclass(frozen=True, slots=True, eq=False)
class SlotUse:
    """How nodes are used slot by slot, in mean nodes and replicas."""

    work: Floats  # [O, T, Y] on nodes that nothing else holds
    done: Floats  # [E, T, Y]
    lent: Floats  # [O, T, Y] on nodes of replicas that rest
    quiet: Floats  # [V, T, Y] replicas that keep their weights and serve nothing
    rest: Floats  # [V, T, Y] replicas whose nodes are free for others
    off: Floats  # [P, T, Y] nodes that are off, beyond those parked through the period
    charge: Floats = field(default_factory=no_numbers)  # [S, T, Y] mean kW into the battery of a site
    discharge: Floats = field(default_factory=no_numbers)  # [S, T, Y] mean kW out of it
    stored: Floats = field(default_factory=no_numbers)  # [S, T, Y] kWh in it at the end of the slot
    sun: Floats = field(default_factory=no_numbers)  # [S, T, Y] mean kW of the sun on load that cannot move
    sun_moved: Floats = field(default_factory=no_numbers)  # [S, T, Y] on what may move, or into batteries


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Decisions:
    """What is chosen; all else follows from it."""

    orders: Whole  # [P, T] order units placed at the start of t
    rented: Whole  # [P, T] nodes
    committed: Whole  # [P, T] nodes rented for a term that begins in t
    retired: Whole  # [H, T] nodes retired at the start of t
    sold: Whole  # [B, T] bought nodes sold at the start of t
    moved: Whole  # [M, T] nodes that leave at the start of t
    run: Whole  # [R] jobs that run so
    chosen: Whole  # [E] jobs that run so
    completed: Floats  # [E] of those, how many in whole: below `chosen` where a job is done in part
    done_node_h: Floats  # [E, T]
    left_out: Floats  # [J] whole unless the job may be done in part
    replicas: Whole  # [V, T]
    shed_fraction: Floats  # [I, T] of the demand
    work_node_h: Floats  # [O, T]
    spares: Whole  # [P, T]
    parked: Floats  # [P, T] mean nodes
    matched_kwh: Floats  # [C, T]
    reused: Whole = field(default_factory=no_counts)  # [H, T] of those retired, nodes of a lower tier then
    signed: Whole = field(default_factory=no_counts)  # [S] 1 where a contract for curtailment is signed
    adopted: Whole = field(default_factory=no_counts)  # [A] 1 where the technique is adopted
    battery_kwh: Floats = field(default_factory=no_numbers)  # [S] bought
    solar_kw: Floats = field(default_factory=no_numbers)  # [S] bought
    slots: SlotUse | None = None  # where the problem has slots


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Solution(Decisions):
    """The decisions of a plan, and what follows from them."""

    bought_in_service: Whole  # [P, T] nodes
    kept: Whole  # [H, T] standing nodes
    in_service: Whole  # [P, T] nodes, bought and standing
    in_use: Floats  # [P, T] nodes that runs, replicas and pausable jobs hold
    usd_terms: Terms
    kgco2e_terms: Terms

    @property
    def usd(self) -> float:
        """Money of the whole plan."""
        return self.usd_terms.total

    @property
    def kgco2e(self) -> float:
        """Carbon of the whole plan."""
        return self.kgco2e_terms.total
