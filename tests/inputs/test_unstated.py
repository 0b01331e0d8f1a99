"""What decides and is not stated: `check` lists it with the value taken and the key that would state it."""

from __future__ import annotations

from datetime import date

import pytest

from planner.answers.check import notes_on
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario import load_scenario, with_changes
from planner.inputs.unstated import unstated_notes

GROWTH = data_folder() / "scenarios" / "growth.toml"
TAKEN = "Not stated, so taken from the catalogue: "


def test_what_is_not_stated_is_named_with_its_key() -> None:
    (note,) = unstated_notes(load_scenario(GROWTH), load_catalogue())

    assert note.startswith(TAKEN)
    assert "the price of h200-8 (330,000 USD: market.h200-8.price)" in note
    assert "electricity at iowa (0.0691 USD/kWh: sites.iowa.electricity_price)" in note
    assert "an accelerator of cloud-iowa on demand (6.88 USD/h: rental.cloud-iowa.price)" in note
    assert "maintenance a year as a share of the price (5.0 %: finance.maintenance)" in note


def test_what_is_stated_is_not_asked_for() -> None:
    """A price in its place and a fact of the scenario's own both state it."""
    scenario = with_changes(
        load_scenario(GROWTH),
        {
            "market.h200-8.price": "300 kUSD",
            "facts": {"finance.maintenance": "4 %", "planning.person_hour": "80 USD/h"},
        },
    )
    (note,) = unstated_notes(scenario, load_catalogue())

    assert not [what for what in ("h200-8", "maintenance", "people") if what in note]
    assert "b200-8" in note


def test_a_price_is_that_of_the_commitment_and_not_that_on_demand() -> None:
    """Spot of an H100 has a price of its own; a year is a share of that on demand."""
    offers = [
        {"name": f"cloud-{i}", "sku": "h100-8", "grid": "us-srvc", "commitment": commitment}
        for i, commitment in enumerate(("spot", "1 year"))
    ]
    (note,) = unstated_notes(with_changes(load_scenario(GROWTH), {"rental": offers}), load_catalogue())

    assert "an accelerator of cloud-0 as spot (2.95 USD/h: rental.cloud-0.price)" in note
    assert "an accelerator of cloud-1 on demand (6.88 USD/h: rental.cloud-1.price)" in note
    assert "the share of it that is paid for a year (60 %: rental.cloud-1.price)" in note


def test_notes_are_in_the_currency_of_the_scenario() -> None:
    """195.94 USD/kW/month at 1.10 USD are 178.1 EUR; an hour of 100 USD is 90.91."""
    path = data_folder() / "scenarios" / "bursty-serving.toml"
    exchange = {"EUR": "1.10 USD", "date": date(2026, 11, 20)}
    sites = [
        dict(name=name, grid="de", pue=1.2, power_cap="2 MW", racks=40) for name in ("frankfurt", "paris")
    ]
    changes = {"currency": "EUR", "exchange": exchange, "sites": sites}
    said = " ".join(notes_on(with_changes(load_scenario(path), changes)))

    assert "is charged at 178.1 EUR/kW/month" in said
    assert "the people who run services (90.91 EUR/h: planning.person_hour)" in said
    assert "USD" not in said


@pytest.mark.parametrize(
    ("period", "lead", "told"),
    [
        (
            "quarter",
            "30 d",
            "30 d: what is ordered on 2027-01-01 serves from 2027-04-01, as nodes serve from",
        ),
        ("quarter", "90 d", ""),  # fills the quarter
        ("quarter", "0 d", ""),
        ("month", "30 d", ""),
        ("month", "31 d", ""),
        ("month", "35 d", "35 d: what is ordered on 2027-01-01 serves from 2027-03-01, as nodes"),
    ],
)
def test_orders_that_wait_long_for_the_first_day_of_a_period_are_told(
    period: str, lead: str, told: str
) -> None:
    """30 days of lead end on 31 January, and the next quarter begins on 1 April; the next month at once."""
    scenario = with_changes(
        load_scenario(data_folder() / "scenarios" / "one-training-job.toml"),
        {
            "horizon.period": period,
            "horizon.periods": 4,
            "market.h100-8.lead_time": lead,
            "training.train-8b.deadline": date(2027, 4, 30),
        },
    )
    notes = [note for note in notes_on(scenario) if "lead_time" in note]

    assert len(notes) == bool(told)
    assert all(note.startswith(f"market.h100-8.lead_time of {told}") for note in notes)
    assert all(('period = "month"' in note) == (period == "quarter") for note in notes)
