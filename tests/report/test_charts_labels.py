"""Names of marks on a phone: none over another, each within the plot where there is room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.report.charts.drawing import waterfall
from planner.report.charts.fronts import money_front
from planner.report.charts.label_places import HIGH, NARROW, PLACES, Box, _pixels, box_of, places_of
from planner.report.charts.throughput import side_by_side

# The front of the shipped quarter, and plans next to it that lie close together.
FRONT = [
    (164.0, 9.33, "cleanest"),
    (207.3, 8.27, ""),
    (293.2, 5.55, "knee"),
    (467.1, 4.91, "cheapest"),
    (475.0, 4.95, "as today"),
    (470.0, 4.92, "cost only"),
    (480.0, 5.02, "no purchases"),
    (472.0, 5.06, "usual practice"),
    (474.0, 5.05, "keep everything"),
]


def boxes(points: list[tuple[float, float, str]]) -> list[Box]:
    """What each name covers on a plot of a phone."""
    at = _pixels([(x, y) for x, y, _ in points])
    return [
        box_of(*pixel, name, PLACES[place])
        for pixel, (_, _, name), place in zip(at, points, places_of(points), strict=True)
        if name
    ]


def test_names_of_plans_that_lie_together_are_apart_on_a_phone() -> None:
    """All at the right above their marks, as before, six of nine would lie over one another."""
    found = boxes(FRONT)
    assert [
        one.shared(other) for k, one in enumerate(found) for other in found[:k] if one.shared(other)
    ] == []
    assert all(box.left >= 0 and box.right <= NARROW for box in found)
    assert all(box.top >= -20 and box.bottom <= HIGH + 20 for box in found)


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), min_size=1, max_size=4))
def test_four_names_are_apart_wherever_their_marks_are(marks: list[tuple[float, float]]) -> None:
    points = [(x, y, "usual practice") for x, y in marks]
    found = boxes(points)
    assert sum(one.shared(other) for k, one in enumerate(found) for other in found[:k]) == pytest.approx(0.0)


def test_each_name_is_drawn_once() -> None:
    rows = [
        {"point": k, "cost_usd": y, "carbon_kgco2e": x, "mark": name} for k, (x, y, name) in enumerate(FRONT)
    ]
    drawn = money_front({"sections": {"front": {"tables": {"points": rows}}}})
    assert drawn is not None
    layers = drawn.chart.to_dict()["layer"]
    texts = [layer for layer in layers if layer["mark"]["type"] == "text"]
    assert {layer["transform"][0]["filter"] for layer in texts} == {
        f"datum.place == {place}" for place in places_of([(x, y, name) for x, y, name in FRONT])
    }


def test_one_chip_is_no_chips() -> None:
    """A SKU whose least money is on one chip."""
    row = {"sku": "mi300x-8", "accelerators": 1, "million_usd": 1.06}
    picture = side_by_side({"best": [row], "unit": "tokens", "million_of": "tokens written"}, "million_usd")

    assert picture is not None
    assert "mi300x-8, 1 chip" in picture.alt
    assert "1 chips" not in picture.alt


@pytest.mark.parametrize(
    ("changes", "named"),
    [([2.0, 3.0], ["adds", "total"]), ([2.0, -1.0], ["adds", "takes away", "total"])],
)
def test_a_legend_names_what_the_bars_show(changes: list[float], named: list[str]) -> None:
    """A job takes nothing away; the colours of the others stay."""
    terms = [{"label": str(i), "usd": change} for i, change in enumerate(changes)]
    drawn = waterfall(terms, "usd", "USD", "Cost")
    assert drawn is not None
    colours = [
        layer["encoding"]["color"]
        for layer in drawn.chart.to_dict()["layer"]
        if "color" in layer.get("encoding", {}) and "legend" in layer["encoding"]["color"]
    ]

    assert {tuple(one["legend"]["values"]) for one in colours} == {tuple(named)}
    assert all(one["scale"]["domain"] == ["adds", "takes away", "total"] for one in colours)
