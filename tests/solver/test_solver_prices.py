"""What a limit is worth: by hand, by moving the limit a little, and by solving the program again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from infeasible_cases import fleet_of_every_kind
from sizes import size
from solver_cases import changed, limits, node_groups, one_job, problem, run_option, service, work
from test_solver_optimum import best, draw

from solver import backend
from solver.answer import answer
from solver.backend import Status
from solver.build import THOUSAND, build
from solver.decisions import fix
from solver.infeasible import moved
from solver.known import Answer
from solver.prices import WHOLE, Price, limit_uses, prices
from solver.problem import Cohorts, Objective, Problem
from solver.program import FAMILIES, Program


def busy(**columns: Any) -> Problem:
    """A job of 2 nodes, 3 replicas, half a node of work: 6 nodes, 13.5 kW, 6 racks, 2400 USD, 97.5 kg."""
    parts = service([25.0]) | work([50.0])
    return problem(jobs=one_job(), run_options=run_option([[2]]), limits=limits(**columns), **parts)


def two_old_nodes(power_kw: float) -> Problem:
    """100 h of work on two standing nodes: 10 USD and 2 kW on the first, 30 USD and 1 kW on the second."""
    one = np.ones((2, 1))
    return problem(
        count=2,
        node_groups=node_groups(count=2, purchase_allowed=0 * one),
        cohorts=Cohorts(
            node_group=[0, 1],  # type: ignore[arg-type]
            nodes=[1, 1],  # type: ignore[arg-type]
            keep_usd_per_node=0 * one,
            keep_kgco2e_per_node=0 * one,
            retire_usd_per_node=50 * one,
            must_retire_by=[1, 1],  # type: ignore[arg-type]
        ),
        **work(
            [100.0],
            work=[0, 0],
            node_group=[0, 1],
            speed=[1.0, 1.0],
            active_kw=[2.0, 1.0],
            usd_per_node_h=[[0.1], [0.3]],
            kgco2e_per_node_h=[[0.1], [0.1]],
        ),
        limits=limits(skus=2, power_kw=[[power_kw]]),
    )


def price(case: Problem, plan: Answer, family: str, *, confirm: bool = False) -> Price:
    found = prices(case, plan, gap_fraction=0.0, time_limit_s=20, confirm=confirm)
    return next(each for each in found if each.family == family)


def test_the_use_of_every_limit() -> None:
    """The sums of `busy`, worked out by hand there; 2 replicas and a half would do, 3 carry 30 of 25."""
    case = busy(
        power_kw=[[20.0]],
        racks=[6.0],
        supply_nodes=[[8.0]],
        budget_usd=[3000.0],
        carbon_cap_kgco2e=100.0,
        minimum_nodes=[4.0],
    )
    plan = best(case)
    assert plan.solution is not None
    uses = {use.family: use for use in limit_uses(case, plan.solution, tolerance=1e-6)}

    assert {name: (use.used, use.left, use.binding) for name, use in uses.items()} == {
        "power": (pytest.approx(13.5), pytest.approx(6.5), False),
        "space": (6.0, 0.0, True),
        "supply": (6.0, 2.0, False),
        "budget": (2400.0, 600.0, False),
        "carbon cap": (pytest.approx(97.5), pytest.approx(2.5), False),
        "minimum order": (6.0, 2.0, False),
        "demand": (30.0, 5.0, False),
        "work": (pytest.approx(50.0), pytest.approx(0.0, abs=1e-6), True),
    }
    assert uses["power"].unit == "kW"
    assert uses["power"].label == "power, oregon, period 0"


def test_what_is_not_limited_is_not_listed() -> None:
    """A minimum order is a limit only where something is ordered, demand only where there is some."""
    case = problem(limits=limits(minimum_nodes=[4.0]))
    plan = best(case)
    assert plan.solution is not None

    assert limit_uses(case, plan.solution, tolerance=1e-6) == ()


def test_a_kilowatt_moves_work_to_the_cheaper_node() -> None:
    """Idle 2 kW, 3.5 allowed: half the work on each. One more kW moves a whole node's 100 h: 30 - 10 USD.

    A step is a node at full power, 3 kW: with it all work is on the first (10 USD less); without it the
    0.5 kW left feed neither node.
    """
    case = two_old_nodes(3.5)
    plan = best(case)
    found = price(case, plan, "power", confirm=True)

    assert plan.objective == pytest.approx(0.5 * 10 + 0.5 * 30 + 5)  # one of two nodes' hours is idle
    assert found.saving_per_unit == pytest.approx(20.0)
    assert found.relaxed_saving_per_unit == pytest.approx(20.0)
    assert found.eased is not None
    assert (found.eased.amount, found.eased.change) == (pytest.approx(3.0), pytest.approx(-10.0))
    assert found.tightened is not None
    assert found.tightened.status is Status.INFEASIBLE
    assert found.tightened.change == math.inf


def test_a_limit_with_room_is_worth_nothing() -> None:
    case = two_old_nodes(10.0)
    found = price(case, best(case), "power", confirm=True)

    assert (found.saving_per_unit, found.relaxed_saving_per_unit) == (0.0, 0.0)
    assert found.eased is None


def test_whole_numbers_hide_a_price_that_steps_show() -> None:
    """3 nodes serve 25 of 30 requests/s: held, a request is free; in fractions it costs a tenth node.

    A node in service costs 100 USD and a replica 15, so 11.5 USD per request/s. Asking for 10 less takes one
    node away; asking for 10 more brings one.
    """
    case = problem(**service([25.0]))
    found = price(case, best(case), "demand")
    full = changed(case, "services", demand=[[30.0]])
    confirmed = price(full, best(full), "demand", confirm=True)

    assert found.saving_per_unit == 0.0
    assert found.relaxed_saving_per_unit == pytest.approx(11.5)
    assert confirmed.eased is not None
    assert confirmed.tightened is not None
    assert (confirmed.eased.amount, confirmed.tightened.amount) == (10.0, -10.0)
    assert confirmed.eased.change == pytest.approx(-115.0)
    assert confirmed.tightened.change == pytest.approx(115.0)
    assert (confirmed.tightened.least, confirmed.tightened.most) == (pytest.approx(115.0),) * 2


def test_prices_are_in_units_of_the_objective() -> None:
    """Doubling the weight of money doubles what a limit is worth."""
    case = two_old_nodes(3.5)
    double = changed(case, "objective", money_weight=2.0)
    assert double.objective == Objective(2.0, 0.0)

    assert price(double, best(double), "power").saving_per_unit == pytest.approx(40.0)


def test_no_plan_has_no_price() -> None:
    case = two_old_nodes(1.0)
    assert prices(case, best(case), gap_fraction=0.0, time_limit_s=20) == ()


def test_rows_of_every_family_have_a_use_and_a_price() -> None:
    """A fleet with every kind of limit and decision: what is listed is what is limited, in both tables."""
    case = fleet_of_every_kind(2)
    plan = answer(case, gap_fraction=0.01, time_limit_s=20)
    assert plan.solution is not None
    uses = {(each.family, each.index) for each in limit_uses(case, plan.solution, tolerance=1e-6)}
    found = prices(case, plan, gap_fraction=0.01, time_limit_s=20)

    assert {(each.family, each.index) for each in found} == uses
    # That of curtailment: test_solver_curtailment.py.
    assert {each.family for each in found} == set(FAMILIES) - {*WHOLE, "minimum order", "curtailment"}


def _held_objective(case: Problem, program: Program, values: dict[str, float]) -> float:
    """The least objective with the whole numbers of `values`; infinite where they break a limit."""
    for variable in program.model.variables():
        if variable.cat == "Integer":
            # A choice that only the moved limit opens was not taken before it.
            fix(variable, round(values.get(variable.name, 0)))
    outcome = backend.solve(program.model, gap_fraction=0.0, time_limit_s=20)
    return outcome.objective * THOUSAND if outcome.status.has_plan else math.inf


@given(seed=st.integers(0, 2**32 - 1))
@example(seed=240)
@settings(max_examples=size(5, nightly=20), deadline=None, derandomize=True)
def test_the_held_price_lies_between_what_a_little_more_and_a_little_less_change(seed: int) -> None:
    """Independent route: the limit itself is moved by a little in the plain program, whole numbers held."""
    case = draw(seed)
    plan = best(case)
    if plan.solution is None:
        return
    start = build(case)
    for variable in start.model.variables():
        if variable.name in (known := start.start(plan.solution)) and variable.cat == "Integer":
            fix(variable, known[variable.name])
    values = dict(backend.solve(start.model, gap_fraction=0.0, time_limit_s=20).values)
    held = _held_objective(case, build(case), values)
    little = 1e-3
    for found in prices(case, plan, gap_fraction=0.0, time_limit_s=20):
        more, less = (
            _held_objective(case, build(moved(case, found.family, found.index, amount)), values)
            for amount in (little, -little)
        )
        assert (held - more) / little <= found.saving_per_unit + 1e-3
        assert found.saving_per_unit <= (less - held) / little + 1e-3


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=size(4, nightly=15), deadline=None, derandomize=True)
def test_easing_never_costs_and_tightening_never_saves(seed: int) -> None:
    """A wider limit keeps every plan, a narrower one adds none."""
    case = draw(seed)
    for found in prices(case, best(case), gap_fraction=0.0, time_limit_s=20, confirm=True):
        if found.eased is not None:
            assert found.eased.least - 1e-6 <= found.eased.change <= 1e-6
        if found.tightened is not None:
            assert found.tightened.change >= -1e-6
