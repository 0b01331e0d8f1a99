"""The purchase list: by when to order, how many units, and whose price."""

from __future__ import annotations

import math
from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.answers.plan.fleet import _order_days, purchase_records
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Horizon, load_scenario, with_changes
from planner.program.assembly import assemble
from planner.trace.records import plain_rows
from planner.trace.units import parse_quantity

QUARTERS = Horizon(start=date(2027, 1, 1), periods=4, period="quarter")


@pytest.mark.parametrize(
    ("placed", "lead_d", "order_by", "arrives"),
    [
        (0, 60, date(2027, 1, 31), date(2027, 4, 1)),  # 60 days before the first of April
        (1, 100, date(2027, 6, 23), date(2027, 10, 1)),  # two quarters of lead, 100 days before October
        (2, 0, date(2027, 7, 1), date(2027, 7, 1)),  # there at once
        (0, 90, date(2027, 1, 1), date(2027, 4, 1)),  # the whole quarter: not a day to wait
        (2, 4.5, date(2027, 9, 26), date(2027, 10, 1)),  # a day that has begun is a day
        (0, 365.25 / 4, date(2026, 12, 30), date(2027, 4, 1)),  # "3 months": two days more than the quarter
    ],
)
def test_an_order_may_wait_until_its_lead_time_before_the_arrival(
    placed: int, lead_d: float, order_by: date, arrives: date
) -> None:
    lead_periods = QUARTERS.lead_periods(24 * lead_d)

    assert _order_days(QUARTERS, placed, lead_periods, 24 * lead_d) == (order_by, arrives)


@given(st.integers(0, 11), st.integers(0, 7200), st.sampled_from(["month", "quarter"]), st.integers(1, 12))
def test_an_order_is_placed_in_its_period_and_arrives_in_time(
    placed: int, lead_h: int, period: Any, month: int
) -> None:
    """The program's whole periods of lead leave room for the true lead time, whatever the months' lengths.

    No more than three days of it lie before the period: those that a month may lack.
    """
    horizon = Horizon(start=date(2027, month, 1), periods=24, period=period)
    lead_periods = horizon.lead_periods(lead_h)
    order_by, arrives = _order_days(horizon, placed, lead_periods, lead_h)
    days = horizon.period_starts

    assert days[placed] - timedelta(days=3) <= order_by < days[placed + 1]
    assert lead_periods <= math.ceil(lead_h / min(horizon.hours))
    assert order_by + timedelta(hours=math.ceil(lead_h / 24) * 24) <= arrives
    assert arrives == days[placed + lead_periods]


@pytest.mark.parametrize(
    ("period", "lead", "periods"),
    [
        ("month", "1 month", 1),
        ("month", "30 d", 1),
        ("month", "90 d", 3),
        ("month", "1 y", 12),
        ("month", "32 d", 2),
        ("quarter", "3 months", 1),
        ("quarter", "10 d", 1),
        ("quarter", "100 d", 2),
    ],
)
def test_months_of_lead_are_as_many_months(period: Any, lead: str, periods: int) -> None:
    """By the shortest month of the horizon a year of lead was 14 months, and 3 months were two quarters."""
    horizon = Horizon(start=date(2027, 1, 1), periods=12, period=period)

    assert horizon.lead_periods(parse_quantity(lead, "h")) == periods


@pytest.mark.nightly
def test_an_order_states_units_bill_and_source() -> None:
    """Five units of 2 nodes at the catalogue's dated price, two at the scenario's own 300 kUSD in Q2."""
    changes = {"market[0].price": ["310 kUSD", "300 kUSD", "290 kUSD", "280 kUSD"]}
    scenario = with_changes(load_scenario(data_folder() / "scenarios" / "next-quarter.toml"), changes)
    inputs = Inputs(scenario, load_catalogue())
    problem = assemble(inputs).problem
    names = [sku.name for sku in inputs.skus]
    orders = np.zeros((len(problem.node_groups), 4), dtype=np.int64)
    own, listed = (
        int(np.flatnonzero(problem.node_groups.sku == names.index(n))[0]) for n in ("h100-8", "h200-8")
    )
    orders[listed, 0], orders[own, 1] = 5, 2
    plan: Any = SimpleNamespace(inputs=inputs, problem=problem, ledger=SimpleNamespace(rebate=None))
    first, second = plain_rows(purchase_records(plan, cast(Any, SimpleNamespace(orders=orders))))
    fact = load_catalogue().fact("server.hgx-h200.price")

    assert (first["sku"], first["order_units"], first["nodes"], first["accelerators"]) == (
        "h200-8",
        5,
        10,
        80,
    )
    assert first["capex_usd"] == 10 * fact.value
    assert fact.source.cite() in first["price_source"]
    assert first["price_kind"] == fact.kind
    assert (first["order_by"], first["arrives"]) == ("2027-01-31", "2027-04-01")
    assert (second["nodes"], second["price_usd_per_node"], second["capex_usd"]) == (4, 300_000, 1_200_000)
    assert second["price_kind"] == "yours"
    assert second["price_source"].endswith("market.h100-8.price[1]")
