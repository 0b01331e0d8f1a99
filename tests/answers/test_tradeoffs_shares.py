"""No share is told of a total that is nothing or less: an amount stands there instead."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planner.answers.tradeoffs import sensitivity, time_front
from solver.sensitivity import Regret


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        (1000.0, 750.0, "it emits 750 kgCO2e, 25.0 % less."),
        (-1000.0, -1500.0, "it emits -1.50 tCO2e, 500 kgCO2e less."),
        (0.0, -500.0, "it emits -500 kgCO2e, 500 kgCO2e less."),
    ],
)
def test_less_carbon_is_a_share_only_of_something(first: float, last: float, said: str) -> None:
    """Contracts of clean energy can bring the market-based carbon of a plan below nothing."""
    rows = [
        {"deadline": "2027-05-01", "carbon_kgco2e": first, "mark": "earliest"},
        {"deadline": "2027-06-30", "carbon_kgco2e": last, "mark": "cleanest"},
    ]
    found: Any = SimpleNamespace(complete=False, without_plan=())

    assert any(line.endswith(said) for line in time_front._sentences(found, rows))


@pytest.mark.parametrize(
    ("best", "more"), [(1000.0, "2.50 %"), (-1000.0, "25.0 kgCO2e"), (0.0, "25.0 kgCO2e")]
)
def test_keeping_a_fleet_costs_a_share_only_of_something(best: float, more: str) -> None:
    lever: Any = SimpleNamespace(unit="times")
    flip: Any = SimpleNamespace(at_end=Regret(2.0, best + 25.0, best, None))
    weights = SimpleNamespace(money_weight=1e-5)
    plan: Any = SimpleNamespace(problem=SimpleNamespace(objective=weights))

    assert sensitivity._keeping(plan, lever, flip) == (
        f" (keeping this fleet costs {more} more at 2 times today's)"
    )
