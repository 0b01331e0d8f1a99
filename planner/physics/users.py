"""Where the users of a service are: how far each site is from them, and which are equally far."""

from __future__ import annotations

from planner.inputs.geography import place_of
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Rental, Service, Site, UserRegion
from planner.performance.users import great_circle_km, user_latency_s
from planner.trace.quantities import Traced, chosen, derive

ROUTES = "network.users.route_factor"
Sites = tuple[str, ...] | None  # names of those that a service may use; None: all
Placing = tuple[Sites, tuple[UserRegion, ...]]  # and regions that are answered there, of several


def latency_at(inputs: Inputs, service: Service, home: UserRegion, place: Site | Rental) -> Traced:
    """Time between users of a service and a site, both ways: as stated, or by the distance."""
    if home.latency_s is not None and place.name in home.latency_s:
        path = f"{service.place}.regions.{home.users}.latency.{place.name}"
        return inputs.yours(path, home.latency_s[place.name], "s")
    where, here = place_of(home.users), place_of(place.region, place.grid)
    assert where is not None, "checked on reading"
    assert here is not None, "checked on reading"
    apart_km = great_circle_km(
        latitude_deg=where.latitude_deg,
        longitude_deg=where.longitude_deg,
        other_latitude_deg=here.latitude_deg,
        other_longitude_deg=here.longitude_deg,
    )
    said = f"great circle from {where.city}, where users are, to {here.city}, where {place.name} is: data/map"
    return derive(
        user_latency_s,
        distance_km=chosen("distance_km", apart_km, said),
        route_factor=inputs.fact(ROUTES),
    )


def farthest_latency(inputs: Inputs, service: Service) -> Traced | None:
    """Time from the farthest users to a site where they may be answered; None where no users are placed."""
    each = [
        latency_at(inputs, service, home, place)
        for home in service.homes
        for place in _allowed(inputs, service, home)
    ]
    return max(each, key=lambda one: float(one.value), default=None)


def placings(inputs: Inputs, service: Service) -> tuple[Placing, ...]:
    """Sites with the regions that replicas there answer, the nearest to their users first.

    A replica answers within the time that the way to the farthest of its users leaves, so at each site those
    of the nearest region are tried, of the nearest two, and so on. Sites that are equally far from the same
    regions are one. Of a service that does not say where its users are: the sites that it names, as one.
    """
    if not service.homes:
        return ((service.sites, ()),)
    found: dict[tuple[float, frozenset[str]], list[str]] = {}
    for place in places(inputs):
        near: dict[str, float] = {}
        for home in service.homes:
            if place in _allowed(inputs, service, home):
                near[home.users] = float(latency_at(inputs, service, home, place).value)
        for late_s in sorted(set(near.values())):
            answered = frozenset(name for name, each_s in near.items() if each_s <= late_s)
            found.setdefault((late_s, answered), []).append(place.name)
    order = sorted(found, key=lambda one: (one[0], sorted(one[1])))
    return tuple(
        (tuple(found[one]), tuple(home for home in service.regions if home.users in one[1])) for one in order
    )


def places(inputs: Inputs) -> list[Site | Rental]:
    """Own sites, then locations of rented nodes, in the order of `Inputs.sites`."""
    return [*inputs.scenario.sites, *inputs.scenario.rental]


def _allowed(inputs: Inputs, service: Service, home: UserRegion) -> list[Site | Rental]:
    """Where users of a region may be answered."""
    return [
        place
        for place in places(inputs)
        if all(not sites or place.name in sites for sites in (service.sites, home.sites))
    ]
