"""Charts of a plan: the fleet, its jobs, money and carbon, limits and what matters most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import altair as alt

from planner.report.charts.drawing import (
    INK,
    LETTERS,
    MOST_ROWS,
    OUTLINE,
    PALETTE,
    Picture,
    broken,
    chart_of,
    colour,
    day,
    labelled_bars,
    layered,
    row_axis,
    tall,
    waterfall,
    with_room,
)
from planner.report.charts.hours import hours
from planner.trace.numbers import how_many, number_text, percent_text, quantity_text, scale_of
from planner.trace.records import Document, Record, first_and_evenly_taken

MOST_PERIODS, MOST_BARS = 12, 600
WIDE_PERIODS = 6  # bars of more are too narrow for a name across

TIMELINE_KEY = (
    "Wide bar: start to median finish. Thin bar: up to the 95 % finish. Upright tick: deadline. "
    "Triangle: nodes arrive."
)


def mix(document: Document) -> Picture | None:
    """Nodes in service over time, by SKU and site."""
    periods, fleet = document["horizon"]["periods"], document["tables"]["fleet"]
    most = max(1, min(MOST_PERIODS, MOST_BARS * len(periods) // max(1, len(fleet))))
    kept = first_and_evenly_taken(periods, most)
    rows = [
        {key: row[key] for key in ("period", "site", "sku")} | {"nodes": row["in_service_nodes"]}
        for row in sorted(fleet, key=lambda row: (periods.index(row["period"]), str(row["site"]), row["sku"]))
        if row["period"] in kept and row["in_service_nodes"] > 0
    ]
    if not rows:
        return None
    names, ends = _names_and_ends(rows, upright=len(kept) > WIDE_PERIODS)
    scale = alt.Scale(domain=[0, 1.12 * max(end["nodes"] for end in ends)], nice=False)
    when = alt.X(
        "period:N",
        sort=None,
        title=None,
        axis=alt.Axis(labelAngle=0, labelFlush=False, labelOverlap="parity"),
    )

    def stacked(**where: Any) -> alt.Y:
        axis = alt.Axis(tickMinStep=1, tickCount=5)
        return alt.Y("nodes:Q", stack="zero", title="nodes in service", axis=axis, scale=scale, **where)

    base = chart_of(names).encode(
        x=when, order=alt.Order("place:Q"), tooltip=["period:N", "site:N", "sku:N", "nodes:Q"]
    )
    bars = base.mark_bar(stroke=OUTLINE).encode(y=stacked(), color=colour("sku", None))
    angle = 270 if len(kept) > WIDE_PERIODS else 0
    longest = max(len(line) for row in names for line in row["label"].split("\n"))
    # On a phone letters shrink with the bars: a line of them is 0.6 of its size a letter wide.
    size = 11 if angle else alt.ExprRef(f"clamp(width / {0.65 * len(kept) * max(longest, 1)}, 7, 11)")
    inside = base.mark_text(color=LETTERS, fontSize=size, lineBreak="\n", lineHeight=13, angle=angle)
    after = chart_of(ends).mark_text(color=INK, baseline="bottom", dy=-4, fontSize=11, lineBreak="\n")
    last = [row for row in rows if row["period"] == kept[-1]]
    words = ", ".join(f"{row['nodes']} {row['sku']} at {row['site']}" for row in last)
    return Picture(
        "Fleet: nodes in service",
        f"Bars of nodes in service by period, site and SKU. In {kept[-1]}: {words or 'none'}."
        + ("" if len(kept) == len(periods) else f" {len(kept)} of {len(periods)} periods are drawn."),
        tall(
            bars,
            inside.encode(y=stacked(bandPosition=0.5), text="label:N", detail=["sku:N", "site:N"]),
            after.encode(y=alt.Y("nodes:Q", scale=scale), x=when, text="label:N"),
        ),
    )


def _names_and_ends(rows: Sequence[Record], *, upright: bool) -> tuple[list[Record], list[Record]]:
    """Each part of a bar with its name, or, where it is too low for it, with the name on top of the bar."""
    ends: dict[str, Record] = {}
    for row in rows:
        end = ends.setdefault(row["period"], {"period": row["period"], "nodes": 0.0, "short": []})
        end["nodes"] += row["nodes"]
    room = (0.45 if upright else 0.1) * max(end["nodes"] for end in ends.values())
    named = [row | {"place": place, "label": _bar_name(row, upright)} for place, row in enumerate(rows)]
    for row in named:
        if row["nodes"] < room:
            ends[row["period"]]["short"].append(f"{row['sku']}: {row['nodes']}, {row['site']}")
            row["label"] = ""
    # Upright names of many short bars would run into each other: the legend and the table have them.
    labels = ["" if upright else "\n".join(end.pop("short")) for end in ends.values()]
    return named, [end | {"label": label} for end, label in zip(ends.values(), labels, strict=True)]


def _bar_name(row: Record, upright: bool) -> str:
    """SKU, nodes and site within a bar, in lines that are about as long."""
    if upright:
        return f"{row['sku']}: {row['nodes']}"
    return f"{row['sku']}\n{row['nodes']}, {row['site']}"


def timeline(document: Document) -> Picture | None:
    """Training jobs from start to finish with their deadlines, and purchases where they arrive."""
    jobs, buys = (document["tables"][name][:MOST_ROWS] for name in ("jobs", "purchases"))
    buys = [buy for buy in buys if day(buy["arrives"])]
    if not jobs and not buys:
        return None
    job = chart_of([_job_mark(job) for job in jobs]).encode(y=row_axis("row"))
    buy = chart_of([_arrival_mark(buy) for buy in buys]).encode(y=row_axis("row"))
    dates = [day(document["horizon"][end]) for end in ("start", "end")]
    dates += [day(job[end]) for job in jobs for end in ("finish_p50", "finish_p95", "deadline")]
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
        layered(32, *layers),
    )


def cost_waterfall(document: Document) -> Picture | None:
    """Terms of the cost, added up to the total."""
    return waterfall(document["tables"]["cost"], "usd", "USD", "Cost, term by term")


def carbon_waterfall(document: Document) -> Picture | None:
    """Terms of the carbon, added up to the total."""
    return waterfall(document["tables"]["carbon"], "kgco2e", "kgCO2e", "Carbon, term by term")


CASH_PARTS = {
    "deposits_usd": "deposits",
    "deliveries_usd": "on delivery",
    "bills_usd": "bills",
    "sales_usd": "sales",
}
MORE_CASH_PARTS = {"data_usd": "data", "installed_usd": "batteries and cells"}  # only where any is paid


def cash_by_month(document: Document) -> Picture | None:
    """What is paid and received in each month, and all of it so far."""
    months = document["tables"].get("cash") or []
    if not months:
        return None
    more = {key: part for key, part in MORE_CASH_PARTS.items() if any(row.get(key) for row in months)}
    paid_for = CASH_PARTS | more
    values = [row[key] for row in months for key in (*paid_for, "so_far_usd")]
    divisor, unit = scale_of("USD", values)
    rows = [
        {"month": row["month"], "part": part, "paid": row[key] / divisor}
        for row in months
        for key, part in paid_for.items()
        if row[key]
    ]
    lines = [{"month": row["month"], "paid": row["so_far_usd"] / divisor} for row in months]
    x = alt.X("month:O", title=None, sort=[row["month"] for row in months], axis=alt.Axis(labelAngle=-90))
    bars = (
        chart_of(rows)
        .mark_bar(stroke=OUTLINE)
        .encode(
            x=x,
            y=alt.Y("paid:Q", title=f"paid in the month; line: so far ({unit})", stack="zero"),
            color=colour("part", "paid for", list(paid_for.values())),
            tooltip=["month:N", "part:N", "paid:Q"],
        )
    )
    line = chart_of(lines).mark_line(color=INK, point=True).encode(x=x, y="paid:Q")
    most = max(months, key=lambda row: row["so_far_usd"])
    words = (
        f"{quantity_text(months[-1]['so_far_usd'], 'USD')} in all by {months[-1]['month']}; most is out in "
        f"{most['month']}, {quantity_text(most['so_far_usd'], 'USD')}"
    )
    return Picture(
        "Cash, month by month",
        f"Bars of what is paid in each month, below zero if received; a line of all so far: {words}.",
        tall(bars, line),
    )


def baselines(document: Document) -> Picture | None:
    """The plan next to the cost-only plan the best without purchases, and without sales; it is 100 %.

    A total below zero has its bar to the left, so that the plan is then -100 %.
    """
    names = {
        "plan": "this plan",
        "cost_only": "cost only",
        "no_purchases": "no purchases",
        "keep_everything": "keep everything",
        "usual_practice": "usual practice",
        "as_today": "no purchases",  # as documents before called it
    }
    measured = [row for row in document["tables"]["summary"] if row["plan"]]
    heads, rows = [], []
    for row in measured:
        heads.append({"row": f"{row['measure']}\n", "measure": row["measure"]})
        rows += [
            {
                "row": f"{row['measure']}\n{name}",
                "plan": name,
                "share": 100 * row[key] / abs(row["plan"]),
                "edge": max(0.0, 100 * row[key] / abs(row["plan"])),
                "label": quantity_text(row[key], row["unit"]),
            }
            for key, name in names.items()
            if row.get(key) is not None
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
    scale = with_room(row["share"] for row in rows)
    x = alt.X("share:Q", title="share of this plan (%)", scale=scale)
    bars = labelled_bars(rows, y, x, colour("plan", "plan", list(names.values())), edge="edge")
    head = chart_of(heads).mark_text(color=INK, align="left", dx=2, fontSize=12, fontWeight="bold")
    below = ", and -100 % where it is below zero" if any(row["plan"] < 0 for row in measured) else ""
    words = "; ".join(f"{row['row'].replace(chr(10), ', ')}: {row['label']}" for row in rows)
    return Picture(
        "The plan and its baselines",
        f"Bars; this plan is 100 %{below}. {words}.",
        layered(19, *bars, head.encode(y=y, x=alt.datum(0, type="quantitative"), text="measure:N")),
    )


def limits(document: Document) -> Picture | None:
    """How much of each limit is used in its fullest period; the fullest limit first."""
    fullest: dict[tuple[str, str], Record] = {}
    for row in sorted(document["tables"]["limits"], key=lambda row: -row["share_fraction"]):
        fullest.setdefault((row["limit"], row["where"]), row)
    rows = [
        {
            "limit": broken(" · ".join(str(row[key]) for key in ("limit", "where", "period") if row[key])),
            "share": 100 * row["share_fraction"],
            "state": "binding" if row["binding"] else "room left",
            "label": f"{percent_text(row['share_fraction'], 0)}{', binding' if row['binding'] else ''}",
        }
        for row in list(fullest.values())[:MOST_ROWS]
    ]
    if not rows:
        return None
    scale = with_room([100.0, *(row["share"] for row in rows)])
    x = alt.X("share:Q", title="share of the limit (%)", scale=scale)
    bars = labelled_bars(rows, row_axis("limit"), x, colour("state", "limit", ["room left", "binding"]))
    full = chart_of([{"full": 100}]).mark_rule(color=OUTLINE, strokeDash=[4, 3]).encode(x="full:Q")
    words = "; ".join(f"{row['limit']} {row['label']}" for row in rows[:8]).replace("\n", " ")
    return Picture(
        "How full the limits are",
        f"Bars of how much is used in the fullest period. {words}.",
        layered(26, *bars, full),
    )


def tornado(document: Document) -> Picture | None:
    """What each uncertain fact does to the objective at its low and at its high end."""
    middle = document["objective"]["value"]
    found = [row for row in document["tornado"] if None not in (row["at_low"], row["at_high"], middle)]
    widest = sorted(found, key=lambda row: -abs(row["at_high"] - row["at_low"]))[:12]
    if not widest:
        return None
    changes = [row[end] - middle for row in widest for end in ("at_low", "at_high")]
    divisor, unit = scale_of(document["objective"]["unit"], changes)
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
    base = chart_of(rows).encode(y=row_axis("fact"), tooltip=["fact:N", "end:N", "label:N", "to:Q"])
    bars = base.mark_bar(stroke=OUTLINE).encode(
        x=alt.X("from:Q", title=f"change of the objective ({unit})", scale=scale),
        x2="to:Q",
        color=colour("end", "fact at its", ["low", "high"]),
    )
    left = base.transform_filter("datum.to < 0").mark_text(color=INK, align="right", dx=-4, fontSize=10)
    right = base.transform_filter("datum.to >= 0").mark_text(color=INK, align="left", dx=4, fontSize=10)
    labels = [text.encode(x="to:Q", text="label:N") for text in (left, right)]
    words = "; ".join(f"{row['fact']} at its {row['end']}: {number_text(row['to'])} {unit}" for row in rows)
    words = words.replace("\n", "")
    return Picture(
        "Sensitivity of the result",
        f"Bars of the change of the objective. {words}.",
        layered(30, bars, *labels),
    )


PLAN_PICTURES: dict[str, Callable[[Document], Picture | None]] = {
    "mix": mix,
    "timeline": timeline,
    "cost": cost_waterfall,
    "carbon": carbon_waterfall,
    "cash": cash_by_month,
    "baselines": baselines,
    "limits": limits,
    "tornado": tornado,
    "hours": hours,
}


def _job_mark(job: Record) -> Record:
    ends = {"start": "start", "median": "finish_p50", "late": "finish_p95", "deadline": "deadline"}
    days = {name: day(job[key]) for name, key in ends.items()}
    return {"row": str(job["job"]), "label": f"{job['nodes']} {job['sku']}, {job['site']}", **days}


def _arrival_mark(buy: Record) -> Record:
    return {
        "row": f"buy {buy['sku']}, {buy['site']}",
        "day": day(buy["arrives"]),
        "label": how_many(buy["nodes"], "node"),
    }


def _fact_label(key: str) -> str:
    """A fact's key, broken at a full stop where it is long."""
    head, dot, tail = key.rpartition(".")
    return f"{head}.\n{tail}" if dot and len(key) > 26 else key
