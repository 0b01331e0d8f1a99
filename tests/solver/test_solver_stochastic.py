"""One fleet for several futures: against trying every fleet, between its bounds, and few futures for many."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sizes import size
from solver_cases import changed, problem, service
from test_solver_optimum import draw_more

from solver.answer import answer
from solver.problem import Problem
from solver.reduction import representatives
from solver.stochastic import Aim, FirstStage, Futures, Hedge, answer_held, hedge, in_each_future, regrets
from solver.tables import ProblemError
from solver.verify import objective_value, verify

EXACT: Any = {"gap_fraction": 0.0, "time_limit_s": 60.0}
DEMANDS = (10.0, 30.0, 50.0)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=size(5, nightly=20), deadline=None, derandomize=True)


def serving(demand: float, unmet_usd: float) -> Problem:
    """A node carries 10 requests/s; buying it costs 100 USD, serving 15, idling 5; the rest is unmet."""
    return changed(problem(**service([demand])), "services", unmet_usd=np.array([[unmet_usd]]))


def by_hand(nodes: int, demand: float, unmet_usd: float) -> float:
    """Cost of a fleet of so many nodes: serving pays wherever 10 requests cost more than 10 USD."""
    busy = min(nodes, math.ceil(demand / 10))
    return 100 * nodes + 15 * busy + 5 * (nodes - busy) + unmet_usd * max(0.0, demand - 10 * busy)


def futures_of(*chances: float, unmet_usd: float = 25.0) -> Futures:
    problems = tuple(serving(demand, unmet_usd) for demand in DEMANDS[: len(chances)])
    return Futures(problems, np.array(chances), 1)


def costs_of(futures: Futures, unmet_usd: float) -> NDArray[np.float64]:
    """Row: nodes bought, from 0; column: the future."""
    demands = DEMANDS[: len(futures.problems)]
    return np.array([[by_hand(nodes, demand, unmet_usd) for demand in demands] for nodes in range(7)])


@pytest.mark.parametrize("unmet_usd", [12.0, 25.0, 60.0, 200.0])
@pytest.mark.parametrize("chances", [(0.6, 0.4), (0.2, 0.5, 0.3), (0.45, 0.45, 0.1)])
def test_every_number_of_nodes_tried(unmet_usd: float, chances: tuple[float, ...]) -> None:
    """The newsvendor's choice: of 0 to 6 nodes the one that is best for each aim, by sums written here."""
    futures, shares = futures_of(*chances, unmet_usd=unmet_usd), np.array(chances)
    costs = costs_of(futures, unmet_usd)
    best = costs.min(axis=0)
    wanted = {
        "expected": (costs @ shares).min(),
        "worst": costs.max(axis=1).min(),
        "regret": ((costs - best) / best).max(axis=1).min(),
    }

    aims: tuple[Aim, ...] = ("expected", "worst", "regret")
    for aim in aims:
        found = hedge(futures, aim=aim, best=best, **EXACT)

        assert found.value == pytest.approx(wanted[aim], rel=1e-6)
        assert found.bound == pytest.approx(wanted[aim], rel=1e-6)
        bought = int(found.first_stage.orders[0, 0])
        assert found.objectives == pytest.approx(costs[bought])  # the others settled, too


def test_regret_is_an_amount_where_a_future_earns() -> None:
    """Nothing is a share of what is earned: the largest amount is made least, of 0 to 6 nodes tried."""
    futures = futures_of(0.6, 0.4)
    costs = costs_of(futures, 25.0)
    best = costs.min(axis=0) - [costs.min(axis=0)[0], 50.0]  # as if the first could have been had for nothing

    found = hedge(futures, aim="regret", best=best, **EXACT)

    assert found.value == pytest.approx((costs - best).max(axis=1).min(), rel=1e-6)
    assert found.bound == pytest.approx(found.value, rel=1e-6)


def test_a_plan_held_costs_what_its_nodes_cost() -> None:
    """Three nodes where 10 requests/s come are 345 less 2 * 10 for idling: 325 USD; where 50 come, 845."""
    futures = futures_of(0.2, 0.5, 0.3)
    three = FirstStage(np.array([[3]]), *3 * [np.zeros((0, 1), dtype=int)])

    found = [one.objective for one in in_each_future(futures, three, **EXACT)]

    assert found == pytest.approx([325.0, 345.0, 845.0])
    assert found == pytest.approx([by_hand(3, demand, 25.0) for demand in DEMANDS])


def test_regret_is_a_share_of_what_was_possible() -> None:
    assert regrets(np.array([150.0, 80.0]), np.array([100.0, 80.0])).tolist() == [0.5, 0.0]
    assert regrets(np.array([150.0, 80.0]), np.array([100.0, -100.0])).tolist() == [50.0, 180.0]


def drawn(seed: int) -> tuple[Problem, Problem]:
    """Two futures of one random fleet: in the second, demand is half or one and a half times as large."""
    first, rng = draw_more(seed), np.random.default_rng([seed, 2])
    second = changed(first, "services", demand=np.floor(first.services.demand * rng.choice([0.5, 1.5])))
    return first, changed(second, "node_groups", idle_usd_per_node=second.node_groups.idle_usd_per_node + 1)


def exact(futures: Futures) -> Hedge:
    return hedge(futures, **EXACT)


@given(seed=seeds)
@few
@pytest.mark.nightly
def test_knowing_earlier_never_costs_more(seed: int) -> None:
    """The more periods are decided together, the dearer; none of them is each future for itself.

    And a plan made for one future alone, held in the other, is never better than the one made for both.
    """
    pair, halves = drawn(seed), np.array([0.5, 0.5])
    alone = [answer(one, **EXACT) for one in pair]
    found = [exact(Futures(pair, halves, shared)) for shared in range(pair[0].periods + 1)]
    if any(one.solution is None for one in alone):
        assert not any(each.plans for each in found)
        return

    values = [each.value if each.plans else math.inf for each in found]
    assert values[0] == pytest.approx(float(np.mean([one.objective for one in alone])), rel=1e-6, abs=1e-6)
    for earlier, later in itertools.pairwise(values):
        assert earlier <= later + 1e-6 * max(1.0, abs(earlier))
    whole = Futures(pair, halves, pair[0].periods)
    for one in alone:
        assert one.solution is not None
        held = in_each_future(whole, FirstStage.of(one.solution), **EXACT)
        if all(each.solution is not None for each in held):
            assert values[-1] <= np.mean([each.objective for each in held]) + 1e-6


@given(seed=seeds)
@few
def test_each_future_keeps_its_rules_and_the_first_stage(seed: int) -> None:
    """Verified by plain sums; before the shared periods end, all decide alike; the expectation is a sum."""
    pair = drawn(seed)
    for shared in range(1, pair[0].periods + 1):
        found = exact(Futures(pair, np.array([0.3, 0.7]), shared))
        if not found.plans:
            continue
        one, other = found.plans
        for name in ("orders", "retired", "moved"):
            assert getattr(one, name)[:, :shared].tolist() == getattr(other, name)[:, :shared].tolist()
        for case, plan in zip(pair, found.plans, strict=True):
            assert verify(case, plan, 1e-6) == []
        sums = [objective_value(case, plan) for case, plan in zip(pair, found.plans, strict=True)]
        assert found.value == pytest.approx(0.3 * sums[0] + 0.7 * sums[1])


def test_a_budget_binds_in_the_dearest_future() -> None:
    """Nodes cost 400 USD of cash, and in the second future 600: 1,300 buy 3 of one and 2 of the other."""
    first = problem(**service([30.0]))
    first = changed(first, "services", unmet_usd=np.array([[200.0]]))
    first = changed(first, "limits", budget_usd=np.array([1300.0]))
    second = changed(first, "node_groups", capex_usd_per_node=np.array([[600.0]]))

    assert exact(Futures((first, first), np.array([0.5, 0.5]), 1)).first_stage.orders.tolist() == [[3]]
    assert exact(Futures((first, second), np.array([0.5, 0.5]), 1)).first_stage.orders.tolist() == [[2]]


def test_a_start_is_not_made_worse() -> None:
    """A plan of the futures that is there already is the worst that the answer can be."""
    futures = futures_of(0.6, 0.4)
    held = FirstStage(np.array([[1]]), *3 * [np.zeros((0, 1), dtype=int)])
    plans = [one.solution for one in in_each_future(futures, held, **EXACT)]
    known = [plan for plan in plans if plan is not None]

    found = hedge(futures, starts=known, gap_fraction=0.5, time_limit_s=60.0)

    assert found.value <= 0.6 * 115.0 + 0.4 * 615.0 + 1e-6


def test_more_may_be_held_than_the_fleet() -> None:
    """With its one replica held at none, a node that stands idle costs its 105 USD, and 10 requests 250."""
    case = serving(10.0, 25.0)
    one = FirstStage(np.array([[1]]), *3 * [np.zeros((0, 1), dtype=int)])

    found = answer_held(case, one, shared_periods=1, also=[("replicas", np.array([[0.0]]))], **EXACT)

    assert found.objective == pytest.approx(105.0 + 250.0)


@pytest.mark.parametrize(
    ("chances", "shared", "said"),
    [
        ([0.6, 0.6], 1, r"add up to 1, got \[0\.6, 0\.6\]"),
        ([1.0, 0.0], 1, "above 0"),
        ([1.0], 1, "2 futures have 1 probabilities"),
        ([0.5, 0.5], 2, "a count from 0 to 1, got 2"),
    ],
)
def test_futures_that_are_none(chances: list[float], shared: int, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        Futures((serving(10.0, 9.0), serving(30.0, 9.0)), np.array(chances), shared)


def test_futures_of_another_fleet_are_refused() -> None:
    first, second = serving(10.0, 9.0), changed(serving(30.0, 9.0), "node_groups", lead_periods=np.array([1]))
    with pytest.raises(ProblemError, match=r"future 1 has other node_groups\.lead_periods than the first"):
        Futures((first, second), np.array([0.5, 0.5]), 1)


def test_regret_asks_what_was_possible() -> None:
    with pytest.raises(ValueError, match="the best objective of every future"):
        hedge(futures_of(0.6, 0.4), aim="regret", **EXACT)


def test_the_first_representative_is_the_medoid() -> None:
    """Of 0, 1, 2, 10 and 11 on a line, 2 is nearest to all: 2 + 1 + 8 + 9 = 20; then 10 saves most."""
    points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])

    assert representatives(points, 1)[0].tolist() == [2]
    chosen, share = representatives(points, 2)
    assert chosen.tolist() == [2, 3]
    assert share.tolist() == [0.6, 0.4]


@given(seed=seeds, count=st.integers(1, 6))
@few
def test_representatives_against_all_choices(seed: int, count: int) -> None:
    """Weights add up to 1; greedy is at most twice the least distance of any choice; all rows are exact."""
    points = np.random.default_rng(seed).normal(size=(6, 2))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    least = min(apart[:, list(some)].min(axis=1).sum() for some in itertools.combinations(range(6), count))

    chosen, share = representatives(points, count)

    assert share.sum() == pytest.approx(1.0)
    assert len(set(chosen.tolist())) == count
    left = apart[:, chosen].min(axis=1).sum()
    assert least - 1e-12 <= left <= 2 * least + 1e-12


def test_more_representatives_than_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="from 1 to 2, got 3"):
        representatives(np.zeros((2, 1)), 3)
