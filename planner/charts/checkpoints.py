"""Charts of checkpoint intervals."""

from __future__ import annotations

import altair as alt

from planner.charts.drawing import PALETTE, Document, Picture, chart_of, every, number_text

MEASURES = {
    "ettr_fraction": "share of time that trains, ETTR (%)",
    "usd_per_useful_h": "money per useful hour (USD)",
    "kgco2e_per_useful_h": "carbon per useful hour (kg CO2e)",
}


def checkpoint_curve(document: Document, measure: str = "ettr_fraction") -> Picture | None:
    """A measure against the checkpoint interval: the optima are marked, the flat region is shaded."""
    rows = every(document["rows"], 400)
    if not rows:
        return None
    factor = 100.0 if measure.endswith("_fraction") else 1.0
    points = [{"interval": row["interval_min"], "value": factor * row[measure]} for row in rows]
    marks = [
        {
            "interval": mark["interval_min"],
            "value": factor * mark[measure],
            "name": f"{mark['name']}: {number_text(mark['interval_min'])} min",
        }
        for mark in document["marks"]
    ]
    flat = document["flat"]
    x = alt.X(
        "interval:Q",
        scale=alt.Scale(type="log", nice=False),
        title="checkpoint interval (min)",
        axis=alt.Axis(grid=False),
    )
    y = alt.Y("value:Q", scale=alt.Scale(zero=False), title=MEASURES[measure])
    shade = chart_of([{"low": flat["low_min"], "high": flat["high_min"]}]).mark_rect(
        color=PALETTE[2], opacity=0.22
    )
    line = chart_of(points).mark_line(color="#2F8FC7", strokeWidth=2.5).encode(x=x, y=y)
    legend = alt.Legend(title="mark", orient="top", columns=2, labelLimit=260, rowPadding=1)
    shape, colour = (
        alt.Shape("name:N", sort=None, legend=legend),
        alt.Color("name:N", sort=None, legend=legend),
    )
    dots = chart_of(marks).mark_point(filled=True, size=120, opacity=1)
    dots = dots.encode(
        x=x, y=y, shape=shape, color=colour.scale(range=list(PALETTE)), tooltip=["name:N", "value:Q"]
    )
    words = "; ".join(f"{mark['name']}, {number_text(mark['value'])}" for mark in marks)
    return Picture(
        "Checkpoint interval",
        f"Line of {MEASURES[measure]} against the checkpoint interval. {words}. Shaded: "
        f"{number_text(flat['low_min'])} to {number_text(flat['high_min'])} min, "
        f"where at most {number_text(100 * flat['loss_fraction'])} % is lost.",
        alt.layer(shade.encode(x="low:Q", x2="high:Q"), line, dots).properties(height=400),
    )
