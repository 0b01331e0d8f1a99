"""The rows that fractions break: no plan breaks one, and the relaxation is nearer to the plans."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_cases import limits, pools, problem, service
from test_solver_optimum import best, draw_more, with_tiers

from benchmarks import fleets
from benchmarks.fleets import fleet
from solver import steps
from solver.build import build
from solver.problem import Problem, Tiers
from solver.program import Program
from solver.tighten import keep_the_pace, split_by_rebate


def relaxed(program: Program) -> float:
    return steps.Search(0.0, time.monotonic() + 60, None).relax(program).objective


def every_sku(case: Problem) -> np.ndarray:
    return np.full(len(case.sku_names), True)


def tightened(case: Problem, *, best_only: bool = False) -> Program:
    program = build(case)
    keep_the_pace(program)
    split_by_rebate(program, every_sku(case), best_only=best_only)
    return program


def one_rebate() -> Problem:
    """A service that 4 nodes carry, of a dear SKU, or of one that costs half as much from 8 nodes on."""
    one = service([40.0])
    serves = one["serve_options"]
    both = {
        field.name: np.repeat(getattr(serves, field.name), 2, axis=0) for field in dataclasses.fields(serves)
    }
    both["pool"] = np.array([0, 1])
    usd = [[100.0], [1e6]]
    return problem(
        count=2,
        pools=pools(count=2, holding_usd_per_node=usd, capital_usd_per_node=usd),
        limits=limits(skus=2),
        tiers=Tiers(sku=[0], from_nodes=[8.0], rebate_fraction=[0.5]),  # type: ignore[arg-type]
        **one | {"serve_options": dataclasses.replace(serves, **both)},
    )


@given(seed=st.integers(0, 2**32 - 1), best_only=st.booleans())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_plan_is_below_the_tightened_relaxation(seed: int, best_only: bool) -> None:
    """Trying everything finds nothing cheaper, and the rows only lift the relaxation."""
    case = with_tiers(draw_more(seed), np.random.default_rng(seed))
    optimum = best(case)
    if optimum.solution is not None:
        bound = relaxed(tightened(case, best_only=best_only))
        slack = 1e-6 * abs(optimum.objective) + 1e-6

        assert 1000 * bound <= optimum.objective + slack
        assert bound >= relaxed(build(case)) - slack / 1000


def test_a_rebate_that_just_pays_is_priced_as_in_whole() -> None:
    """4 nodes at full price cost what 8 at half do, 400. Half of the rebate would make it 200."""
    case = one_rebate()
    plan = best(case)

    assert relaxed(tightened(case)) == pytest.approx(plan.objective / 1000, rel=1e-6)
    assert relaxed(build(case)) < 0.9 * relaxed(tightened(case))


def test_a_made_up_fleet_is_nearer_to_its_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pace alone lifts the relaxation by a third of a percent, all the rows by 1.5 %."""
    monkeypatch.setitem(fleets.SIZES, "some", fleets.Size(6, 3, 6, 16, 2, 4))
    plain, paced = relaxed(build(fleet("some"))), build(fleet("some"))
    keep_the_pace(paced)

    assert relaxed(paced) > 1.003 * plain
    assert relaxed(tightened(fleet("some"))) > 1.015 * plain
