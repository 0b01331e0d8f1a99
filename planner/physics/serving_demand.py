"""What replicas carry of a demand, with headroom or in part, and what is left out of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.service_requests import windows_of
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, pick

LEAST_PER_S = 1e-12  # below it a replica carries nothing


def sharing_replicas(*, carrying_replicas: Column, together: Column) -> Column:
    """Whole replicas that take requests from one queue; 1 where each is dealt its own.

    c = max(1, floor(n)) or 1

    Source: definition.
    """
    return np.where(np.asarray(together) > 0, np.maximum(np.floor(carrying_replicas), 1.0), 1.0)


def pooled_carrying(
    *, demand_per_s: Column, requests_per_s: Column, dealt_replicas: Column, together: Column
) -> Column:
    """Replicas with one queue that carry a demand, no more than when each is dealt its own.

    n = min(max(1, lambda/c), n_dealt)

    Source: definition.
    """
    rate = np.maximum(requests_per_s, LEAST_PER_S)
    own = np.where(np.asarray(demand_per_s) > 0, np.maximum(np.divide(demand_per_s, rate), 1.0), 0.0)
    return np.where(np.asarray(together) > 0, np.minimum(own, dealt_replicas), dealt_replicas)


def heard_at_once(inputs: Inputs, service: NDArray[np.intp], faster: Traced | None) -> Traced | None:
    """How many times less the requests of services take than those that replicas are asked; None without.

    What `faster` says, and less than one where a request is a recording of several windows, each of which
    engines hear as a request of its own.
    """
    windows = [windows_of(inputs, one) for one in inputs.scenario.services]
    if all(windows[i] is None for i in service.tolist()):
        return faster
    one = chosen("windows", 1.0, "heard at once")
    each = pick([one if found is None else found for found in windows], service)
    whole = chosen("reduction_ratio", 1.0, "no technique") if faster is None else faster
    return (whole / each).named("reduction_ratio", "of a recording of several windows")


def carried_per_s(*, demand_per_s: Column, carrying_replicas: Column) -> Column:
    """Requests that one of the replicas takes at the peak hour.

    lambda_1 = lambda/n

    Source: definition.
    """
    return demand_per_s / np.maximum(carrying_replicas, 1.0)


def unmet_usd(
    *,
    penalty_usd_per_request: Column,
    peak_requests_per_s: Column,
    mean_to_peak_fraction: Column,
    hours_h: Column,
) -> Column:
    """Money for turning away every request of a period.

    M = p * m * peak * 3600 * h

    Where a share of the peak is not carried, the same share of all requests is taken as lost. Off the peak
    fewer are: the price is one that a plan does better than, never worse.

    Source: requests of a period, by definition.
    """
    mean_per_s = np.multiply(mean_to_peak_fraction, peak_requests_per_s)
    return penalty_usd_per_request * mean_per_s * 3600.0 * hours_h


def unmet_items(inputs: Inputs) -> dict[int, list[Traced]]:
    """What no request at all would cost in each period, for each service that may leave some."""
    found: dict[int, list[Traced]] = {}
    for i, service in enumerate(inputs.scenario.services):
        if service.unmet_penalty_usd is None:
            continue
        where = f"services.{service.name}"
        load = inputs.yours(f"{where}.mean_to_peak", service.mean_to_peak_fraction, "1")
        found[i] = [
            derive(
                unmet_usd,
                penalty_usd_per_request=inputs.money(
                    f"{where}.unmet_penalty[{t}]", service.unmet_penalty_usd[t], "USD"
                ),
                peak_requests_per_s=inputs.yours(
                    f"{where}.peak_rate[{t}]", service.peak_requests_per_s[t], "1/s"
                ),
                mean_to_peak_fraction=load,
                hours_h=chosen("hours_h", inputs.scenario.horizon.hours[t], "calendar hours of the period"),
            )
            for t in range(inputs.periods)
        ]
    return found
