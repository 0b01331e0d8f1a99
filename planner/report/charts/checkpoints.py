"""Charts of checkpoint intervals: one job, every policy, and many sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import altair as alt

from planner.report.charts.drawing import PALETTE, Picture, chart_of, columns
from planner.trace.currency import USD, shown, shown_value
from planner.trace.numbers import count_text, number_text, percent_text
from planner.trace.records import Document, Record, evenly_taken

MEASURES = {
    "ettr_fraction": "share of time that trains, ETTR (%)",
    "usd_per_useful_h": "money per useful hour (USD)",
    "kgco2e_per_useful_h": "carbon per useful hour (kgCO2e)",
}
SHORT = {
    "ettr_fraction": "ETTR (%)",
    "usd_per_useful_h": "USD per useful h",
    "kgco2e_per_useful_h": "kgCO2e per useful h",
}
BANDS = {
    "ettr_fraction": ("ettr_low_fraction", "ettr_high_fraction"),
    "usd_per_useful_h": ("usd_low_per_useful_h", "usd_high_per_useful_h"),
    "kgco2e_per_useful_h": ("kgco2e_low_per_useful_h", "kgco2e_high_per_useful_h"),
}
# Measure -> the column of `sizes` that says which interval is best for it.
BEST = {
    "ettr_fraction": "interval_min",
    "usd_per_useful_h": "money_interval_min",
    "kgco2e_per_useful_h": "carbon_interval_min",
}
OBJECTIVES = {"ettr_fraction": "time", "usd_per_useful_h": "money", "kgco2e_per_useful_h": "carbon"}
LINE = "#2F8FC7"
MOST_LOST = 0.1  # what small multiples show, and where the shades of a map end
MOST_POINTS = 400


def checkpoint_curve(document: Document, measure: str = "ettr_fraction") -> Picture | None:
    """A measure against the interval: optima marked, the flat region shaded, a band for the failure rate."""
    points = _points(evenly_taken(document["rows"], MOST_POINTS), measure)
    if not points:
        return None
    marks = [
        point | {"name": f"{mark['name']}: {number_text(mark['interval_min'])} min"}
        for mark, point in zip(document["marks"], _points(document["marks"], measure), strict=True)
    ]
    flat = document["flat"]
    x, y = _interval_axis(), _measure_axis(_title(measure))
    shade = chart_of([{"low": flat["low_min"], "high": flat["high_min"]}]).mark_rect(
        color=PALETTE[2], opacity=0.22
    )
    legend = alt.Legend(
        title="mark",
        orient="top",
        columns=columns(mark["name"] for mark in marks),
        labelLimit=260,
        rowPadding=1,
    )
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
        f"Line of {_title(measure)} against the checkpoint interval. {words}. Shaded: "
        f"{number_text(flat['low_min'])} to {number_text(flat['high_min'])} min, "
        f"where at most {percent_text(flat['loss_fraction'], None)} is lost.{_band_words(points, marks[0])}",
        alt.layer(
            shade.encode(x="low:Q", x2="high:Q"),
            *_band(points, x, _title(measure)),
            _line(points, x, y),
            dots,
        ).properties(height=400),
    )


def policy_curves(document: Document, measure: str = "ettr_fraction") -> Picture | None:
    """Every policy's measure against its interval, one kind of line each, its best one marked."""
    rows = document.get("curves", [])
    if not rows:
        return None
    points = [
        point | {"policy": row["policy"]} for row, point in zip(rows, _points(rows, measure), strict=True)
    ]
    names = list(dict.fromkeys(point["policy"] for point in points))
    optima = [one for one in document["policies"] if one["objective"] == OBJECTIVES[measure]]
    best = [
        point | {"policy": one["policy"]} for one, point in zip(optima, _points(optima, measure), strict=True)
    ]
    x, y = _interval_axis("time between checkpoints (min)"), _measure_axis(_title(measure))
    colours = alt.Scale(domain=names, range=_POLICY_COLOURS)
    legend = alt.Legend(
        title="policy", orient="top", columns=columns(names), symbolType="stroke", symbolSize=200
    )
    line = chart_of(points).mark_line(strokeWidth=2.5)
    line = line.encode(
        x=x,
        y=y,
        color=alt.Color("policy:N", scale=colours, legend=legend),
        strokeDash=alt.StrokeDash("policy:N", scale=alt.Scale(domain=names), legend=legend),
        tooltip=["policy:N", "interval:Q", "value:Q"],
    )
    dots = chart_of(best).mark_point(filled=True, size=110, opacity=1)
    dots = dots.encode(
        x=x,
        y=y,
        color=alt.Color("policy:N", scale=colours),
        shape=alt.Shape("policy:N", scale=alt.Scale(domain=names), legend=None),
    )
    words = "; ".join(
        f"{one['policy']} {number_text(one['value'])} at {number_text(one['interval'])} min" for one in best
    )
    return Picture(
        "Policies side by side",
        f"Lines of {_title(measure)} against the time between checkpoints. Best of each: {words}.",
        alt.layer(line, dots).properties(height=320),
    )


def size_curves(document: Document, measure: str = "ettr_fraction") -> list[Picture]:
    """The measure against the interval at each size of the job, where little is lost; ETTR on one scale."""
    rows = [row for row in document.get("map", []) if row[_more(measure)] <= MOST_LOST]
    points: dict[int, list[Record]] = {row["nodes"]: [] for row in rows}
    for row, point in zip(rows, _points(rows, measure), strict=True):
        points[row["nodes"]].append(point)
    ends = [point[end] for one in points.values() for point in one for end in ("low", "high")]
    domain = [min(ends), max(ends)] if ends and measure == "ettr_fraction" else None
    return [
        _size_curve(row, points[row["nodes"]], measure, domain)
        for row in document.get("sizes", [])
        if row["nodes"] in points
    ]


def interval_map(document: Document, measure: str = "ettr_fraction") -> Picture | None:
    """What each interval loses at each size of the job as shades, the best interval of each size marked."""
    rows, sizes = document.get("map", []), document.get("sizes", [])
    if not rows or not sizes:
        return None
    half, what = _half_step(rows), OBJECTIVES[measure]
    cells = [
        {
            "nodes": row["nodes"],
            "more": 100.0 * row[_more(measure)],
            "value": point["value"],
            "interval": point["interval"],
            "from": point["interval"] / half,
            "to": point["interval"] * half,
        }
        for row, point in zip(rows, _points(rows, measure), strict=True)
    ]
    best = [{"nodes": row["nodes"], "interval": row[BEST[measure]], "mark": "best interval"} for row in sizes]
    y = alt.Y("nodes:O", sort=[row["nodes"] for row in reversed(sizes)], title="nodes of the job")
    scale = alt.Scale(scheme="cividis", reverse=True, domain=[0, 100 * MOST_LOST], clamp=True)
    legend = alt.Legend(
        title=f"more {what} than at best (%; {100 * MOST_LOST:g} or more)",
        orient="top",
        gradientLength=220,
        titleLimit=320,
    )
    shades = chart_of(cells).mark_rect(stroke=None)
    shades = shades.encode(
        x=_interval_axis(field="from"),
        x2="to:Q",
        y=y,
        color=alt.Color("more:Q", scale=scale, legend=legend),
        tooltip=["nodes:O", "interval:Q", "value:Q", "more:Q"],
    )
    dots = chart_of(best).mark_point(
        shape="diamond", filled=True, size=90, opacity=1, color="#FFFFFF", stroke="#111111"
    )
    dots = dots.encode(x="interval:Q", y=y, tooltip=["mark:N", "nodes:O", "interval:Q"])
    words = "; ".join(f"{one['nodes']} nodes {number_text(one['interval'])} min" for one in best)
    return Picture(
        "Interval by size of the job",
        f"Shades, by interval and nodes, of how much more {what} a useful hour takes than at the best "
        f"interval. Diamonds, the best interval: {words}.",
        alt.layer(shades, dots).properties(height=alt.Step(26)),
    )


_POLICY_COLOURS = ["#2F8FC7", "#B87400", "#1E9A76"]  # lines want more contrast than bars


def _size_curve(row: Record, points: list[Record], measure: str, domain: list[float] | None) -> Picture:
    best = _best(points, measure)
    x, y = _interval_axis("interval (min)"), _measure_axis(_title(measure, SHORT), domain)
    dot = chart_of([best]).mark_point(shape="diamond", filled=True, size=90, opacity=1, color=PALETTE[1])
    title = f"{count_text(row['nodes'])} nodes"
    return Picture(
        title,
        f"{title}: line of {_title(measure)} against the interval; best at "
        f"{number_text(row[BEST[measure]])} min, {number_text(best['value'])}.{_band_words(points, best)}",
        alt.layer(
            *_band(points, x, _title(measure, SHORT)), _line(points, x, y), dot.encode(x=x, y=y)
        ).properties(height=170),
    )


def _points(rows: list[Record], measure: str) -> list[Record]:
    """Interval, value and both ends of its band; the value itself where it has none."""
    factor = 100.0 if measure.endswith("_fraction") else shown_value(1.0, USD) if "usd" in measure else 1.0
    low, high = BANDS[measure]
    return [
        {
            "interval": row["interval_min"],
            "value": factor * row[measure],
            "low": factor * (row[low] if low in row else row[measure]),
            "high": factor * (row[high] if high in row else row[measure]),
        }
        for row in rows
    ]


def _title(measure: str, titles: Mapping[str, str] = MEASURES) -> str:
    """The title of an axis, in the currency that is shown."""
    return titles[measure].replace(USD, shown().code)


def _more(measure: str) -> str:
    return f"{OBJECTIVES[measure]}_more_fraction"


def _best(points: list[Record], measure: str) -> Record:
    choose = max if measure.endswith("_fraction") else min
    return choose(points, key=lambda point: float(point["value"]))


def _interval_axis(title: str = "checkpoint interval (min)", field: str = "interval") -> alt.X:
    scale = alt.Scale(type="log", nice=False)
    return alt.X(f"{field}:Q", scale=scale, title=title, axis=alt.Axis(grid=False))


def _measure_axis(title: str, domain: list[float] | None = None) -> alt.Y:
    scale = alt.Scale(zero=False) if domain is None else alt.Scale(domain=domain, zero=False)
    return alt.Y("value:Q", scale=scale, title=title)


def _line(points: list[Record], x: alt.X, y: alt.Y) -> Any:
    return chart_of(points).mark_line(color=LINE, strokeWidth=2.5).encode(x=x, y=y)


def _band(points: list[Record], x: alt.X, title: str) -> list[Any]:
    if not any(point["low"] < point["high"] for point in points):
        return []
    area = chart_of(points).mark_area(color=LINE, opacity=0.25)
    return [area.encode(x=x, y=alt.Y("low:Q", title=title), y2="high:Q")]


def _band_words(points: list[Record], best: Record) -> str:
    if not any(point["low"] < point["high"] for point in points):
        return ""
    low, high = (number_text(best[end]) for end in ("low", "high"))
    return f" Band, over the range of the failure rate: {low} to {high} at the best interval."


def _half_step(rows: list[Record]) -> float:
    """Half of the step between two intervals of the map, as a factor."""
    intervals: Any = sorted({row["interval_min"] for row in rows})
    return math.sqrt(intervals[1] / intervals[0]) if len(intervals) > 1 else 1.1


# Measure -> its curve against the interval.
CHECKPOINT_PICTURES: dict[str, Callable[[Document], Picture | None]] = {
    name: partial(checkpoint_curve, measure=name) for name in MEASURES
}
