"""The load of each device that holds embedding tables: look-ups and exchange of a step."""

from __future__ import annotations

import altair as alt

from planner.report.charts.drawing import (
    INK,
    OUTLINE,
    Document,
    Picture,
    chart_of,
    colour,
    every,
    layered,
    row_axis,
    with_room,
)
from planner.trace.numbers import number_text

MOST_DEVICES = 32
PARTS = {"lookup_s": "look-up", "exchange_s": "exchange"}


def device_loads(document: Document) -> Picture | None:
    """A bar for each device, or some of many: look-up, then exchange; the bound is a line."""
    devices = document.get("devices", [])
    if not devices:
        return None
    meant = max(devices, key=lambda row: row["device_s"])
    shown = every(devices, MOST_DEVICES)
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
    return Picture("Load of each device", f"Bars in ms. {words}.", layered(16, bars, texts, line))


PLACEMENT_PICTURES = {"devices": device_loads}
