"""Charts of hardware side by side: what each chip delivers, and what a million of it takes."""

from __future__ import annotations

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
    with_room,
)
from planner.trace.numbers import how_many, number_text, percent_text, quantity_text
from planner.trace.records import Document, Record

# Measure -> what it is called; those of a million are of the unit that the document names.
THROUGHPUT_MEASURES = {
    "million_usd": "Money of a million",
    "million_kgco2e": "Carbon of a million",
    "each_j": "Energy of each",
    "rate_per_s": "Rate of a chip",
}
_UNITS = {"million_usd": "USD", "million_kgco2e": "kgCO2e", "each_j": "J"}


def side_by_side(document: Document, measure: str) -> Picture | None:
    """A bar for each SKU at its size of least money; rates are of one chip, with both ends of their range."""
    best: list[Record] = document["best"][:MOST_ROWS]
    if not best:
        return None
    ranged = measure == "rate_per_s"
    rows = [_row(row, measure, ranged) for row in best]
    title = f"{document['unit']} a second and chip" if ranged else _title(measure, document["million_of"])
    x = alt.X("value:Q", title=title, scale=with_room(row["high"] for row in rows))
    base = chart_of(rows).encode(y=row_axis("sku"), tooltip=["said:N"])
    bars = base.mark_bar(stroke=OUTLINE, color=PALETTE[0]).encode(x=x)
    texts = base.mark_text(color=INK, align="left", dx=4, fontSize=11).encode(x="high:Q", text="label:N")
    layers = [bars, texts]
    if ranged:
        layers.append(base.mark_rule(color=INK, strokeWidth=2).encode(x="low:Q", x2="high:Q"))
    words = "; ".join(row["said"] for row in rows)
    return Picture(THROUGHPUT_MEASURES[measure], f"Bars, {title}. {words}.", layered(30, *layers))


def _row(row: Record, measure: str, ranged: bool) -> Record:
    chips = row["accelerators"] if ranged else 1
    value, low, high = (
        row[key] / chips for key in ((measure, "low_per_s", "high_per_s") if ranged else (measure,) * 3)
    )
    name = f"{row['sku']}, {how_many(row['accelerators'], 'chip')}"
    label = (
        f"{number_text(value, 3)} (±{percent_text(row['error_fraction'], 0)})"
        if ranged
        else quantity_text(value, _UNITS[measure])
    )
    return {
        "sku": broken(name),
        "value": value,
        "low": low,
        "high": high,
        "label": label,
        "said": f"{name}: {label}",
    }


def _title(measure: str, what: str) -> str:
    if measure.startswith("million"):
        return f"{_UNITS[measure]} for a million {what}"
    return f"{_UNITS[measure]} for each of the {what}"
