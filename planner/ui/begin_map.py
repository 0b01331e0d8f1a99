"""The map of the guided start: places to choose from, next to the list that holds them all."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

import streamlit as st

from planner.inputs.catalogue import Catalogue
from planner.inputs.geography import land, spots
from planner.report.charts.places import SPOT, place_map
from planner.trace.numbers import number_text
from planner.trace.records import Record
from planner.ui import shared
from planner.ui.chart_cache import specs

_KEY = "begin.map"


def place_chooser(
    known: Mapping[str, str], chosen: Container[str], catalogue: Catalogue, add: Callable[[str], None]
) -> None:
    """The map, and a button for each place of the mark that was clicked.

    Args:
        known: the words of each place.
        chosen: places that are taken already.
        catalogue: the facts, for the grid of each place.
        add: takes a place.
    """
    rows = spot_rows(known, chosen, catalogue)
    digest = f"begin.map {[(row[SPOT], row['chosen'], row['said']) for row in rows]}"
    ((_, words, spec),) = specs(digest, lambda: place_map(rows, land()))
    event = st.vega_lite_chart(spec, width="stretch", alt=words, key=_KEY, on_select="rerun")
    picked = [one.get(SPOT) for one in event["selection"].get(SPOT, [])]
    here = next((row["places"] for row in rows if row[SPOT] in picked), ())
    st.caption("A mark in the colour of its grid; click one to add a place there. The list has all of them.")
    with st.container(horizontal=True):
        for place in here:
            st.button(
                f"Add {shared.plain(known[place])}",
                key=f"begin.map.{place}",
                icon=":material/add_location:",
                on_click=add,
                args=(place,),
            )


def spot_rows(known: Mapping[str, str], chosen: Container[str], catalogue: Catalogue) -> list[Record]:
    """Places that lie at one spot as one mark; one's own have no spot, and stay in the list."""
    held: dict[tuple[float, float], list[str]] = {}
    where = spots()
    for place in known:
        if place in where:
            held.setdefault(where[place][1:], []).append(place)
    rows = []
    for (latitude_deg, longitude_deg), places in held.items():
        clouds = sum("/" in place for place in places)
        facts = [catalogue.fact(f"grid.{_grid(place, catalogue)}.intensity") for place in places]
        least = min(fact.value for fact in facts)
        rows.append(
            {
                SPOT: f"{latitude_deg}, {longitude_deg}",
                "latitude_deg": latitude_deg,
                "longitude_deg": longitude_deg,
                "kind": "cloud" if clouds == len(places) else "both" if clouds else "country",
                "said": "; ".join(known[place] for place in places),
                "places": places,
                "chosen": any(place in chosen for place in places),
                "kgco2e_per_kwh": least,
                "grid_said": f"{number_text(least)} {facts[0].unit}",
            }
        )
    return rows


def _grid(place: str, catalogue: Catalogue) -> str:
    region = catalogue.regions.get(place)
    return place if region is None else region.grid
