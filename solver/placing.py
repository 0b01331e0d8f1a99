"""Things on devices that are alike, each with tiers from fast to slow: the problem, an answer, its rules.

Letters: things j, ways w of a thing, devices d, tiers k, steps i of a way: parts of its size that may lie in
one tier or another. A way is so many equal pieces, each whole on one device, and what every device holds
of it besides.

    each thing           sum_w choose[w] = 1
    pieces               sum_d pieces[w,d] = count[w] * choose[w]
    tiers                sum_k kept[i,d,k] = pieces[w,d], or choose[w] for a step that every device holds
    room                 sum_i gb[i] * kept[i,d,k] <= capacity_gb[k]
    time                 sum_i,k seconds[i,k] * kept[i,d,k] + sum_w sent_s[w] * pieces[w,d] <= T

Minimised is T, the time of the device that takes longest. Nothing here knows a table or a memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solver.tables import Flags, Floats, ProblemError, Whole

CLOSE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Placing:
    """What is to be placed. Ways stand in the order of their things, steps in that of their ways."""

    devices: int
    capacity_gb: Floats  # [K] of each device
    thing: Whole  # [W] that a way is of
    count: Whole  # [W] pieces of a way
    sent_s: Floats  # [W] of a piece, whatever its tiers
    way: Whole  # [I] that a step is of
    everywhere: Flags  # [I] held by every device, rather than by the piece
    gb: Floats  # [I]
    seconds: Floats  # [I, K]

    def __post_init__(self) -> None:
        tiers, ways, steps = self.capacity_gb.size, self.thing.size, self.way.size
        shapes = {
            "count": (self.count, (ways,)),
            "sent_s": (self.sent_s, (ways,)),
            "everywhere": (self.everywhere, (steps,)),
            "gb": (self.gb, (steps,)),
            "seconds": (self.seconds, (steps, tiers)),
        }
        for name, (column, shape) in shapes.items():
            if column.shape != shape:
                raise ProblemError(f"{name} has shape {column.shape}, expected {shape}")
        if self.devices < 1 or not tiers or not ways or not steps:
            raise ProblemError("at least one device, one tier, one way and one step are needed")
        if np.any(np.diff(self.thing) < 0) or np.any(np.diff(self.way) < 0):
            raise ProblemError("ways stand in the order of their things, and steps in that of their ways")
        if not np.array_equal(np.unique(self.thing), np.arange(self.things)):
            raise ProblemError("every thing needs a way")
        if not np.array_equal(np.unique(self.way), np.arange(ways)):
            raise ProblemError("every way needs a step")
        if np.any(self.count < 1) or np.any(self.gb <= 0) or np.any(self.capacity_gb < 0):
            raise ProblemError("pieces are counted from 1, sizes are above 0, and no capacity is below 0")
        if np.any(self.sent_s < 0) or np.any(self.seconds < 0) or np.any(np.diff(self.seconds, axis=1) < 0):
            raise ProblemError("no time is below 0, and a later tier is never faster")

    @property
    def things(self) -> int:
        """Number of things."""
        return int(self.thing[-1]) + 1


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """An answer: the way of each thing, its pieces on each device, and the tiers that its steps lie in."""

    ways: Whole  # [J]
    pieces: Whole  # [J, D]
    steps: Whole  # [S] those of the ways, in their order
    kept: Floats  # [S, D, K] in pieces

    def read_s(self, placing: Placing) -> Floats:
        """What reading takes on each device, by tier [D, K]."""
        read: Floats = np.einsum("ik,idk->dk", placing.seconds[self.steps], self.kept)
        return read

    def device_s(self, placing: Placing) -> Floats:
        """What each device takes [D]."""
        taken: Floats = self.read_s(placing).sum(axis=1) + placing.sent_s[self.ways] @ self.pieces
        return taken

    def step_s(self, placing: Placing) -> float:
        """What the device takes that takes longest."""
        return float(self.device_s(placing).max())

    def held_gb(self, placing: Placing) -> Floats:
        """What each tier of each device holds [D, K]."""
        held: Floats = np.einsum("i,idk->dk", placing.gb[self.steps], self.kept)
        return held


class WrongPlacement(RuntimeError):
    """An answer breaks a rule: a fault of ours or of the engine."""


def steps_of(placing: Placing, ways: Whole) -> Whole:
    """The steps of some ways, in their order."""
    found: Whole = np.flatnonzero(np.isin(placing.way, ways))
    return found


def broken_rules(placing: Placing, placement: Placement) -> list[str]:
    """Rules that a placement breaks, worked out without the program."""
    ways, pieces, steps, kept = placement.ways, placement.pieces, placement.steps, placement.kept
    if not np.array_equal(placing.thing[ways], np.arange(placing.things)):
        return ["places a thing in no way, or in that of another"]
    if not np.array_equal(steps, steps_of(placing, ways)):
        return ["keeps other steps than those of its ways"]
    held = np.where(placing.everywhere[steps][:, None], 1, pieces[placing.thing[placing.way[steps]]])
    rules = {
        "has pieces that nobody holds, or holds more than there are": pieces.sum(axis=1)
        != placing.count[ways],
        "holds less than nothing": np.array([pieces.min(), kept.min()]) < -CLOSE,
        "keeps a step in no tier, or in two": np.abs(kept.sum(axis=2) - held) > CLOSE * (1 + held),
        "keeps more in a tier than it holds": placement.held_gb(placing)
        > placing.capacity_gb * (1 + CLOSE) + CLOSE,
    }
    return [rule for rule, where in rules.items() if np.any(where)]


def filled(gb: Floats, seconds: Floats, capacity_gb: Floats) -> Floats | None:
    """Shares of steps in the tiers of one device [I, K], those first that gain most; None without room.

    A tier is filled by (seconds in the next one - seconds here) / GB, from the fastest on. The least time
    where there are two tiers, or where one order of steps holds in all; else close to it.
    """
    steps, tiers = seconds.shape
    kept, left = np.zeros((steps, tiers)), np.ones(steps)
    for k in range(tiers):
        order = np.arange(steps)
        if k + 1 < tiers:
            order = np.argsort((seconds[:, k] - seconds[:, k + 1]) / gb, kind="stable")
        size = (gb * left)[order]
        before = np.cumsum(size) - size
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.clip(np.where(size > 0, (capacity_gb[k] - before) / size, 0.0), 0.0, 1.0)
        kept[order, k] = left[order] * part
        left = np.maximum(left - kept[:, k], 0.0)
    if float((gb * left).sum()) > CLOSE * float(gb.sum()):
        return None
    kept[:, -1] += left
    return kept
