"""What starting and keeping a deployment take: double running, loading weights, and people's time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.physics.batch_serving import in_batches, loaded_bytes
from planner.physics.egress import Egress, egress_of_deployments
from planner.physics.equations.serving import (
    deployment_usd,
    setting_up_usd,
    starting_h,
    starting_kgco2e,
    starting_usd,
)
from planner.physics.procurement import Rented
from planner.physics.serving import Replicas
from planner.physics.serving_options import served_models
from planner.physics.ways import people_h
from planner.trace.quantities import Traced, chosen, derive, pick, rows

ROUNDING = 1e-9  # of a count of replicas
CHARGED = "1 but in the first period where it runs today, or where that is not stated"


@dataclass(frozen=True)
class Starts:
    """One replica that starts, of each option by period (V, T): rent by the hour is in its money."""

    hours: Traced
    usd: Traced
    kgco2e: Traced
    kwh: Traced


@dataclass(frozen=True)
class Deployments:
    """People's time of each option that serves, however many its replicas, by period (V, T), as money."""

    kept_usd: Traced
    begun_usd: Traced  # where it did not serve in the period before
    begun_egress: Egress | None = None  # of what a deployment that begins moves to its site (V, T)
    logs: Egress | None = None  # of what one that serves sends back


def deployment_columns(inputs: Inputs, replicas: Replicas) -> Deployments:
    """What people do for an option that serves: a layout of a service on a SKU at a site is a deployment."""
    service, group = replicas.candidates.service, replicas.candidates.node_group
    hour = inputs.fact("planning.person_hour")
    whole = chosen("deployed_ratio", np.ones((len(service), 1)), "each option alike")
    kept = derive(
        deployment_usd,
        monthly_person_h=inputs.fact("planning.keeping.person_time"),
        person_usd_per_h=hour,
        hours_h=inputs.period_h,
        year_h=inputs.year_h,
    )
    begun = derive(
        setting_up_usd,
        person_h=inputs.fact("planning.starting.person_time"),
        person_usd_per_h=hour,
        charged_ratio=chosen("charged_ratio", _charged(inputs, service, group), CHARGED),
    )
    if (adopted := _adopted_usd(inputs, service)) is not None:
        begun = (begun + adopted).named("begun_usd")
    moved, logs = egress_of_deployments(
        inputs,
        service,
        inputs.node_group_site[group],
        chosen("charged_ratio", _charged(inputs, service, group), CHARGED),
    )
    return Deployments((kept * whole).named("kept_usd"), begun, moved, logs)


def _adopted_usd(inputs: Inputs, service: NDArray[np.intp]) -> Traced | None:
    """What people do once for the techniques of each way (V, 1); None where no way has any."""
    ways = inputs.ways.services
    if not any(way.techniques for way in ways):
        return None
    hour, items = inputs.fact("planning.person_hour"), list[Traced]()
    for way in ways:
        items.append((people_h(inputs, way.techniques) * hour).named("adopted_usd"))
    return pick(items, service[:, None])


def start_columns(inputs: Inputs, replicas: Replicas, rented: Rented) -> Starts:
    """What a start takes: energy at the site, and the rent of nodes that are paid by the hour.

    It is charged in full, as what is taken over from runs on meanwhile. Those nodes are in service or paid by
    the hour; that pools have less of them for so few hours is not counted.
    """
    service, group = replicas.candidates.service, replicas.candidates.node_group
    tall = np.arange(len(service))[:, None]
    parameters, weight_bytes = _loaded(inputs, service, inputs.node_group_sku[group])
    hours = derive(
        starting_h,
        double_running_h=inputs.fact("planning.starting.double_running"),
        parameters=rows(parameters, tall),
        weight_bytes=rows(weight_bytes, tall),
        load_gb_per_s=inputs.fact("planning.starting.load_rate"),
        charged_ratio=chosen(
            "charged_ratio",
            _charged(inputs, service, group),
            CHARGED,
        ),
    )
    kwh = (replicas.facility_kwh * hours / inputs.period_h).named(
        "started_kwh", "Energy of a replica while it starts, at its mean power of the period"
    )
    taken_h = (rows(replicas.nodes, tall) * hours).named("node_h")
    return Starts(
        hours=hours,
        usd=derive(
            starting_usd,
            running_usd=replicas.usd,
            hour_usd=_of_option(rented.usd, rented, group, inputs.periods, "hour_usd", "USD"),
            starting_h=hours,
            period_h=inputs.period_h,
            node_h=taken_h,
        ),
        kgco2e=derive(
            starting_kgco2e, running_kgco2e=replicas.kgco2e, starting_h=hours, period_h=inputs.period_h
        ),
        kwh=kwh,
    )


def _loaded(inputs: Inputs, service: NDArray[np.intp], sku: NDArray[np.intp]) -> tuple[Traced, Traced]:
    """What a replica reads before it serves: weights and their bytes; tables of recommenders are bytes."""
    services = inputs.scenario.services
    apart = np.array([in_batches(inputs, one) for one in services], dtype=bool)[service]
    if not apart.any():
        model = served_models(inputs, service, sku)
        return model.parameters, model.weight_bytes
    items: list[list[Traced]] = [[], []]
    for i, k, whole in zip(service.tolist(), sku.tolist(), apart.tolist(), strict=True):
        if whole:
            pair = (
                loaded_bytes(inputs, services[i], k),
                chosen("weight_bytes", 1.0, "counted in bytes", "B"),
            )
        else:
            model = served_models(inputs, np.array([i]), np.array([k]))
            pair = (model.parameters[0], model.weight_bytes[0])
        for held, one in zip(items, pair, strict=True):
            held.append(one)
    order = np.arange(len(service))
    return pick(items[0], order), pick(items[1], order)


def least_replicas(inputs: Inputs, replicas: Replicas) -> NDArray[np.int64]:
    """The fewest replicas of a deployment, of each option by period (V, T).

    Never more than carry the demand alone, those on standby with them.
    """
    fact = inputs.fact("planning.starting.least_replicas")
    stated = [one.least_replicas for one in inputs.scenario.services]
    wanted = np.array([fact.value if least is None else least for least in stated])
    alone = np.ceil(replicas.carrying.value - ROUNDING) + replicas.standby.value
    least: NDArray[np.float64] = np.minimum(wanted[replicas.candidates.service][:, None], alone)
    return least.astype(np.int64)


def _charged(inputs: Inputs, service: NDArray[np.intp], group: NDArray[np.intp]) -> NDArray[np.float64]:
    """1 where a start is charged (V, T)."""
    charged = np.ones((len(service), inputs.periods))
    sku, site = inputs.node_group_sku[group], inputs.node_group_site[group]
    for v, (i, k, s) in enumerate(zip(service.tolist(), sku.tolist(), site.tolist(), strict=True)):
        charged[v, 0] = not runs_today(inputs.scenario.services[i], inputs.skus[k].name, inputs.sites[s].name)
    return charged


def runs_today(service: Service, sku: str, site: str) -> bool:
    """Whether a service runs there before the first period, or may do so for all that is stated."""
    return (service.skus_today is None or sku in service.skus_today) and (
        service.sites_today is None or site in service.sites_today
    )


def _of_option(
    rate: Traced | None, rented: Rented, group: NDArray[np.intp], periods: int, name: str, unit: str
) -> Traced:
    """An hour of a node that is rented by the hour, of each option (V, T); nothing of nodes of your own."""
    hired = np.isin(group, rented.node_group)
    if rate is None or not hired.any():
        return chosen(name, np.zeros((len(group), periods)), "no rent by the hour", unit)
    at = np.searchsorted(rented.node_group, group).clip(max=len(rented.node_group) - 1)
    share = chosen("hired_ratio", np.where(hired, 1.0, 0.0)[:, None], "1 on nodes rented by the hour")
    return (rows(rate, at) * share).named(name)
