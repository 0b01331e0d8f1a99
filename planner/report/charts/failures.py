"""Charts of a fitted log: lifetimes, rates, weak nodes, what to expect."""

from __future__ import annotations

from collections.abc import Callable

import altair as alt

from planner.report.charts.drawing import (
    INK,
    MOST_ROWS,
    OUTLINE,
    PALETTE,
    Picture,
    broken,
    chart_of,
    colour,
    layered,
    row_axis,
    tall,
    with_room,
)
from planner.trace.numbers import count_text, how_many, number_text, percent_text
from planner.trace.records import Document, Record

MOST_CAUSES = 12
SURVIVAL_KEY = "Steps: the log, with its band. Dashed: the fitted lifetime."
AHEAD_KEY = "Dots: the periods of the log. Diamond: the median of the next one, with its interval as a line."


def survival(document: Document) -> Picture | None:
    """Share of units still without a failure against age, the log's with its band and the model's."""
    rows = _fit_rows(document, "lives", "survival")
    if not rows:
        return None
    start = {"age": 0.0, "log": 100.0, "low": 100.0, "high": 100.0, "model": 100.0}
    points = [start] + [
        {"age": row["age_d"]}
        | {
            name: 100.0 * row[key]
            for name, key in (
                ("log", "survival_fraction"),
                ("low", "low_fraction"),
                ("high", "high_fraction"),
                ("model", "model_fraction"),
            )
        }
        for row in rows
    ]
    base = chart_of(points).encode(x=alt.X("age:Q", title="age (d)", axis=alt.Axis(grid=False)))
    share = alt.Y("log:Q", title="units without a failure (%)", scale=alt.Scale(domain=[0, 100]))
    band = base.mark_area(color=PALETTE[0], opacity=0.3, interpolate="step-after").encode(
        y="low:Q", y2="high:Q"
    )
    steps = base.mark_line(color=PALETTE[0], strokeWidth=2.5, interpolate="step-after").encode(y=share)
    model = base.mark_line(color=PALETTE[1], strokeWidth=2, strokeDash=[6, 4]).encode(y="model:Q")
    last, name = points[-1], _fit_rows(document, "lives", "fits")[0]["lifetime"]
    return Picture(
        "How long units last",
        f"{SURVIVAL_KEY} At {number_text(last['age'])} d {count_text(last['log'])} % of units are without "
        "a failure "
        f"({count_text(last['low'])} to {count_text(last['high'])} %); the {name} lifetime says "
        f"{count_text(last['model'])} %.",
        tall(band, steps, model),
    )


def failures_by_period(document: Document) -> Picture | None:
    """Failures of past periods, and the next one with its interval."""
    rows = _fit_rows(document, "ahead", "periods")
    if not rows:
        return None
    bars = [{"day": row["from_day"] + row["length_d"] / 2, "failures": row["failures"]} for row in rows]
    x = alt.X("day:Q", title="day of the log", axis=alt.Axis(grid=False))
    y = alt.Y("failures:Q", title="failures in a period", scale=alt.Scale(zero=True))
    layers = [
        chart_of(bars)
        .mark_line(color=PALETTE[0], point=alt.OverlayMarkDef(size=50, color=PALETTE[0]))
        .encode(x=x, y=y)
    ]
    counts = ", ".join(str(row["failures"]) for row in rows)
    words = f"{len(rows)} periods of {number_text(rows[0]['length_d'])} d had {counts} failures"
    for ahead in _fit_rows(document, "ahead", "next_period"):
        day = ahead["from_day"] + ahead["length_d"] / 2
        point = chart_of(
            [{"day": day, "low": ahead["low"], "high": ahead["high"], "failures": ahead["median"]}]
        )
        layers += [
            point.mark_rule(color=PALETTE[1], strokeWidth=3).encode(x=x, y="low:Q", y2="high:Q"),
            point.mark_point(shape="diamond", filled=True, size=110, color=PALETTE[1], opacity=1).encode(
                x=x, y=y
            ),
        ]
        words += (
            f"; the next is forecast to have {number_text(ahead['median'])}, {number_text(ahead['low'])} to "
            f"{number_text(ahead['high'])} (diamond with its interval)"
        )
    return Picture("Failures by period", f"{words}.", tall(*layers))


def failure_counts(document: Document) -> Picture | None:
    """Failures by cause, the most frequent first."""
    rows = [
        {
            "cause": broken(row["cause"]),
            "failures": row["failures"],
            "label": f"{count_text(row['failures'])} ({percent_text(row['of_all_fraction'], 0)})",
        }
        for row in _fit_rows(document, "rate", "causes")[:MOST_CAUSES]
    ]
    if not rows:
        return None
    x = alt.X("failures:Q", title="failures", scale=with_room(row["failures"] for row in rows))
    base = chart_of(rows).encode(y=row_axis("cause"), tooltip=["cause:N", "label:N"])
    words = "; ".join(f"{row['cause']} {row['label']}" for row in rows)
    return Picture(
        "Failures by cause",
        f"Bars. {words}.".replace("\n", " "),
        layered(
            22,
            base.mark_bar(color=PALETTE[0], stroke=OUTLINE).encode(x=x),
            base.mark_text(color=INK, align="left", dx=4, fontSize=11).encode(x=x, text="label:N"),
        ),
    )


def mttf_by_size(document: Document) -> Picture | None:
    """Time between failures of a job against its size, with the interval; measured sizes as diamonds."""
    rows = _fit_rows(document, "sizes", "mttf")
    if not rows:
        return None
    points = [
        {
            "nodes": row["nodes"],
            "mttf": row["mttf_h"],
            "low": row["low_mttf_h"],
            "high": row["high_mttf_h"] or 1e6,
        }
        for row in rows
    ]
    measured = [
        {
            "nodes": row["nodes"],
            "mttf": row["measured_mttf_h"],
            "low": row["measured_low_h"],
            "high": row["measured_high_h"],
        }
        for row in _fit_rows(document, "sizes", "measured")
        if row["measured_mttf_h"] is not None
    ]
    log = alt.Scale(type="log", nice=False)
    x = alt.X("nodes:Q", title="nodes of the job", scale=log, axis=alt.Axis(grid=False))
    y = alt.Y("mttf:Q", title="time between failures (h)", scale=alt.Scale(type="log"))
    base = chart_of(points).encode(x=x)
    layers = [
        base.mark_area(color=PALETTE[0], opacity=0.3).encode(y="low:Q", y2="high:Q"),
        base.mark_line(color=PALETTE[0], strokeWidth=2.5, point=True).encode(
            y=y, tooltip=["nodes:Q", "mttf:Q"]
        ),
    ]
    if measured:
        seen = chart_of(measured).encode(x=x)
        layers += [
            seen.mark_rule(color=PALETTE[1], strokeWidth=2).encode(y="low:Q", y2="high:Q"),
            seen.mark_point(shape="diamond", filled=True, size=90, color=PALETTE[1], opacity=1).encode(y=y),
        ]
    words = "; ".join(f"{point['nodes']} nodes {number_text(point['mttf'])} h" for point in points)
    words += "".join(
        f"; measured at {point['nodes']} nodes {number_text(point['mttf'])} h" for point in measured
    )
    return Picture("Time between failures by size of job", f"Line with its band: {words}.", tall(*layers))


def weak_nodes(document: Document) -> Picture | None:
    """Nodes with most failures: what they had, and what is to be expected of them."""
    rows = [
        {
            "node": broken(row["node"]),
            "had": row["per_1000_node_d"],
            "expected": row["expected_per_1000_node_d"],
            "what": "beyond chance" if row["beyond_chance"] else "chance would do",
            "label": how_many(row["failures"], "failure"),
        }
        for row in _fit_rows(document, "lemons", "nodes")[:MOST_ROWS]
    ]
    if not rows:
        return None
    scale = with_room(row["had"] for row in rows)
    x = alt.X("had:Q", title="failures per 1000 node-days: dot had, tick to expect", scale=scale)
    base = chart_of(rows).encode(y=row_axis("node"), tooltip=["node:N", "label:N", "had:Q", "expected:Q"])
    layers = [
        base.mark_rule(color=OUTLINE).encode(x="expected:Q", x2="had:Q"),
        base.mark_tick(color=OUTLINE, thickness=3, size=14).encode(x="expected:Q"),
        base.mark_point(filled=True, size=90, opacity=1).encode(
            x=x,
            color=colour("what", "node fails", ["chance would do", "beyond chance"]),
            shape=alt.Shape("what:N", legend=None),
        ),
        base.mark_text(color=INK, align="left", dx=8, fontSize=11).encode(x="had:Q", text="label:N"),
    ]
    words = "; ".join(
        f"{row['node']} {row['label']}, {row['what']}, expect {number_text(row['expected'])}"
        for row in rows[:8]
    )
    return Picture("Nodes with most failures", f"Dots. {words}.".replace("\n", " "), layered(20, *layers))


def nodes_down(document: Document) -> Picture | None:
    """Nodes down over time, and the pool of spares for the time ahead."""
    rows = _fit_rows(document, "downtime", "nodes_down")
    if not rows:
        return None
    points = [{"day": row["day"], "down": row["most_down"]} for row in rows]
    pool = _fit_rows(document, "downtime", "spares")[0]["spares"]
    steps = (
        chart_of(points)
        .mark_area(color=PALETTE[0], opacity=0.6, interpolate="step-after")
        .encode(
            x=alt.X("day:Q", title="day of the log", axis=alt.Axis(grid=False)),
            y=alt.Y("down:Q", title="nodes down"),
        )
    )
    line = chart_of([{"pool": pool, "label": f"pool of {pool}"}])
    most = max(points, key=lambda point: point["down"])
    return Picture(
        "Nodes down over time",
        f"Area of the most nodes down in a stretch; at most {most['down']}, day {number_text(most['day'])}. "
        f"Line: a pool of {pool} spares.",
        tall(
            steps,
            line.mark_rule(color=PALETTE[1], strokeWidth=2.5, strokeDash=[6, 4]).encode(y="pool:Q"),
            line.mark_text(color=INK, align="left", dx=4, dy=-7, fontSize=11).encode(
                x=alt.value(0), y="pool:Q", text="label:N"
            ),
        ),
    )


FIT_PICTURES: dict[str, Callable[[Document], Picture | None]] = {
    "rate": failure_counts,
    "sizes": mttf_by_size,
    "lives": survival,
    "lemons": weak_nodes,
    "downtime": nodes_down,
    "ahead": failures_by_period,
}


def _fit_rows(document: Document, section: str, table: str) -> list[Record]:
    rows: list[Record] = document["sections"][section]["tables"].get(table, [])
    return rows
