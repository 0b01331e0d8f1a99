"""Alternatives are plans, cost little more, and are as different as any: by hand and by trying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from infeasible_cases import fleet_of_every_kind
from sizes import size
from solver_cases import limits, node_groups, one_job, problem, run_option
from test_solver_optimum import best, draw

from solver.alternatives import Alternatives, distance_between, near_optimal
from solver.answer import answer
from solver.backend import Status
from solver.decisions import compare_decisions
from solver.problem import Problem, ServeOptions, Services, Solution
from solver.verify import objective_value, verify


def plan_of(case: Problem) -> Solution:
    found = best(case).solution
    assert found is not None
    return found


def around(case: Problem, plans: int, within_fraction: float) -> Alternatives:
    return near_optimal(
        case,
        plan_of(case),
        plans=plans,
        within_fraction=within_fraction,
        gap_fraction=0.0,
        time_limit_s=20,
    )


def either_sku() -> Problem:
    """A job of 2 nodes on either of two SKUs, of which the second costs 4 USD more: 240 USD or 248."""
    return problem(
        count=2,
        node_groups=node_groups(count=2, holding_usd_per_node=[[100.0], [104.0]]),
        jobs=one_job(),
        run_options=run_option([[2], [2]], node_group=[0, 1]),
    )


def served_by_three() -> Problem:
    """Three replicas on nodes of two SKUs, the second 10 USD dearer."""
    one = np.ones((2, 1))
    return problem(
        count=2,
        node_groups=node_groups(count=2, holding_usd_per_node=[[100.0], [110.0]]),
        services=Services(name=("chat",), demand=np.array([[30.0]])),
        serve_options=ServeOptions(
            service=np.zeros(2),
            node_group=np.arange(2),
            capacity=10 * one,
            nodes=np.ones(2),
            standby_fraction=0 * one,
            node_hours=100 * one,
            active_kw=np.ones(2),
            usd=15 * one,
            kgco2e=6 * one,
        ),
    )


def test_the_other_sku_is_the_alternative() -> None:
    """All nodes exchanged is 1 away; it costs 8 of 240 USD more; and it says so."""
    case = either_sku()
    (other,) = around(case, 2, 0.1).plans

    assert other.objective == pytest.approx(248.0)
    assert other.excess_fraction == pytest.approx(8 / 240)
    assert other.distance == pytest.approx(1.0)
    assert [(each.label, each.before, each.after) for each in other.differences] == [
        ("orders, sku-0 at oregon, period 0", 2.0, 0.0),
        ("orders, sku-1 at oregon, period 0", 0.0, 2.0),
        ("job train on sku-0 at oregon", 1.0, 0.0),
        ("job train on sku-1 at oregon", 0.0, 1.0),
    ]


def test_nothing_else_costs_so_little() -> None:
    """Within 1 % of 240 USD there is no other fleet: the answer is none, not the best once more."""
    found = around(either_sku(), 2, 0.01)

    assert found.plans == ()
    assert found.ended is Status.OPTIMAL


def test_each_is_the_farthest_from_all_before() -> None:
    """3 of the one SKU, then 3 of the other, then the cheaper of the two mixtures, then the other."""
    found = around(served_by_three(), 5, 0.15)

    fleets = [tuple(each.solution.orders[:, 0]) for each in found.plans]
    assert fleets == [(0, 3), (2, 1), (1, 2)]
    assert [each.distance for each in found.plans] == [pytest.approx(far) for far in (1, 1 / 3, 1 / 3)]


def test_a_job_left_out_is_nowhere() -> None:
    """Leaving the job out costs 250 USD, running it 240."""
    case = problem(
        jobs=one_job(optional=True, left_out_usd=250.0), run_options=run_option([[2]]), limits=limits()
    )
    (other,) = around(case, 1, 0.1).plans

    assert {each.label: each.after for each in other.differences} == {
        "orders, sku-0 at oregon, period 0": 0.0,
        "left out, train": 1.0,
        "job train on sku-0 at oregon": 0.0,
    }


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=size(6, nightly=30), deadline=None, derandomize=True)
def test_alternatives_are_plans_in_reach_and_come_ever_closer(seed: int) -> None:
    """Each keeps every rule and the limit on the objective; the farthest of a longer list is no farther."""
    case = draw(seed)
    if (plan := best(case).solution) is None:
        return
    within = 0.3
    found = around(case, 3, within).plans

    least = objective_value(case, plan)
    for each in found:
        assert verify(case, each.solution, 1e-6) == []
        assert each.objective <= least + within * abs(least) + 1e-4
        assert compare_decisions(case, plan, each.solution) == each.differences
    distances = [each.distance for each in found]
    assert all(later <= sooner + 1e-6 for sooner, later in itertools.pairwise(distances))


def test_distance_by_plain_sums() -> None:
    """Two of three nodes exchanged: |3 - 1| + |0 - 2| over twice 3."""
    case = served_by_three()
    all_of_one, *others = [plan_of(case), *(each.solution for each in around(case, 3, 0.15).plans)]
    mixed = next(each for each in others if each.orders[1, 0] == 2)

    assert distance_between(case, all_of_one, mixed, relative_to=all_of_one) == pytest.approx(2 / 3)


@pytest.mark.parametrize("seed", [1, 2])
def test_every_kind_of_decision_counts(seed: int) -> None:
    """Rented and moved nodes, and jobs in counts: the distance told is that of the plans, and never 0."""
    case = fleet_of_every_kind(seed)
    plan = answer(case, gap_fraction=0.01, time_limit_s=20).solution
    assert plan is not None
    found = near_optimal(case, plan, plans=2, within_fraction=0.05, gap_fraction=0.05, time_limit_s=20).plans

    assert len(found) == 2
    for each in found:
        assert verify(case, each.solution, 1e-6) == []
        assert each.excess_fraction <= 0.05 + 1e-6
        assert each.differences
        assert distance_between(case, plan, each.solution, relative_to=plan) >= each.distance - 1e-9 > 0.05


def test_words_for_what_is_not_possible() -> None:
    case = either_sku()
    with pytest.raises(ValueError, match="plans is a count of at least 1, got 0"):
        around(case, 0, 0.1)
    with pytest.raises(ValueError, match=r"within_fraction is a share of at least 0, got -0\.1"):
        around(case, 1, -0.1)
