"""What bends, as columns of the program: rented hours, parking, pausable jobs, demand that may go unmet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.candidates import TrainingCandidates
from planner.coefficients.elastic import Elastic
from planner.coefficients.parking import Parked
from planner.coefficients.rental import Rented
from planner.coefficients.unmet import unmet_items
from planner.dominance import undominated
from planner.inputs import Inputs
from solver.problem import ElasticOptions, RunOptions, ServeOptions, Services, WorkOptions

InFull = TypeVar("InFull", RunOptions, ServeOptions)
ByTheHour = TypeVar("ByTheHour", WorkOptions, ElasticOptions)


def by_pausing(
    inputs: Inputs, candidates: TrainingCandidates
) -> tuple[TrainingCandidates, TrainingCandidates]:
    """Candidates of the jobs that run in one piece, and of those that may pause."""
    pausable = np.array([job.pausable for job in inputs.scenario.training], dtype=bool)[candidates.job]
    return candidates.some(np.flatnonzero(~pausable)), candidates.some(np.flatnonzero(pausable))


def rental_columns(inputs: Inputs) -> dict[str, Any]:
    """Columns of the pools: how many nodes may be rented, off our sites."""
    limit = np.zeros((len(inputs.pools), inputs.periods))
    for p in np.flatnonzero(inputs.rented):
        rental = inputs.scenario.rental[inputs.pool_site[p] - len(inputs.scenario.sites)]
        limit[p] = np.inf if rental.nodes is None else rental.nodes
    return {"rental_limit_nodes": limit, "off_site": inputs.rented}


def parking_columns(inputs: Inputs, parked: Parked | None) -> dict[str, Any]:
    """Columns of the pools: what a node draws, costs and emits that is off; rented ones are given back."""
    if parked is None:
        return {}
    shape = (len(inputs.pools), inputs.periods)
    return {
        "may_park": ~inputs.rented,
        "off_kw": parked.facility_kw.value[:, 0],
        "off_usd_per_node": np.broadcast_to(parked.usd.value, shape),
        "off_kgco2e_per_node": np.broadcast_to(parked.kgco2e.value, shape),
        "off_kwh_per_node": np.broadcast_to(parked.kwh.value, shape),
    }


def elastic_options(inputs: Inputs, elastic: Elastic | None) -> tuple[ElasticOptions, NDArray[np.intp], int]:
    """Ways to run pausable jobs: of those of one job and pool that can be done in time, the undominated."""
    if elastic is None:
        return ElasticOptions.none(inputs.periods), np.zeros(0, dtype=np.intp), 0
    job, pool = elastic.candidates.job, elastic.candidates.pool
    total, limit = elastic.node_h.value, elastic.limit_node_h.value
    columns = [
        total[:, None],
        elastic.increment_kw.value[:, None] * total[:, None],
        elastic.usd.value * total[:, None],
        elastic.kgco2e.value * total[:, None],
        -limit / total[:, None],  # the faster, the more of it can wait for a better period
    ]
    row = np.flatnonzero((limit.sum(axis=1) >= total) | _may_be_cut(inputs)[job])
    row = row[undominated((job * len(inputs.pools) + pool)[row], np.hstack(columns)[row])]
    options = ElasticOptions(
        job=job[row], pool=pool[row], nodes=elastic.candidates.nodes[row], node_hours=total[row],
        node_hours_limit=limit[row], active_kw=elastic.increment_kw.value[row],
        usd_per_node_h=elastic.usd.value[row], kgco2e_per_node_h=elastic.kgco2e.value[row],
        kwh_per_node_h=elastic.facility_kwh.value[row],
        nodes_least=_fewest_nodes(elastic.candidates)[row],
    )  # fmt: skip
    return options, row, len(job)


def with_rent(options: InFull, rented: Rented) -> InFull:
    """Options with the rent of their active hours."""
    if not len(rented.pool) or not len(options):
        return options
    usd, kgco2e = _hourly(options, rented)
    return replace(
        options,
        usd=options.usd + usd * options.node_hours,
        kgco2e=options.kgco2e + kgco2e * options.node_hours,
    )


def with_hourly_rent(options: ByTheHour, rented: Rented) -> ByTheHour:
    """Options that are charged by the hour, with the rent of it."""
    if not len(rented.pool) or not len(options):
        return options
    usd, kgco2e = _hourly(options, rented)
    return replace(
        options,
        usd_per_node_h=options.usd_per_node_h + usd,
        kgco2e_per_node_h=options.kgco2e_per_node_h + kgco2e,
    )


def services_of(inputs: Inputs) -> Services:
    """Services with their peaks, and what a request/s that is not carried costs."""
    services = inputs.scenario.services
    peak = np.array([one.peak_requests_per_s for one in services]).reshape(-1, inputs.periods)
    price = np.full(peak.shape, np.inf)
    for i, items in unmet_items(inputs).items():
        price[i] = np.array([item.value for item in items]) / peak[i]
    return Services(name=tuple(one.name for one in services), demand=peak, unmet_usd=price)


def _hourly(options: Any, rented: Rented) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Money and carbon of an hour of a node of each option, by period; nothing for nodes of one's own."""
    assert rented.usd is not None, "some pools are rented"
    assert rented.kgco2e is not None, "some pools are rented"
    at = np.searchsorted(rented.pool, options.pool).clip(max=len(rented.pool) - 1)
    hired = (rented.pool[at] == options.pool)[:, None]
    return hired * rented.usd.value[at], hired * rented.kgco2e.value[at]


def _fewest_nodes(candidates: TrainingCandidates) -> NDArray[np.int64]:
    """The smallest number of nodes on which each candidate's job was found to fit in its pool."""
    group = np.stack([candidates.job, candidates.pool])
    places, back = np.unique(group, axis=1, return_inverse=True)
    fewest = np.full(places.shape[1], np.iinfo(np.int64).max)
    np.minimum.at(fewest, back, candidates.nodes)
    least: NDArray[np.int64] = fewest[back]
    return least


def _may_be_cut(inputs: Inputs) -> NDArray[np.bool_]:
    return np.array([job.partial for job in inputs.scenario.training], dtype=bool)
