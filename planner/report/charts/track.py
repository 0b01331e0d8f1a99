"""What happened over what was planned: each figure of each month next to its band."""

from __future__ import annotations

import altair as alt

from planner.report.charts.drawing import (
    INK,
    OUTLINE,
    PALETTE,
    Picture,
    broken,
    chart_of,
    columns,
    layered,
    row_axis,
)
from planner.trace.numbers import percent_text
from planner.trace.records import Document, Record

MOST_SHOWN = 60
MARKS = {"yes": "within its band", "no": "has left its band", "no range": "no band is stated"}
SHAPES = ("circle", "triangle-up", "square")
COLOURS = (PALETTE[0], PALETTE[1], PALETTE[5])


def off_plan(document: Document) -> Picture | None:
    """A mark for each figure as a share above or below the plan, over the band that the plan gives it."""
    rows = [_row(row) for row in document["rows"] if row["off_fraction"] is not None][:MOST_SHOWN]
    if not rows:
        return None
    base = chart_of(rows).encode(y=row_axis("what"), tooltip=["said:N"])
    title = "above or below the plan (%)"
    bands = base.mark_bar(color="#80808050", height=12, stroke=OUTLINE, strokeWidth=0.5).encode(
        x=alt.X("low:Q", title=title), x2="high:Q"
    )
    kept = list(MARKS.values())
    legend = alt.Legend(title=None, orient="top", labelLimit=240, columns=columns(kept), symbolStrokeWidth=1)
    points = base.mark_point(size=110, filled=True, opacity=1, stroke=OUTLINE, strokeWidth=1).encode(
        x=alt.X("off:Q", title=title),
        shape=alt.Shape(
            "kept:N",
            sort=kept,
            scale=alt.Scale(domain=kept, range=list(SHAPES)),
            legend=legend,
        ),
        color=alt.Color(
            "kept:N", sort=kept, scale=alt.Scale(domain=kept, range=list(COLOURS)), legend=legend
        ),
    )
    plan = chart_of([{"plan": 0.0}]).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="plan:Q")
    left = [row["said"] for row in rows if row["kept"] == MARKS["no"]]
    words = "; ".join(left) if left else "every figure is within its band"
    more = len(document["rows"]) - len(rows)
    said = f" {more} more are in the table." if more > 0 else ""
    return Picture(
        "What happened over the plan",
        f"Marks in percent above or below the plan (dashed line), over bands. Left: {words}.{said}",
        layered(30, bands, plan, points),
    )


def _row(row: Record) -> Record:
    """A figure in percent of the plan; a band of nothing is drawn as no width at the mark of the plan."""
    plan = row["plan"]
    ends = [0.0 if row[end] is None else 100.0 * (row[end] / plan - 1.0) for end in ("low", "high")]
    of = f" of {row['of']}" if row["of"] else ""
    what = f"{row['month']} {row['measure'].replace('_fraction', '')}{of}"
    kept = MARKS[row["within"]]
    return {
        "what": broken(what),
        "low": ends[0],
        "high": ends[1],
        "off": 100.0 * row["off_fraction"],
        "kept": kept,
        "said": f"{what}: {percent_text(row['off_fraction'], sign=True)}, {kept}",
    }


TRACK_PICTURES = {"off": off_plan}
