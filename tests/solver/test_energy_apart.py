"""Batteries and the sun apart from the fleet: what load is worth, and that both parts bound the whole."""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from test_site_energy import CARBON, FREE, MONEY, best, site, with_cells

from benchmarks.studies.slots import problem_of
from solver import account
from solver import energy_apart as apart
from solver.account_energy import without_energy
from solver.answer import answer
from solver.backend import Status
from solver.known import Answer
from solver.problem import Drawing, Objective, Problem, SiteEnergy, Solution
from solver.verify import objective_value
from solver.verify_energy import fixed_kw, load_kw

SLOTS = 12


@cache
def fleet() -> Problem:
    """A made-up fleet with all levers, energy drawn at random, a battery and the sun's cells at each site."""
    case = problem_of("S", SLOTS)
    rng = np.random.default_rng(3)
    sites, groups, serves = len(case.site_names), case.node_groups, case.serve_options
    hours, slot_h = groups.hours, case.slots.hours.T

    def drawn(table: Any, *columns: str, most: float, least: float = 0.0) -> Any:
        made = {}
        for column in columns:
            axes = table.SHAPES[column].axes
            shape = {"*T": (len(table), case.periods), "*TY": (len(table), case.periods, SLOTS)}[axes]
            made[column] = rng.uniform(least, most, shape)
        return dataclasses.replace(table, **made)

    prices = {
        f"{load}_usd_per_kwh": rng.uniform(0.01, 0.09, (sites, case.periods, SLOTS))
        for load in ("moved", "fixed")
    }
    shines = np.maximum(np.sin(np.arange(SLOTS) * np.pi / 6 - 1.5), 0.0) * np.ones((sites, case.periods, 1))
    return dataclasses.replace(
        case,
        node_groups=dataclasses.replace(
            groups,
            idle_kwh_per_node=groups.idle_kw[:, None] * hours,
            off_kwh_per_node=groups.idle_kw[:, None] * hours * 0.2,
        ),
        serve_options=drawn(serves, "kwh", most=2.0 * hours[0]),
        work_options=drawn(case.work_options, "kwh_per_node_h", most=6.0, least=4.0),
        pausable_options=drawn(case.pausable_options, "kwh_per_node_h", most=6.0, least=4.0),
        work_shifts=dataclasses.replace(
            drawn(case.work_shifts, "lent_kwh_per_node_h", most=2.0), stop_kgco2e=case.work_shifts.stop_usd
        ),
        pausable_shifts=dataclasses.replace(case.pausable_shifts, stop_kgco2e=case.pausable_shifts.stop_usd),
        resting=drawn(case.resting, "quiet_kwh", "rest_kwh", most=0.0, least=-float(slot_h.min()) / 2),
        switching=drawn(case.switching, "off_kwh", most=0.0, least=-float(slot_h.min())),
        drawing=Drawing(
            drawn_kw=(kw := rng.uniform(0.5, 2.0, (len(serves), case.periods, SLOTS))), highest_kw=kw
        ),
        site_energy=SiteEnergy(
            most_kwh=np.full(sites, 2e3),
            kw_per_kwh=np.full(sites, 0.25),
            one_way_fraction=np.full(sites, 0.93),
            battery_usd_per_kwh=np.full((sites, case.periods), 0.5),
            sun_kw=0 * shines,
            solar_most_kw=np.full(sites, 900.0),
            solar_kw_per_kw=shines,
            solar_usd_per_kw=np.full((sites, case.periods), 15.0),
            least_usd_per_kwh=np.minimum(*prices.values()),
            **prices,
        ),
        objective=Objective(money_weight=1.3, carbon_weight=0.1),
    )


def with_weights(money: float, carbon: float) -> Problem:
    return dataclasses.replace(fleet(), objective=Objective(money, carbon))


@cache
def plain_plan() -> Solution:
    found = answer(without_energy(fleet()), gap_fraction=0.05, time_limit_s=20.0).solution
    assert found is not None
    return found


def charged(of: Problem, plan: Solution) -> float:
    return objective_value(of, account.solution(of, plan))


@pytest.mark.parametrize(("money", "carbon"), [(1.3, 0.1), (1.0, 0.0), (0.2, 1.0), (0.0, 1.0)])
def test_a_plan_costs_less_by_what_its_load_is_worth(money: float, carbon: float) -> None:
    """Whatever draws at a site, by the account of its load, which knows nothing of the rows."""
    case, plan = with_weights(money, carbon), plain_plan()
    assert plan.slots is not None
    for used in ("work", "lent", "rest", "off"):
        assert getattr(plan.slots, used).any(), used
    shape = (len(case.site_names), case.periods, SLOTS)
    worth, fixed = np.random.default_rng(5).uniform(0, 2.0, (2, *shape))

    cheaper = apart._worth_less(case, worth, fixed)

    less = charged(without_energy(case), plan) - charged(cheaper, plan)
    assert less == pytest.approx((worth * load_kw(case, plan) + fixed * fixed_kw(case, plan)).sum(), rel=1e-9)


@pytest.mark.parametrize(
    ("case", "objective"),
    [
        (site(**FREE), CARBON),
        (site(**FREE | {"one_way_fraction": [0.8], "kw_per_kwh": [0.25]}), CARBON),
        (site(sun_kw=[[[0.0, 50.0, 400.0, 0.0]]]), MONEY),
        (with_cells(solar_most_kw=[1e4], solar_usd_per_kw=[[5.0]]), MONEY),
        (with_cells(solar_most_kw=[70.0], solar_usd_per_kw=[[5.0]]), MONEY),
        (
            with_cells(
                solar_most_kw=[1e4],
                solar_kgco2e_per_kw=[[30.0]],
                **FREE | {"one_way_fraction": [0.9], "battery_kgco2e_per_kwh": [[2.0]]},
            ),
            CARBON,
        ),
    ],
)
def test_where_nothing_of_the_fleet_is_open_both_parts_make_the_whole(
    case: Problem, objective: Objective
) -> None:
    """By the duality of linear programs, next to the best operation."""
    case = dataclasses.replace(case, objective=objective)
    whole = best(case, objective)
    assert whole.solution is not None

    parts = apart.energy_apart(case, whole.solution, time_limit_s=10.0)

    assert parts is not None
    assert best(parts.fleet, objective).objective + parts.least == pytest.approx(whole.objective, rel=1e-6)


def test_both_parts_bound_the_whole_next_to_a_plan_that_is_not_the_best() -> None:
    case = fleet()
    found = answer(case, gap_fraction=0.02, time_limit_s=30.0)
    assert found.solution is not None
    assert found.solution.solar_kw.any()
    parts = apart.energy_apart(case, plain_plan(), time_limit_s=10.0)
    assert parts is not None
    assert parts.least < 0
    bound = answer(parts.fleet, gap_fraction=0.02, time_limit_s=20.0).bound + parts.least
    assert found.objective * 0.95 < bound <= found.objective * (1 + 1e-9)


@pytest.mark.parametrize("few", [0, 10**6])
def test_an_answer_is_the_same_by_either_way(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gain of 18.6 kg for each of 370 kW that are stored, and of 30 for each of 100."""
    terms: dict[str, Any] = {"one_way_fraction": [0.9], "battery_kgco2e_per_kwh": [[2.0]]}
    case = with_cells(solar_most_kw=[1e4], solar_kgco2e_per_kw=[[30.0]], **FREE | terms)
    asked_for = []
    monkeypatch.setattr("solver.known.SMALL", few)
    monkeypatch.setattr(
        "solver.from_slots.energy_apart", lambda *a, **k: asked_for.append(a) or apart.energy_apart(*a, **k)
    )
    whole = best(case, CARBON)

    assert bool(asked_for) is (few == 0)
    assert whole.gap_fraction <= 1e-6
    assert whole.solution is not None
    assert whole.solution.battery_kwh == pytest.approx([5.4 * 300 / 0.81], abs=1e-6)


def test_a_fleet_that_is_called_infeasible_bounds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one, that of the known plan: an engine may say so by rounding."""
    case = site(**FREE)
    plan = best(case, CARBON).solution
    assert plan is not None
    none = Answer(Status.INFEASIBLE, None, math.nan, math.inf, math.inf, 0.0)
    monkeypatch.setattr("solver.known.SMALL", 0)
    monkeypatch.setattr("solver.from_slots.FromSlots.answer_of", lambda *_: none)

    found = answer(
        dataclasses.replace(case, objective=CARBON), gap_fraction=0.01, time_limit_s=5.0, start=plan
    )

    assert math.isfinite(found.bound)
    assert found.bound <= found.objective + 1e-6


def test_no_prices_at_which_idling_or_a_stop_would_earn() -> None:
    case = fleet()
    much = np.full((len(case.site_names), case.periods, SLOTS), 50.0)
    with pytest.raises(apart._EarnsError):
        apart._worth_less(case, much * case.slots.hours[0, 0], 0 * much)


def test_what_ties_both_otherwise_is_left_to_the_whole() -> None:
    assert apart.may_stand_apart(site(**FREE))
    assert not apart.may_stand_apart(site())
    assert not apart.may_stand_apart(site(peak=14.0, **FREE))
    capped = dataclasses.replace(site(**FREE).limits, carbon_cap_kgco2e=1e6)
    assert not apart.may_stand_apart(dataclasses.replace(site(**FREE), limits=capped))
