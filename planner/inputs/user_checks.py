"""Services that say where their users are: whether that place is known, and any site near enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.geography import Spot, place_of
from planner.inputs.scenario import Problem, Service, UserRegion
from planner.inputs.scenario.checks import list_in
from planner.inputs.scenario.fields import Frame
from planner.inputs.scenario.parts import entries_of, read_far
from planner.inputs.scenario.problems import nearest_remedy, place
from planner.performance.users import great_circle_km, user_latency_s
from planner.trace.numbers import number_text, seconds_text

ROUTES = "network.users.route_factor"
MOST = 6  # regions of one service: a plan weighs each set of them
EXACT = 1e-6  # of a sum of shares
HOUR, SHAPE = "busiest_time", "traffic_shape"
PIPELINE, MEAN = "pipeline", "mean_quality_budget"
MOST_WITH_MEAN = 3  # regions next to a mean of quality: a plan weighs each loss in each of them


def user_problems(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Services with users in no known place, next to sites in none, or too far from all of them."""
    for i, entry in entries_of(document, "services"):
        at = place(("services", i), document)
        if isinstance(entry.get("users"), str):
            if "pipeline" in entry:
                yield Problem(
                    f"{at}.users",
                    "is for a service of its own: take the way to the users off the response_time",
                )
            else:
                yield from _home(document, catalogue, entry, f"{at}.users", {"users": entry["users"]})
        if regions := list_in(entry, "regions"):
            yield from _regions(document, catalogue, entry, at, regions)


def _regions(
    document: Mapping[str, Any], catalogue: Catalogue, entry: Mapping[str, Any], at: str, regions: list[Any]
) -> Iterator[Problem]:
    """Users in several regions: what goes together, then each by itself."""
    if "users" in entry:
        yield Problem(f"{at}.users", "and regions say the same thing twice: keep one")
        return
    if PIPELINE in entry:
        yield Problem(
            f"{at}.regions",
            "works without pipeline, as the way to users is one of the whole pipeline: take it off the "
            "response_time",
        )
    yield from _hours(entry, at, regions)
    most, next_to = (MOST_WITH_MEAN, f" next to {MEAN}") if MEAN in entry else (MOST, "")
    if len(regions) > most:
        said = f"{len(regions)} are too many{next_to}: join some, so that {most} are left"
        yield Problem(f"{at}.regions", said)
        return
    read = [one for one in (read_far(UserRegion, region, Frame()) for region in regions) if one is not None]
    names = Counter(one.users for one in read if one.reads("users"))
    for twice in (name for name, count in names.items() if count > 1):
        yield Problem(f"{at}.regions", f"'{twice}' stands in several: write one of all its users")
    shares = [one.share_fraction for one in read if one.reads("share_fraction")]
    if len(shares) == len(regions) and abs(sum(shares) - 1.0) > EXACT:
        yield Problem(
            f"{at}.regions",
            f"their shares add up to {number_text(sum(shares), 6)}: write shares that add up to 1",
        )
    for r, region in enumerate(regions):
        if isinstance(region, dict) and isinstance(region.get("users"), str):
            yield from _home(document, catalogue, entry, f"{at}.regions[{r}]", region)


def _hours(entry: Mapping[str, Any], at: str, regions: list[Any]) -> Iterator[Problem]:
    """Busiest hours or traces of all regions or of none, in place of those of the service."""
    stated = {key: [isinstance(one, dict) and key in one for one in regions] for key in (HOUR, SHAPE)}
    ways = [key for key, said in stated.items() if any(said)]
    if len(ways) > 1:
        yield Problem(f"{at}.regions", f"{HOUR} and {SHAPE} both say when they come: state one in each")
    elif ways:
        key = ways[0]
        example = '"19 h"' if key == HOUR else '"germany.csv"'
        for r in (r for r, one in enumerate(stated[key]) if not one):
            yield Problem(
                f"{at}.regions[{r}].{key}",
                f"is missing, and others state it: write for example {key} = {example}",
            )
    if ways and MEAN in entry:
        said = f"next to {MEAN} all regions peak together: remove it, or state quality_budget"
        yield Problem(f"{at}.regions[{stated[ways[0]].index(True)}].{ways[0]}", said)
    for key in (HOUR, SHAPE, "traffic") if ways else ():
        if key in entry:
            said = f"says when requests come, as {ways[0]} of the regions does: keep one"
            yield Problem(f"{at}.{key}", said)


def _home(
    document: Mapping[str, Any],
    catalogue: Catalogue,
    entry: Mapping[str, Any],
    at: str,
    home: Mapping[str, Any],
) -> Iterator[Problem]:
    """Users in one place: whether it is known, or every way from it, and whether any site is near enough."""
    labels = {
        one["name"]: (place((section, i), document), one)
        for section in ("sites", "rental")
        for i, one in entries_of(document, section)
        if isinstance(one.get("name"), str)
    }
    latency = home.get("latency")
    stated: Mapping[str, Any] = latency if isinstance(latency, dict) else {}
    missing = [
        (key, name)
        for key, names in (("sites", list_in(home, "sites")), ("latency", list(stated)))
        for name in names
        if isinstance(name, str) and name not in labels
    ]
    for key, name in missing:
        yield Problem(f"{at}.{key}", f"no site or rental '{name[:60]}'; {nearest_remedy(name, labels)}")
    if missing:
        return
    limits = [set(named) for named in (list_in(entry, "sites"), list_in(home, "sites")) if named]
    allowed = {name: held for name, held in labels.items() if all(name in each for each in limits)}
    if labels and not allowed:
        yield Problem(f"{at}.sites", "none of these is a site of the service: name one that it may use")
        return
    where = place_of(home["users"])
    open_ = {name: held for name, held in allowed.items() if name not in stated}
    if where is None and open_:
        yield Problem(
            at,
            f"no place '{home['users']}' is known: write the code of a country, such as \"de\", or a "
            "region of a provider (`everfleet regions`)"
            + (", or the latency to each site" if "share" in home else ""),
        )
        return
    spots = {name: place_of(one.get("region"), one.get("grid")) for name, (_, one) in open_.items()}
    if unknown := [open_[name][0] for name, spot in spots.items() if spot is None]:
        yield Problem(
            at,
            f"nobody knows where {' and '.join(unknown)} is: write a region of a provider there (`everfleet "
            "regions`), name other sites, or remove this",
        )
        return
    factor = float(catalogue.fact(ROUTES).value)
    late = {name: _latency_s(where, spot, factor) for name, spot in spots.items() if where and spot}
    known = read_far(UserRegion, home, Frame())
    if known is not None and known.reads("latency_s") and known.latency_s is not None:
        late |= {name: seconds for name, seconds in known.latency_s.items() if name in allowed}
    target_s = _first_answer_s(entry)
    if late and target_s is not None and min(late.values()) >= target_s:
        nearest = min(late, key=lambda name: late[name])
        yield Problem(
            at,
            f"the way to the nearest site, {allowed[nearest][0]}, takes "
            f"{seconds_text(round(late[nearest], 3))} of {seconds_text(target_s)}: write a longer time, or a "
            "nearer site",
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
    known = service is not None and stated and all(service.reads(f"{key}_s") for key in stated)
    return service.first_answer_s if service is not None and known else None
