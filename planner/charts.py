"""Charts of a plan document, and how its numbers are written: nothing is computed here but what is shown.

Each chart function takes the document and returns a `Picture`, or None where there is nothing to draw. No
chart tells anything by colour alone: bars carry their number or name, marks differ in shape, and the text
of a picture says in words what it shows. `to_svg` draws a picture without a browser or a network.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import altair as alt

Document = dict[str, Any]
Record = dict[str, Any]

# Light enough for dark letters (4.5:1), told apart with every common colour blindness (after Okabe and Ito).
PALETTE = ("#56B4E9", "#E69F00", "#2CB38B", "#CC79A7", "#EE7F4B", "#A9A9A9", "#E8DC4A")
OUTLINE = "#7B7B7B"  # 3:1 and more on white and on black
LETTERS = "#111111"  # on bars
INK = "currentColor"  # beside bars: the colour of the text around the chart, light or dark
MOST_PERIODS, MOST_ROWS, MOST_BARS = 12, 24, 600

# Unit -> the larger units a reader expects, the largest first.
_LARGER: dict[str, tuple[tuple[float, str], ...]] = {
    "USD": ((1e6, "MUSD"), (1e3, "kUSD")),
    "kgCO2e": ((1e3, "t CO2e"), (1.0, "kg CO2e")),
    "kWh": ((1e6, "GWh"), (1e3, "MWh")),
    "kW": ((1e3, "MW"),),
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart with its title and its words for those who do not see it."""

    title: str
    alt: str
    chart: Any  # a layered chart of Altair


def shown_scale(unit: str, values: Iterable[float | None]) -> tuple[float, str]:
    """Divisor and unit in which the largest of `values` reads best."""
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(sizes, default=0.0)
    for divisor, name in _LARGER.get(unit, ()):
        if largest >= divisor:
            return divisor, name
    return 1.0, {"1": "", "kgCO2e": "kg CO2e"}.get(unit, unit)


def number_text(value: float | None) -> str:
    """Four significant digits, thousands set apart; a dash where there is no number."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}" if abs(value) < 1e12 else f"{value:.3e}"
    return f"{value:.4g}"


def quantity_text(value: float | None, unit: str) -> str:
    """A number with the unit in which it reads best, for example '6.352 MUSD'."""
    divisor, name = shown_scale(unit, [value])
    return f"{number_text(None if value is None else value / divisor)} {name}".rstrip()


def mix(document: Document) -> Picture | None:
    """Nodes in service by site, period and SKU."""
    periods, fleet = document["horizon"]["periods"], document["tables"]["fleet"]
    kept = every(periods, max(1, min(MOST_PERIODS, MOST_BARS * len(periods) // max(1, len(fleet)))))
    rows = [
        {"where": f"{row['site']} · {row['period']}", "sku": row["sku"], "nodes": row["in_service_nodes"]}
        for row in sorted(fleet, key=lambda row: str(row["site"]))
        if row["period"] in kept and row["in_service_nodes"] > 0
    ]
    if not rows:
        return None
    names, ends = _names_and_ends(rows)
    scale = _with_room(end["nodes"] for end in ends)

    def stacked(**where: Any) -> alt.X:
        axis = alt.Axis(tickMinStep=1)
        return alt.X("nodes:Q", stack="zero", title="nodes in service", axis=axis, scale=scale, **where)

    base = _chart(names).encode(
        y=_rows("where"), order=alt.Order("sku:O"), tooltip=["where:N", "sku:N", "nodes:Q"]
    )
    bars = base.mark_bar(stroke=OUTLINE).encode(x=stacked(), color=_colour("sku", "SKU"))
    inside = base.mark_text(color=LETTERS, fontSize=11)
    after = _chart(ends).mark_text(color=INK, align="left", dx=4, fontSize=11)
    last = [row for row in rows if row["where"].endswith(f"· {kept[-1]}")]
    words = ", ".join(f"{row['nodes']} {row['sku']} at {row['where'].rpartition(' · ')[0]}" for row in last)
    return Picture(
        "Fleet: nodes in service",
        f"Bars of nodes in service by site, period and SKU. In {kept[-1]}: {words or 'none'}."
        + ("" if len(kept) == len(periods) else f" {len(kept)} of {len(periods)} periods are drawn."),
        _layered(
            22,
            bars,
            inside.encode(x=stacked(bandPosition=0.5), text="label:N", detail="sku:N"),
            after.encode(x="nodes:Q", y=_rows("where"), text="label:N"),
        ),
    )


def _names_and_ends(rows: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Each bar with its name, or, where the bar is too short for it, with the name at the end of its row."""
    ends: dict[str, Record] = {}
    for row in rows:
        end = ends.setdefault(row["where"], {"where": row["where"], "nodes": 0.0, "short": []})
        end["nodes"] += row["nodes"]
    room = 0.3 * max(end["nodes"] for end in ends.values())
    named = [row | {"label": f"{row['sku']}: {row['nodes']}"} for row in rows]
    for row in named:
        if row["nodes"] <= room:
            ends[row["where"]]["short"].append(row["label"])
            row["label"] = ""
    return named, [end | {"label": ", ".join(end.pop("short"))} for end in ends.values()]


TIMELINE_KEY = (
    "Wide bar: start to median finish. Thin bar: up to the 95 % finish. Upright tick: deadline. "
    "Triangle: nodes arrive."
)


def timeline(document: Document) -> Picture | None:
    """Training jobs from start to finish with their deadlines, and purchases where they arrive."""
    jobs, buys = (document["tables"][name][:MOST_ROWS] for name in ("jobs", "purchases"))
    buys = [buy for buy in buys if _day(buy["arrives"])]
    if not jobs and not buys:
        return None
    job = _chart([_job_mark(job) for job in jobs]).encode(y=_rows("row"))
    buy = _chart([_arrival_mark(buy) for buy in buys]).encode(y=_rows("row"))
    dates = [_day(document["horizon"][end]) for end in ("start", "end")]
    dates += [_day(job[end]) for job in jobs for end in ("finish_p50", "finish_p95", "deadline")]
    days = [date.fromisoformat(day) for day in dates if day]
    ends = [
        alt.DateTime(year=day.year, month=day.month, date=day.day, utc=True) for day in (min(days), max(days))
    ]

    def at(name: str, **scale: Any) -> alt.X:
        axis = alt.Axis(format="%b %Y", labelOverlap=True)
        return alt.X(f"{name}:T", scale=alt.Scale(type="utc", **scale), title="date", axis=axis)

    layers = [
        job.mark_bar(color=PALETTE[0], stroke=OUTLINE, size=18).encode(
            x=at("start", domain=ends), x2="median:T"
        ),
        job.mark_bar(color=PALETTE[1], stroke=OUTLINE, size=8).encode(x=at("median"), x2="late:T"),
        job.mark_tick(color=PALETTE[4], thickness=3, size=26).encode(x=at("deadline")),
        job.mark_text(color=LETTERS, align="left", dx=4, fontSize=11).encode(x=at("start"), text="label:N"),
        buy.mark_point(shape="triangle-up", filled=True, size=110, color=PALETTE[2], opacity=1).encode(
            x=at("day")
        ),
        buy.mark_text(color=INK, align="right", dx=-9, fontSize=11).encode(x=at("day"), text="label:N"),
    ]
    words = [
        f"{job['job']} from {job['start']} to {job['finish_p50']}, at the latest (95 %) {job['finish_p95']}, "
        f"deadline {job['deadline']}"
        for job in jobs
    ]
    words += [f"{buy['nodes']} {buy['sku']} arrive at {buy['site']} on {buy['arrives']}" for buy in buys]
    return Picture(
        "Jobs and arrivals",
        f"{TIMELINE_KEY} {'; '.join(words)}.",
        _layered(32, *layers),
    )


def cost_waterfall(document: Document) -> Picture | None:
    """Terms of the cost, added up to the total."""
    return _waterfall(document["tables"]["cost"], "usd", "USD", "Cost, term by term")


def carbon_waterfall(document: Document) -> Picture | None:
    """Terms of the carbon, added up to the total."""
    return _waterfall(document["tables"]["carbon"], "kgco2e", "kgCO2e", "Carbon, term by term")


def baselines(document: Document) -> Picture | None:
    """The plan beside the cost-only plan and the fleet carried on as today; the plan is 100 %."""
    names = {"plan": "this plan", "cost_only": "cost only", "as_today": "as today"}
    measured = [row for row in document["tables"]["summary"] if row["plan"]]
    heads, rows = [], []
    for row in measured:
        heads.append({"row": f"{row['measure']}\n", "measure": row["measure"]})
        rows += [
            {
                "row": f"{row['measure']}\n{name}",
                "plan": name,
                "share": 100 * row[key] / row["plan"],
                "label": quantity_text(row[key], row["unit"]),
            }
            for key, name in names.items()
            if row[key] is not None
        ]
    if not rows:
        return None
    order = [head["row"] + tail for head in heads for tail in ("", *names.values())]
    present = {row["row"] for row in (*heads, *rows)}
    y = alt.Y(
        "row:N",
        sort=[row for row in order if row in present],
        title=None,
        axis=alt.Axis(labelExpr=r"split(datum.label, '\n')[1]", ticks=False),
    )
    scale = _with_room(row["share"] for row in rows)
    x = alt.X("share:Q", title="share of this plan (%)", scale=scale)
    bars = _labelled_bars(rows, y, x, _colour("plan", "plan", list(names.values())))
    head = _chart(heads).mark_text(color=INK, align="left", dx=2, fontSize=12, fontWeight="bold")
    words = "; ".join(f"{row['row'].replace(chr(10), ', ')}: {row['label']}" for row in rows)
    return Picture(
        "The plan beside its baselines",
        f"Bars; this plan is 100 %. {words}.",
        _layered(19, *bars, head.encode(y=y, x=alt.datum(0, type="quantitative"), text="measure:N")),
    )


def limits(document: Document) -> Picture | None:
    """How much of each limit is used in its fullest period; the fullest limit first."""
    fullest: dict[tuple[str, str], Record] = {}
    for row in sorted(document["tables"]["limits"], key=lambda row: -row["share_fraction"]):
        fullest.setdefault((row["limit"], row["where"]), row)
    rows = [
        {
            "limit": _broken(" · ".join(str(row[key]) for key in ("limit", "where", "period") if row[key])),
            "share": 100 * row["share_fraction"],
            "state": "binding" if row["binding"] else "room left",
            "label": f"{100 * row['share_fraction']:.0f} %{', binding' if row['binding'] else ''}",
        }
        for row in list(fullest.values())[:MOST_ROWS]
    ]
    if not rows:
        return None
    scale = _with_room([100.0, *(row["share"] for row in rows)])
    x = alt.X("share:Q", title="share of the limit (%)", scale=scale)
    bars = _labelled_bars(rows, _rows("limit"), x, _colour("state", "limit", ["room left", "binding"]))
    full = _chart([{"full": 100}]).mark_rule(color=OUTLINE, strokeDash=[4, 3]).encode(x="full:Q")
    words = "; ".join(f"{row['limit']} {row['label']}" for row in rows[:8]).replace("\n", " ")
    return Picture(
        "How full the limits are",
        f"Bars of how much is used in the fullest period. {words}.",
        _layered(26, *bars, full),
    )


def tornado(document: Document) -> Picture | None:
    """What each uncertain fact does to the objective at its low and at its high end."""
    middle = document["objective"]["value_usd"]
    found = [row for row in document["tornado"] if None not in (row["at_low"], row["at_high"], middle)]
    widest = sorted(found, key=lambda row: -abs(row["at_high"] - row["at_low"]))[:12]
    if not widest:
        return None
    divisor, unit = shown_scale("USD", (row[end] - middle for row in widest for end in ("at_low", "at_high")))
    rows = [
        {
            "fact": _fact_label(row["fact"]),
            "end": end,
            "from": 0.0,
            "to": (row[f"at_{end}"] - middle) / divisor,
            "label": quantity_text(row[end], row["unit"]),
        }
        for row in widest
        for end in ("low", "high")
    ]
    reach = 1.6 * max(abs(row["to"]) for row in rows) or 1.0  # the labels stand outside the bars
    scale = alt.Scale(domain=[-reach, reach], nice=False)
    base = _chart(rows).encode(y=_rows("fact"), tooltip=["fact:N", "end:N", "label:N", "to:Q"])
    bars = base.mark_bar(stroke=OUTLINE).encode(
        x=alt.X("from:Q", title=f"change of the objective ({unit})", scale=scale),
        x2="to:Q",
        color=_colour("end", "fact at its", ["low", "high"]),
    )
    left = base.transform_filter("datum.to < 0").mark_text(color=INK, align="right", dx=-4, fontSize=10)
    right = base.transform_filter("datum.to >= 0").mark_text(color=INK, align="left", dx=4, fontSize=10)
    labels = [text.encode(x="to:Q", text="label:N") for text in (left, right)]
    words = "; ".join(f"{row['fact']} at its {row['end']}: {number_text(row['to'])} {unit}" for row in rows)
    words = words.replace("\n", "")
    return Picture(
        "What the result hangs on",
        f"Bars of the change of the objective. {words}.",
        _layered(30, bars, *labels),
    )


MEASURES = {
    "ettr_fraction": "share of time that trains, ETTR (%)",
    "usd_per_useful_h": "money per useful hour (USD)",
    "kgco2e_per_useful_h": "carbon per useful hour (kg CO2e)",
}


def checkpoint_curve(document: Document, measure: str = "ettr_fraction") -> Picture | None:
    """A measure against the checkpoint interval: the optima are marked, the flat region is shaded."""
    rows = every(document["rows"], 400)
    if not rows:
        return None
    factor = 100.0 if measure.endswith("_fraction") else 1.0
    points = [{"interval": row["interval_min"], "value": factor * row[measure]} for row in rows]
    marks = [
        {
            "interval": mark["interval_min"],
            "value": factor * mark[measure],
            "name": f"{mark['name']}: {number_text(mark['interval_min'])} min",
        }
        for mark in document["marks"]
    ]
    flat = document["flat"]
    x = alt.X(
        "interval:Q",
        scale=alt.Scale(type="log", nice=False),
        title="checkpoint interval (min)",
        axis=alt.Axis(grid=False),
    )
    y = alt.Y("value:Q", scale=alt.Scale(zero=False), title=MEASURES[measure])
    shade = _chart([{"low": flat["low_min"], "high": flat["high_min"]}]).mark_rect(
        color=PALETTE[2], opacity=0.22
    )
    line = _chart(points).mark_line(color="#2F8FC7", strokeWidth=2.5).encode(x=x, y=y)
    legend = alt.Legend(title="mark", orient="top", columns=2, labelLimit=260, rowPadding=1)
    shape, colour = (
        alt.Shape("name:N", sort=None, legend=legend),
        alt.Color("name:N", sort=None, legend=legend),
    )
    dots = _chart(marks).mark_point(filled=True, size=120, opacity=1)
    dots = dots.encode(
        x=x, y=y, shape=shape, color=colour.scale(range=list(PALETTE)), tooltip=["name:N", "value:Q"]
    )
    words = "; ".join(f"{mark['name']}, {number_text(mark['value'])}" for mark in marks)
    return Picture(
        "Checkpoint interval",
        f"Line of {MEASURES[measure]} against the checkpoint interval. {words}. Shaded: "
        f"{number_text(flat['low_min'])} to {number_text(flat['high_min'])} min, "
        f"where at most {number_text(100 * flat['loss_fraction'])} % is lost.",
        alt.layer(shade.encode(x="low:Q", x2="high:Q"), line, dots).properties(height=400),
    )


PLAN_PICTURES: dict[str, Callable[[Document], Picture | None]] = {
    "mix": mix,
    "timeline": timeline,
    "cost": cost_waterfall,
    "carbon": carbon_waterfall,
    "baselines": baselines,
    "limits": limits,
    "tornado": tornado,
}


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
    drawing = io.StringIO()
    chart.save(drawing, format="svg")  # by vl-convert, which Altair finds by itself
    return drawing.getvalue()


def _waterfall(terms: Sequence[Record], key: str, unit: str, title: str) -> Picture | None:
    if not terms:
        return None
    total = math.fsum(term[key] for term in terms)
    divisor, name = shown_scale(unit, [total, *(term[key] for term in terms)])
    rows, reached = [], 0.0
    for term in terms:
        start, reached = reached, reached + term[key] / divisor
        kind = "adds" if term[key] >= 0 else "takes away"
        rows.append(
            {"term": _broken(term["label"]), "start": start, "end": reached, "kind": kind, "value": term[key]}
        )
    rows.append({"term": "Total", "start": 0.0, "end": total / divisor, "kind": "total", "value": total})
    for row in rows:
        row["label"] = number_text(row["value"] / divisor)
        row["edge"] = max(row["start"], row["end"])
    scale = _with_room(row[end] for row in rows for end in ("start", "end"))
    x = alt.X("start:Q", title=name, scale=scale)
    bars = _labelled_bars(
        rows, _rows("term"), x, _colour("kind", "term", ["adds", "takes away", "total"]), "end", "edge"
    )
    words = "; ".join(f"{row['term']} {row['label']}" for row in rows).replace("\n", " ")
    return Picture(title, f"Bars in {name} that add up to the total. {words}.", _layered(30, *bars))


def _job_mark(job: Record) -> Record:
    ends = {"start": "start", "median": "finish_p50", "late": "finish_p95", "deadline": "deadline"}
    days = {name: _day(job[key]) for name, key in ends.items()}
    return {"row": str(job["job"]), "label": f"{job['nodes']} {job['sku']}, {job['site']}", **days}


def _arrival_mark(buy: Record) -> Record:
    return {
        "row": f"buy {buy['sku']}, {buy['site']}",
        "day": _day(buy["arrives"]),
        "label": f"{buy['nodes']} nodes",
    }


def _fact_label(key: str) -> str:
    """A fact's key, broken at a full stop where it is long."""
    head, dot, tail = key.rpartition(".")
    return f"{head}.\n{tail}" if dot and len(key) > 26 else key


def _chart(rows: Sequence[Record]) -> alt.Chart:
    """A chart of rows, without signs that XML does not know: drawing one would end the whole process."""
    values = [{key: _drawable(value) for key, value in row.items()} for row in rows]
    return alt.Chart(alt.Data(values=values))  # type: ignore[no-untyped-call]


def _drawable(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in value)


def _rows(field: str) -> alt.Y:
    """One row for each value, in the order of the data; a line break in a value breaks its label."""
    raised = {"condition": {"test": r"indexof(datum.label, '\n') >= 0", "value": -6}, "value": 0}
    axis = alt.Axis(
        labelExpr=r"split(datum.label, '\n')", labelLineHeight=12, labelLimit=200, labelOffset=raised
    )
    return alt.Y(f"{field}:N", sort=None, title=None, axis=axis)


def _broken(text: str) -> str:
    """A label of at most two lines, so that a phone has room for the bars too."""
    return "\n".join(textwrap.wrap(text, 26, max_lines=2, placeholder=" …")) or text


def _layered(step: int, *layers: alt.Chart) -> Any:
    return alt.layer(*layers).properties(height=alt.Step(step))


def _labelled_bars(
    rows: Sequence[Record],
    y: alt.Y,
    x: alt.X,
    colour: alt.Color,
    end: str | None = None,
    edge: str | None = None,
) -> list[alt.Chart]:
    """Bars with their `label` at the end; `end` and `edge` are fields of bars that do not start at zero."""
    base = _chart(rows).encode(y=y, tooltip=["label:N"])
    bars = base.mark_bar(stroke=OUTLINE).encode(x=x, color=colour, **({"x2": f"{end}:Q"} if end else {}))
    text = base.mark_text(color=INK, align="left", dx=4, fontSize=11)
    return [bars, text.encode(x=f"{edge}:Q" if edge else x, text="label:N")]


def _colour(field: str, title: str, order: list[str] | None = None) -> alt.Color:
    legend = alt.Legend(title=title, orient="top", columns=3, symbolType="square", symbolStrokeWidth=0)
    scale = alt.Scale(range=list(PALETTE)) if order is None else alt.Scale(domain=order, range=list(PALETTE))
    return alt.Color(f"{field}:N", scale=scale, sort=order, legend=legend)


def _with_room(values: Iterable[float]) -> alt.Scale:
    """A scale that holds zero, the values, and a label at the end of the longest bar."""
    ends = [0.0, *values]
    return alt.Scale(domain=[min(ends), max(ends) + 0.28 * (max(ends) - min(ends) or 1.0)], nice=False)


def every(items: list[Any], most: int) -> list[Any]:
    """At most `most` of the items, evenly taken, the last one among them."""
    return items[:: -max(1, math.ceil(len(items) / most))][::-1]


def _day(text: str) -> str | None:
    """A date as it stands; the first day of '2027 Q2' or '2027-04'; None where the text is no date."""
    if quarter := re.fullmatch(r"(\d{4}) Q([1-4])", text):
        return f"{quarter[1]}-{3 * int(quarter[2]) - 2:02d}-01"
    if re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", text):
        return f"{text}-01"[:10]
    return None


SURVIVAL_KEY = "Steps: the log, with its band. Dashed: the fitted lifetime."


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
    base = _chart(points).encode(x=alt.X("age:Q", title="age (d)", axis=alt.Axis(grid=False)))
    share = alt.Y("log:Q", title="units without a failure (%)", scale=alt.Scale(domain=[0, 100]))
    band = base.mark_area(color=PALETTE[0], opacity=0.3, interpolate="step-after").encode(
        y="low:Q", y2="high:Q"
    )
    steps = base.mark_line(color=PALETTE[0], strokeWidth=2.5, interpolate="step-after").encode(y=share)
    model = base.mark_line(color=PALETTE[1], strokeWidth=2, strokeDash=[6, 4]).encode(y="model:Q")
    last, name = points[-1], _fit_rows(document, "lives", "fits")[0]["lifetime"]
    return Picture(
        "How long units last",
        f"{SURVIVAL_KEY} At {number_text(last['age'])} d {last['log']:.0f} % of units are without a failure "
        f"({last['low']:.0f} to {last['high']:.0f} %); the {name} lifetime says {last['model']:.0f} %.",
        _tall(band, steps, model),
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
        _chart(bars)
        .mark_line(color=PALETTE[0], point=alt.OverlayMarkDef(size=50, color=PALETTE[0]))
        .encode(x=x, y=y)
    ]
    counts = ", ".join(str(row["failures"]) for row in rows)
    words = f"{len(rows)} periods of {number_text(rows[0]['length_d'])} d had {counts} failures"
    for ahead in _fit_rows(document, "ahead", "next_period"):
        day = ahead["from_day"] + ahead["length_d"] / 2
        point = _chart(
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
    return Picture("Failures by period", f"{words}.", _tall(*layers))


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
    base = _chart(points).encode(x=x)
    layers = [
        base.mark_area(color=PALETTE[0], opacity=0.3).encode(y="low:Q", y2="high:Q"),
        base.mark_line(color=PALETTE[0], strokeWidth=2.5, point=True).encode(
            y=y, tooltip=["nodes:Q", "mttf:Q"]
        ),
    ]
    if measured:
        seen = _chart(measured).encode(x=x)
        layers += [
            seen.mark_rule(color=PALETTE[1], strokeWidth=2).encode(y="low:Q", y2="high:Q"),
            seen.mark_point(shape="diamond", filled=True, size=90, color=PALETTE[1], opacity=1).encode(y=y),
        ]
    words = "; ".join(f"{point['nodes']} nodes {number_text(point['mttf'])} h" for point in points)
    words += "".join(
        f"; measured at {point['nodes']} nodes {number_text(point['mttf'])} h" for point in measured
    )
    return Picture("Time between failures by size of job", f"Line with its band: {words}.", _tall(*layers))


def weak_nodes(document: Document) -> Picture | None:
    """Nodes with most failures: what they had, and what is to be expected of them."""
    rows = [
        {
            "node": _broken(row["node"]),
            "had": row["per_1000_node_d"],
            "expected": row["expected_per_1000_node_d"],
            "what": "beyond chance" if row["beyond_chance"] else "chance would do",
            "label": f"{row['failures']} failures",
        }
        for row in _fit_rows(document, "lemons", "nodes")[:MOST_ROWS]
    ]
    if not rows:
        return None
    scale = _with_room(row["had"] for row in rows)
    x = alt.X("had:Q", title="failures per 1000 node-days: dot had, tick to expect", scale=scale)
    base = _chart(rows).encode(y=_rows("node"), tooltip=["node:N", "label:N", "had:Q", "expected:Q"])
    layers = [
        base.mark_rule(color=OUTLINE).encode(x="expected:Q", x2="had:Q"),
        base.mark_tick(color=OUTLINE, thickness=3, size=14).encode(x="expected:Q"),
        base.mark_point(filled=True, size=90, opacity=1).encode(
            x=x,
            color=_colour("what", "node fails", ["chance would do", "beyond chance"]),
            shape=alt.Shape("what:N", legend=None),
        ),
        base.mark_text(color=INK, align="left", dx=8, fontSize=11).encode(x="had:Q", text="label:N"),
    ]
    words = "; ".join(
        f"{row['node']} {row['label']}, {row['what']}, expect {number_text(row['expected'])}"
        for row in rows[:8]
    )
    return Picture("Nodes with most failures", f"Dots. {words}.".replace("\n", " "), _layered(20, *layers))


def nodes_down(document: Document) -> Picture | None:
    """Nodes down over time, and the pool of spares for the time ahead."""
    rows = _fit_rows(document, "downtime", "nodes_down")
    if not rows:
        return None
    points = [{"day": row["day"], "down": row["most_down"]} for row in rows]
    pool = _fit_rows(document, "downtime", "spares")[0]["spares"]
    steps = (
        _chart(points)
        .mark_area(color=PALETTE[0], opacity=0.6, interpolate="step-after")
        .encode(
            x=alt.X("day:Q", title="day of the log", axis=alt.Axis(grid=False)),
            y=alt.Y("down:Q", title="nodes down"),
        )
    )
    line = _chart([{"pool": pool, "label": f"pool of {pool}"}])
    most = max(points, key=lambda point: point["down"])
    return Picture(
        "Nodes down over time",
        f"Area of the most nodes down in a stretch; at most {most['down']}, day {number_text(most['day'])}. "
        f"Line: a pool of {pool} spares.",
        _tall(
            steps,
            line.mark_rule(color=PALETTE[1], strokeWidth=2.5, strokeDash=[6, 4]).encode(y="pool:Q"),
            line.mark_text(color=INK, align="left", dx=4, dy=-7, fontSize=11).encode(
                x=alt.value(0), y="pool:Q", text="label:N"
            ),
        ),
    )


# Section of a fit -> its chart.
def phase_waterfall(document: Document) -> Picture | None:
    """Carbon of a job, phase by phase."""
    terms = [{"label": row["phase"], "kgco2e": row["kgco2e"]} for row in document["phases"]]
    return _waterfall(terms, "kgco2e", "kgCO2e", "Carbon, phase by phase")


JOB_PICTURES: dict[str, Callable[[Document], Picture | None]] = {"phases": phase_waterfall}

FIT_PICTURES: dict[str, Callable[[Document], Picture | None]] = {
    "sizes": mttf_by_size,
    "lives": survival,
    "lemons": weak_nodes,
    "downtime": nodes_down,
    "ahead": failures_by_period,
}


def _fit_rows(document: Document, section: str, table: str) -> list[Record]:
    rows: list[Record] = document["sections"][section]["tables"].get(table, [])
    return rows


def _tall(*layers: alt.Chart) -> Any:
    return alt.layer(*layers).properties(height=300)
