"""Coefficients into the tables of the program; options that no plan needs are left out and counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.candidates import Dropped, serving_candidates, training_candidates
from planner.coefficients.failures import down_variance_to_mean
from planner.coefficients.nodes import Nodes, node_columns
from planner.coefficients.serving import Replicas, replica_columns
from planner.coefficients.training import TrainingRuns, training_runs
from planner.coefficients.work import PoolWork, pool_work
from planner.dominance import undominated
from planner.inputs import Inputs
from reliability.spares import spare_steps
from solver.problem import (
    Cohorts,
    Jobs,
    Limits,
    Objective,
    Pools,
    Problem,
    RunOptions,
    ServeOptions,
    Services,
    SpareSteps,
    Work,
    WorkOptions,
)


@dataclass(frozen=True)
class Assembled:
    """The program, and which row of which coefficients each option is."""

    problem: Problem
    nodes: Nodes
    runs: TrainingRuns | None
    run_row: NDArray[np.intp]
    replicas: Replicas | None
    replica_row: NDArray[np.intp]
    work: PoolWork
    dropped: tuple[Dropped, ...]
    candidates: int
    dominated: int


def assemble(inputs: Inputs) -> Assembled:
    """The integer program of a scenario."""
    scenario = inputs.scenario
    nodes = node_columns(inputs)
    single, no_layout = training_candidates(inputs)
    serving, no_room = serving_candidates(inputs)
    runs = training_runs(inputs, nodes, single) if len(single) else None
    replicas = replica_columns(inputs, nodes, serving) if len(serving) else None
    work = pool_work(inputs)

    run_options, run_row, run_count = _run_options(inputs, runs)
    serve_options, replica_row, too_slow, serve_count = _serve_options(inputs, replicas)
    problem = Problem(
        periods=inputs.periods,
        site_names=tuple(site.name for site in scenario.sites),
        sku_names=tuple(sku.name for sku in inputs.skus),
        pools=_pools(inputs, nodes),
        cohorts=_cohorts(inputs, nodes),
        jobs=_jobs(inputs),
        run_options=run_options,
        services=Services(
            name=tuple(s.name for s in scenario.services),
            demand=np.array([s.peak_requests_per_s for s in scenario.services]).reshape(-1, inputs.periods),
        ),
        serve_options=serve_options,
        work=Work(
            name=tuple(pool.name for pool in scenario.pools),
            demand_h=work.demand_h.value if work.demand_h is not None else np.zeros((0, inputs.periods)),
        ),
        work_options=_work_options(inputs, work),
        spare_steps=_spare_steps(inputs, nodes, _most_used(inputs, run_options, serve_options)),
        limits=_limits(inputs),
        objective=objective(inputs),
    )
    kept = len(run_row) + len(replica_row)
    return Assembled(
        problem, nodes, runs, run_row, replicas, replica_row, work,
        dropped=(*no_layout, *no_room, *too_slow, *work.dropped),
        candidates=run_count + serve_count, dominated=run_count + serve_count - kept - len(too_slow),
    )  # fmt: skip


def objective(inputs: Inputs) -> Objective:
    """Weights of money and carbon that the policy asks for."""
    policy = inputs.scenario.policy
    match policy.objective:
        case "money":
            return Objective(1.0, 0.0)
        case "carbon":
            # A dollar weighs a hundredth of a gram: among plans of equal carbon the cheapest is taken.
            return Objective(1e-5, 1.0)
        case _:
            return Objective(1.0, float(policy.carbon_price_usd_per_kgco2e or 0.0))


def _pools(inputs: Inputs, nodes: Nodes) -> Pools:
    offers = {offer.sku: offer for offer in inputs.scenario.market}
    sites = [site.name for site in inputs.scenario.sites]
    names = [sku.name for sku in inputs.skus]
    shape = (len(inputs.pools), inputs.periods)
    allowed = np.zeros(shape, dtype=bool)
    unit = np.ones(shape[0], dtype=int)
    lead = np.zeros(shape[0], dtype=int)
    shortest = min(inputs.scenario.horizon.hours)
    for p, (k, s) in enumerate(inputs.pools):
        offer = offers.get(names[k])
        if offer is None:
            continue
        allowed[p] = not offer.sites or sites[s] in offer.sites
        unit[p] = offer.order_nodes
        lead[p] = math.ceil(offer.lead_time_h / shortest)

    def full(column: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.broadcast_to(column, shape)

    return Pools(
        sku=inputs.pool_sku,
        site=inputs.pool_site,
        order_unit_nodes=unit,
        lead_periods=lead,
        purchase_allowed=allowed,
        capex_usd_per_node=full(nodes.price_usd.value),
        holding_usd_per_node=full(nodes.owned_usd.value),
        holding_kgco2e_per_node=full(nodes.owned_kgco2e.value),
        idle_kw=nodes.idle_facility_kw.value[:, 0],
        idle_usd_per_node=full(nodes.idle_usd.value),
        idle_kgco2e_per_node=full(nodes.idle_kgco2e.value),
        racks_per_node=nodes.racks.value,
        hours=np.array(inputs.scenario.horizon.hours),
    )


def _cohorts(inputs: Inputs, nodes: Nodes) -> Cohorts:
    names = [sku.name for sku in inputs.skus]
    sites = [site.name for site in inputs.scenario.sites]
    fleet = inputs.scenario.fleet
    pool = np.array(
        [inputs.pools.index((names.index(c.sku), sites.index(c.site))) for c in fleet], dtype=np.intp
    )
    shape = (len(fleet), inputs.periods)
    return Cohorts(
        pool=pool, nodes=np.array([c.nodes for c in fleet], dtype=int),
        keep_usd_per_node=nodes.kept_usd.value[pool].reshape(shape),
        keep_kgco2e_per_node=nodes.kept_kgco2e.value[pool].reshape(shape),
        retire_usd_per_node=np.zeros(shape), must_retire_by=np.full(len(fleet), inputs.periods),
    )  # fmt: skip


def _jobs(inputs: Inputs) -> Jobs:
    jobs = inputs.scenario.training
    return Jobs(
        name=tuple(job.name for job in jobs),
        optional=np.array([job.may_be_left_out for job in jobs], dtype=bool),
        left_out_usd=np.array([float(job.left_out_penalty_usd or 0.0) for job in jobs]),
        left_out_kgco2e=np.zeros(len(jobs)),
    )


def _run_options(inputs: Inputs, runs: TrainingRuns | None) -> tuple[RunOptions, NDArray[np.intp], int]:
    """Runs that are worth offering: of those of one job, pool and start, the undominated ones."""
    if runs is None:
        return RunOptions.none(inputs.periods), np.zeros(0, dtype=np.intp), 0
    job, pool = runs.candidates.job[runs.candidate], runs.candidates.pool[runs.candidate]
    nodes = runs.candidates.nodes[runs.candidate][:, None] * runs.held
    late = runs.late_h.value[:, 0]
    columns = [
        nodes,
        runs.node_h.value,
        runs.increment_kw.value,
        runs.usd.value,
        runs.kgco2e.value,
        late[:, None],
    ]
    group = (job * len(inputs.pools) + pool) * inputs.periods + runs.start
    row = np.flatnonzero(undominated(group, np.hstack(columns)))
    options = RunOptions(
        job=job[row], pool=pool[row], start=runs.start[row], late_h=late[row], nodes=nodes[row],
        node_hours=runs.node_h.value[row], active_kw=runs.increment_kw.value[row], usd=runs.usd.value[row],
        kgco2e=runs.kgco2e.value[row],
    )  # fmt: skip
    return options, row, len(runs.candidate)


def _serve_options(
    inputs: Inputs, replicas: Replicas | None
) -> tuple[ServeOptions, NDArray[np.intp], list[Dropped], int]:
    """Replicas that meet their latency targets and that no other of their service and pool beats."""
    if replicas is None:
        return ServeOptions.none(inputs.periods), np.zeros(0, dtype=np.intp), [], 0
    each = replicas.candidates
    carried = np.asarray(replicas.requests_per_s.value)
    usable = carried > 0
    too_slow = [
        Dropped(
            f"{inputs.scenario.services[i].name}, split over {tp}",
            inputs.skus[k].name,
            "no load meets the latency targets",
        )
        for i, tp, k in sorted(
            {
                (int(each.service[v]), int(each.tp[v]), int(inputs.pool_sku[each.pool[v]]))
                for v in np.flatnonzero(~usable)
            }
        )
    ]
    per_request = np.maximum(carried, 1e-12)[:, None]
    standby = (1.0 + replicas.standby.value)[:, None]
    columns = [
        values * standby / per_request
        for values in (
            replicas.nodes.value[:, None],
            replicas.increment_kw.value[:, None],
            replicas.usd.value,
            replicas.kgco2e.value,
        )
    ]
    columns.append(replicas.nodes.value[:, None])
    group = each.service * len(inputs.pools) + each.pool
    row = np.flatnonzero(usable)
    row = row[undominated(group[row], np.hstack(columns)[row])]
    options = ServeOptions(
        service=each.service[row],
        pool=each.pool[row],
        capacity=carried[row],
        nodes=replicas.nodes.value[row],
        standby_fraction=replicas.standby.value[row],
        node_hours=replicas.node_h.value[row],
        active_kw=replicas.increment_kw.value[row],
        usd=replicas.usd.value[row],
        kgco2e=replicas.kgco2e.value[row],
    )
    return options, row, too_slow, len(each)


def _work_options(inputs: Inputs, work: PoolWork) -> WorkOptions:
    if work.speed is None or work.increment_kw is None or work.usd is None or work.kgco2e is None:
        return WorkOptions.none(inputs.periods)
    return WorkOptions(
        work=work.work, pool=work.pool, speed=work.speed.value, active_kw=work.increment_kw.value,
        usd_per_node_h=work.usd.value, kgco2e_per_node_h=work.kgco2e.value,
    )  # fmt: skip


def _spare_steps(inputs: Inputs, nodes: Nodes, most: NDArray[Any]) -> SpareSteps:
    """Spares of each pool over the nodes in use, from its failure rate, the time to repair, and bursts."""
    each = [
        spare_steps(
            failure_rate_per_node_h=float(rate),
            repair_h=float(inputs.repair().value),
            confidence_fraction=inputs.scenario.reliability.spare_confidence_fraction,
            highest_nodes=int(most[p]),
            variance_to_mean_ratio=down_variance_to_mean(inputs, int(most[p])).value,
        )
        for p, rate in enumerate(np.atleast_1d(nodes.failure_rate_per_node_h.value))
    ]
    return SpareSteps(
        pool=np.repeat(np.arange(len(each)), [one.spares.size for one in each]),
        spares=np.concatenate([one.spares for one in each]).astype(int),
        reach=np.concatenate([one.reach_nodes for one in each]),
    )


def _most_used(inputs: Inputs, runs: RunOptions, replicas: ServeOptions) -> NDArray[Any]:
    """Nodes that could be in use in a pool: what stands there, and supply within the racks.

    Never below the largest single option, so that a supply limit of zero can be told as what it is.
    """
    names = [sku.name for sku in inputs.skus]
    offers = {offer.sku: offer for offer in inputs.scenario.market}
    sites = inputs.scenario.sites
    most = np.ones(len(inputs.pools))
    for p, (k, s) in enumerate(inputs.pools):
        here = (names[k], sites[s].name)
        standing = sum(cohort.nodes for cohort in inputs.scenario.fleet if (cohort.sku, cohort.site) == here)
        units = inputs.server("rack_units")[k].value / inputs.fact("rack.usable_units").value
        room = math.floor(sites[s].racks / units)
        offer = offers.get(names[k])
        supply = 0 if offer is None else room if offer.supply_nodes is None else sum(offer.supply_nodes)
        most[p] = max(1, standing + min(supply, room))
    np.maximum.at(most, runs.pool, runs.nodes.max(axis=1, initial=0))
    np.maximum.at(most, replicas.pool, np.ceil(replicas.nodes))
    return most.astype(int)


def _limits(inputs: Inputs) -> Limits:
    scenario = inputs.scenario
    offers = {offer.sku: offer for offer in scenario.market}
    supply = np.zeros((len(inputs.skus), inputs.periods))
    for k, sku in enumerate(inputs.skus):
        offer = offers.get(sku.name)
        if offer is not None:
            supply[k] = np.inf if offer.supply_nodes is None else offer.supply_nodes
    return Limits(
        power_kw=np.array([site.power_cap_kw for site in scenario.sites]),
        racks=np.array([float(site.racks) for site in scenario.sites]),
        supply_nodes=supply,
        budget_usd=np.array(scenario.policy.budget_usd or [np.inf] * inputs.periods, dtype=float),
        carbon_cap_kgco2e=math.inf
        if scenario.policy.carbon_cap_kgco2e is None
        else scenario.policy.carbon_cap_kgco2e,
    )
