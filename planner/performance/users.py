"""The way between users and a site, which takes a part of the time in which they want an answer."""

from __future__ import annotations

import math

from planner.performance._checks import require_not_negative, require_positive

LIGHT_KM_PER_S = 299_792.458  # in vacuum, by definition of the metre
NOTHING_S = 1e-6  # no replica answers in it
EARTH_KM = 6371.0088  # mean radius, IUGG


def great_circle_km(
    *, latitude_deg: float, longitude_deg: float, other_latitude_deg: float, other_longitude_deg: float
) -> float:
    """Shortest way between two places on the sphere of the Earth.

    d = 2 R asin sqrt(sin^2((b' - b)/2) + cos b cos b' sin^2((l' - l)/2))

    Source: the haversine formula.
    """
    here, there = math.radians(latitude_deg), math.radians(other_latitude_deg)
    east = math.radians(other_longitude_deg - longitude_deg)
    half = math.sin((there - here) / 2) ** 2 + math.cos(here) * math.cos(there) * math.sin(east / 2) ** 2
    return 2 * EARTH_KM * math.asin(min(1.0, math.sqrt(half)))


def user_latency_s(*, distance_km: float, route_factor: float) -> float:
    """Time of a request to a site and of its answer back, over a connection that is open.

    t = 2 f d / c

    f is how much longer light in fibre takes on real routes than in vacuum along the great circle d. The last
    mile of a user is not counted, nor is setting up a connection.

    Source: definition; f as in Bozkurt et al., "Why is the Internet so slow?!", PAM 2017.
    """
    require_not_negative(distance_km=distance_km)
    require_positive(route_factor=route_factor)
    return 2.0 * route_factor * distance_km / LIGHT_KM_PER_S


def time_left_s(*, target_s: float, latency_s: float) -> float:
    """What the way to the users leaves of a target for the site; too little where it is longer.

    T' = max(T - t, 1 us)

    Source: definition.
    """
    return max(target_s - latency_s, NOTHING_S)
