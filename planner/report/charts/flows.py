"""Where energy flows, from the meters to what it is used for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.report.charts.drawing import OUTLINE, PALETTE
from planner.trace.numbers import quantity_text
from planner.trace.records import Document

METERS = "energy at the meters"
OVERHEAD = "cooling and power supply"
LOST = ("training: lost to failures", "training: restarts")


@dataclass(frozen=True, slots=True)
class Flow:
    """A Sankey diagram as a specification of ECharts, with its title and its words."""

    title: str
    alt: str
    spec: dict[str, Any]
    height: int


def energy_flow(document: Document) -> Flow | None:
    """Energy from the meters to the sites, and on to each use and to what cooling takes of it."""
    rows = document["tables"].get("energy") or []
    links: dict[tuple[str, str], float] = {}

    def add(source: str, target: str, kwh: float) -> None:
        links[source, target] = links.get((source, target), 0.0) + kwh

    for row in rows:
        site = f"at {row['site']}"
        add(METERS, site, row["it_kwh"] + row["overhead_kwh"])
        add(site, row["use"], row["it_kwh"])
        add(site, OVERHEAD, row["overhead_kwh"])
    links = {ends: kwh for ends, kwh in links.items() if kwh > 0}
    if not links:
        return None
    return _flow(links)


def _flow(links: dict[tuple[str, str], float]) -> Flow:
    sums = {target: sum(kwh for ends, kwh in links.items() if ends[1] == target) for _, target in links}
    total = sum(kwh for (source, _), kwh in links.items() if source == METERS)
    sums = {METERS: total} | sums
    labels = {name: f"{name}\n{quantity_text(kwh, 'kWh')}" for name, kwh in sums.items()}
    nodes = [
        {"name": labels[name], "itemStyle": {"color": _colour(name), "borderColor": OUTLINE}} for name in sums
    ]
    series = {
        "type": "sankey",
        "data": nodes,
        "links": [
            {"source": labels[source], "target": labels[target], "value": kwh}
            for (source, target), kwh in links.items()
        ],
        "left": 4,
        "right": 156,
        "top": 8,
        "bottom": 20,
        "nodeGap": 32,
        "draggable": False,
        "label": {"width": 150, "overflow": "break", "fontSize": 11, "lineHeight": 14},
        # Between two columns a phone has little room for words.
        "levels": [{"depth": depth, "label": {"width": 52}} for depth in (0, 1)],
        "lineStyle": {"color": "source", "opacity": 0.35},
    }
    words = "; ".join(f"{name} {quantity_text(kwh, 'kWh')}" for name, kwh in sums.items())
    return Flow(
        "Where the energy goes",
        f"Bands of energy from the meters to the sites and on to each use. {words}.",
        {"series": [series], "tooltip": {"renderMode": "richText", "confine": True}, "animation": False},
        height=max(260, 46 * (len(sums) - 1)),
    )


def _colour(name: str) -> str:
    """By what kind of use it is; the label of each band says the same."""
    if name == METERS or name.startswith("at "):
        return PALETTE[0]
    if name in LOST:
        return PALETTE[4]
    return PALETTE[5] if name in (OVERHEAD, "idle nodes", "parked nodes") else PALETTE[2]
