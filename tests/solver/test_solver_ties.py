"""Ties: other plans within the gap, each checked by plain sums, and the one with the fewest changes taken."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from solver_cases import changed, cohort, node_groups, one_job, problem, run_option
from test_solver_optimum import draw_more

from solver import account
from solver.answer import answer
from solver.problem import Problem, ServeOptions, Services, Solution
from solver.ties import Choice, changes, choices, settled, tied_plans, ties, without
from solver.verify import objective_value, verify


def solved(case: Problem, gap_fraction: float = 0.0) -> tuple[Solution, float]:
    found = answer(case, gap_fraction=gap_fraction, time_limit_s=20)
    assert found.solution is not None
    return found.solution, found.bound


def two_sites(second_usd: float) -> Problem:
    """A job for one node of either site; a node of the second one costs so much a period."""
    holding = np.array([[100.0], [second_usd]])
    return problem(
        count=2,
        node_groups=node_groups(count=2, holding_usd_per_node=holding),
        jobs=one_job(),
        run_options=run_option([[1], [1]], node_group=[0, 1]),
    )


@pytest.mark.parametrize(
    ("second_usd", "gap_fraction", "tied"), [(100.0, 0.0, 1), (101.0, 0.02, 1), (101.0, 0.0, 0)]
)
def test_another_site_within_the_gap_is_a_tie(second_usd: float, gap_fraction: float, tied: int) -> None:
    """120 USD here; there the same, or 1 USD more, which a gap of 2 % does not tell apart."""
    case = two_sites(second_usd)
    plan, bound = solved(case)
    others = ties(case, plan, bound=bound, gap_fraction=gap_fraction, time_limit_s=20)
    found = tied_plans(case, plan, others)

    assert len(found) == tied
    for tie in found:
        assert tie.excess_fraction == pytest.approx((second_usd - 100.0) / 120.0, abs=1e-9)
        assert {each.label for each in tie.differences} == {
            "job train on sku-0 at oregon",
            "job train on sku-1 at oregon",
            "orders, sku-0 at oregon, period 0",
            "orders, sku-1 at oregon, period 0",
        }


def test_of_plans_within_the_gap_the_one_with_fewest_changes_is_taken() -> None:
    """Selling a node that no work needs saves 1 USD of 200: within a gap of 2 % it may as well stay."""
    case = problem(
        node_groups=node_groups(purchase_allowed=[[0]], idle_usd_per_node=np.zeros((1, 1))),
        cohorts=cohort(nodes=2, keep_usd_per_node=[[100.0]], retire_usd_per_node=[[99.0]]),
        jobs=one_job(),
        run_options=run_option([[1]]),
    )
    plan, bound = solved(case)
    others = ties(case, plan, bound=bound, gap_fraction=0.02, time_limit_s=20)
    chosen = settled(case, plan, others, bound=bound, gap_fraction=0.02)

    assert (plan.retired.sum(), changes(case, plan)) == (1, 1)
    assert (chosen.retired.sum(), changes(case, chosen)) == (0, 0)
    (tie,) = tied_plans(case, chosen, [plan, *others])
    assert tie.excess_fraction == pytest.approx(-1.0 / 220.0)
    # What it is compared with must not be the better plan; and a gap of nothing leaves no choice.
    cheaper = objective_value(case, plan)
    assert settled(case, plan, others, bound=bound, gap_fraction=0.02, at_most=cheaper) is plan
    assert settled(case, plan, others, bound=bound, gap_fraction=0.0) is plan


def test_a_service_that_jumps_between_nodes_is_changed_more_often() -> None:
    """Both may serve, each is a dollar cheaper in one period: a start of 9 USD keeps the service in place."""
    flat = np.ones((2, 2))
    serves = ServeOptions(
        service=np.array([0, 0]),
        node_group=np.array([0, 1]),
        capacity=10 * flat,
        nodes=np.array([1.0, 1.0]),
        standby_fraction=0 * flat,
        node_hours=100 * flat,
        active_kw=np.array([1.0, 1.0]),
        usd=np.array([[15.0, 16.0], [16.0, 15.0]]),
        kgco2e=6 * flat,
    )
    groups = node_groups(periods=2, count=2)
    own_service = Services(name=("chat",), demand=np.array([[10.0, 10.0]]))
    case = problem(periods=2, count=2, node_groups=groups, services=own_service, serve_options=serves)
    stays, _ = solved(changed(case, "serve_options", start_usd=[[9.0, 9.0], [9.0, 9.0]]))
    own = {part.name: getattr(stays, part.name) for part in dataclasses.fields(account.Decisions)}
    jumps = account.solution(case, account.Decisions(**(own | {"replicas": np.array([[1, 0], [0, 1]])})))

    assert sorted(stays.replicas.tolist()) == [[0, 0], [1, 1]]
    assert changes(case, jumps) == changes(case, stays) + 1


def test_what_is_signed_and_what_has_to_end_is_no_choice() -> None:
    case = problem(
        periods=2,
        node_groups=node_groups(
            periods=2,
            rental_limit_nodes=[[4, 4]],
            rental_term_periods=[2],
            rental_start_allowed=[[1, 1]],
            rental_signed_nodes=[[1, 0]],
        ),
        cohorts=cohort(nodes=2, periods=2, must_retire_by=[1]),
    )
    plan, _ = solved(case)

    assert [one.kind for one in choices(case, plan)] == ["retired"]
    later = changed(case, "cohorts", retire_usd_per_node=[[500.0, 0.0]])
    assert solved(later)[0].retired.tolist() == [[0, 2]]
    assert choices(later, solved(later)[0]) == []

    kept = without(case, Choice("retired", 0, 2.0))
    assert kept.cohorts.may_retire.tolist() == [[False, True]]
    assert without(case, Choice("rented", 0, 1.0)).node_groups.rental_limit_nodes.tolist() == [[0, 0]]
    assert without(case, Choice("committed", 0, 1.0)).node_groups.rental_start_allowed.tolist() == [
        [True, False]
    ]


@pytest.mark.nightly
@pytest.mark.slow
def test_every_tie_is_a_plan_within_the_gap_without_a_choice_of_the_plan() -> None:
    """On random fleets with every kind of decision: checked by plain sums against the problem as it was."""
    seen = set()
    for seed in range(500):
        case = draw_more(seed)
        found = answer(case, gap_fraction=0.0, time_limit_s=20)
        if found.solution is None or found.objective <= 0:
            continue
        others = ties(case, found.solution, bound=found.bound, gap_fraction=0.3, time_limit_s=20)
        left_out = choices(case, found.solution)
        for other in others:
            assert verify(case, other, 1e-6) == []
            assert objective_value(case, other) <= found.bound / 0.7 * (1 + 1e-6)
            assert {(one.kind, one.row) for one in left_out} - {
                (one.kind, one.row) for one in choices(case, other)
            }
        for choice in left_out:
            best = answer(without(case, choice), gap_fraction=0.0, time_limit_s=20)
            if best.solution is not None:
                seen.add(choice.kind)
                column = getattr(best.solution, choice.kind)
                free = column - case.node_groups.rental_signed_nodes if choice.kind == "committed" else column
                if choice.kind == "retired":
                    free = column * (np.arange(case.periods) < case.cohorts.must_retire_by[:, None])
                assert not (free[choice.row] > 0).any(), choice
                assert best.objective >= found.objective - 1e-6 * abs(found.objective)
    assert {"orders", "retired", "sold", "committed"} <= seen


def test_a_choice_is_larger_the_more_nodes_it_is_of() -> None:
    case = changed(two_sites(100.0), "jobs", count=[3])
    plan, _ = solved(case)

    found = choices(case, plan)
    assert [one.nodes for one in found] == sorted((one.nodes for one in found), reverse=True)
    assert sum(one.nodes for one in found) == 3
