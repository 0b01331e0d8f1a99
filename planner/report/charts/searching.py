"""A search for a plan while it goes on: the best so far, and the bound that it closes in on."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from planner.report.charts.drawing import PALETTE, Picture, chart_of, tall
from planner.trace.numbers import count_text, quantity_text, scale_of
from planner.trace.records import Record, evenly_taken

LINES = {"incumbent": "best so far", "bound": "bound: nothing is below"}
MOST_STEPS = 400


def search_trace(steps: Sequence[Record], unit: str) -> Picture | None:
    """Objective against time, of the best so far and of the bound; None until both are known."""
    known = [step for step in steps if step["incumbent"] is not None and step["bound"] is not None]
    if not known:
        return None
    drawn = evenly_taken(known, MOST_STEPS)
    divisor, shown = scale_of(unit, (step["incumbent"] for step in drawn))
    rows = [
        {"seconds": step["elapsed_s"], "line": label, "value": step[key] / divisor}
        for key, label in LINES.items()
        for step in drawn
    ]
    names = list(LINES.values())
    legend = alt.Legend(title=None, orient="top", columns=1, symbolStrokeWidth=3)
    lines = (
        chart_of(rows)
        .mark_line(interpolate="step-after", strokeWidth=3)
        .encode(
            x=alt.X("seconds:Q", title="time (s)"),
            y=alt.Y("value:Q", title=f"objective ({shown})".replace(" ()", ""), scale=alt.Scale(zero=False)),
            color=alt.Color("line:N", scale=alt.Scale(domain=names, range=list(PALETTE)), legend=legend),
            strokeDash=alt.StrokeDash(
                "line:N", scale=alt.Scale(domain=names, range=[[1, 0], [6, 4]]), legend=legend
            ),
        )
    )
    last = drawn[-1]
    words = ", ".join(f"{label} {quantity_text(last[key], unit)}" for key, label in LINES.items())
    alt_text = f"Lines over {count_text(last['elapsed_s'])} s of search. At last: {words}."
    return Picture("How the search closes in", alt_text, tall(lines).properties(height=260))
