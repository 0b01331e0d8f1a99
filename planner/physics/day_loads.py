"""Requests of each service by the clock: by the hours of a trace, or by a curve around its busiest hour."""

from __future__ import annotations

import numpy as np

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.physics.equations.slots import (
    all_regions_load_fraction,
    clock_load_fraction,
    mixed_hours_ratio,
    ready_load_fraction,
    region_load_fraction,
    traced_load_fraction,
    traced_region_load_fraction,
)
from planner.trace.numbers import fixed_text, number_text
from planner.trace.quantities import Traced, chosen, derive, pick

PARTS_A_DAY = 12


def day_loads(inputs: Inputs) -> tuple[Traced, Traced, tuple[str, ...]]:
    """Load in each part of a day over that of the peak hour (I, 12), and what has to be said of it.

    First on the mean day, by which energy is counted, then on the highest one, for which replicas are ready:
    a curve that nobody measured knows no difference between days.
    """
    services = inputs.scenario.services
    if not services:
        none = chosen("load_fraction", np.zeros((0, PARTS_A_DAY)), "no services")
        return none, none, ()
    each = [_load(inputs, one) for one in services]
    row = np.arange(len(services))
    mean, most = pick([one[0] for one in each], row), pick([one[1] for one in each], row)
    return mean, most, tuple(dict.fromkeys(one[2] for one in each))


def region_loads(inputs: Inputs, service: Service) -> Traced | None:
    """Load of each region of a service in each part of a day (R, 12); None where all peak together.

    By traces it is that of the highest hours, for which replicas are ready.
    """
    if not service.has_region_hours:
        return None
    share = _shares(inputs, service)
    if service.regions[0].traffic_shape is not None:
        mean, most = (_hours_of_regions(inputs, service, name) for name in ("mean_ratio", "most_ratio"))
        return derive(
            traced_region_load_fraction,
            load_fraction=_traced_load(inputs, service),
            share_fraction=share,
            mean_ratio=mean,
            most_ratio=most,
            slots_a_day=_parts(),
        )
    at = f"services.{service.name}.regions"
    hours = [
        inputs.yours(f"{at}.{one.users}.busiest_time", float(one.busiest_time_h or 0.0), "h")
        for one in service.regions
    ]
    return derive(
        region_load_fraction,
        mean_to_peak_fraction=_mean_to_peak(inputs, service),
        share_fraction=share,
        busiest_h=pick(hours, np.arange(len(hours))),
        slots_a_day=_parts(),
    )


def _traced_load(inputs: Inputs, service: Service) -> Traced:
    """Load of all regions on the mean day, by the trace of each (12)."""
    mixed = derive(
        mixed_hours_ratio,
        share_fraction=_shares(inputs, service),
        hours_ratio=_hours_of_regions(inputs, service, "mean_ratio"),
    )
    return derive(
        traced_load_fraction,
        mean_to_peak_fraction=_mean_to_peak(inputs, service),
        hours_ratio=mixed,
        slots_a_day=_parts(),
    )


def _shares(inputs: Inputs, service: Service) -> Traced:
    at = f"services.{service.name}.regions"
    each = [inputs.yours(f"{at}.{one.users}.share", one.share_fraction, "1") for one in service.regions]
    return pick(each, np.arange(len(each)))


def _hours_of_regions(inputs: Inputs, service: Service, name: str) -> Traced:
    """Requests in each hour of the day over their mean, by the trace of each region (R, 24)."""
    held, names = inputs.scenario.shapes.requests, [str(one.traffic_shape) for one in service.regions]
    days = ", ".join(f"{one} ({fixed_text(held[one].days, 1)} days)" for one in dict.fromkeys(names))
    return chosen(name, np.stack([getattr(held[one], name) for one in names]), f"hours of {days}")


def _mean_to_peak(inputs: Inputs, service: Service) -> Traced:
    return inputs.yours(f"services.{service.name}.mean_to_peak", service.mean_to_peak_fraction, "1")


def _parts() -> Traced:
    return chosen("slots_a_day", float(PARTS_A_DAY), "two hours each")


def _load(inputs: Inputs, service: Service) -> tuple[Traced, Traced, str]:
    where = f"services.{service.name}"
    mean, parts = _mean_to_peak(inputs, service), _parts()
    if (regions := region_loads(inputs, service)) is not None:
        load = derive(all_regions_load_fraction, region_load_fraction=regions)
        if service.regions[0].traffic_shape is None:
            return load, load, f"{service.name}: requests by a curve around the busiest hour of each region."
        said = f"{service.name}: requests by the hour as in the trace of each region."
        return _traced_load(inputs, service), load, said
    if service.traffic_shape is None:
        stated = service.busiest_time_h
        busiest = (
            inputs.fact("traffic.default.busiest_time")
            if stated is None
            else inputs.yours(f"{where}.busiest_time", stated, "h")
        )
        load = derive(clock_load_fraction, mean_to_peak_fraction=mean, busiest_h=busiest, slots_a_day=parts)
        said = f"a curve around {number_text(float(busiest.value))} h, as no trace of a day is named"
        return load, load, f"{service.name}: requests by {said}."
    hours = inputs.scenario.shapes.requests[service.traffic_shape]
    days = f"{fixed_text(hours.days, 1)} days"
    source = f"hours of {service.traffic_shape}, {days}"
    on_mean, at_most = (
        chosen("mean_ratio", hours.mean_ratio, source),
        chosen("most_ratio", hours.most_ratio, source),
    )
    load = derive(traced_load_fraction, mean_to_peak_fraction=mean, hours_ratio=on_mean, slots_a_day=parts)
    ready = derive(
        ready_load_fraction, load_fraction=load, mean_ratio=on_mean, most_ratio=at_most, slots_a_day=parts
    )
    return load, ready, f"{service.name}: requests by the hour as in {service.traffic_shape}, {days}."
