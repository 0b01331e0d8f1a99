"""Tables that do not fit are refused where they are made, with the column, the row and the value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from solver_cases import changed, cohort, limits, node_groups, one_job, problem, run_option, service, steps

from solver.problem import Cohorts, Jobs, Moves, Objective, PausableOptions, Tiers
from solver.tables import ProblemError


def two_cohorts() -> Cohorts:
    return Cohorts([0, 1], [4, 0], *(np.zeros((2, 1)) for _ in range(3)), [1, 1])  # type: ignore[arg-type]


def move(**columns: Any) -> Moves:
    plain: dict[str, Any] = {"from_cohort": [0], "to_cohort": [1], "lead_periods": [0]}
    return Moves(**(plain | columns), usd_per_node=np.ones((1, 1)), kgco2e_per_node=np.ones((1, 1)))


def partial(*, optional: bool) -> Jobs:
    return Jobs(("train",), [optional], [1.0], [0.0], partial=[True])  # type: ignore[arg-type]


def pausable(*, limit_h: float, least: int = 0) -> PausableOptions:
    one = np.ones((1, 1))
    return PausableOptions([0], [0], [2], [300], limit_h * one, [1], one, one, nodes_least=[least])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: cohort(nodes=1.5), r"Cohorts.nodes\[0\] is 1.5; it has to be a whole number of at least 0"),  # type: ignore[arg-type]
        (lambda: node_groups(hours=[0.0]), r"NodeGroups.hours\[0\] is 0; it has to be a number of at least"),
        (lambda: node_groups(idle_kw=[np.nan]), r"NodeGroups.idle_kw\[0\] is nan"),
        (lambda: node_groups(idle_kw=[np.inf]), r"NodeGroups.idle_kw\[0\] is inf"),
        (lambda: node_groups(idle_kw=["much"]), r"NodeGroups.idle_kw holds <U4, not numbers"),
        (
            lambda: node_groups(purchase_allowed=[[2]]),
            r"NodeGroups.purchase_allowed\[0, 0\] is 2; .* true or false",
        ),
        (lambda: node_groups(site=[0, 0]), r"NodeGroups.site has 2 entries along \*, other columns have 1"),
        (lambda: node_groups(idle_kw=[[1.0]]), r"NodeGroups.idle_kw needs 1 axes \(\*\), got 2"),
        (lambda: limits(power_kw=[[np.nan]]), r"Limits.power_kw\[0, 0\] is nan"),
        (lambda: limits(budget_usd=[-1.0]), r"Limits.budget_usd\[0\] is -1; .* a number of at least 0"),
        (lambda: run_option([[-2]]), r"RunOptions.nodes\[0, 0\] is -2"),
        (lambda: Jobs(("a", "b"), *(np.zeros(1) for _ in range(3))), "Jobs.name has 2 names for 1 rows"),  # type: ignore[arg-type]
        (lambda: Tiers([0], [1], [1.5]), r"rebate_fraction\[0\] is 1.5; .* at least 0 and at most 1"),  # type: ignore[arg-type]
        (lambda: Objective(money_weight=-1.0), "money_weight is a weight of at least 0, got -1.0"),
    ],
)
def test_a_table_refuses_what_cannot_be(make: Any, says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        make()


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"run_options": run_option([[1]])}, r"run_options.job\[0\] is 0, but the problem has 0 of those"),
        (
            {"jobs": one_job(), "run_options": run_option([[1]], node_group=[3])},
            r"run_options.node_group\[0\] is 3",
        ),
        ({"periods": 0}, "periods is a count of at least 1, got 0"),
        ({"limits": limits(sites=2, skus=2)}, "limits.power_kw has 2 entries along S, the problem has 1"),
        ({"limits": limits(skus=2, carbon_cap_kgco2e=np.nan)}, "carbon_cap_kgco2e is not a number"),
        ({"cohorts": cohort(nodes=1, periods=2)}, "cohorts.keep_usd_per_node has 2 entries along T"),
        (
            {"cohorts": two_cohorts(), "moves": move()},
            r"moves\[0\] goes from sku-0 at oregon to sku-1 at oregon",
        ),
        ({"cohorts": two_cohorts(), "moves": move(to_cohort=[5])}, r"moves.to_cohort\[0\] is 5"),
        ({"jobs": partial(optional=False)}, r"jobs.partial\[0\] is true, but the job is not optional"),
        (
            {"jobs": one_job(), "pausable_options": pausable(limit_h=201)},
            r"node_hours_limit\[0, 0\] is 201, but 2 nodes have 200 hours then",
        ),
        (
            {"jobs": one_job(), "pausable_options": pausable(limit_h=100, least=3)},
            r"nodes_least\[0\] is 3, but the option has 2 nodes",
        ),
        ({"tiers": Tiers([7], [1], [0.1])}, r"tiers.sku\[0\] is 7"),  # type: ignore[arg-type]
        ({"limits": limits(skus=2, money_cap_usd=np.nan)}, "money_cap_usd is not a number"),
        (
            {"spare_steps": steps((3, 1, 5))},
            r"spare_steps.node_group\[0\] is 3, but the problem has 2 of those",
        ),
    ],
)
def test_a_problem_refuses_tables_that_do_not_fit(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        problem(**({"count": 2} | parts))


def test_columns_cannot_be_changed_later() -> None:
    """What was checked stays as it was checked, and what was handed in stays the caller's own."""
    hours = np.array([100.0])
    table = node_groups(hours=hours)
    hours[0] = -1.0

    assert table.hours[0] == 100.0
    with pytest.raises(ValueError, match="read-only"):
        table.hours[0] = -1.0


def test_columns_left_out_take_their_default() -> None:
    """No lateness is allowed and no order has a minimum unless someone says so."""
    case = problem(jobs=one_job(), run_options=run_option([[1]]), **service([1.0]))

    assert case.jobs.allowed_late_h.tolist() == [0.0]
    assert case.limits.minimum_nodes.tolist() == [0.0]
    assert case.jobs.count.tolist() == [1]
    assert case.services.unmet_usd.tolist() == [[np.inf]]
    assert case.serve_options.whole.tolist() == [True]
    assert case.moves.usd_per_node.shape == (0, 1)
    assert changed(case, "limits", minimum_nodes=[3.0]).limits.minimum_nodes.tolist() == [3.0]


def test_a_node_group_is_called_by_sku_and_site() -> None:
    assert problem(sku_names=("h100",)).node_group_name(0) == "h100 at oregon"
