"""Charts of several plans side by side, and of what changed the answer between two of them."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from planner.report.charts.drawing import (
    INK,
    OUTLINE,
    Picture,
    broken,
    chart_of,
    colour,
    layered,
    row_axis,
    waterfall,
    with_room,
)
from planner.trace.numbers import number_text, quantity_text, scale_of
from planner.trace.records import Record

UNITS = {"cost": "USD", "carbon": "kgCO2e"}
MOST_TERMS = 7  # as many as there are colours; the smallest are drawn as one


def terms_side_by_side(record: Record, name: str, names: Sequence[str]) -> Picture | None:
    """One bar for each plan on one axis, stacked by term; `name` is cost or carbon."""
    terms = [term for term in record["terms"][name] if any(term["values"])]
    if not terms:
        return None
    unit = UNITS[name]
    divisor, shown = scale_of(unit, [value for term in terms for value in term["values"]])
    rows: list[Record] = [
        {
            "plan": broken(plan),
            "term": label,
            "value": values[number] / divisor,
            "said": quantity_text(values[number], unit),
            "order": order,
        }
        for order, (label, values) in enumerate(_largest(terms))
        for number, plan in enumerate(names)
        if values[number]
    ]
    ends: list[Record] = [
        {"plan": broken(plan), "total": sum(row["value"] for row in rows if row["plan"] == broken(plan))}
        for plan in names
    ]
    for end in ends:
        own = [row["value"] for row in rows if row["plan"] == end["plan"]]
        end["below"], end["edge"] = (sum(v for v in own if v * sign > 0) for sign in (-1, 1))
    scale = with_room(end[side] for end in ends for side in ("below", "edge"))
    order = list(dict.fromkeys(row["term"] for row in rows))
    bars = (
        chart_of(rows)
        .mark_bar(stroke=OUTLINE)
        .encode(
            x=alt.X("value:Q", stack="zero", title=f"{name} ({shown})", scale=scale),
            y=row_axis("plan"),
            color=colour("term", "term", order),
            order=alt.Order("order:O"),
            tooltip=["plan:N", "term:N", "said:N"],
        )
    )
    labelled = [end | {"label": f"{number_text(end['total'])} {shown}"} for end in ends]
    texts = (
        chart_of(labelled)
        .mark_text(color=INK, align="left", dx=4, fontSize=11)
        .encode(x="edge:Q", y=row_axis("plan"), text="label:N")
    )
    words = "; ".join(f"{row['plan']}, {row['term']}: {row['said']}" for row in rows).replace("\n", " ")
    return Picture(f"{name.capitalize()} by term", f"Stacked bars. {words}.", layered(34, bars, texts))


def _largest(terms: Sequence[Record]) -> list[tuple[str, list[float]]]:
    """The largest terms, what is left of them as one."""
    order = sorted(terms, key=lambda term: -max(abs(value or 0.0) for value in term["values"]))
    most = len(order) if len(order) <= MOST_TERMS else MOST_TERMS - 1
    found = [(term["label"], [value or 0.0 for value in term["values"]]) for term in order[:most]]
    if rest := order[most:]:
        found.append(
            (
                "other",
                [sum(v or 0.0 for v in each) for each in zip(*(t["values"] for t in rest), strict=True)],
            )
        )
    return found


def changed_waterfall(steps: Sequence[tuple[str, float]], unit: str, title: str) -> Picture | None:
    """What each step adds to or takes from a total, one after the other; their sum is the difference."""
    key = "value"
    return waterfall([{"label": label, key: value} for label, value in steps if value], key, unit, title)
