"""Where the names of marks are written, so that none is written over another on a narrow screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Place(NamedTuple):
    """Where a name is, next to its mark: aligned so, and moved by so many pixels."""

    align: str
    dx: int
    dy: int


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def shared(self, other: Box) -> float:
        """Area that both cover."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(wide, 0.0) * max(high, 0.0)


PLACES = tuple(
    Place(align, dx, dy)
    for dy in (-12, 14, -26, 28, -40, 42, -54, -68, -82)
    for align, dx in (("left", 12), ("right", -12), ("center", 0))
)
NARROW, HIGH = 290.0, 340.0  # pixels of a plot on a phone of 390 pixels
PAD_X, PAD_Y = 24.0, 18.0  # of the scales
LETTER, LINE, MARK = 6.4, 13.0, 6.0  # width of a letter, height of a line, half of a mark
OVER_MARK, OUTSIDE = 0.5, 4.0  # how bad a pixel over a mark, or outside, is next to one over another name


def places_of(points: Sequence[tuple[float, float, str]]) -> list[int]:
    """The place in `PLACES` of the name of each point (x, y, name), y upwards; 0 of a point without a name.

    One after the other, each where it covers least of names and marks: what is free on a narrow plot is free
    on a wide one.
    """
    at = _pixels([(x, y) for x, y, _ in points])
    marks = [Box(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in at]
    taken: list[Box] = []
    found: list[int] = []
    for (x, y), (_, _, name) in zip(at, points, strict=True):
        if not name:
            found.append(0)
            continue
        boxes = [box_of(x, y, name, place) for place in PLACES]
        cost = [
            sum(box.shared(other) for other in taken)
            + OVER_MARK * sum(box.shared(mark) for mark in marks)
            + OUTSIDE * _outside(box)
            for box in boxes
        ]
        best = min(range(len(PLACES)), key=cost.__getitem__)
        taken.append(boxes[best])
        found.append(best)
    return found


def box_of(x: float, y: float, name: str, place: Place) -> Box:
    """What a name covers next to a mark at these pixels."""
    wide = LETTER * len(name)
    left = x + place.dx - {"left": 0.0, "right": wide, "center": wide / 2}[place.align]
    return Box(left, y + place.dy - LINE / 2, left + wide, y + place.dy + LINE / 2)


def _pixels(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Where points are on a narrow plot, from its upper left corner."""
    (low_x, high_x), (low_y, high_y) = ((min(axis), max(axis)) for axis in zip(*points, strict=True))

    def part(value: float, low: float, high: float) -> float:
        return (value - low) / (high - low) if high > low else 0.5

    return [
        (
            PAD_X + part(x, low_x, high_x) * (NARROW - 2 * PAD_X),
            HIGH - PAD_Y - part(y, low_y, high_y) * (HIGH - 2 * PAD_Y),
        )
        for x, y in points
    ]


def _outside(box: Box) -> float:
    """Area of a box that is outside of the plot."""
    whole = (box.right - box.left) * (box.bottom - box.top)
    return whole - box.shared(Box(0.0, -LINE, NARROW, HIGH + LINE))
