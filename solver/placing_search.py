"""A good placement of many things in seconds, and how far from the best it can be at most."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from solver.placing import CLOSE, Placement, Placing, WrongPlacement, broken_rules, filled, steps_of
from solver.placing_program import (
    Bound,
    chosen_ways,
    is_small,
    lower_bound,
    priced_steps,
    priced_ways,
    solved,
)
from solver.tables import Floats, Whole

# A piece may take such a part of what the best placement takes: the larger, the fewer pieces.
PARTS = (np.inf, 1.0, 0.5, 0.25, 0.1)
PROVEN, GOOD = 1e-4, 1e-3  # gaps at which the program, and the search, have done enough
PARTNERS, TRIES = 12, 24  # devices that a piece is tried on, and pieces or pairs of each
EVENLY = 0.05  # what the sum of the shares of a device counts next to the largest


@dataclass(frozen=True, slots=True)
class Found:
    """A placement, or None where there is none; and a time that no placement is below."""

    placement: Placement | None
    step_s: float
    bound_s: float
    exact: bool  # proven by the program

    @property
    def gap_fraction(self) -> float:
        """How much less the best may take: (T - bound) / T."""
        return max(0.0, 1.0 - self.bound_s / self.step_s) if self.step_s > 0 else 0.0


def place(placing: Placing, *, time_limit_s: float = 20.0, exact: bool = True) -> Found:
    """The least time of the device that takes longest.

    Pieces are placed greedily, the longest first, then moved and exchanged; the integer program takes over
    where it is small and something is open. `exact` leaves it out where False.

    Raises:
        WrongPlacement: an answer breaks a rule.
    """
    ends_s = time.monotonic() + time_limit_s
    bound = lower_bound(placing)
    if not np.isfinite(bound.seconds):
        return Found(None, np.inf, np.inf, True)
    best: Placement | None = None
    best_s = np.inf
    prices = np.array(bound.prices)
    fleets = [_begun(placing, ways, prices, bound.seconds) for ways in _starts(placing, bound)]
    fleets += _by_rules(placing, prices)
    for fleet in sorted(fleets, key=lambda one: float(one.taken_s.max())):
        while fleet.taken_s.max() > bound.seconds * (1 + GOOD) and _step(fleet, ends_s):
            pass
        found = fleet.placement()
        if found is not None and (taken_s := found.step_s(placing)) < best_s * (1 - 1e-9):
            best, best_s = found, taken_s
        if best_s <= bound.seconds * (1 + GOOD):
            break
    if best is not None and (broken := broken_rules(placing, best)):
        raise WrongPlacement("; ".join(broken))
    bound_s = min(bound.seconds, best_s)
    if best_s <= bound_s * (1 + 1e-9) or not exact or not is_small(placing):
        return Found(best, best_s, bound_s, best_s <= bound_s * (1 + 1e-9))
    left_s = max(1.0, ends_s - time.monotonic())
    better, proven_s = solved(placing, below=best_s, time_limit_s=left_s)
    if better is not None and better.step_s(placing) < best_s:
        best, best_s = better, better.step_s(placing)
    bound_s = min(max(bound_s, proven_s), best_s)
    return Found(best, best_s, bound_s, best_s <= bound_s * (1 + PROVEN))


def by_weight(placing: Placing, weight: Floats) -> float:
    """What a greedy rule takes: the heaviest thing first, in its first way, on the device of least weight.

    A device without room is passed over; infinite where none has room. Others shard tables so.
    """
    return float(_weighed(placing, weight, np.zeros(placing.capacity_gb.size)).taken_s.max())


def _weighed(placing: Placing, weight: Floats, prices: Floats) -> _Fleet:
    fleet = _Fleet(placing, np.searchsorted(placing.thing, np.arange(placing.things)), prices)
    room = np.full(placing.devices, float(placing.capacity_gb.sum()))
    load = np.zeros(placing.devices)
    for j in np.argsort(-weight, kind="stable"):
        for _ in range(int(placing.count[fleet.ways[j]])):
            d = int(np.where(room >= fleet.gb[j], load, np.inf).argmin())
            fleet.pieces[j, d] += 1
            load[d] += weight[j]
            room[d] -= fleet.gb[j]
    fleet.timed(range(placing.devices))
    return fleet


def _by_rules(placing: Placing, prices: Floats) -> list[_Fleet]:
    """The usual rules as starts, so that no answer is worse than theirs."""
    plain = _Fleet(placing, np.searchsorted(placing.thing, np.arange(placing.things)), prices)
    weights = (plain.gb * plain.fast_s, plain.gb, plain.fast_s)
    return [_weighed(placing, weight, prices) for weight in weights]


def _starts(placing: Placing, bound: Bound) -> Iterator[Whole]:
    """Ways to begin with: the cheapest whose pieces take no more than a part of what is possible."""
    prices = np.array(bound.prices)
    cost, piece_s = priced_ways(placing, prices), _piece_s(placing, prices)
    seen = set[bytes]()
    for part in PARTS:
        limit = part * bound.seconds if np.isfinite(part) else np.inf
        # Between ways of like cost the one of fewest pieces; one that is too long only where all are.
        late = np.maximum(piece_s - limit, 0.0) / max(bound.seconds, 1e-30) if np.isfinite(limit) else 0.0
        scaled = cost * (1 + 1e-9 * placing.count) + late * (1.0 + float(cost.sum())) * 10.0
        ways = chosen_ways(placing, scaled)
        if ways.tobytes() not in seen:
            seen.add(ways.tobytes())
            yield ways


def _piece_s(placing: Placing, prices: Floats) -> Floats:
    """What the device takes that holds one piece of a way, at the tiers that the prices say."""
    tier, _ = priced_steps(placing, prices)
    seconds = placing.seconds[np.arange(tier.size), tier]
    taken = np.bincount(placing.way, weights=seconds, minlength=placing.thing.size)
    return np.asarray(taken + placing.sent_s, dtype=float)


class _Fleet:
    """Devices with the pieces of each thing on them; what each takes once its tiers are filled."""

    def __init__(self, placing: Placing, ways: Whole, prices: Floats) -> None:
        self.placing, self.ways = placing, ways
        first, last = (np.searchsorted(placing.way, ways, side=side) for side in ("left", "right"))
        steps = [np.arange(begin, end) for begin, end in zip(first, last, strict=True)]
        self.own = [one[~placing.everywhere[one]] for one in steps]
        self.common = np.concatenate([one[placing.everywhere[one]] for one in steps])
        self.gb = np.array([placing.gb[one].sum() for one in self.own])
        self.fast_s = placing.sent_s[ways] + np.array([placing.seconds[one, 0].sum() for one in self.own])
        self.common_gb = float(placing.gb[self.common].sum())
        self.common_s = float(placing.seconds[self.common, 0].sum())
        # What a piece takes of a device where fast room has a price: its time, its bytes of each tier.
        tier, priced_s = priced_steps(placing, prices)
        self.worth_s = placing.sent_s[ways] + np.array([priced_s[one].sum() for one in self.own])
        self.tier_gb = np.array(
            [np.bincount(tier[one], placing.gb[one], placing.capacity_gb.size) for one in self.own]
        )
        own_s = placing.seconds[np.arange(tier.size), tier]
        self.usual_s = placing.sent_s[ways] + np.array([own_s[one].sum() for one in self.own])
        self.pieces = np.zeros((ways.size, placing.devices), dtype=np.int64)
        self.taken_s = np.zeros(placing.devices)

    def shares(self, pieces: Whole) -> tuple[Whole, Floats, Floats] | None:
        """Steps of a device with these pieces, how often, and their tiers; None without room."""
        held = np.flatnonzero(pieces)
        steps = np.concatenate([*(self.own[j] for j in held), self.common])
        times = np.concatenate(
            [*(np.full(self.own[j].size, float(pieces[j])) for j in held), np.ones(self.common.size)]
        )
        gb = self.placing.gb[steps] * times
        shares = filled(gb, self.placing.seconds[steps] * times[:, None], self.placing.capacity_gb)
        return None if shares is None else (steps, times, shares)

    def time_s(self, pieces: Whole) -> float:
        """What a device with these pieces takes; infinite without room."""
        if float(self.gb @ pieces) + self.common_gb <= self.placing.capacity_gb[0]:
            return float(self.fast_s @ pieces) + self.common_s
        found = self.shares(pieces)
        if found is None:
            return np.inf
        steps, times, shares = found
        read = float((self.placing.seconds[steps] * shares * times[:, None]).sum())
        return read + float(self.placing.sent_s[self.ways] @ pieces)

    def timed(self, devices: Iterable[int]) -> None:
        """Note what these devices take."""
        for d in devices:
            self.taken_s[d] = self.time_s(self.pieces[:, d])

    def placement(self) -> Placement | None:
        """The answer; None where a device has no room."""
        placing = self.placing
        every = steps_of(placing, self.ways)
        kept = np.zeros((every.size, placing.devices, placing.capacity_gb.size))
        for d in range(placing.devices):
            found = self.shares(self.pieces[:, d])
            if found is None:
                return None
            steps, times, shares = found
            kept[np.searchsorted(every, steps), d] = shares * times[:, None]
        return Placement(self.ways, self.pieces, every, kept)


def _begun(placing: Placing, ways: Whole, prices: Floats, bound_s: float) -> _Fleet:
    """Devices with all pieces on them, each within its room where that was found."""
    fleet = _Fleet(placing, ways, prices)
    _greedy(fleet, bound_s)
    fleet.timed(range(placing.devices))
    _make_room(fleet)
    return fleet


def _greedy(fleet: _Fleet, bound_s: float) -> None:
    """The piece that takes most of a device first, on the one that is then least taken.

    Taken are its time, its room in each tier and all of its room, as shares of what there is.
    """
    placing = fleet.placing
    whole = placing.capacity_gb.sum() - fleet.common_gb
    held = np.concatenate([placing.capacity_gb, [whole]])
    gb = np.column_stack([fleet.tier_gb, fleet.gb])
    share = np.column_stack([fleet.usual_s / max(bound_s, 1e-30), gb / np.maximum(held, 1e-30)])
    if bound_s <= 0:
        share[:, 0] = 0.0
    taken = np.zeros((placing.devices, share.shape[1]))
    room = np.full(placing.devices, whole)
    count = placing.count[fleet.ways]
    for j in np.argsort(-share.max(axis=1), kind="stable"):
        for _ in range(int(count[j])):
            then = taken + share[j]
            score = then.max(axis=1) + EVENLY * then.sum(axis=1)
            fits = room + CLOSE * whole >= fleet.gb[j]
            d = int(np.where(fits, score, np.inf).argmin()) if fits.any() else int(room.argmax())
            fleet.pieces[j, d] += 1
            taken[d] += share[j]
            room[d] -= fleet.gb[j]


def _make_room(fleet: _Fleet) -> None:
    """Move pieces from devices that are too full to the one with most room, the largest that it takes."""
    placing = fleet.placing
    most = placing.capacity_gb.sum() - fleet.common_gb
    for _ in range(4 * placing.devices):
        over = fleet.gb @ fleet.pieces - most
        d, to = int(over.argmax()), int(over.argmin())
        fitting = np.flatnonzero((fleet.pieces[:, d] > 0) & (fleet.gb <= -over[to]))
        if over[d] <= CLOSE * most or to == d or not fitting.size:
            return
        j = fitting[fleet.gb[fitting].argmax()]
        fleet.pieces[j, d] -= 1
        fleet.pieces[j, to] += 1
        fleet.timed((d, to))


def _step(fleet: _Fleet, ends_s: float) -> bool:
    """Move a piece from the device that takes longest, or else exchange it; False where nothing helps.

    Tried are the ones whose worth is closest to half of what the devices are apart.
    """
    d = int(fleet.taken_s.argmax())
    here = np.flatnonzero(fleet.pieces[:, d])
    best_s, best = fleet.taken_s[d] * (1 - 1e-9), None
    for exchange in (False, True):
        for to in np.argsort(fleet.taken_s)[:PARTNERS].tolist():
            if to == d:
                continue
            there = np.flatnonzero(fleet.pieces[:, to]) if exchange else np.array([-1])
            given_s = fleet.worth_s[here][:, None] - (fleet.worth_s[there] if exchange else 0.0)
            apart_s = (fleet.taken_s[d] - fleet.taken_s[to]) / 2.0
            order = np.argsort(np.abs(given_s - min(apart_s, 1e30)), axis=None)[:TRIES]
            for at in order.tolist():
                if time.monotonic() > ends_s:
                    return False
                j, back = int(here[at // there.size]), int(there[at % there.size])
                if j == back:
                    continue
                mine, theirs = fleet.pieces[:, d].copy(), fleet.pieces[:, to].copy()
                mine[j] -= 1
                theirs[j] += 1
                if exchange:
                    mine[back] += 1
                    theirs[back] -= 1
                taken = fleet.time_s(theirs)
                if taken < best_s and (taken := max(taken, fleet.time_s(mine))) < best_s:
                    best_s, best = taken, (to, mine, theirs)
        if best is not None:
            to, mine, theirs = best
            fleet.pieces[:, d], fleet.pieces[:, to] = mine, theirs
            fleet.timed((d, to))
            return True
    return False
