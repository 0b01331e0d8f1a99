"""The map of the guided start: every place of the list is on it, where it lies, in the colour of its grid."""

from __future__ import annotations

import math

import pytest
from streamlit.testing.v1 import AppTest

from planner.inputs.geography import Ring, land, spots
from planner.inputs.loading import load_catalogue
from planner.inputs.sheets.guide import places
from planner.report.charts.drawing import OUTLINE
from planner.report.charts.places import SPOT, place_map
from planner.ui.begin_map import spot_rows

CATALOGUE = load_catalogue()
KNOWN = places(CATALOGUE)


def inside(ring: Ring, x: float, y: float) -> bool:
    """Whether a ray to the east meets the ring an odd number of times."""
    crossings = 0
    for (x0, y0), (x1, y1) in zip(ring, ring[1:] + ring[:1], strict=True):
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0):
            crossings += 1
    return crossings % 2 == 1


def degrees_to_land(x: float, y: float) -> float:
    """How far a spot is from the nearest outline; nothing on land."""
    outer = [polygon[0] for polygon in land()]
    if any(inside(ring, x, y) for ring in outer):
        return 0.0
    sides = [side for ring in outer for side in zip(ring, ring[1:] + ring[:1], strict=True)]
    return min(degrees_to_side(x, y, *a, *b) for a, b in sides)


def degrees_to_side(x: float, y: float, x0: float, y0: float, x1: float, y1: float) -> float:
    """How far a spot is from a straight line between two corners."""
    length = (x1 - x0) ** 2 + (y1 - y0) ** 2
    along = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length if length else 0.0
    along = min(max(along, 0.0), 1.0)
    return math.hypot(x - x0 - along * (x1 - x0), y - y0 - along * (y1 - y0))


def test_every_place_of_the_list_has_a_spot_and_no_other() -> None:
    assert set(spots()) == set(KNOWN)


def test_spots_lie_on_land() -> None:
    """Outlines leave out small islands and are simplified: half a degree is a coast."""
    for name, (city, latitude_deg, longitude_deg) in spots().items():
        assert degrees_to_land(longitude_deg, latitude_deg) < 0.5, f"{name}, {city}"


@pytest.mark.parametrize(
    ("name", "latitude_deg", "longitude_deg"),
    [("aws/eu-central-1", 50.11, 8.68), ("se", 59.33, 18.06), ("gcp/us-west1", 45.6, -121.18)],
)
def test_known_places_are_where_an_atlas_has_them(
    name: str, latitude_deg: float, longitude_deg: float
) -> None:
    """Frankfurt, Stockholm and The Dalles."""
    assert spots()[name][1:] == pytest.approx((latitude_deg, longitude_deg), abs=0.1)


def test_each_place_is_on_one_mark_with_the_least_of_its_grids() -> None:
    rows = spot_rows(KNOWN, {"se"}, CATALOGUE)
    frankfurt = next(row for row in rows if "aws/eu-central-1" in row["places"])

    assert sorted(place for row in rows for place in row["places"]) == sorted(KNOWN)
    assert [row["places"] for row in rows if row["chosen"]] == [
        next(row["places"] for row in rows if "se" in row["places"])
    ]
    assert frankfurt["kind"] == "cloud"
    grids = [CATALOGUE.regions[place].grid for place in frankfurt["places"]]
    assert frankfurt["kgco2e_per_kwh"] == min(
        CATALOGUE.fact(f"grid.{grid}.intensity").value for grid in grids
    )


def test_the_map_says_every_mark_in_words_and_can_be_clicked() -> None:
    rows = spot_rows(KNOWN, (), CATALOGUE)
    picture = place_map(rows, land())
    spec = picture.chart.to_dict()

    assert all(row["said"] in picture.alt for row in rows)
    assert [one["name"] for one in spec["params"]] == [SPOT]
    assert len(spec["layer"]) == 3


def test_shapes_of_the_legend_are_seen_in_light_and_dark() -> None:
    """They have no colour of their own, and were black on black."""
    chart = place_map(spot_rows(KNOWN, (), CATALOGUE), land()).chart.to_dict()
    (shape,) = [
        layer["encoding"]["shape"] for layer in chart["layer"] if "shape" in layer.get("encoding", {})
    ]

    assert shape["legend"]["symbolFillColor"] == OUTLINE


def begin_with_a_click() -> None:
    """The guided start where a mark of the map was clicked."""
    import streamlit as st

    from planner.inputs.loading import load_catalogue
    from planner.inputs.sheets.guide import places
    from planner.ui import begin_map

    clicked = {"selection": {"spot": [{"spot": "59.33, 18.07"}]}}
    st.vega_lite_chart = lambda *_, **__: clicked  # the browser's part
    catalogue = load_catalogue()
    begin_map.place_chooser(
        places(catalogue), (), catalogue, lambda place: st.session_state.update(took=place)
    )


def test_a_click_offers_each_place_that_lies_there() -> None:
    """Stockholm is Sweden's capital and the place of two providers; a button takes one of them."""
    page = AppTest.from_function(begin_with_a_click, default_timeout=60).run()

    assert not page.exception
    assert {button.key for button in page.button} == {
        f"begin.map.{place}" for place in ("se", "aws/eu-north-1", "gcp/europe-north2")
    }
    page.button("begin.map.aws/eu-north-1").click().run()
    assert page.session_state["took"] == "aws/eu-north-1"
