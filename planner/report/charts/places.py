"""A map of places where nodes may stand, each in the colour of its grid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import altair as alt

from planner.report.charts.drawing import INK, OUTLINE, Picture, chart_of
from planner.trace.numbers import number_text
from planner.trace.records import Record

SPOT = "spot"  # the selection of the map, and the field by which it names a spot
# Grids by carbon intensity: from below these ends, kgCO2e/kWh; every eye tells blue from red.
_ENDS = (0.1, 0.25, 0.45)
_COLOURS = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00")
_SHAPES = {"country": "circle", "cloud": "diamond", "both": "square"}
HEIGHT_PX = 440


def place_map(rows: Sequence[Record], land: Sequence[Sequence[Sequence[Sequence[float]]]]) -> Picture:
    """Marks on a map of the world; a click selects one.

    Args:
        rows: of each spot `spot`, `latitude_deg`, `longitude_deg`, `kind` (country, cloud or both),
            `said` (the places there, in words), `kgco2e_per_kwh` (of its grid, the least of several),
            `chosen`.
        land: polygons of rings of (longitude, latitude).
    """
    shapes = {"type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": land}, "properties": {}}
    ground = alt.Chart(alt.Data(values=[shapes])).mark_geoshape(  # type: ignore[no-untyped-call]
        fill=OUTLINE, fillOpacity=0.22, stroke=OUTLINE, strokeWidth=0.4, aria=False
    )
    marked = [row | {"grid": _class(row["kgco2e_per_kwh"])} for row in rows]
    base = chart_of(marked).encode(longitude="longitude_deg:Q", latitude="latitude_deg:Q")
    click = alt.selection_point(name=SPOT, fields=[SPOT], on="click", empty=False)
    legend: dict[str, Any] = {"orient": "bottom", "labelLimit": 240, "symbolStrokeWidth": 0}
    marks = (
        base.mark_point(filled=True, opacity=0.9, stroke=INK, strokeWidth=0.6)
        .encode(
            color=alt.Color(
                "grid:N", title="grid (kgCO2e/kWh)", scale=_colours(), legend=alt.Legend(columns=2, **legend)
            ),
            shape=alt.Shape(
                "kind:N",
                title="stands for",
                scale=_shapes(marked),
                # Shapes have no colour of their own: black ones were not seen on a dark page.
                legend=alt.Legend(columns=1, symbolFillColor=OUTLINE, **legend),
            ),
            size=alt.condition(click, alt.value(260), alt.value(90)),
            tooltip=[alt.Tooltip("said:N", title="here"), alt.Tooltip("grid_said:N", title="grid")],
        )
        .add_params(click)
    )
    around = base.transform_filter("datum.chosen").mark_point(size=320, color=INK, strokeWidth=2, aria=False)
    chart = alt.layer(ground, marks, around).project("naturalEarth1").properties(height=HEIGHT_PX)
    words = "; ".join(f"{row['said']}: {number_text(row['kgco2e_per_kwh'])} kgCO2e/kWh" for row in rows)
    return Picture("Places", f"A map of places; the list above it has the same. {words}.", chart)


def _class(intensity: float) -> str:
    """The step of a grid, in words."""
    names = _classes()
    return next((name for end, name in zip(_ENDS, names, strict=False) if intensity < end), names[-1])


def _classes() -> tuple[str, ...]:
    ends = [number_text(end) for end in _ENDS]
    between = (f"{low} to {high}" for low, high in pairwise(ends))
    return (f"below {ends[0]}", *between, f"from {ends[-1]}")


def _colours() -> alt.Scale:
    return alt.Scale(domain=list(_classes()), range=list(_COLOURS))


def _shapes(rows: Sequence[Record]) -> alt.Scale:
    present: list[Any] = [kind for kind in _SHAPES if any(row["kind"] == kind for row in rows)]
    return alt.Scale(domain=present, range=[_SHAPES[kind] for kind in present])
