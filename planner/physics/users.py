"""Where the users of a service are: how far each site is from them, and which are equally far."""

from __future__ import annotations

from planner.inputs.geography import place_of
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Rental, Service, Site
from planner.performance.users import great_circle_km, user_latency_s
from planner.trace.quantities import Traced, chosen, derive

ROUTES = "network.users.route_factor"
Sites = tuple[str, ...] | None  # names of those that a service may use; None: all


def latency_at(inputs: Inputs, service: Service, place: Site | Rental) -> Traced:
    """Time between the users of a service and a site, both ways."""
    where, here = place_of(service.users), place_of(place.region, place.grid)
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
    """Time to the farthest site where a service may run; None where it does not say where its users are."""
    if service.users is None:
        return None
    each = [latency_at(inputs, service, place) for place in _allowed(inputs, service)]
    return max(each, key=lambda one: float(one.value))


def site_groups(inputs: Inputs, service: Service) -> tuple[Sites, ...]:
    """Sites that are equally far from the users of a service, the nearest first.

    Of a service that does not say where its users are: the sites that it names, as one group.
    """
    if service.users is None:
        return (service.sites,)
    groups: dict[float, list[str]] = {}
    for place in _allowed(inputs, service):
        late_s = float(latency_at(inputs, service, place).value)
        groups.setdefault(late_s, []).append(place.name)
    return tuple(tuple(groups[late_s]) for late_s in sorted(groups))


def places(inputs: Inputs) -> list[Site | Rental]:
    """Own sites, then locations of rented nodes, in the order of `Inputs.sites`."""
    return [*inputs.scenario.sites, *inputs.scenario.rental]


def _allowed(inputs: Inputs, service: Service) -> list[Site | Rental]:
    return [place for place in places(inputs) if not service.sites or place.name in service.sites]
