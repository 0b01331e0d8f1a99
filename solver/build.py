"""The integer program, read like a page of maths: one function per kind of constraint, its inequality first.

The constraints stand in `constrain_tasks`, `constrain_services`, `constrain_fleet`, `constrain_reuse`,
`constrain_limits`, `constrain_slots`, `constrain_slot_services` and `constrain_energy`; the letters are those
of `solver.problem`. Two
helpers are variables of their own, so that rows stay short: `in_service[p,t]`, the nodes of a node group, and
`in_use[p,t]`, those that runs, replicas and pausable jobs hold. Work and pausable jobs are counted in mean
nodes (node-hours by the hours of the period), clean energy in mean kW. The objective is in thousands (kUSD,
tCO2e), and so are the budget and the caps, which keeps coefficients near one.

A family of limits named in `relaxed` may give way: its rows get a slack, counted in shares of the limit, and
the program then minimises the sum of all slacks instead of money and carbon.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from solver import constrain_energy as energy
from solver import constrain_fleet as fleet
from solver import constrain_limits as limits
from solver import constrain_reuse as reuse
from solver import constrain_services as services
from solver import constrain_slot_services as slot_services
from solver import constrain_slots as slots
from solver import constrain_tasks as tasks
from solver.problem import Problem
from solver.program import FAMILIES, Program
from solver.rows import linear
from solver.totals import THOUSAND, objective
from solver.variables import empty

__all__ = ["CONSTRAINTS", "THOUSAND", "build"]

CONSTRAINTS: tuple[Callable[[Program], None], ...] = (
    tasks.run_every_job_once,
    tasks.keep_deadlines,
    tasks.do_pausable_jobs,
    tasks.choose_before_doing_a_part,
    tasks.meet_demand,
    services.keep_mean_quality,
    services.share_response_time,
    services.answer_each_region,
    tasks.start_what_did_not_run,
    tasks.set_up_what_did_not_serve,
    tasks.do_the_work,
    tasks.adopt_before_use,
    tasks.lose_what_is_curtailed,
    tasks.stop_when_curtailed,
    fleet.count_nodes_in_service,
    fleet.count_nodes_in_use,
    fleet.pay_for_whole_nodes,
    fleet.lie_apart,
    fleet.rent_for_the_term,
    fleet.use_what_is_in_service,
    fleet.work_on_enough_nodes,
    fleet.fit_into_the_hours,
    fleet.park_what_is_in_service,
    fleet.cover_with_spares,
    fleet.keep_promises,
    limits.stay_within_power,
    limits.stay_within_shared_power,
    limits.stay_within_space,
    limits.pay_for_space,
    limits.match_clean_energy,
    limits.keep_contracts_level,
    limits.stay_below_carbon_cap,
    limits.stay_below_carbon_cap_by_period,
    limits.stay_below_money_cap,
    limits.stay_within_supply,
    limits.order_enough_or_nothing,
    limits.reach_tiers,
    limits.stay_within_budget,
    fleet.count_standing_nodes,
    fleet.retire_once,
    fleet.sell_once,
    reuse.reuse_what_is_retired,
    fleet.retire_at_end_of_life,
    slots.spread_over_slots,
    slots.keep_the_pace_in_a_slot,
    slots.stop_what_shrinks,
    slots.keep_days_whole,
    slots.keep_what_cannot_wait,
    slots.keep_the_ramp,
    slots.use_what_is_free_in_a_slot,
    slots.lend_what_rests,
    slot_services.stay_ready,
    slot_services.keep_mean_quality_in_a_slot,
    slot_services.answer_in_time_in_a_slot,
    slot_services.answer_each_region_in_a_slot,
    slots.switch_off_what_is_free,
    slots.stay_within_power_in_a_slot,
    slots.pay_for_the_highest_slot,
    energy.store_on_each_day,
    energy.use_the_sun,
    energy.sell_nothing,
)


@contextmanager
def _nothing_to_collect() -> Iterator[None]:
    """Meanwhile no garbage is looked for: all that is made stays, a million things at 24 slots."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_nothing_to_collect()
def build(
    problem: Problem,
    relaxed: Iterable[str] = (),
    *,
    prefix: str = "",
    first_stage: Program | None = None,
    siblings: Iterable[Problem] = (),
    shared_periods: int | None = None,
) -> Program:
    """The program of a problem.

    For futures that share what they order, retire and move, in all periods or in those before
    `shared_periods`: build the first with the problems of the others as `siblings`, then each other with the
    first as `first_stage`, whose model takes its rows, and a `prefix` of its own. Every future keeps its own
    limits. The caller then sets the objective of that model, as a weighted sum of `objective_of`.
    """
    families = frozenset(relaxed)
    if unknown := families - set(FAMILIES):
        raise ValueError(f"relaxed names {sorted(unknown)}; the families are {', '.join(FAMILIES)}")
    program = empty(
        problem,
        families,
        prefix=prefix,
        first_stage=first_stage,
        siblings=siblings,
        shared_periods=shared_periods,
    )
    for constraint in CONSTRAINTS:
        constraint(program)
    if families:
        program.objective = linear([(slack.variable, 1.0) for slack in program.slacks.values()])
    else:
        program.objective = objective(program)
    if first_stage is None:
        program.model.setObjective(program.objective)
    return program
