"""Least of one thing under a cap on another, by prices: against trying everything, and bounds by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_solver_frontier import every_plan, three_skus
from test_solver_optimum import draw_more

from solver import answer as answering
from solver import within_cap
from solver.answer import answer
from solver.backend import Status
from solver.frontier import CARBON, MONEY
from solver.known import Answer
from solver.mean_slots import mean_slots
from solver.narrow import narrow
from solver.problem import Objective, Problem, Resting, SlotDemand, Slots
from solver.program import Program
from solver.verify import objective_value, verify
from solver.within_cap import Supports, answer_within_cap


def found(case: Problem, **options: object) -> Answer:
    plain: dict[str, object] = {"gap_fraction": 0.0, "time_limit_s": 20.0}
    return answer_within_cap(case, **(plain | options))  # type: ignore[arg-type]


def under_money(usd: float) -> Problem:
    """Three SKUs, five replicas: the least carbon for no more money."""
    case = three_skus()
    return replace(case, objective=CARBON, limits=replace(case.limits, money_cap_usd=usd))


def by_prices_alone(case: Problem, **options: object) -> Answer:
    """The plain search has no time, so that all is left to prices and to what plans use."""
    return found(case, plain_fraction=0.0, **options)


@pytest.mark.parametrize("usd", [575.0, 640.0, 700.0, 790.0, 900.0, 950.0])
def test_the_cleanest_plan_within_a_cap_on_money(usd: float) -> None:
    """As by trying all 21 divisions, whether the plain search ends or prices have to."""
    best = min(kgco2e for paid, kgco2e in every_plan() if paid <= usd + 1e-6)
    assert found(under_money(usd)).objective == pytest.approx(best)
    by_prices = by_prices_alone(under_money(usd))
    assert by_prices.solution is not None
    assert verify(under_money(usd), by_prices.solution, 1e-6) == []
    assert by_prices.objective == pytest.approx(best)
    assert by_prices.bound <= best + 1e-6


def test_the_cheapest_plan_within_a_cap_on_carbon() -> None:
    case = three_skus(carbon_cap_kgco2e=140.0)
    best = min(usd for usd, kgco2e in every_plan() if kgco2e <= 140.0 + 1e-6)
    assert by_prices_alone(case).objective == pytest.approx(best)


def test_prices_bound_every_cap() -> None:
    """At 0.4 kg a dollar each replica is best on the second SKU: 26 + 0.4 * 140 kg for each of five.

    So 575 USD more than 700 cannot bring less than 130 - 0.4 * 200 kg, whatever the fleet.
    """
    case = replace(three_skus(), objective=Objective(0.4, 1.0))
    least = answer(case, gap_fraction=0.0, time_limit_s=20.0).bound
    assert least == pytest.approx(5 * (26 + 0.4 * 140))
    supports = Supports(bounds={0.4: least})
    assert supports.bound(700.0) == pytest.approx(130.0)
    for usd in (575.0, 640.0, 900.0):
        best = min(kgco2e for paid, kgco2e in every_plan() if paid <= usd + 1e-6)
        assert supports.bound(usd) <= best + 1e-6
    assert Supports().bound(700.0) == -math.inf


def test_what_one_cap_found_serves_the_next() -> None:
    """Plans beyond the cap are kept with those within it, as plain plans are, and prices with bounds."""
    supports = Supports()
    alone = found(under_money(790.0), supports=supports)
    assert alone.solution is not None
    assert [plan.usd for plan in supports.plans] == [alone.solution.usd]
    wide = by_prices_alone(under_money(900.0), supports=supports)
    priced = dict(supports.bounds)
    assert any(plan is wide.solution for plan in supports.plans)
    near = by_prices_alone(under_money(640.0), supports=supports)
    assert near.solution is not None
    assert set(priced) <= set(supports.bounds)
    assert near.solution.usd <= 640.0 * (1 + 1e-6)


def test_no_plan_within_the_cap() -> None:
    """Five replicas cost at least 575 USD."""
    assert found(under_money(570.0)).status is Status.INFEASIBLE


def test_a_stop_keeps_the_plan_that_is_known() -> None:
    """Asked after the first price, it is not searched further."""
    known = by_prices_alone(under_money(640.0))
    assert known.solution is not None
    supports = Supports([known.solution])
    stopped = by_prices_alone(
        under_money(640.0), supports=supports, should_stop=lambda: bool(supports.bounds)
    )
    assert stopped.status is Status.INTERRUPTED
    assert len(supports.bounds) == 1
    assert stopped.objective <= known.objective


def test_without_a_cap_it_is_the_answer_as_ever() -> None:
    """Nor where the cap is on what is minimised alone: no price would say more."""
    for case in (
        replace(three_skus(), objective=MONEY),
        replace(under_money(600.0), objective=MONEY),
        replace(three_skus(carbon_cap_kgco2e=200.0), objective=CARBON),
    ):
        assert by_prices_alone(case).status is Status.OPTIMAL


def by_day_and_night(case: Problem) -> Problem:
    """Two days and two nights of 25 h: four replicas of five may rest in a night, for 2 USD less each.

    Waking takes 10 USD, so that none rests; where days and nights are joined, waking is free.
    """
    options, night = len(case.serve_options), np.array([0.0, 1.0, 0.0, 1.0])
    nothing = np.zeros((options, 1, 4))
    return replace(
        case,
        slots=Slots(
            hours=np.full((4, 1), 25.0),
            before=np.array([3, 0, 1, 2]),
            day_type=np.zeros(4, dtype=np.int64),
            days=np.ones((4, 1)),
        ),
        slot_demand=SlotDemand(ready_fraction=(1 - 0.8 * night)[None, None, :]),
        resting=Resting(
            may_rest=np.ones(options, dtype=bool),
            quiet_usd=nothing,
            quiet_kgco2e=nothing,
            rest_usd=nothing - 2 * night,
            rest_kgco2e=nothing,
            wake_usd=np.full((options, 1), 10.0),
        ),
    )


@pytest.mark.parametrize("known", [False, True])
def test_few_slots_leave_room_for_what_all_slots_take_more(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 640 USD, few slots would take the plan of 650, from which 4 * 2 * 2 are saved that waking takes.

    A known plan tells these 16 USD at once; without one, the plan that is above the cap does.
    """
    case = by_day_and_night(under_money(640.0))
    start = answer(replace(case, objective=MONEY), gap_fraction=0.0, time_limit_s=20.0).solution
    asked: list[float] = []

    def recorded(problem: Problem, **options: Any) -> Answer:
        if len(problem.slots) == 2:
            asked.append(problem.limits.money_cap_usd)
        return answer(problem, **options)

    monkeypatch.setattr(within_cap, "answer", recorded)
    best = found(case, start=start if known else None)
    assert asked == pytest.approx([624.0] if known else [640.0, 624.0])
    assert best.objective == pytest.approx(190.0)
    assert best.status is Status.OPTIMAL


def test_few_slots_with_all_of_the_cap_bound_every_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room was left for the 16 USD of waking, so that what they bound is asked anew, with 640 USD.

    The best plan has 190 kg; few slots, in which waking is free, have that of 650 USD for 180 kg.
    """
    case = by_day_and_night(under_money(640.0))
    start = answer(replace(case, objective=MONEY), gap_fraction=0.0, time_limit_s=20.0).solution
    few = answer(mean_slots(case, 2), gap_fraction=0.0, time_limit_s=20.0)
    asked: list[float] = []

    def recorded(problem: Problem, **options: Any) -> Answer:
        if len(problem.slots) == 2:
            asked.append(problem.limits.money_cap_usd)
        found = answer(problem, **options)
        return replace(found, status=Status.TIME_LIMIT, bound=-math.inf) if problem is case else found

    monkeypatch.setattr(within_cap, "answer", recorded)
    best = found(case, start=start)
    assert asked[:2] == pytest.approx([624.0, 640.0])
    assert best.objective == pytest.approx(190.0)
    assert few.objective < 190.0
    assert best.bound >= few.objective - 1e-6


@pytest.mark.parametrize(("usd", "all_of_it"), [(575.0, False), (599.0, True)])
def test_no_price_is_tried_that_could_not_bring_a_near_bound(
    usd: float, all_of_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 600 USD, 20 kg of 230 less: just below, a price leaves 8 % of them, and with 575 nothing."""
    plans = [found(under_money(paid)).solution for paid in (usd, 600.0)]
    supports = Supports([plan for plan in plans if plan is not None])
    limits: list[float] = []

    def recorded(problem: Problem, **options: Any) -> Answer:
        limits.append(options["time_limit_s"])
        return answer(problem, **options)

    monkeypatch.setattr(within_cap, "answer", recorded)
    assert len(supports.plans) == 2
    found(under_money(usd), supports=supports)
    assert (limits[0] > 15.0) is all_of_it


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 11, 35, 41])
def test_drawn_fleets_by_prices_alone(seed: int) -> None:
    """Halfway in money between the cheapest and the cleanest: as the plain search."""
    case = draw_more(seed)
    ends = [
        answer(replace(case, objective=one), gap_fraction=0.0, time_limit_s=20.0).solution
        for one in (MONEY, CARBON)
    ]
    cheap, clean = ends
    assert cheap is not None
    assert clean is not None
    capped = replace(
        case,
        objective=CARBON,
        limits=replace(case.limits, money_cap_usd=(cheap.usd + clean.usd) / 2),
    )
    best = answer(capped, gap_fraction=0.0, time_limit_s=20.0)
    again = by_prices_alone(capped)
    assert again.solution is not None
    assert verify(capped, again.solution, 1e-6) == []
    assert again.bound <= best.objective + 1e-6 * abs(best.objective)
    assert again.objective == pytest.approx(best.objective, rel=1e-6, abs=1e-6)
    assert objective_value(capped, again.solution) == pytest.approx(again.objective)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 11, 35, 41])
def test_what_a_known_plan_bars_is_no_better_plan(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a plan to start from, rows for whole steps of spares and fewer nodes leave the best plan."""
    case = draw_more(seed)
    plans = [
        answer(replace(case, objective=one), gap_fraction=0.0, time_limit_s=20.0).solution
        for one in (MONEY, CARBON)
    ]
    cheap, clean = plans
    assert cheap is not None
    assert clean is not None
    cap_usd = (cheap.usd + clean.usd) / 2
    capped = replace(case, objective=CARBON, limits=replace(case.limits, money_cap_usd=cap_usd))
    best = answer(capped, gap_fraction=0.0, time_limit_s=20.0)
    narrowed: list[float] = []

    def recorded(program: Program, cost: float, **options: Any) -> None:
        narrowed.append(cost)
        narrow(program, cost, **options)

    monkeypatch.setattr("solver.known.SMALL", 0)
    monkeypatch.setattr(answering, "narrow", recorded)
    again = answer(capped, gap_fraction=0.0, time_limit_s=20.0, start=cheap)
    assert len(narrowed) == 1
    assert again.status is Status.OPTIMAL
    assert again.objective == pytest.approx(best.objective, rel=1e-6, abs=1e-6)
