"""Each kind of constraint, as the LP file shows it; the numbers are worked out beside the case."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from solver_cases import changed, cohort, limits, one_job, problem, run_option, service, steps, work

from solver import build
from solver.problem import Problem
from solver.program import FAMILIES, Program, empty


def everything() -> Problem:
    """One pool over two periods of 100 h, with a little of everything.

    A replica carries 10 requests/s, 8 with a quarter on standby, so that 25 need 3.125 replicas. Work of 50 h
    is half a node through 100 h, done at twice the speed. Above idling (2 kg in a period), a run of two nodes
    emits 16 - 4 = 12 kg, a replica 6 - 2 = 4, a working node 5 - 2 = 3; a bought node embodies 10 kg.
    """
    return problem(
        periods=2,
        jobs=one_job(),
        run_options=run_option([[2, 0], [0, 3]], late_h=[0, 5]),
        cohorts=cohort(nodes=3, periods=2, must_retire_by=[1]),
        **service([25.0, 60.0], standby_fraction=[0.25]),
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


def rows(constraint: Callable[[Program], None], elastic: tuple[str, ...] = ()) -> str:
    program = empty(everything(), frozenset(elastic))
    constraint(program)
    return "".join(row.asCplexLpConstraint(name) for name, row in program.model.constraints.items())


FIRM = {
    build.run_every_job_once: """
job_0: left_out_0 + run_0 + run_1 = 1
""",
    build.meet_demand: """
demand_0_0: replicas_0_0 >= 3.125
demand_0_1: replicas_0_1 >= 7.5
""",
    build.do_the_work: """
work_0_0: 2 work_0_0 >= 0.5
work_0_1: 2 work_0_1 >= 0.8
""",
    build.count_nodes_in_service: """
in_service_0_0: in_service_0_0 - order_0_0 + retire_0_0 = 3
in_service_0_1: - in_service_0_0 + in_service_0_1 - order_0_1 + retire_0_1 = 0
""",
    build.count_nodes_in_use: """
in_use_0_0: in_use_0_0 - replicas_0_0 - 2 run_0 = 0
in_use_0_1: in_use_0_1 - replicas_0_1 - 3 run_1 = 0
""",
    build.use_what_is_in_service: """
nodes_0_0: - in_service_0_0 + in_use_0_0 + spares_0_0 <= 0
nodes_0_1: - in_service_0_1 + in_use_0_1 + spares_0_1 <= 0
""",
    build.fit_into_the_hours: """
hours_0_0: - in_service_0_0 + replicas_0_0 + 2 run_0 + spares_0_0 + work_0_0
 <= 0
hours_0_1: - in_service_0_1 + replicas_0_1 + 3 run_1 + spares_0_1 + work_0_1
 <= 0
""",
    build.cover_with_spares: """
reach_0_0: in_use_0_0 - step_0_0_0 - 3 step_0_0_1 - 6 step_0_0_2 <= 0
one_step_0_0: step_0_0_0 + step_0_0_1 + step_0_0_2 <= 1
spares_0_0: spares_0_0 - step_0_0_0 - 2 step_0_0_1 - 3 step_0_0_2 >= 0
reach_0_1: in_use_0_1 - step_0_1_0 - 3 step_0_1_1 - 8 step_0_1_2 <= 0
one_step_0_1: step_0_1_0 + step_0_1_1 + step_0_1_2 <= 1
spares_0_1: spares_0_1 - step_0_1_0 - 2 step_0_1_1 - 3 step_0_1_2 >= 0
""",
    build.stay_within_power: """
power_0_0: in_service_0_0 + replicas_0_0 + 4 run_0 + work_0_0 <= 50
""",
    build.stay_within_space: """
space_0_0: in_service_0_0 <= 12
space_0_1: in_service_0_1 <= 12
""",
    build.stay_within_supply: """
supply_0_0: order_0_0 <= 8
""",
    build.order_enough_or_nothing: """
minimum_0: order_0_0 + order_0_1 - 4 some_0 >= 0
ordered_0_0: order_0_0 - 12 some_0 <= 0
ordered_0_1: order_0_1 - 12 some_0 <= 0
""",
    build.stay_within_budget: """
budget_0: 0.4 order_0_0 <= 3
""",
    build.stay_below_carbon_cap: """
carbon_cap: 0.002 in_service_0_0 + 0.002 in_service_0_1 + 0.02 order_0_0
 + 0.01 order_0_1 + 0.004 replicas_0_0 + 0.004 replicas_0_1 + 0.012 run_0
 + 0.018 run_1 + 0.003 work_0_0 + 0.003 work_0_1 <= 0.9
""",
    build.retire_once: """
retire_once_0: retire_0_0 + retire_0_1 <= 3
""",
    build.retire_at_end_of_life: """
end_of_life_0: retire_0_0 + retire_0_1 >= 3
""",
}

GIVING_WAY = {
    build.meet_demand: """
demand_0_0: 3.125 over_demand_0_0 + replicas_0_0 >= 3.125
demand_0_1: 7.5 over_demand_0_1 + replicas_0_1 >= 7.5
""",
    build.do_the_work: """
work_0_0: 0.5 over_work_0_0 + 2 work_0_0 >= 0.5
work_0_1: 0.8 over_work_0_1 + 2 work_0_1 >= 0.8
""",
    build.stay_within_power: """
power_0_0: in_service_0_0 - 50 over_power_0_0 + replicas_0_0 + 4 run_0
 + work_0_0 <= 50
""",
    build.stay_within_space: """
space_0_0: in_service_0_0 - 12 over_space_0 <= 12
space_0_1: in_service_0_1 - 12 over_space_0 <= 12
""",
    build.stay_within_supply: """
supply_0_0: order_0_0 - 8 over_supply_0_0 <= 8
""",
    build.stay_within_budget: """
budget_0: 0.4 order_0_0 - 3 over_budget_0 <= 3
""",
    build.stay_below_carbon_cap: """
carbon_cap: 0.002 in_service_0_0 + 0.002 in_service_0_1 + 0.02 order_0_0
 + 0.01 order_0_1 - 0.9 over_carbon_cap + 0.004 replicas_0_0
 + 0.004 replicas_0_1 + 0.012 run_0 + 0.018 run_1 + 0.003 work_0_0
 + 0.003 work_0_1 <= 0.9
""",
    build.retire_at_end_of_life: """
end_of_life_0: 3 over_end_of_life_0 + retire_0_0 + retire_0_1 >= 3
""",
    build.order_enough_or_nothing: """
minimum_0: order_0_0 + order_0_1 + 4 over_minimum_order_0 - 4 some_0 >= 0
ordered_0_0: order_0_0 - 12 some_0 <= 0
ordered_0_1: order_0_1 - 12 some_0 <= 0
""",
    build.keep_deadlines: """
deadline_0: - 100 over_deadlines_0 + 5 run_1 <= 0
""",
}


@pytest.mark.parametrize("constraint", FIRM, ids=lambda constraint: constraint.__name__)
def test_rows_of_a_constraint(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint) == FIRM[constraint].lstrip("\n")


@pytest.mark.parametrize("constraint", GIVING_WAY, ids=lambda constraint: constraint.__name__)
def test_rows_that_give_way(constraint: Callable[[Program], None]) -> None:
    """One unit of a slack is one limit's worth: 50 kW, 12 racks, 3 kUSD, 0.9 t, the mean period of 100 h."""
    family = {"order_enough_or_nothing": ("minimum order",), "keep_deadlines": ("deadlines",)}

    assert rows(constraint, family.get(constraint.__name__, FAMILIES)) == GIVING_WAY[constraint].lstrip("\n")


def test_every_constraint_has_its_golden_rows() -> None:
    assert set(build.CONSTRAINTS) == set(FIRM) | set(GIVING_WAY)


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


def test_labels_that_clash_do_not_meet_in_the_program() -> None:
    """The LP format renames 'H100-SXM' and 'H100_SXM' alike; variables are named by index instead."""
    case = problem(count=2, sku_names=("H100-SXM", "H100_SXM"))
    names = [variable.name for variable in empty(case, frozenset()).order.ravel()]

    assert names == ["order_0_0", "order_1_0"]


def test_a_family_that_is_not_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"elastic names \['gravity'\]; the families are power, space"):
        build.build(problem(), ["gravity"])
