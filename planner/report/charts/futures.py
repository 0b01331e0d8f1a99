"""Charts of a plan for several futures."""

from __future__ import annotations

from collections.abc import Callable

import altair as alt

from planner.report.charts.drawing import (
    INK,
    MOST_ROWS,
    Picture,
    chart_of,
    colour,
    labelled_bars,
    layered,
    with_room,
)
from planner.trace.numbers import percent_text, quantity_text, scale_of
from planner.trace.records import Document, Record

# Column of a future's row -> whose plan it is.
PLANS = {
    "objective_value": "this plan",
    "known_value": "had it been known",
    "mean_plan_value": "plan for the mean",
}


def by_future(document: Document) -> Picture | None:
    """The objective of each future: of this plan, of the best one there, and of the plan for their mean."""
    futures = document["futures"][:MOST_ROWS]
    if not futures:
        return None
    unit = document["objective"]["unit"]
    divisor, shown = scale_of(unit, (row[key] for row in futures for key in PLANS))
    heads, rows = [], list[Record]()
    for number, future in enumerate(futures):
        title = f"{future['future']} ({percent_text(future['probability_fraction'], 0)})"
        heads.append({"row": f"{number}\n", "title": title})
        rows += [
            {
                "row": f"{number}\n{name}",
                "plan": name,
                "future": title,
                "amount": future[key] / divisor,
                "label": quantity_text(future[key], unit),
            }
            for key, name in PLANS.items()
            if future[key] is not None
        ]
    words = "; ".join(f"{row['future']}, {row['plan']}: {row['label']}" for row in rows)
    less = (
        ""
        if len(futures) == len(document["futures"])
        else (f" {len(futures)} of {len(document['futures'])} futures are drawn.")
    )
    return Picture(
        "What each future takes",
        f"Bars of the objective in each future. {words}.{less}",
        layered(19, *_bars(heads, rows, f"objective ({shown})")),
    )


def _bars(heads: list[Record], rows: list[Record], title: str) -> list[alt.Chart]:
    """The bars of each future below its name."""
    present = {row["row"] for row in (*heads, *rows)}
    order = [head["row"] + tail for head in heads for tail in ("", *PLANS.values())]
    y = alt.Y(
        "row:N",
        sort=[row for row in order if row in present],
        title=None,
        axis=alt.Axis(labelExpr=r"split(datum.label, '\n')[1]", ticks=False),
    )
    x = alt.X("amount:Q", title=title, scale=with_room(row["amount"] for row in rows))
    names = [name for name in PLANS.values() if any(row["plan"] == name for row in rows)]
    bars = labelled_bars(rows, y, x, colour("plan", "plan", names))
    head = chart_of(heads).mark_text(color=INK, align="left", dx=2, fontSize=12, fontWeight="bold")
    return [*bars, head.encode(y=y, x=alt.datum(0, type="quantitative"), text="title:N")]


FUTURES_PICTURES: dict[str, Callable[[Document], Picture | None]] = {"futures": by_future}
