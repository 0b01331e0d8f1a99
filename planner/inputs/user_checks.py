"""Services that say where their users are: whether that place is known, and any site near enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.geography import Spot, place_of
from planner.inputs.scenario import Problem, Service
from planner.inputs.scenario.checks import list_in
from planner.inputs.scenario.fields import Frame
from planner.inputs.scenario.parts import entries_of, read_far
from planner.inputs.scenario.problems import place
from planner.performance.users import great_circle_km, user_latency_s
from planner.trace.numbers import seconds_text

ROUTES = "network.users.route_factor"


def user_problems(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Services with users in no known place, next to sites in none, or too far from all of them."""
    for i, entry in entries_of(document, "services"):
        if not isinstance(entry.get("users"), str):
            continue
        at, where = place(("services", i), document), place_of(entry["users"])
        if where is None:
            yield Problem(
                f"{at}.users",
                f"no place '{entry['users']}' is known: write the code of a country, such as \"de\", or a "
                "region of a provider (`everfleet regions`)",
            )
        elif "pipeline" in entry:
            yield Problem(
                f"{at}.users", "is for a service of its own: take the way to the users off the response_time"
            )
        else:
            yield from _sites(document, catalogue, entry, at, where)


def _sites(
    document: Mapping[str, Any], catalogue: Catalogue, entry: Mapping[str, Any], at: str, where: Spot
) -> Iterator[Problem]:
    named = list_in(entry, "sites")
    sites = [(place(("sites", i), document), one) for i, one in entries_of(document, "sites")]
    sites += [(place(("rental", i), document), one) for i, one in entries_of(document, "rental")]
    sites = [(here, one) for here, one in sites if not named or one.get("name") in named]
    spots = {here: place_of(one.get("region"), one.get("grid")) for here, one in sites}
    if unknown := [here for here, spot in spots.items() if spot is None]:
        yield Problem(
            f"{at}.users",
            f"nobody knows where {' and '.join(unknown)} is: write a region of a provider there (`everfleet "
            "regions`), name other sites, or remove this",
        )
        return
    factor = float(catalogue.fact(ROUTES).value)
    late = {here: _latency_s(where, spot, factor) for here, spot in spots.items() if spot is not None}
    target_s = _first_answer_s(entry)
    if late and target_s is not None and min(late.values()) >= target_s:
        nearest = min(late, key=lambda here: late[here])
        yield Problem(
            f"{at}.users",
            f"the way to the nearest site, {nearest}, takes {seconds_text(round(late[nearest], 3))} of "
            f"{seconds_text(target_s)}: write a longer time, or a nearer site",
        )


def _latency_s(where: Spot, here: Spot, factor: float) -> float:
    apart_km = great_circle_km(
        latitude_deg=where.latitude_deg,
        longitude_deg=where.longitude_deg,
        other_latitude_deg=here.latitude_deg,
        other_longitude_deg=here.longitude_deg,
    )
    return user_latency_s(distance_km=apart_km, route_factor=factor)


def _first_answer_s(entry: Mapping[str, Any]) -> float | None:
    """The target that the way counts against; None where it is missing or wrong."""
    stated = {key: entry[key] for key in ("first_token", "response_time") if key in entry}
    service = read_far(Service, stated, Frame())
    known = service is not None and any(service.has(f"{key}_s") for key in stated)
    return service.first_answer_s if service is not None and known else None
