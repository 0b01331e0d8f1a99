"""Coefficients into the tables of the program; options that no plan needs are left out and counted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.clean_energy import Contracted, contract_columns
from planner.physics.curtailment import Curtailment, curtailment
from planner.physics.deployments import deployment_columns, start_columns
from planner.physics.existing_fleet import Standing, standing_columns
from planner.physics.experiments import PoolWork, pool_work
from planner.physics.joint_tails import with_joint_tails
from planner.physics.levers import Levers, levers
from planner.physics.nodes import Nodes, Parked, node_columns, parked_nodes
from planner.physics.pausable import PausableJobs, pausable_jobs
from planner.physics.places import Terms, site_terms
from planner.physics.procurement import (
    Buying,
    Rented,
    Reserved,
    buying_columns,
    not_housed,
    rented_hours,
    reserved_nodes,
)
from planner.physics.serving import Replicas, replica_columns, serving_candidates
from planner.physics.site_energy import SiteEnergy, site_energy
from planner.physics.slots import slot_times
from planner.physics.training import TrainingRuns, training_runs
from planner.physics.training_options import Dropped, training_candidates
from planner.physics.ways import every_way
from planner.program.fleet_tables import (
    cohort_table,
    job_table,
    limit_table,
    most_used,
    move_table,
    node_group_table,
    parking_columns,
    rental_columns,
    sale_table,
    spare_table,
    tier_table,
)
from planner.program.market_based import contract_table
from planner.program.option_tables import (
    adoption_table,
    by_pausing,
    pausable_options,
    run_option_table,
    serve_option_table,
    services_of,
    with_hourly_rent,
    with_rent,
    work_option_table,
)
from planner.program.placed_works import place_tables
from planner.program.places import place_table
from planner.program.slot_tables import energy_tables, slot_tables
from solver.frontier import CARBON, MONEY
from solver.problem import (
    Objective,
    Problem,
    Work,
)


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
    pausable: PausableJobs | None
    pausable_row: NDArray[np.intp]
    rented: Rented
    reserved: Reserved
    parked: Parked | None
    contracted: Contracted | None
    terms: Terms
    curtailment: Curtailment | None
    levers: Levers | None
    energy: SiteEnergy | None  # batteries and sun of sites
    tried: Inputs  # with each service once for each way to do it
    dropped: tuple[Dropped, ...]
    candidates: int
    dominated: int


def assemble(inputs: Inputs) -> Assembled:
    """The integer program of a scenario."""
    scenario = inputs.scenario
    nodes = node_columns(inputs)
    buying, standing = buying_columns(inputs, nodes), standing_columns(inputs, nodes)
    place_tables(inputs)
    single, no_layout = training_candidates(inputs)
    tried = every_way(inputs)
    serving, no_room = serving_candidates(tried)
    tried = with_joint_tails(tried, serving)
    in_one_piece, in_pieces = by_pausing(inputs, single)
    runs = training_runs(inputs, nodes, in_one_piece) if len(in_one_piece) else None
    pausable = pausable_jobs(inputs, nodes, in_pieces) if len(in_pieces) else None
    times = slot_times(tried)
    replicas = replica_columns(tried, nodes, serving, times) if len(serving) else None
    work = pool_work(inputs, nodes.failure_rate_per_node_h)
    rented, parked = rented_hours(inputs, nodes), parked_nodes(inputs)
    reserved = reserved_nodes(inputs, nodes)
    contracted, terms = contract_columns(inputs), site_terms(inputs)
    contracts = curtailment(inputs)
    starts = None if replicas is None else start_columns(tried, replicas, rented)
    deployments = None if replicas is None else deployment_columns(tried, replicas)
    by_slot = None if times is None else levers(tried, times, nodes, work, pausable, replicas, parked)

    energy = site_energy(inputs, times)

    run_options, run_row, run_count = run_option_table(inputs, runs)
    pausable_ways, pausable_row, pausable_count = pausable_options(inputs, nodes, pausable, contracts)
    serve_options, replica_row, too_slow, serve_count = serve_option_table(
        tried, replicas, starts, deployments
    )
    problem = Problem(
        periods=inputs.periods,
        site_names=tuple(site.name for site in inputs.sites),
        sku_names=tuple(sku.name for sku in inputs.skus),
        node_groups=replace(
            node_group_table(inputs, nodes, buying),
            **rental_columns(inputs, nodes, rented, reserved),
            **parking_columns(inputs, parked),
            space_kw=terms.rated_kw.value[:, 0],
        ),
        cohorts=cohort_table(standing, inputs.periods),
        moves=move_table(standing, inputs.periods),
        sales=sale_table(buying, inputs.periods),
        tiers=tier_table(buying, inputs.periods),
        contracts=contract_table(inputs, contracted),
        jobs=job_table(inputs),
        run_options=with_rent(run_options, rented),
        pausable_options=with_hourly_rent(pausable_ways, rented),
        services=services_of(inputs),
        serve_options=with_rent(serve_options, rented),
        work=Work(
            name=tuple(pool.name for pool in scenario.pools),
            demand_h=work.demand_h.value if work.demand_h is not None else np.zeros((0, inputs.periods)),
        ),
        work_options=with_hourly_rent(work_option_table(inputs, nodes, work, contracts), rented),
        adoptions=adoption_table(inputs, work),
        spare_steps=spare_table(
            inputs, nodes, most_used(inputs, nodes, standing, run_options, pausable_ways, serve_options)
        ),
        limits=limit_table(inputs),
        places=place_table(inputs, terms, contracts),
        objective=objective(inputs),
        **slot_tables(
            inputs,
            by_slot,
            egress=work.egress,
            pausable=pausable_ways,
            pausable_row=pausable_row,
            replica_row=replica_row,
        ),
        **energy_tables(inputs, energy, by_slot, replicas, replica_row),
    )
    kept, count = (
        len(run_row) + len(pausable_row) + len(replica_row),
        run_count + pausable_count + serve_count,
    )
    return Assembled(
        problem,
        nodes,
        buying,
        standing,
        runs,
        run_row,
        replicas,
        replica_row,
        work,
        pausable,
        pausable_row,
        rented,
        reserved,
        parked,
        contracted,
        terms,
        contracts,
        by_slot,
        energy,
        tried,
        dropped=(*not_housed(inputs), *no_layout, *dict.fromkeys(no_room), *too_slow, *work.dropped),
        candidates=count,
        dominated=count - kept - len(too_slow),
    )


def objective_unit(weights: Objective) -> str:
    """In what an objective counts: money wherever money weighs as such, else carbon."""
    return "USD" if weights.money_weight == 1.0 else "kgCO2e"


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
