"""The load of each device that holds embedding tables: look-ups and exchange of a step."""

from __future__ import annotations

import altair as alt

from planner.report.charts.drawing import (
    INK,
    OUTLINE,
    Picture,
    chart_of,
    colour,
    layered,
    row_axis,
    with_room,
)
from planner.trace.numbers import number_text, percent_text
from planner.trace.records import Document, evenly_taken

MOST_DEVICES = 32
PARTS = {"lookup_s": "look-up", "exchange_s": "exchange"}


def device_loads(document: Document) -> Picture | None:
    """A bar for each device, or some of many: look-up, then exchange; the bound is a line."""
    devices = document.get("devices", [])
    if not devices:
        return None
    meant = max(devices, key=lambda row: row["device_s"])
    shown = evenly_taken(devices, MOST_DEVICES)
    shown = shown if meant in shown else [meant, *shown[1:]]
    rows = [
        {
            "device": row["device"],
            "part": said,
            "start": sum(1e3 * row[one] for one in list(PARTS)[:at]),
            "end": sum(1e3 * row[one] for one in list(PARTS)[: at + 1]),
            "label": f"{row['device']}: {said} {number_text(1e3 * row[key])} ms",
        }
        for row in shown
        for at, (key, said) in enumerate(PARTS.items())
    ]
    ends = [{"device": row["device"], "end": 1e3 * row["device_s"]} for row in shown]
    for end in ends:
        end["label"] = number_text(end["end"])
    bound = next(
        1e3 * size["bound_s"]
        for size in document["sizes"]
        if size["fits"] and size["accelerators"] == len(devices)
    )
    x = alt.X("start:Q", title="ms of a step", scale=with_room(row["end"] for row in ends))
    bars = (
        chart_of(rows)
        .mark_bar(stroke=OUTLINE)
        .encode(
            y=row_axis("device"),
            x=x,
            x2="end:Q",
            color=colour("part", "part", list(PARTS.values())),
            tooltip=["label:N"],
        )
    )
    texts = (
        chart_of(ends)
        .mark_text(color=INK, align="left", dx=4, fontSize=11)
        .encode(y=row_axis("device"), x="end:Q", text="label:N")
    )
    line = chart_of([{"bound": bound}]).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="bound:Q")
    words = (
        f"{len(shown)} of {len(devices)} devices; the busiest, {meant['device']}, takes "
        f"{number_text(1e3 * meant['device_s'])} ms; no placement takes less than {number_text(bound)} ms "
        "(dashed line)"
    )
    return Picture("Load of each device", f"Bars in ms. {words}.", layered(16, bars, line, texts))


def device_bytes(document: Document) -> Picture | None:
    """A bar for each device, or some of many: what it holds of the tables, memory by memory."""
    devices = document.get("devices", [])
    tiers = [row["tier"] for row in document.get("tiers", []) if row["held_gb"] > 0]
    if not devices or not tiers:
        return None
    shown = evenly_taken(devices, MOST_DEVICES)
    rows, ends = [], []
    for row in shown:
        reached = 0.0
        for tier in tiers:
            held = row[f"{tier}_gb"]
            label = f"{row['device']}: {number_text(held)} GB in {tier}"
            rows.append(
                {
                    "device": row["device"],
                    "tier": tier,
                    "start": reached,
                    "end": reached + held,
                    "label": label,
                }
            )
            reached += held
        ends.append({"device": row["device"], "end": reached, "label": number_text(reached, 3)})
    x = alt.X("start:Q", title="GB of tables", scale=with_room(row["end"] for row in rows))
    bars = (
        chart_of(rows)
        .mark_bar(stroke=OUTLINE)
        .encode(
            y=row_axis("device"), x=x, x2="end:Q", color=colour("tier", "memory", tiers), tooltip=["label:N"]
        )
    )
    texts = (
        chart_of(ends)
        .mark_text(color=INK, align="left", dx=4, fontSize=11)
        .encode(y=row_axis("device"), x="end:Q", text="label:N")
    )
    full = "; ".join(
        f"{number_text(row['held_gb'], 3)} GB in {row['tier']}, {percent_text(row['full_fraction'])} of it"
        for row in document["tiers"]
    )
    words = f"{len(shown)} of {len(devices)} devices. All devices together hold {full}"
    return Picture("What each device holds", f"Bars in GB. {words}.", layered(16, bars, texts))


PLACEMENT_PICTURES = {"devices": device_loads, "bytes": device_bytes}
