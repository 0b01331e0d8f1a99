"""What every chart is made of: how numbers are written, colours, axes, bars, and a picture as SVG."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

from planner.trace.numbers import number_text, scale_of
from planner.trace.records import Record

# Light enough for dark letters (4.5:1), distinct with every common colour blindness (Okabe and Ito).
PALETTE = ("#56B4E9", "#E69F00", "#2CB38B", "#CC79A7", "#EE7F4B", "#A9A9A9", "#E8DC4A")


OUTLINE = "#7B7B7B"  # 3:1 and more on white and on black


LETTERS = "#111111"  # on bars


INK = "currentColor"  # next to bars: the colour of the text around the chart, light or dark
MOST_ROWS = 24
SHORT_LABEL = 10  # letters
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])  # the grammar in which Altair writes
FLUSH_PX = 12  # so near to the end of an axis a label is next to its tick: in the middle it would be cut


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart with its title and its words for those who do not see it."""

    title: str
    alt: str
    chart: Any  # a layered chart of Altair


def to_svg(picture: Picture, width: int = 430) -> str:
    """One self-contained drawing whose letters take the colour of the text around it, light or dark."""
    letters = {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "labelFontSize": 12,
        "titleFontSize": 12,
    }
    chart = (
        picture.chart.properties(width=width, background="transparent")
        .configure(font="Arial, Liberation Sans, Helvetica, sans-serif")  # of one width everywhere
        .configure_view(stroke=None)
        .configure_axis(
            gridColor="#80808040", domainColor=OUTLINE, tickColor=OUTLINE, labelLimit=230, **letters
        )
        .configure_legend(**letters)
    )
    # Not by `chart.save`, which reads its own specification back: its parts were checked as they were made.
    drawing: str = vl_convert.vegalite_to_svg(chart.to_dict(validate=False), vl_version=VEGA_LITE)
    return drawing


def waterfall(terms: Sequence[Record], key: str, unit: str, title: str) -> Picture | None:
    """Terms one after the other, each beginning where the one before ended, and their total."""
    if not terms:
        return None
    total = math.fsum(term[key] for term in terms)
    divisor, name = scale_of(unit, [total, *(term[key] for term in terms)])
    rows, reached = [], 0.0
    for term in terms:
        start, reached = reached, reached + term[key] / divisor
        kind = "adds" if term[key] >= 0 else "takes away"
        rows.append(
            {"term": broken(term["label"]), "start": start, "end": reached, "kind": kind, "value": term[key]}
        )
    rows.append({"term": "Total", "start": 0.0, "end": total / divisor, "kind": "total", "value": total})
    for row in rows:
        row["label"] = number_text(row["value"] / divisor)
        row["edge"] = max(row["start"], row["end"])
    scale = with_room(row[end] for row in rows for end in ("start", "end"))
    x = alt.X("start:Q", title=name, scale=scale)
    kinds = ["adds", "takes away", "total"]
    met = [kind for kind in kinds if any(row["kind"] == kind for row in rows)]
    bars = labelled_bars(rows, row_axis("term"), x, colour("kind", "term", kinds, met), "end", "edge")
    words = "; ".join(f"{row['term']} {row['label']}" for row in rows).replace("\n", " ")
    return Picture(title, f"Bars in {name} that add up to the total. {words}.", layered(30, *bars))


def chart_of(rows: Sequence[Record]) -> alt.Chart:
    """A chart of rows, without signs that XML does not know: drawing one would end the whole process."""
    values = [{key: _drawable(value) for key, value in row.items()} for row in rows]
    return alt.Chart(alt.Data(values=values))  # type: ignore[no-untyped-call]


def _drawable(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in value)


def row_axis(field: str) -> alt.Y:
    """One row for each value, in the order of the data; a line break in a value breaks its label."""
    raised = {"condition": {"test": r"indexof(datum.label, '\n') >= 0", "value": -6}, "value": 0}
    axis = alt.Axis(
        labelExpr=r"split(datum.label, '\n')", labelLineHeight=12, labelLimit=200, labelOffset=raised
    )
    return alt.Y(f"{field}:N", sort=None, title=None, axis=axis)


def broken(text: str) -> str:
    """A label of at most two lines, so that a phone has room for the bars too."""
    return "\n".join(textwrap.wrap(text, 26, max_lines=2, placeholder=" …")) or text


def layered(step: int, *layers: alt.Chart) -> Any:
    """Layers of rows, each so many pixels high."""
    return alt.layer(*layers).properties(height=alt.Step(step)).configure_axisX(labelFlush=FLUSH_PX)


def labelled_bars(
    rows: Sequence[Record],
    y: alt.Y,
    x: alt.X,
    colour: alt.Color,
    end: str | None = None,
    edge: str | None = None,
) -> list[alt.Chart]:
    """Bars with their `label` at the end; `end` and `edge` are fields of bars that do not start at zero."""
    base = chart_of(rows).encode(y=y, tooltip=["label:N"])
    bars = base.mark_bar(stroke=OUTLINE).encode(x=x, color=colour, **({"x2": f"{end}:Q"} if end else {}))
    text = base.mark_text(color=INK, align="left", dx=4, fontSize=11)
    return [bars, text.encode(x=f"{edge}:Q" if edge else x, text="label:N")]


def colour(
    field: str, title: str | None, order: list[str] | None = None, met: list[str] | None = None
) -> alt.Color:
    """The palette by a field, its legend above, whose title may be left out; it names `met`, if given."""
    legend = alt.Legend(
        title=title,
        orient="top",
        columns=columns(met or order or ()),
        values=alt.Undefined if met is None else met,
        labelLimit=240,
        symbolType="square",
        symbolStrokeWidth=0,
    )
    scale = alt.Scale(range=list(PALETTE)) if order is None else alt.Scale(domain=order, range=list(PALETTE))
    return alt.Color(f"{field}:N", scale=scale, sort=order, legend=legend)


def columns(labels: Iterable[str]) -> alt.ExprRef:
    """Up to three columns of a legend, as many as there is room for: on a phone the last would be cut off."""
    column_px = 24 + 6.5 * max((len(label) for label in labels), default=SHORT_LABEL)
    return alt.ExprRef(expr=f"clamp(floor(width / {column_px}), 1, 3)")


def with_room(values: Iterable[float]) -> alt.Scale:
    """A scale that holds zero, the values, and a label at the end of the longest bar."""
    ends = [0.0, *values]
    return alt.Scale(domain=[min(ends), max(ends) + 0.28 * (max(ends) - min(ends) or 1.0)], nice=False)


def day(text: str) -> str | None:
    """A date as it is; the first day of '2027 Q2' or '2027-04'; None where the text is no date."""
    if quarter := re.fullmatch(r"(\d{4}) Q([1-4])", text):
        return f"{quarter[1]}-{3 * int(quarter[2]) - 2:02d}-01"
    if re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", text):
        return f"{text}-01"[:10]
    return None


def tall(*layers: alt.Chart) -> Any:
    """Layers of a chart with a vertical scale."""
    return alt.layer(*layers).properties(height=300).configure_axisX(labelFlush=FLUSH_PX)
