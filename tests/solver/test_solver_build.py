"""Each kind of constraint, as the LP file shows it; the numbers are worked out beside the case."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable

import numpy as np
import pytest
from solver_cases import (
    changed,
    cohort,
    limits,
    node_groups,
    one_job,
    problem,
    promise_steps,
    run_option,
    service,
    steps,
    work,
)

from solver import build, constrain_fleet, constrain_limits, constrain_reuse, constrain_tasks
from solver.answer import answer
from solver.problem import (
    Adoptions,
    Cohorts,
    Contracts,
    Jobs,
    Moves,
    PausableOptions,
    Places,
    Problem,
    Sales,
    Services,
    Tiers,
    WorkOptions,
)
from solver.program import FAMILIES, Program
from solver.totals import objective
from solver.variables import empty


def everything() -> Problem:
    """One node group over two periods of 100 h, with a little of everything.

    A replica carries 10 requests/s, 8 with a quarter on standby, so that 25 need 3.125 replicas. Work of 50 h
    is half a node through 100 h, done at twice the speed. Above idling (2 kg in a period), a run of two nodes
    emits 16 - 4 = 12 kg, a replica 6 - 2 = 4, a working node 5 - 2 = 3; a bought node embodies 10 kg.
    """
    return problem(
        periods=2,
        jobs=one_job(),
        run_options=run_option([[2, 0], [0, 3]], late_h=[0, 5]),
        cohorts=cohort(nodes=3, periods=2, must_retire_by=[1]),
        **service([25.0, 60.0], standby_fraction=np.full((1, 2), 0.25)),
        **work([50.0, 80.0], speed=[2.0]),
        spare_steps=steps((0, 1, 1), (0, 2, 3), (0, 3, 12), (0, 4, 20)),
        limits=limits(
            periods=2,
            power_kw=[[50.0, np.inf]],
            racks=[12.0],
            supply_nodes=[[8.0, np.inf]],
            budget_usd=[3000.0, np.inf],
            carbon_cap_kgco2e=900.0,
            minimum_nodes=[4.0],
        ),
    )


def rows(
    constraint: Callable[[Program], None], relaxed: tuple[str, ...] = (), of: Problem | None = None
) -> str:
    program = empty(of or everything(), frozenset(relaxed))
    constraint(program)
    return "".join(row.asCplexLpConstraint(name) for name, row in program.model.constraints.items())


FIRM = {
    constrain_tasks.run_every_job_once: """
job_0: left_out_0 + run_0 + run_1 = 1
""",
    constrain_tasks.meet_demand: """
demand_0_0: replicas_0_0 >= 3.125
demand_0_1: replicas_0_1 >= 7.5
""",
    constrain_tasks.do_the_work: """
work_0_0: 2 work_0_0 >= 0.5
work_0_1: 2 work_0_1 >= 0.8
""",
    constrain_fleet.count_nodes_in_service: """
in_service_0_0: in_service_0_0 - order_0_0 + retire_0_0 = 3
in_service_0_1: - in_service_0_0 + in_service_0_1 - order_0_1 + retire_0_1 = 0
""",
    constrain_fleet.count_nodes_in_use: """
in_use_0_0: in_use_0_0 - replicas_0_0 - 2 run_0 = 0
in_use_0_1: in_use_0_1 - replicas_0_1 - 3 run_1 = 0
""",
    constrain_fleet.use_what_is_in_service: """
nodes_0_0: - in_service_0_0 + in_use_0_0 + spares_0_0 <= 0
nodes_0_1: - in_service_0_1 + in_use_0_1 + spares_0_1 <= 0
""",
    constrain_fleet.fit_into_the_hours: """
hours_0_0: - in_service_0_0 + replicas_0_0 + 2 run_0 + spares_0_0 + work_0_0
 <= 0
hours_0_1: - in_service_0_1 + replicas_0_1 + 3 run_1 + spares_0_1 + work_0_1
 <= 0
""",
    constrain_fleet.cover_with_spares: """
reach_0_0: in_use_0_0 - step_0_0_0 - 2 step_0_0_1 - 3 step_0_0_2 <= 0
in_turn_0_0_1: - step_0_0_0 + step_0_0_1 <= 0
in_turn_0_0_2: - step_0_0_1 + step_0_0_2 <= 0
spares_0_0: spares_0_0 - step_0_0_0 - step_0_0_1 - step_0_0_2 >= 0
reach_0_1: in_use_0_1 - step_0_1_0 - 2 step_0_1_1 - 5 step_0_1_2 <= 0
in_turn_0_1_1: - step_0_1_0 + step_0_1_1 <= 0
in_turn_0_1_2: - step_0_1_1 + step_0_1_2 <= 0
spares_0_1: spares_0_1 - step_0_1_0 - step_0_1_1 - step_0_1_2 >= 0
""",
    constrain_limits.stay_within_power: """
power_0_0: in_service_0_0 + replicas_0_0 + 4 run_0 + work_0_0 <= 50
""",
    constrain_limits.stay_within_space: """
space_0_0: in_service_0_0 <= 12
space_0_1: in_service_0_1 <= 12
""",
    constrain_limits.stay_within_supply: """
supply_0_0: order_0_0 <= 8
""",
    constrain_limits.order_enough_or_nothing: """
minimum_0: order_0_0 + order_0_1 - 4 some_0 >= 0
ordered_0_0: order_0_0 - 12 some_0 <= 0
ordered_0_1: order_0_1 - 12 some_0 <= 0
""",
    constrain_limits.stay_within_budget: """
budget_0: 0.4 order_0_0 <= 3
""",
    constrain_limits.stay_below_carbon_cap: """
carbon_cap: 0.002 in_service_0_0 + 0.002 in_service_0_1 + 0.02 order_0_0
 + 0.01 order_0_1 + 0.004 replicas_0_0 + 0.004 replicas_0_1 + 0.012 run_0
 + 0.018 run_1 + 0.003 work_0_0 + 0.003 work_0_1 <= 0.9
""",
    constrain_fleet.retire_once: """
retire_once_0: retire_0_0 + retire_0_1 <= 3
""",
    constrain_fleet.retire_at_end_of_life: """
end_of_life_0: retire_0_0 + retire_0_1 >= 3
""",
}

GIVING_WAY = {
    constrain_tasks.meet_demand: """
demand_0_0: 3.125 over_demand_0_0 + replicas_0_0 >= 3.125
demand_0_1: 7.5 over_demand_0_1 + replicas_0_1 >= 7.5
""",
    constrain_tasks.do_the_work: """
work_0_0: 0.5 over_work_0_0 + 2 work_0_0 >= 0.5
work_0_1: 0.8 over_work_0_1 + 2 work_0_1 >= 0.8
""",
    constrain_limits.stay_within_power: """
power_0_0: in_service_0_0 - 50 over_power_0_0 + replicas_0_0 + 4 run_0
 + work_0_0 <= 50
""",
    constrain_limits.stay_within_space: """
space_0_0: in_service_0_0 - 12 over_space_0 <= 12
space_0_1: in_service_0_1 - 12 over_space_0 <= 12
""",
    constrain_limits.stay_within_supply: """
supply_0_0: order_0_0 - 8 over_supply_0_0 <= 8
""",
    constrain_limits.stay_within_budget: """
budget_0: 0.4 order_0_0 - 3 over_budget_0 <= 3
""",
    constrain_limits.stay_below_carbon_cap: """
carbon_cap: 0.002 in_service_0_0 + 0.002 in_service_0_1 + 0.02 order_0_0
 + 0.01 order_0_1 - 0.9 over_carbon_cap + 0.004 replicas_0_0
 + 0.004 replicas_0_1 + 0.012 run_0 + 0.018 run_1 + 0.003 work_0_0
 + 0.003 work_0_1 <= 0.9
""",
    constrain_fleet.retire_at_end_of_life: """
end_of_life_0: 3 over_end_of_life_0 + retire_0_0 + retire_0_1 >= 3
""",
    constrain_limits.order_enough_or_nothing: """
minimum_0: order_0_0 + order_0_1 + 4 over_minimum_order_0 - 4 some_0 >= 0
ordered_0_0: order_0_0 - 12 some_0 <= 0
ordered_0_1: order_0_1 - 12 some_0 <= 0
""",
    constrain_tasks.keep_deadlines: """
deadline_0: - 100 over_deadlines_0 + 5 run_1 <= 0
""",
}


def every_decision() -> Problem:
    """Two sites of one SKU over two periods of 100 h, with what `everything` leaves out.

    A move that takes a period, 3 of 4 nodes available in period 1, orders of 4 nodes at most at either
    site: 6 earn a quarter off the price of 400 USD. The pausable job works 150 node-hours on two nodes, one
    of them in period 1; another like it may be done in part. Unmet demand has a price in period 1. Parking
    saves 0.75 kW.
    """
    flat = np.ones((2, 2))
    return problem(
        periods=2,
        count=2,
        site_names=("oregon", "finland"),
        sku_names=("h100",),
        node_groups=node_groups(
            periods=2,
            count=2,
            sku=[0, 0],
            site=[0, 1],
            rental_limit_nodes=[[0, 2], [0, 0]],
            rental_usd_per_node=30 * flat,
            may_park=[True, False],
            off_kw=[0.25, 0.25],
            order_usd_per_node=8 * flat,
            idle_kwh_per_node=100 * flat,
            off_kwh_per_node=25 * flat,
        ),
        cohorts=Cohorts(
            node_group=[0, 1],
            nodes=[4, 0],
            keep_usd_per_node=10 * flat,
            keep_kgco2e_per_node=0 * flat,
            retire_usd_per_node=0 * flat,
            must_retire_by=[2, 1],
            available_fraction=[[1, 0.75], [1, 1]],
        ),
        moves=Moves(
            from_cohort=[0],
            to_cohort=[1],
            lead_periods=[1],
            usd_per_node=5 * flat[:1],
            kgco2e_per_node=flat[:1],
        ),
        tiers=Tiers(sku=[0], from_nodes=[6], rebate_fraction=[0.25]),
        jobs=Jobs(
            name=("train", "tune"),
            optional=[False, True],
            left_out_usd=[0, 50],
            left_out_kgco2e=[0, 0],
            count=[2, 1],
            partial=[False, True],
        ),
        pausable_options=PausableOptions(
            job=[0, 1],
            node_group=[0, 0],
            nodes=[2, 2],
            node_hours=[150, 150],
            node_hours_limit=[[200, 100], [200, 100]],
            active_kw=[2, 2],
            usd_per_node_h=flat,
            kgco2e_per_node_h=flat,
            kwh_per_node_h=3 * flat,
        ),
        **service([25.0, 60.0], whole=[False])
        | {"services": Services(name=("chat",), demand=[[25.0, 60.0]], unmet_usd=[[np.inf, 7.0]])},
        contracts=Contracts(
            site=[0],
            usd_per_kwh=0.01 * flat[:1],
            kgco2e_per_kwh=0.4 * flat[:1],
            limit_kwh=5000 * flat[:1],
            fixed_share=[True],
        ),
        limits=limits(
            periods=2,
            sites=2,
            supply_nodes=[[4.0, 4.0]],
            power_kw=[[50.0, np.inf], [np.inf, np.inf]],
            budget_usd=[3000.0, np.inf],
            carbon_cap_by_period_kgco2e=[np.inf, 700.0],
            money_cap_usd=4000.0,
        ),
    )


def with_sales() -> Problem:
    """The same without rebates, but what is ordered at first may be sold again in period 1."""
    sales = Sales(node_group=[0], ordered=[0], usd_per_node=[[0, -30]], may_sell=[[False, True]])
    return dataclasses.replace(every_decision(), tiers=Tiers.none(2), sales=sales)


def with_counts() -> Problem:
    """The same, but the first pausable job needs 2 nodes at once, and in period 1 one replica stands by.

    What it is promised asks for a spare for up to 2 nodes, for 2 for more; the replica on standby is one.
    """
    more = changed(every_decision(), "pausable_options", nodes_least=[2, 0])
    more = changed(more, "serve_options", standby=[[0, 1]], covers=[[0, 1]], promise=[1])
    return dataclasses.replace(more, spare_steps=promise_steps((1, 0, 1, 2), (1, 0, 2, 9)))


OTHERS = {
    constrain_tasks.run_every_job_once: """
job_0: choose_0 + left_out_0 = 2
job_1: completed_1 + left_out_1 = 1
""",
    constrain_tasks.do_pausable_jobs: """
pausable_0: - choose_0 + 0.666666666667 done_0_0 + 0.666666666667 done_0_1 = 0
pausable_1: - completed_1 + 0.666666666667 done_1_0 + 0.666666666667 done_1_1
 = 0
pace_0_1: - choose_0 + done_0_1 <= 0
""",
    constrain_tasks.choose_before_doing_a_part: """
part_1: - choose_1 + completed_1 <= 0
chosen_1: choose_1 <= 1
""",
    constrain_tasks.meet_demand: """
demand_0_0: replicas_0_0 >= 2.5
demand_0_1: replicas_0_1 + 6 shed_0_1 >= 6
""",
    constrain_fleet.count_nodes_in_service: """
in_service_0_0: in_service_0_0 + move_0_0 - order_0_0 + retire_0_0 = 4
in_service_0_1: - in_service_0_0 + in_service_0_1 + move_0_1 - order_0_1
 + retire_0_1 = 0
in_service_1_0: in_service_1_0 - order_1_0 + retire_1_0 = 0
in_service_1_1: - in_service_1_0 + in_service_1_1 - move_0_0 - order_1_1
 + retire_1_1 = 0
""",
    constrain_fleet.count_nodes_in_use: """
in_use_0_0: - done_0_0 - done_1_0 + in_use_0_0 - replicas_0_0 = 0
in_use_0_1: - done_0_1 - done_1_1 + in_use_0_1 - replicas_0_1 = 0
in_use_1_0: in_use_1_0 = 0
in_use_1_1: in_use_1_1 = 0
""",
    constrain_fleet.use_what_is_in_service: """
nodes_0_0: - in_service_0_0 + in_use_0_0 + parked_0_0 + spares_0_0 <= 0
nodes_0_1: - in_service_0_1 + in_use_0_1 + parked_0_1 - rented_0_1
 + spares_0_1 + 0.25 standing_0_1 <= 0
nodes_1_0: - in_service_1_0 + in_use_1_0 + spares_1_0 <= 0
nodes_1_1: - in_service_1_1 + in_use_1_1 + spares_1_1 <= 0
""",
    constrain_fleet.fit_into_the_hours: """
hours_0_0: done_0_0 + done_1_0 - in_service_0_0 + parked_0_0 + replicas_0_0
 + spares_0_0 <= 0
hours_0_1: done_0_1 + done_1_1 - in_service_0_1 + parked_0_1 - rented_0_1
 + replicas_0_1 + spares_0_1 + 0.25 standing_0_1 <= 0
hours_1_0: - in_service_1_0 + spares_1_0 <= 0
hours_1_1: - in_service_1_1 + spares_1_1 <= 0
""",
    constrain_fleet.park_what_is_in_service: """
parked_0_1: - in_service_0_1 + parked_0_1 <= 0
""",
    constrain_limits.stay_within_power: """
power_0_0: 2 done_0_0 + 2 done_1_0 + in_service_0_0 - 0.75 parked_0_0
 + replicas_0_0 <= 50
""",
    constrain_limits.match_clean_energy: """
clean_0_0: - 2 done_0_0 - 2 done_1_0 - in_service_0_0 + matched_0_0
 + 0.75 parked_0_0 + replicas_0_0 <= 0
clean_0_1: - 2 done_0_1 - 2 done_1_1 - in_service_0_1 + matched_0_1
 + 0.75 parked_0_1 - rented_0_1 + replicas_0_1 <= 0
""",
    constrain_limits.keep_contracts_level: """
level_0_1: - matched_0_0 + matched_0_1 = 0
""",
    constrain_limits.stay_below_carbon_cap_by_period: """
carbon_cap_by_period_1: 0.098 done_0_1 + 0.098 done_1_1 + 0.002 in_service_0_1
 + 0.002 in_service_1_1 - 0.04 matched_0_1 + 0.001 move_0_1 + 0.01 order_0_0
 + 0.01 order_0_1 + 0.01 order_1_0 + 0.01 order_1_1 - 0.002 parked_0_1
 + 0.002 rented_0_1 + 0.004 replicas_0_1 <= 0.7
""",
    constrain_limits.stay_below_money_cap: """
money_cap: 0.095 done_0_0 + 0.095 done_0_1 + 0.095 done_1_0 + 0.095 done_1_1
 + 0.005 in_service_0_0 + 0.005 in_service_0_1 + 0.005 in_service_1_0
 + 0.005 in_service_1_1 + 0.05 left_out_1 + 0.001 matched_0_0
 + 0.001 matched_0_1 - 0.005 move_0_0 - 0.005 move_0_1 + 0.208 order_0_0
 + 0.108 order_0_1 + 0.208 order_1_0 + 0.108 order_1_1 - 0.005 parked_0_0
 - 0.005 parked_0_1 - 0.002 rebated_0_0_0 - 0.002 rebated_0_0_1
 - 0.002 rebated_0_1_0 - 0.002 rebated_0_1_1 + 0.035 rented_0_1
 + 0.01 replicas_0_0 + 0.01 replicas_0_1 - 0.02 retire_0_0 - 0.01 retire_0_1
 - 0.02 retire_1_0 - 0.01 retire_1_1 + 0.42 shed_0_1 <= 3.92
""",
    constrain_limits.reach_tiers: """
tier_0: rebated_0_0_0 + rebated_0_0_1 + rebated_0_1_0 + rebated_0_1_1
 - 6 tier_0 >= 0
one_tier_0: tier_0 <= 1
rebated_0_0: - order_0_0 + rebated_0_0_0 <= 0
rebated_0_1: - order_0_1 + rebated_0_0_1 <= 0
rebated_1_0: - order_1_0 + rebated_0_1_0 <= 0
rebated_1_1: - order_1_1 + rebated_0_1_1 <= 0
rebate_0_0_0: rebated_0_0_0 - 4 tier_0 <= 0
rebate_0_0_1: rebated_0_0_1 - 4 tier_0 <= 0
rebate_0_1_0: rebated_0_1_0 - 4 tier_0 <= 0
rebate_0_1_1: rebated_0_1_1 - 4 tier_0 <= 0
""",
    constrain_limits.stay_within_budget: """
budget_0: 0.4 order_0_0 + 0.4 order_1_0 - 0.1 rebated_0_0_0
 - 0.1 rebated_0_1_0 <= 3
""",
    constrain_fleet.count_standing_nodes: """
standing_0_0: move_0_0 + retire_0_0 + standing_0_0 = 4
standing_0_1: move_0_1 + retire_0_1 - standing_0_0 + standing_0_1 = 0
standing_1_0: retire_1_0 + standing_1_0 = 0
standing_1_1: - move_0_0 + retire_1_1 - standing_1_0 + standing_1_1 = 0
""",
    constrain_fleet.retire_at_end_of_life: """
end_of_life_1: standing_1_1 <= 0
""",
}


# Two identical jobs of 2 nodes in period 0 and 1 in period 1; 6 replicas carry, and one stands by.
SALES = {
    constrain_fleet.sell_once: """
sell_once_0: - order_0_0 + sell_0_0 + sell_0_1 <= 0
""",
    constrain_fleet.count_nodes_in_service: """
in_service_0_0: in_service_0_0 + move_0_0 - order_0_0 + retire_0_0 + sell_0_0
 = 4
in_service_0_1: - in_service_0_0 + in_service_0_1 + move_0_1 - order_0_1
 + retire_0_1 + sell_0_1 = 0
in_service_1_0: in_service_1_0 - order_1_0 + retire_1_0 = 0
in_service_1_1: - in_service_1_0 + in_service_1_1 - move_0_0 - order_1_1
 + retire_1_1 = 0
""",
}

COUNTS = {
    constrain_fleet.work_on_enough_nodes: """
free_0_0: - done_0_0 - done_1_0 + free_0_0 - in_service_0_0 + in_use_0_0
 + parked_0_0 + spares_0_0 <= 0
free_0_1: - done_0_1 - done_1_1 + free_0_1 - in_service_0_1 + in_use_0_1
 + parked_0_1 - rented_0_1 + spares_0_1 + 0.25 standing_0_1 <= 0
works_0_0: done_0_0 - 4 works_0_0 <= 0
works_0_1: done_0_1 - 2 works_0_1 <= 0
nodes_least_0_0: - free_0_0 + 2 works_0_0 <= 0
nodes_least_0_1: - free_0_1 + 2 works_0_1 <= 0
""",
    constrain_tasks.meet_demand: """
serves_0_1: replicas_0_1 - 7 serves_0_1 <= 0
demand_0_0: replicas_0_0 >= 2.5
demand_0_1: replicas_0_1 - serves_0_1 + 6 shed_0_1 >= 6
""",
    constrain_fleet.keep_promises: """
promise_reach_1_0_0: - 2 promise_step_1_0_0_0 - promise_step_1_0_0_1
 + replicas_0_0 <= 0
promise_in_turn_1_0_0_1: - promise_step_1_0_0_0 + promise_step_1_0_0_1 <= 0
promise_spares_1_0_0: - promise_step_1_0_0_0 - promise_step_1_0_0_1
 + spares_0_0 >= 0
promise_reach_1_0_1: - 2 promise_step_1_0_1_0 - 5 promise_step_1_0_1_1
 + replicas_0_1 - serves_0_1 <= 0
promise_in_turn_1_0_1_1: - promise_step_1_0_1_0 + promise_step_1_0_1_1 <= 0
promise_spares_1_0_1: - promise_step_1_0_1_0 - promise_step_1_0_1_1
 + serves_0_1 + spares_0_1 >= 0
stands_by_0_1: - replicas_0_1 + serves_0_1 <= 0
""",
}


def with_starts() -> Problem:
    """Three periods; a start costs 6 USD in the second, 2 kg in the third; in two, two replicas or none."""
    return problem(
        periods=3,
        node_groups=node_groups(periods=3),
        **service([25.0, 60.0, 5.0], least=[[2, 2, 1]], start_usd=[[0, 6, 0]], start_kgco2e=[[0, 0, 2]]),
    )


STARTS = {
    constrain_tasks.start_what_did_not_run: """
starts_0_1: - replicas_0_0 + replicas_0_1 - started_0_1 <= 0
starts_0_2: - replicas_0_1 + replicas_0_2 - started_0_2 <= 0
""",
    constrain_tasks.meet_demand: """
serves_0_0: replicas_0_0 - 3 serves_0_0 <= 0
serves_0_1: replicas_0_1 - 6 serves_0_1 <= 0
least_0_0: - replicas_0_0 + 2 serves_0_0 <= 0
least_0_1: - replicas_0_1 + 2 serves_0_1 <= 0
demand_0_0: replicas_0_0 >= 2.5
demand_0_1: replicas_0_1 >= 6
demand_0_2: replicas_0_2 >= 0.5
""",
}


@pytest.mark.parametrize("on", [True, False])
def test_garbage_is_collected_again_where_it_was(on: bool) -> None:
    """Writing a program down leaves the collector as it was, also where it fails."""
    before = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        build.build(problem())
        assert gc.isenabled() is on
        with pytest.raises(ValueError, match="relaxed names"):
            build.build(problem(), relaxed=["no family"])
        assert gc.isenabled() is on
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("constraint", STARTS, ids=lambda constraint: constraint.__name__)
def test_rows_of_starts(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint, of=with_starts()) == STARTS[constraint].lstrip("\n")
    assert "start" not in rows(constraint, of=every_decision())


def with_followers() -> Problem:
    """Two jobs in one period: of one on three nodes, 40 h from its start on; of one on two, from 50 h on."""
    jobs = Jobs(
        name=("first", "second"),
        optional=[False, False],
        left_out_usd=[0.0, 0.0],
        left_out_kgco2e=[0.0, 0.0],
    )
    runs = run_option(
        [[3], [2], [2]], job=[0, 1, 1], from_h=[[0.0], [50.0], [0.0]], to_h=[[40.0], [np.inf], [45.0]]
    )
    return problem(jobs=jobs, run_options=runs, **service([25.0]))


def test_rows_of_runs_that_follow_one_another() -> None:
    """At the start the first or the third may hold nodes, at 50 h the second; replicas at all times."""
    assert rows(constrain_fleet.count_nodes_in_use, of=with_followers()) == (
        "in_use_at_0_0_0: in_use_0_0 - replicas_0_0 - 3 run_0 - 2 run_2 >= 0\n"
        "in_use_at_0_0_1: in_use_0_0 - replicas_0_0 - 2 run_1 >= 0\n"
    )


def with_deployments() -> Problem:
    """Three periods; keeping a deployment costs 3 USD in each, setting it up 5 from the second on."""
    return problem(
        periods=3,
        node_groups=node_groups(periods=3),
        **service([25.0, 60.0, 5.0], deployed_usd=[[3, 3, 3]], begun_usd=[[0, 5, 5]]),
    )


DEPLOYMENTS = {
    constrain_tasks.set_up_what_did_not_serve: """
set_up_0_1: - begun_0_1 - serves_0_0 + serves_0_1 <= 0
set_up_0_2: - begun_0_2 - serves_0_1 + serves_0_2 <= 0
""",
    constrain_tasks.meet_demand: """
serves_0_0: replicas_0_0 - 3 serves_0_0 <= 0
serves_0_1: replicas_0_1 - 6 serves_0_1 <= 0
serves_0_2: replicas_0_2 - serves_0_2 <= 0
least_0_0: - replicas_0_0 + serves_0_0 <= 0
least_0_1: - replicas_0_1 + serves_0_1 <= 0
least_0_2: - replicas_0_2 + serves_0_2 <= 0
demand_0_0: replicas_0_0 >= 2.5
demand_0_1: replicas_0_1 >= 6
demand_0_2: replicas_0_2 >= 0.5
""",
}


@pytest.mark.parametrize("constraint", DEPLOYMENTS, ids=lambda constraint: constraint.__name__)
def test_rows_of_deployments(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint, of=with_deployments()) == DEPLOYMENTS[constraint].lstrip("\n")
    assert "set_up" not in rows(constraint, of=every_decision())


def test_a_deployment_begins_again_after_a_break_without_demand() -> None:
    """Two starts of 5 USD: what is kept for 3 USD through a period of no replica would be one alone."""
    broken = problem(
        periods=3,
        node_groups=node_groups(periods=3),
        cohorts=cohort(nodes=4, periods=3),
        **service([25.0, 0.0, 25.0], deployed_usd=[[3, 3, 3]], begun_usd=[[5, 5, 5]]),
    )
    found = answer(broken, gap_fraction=0.0, time_limit_s=10.0)
    assert found.solution is not None
    assert found.solution.replicas.tolist() == [[3, 0, 3]]
    assert found.solution.usd_terms.deploy.sum() == 2 * 5 + 2 * 3
    assert found.bound == pytest.approx(found.objective, rel=1e-6)


def with_adoptions() -> Problem:
    """Work as it is, with one technique from the middle of period 1 on, and with that and another one."""
    base = problem(periods=3, node_groups=node_groups(periods=3), **work([50.0, 100.0, 200.0]))
    options = WorkOptions(
        work=[0] * 3,
        node_group=[0] * 3,
        speed=[1.0, 2.0, 4.0],
        active_kw=[1.0] * 3,
        usd_per_node_h=np.full((3, 3), 0.1),
        kgco2e_per_node_h=np.zeros((3, 3)),
        uses=[[0, 0], [1, 0], [1, 1]],
    )
    adoptions = Adoptions(
        name=("notebooks one", "notebooks other"),
        work=[0, 0],
        usable_fraction=[[0, 0.5, 1], [0, 1, 1]],
        usd=[[0, 7, 0], [0, 8, 0]],
    )
    return dataclasses.replace(base, work_options=options, adoptions=adoptions)


ADOPTIONS = {
    constrain_tasks.adopt_before_use: """
adopted_0_1: - 0.5 adopt_0 + 2 work_1_1 + 4 work_2_1 <= 0
adopted_0_2: - 2 adopt_0 + 2 work_1_2 + 4 work_2_2 <= 0
adopted_1_1: - adopt_1 + 4 work_2_1 <= 0
adopted_1_2: - 2 adopt_1 + 4 work_2_2 <= 0
""",
}


@pytest.mark.parametrize("constraint", ADOPTIONS, ids=lambda constraint: constraint.__name__)
def test_rows_of_adoptions(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint, of=with_adoptions()) == ADOPTIONS[constraint].lstrip("\n")
    assert "adopt" not in rows(constraint, of=every_decision())


def with_curtailment() -> Problem:
    """Work of 100 h, half of which may stop; 0.2 kW of it when the site calls, for a tenth of the hours."""
    base = problem(**work([100.0], stops_fraction=[0.5], active_kw=[2.0]))
    places = dataclasses.replace(
        base.places,
        curtailed_kw=np.array([0.2]),
        curtailed_fraction=np.array([0.2]),
        curtailed_usd=np.array([[9.0]]),
    )
    return dataclasses.replace(base, places=places)


CURTAILMENT = {
    constrain_tasks.do_the_work: """
work_0_0: - lost_0_0 + work_0_0 >= 1
""",
    constrain_tasks.lose_what_is_curtailed: """
lost_0_0: - lost_0_0 + 0.111111111111 sign_0 + 0.1 work_0_0 <= 0.111111111111
lost_of_work_0_0: lost_0_0 - 0.1 work_0_0 <= 0
lost_signed_0_0: lost_0_0 - 0.111111111111 sign_0 <= 0
""",
    constrain_tasks.stop_when_curtailed: """
curtailed_0_0: - 0.2 sign_0 + work_0_0 >= 0
""",
}


@pytest.mark.parametrize("constraint", CURTAILMENT, ids=lambda constraint: constraint.__name__)
def test_rows_of_curtailment(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint, of=with_curtailment()) == CURTAILMENT[constraint].lstrip("\n")
    assert "sign" not in rows(constraint, of=every_decision())


def with_second_life() -> Problem:
    """Three nodes that stand, of which a lower tier takes two."""
    flat = np.ones((1, 2))
    old = cohort(
        nodes=3, periods=2, reuse_limit=[2], reuse_usd_per_node=-4 * flat, reuse_kgco2e_per_node=-9 * flat
    )
    return problem(periods=2, node_groups=node_groups(periods=2), cohorts=old)


REUSE = {
    constrain_reuse.reuse_what_is_retired: """
reuse_0_0: - retire_0_0 + reuse_0_0 <= 0
reuse_0_1: - retire_0_1 + reuse_0_1 <= 0
reuse_limit_0: reuse_0_0 + reuse_0_1 <= 2
""",
}


@pytest.mark.parametrize("constraint", REUSE, ids=lambda constraint: constraint.__name__)
def test_rows_of_a_second_life(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint, of=with_second_life()) == REUSE[constraint].lstrip("\n")
    assert not rows(constraint, of=every_decision())


@pytest.mark.parametrize("constraint", OTHERS, ids=lambda constraint: constraint.__name__)
def test_rows_of_other_decisions(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint, of=every_decision()) == OTHERS[constraint].lstrip("\n")


@pytest.mark.parametrize("constraint", SALES, ids=lambda constraint: constraint.__name__)
def test_rows_of_sales(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint, of=with_sales()) == SALES[constraint].lstrip("\n")
    assert "sell" not in rows(constraint, of=every_decision())


@pytest.mark.parametrize("constraint", COUNTS, ids=lambda constraint: constraint.__name__)
def test_rows_of_least_nodes_and_standby(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint, of=with_counts()) == COUNTS[constraint].lstrip("\n")
    assert "works" not in rows(constraint, of=every_decision())
    assert "serves" not in rows(constraint, of=every_decision())


@pytest.mark.parametrize("constraint", FIRM, ids=lambda constraint: constraint.__name__)
def test_rows_of_a_constraint(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint) == FIRM[constraint].lstrip("\n")


@pytest.mark.parametrize("constraint", GIVING_WAY, ids=lambda constraint: constraint.__name__)
def test_rows_that_give_way(constraint: Callable[[Program], None]) -> None:
    """One unit of a slack is one limit's worth: 50 kW, 12 racks, 3 kUSD, 0.9 t, the mean period of 100 h."""
    family = {"order_enough_or_nothing": ("minimum order",), "keep_deadlines": ("deadlines",)}

    assert rows(constraint, family.get(constraint.__name__, FAMILIES)) == GIVING_WAY[constraint].lstrip("\n")


def with_places() -> Problem:
    """Two sites with a node group each: 3 kW of space are committed at the first, where a node is rated 2 kW.

    Both share 50 kW. A kilowatt of space is 7 USD, one of the peak 4.
    """
    flat = np.ones((2, 2))
    return problem(
        periods=2,
        count=2,
        site_names=("oregon", "finland"),
        node_groups=node_groups(periods=2, count=2, site=[0, 1], space_kw=[2, 2]),
        **service([25.0, 60.0]),
        limits=limits(
            periods=2,
            sites=2,
            skus=2,
            shared_power_kw=[[50.0, np.inf]],
            shared_power_sites=[[True, True]],
            shared_power_name=("campus",),
        ),
        places=Places(space_usd_per_kw=7 * flat, committed_kw=[[3, 0], [0, 0]], peak_usd_per_kw=4 * flat),  # type: ignore[arg-type]
    )


def with_parts(nodes: float = 0.25) -> Problem:
    """A group by the hour on which replicas take parts of nodes, and work may fill the rest."""
    flat = np.ones((1, 2))
    groups = node_groups(periods=2, rental_limit_nodes=9 * flat, unfilled_usd_per_node=40 * flat)
    apart = [[2, 0]] if nodes < 1 else [[0, 0]]
    served = service([25.0, 5.0], nodes=[nodes], apart=apart)
    return problem(periods=2, node_groups=groups, **served, **work([50.0, 0.0]))


PARTS = {
    constrain_fleet.pay_for_whole_nodes: """
whole_0_0: 0.25 replicas_0_0 - whole_0_0 <= 0
whole_0_1: 0.25 replicas_0_1 - whole_0_1 <= 0
unfilled_0_0: - 0.25 replicas_0_0 - unfilled_0_0 + whole_0_0 - work_0_0 <= 0
unfilled_0_1: - 0.25 replicas_0_1 - unfilled_0_1 + whole_0_1 - work_0_1 <= 0
""",
    constrain_fleet.lie_apart: """
apart_0_0: - rented_0_0 + 2 serves_0_0 <= 0
apart_whole_0_0: 2 serves_0_0 - whole_0_0 <= 0
""",
}


@pytest.mark.parametrize("constraint", PARTS, ids=lambda constraint: constraint.__name__)
def test_rows_of_whole_nodes_by_the_hour(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint, of=with_parts()) == PARTS[constraint].lstrip("\n")
    assert rows(constraint, of=with_parts(nodes=2.0)) == rows(constraint) == ""


def with_terms() -> Problem:
    """Three periods; nodes of the first group are rented for two of them, those of the second for one."""
    flat = np.ones((2, 3))
    groups = node_groups(
        periods=3,
        count=2,
        rental_limit_nodes=9 * flat,
        rental_usd_per_node=30 * flat,
        rental_term_periods=[2, 0],
        rental_start_allowed=[[True, True, False], [True, True, True]],
    )
    return problem(periods=3, count=2, node_groups=groups, **service([25.0, 60.0, 5.0]))


TERMS = {
    constrain_fleet.rent_for_the_term: """
term_0_0: - commit_0_0 + rented_0_0 = 0
term_0_1: - commit_0_0 - commit_0_1 + rented_0_1 = 0
term_0_2: - commit_0_1 - commit_0_2 + rented_0_2 = 0
""",
}


@pytest.mark.parametrize("constraint", TERMS, ids=lambda constraint: constraint.__name__)
def test_rows_of_terms(constraint: Callable[[Program], None]) -> None:
    program = empty(with_terms(), frozenset())

    assert rows(constraint, of=with_terms()) == TERMS[constraint].lstrip("\n")
    assert [each.upBound for each in program.commit.ravel()] == [6, 6, 0, 0, 0, 0]
    assert rows(constraint, of=every_decision()) == ""


PLACES = {
    constrain_limits.stay_within_shared_power: """
shared_power_0_0: in_service_0_0 + in_service_1_0 + replicas_0_0 <= 50
""",
    constrain_limits.pay_for_space: """
occupied_0_0: - beyond_0_0 + 2 in_service_0_0 <= 3
""",
}


@pytest.mark.parametrize("constraint", PLACES, ids=lambda constraint: constraint.__name__)
def test_rows_of_places(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint, of=with_places()) == PLACES[constraint].lstrip("\n")
    assert rows(constraint, of=every_decision()) == ""


def test_what_is_committed_is_a_constant_and_the_rest_is_on_nodes_and_beyond() -> None:
    """In thousands: 3 kW at 7 USD; idling 5, peak 4, and space 14 on a node where none is committed."""
    program = empty(with_places(), frozenset())
    found = objective(program)

    assert found.constant == pytest.approx(0.021)
    assert found[program.beyond[0, 0]] == pytest.approx(0.007)
    assert found[program.in_service[0, 0]] == pytest.approx(0.009)
    assert found[program.in_service[0, 1]] == found[program.in_service[1, 0]] == pytest.approx(0.023)


def test_what_runs_buy_is_in_the_budget_of_the_period_in_which_they_begin() -> None:
    """Runs of period 0 and 1 buy for 500 and 700 USD; 150 node-hours of 3 USD are paid as they are done.

    A mean node through 100 h does 100 of them: 300 USD. Orders cost 400 USD each.
    """
    of = problem(
        periods=2,
        jobs=one_job(),
        run_options=run_option([[2, 0], [0, 3]], bought_usd=[500.0, 700.0]),
        pausable_options=PausableOptions(
            job=np.array([0]),
            node_group=np.array([0]),
            nodes=np.array([2]),
            node_hours=np.array([150.0]),
            node_hours_limit=np.full((1, 2), 100.0),
            active_kw=np.ones(1),
            usd_per_node_h=np.full((1, 2), 4.0),
            kgco2e_per_node_h=np.zeros((1, 2)),
            bought_usd_per_node_h=np.array([3.0]),
        ),
        limits=limits(periods=2, budget_usd=[3000.0, 2000.0]),
    )
    assert rows(constrain_limits.stay_within_budget, of=of) == (
        "budget_0: 0.3 done_0_0 + 0.4 order_0_0 + 0.5 run_0 <= 3\n"
        "budget_1: 0.3 done_0_1 + 0.4 order_0_1 + 0.7 run_1 <= 2\n"
    )


def test_room_next_to_the_nodes_of_runs_is_in_the_rows_of_space() -> None:
    """Workers of the first run take 3 racks, those of the second 5, in the period of each."""
    of = problem(
        periods=2,
        jobs=one_job(),
        run_options=run_option([[2, 0], [0, 3]], racks=[[3.0, 0.0], [0.0, 5.0]]),
        limits=limits(periods=2, racks=[12.0]),
    )
    off_site = changed(of, "node_groups", off_site=[True])

    assert rows(constrain_limits.stay_within_space, of=of) == (
        "space_0_0: in_service_0_0 + 3 run_0 <= 12\nspace_0_1: in_service_0_1 + 5 run_1 <= 12\n"
    )
    assert "run" not in rows(constrain_limits.stay_within_space, of=off_site)


def test_every_constraint_has_its_golden_rows() -> None:
    known = set(FIRM) | set(GIVING_WAY) | set(OTHERS) | set(COUNTS) | set(SALES) | set(PLACES) | set(TERMS)
    known |= set(PARTS)
    known |= set(STARTS) | set(DEPLOYMENTS) | set(ADOPTIONS) | set(CURTAILMENT) | set(REUSE)
    # Those of slots stand in test_solver_slots.py, those of services in test_solver_services.py, those of
    # batteries and the sun in test_site_energy.py.
    elsewhere = {f"solver.constrain_{of}" for of in ("slots", "slot_services", "services", "energy")}
    assert {one for one in build.CONSTRAINTS if one.__module__ not in elsewhere} == known


def test_late_runs_are_barred_by_their_bound() -> None:
    """Firm deadlines need no row: the run that is 5 h late may not be chosen, unless 5 h are allowed."""
    late = everything()
    allowed = changed(late, "jobs", allowed_late_h=[5.0])

    assert [run.upBound for run in empty(late, frozenset()).run] == [1, 0]
    assert [run.upBound for run in empty(allowed, frozenset()).run] == [1, 1]


def test_orders_are_bounded_by_what_could_be_of_use() -> None:
    """Period 1 could use 3 nodes of the late run if allowed, 8 replicas, 0.4 working nodes and 3 spares.

    8 replicas in use ask for 0.1 * 8 + 1.8 = 2.6, so 3 spares; 8 + 3 + 0.4 rounds up to 12 nodes.
    """
    assert [order.upBound for order in empty(everything(), frozenset()).order[0]] == [12, 12]


@pytest.mark.parametrize(("supply", "rebates"), [(9.0, 0), (10.0, 2)])
def test_rebates_are_made_where_their_tier_can_be_reached(supply: float, rebates: int) -> None:
    """From 20 nodes on, of 9 or 10 on sale in each of two periods; a third period orders in vain."""
    case = problem(
        periods=3,
        node_groups=node_groups(periods=3, lead_periods=[1]),
        limits=limits(periods=3, supply_nodes=[[supply] * 3]),
        tiers=Tiers(sku=[0], from_nodes=[20], rebate_fraction=[0.1]),  # type: ignore[arg-type]
        **service([25.0] * 3),
    )
    made = [each.name for each in build.build(case).model.variables() if each.name.startswith("rebated")]

    assert made == [f"rebated_0_0_{period}" for period in range(rebates)]


def test_labels_that_clash_do_not_meet_in_the_program() -> None:
    """The LP format renames 'H100-SXM' and 'H100_SXM' alike; variables are named by index instead."""
    case = problem(count=2, sku_names=("H100-SXM", "H100_SXM"))
    names = [variable.name for variable in empty(case, frozenset()).order.ravel()]

    assert names == ["order_0_0", "order_1_0"]


def test_a_family_that_is_not_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"relaxed names \['gravity'\]; the families are power, space"):
        build.build(problem(), ["gravity"])
