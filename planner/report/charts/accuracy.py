"""Charts of how close ours come to published values."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from planner.report.charts.drawing import (
    INK,
    MOST_ROWS,
    OUTLINE,
    PALETTE,
    Picture,
    broken,
    chart_of,
    layered,
    row_axis,
)
from planner.trace.numbers import percent_text
from planner.trace.records import Record

WIDEST_PERCENT = 100.0  # a worse row is drawn at the end of the axis, with its number


def errors_by_name(groups: Sequence[Record]) -> Picture | None:
    """A bar to the median error of each group, and a tick at its worst row."""
    scored = [group for group in groups if group["scored"]]
    most = sorted(scored, key=lambda group: -int(group["scored"]))[:MOST_ROWS]
    if not most:
        return None
    rows = [
        {
            "name": broken(f"{group['name']} ({group['scored']})"),
            "median": 100.0 * group["median_error"],
            "worst": min(100.0 * group["worst_error"], WIDEST_PERCENT),
            "label": percent_text(group["worst_error"], 0)
            + (" (beyond the axis)" if 100.0 * group["worst_error"] > WIDEST_PERCENT else ""),
            "beyond": 100.0 * group["worst_error"] > WIDEST_PERCENT,
            "said": f"{group['name']}: median {percent_text(group['median_error'])}, worst "
            f"{percent_text(group['worst_error'], 0)} ({group['worst_id']})",
        }
        for group in most
    ]
    end = max(row["worst"] for row in rows)
    scale = alt.Scale(domain=[0.0, 1.15 * end], nice=False)
    base = chart_of(rows).encode(y=row_axis("name"), tooltip=["said:N"])
    bars = base.mark_bar(stroke=OUTLINE, color=PALETTE[0]).encode(
        x=alt.X("median:Q", title="error (%)", scale=scale)
    )
    ticks = base.mark_tick(color=INK, thickness=2).encode(x="worst:Q")
    # What is longer than the room behind the axis is written before its tick.
    align, dx = alt.ExprRef("datum.beyond ? 'right' : 'left'"), alt.ExprRef("datum.beyond ? -5 : 5")
    texts = base.mark_text(color=INK, align=align, dx=dx, fontSize=11).encode(x="worst:Q", text="label:N")
    words = "; ".join(row["said"] for row in rows)
    return Picture("Errors by group", f"Bars of the median error. {words}.", layered(30, bars, ticks, texts))
