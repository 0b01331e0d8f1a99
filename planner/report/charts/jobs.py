"""Charts of one job's carbon."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import altair as alt

from planner.report.charts.drawing import (
    INK,
    OUTLINE,
    PALETTE,
    Picture,
    broken,
    chart_of,
    colour,
    layered,
    row_axis,
    waterfall,
)
from planner.trace.numbers import SPOKEN, number_text, percent_text, quantity_text, scale_of
from planner.trace.records import Document, Record

MOST_BARS = 12
_CARBON = ("carbon", "operational", "embodied", "market")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def phase_waterfall(document: Document) -> Picture | None:
    """Carbon of a job, phase by phase."""
    terms = [{"label": row["phase"], "kgco2e": row["kgco2e"]} for row in document["phases"]]
    return waterfall(terms, "kgco2e", "kgCO2e", "Carbon, phase by phase")


def split_waterfall(document: Document) -> Picture | None:
    """Carbon of each phase, its electricity and its hardware apart."""
    parts = (("electricity_kgco2e", "electricity"), ("hardware_kgco2e", "hardware"))
    terms = [
        {"label": f"{row['phase']}: {word}", "kgco2e": row[key]}
        for row in document["phases"]
        for key, word in parts
        if row[key]
    ]
    return waterfall(terms, "kgco2e", "kgCO2e", "Electricity and hardware of each phase")


def range_bars(document: Document) -> Picture | None:
    """Total, electricity and hardware, each with the range that 90 of 100 draws of the facts lie in."""
    totals = [total for total in document["totals"] if total["name"] in _CARBON]
    if not totals:
        return None
    divisor, unit = scale_of("kgCO2e", [total["p95"] for total in totals])
    rows = [
        {
            "total": broken(total["label"]),
            "low": total["p5"] / divisor,
            "value": total["value"] / divisor,
            "high": total["p95"] / divisor,
            "label": "{} ({} to {})".format(
                *(number_text(total[end] / divisor, SPOKEN) for end in ("value", "p5", "p95"))
            ),
        }
        for total in totals
    ]
    scale = alt.Scale(domain=[0.0, 1.1 * max(row["high"] for row in rows)], nice=False)
    base = chart_of(rows).encode(y=row_axis("total"), tooltip=["label:N"])
    x = alt.X("low:Q", title=unit, scale=scale)
    ranges = base.mark_bar(color=PALETTE[0], stroke=OUTLINE, height=12).encode(x=x, x2="high:Q")
    marks = base.mark_point(shape="diamond", filled=True, size=90, color=INK, opacity=1).encode(x="value:Q")
    # Below the bar: next to it there is no room on a phone.
    text = base.mark_text(color=INK, align="left", dx=2, dy=16, fontSize=11).encode(
        x=alt.datum(0, type="quantitative"), text="label:N"
    )
    words = "; ".join(f"{row['total']} {row['label']}" for row in rows).replace("\n", " ")
    return Picture(
        "Carbon and its range",
        f"Bars in {unit} from the 5th to the 95th percentile, a diamond at the estimate. {words}.",
        layered(44, ranges, marks, text),
    )


def changes(document: Document) -> Picture | None:
    """What the same job would emit with one thing different."""
    widest = sorted(document["changes"], key=lambda row: -abs(row["change_kgco2e"]))[:MOST_BARS]
    rows = [
        {
            "row": broken(f"{row['what']}: {row['to']}"),
            "end": "less" if row["change_kgco2e"] < 0 else "more",
            "kgco2e": row["change_kgco2e"],
            "label": percent_text(row["change_fraction"], None, sign=True),
        }
        for row in widest
    ]
    return _diverging(rows, "What would change it", "carbon is", ["less", "more"])


def tornado(document: Document) -> Picture | None:
    """Carbon with each uncertain fact at its low and at its high end."""
    middle = next((total["value"] for total in document["totals"] if total["name"] == "carbon"), None)
    found = [row for row in document["tornado"] if None not in (row["at_low"], row["at_high"], middle)]
    rows = [
        {
            "row": _fact_label(row["fact"], row["unit"]),
            "end": end,
            "kgco2e": row[f"at_{end}"] - middle,
            "label": number_text(row[end]),
        }
        for row in found[:MOST_BARS]
        for end in ("low", "high")
    ]
    return _diverging(rows, "What is least certain", "fact at its", ["low", "high"])


def hour_map(document: Document) -> Picture | None:
    """Carbon of the job by place and hour of the day."""
    rows = [row | {"x": f"{row['hour']:02d}"} for row in document["hours"]]
    return _map(rows, "Where, and at which hour", "hour of the day (UTC)")


def month_map(document: Document) -> Picture | None:
    """Carbon of the job by place and month of its start."""
    rows = [row | {"x": _MONTHS[row["month"] - 1]} for row in document["months"]]
    return _map(rows, "Where, and in which month it starts", "month of the start")


# Section of a job -> its chart.
JOB_PICTURES: dict[str, Callable[[Document], Picture | None]] = {
    "totals": range_bars,
    "phases": phase_waterfall,
    "changes": changes,
    "uncertainty": tornado,
}


def _diverging(rows: Sequence[Record], title: str, legend: str, ends: list[str]) -> Picture | None:
    """Bars to the left and to the right of the total as it is."""
    if not rows:
        return None
    divisor, unit = scale_of("kgCO2e", [row["kgco2e"] for row in rows])
    drawn = [row | {"from": 0.0, "to": row["kgco2e"] / divisor} for row in rows]
    reach = 1.6 * max(abs(row["to"]) for row in drawn) or 1.0  # the labels stand outside the bars
    scale = alt.Scale(domain=[-reach, reach], nice=False)
    axis = alt.Axis(format="+,~r", tickCount=5)
    base = chart_of(drawn).encode(y=row_axis("row"), tooltip=["row:N", "end:N", "label:N", "to:Q"])
    bars = base.mark_bar(stroke=OUTLINE).encode(
        x=alt.X("from:Q", title=f"change ({unit})", scale=scale, axis=axis),
        x2="to:Q",
        color=colour("end", legend, ends),
    )
    left = base.transform_filter("datum.to < 0").mark_text(color=INK, align="right", dx=-4, fontSize=10)
    right = base.transform_filter("datum.to >= 0").mark_text(color=INK, align="left", dx=4, fontSize=10)
    labels = [text.encode(x="to:Q", text="label:N") for text in (left, right)]
    words = "; ".join(f"{row['row']}, {row['end']}: {number_text(row['to'])} {unit}" for row in drawn)
    return Picture(title, f"Bars of the change. {words}.".replace("\n", " "), layered(30, bars, *labels))


def _map(rows: Sequence[Record], title: str, across: str) -> Picture | None:
    """A field of places against times: the colour is the carbon, marks stand on the ends of each place."""
    if not rows:
        return None
    divisor, unit = scale_of("kgCO2e", [row["kgco2e"] for row in rows])
    names = list(dict.fromkeys(row["place"] for row in rows))
    drawn = [
        {
            "place": broken(row["place"]),
            "x": row["x"],
            "value": row["kgco2e"] / divisor,
            "mark": mark,
            "label": f"{quantity_text(row['kgco2e'], 'kgCO2e')}, "
            f"{percent_text(row['change_fraction'], None, sign=True)}",
        }
        for name in names
        for row, mark in _marked([row for row in rows if row["place"] == name])
    ]
    base = chart_of(drawn).encode(
        x=alt.X("x:N", sort=None, title=across, axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=row_axis("place"),
        tooltip=["place:N", "x:N", "label:N"],
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "value:Q",
            title=unit,
            scale=alt.Scale(scheme="blues"),
            legend=alt.Legend(orient="top", gradientLength=180),
        ),
    )
    shapes = alt.Scale(domain=["cleanest", "dirtiest"], range=["circle", "triangle-up"])
    marks = (
        base.transform_filter("datum.mark != ''")
        .mark_point(filled=True, size=60, opacity=1, fill="#FFFFFF", stroke="#111111")
        .encode(shape=alt.Shape("mark:N", scale=shapes, legend=None))
    )
    ends = [row for row in drawn if row["mark"]]
    said = "; ".join(f"{row['place']} {row['mark']} at {row['x']}: {row['label']}" for row in ends)
    words = f"A field of places and times, coloured by carbon in {unit}. {said or 'All times are alike'}."
    return Picture(title, words.replace("\n", " "), layered(34, cells, marks))


def _marked(rows: Sequence[Record]) -> list[tuple[Record, str]]:
    """Rows of one place, the least and the most of them marked where they differ."""
    values = [row["kgco2e"] for row in rows]
    if max(values) == min(values):
        return [(row, "") for row in rows]
    marks = {values.index(min(values)): "cleanest", values.index(max(values)): "dirtiest"}
    return [(row, marks.get(index, "")) for index, row in enumerate(rows)]


def _fact_label(key: str, unit: str) -> str:
    """A fact's key with its unit, broken at a full stop where it is long."""
    said = key if unit == "1" else f"{key} ({unit})"
    head, dot, _ = key.rpartition(".")
    return f"{head}.\n{said.removeprefix(head + dot)}" if dot and len(said) > 26 else said
