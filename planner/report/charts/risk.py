"""What may come out otherwise: totals within their ranges, and how early jobs end before their deadlines."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date

import altair as alt

from planner.report.charts.drawing import (
    INK,
    MOST_ROWS,
    OUTLINE,
    PALETTE,
    Picture,
    broken,
    chart_of,
    day,
    layered,
    row_axis,
    with_room,
)
from planner.trace.numbers import number_text, quantity_text
from planner.trace.records import Document, Record

RANGES = ("cost", "carbon", "energy")
RISK_KEY = "Bar: from the 5th to the 95th percentile of the facts' ranges. Upright tick: the plan as made."
MARGIN_KEY = "Bar: from the 95 % finish to the median finish. Dashed line: the deadline."


def ranges(document: Document) -> Picture | None:
    """Cost, carbon and energy from their 5th to their 95th percentile; the plan as made is 100 %.

    A total below zero lies to the left, so that the plan is then at -100 %.
    """
    rows = [
        {
            "total": broken(total["label"]),
            "low": 100 * total["p5"] / abs(total["value"]),
            "high": 100 * total["p95"] / abs(total["value"]),
            "plan": math.copysign(100.0, total["value"]),
            "label": f"{quantity_text(total['p5'], total['unit'])} to "
            f"{quantity_text(total['p95'], total['unit'])}",
        }
        for total in document["totals"]
        if total["name"] in RANGES and None not in (total["p5"], total["p95"]) and total["value"]
    ]
    if not rows:
        return None
    scale = with_room(row[end] for row in rows for end in ("low", "high", "plan"))
    base = chart_of(rows).encode(y=row_axis("total"), tooltip=["total:N", "label:N"])
    bars = base.mark_bar(color=PALETTE[0], stroke=OUTLINE, size=16).encode(
        x=alt.X("low:Q", title="share of the plan as made (%)", scale=scale), x2="high:Q"
    )
    made = base.mark_tick(color=INK, thickness=3, size=24).encode(x="plan:Q")
    words = "; ".join(f"{row['total']} {row['label']}" for row in rows).replace("\n", " ")
    layers = (bars, made, *_labels(rows, "total", "high"))
    return Picture("How sure the totals are", f"{RISK_KEY} {words}.", layered(44, *layers))


def margins(document: Document) -> Picture | None:
    """Days between the finish of each training job and its deadline; late ones lie below zero."""
    dates = ("finish_p50", "finish_p95", "deadline")
    known = [job for job in document["tables"]["jobs"] if all(day(job[key]) for key in dates)]
    rows = [_margin(job) for job in known[:MOST_ROWS]]
    if not rows:
        return None
    scale = with_room(row[end] for row in rows for end in ("late", "median"))
    base = chart_of(rows).encode(y=row_axis("job"), tooltip=["job:N", "label:N"])
    bars = base.mark_bar(color=PALETTE[1], stroke=OUTLINE, size=16).encode(
        x=alt.X("late:Q", title="days before the deadline", scale=scale), x2="median:Q"
    )
    due = chart_of([{"due": 0}]).mark_rule(color=OUTLINE, strokeDash=[4, 3], strokeWidth=2).encode(x="due:Q")
    words = "; ".join(f"{row['job']}: {row['label']}" for row in rows).replace("\n", " ")
    layers = (bars, due, *_labels(rows, "job", "median"))
    return Picture("How early the jobs end", f"{MARGIN_KEY} {words}.", layered(44, *layers))


RISK_PICTURES: dict[str, Callable[[Document], Picture | None]] = {"ranges": ranges, "margins": margins}


def _margin(job: Record) -> Record:
    due = date.fromisoformat(job["deadline"])
    late, median = ((due - date.fromisoformat(job[f"finish_p{quantile}"])).days for quantile in (95, 50))
    return {
        "job": broken(str(job["job"])),
        "late": late,
        "median": median,
        "label": f"{number_text(late)} d (95 %) to {number_text(median)} d (median)",
    }


def _labels(rows: list[Record], row: str, end: str) -> list[alt.Chart]:
    """What each bar says, below it: next to it there is no room on a phone."""
    text = chart_of(rows).mark_text(color=INK, align="right", dy=16, fontSize=11)
    return [text.encode(y=row_axis(row), x=f"{end}:Q", text="label:N")]
