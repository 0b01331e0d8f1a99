"""Where a fleet stops being best: against factors worked out by hand, and regrets that are never negative."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from infeasible_cases import fleet_of_every_kind
from sizes import size
from solver_cases import changed, limits, node_groups, one_job, problem, run_option
from test_solver_optimum import best, draw

from solver.decisions import compare_decisions
from solver.problem import Problem
from solver.sensitivity import Regret, Sensitivity, find_flips, keep_regret


def either_sku(factor: float = 1.0) -> Problem:
    """A job of 2 nodes on either of two SKUs: 100 USD a node times the factor, or 130."""
    return problem(
        count=2,
        node_groups=node_groups(count=2, holding_usd_per_node=[[100.0 * factor], [130.0]]),
        jobs=one_job(),
        run_options=run_option([[2], [2]], node_group=[0, 1]),
        limits=limits(skus=2),
    )


def flips(problem_of: object = either_sku, **options: object) -> Sensitivity:
    plain: dict[str, object] = {
        "factor": 1.0,
        "low": 0.5,
        "high": 2.0,
        "width": 1e-3,
        "regret_fraction": 1e-6,
        "gap_fraction": 0.0,
        "time_limit_s": 20.0,
    }
    return find_flips(problem_of, **(plain | options))  # type: ignore[arg-type]


def test_the_price_at_which_the_other_sku_is_bought() -> None:
    """At 1.3 times its price the first costs what the second does; at twice, 2 * 70 USD more."""
    found = flips()

    assert found.below is None
    assert found.above is not None
    assert found.above.held_factor <= 1.3 <= found.above.flipped_factor
    assert found.above.flipped_factor - found.above.held_factor <= 1e-3
    assert found.above.at_end.regret == pytest.approx(140.0)
    assert found.above.at_end.fraction == pytest.approx(140.0 / 300.0)  # 2 * 130 and 40 of the run
    assert [(each.label, each.before, each.after) for each in found.above.differences] == [
        ("orders, sku-0 at oregon, period 0", 2.0, 0.0),
        ("orders, sku-1 at oregon, period 0", 0.0, 2.0),
        ("job train on sku-0 at oregon", 1.0, 0.0),
        ("job train on sku-1 at oregon", 0.0, 1.0),
    ]


@pytest.mark.nightly
def test_looking_back_from_the_other_side_finds_the_same_factor() -> None:
    """Asked at 1.8, the fleet is of the second SKU, and the first becomes best below 1.3."""
    found = flips(factor=1.8)

    assert found.above is None
    assert found.below is not None
    assert found.below.flipped_factor <= 1.3 <= found.below.held_factor


@pytest.mark.nightly
def test_a_regret_that_is_put_up_with_moves_the_flip() -> None:
    """Keeping the first costs 200 f + 40, the second 300: 10 % more is reached at f = 1.45."""
    found = flips(regret_fraction=0.1)

    assert found.above is not None
    assert found.above.held_factor - 1e-9 <= 1.45 <= found.above.flipped_factor + 1e-9


@pytest.mark.nightly
def test_a_limit_that_the_fleet_breaks() -> None:
    """Two nodes of the first SKU draw 6 kW; with less power only the second, at half of it, is left.

    Below 3 kW nothing runs at all, and there is no fleet to change to.
    """

    def powered(factor: float) -> Problem:
        light = changed(either_sku(), "node_groups", idle_kw=[1.0, 0.5])
        light = changed(light, "run_options", active_kw=[[4.0], [2.0]])
        return changed(light, "limits", power_kw=[[10.0 * factor]])

    some, none = flips(powered, low=0.4), flips(powered, low=0.2)

    assert some.below is not None
    assert some.below.flipped_factor <= 0.6 <= some.below.held_factor
    assert some.below.at_end.regret == math.inf
    assert [each.label for each in some.below.differences][-1] == "job train on sku-1 at oregon"
    assert none.below is not None
    assert none.below.at_end.best is None
    assert none.below.flipped_factor <= 0.6 <= none.below.held_factor


def test_what_runs_on_the_fleet_may_follow() -> None:
    """Another configuration on the same nodes becomes cheaper: the fleet is kept without regret."""

    def configured(factor: float) -> Problem:
        way = run_option([[2], [2]], usd=[[40.0 * factor], [50.0]])
        return problem(jobs=one_job(), run_options=way)

    found = flips(configured)

    assert (found.below, found.above) == (None, None)
    fleet = found.answer.solution
    assert fleet is not None
    dearer = keep_regret(configured(2.0), fleet, factor=2.0, gap_fraction=0.0, time_limit_s=20)
    assert dearer.best is not None
    assert (fleet.run.tolist(), dearer.best.run.tolist()) == ([1, 0], [0, 1])


def test_without_a_plan_there_is_nothing_to_keep() -> None:
    found = flips(lambda factor: changed(either_sku(factor), "limits", racks=[1.0]))

    assert found.answer.solution is None
    assert (found.below, found.above) == (None, None)


def test_unknown_is_not_a_flip() -> None:
    """Where time ran out there is no regret; a fleet that breaks a limit does not hold at any cost."""
    assert Regret(1.0, math.nan, 5.0, None).holds(0.1) is None
    assert Regret(1.0, math.inf, math.nan, None).holds(0.1) is False
    assert Regret(1.0, 5.5, 5.0, None).holds(0.1) is True
    assert Regret(1.0, 1.0, 0.0, None).fraction == math.inf


@given(seed=st.integers(0, 2**32 - 1), factor=st.floats(0.2, 5.0))
@settings(max_examples=size(6, nightly=30), deadline=None, derandomize=True)
def test_keeping_is_never_better_than_best(seed: int, factor: float) -> None:
    """A fleet held is one restriction more; at the factor that it was made for it costs nothing."""
    case = draw(seed)
    fleet = best(case).solution
    if fleet is None:
        return
    dearer = changed(case, "node_groups", holding_usd_per_node=factor * case.node_groups.holding_usd_per_node)

    kept = keep_regret(dearer, fleet, factor=factor, gap_fraction=0.0, time_limit_s=20)
    same = keep_regret(case, fleet, factor=1.0, gap_fraction=0.0, time_limit_s=20)

    assert kept.regret >= -1e-6
    assert same.regret == pytest.approx(0.0, abs=1e-4)
    assert kept.best is not None
    if kept.regret > 1e-3:
        assert compare_decisions(dearer, fleet, kept.best) != ()


@pytest.mark.nightly
def test_rented_nodes_replace_bought_ones_where_they_are_cheap() -> None:
    """A fifth of the rent: nodes are rented that were bought, and keeping costs more than at the flip."""
    case = fleet_of_every_kind(2)

    def rented(factor: float) -> Problem:
        return changed(case, "node_groups", rental_usd_per_node=factor * case.node_groups.rental_usd_per_node)

    found = flips(rented, low=0.2, high=1.0, width=0.05, regret_fraction=0.01, gap_fraction=0.001)

    assert found.below is not None
    assert found.below.flipped_factor < found.below.held_factor <= 1.0
    assert 0.01 < found.below.at_flip.fraction < found.below.at_end.fraction
    changes = {(each.kind, each.after > each.before) for each in found.below.differences}
    assert {("rented", True), ("orders", False)} <= changes


def test_plans_of_other_problems_are_not_compared() -> None:
    one, two = best(either_sku()).solution, best(dataclasses.replace(problem(periods=2))).solution
    assert one is not None
    assert two is not None
    with pytest.raises(ValueError, match="plans of one problem have equal columns; orders is"):
        compare_decisions(either_sku(), one, two)
    assert compare_decisions(either_sku(), one, one) == ()
    assert np.array_equal(one.orders, [[2], [0]])


def test_words_for_what_is_not_possible() -> None:
    with pytest.raises(ValueError, match="factor lies between low and high, got 3"):
        flips(factor=3.0)
    with pytest.raises(ValueError, match="width is a step of the factor above 0, got 0"):
        flips(width=0.0)
    with pytest.raises(ValueError, match="regret_fraction is a share of at least 0, got -1"):
        flips(regret_fraction=-1.0)
