"""Coefficients into the tables of the program; options that no plan needs are left out and counted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.candidates import Dropped, training_candidates
from planner.coefficients.buying import Buying, buying_columns
from planner.coefficients.contracts import Contracted, contract_columns, contract_table
from planner.coefficients.elastic import Elastic, elastic_jobs
from planner.coefficients.failures import down_variance_to_mean
from planner.coefficients.nodes import Nodes, node_columns
from planner.coefficients.parking import Parked, parked_nodes
from planner.coefficients.rental import Rented, rented_hours
from planner.coefficients.serving import Replicas, replica_columns
from planner.coefficients.standing import Standing, standing_columns
from planner.coefficients.training import TrainingRuns, training_runs
from planner.coefficients.work import PoolWork, pool_work
from planner.dominance import undominated
from planner.flexible import (
    by_pausing,
    elastic_options,
    parking_columns,
    rental_columns,
    services_of,
    with_hourly_rent,
    with_rent,
)
from planner.inputs import Inputs
from planner.owned import cohort_table, minimum_order_nodes, most_standing_nodes, move_table, tier_table
from planner.serving_candidates import serving_candidates
from reliability.spares import SpareSteps as Steps
from reliability.spares import spare_steps
from solver.frontier import CARBON, MONEY
from solver.problem import (
    ElasticOptions,
    Jobs,
    Limits,
    Objective,
    Pools,
    Problem,
    RunOptions,
    ServeOptions,
    SpareSteps,
    Work,
    WorkOptions,
)

ROUNDING = 1e-9  # of a product of a share and a count
COUNTED = 40  # replicas up to which standby is a count in a period; beyond, it is a share of them


@dataclass(frozen=True)
class Assembled:
    """The program, and which row of which coefficients each option is."""

    problem: Problem
    nodes: Nodes
    buying: Buying
    standing: Standing
    runs: TrainingRuns | None
    run_row: NDArray[np.intp]
    replicas: Replicas | None
    replica_row: NDArray[np.intp]
    work: PoolWork
    elastic: Elastic | None
    elastic_row: NDArray[np.intp]
    rented: Rented
    parked: Parked | None
    contracted: Contracted | None
    dropped: tuple[Dropped, ...]
    candidates: int
    dominated: int


def assemble(inputs: Inputs) -> Assembled:
    """The integer program of a scenario."""
    scenario = inputs.scenario
    nodes = node_columns(inputs)
    buying, standing = buying_columns(inputs, nodes), standing_columns(inputs, nodes)
    single, no_layout = training_candidates(inputs)
    serving, no_room = serving_candidates(inputs)
    in_one_piece, pausable = by_pausing(inputs, single)
    runs = training_runs(inputs, nodes, in_one_piece) if len(in_one_piece) else None
    elastic = elastic_jobs(inputs, nodes, pausable) if len(pausable) else None
    replicas = replica_columns(inputs, nodes, serving) if len(serving) else None
    work = pool_work(inputs)
    rented, parked = rented_hours(inputs, nodes), parked_nodes(inputs)
    contracted = contract_columns(inputs)

    run_options, run_row, run_count = _run_options(inputs, runs)
    elastic_ways, elastic_row, elastic_count = elastic_options(inputs, elastic)
    serve_options, replica_row, too_slow, serve_count = _serve_options(inputs, replicas)
    problem = Problem(
        periods=inputs.periods,
        site_names=tuple(site.name for site in inputs.sites),
        sku_names=tuple(sku.name for sku in inputs.skus),
        pools=replace(
            _pools(inputs, nodes, buying), **rental_columns(inputs), **parking_columns(inputs, parked)
        ),
        cohorts=cohort_table(standing, inputs.periods),
        moves=move_table(standing, inputs.periods),
        tiers=tier_table(buying, inputs.periods),
        contracts=contract_table(inputs, contracted),
        jobs=_jobs(inputs),
        run_options=with_rent(run_options, rented),
        elastic_options=with_hourly_rent(elastic_ways, rented),
        services=services_of(inputs),
        serve_options=with_rent(serve_options, rented),
        work=Work(
            name=tuple(pool.name for pool in scenario.pools),
            demand_h=work.demand_h.value if work.demand_h is not None else np.zeros((0, inputs.periods)),
        ),
        work_options=with_hourly_rent(_work_options(inputs, work), rented),
        spare_steps=_spare_steps(
            inputs, nodes, _most_used(inputs, standing, run_options, elastic_ways, serve_options)
        ),
        limits=_limits(inputs),
        objective=objective(inputs),
    )
    kept, count = len(run_row) + len(elastic_row) + len(replica_row), run_count + elastic_count + serve_count
    return Assembled(
        problem, nodes, buying, standing, runs, run_row, replicas, replica_row, work, elastic, elastic_row,
        rented, parked, contracted,
        dropped=(*no_layout, *no_room, *too_slow, *work.dropped),
        candidates=count, dominated=count - kept - len(too_slow),
    )  # fmt: skip


def objective(inputs: Inputs) -> Objective:
    """Weights of money and carbon that the policy asks for."""
    policy = inputs.scenario.policy
    match policy.objective:
        case "money" | "cash":
            return Objective(1.0, 0.0)
        case "lexicographic":  # what comes second; the first becomes a limit once its best is known
            return MONEY if policy.first == "carbon" else CARBON
        case "carbon":
            # A dollar weighs a hundredth of a gram: among plans of equal carbon the cheapest is taken.
            return Objective(1e-5, 1.0)
        case _:
            return Objective(1.0, float(policy.carbon_price_usd_per_kgco2e or 0.0))


def _pools(inputs: Inputs, nodes: Nodes, buying: Buying) -> Pools:
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
        if offer is None or inputs.rented[p]:
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
        holding_usd_per_node=full(buying.holding_usd.value),
        holding_kgco2e_per_node=full(nodes.owned_kgco2e.value),
        idle_kw=nodes.idle_facility_kw.value[:, 0],
        idle_usd_per_node=full(nodes.idle_usd.value),
        idle_kgco2e_per_node=full(nodes.idle_kgco2e.value),
        idle_kwh_per_node=full(nodes.idle_kwh.value),
        racks_per_node=nodes.racks.value,
        hours=np.array(inputs.scenario.horizon.hours),
        order_usd_per_node=full(np.zeros(1) if buying.order_usd is None else buying.order_usd.value),
        capital_usd_per_node=full(np.zeros(1) if buying.capital_usd is None else buying.capital_usd.value),
    )


def _jobs(inputs: Inputs) -> Jobs:
    jobs = inputs.scenario.training
    return Jobs(
        name=tuple(job.name for job in jobs),
        optional=np.array([job.may_be_left_out for job in jobs], dtype=bool),
        left_out_usd=np.array([float(job.left_out_penalty_usd or 0.0) for job in jobs]),
        left_out_kgco2e=np.zeros(len(jobs)),
        count=np.array([job.count for job in jobs], dtype=int),
        partial=np.array([job.partial for job in jobs], dtype=bool),
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
        kgco2e=runs.kgco2e.value[row], kwh=runs.facility_kwh.value[row],
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
    usable = (carried > 0).all(axis=1)
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
    demand = np.array([s.peak_requests_per_s for s in inputs.scenario.services])[each.service]
    carrying = np.asarray(replicas.carrying.value)
    # What one of the replicas takes of the demand that they share; without demand, what it could.
    capacity = np.divide(demand, carrying, out=carried.copy(), where=carrying > 0)
    per_request = np.maximum(capacity, 1e-12)
    many = np.ceil(carrying) > COUNTED
    share = np.where(many, replicas.standby_ratio.value, 0.0)
    standby = np.where(many, 0, replicas.standby.value).astype(int)
    columns = [
        values * (1.0 + replicas.standby_ratio.value) / per_request
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
        capacity=capacity[row],
        nodes=replicas.nodes.value[row],
        standby_fraction=share[row],
        node_hours=replicas.node_h.value[row],
        active_kw=replicas.increment_kw.value[row],
        usd=replicas.usd.value[row],
        kgco2e=replicas.kgco2e.value[row],
        kwh=replicas.facility_kwh.value[row],
        standby=standby[row],
    )
    return options, row, too_slow, len(each)


def _work_options(inputs: Inputs, work: PoolWork) -> WorkOptions:
    if work.speed is None or work.increment_kw is None or work.usd is None or work.kgco2e is None:
        return WorkOptions.none(inputs.periods)
    assert work.facility_kwh is not None, "it comes with the others"
    return WorkOptions(
        work=work.work, pool=work.pool, speed=work.speed.value, active_kw=work.increment_kw.value,
        usd_per_node_h=work.usd.value, kgco2e_per_node_h=work.kgco2e.value,
        kwh_per_node_h=work.facility_kwh.value,
    )  # fmt: skip


def _spare_steps(inputs: Inputs, nodes: Nodes, most: NDArray[Any]) -> SpareSteps:
    """Spares of each pool over the nodes in use: the share that is stated, else what its failures ask for.

    Rented nodes have none: the provider replaces what fails.
    """
    reliability = inputs.scenario.reliability
    if reliability.spare_share_fraction is not None:
        each = [_level_steps(reliability.spare_share_fraction, int(highest)) for highest in most]
    else:
        each = [
            spare_steps(
                failure_rate_per_node_h=float(rate),
                repair_h=float(inputs.repair().value),
                confidence_fraction=reliability.spare_confidence_fraction,
                highest_nodes=int(most[p]),
                variance_to_mean_ratio=down_variance_to_mean(inputs, int(most[p])).value,
            )
            for p, rate in enumerate(np.atleast_1d(nodes.failure_rate_per_node_h.value))
        ]
    pool = np.repeat(np.arange(len(each)), [one.spares.size for one in each])
    own = ~inputs.rented[pool]
    return SpareSteps(
        pool=pool[own],
        spares=np.concatenate([one.spares for one in each]).astype(int)[own],
        reach=np.concatenate([one.reach_nodes for one in each])[own],
    )


def _level_steps(spare_share_fraction: float, highest_nodes: int) -> Steps:
    """Whole spares at one share of the nodes in use, whatever fails.  s = ceil(f * N)"""
    nodes = np.arange(1.0, highest_nodes + 1)
    needed = np.ceil(spare_share_fraction * nodes - ROUNDING)
    last = np.flatnonzero(np.diff(needed, append=np.inf))
    return Steps(needed[last], nodes[last])


def _most_used(
    inputs: Inputs, stands: Standing, runs: RunOptions, elastic: ElasticOptions, replicas: ServeOptions
) -> NDArray[Any]:
    """Nodes that could be in use in a pool: what stands there, and supply within the racks.

    Never below the largest single option, so that a supply limit of zero can be told as what it is.
    """
    names = [sku.name for sku in inputs.skus]
    offers = {offer.sku: offer for offer in inputs.scenario.market}
    sites = inputs.scenario.sites
    most, standing = np.ones(len(inputs.pools)), most_standing_nodes(stands, len(inputs.pools))
    for p, (k, s) in enumerate(inputs.pools):
        if inputs.rented[p]:
            continue
        units = inputs.server("rack_units")[k].value / inputs.fact("rack.usable_units").value
        room = math.floor(sites[s].racks / units)
        offer = offers.get(names[k])
        supply = 0 if offer is None else room if offer.supply_nodes is None else sum(offer.supply_nodes)
        most[p] = max(1, standing[p] + min(supply, room))
    np.maximum.at(most, runs.pool, runs.nodes.max(axis=1, initial=0))
    np.maximum.at(most, elastic.pool, elastic.nodes)
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
        power_kw=np.array([site.power_cap_kw for site in inputs.sites]),
        racks=np.array([float(site.racks) for site in inputs.sites]),
        supply_nodes=supply,
        budget_usd=np.array(scenario.policy.budget_usd or [np.inf] * inputs.periods, dtype=float),
        carbon_cap_kgco2e=math.inf
        if scenario.policy.carbon_cap_kgco2e is None
        else scenario.policy.carbon_cap_kgco2e,
        money_cap_usd=math.inf if scenario.policy.money_cap_usd is None else scenario.policy.money_cap_usd,
        minimum_nodes=minimum_order_nodes(inputs),
        carbon_cap_by_period_kgco2e=np.array(
            scenario.policy.carbon_cap_by_period_kgco2e or [np.inf] * inputs.periods, dtype=float
        ),
    )
