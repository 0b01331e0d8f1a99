"""Charts of what a scenario trades: money against carbon, and time against carbon."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import altair as alt

from planner.report.charts.drawing import INK, OUTLINE, PALETTE, Picture, chart_of, columns
from planner.report.charts.label_places import PLACES, places_of
from planner.trace.numbers import quantity_text, scale_of
from planner.trace.records import Document, Record

POINT = "point"  # the selection of a chart, and the field by which it names a plan

_STAR = (
    "M0,-1L0.225,-0.309L0.951,-0.309L0.363,0.118L0.588,0.809L0,0.382L-0.588,0.809L-0.363,0.118"
    "L-0.951,-0.309L-0.225,-0.309Z"
)
_STATES = {
    "on the front": ("circle", PALETTE[0]),
    "knee": ("diamond", PALETTE[1]),
    "beaten by another": ("cross", PALETTE[5]),
    "baseline": (_STAR, PALETTE[4]),
}
FRONT_KEY = (
    "Circle: a plan of the front; diamond: the knee; grey cross: beaten by another plan within the gap of "
    "the search; star: a plan to compare with; square around a mark: the plan that is open."
)


def money_front(
    document: Document, references: Sequence[Record] = (), opened: int | None = None
) -> Picture | None:
    """Money over carbon, one mark for each plan; `references` are other plans of the scenario, as stars."""
    points = document["sections"]["front"]["tables"].get("points", [])
    if not points:
        return None
    usd, usd_unit = scale_of("USD", [row["cost_usd"] for row in (*points, *references)])
    kg, kg_unit = scale_of("kgCO2e", [row["carbon_kgco2e"] for row in (*points, *references)])

    def mark(row: Record) -> Record:
        return {"x": row["carbon_kgco2e"] / kg, "y": row["cost_usd"] / usd, "said": _pair(row)}

    rows = [mark(row) | _of_point(row) for row in points]
    rows += [mark(row) | {"point": None, "state": "baseline", "label": row["name"]} for row in references]
    x = alt.X("x:Q", title=f"carbon ({kg_unit})", scale=alt.Scale(zero=False, padding=24))
    y = alt.Y("y:Q", title=f"cost ({usd_unit})", scale=alt.Scale(zero=False, padding=18))
    words = _words(points, lambda row: _pair(row), [f"{row['name']} {_pair(row)}" for row in references])
    chart = _front(rows, x, y, "linear", opened)
    return Picture("Money against carbon", f"Points of plans, money over carbon. {words}.", chart)


def time_front(document: Document, opened: int | None = None) -> Picture | None:
    """Carbon of the cleanest plan over the day by which the last job has to be done."""
    points = document["sections"]["times"]["tables"].get("times", [])
    if not points:
        return None
    kg, kg_unit = scale_of("kgCO2e", [row["carbon_kgco2e"] for row in points])

    def said(row: Record) -> str:
        return f"{quantity_text(row['carbon_kgco2e'], 'kgCO2e')} by {row['deadline']}"

    rows = [
        {"x": row["deadline"], "y": row["carbon_kgco2e"] / kg, "said": said(row)}
        | _of_point(row)
        | ({"state": "baseline", "label": "today's deadline"} if row["moved_d"] == 0 else {})
        for row in points
    ]
    axis = alt.Axis(format="%d %b %Y", labelOverlap=True)
    x = alt.X("x:T", title="last deadline", axis=axis, scale=alt.Scale(type="utc", padding=24))
    y = alt.Y("y:Q", title=f"carbon ({kg_unit})", scale=alt.Scale(zero=False, padding=18))
    words = _words(points, said, [])
    chart = _front(rows, x, y, "step-after", opened)
    return Picture("Time against carbon", f"Points of plans, carbon over the deadline. {words}.", chart)


def _of_point(row: Record) -> Record:
    """How a plan is marked: its number, its state and the word next to it."""
    mark = row["mark"]
    state = {"beaten": "beaten by another", "knee": "knee"}.get(mark, "on the front")
    return {"point": row["point"], "state": state, "label": "" if mark == "beaten" else mark}


def _front(rows: Sequence[Record], x: alt.X, y: alt.Y, line: Any, opened: int | None) -> Any:
    """The line of the front, its marks, and their names; a click on a mark selects its plan."""
    present = [state for state in _STATES if any(row["state"] == state for row in rows)]
    shapes, colours = ([_STATES[state][part] for state in present] for part in (0, 1))
    legend = alt.Legend(
        title=None, orient="top", columns=columns(present), labelLimit=220, symbolStrokeWidth=0
    )
    at = places_of([(_number(row["x"]), row["y"], row["label"]) for row in rows])
    rows = [row | {"place": place} for row, place in zip(rows, at, strict=True)]
    base = chart_of(rows).encode(x=x, y=y)
    kept = "datum.state == 'on the front' || datum.state == 'knee' || datum.label == \"today's deadline\""
    walk = base.transform_filter(kept).mark_line(color=OUTLINE, interpolate=line)
    click = alt.selection_point(name=POINT, fields=[POINT], on="click", clear=False)
    marks = (
        base.mark_point(size=130, filled=True, opacity=1, stroke=OUTLINE, strokeWidth=1)
        .encode(
            color=alt.Color("state:N", scale=alt.Scale(domain=present, range=colours), legend=legend),
            shape=alt.Shape("state:N", scale=alt.Scale(domain=present, range=shapes), legend=legend),
            tooltip=[alt.Tooltip("point:Q", title="point"), alt.Tooltip("said:N", title="plan")],
        )
        .add_params(click)
    )
    ring = chart_of([row for row in rows if row["point"] == opened and opened is not None]).encode(x=x, y=y)
    around = ring.mark_point(shape="square", size=420, color=INK, strokeWidth=2)
    names = [
        base.transform_filter(f"datum.place == {place}")
        .mark_text(
            color=INK, align=PLACES[place].align, dx=PLACES[place].dx, dy=PLACES[place].dy, fontSize=12
        )
        .encode(text="label:N")
        for place in sorted({row["place"] for row in rows})
    ]
    return alt.layer(walk, marks, around, *names).properties(height=340)


def _number(x: Any) -> float:
    """A place along the axis: of a day, its number."""
    return float(x) if isinstance(x, int | float) else float(date.fromisoformat(str(x)[:10]).toordinal())


def _words(points: Sequence[Record], said: Any, references: Sequence[str]) -> str:
    found = [f"{row['mark'] or 'point'} {said(row)}" for row in points if row["mark"] != "beaten"]
    return "; ".join([*found, *references])


def _pair(row: Record) -> str:
    return f"{quantity_text(row['cost_usd'], 'USD')} at {quantity_text(row['carbon_kgco2e'], 'kgCO2e')}"
