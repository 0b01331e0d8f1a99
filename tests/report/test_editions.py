"""Documents that an older everfleet wrote are read as those of today, each objective in its own unit."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from explained import explained

from planner.report.editions import up_to_date

STEPS = [
    {
        "number": 0,
        "name": "weighted_usd",
        "value": 500.2,
        "unit": "USD",
        "kind": "derived",
        "inputs": {
            "plan_usd": 1,
            "plan_kgco2e": 2,
            "money_weight_ratio": 3,
            "carbon_weight_usd_per_kgco2e": 4,
        },
    },
    {"number": 1, "name": "plan_usd", "value": 2e4, "unit": "USD", "kind": "derived"},
    {"number": 2, "name": "plan_kgco2e", "value": 500.0, "unit": "kgCO2e", "kind": "derived"},
    {"number": 3, "name": "money_weight_ratio", "value": 1e-5, "unit": "1", "kind": "chosen"},
    {
        "number": 4,
        "name": "carbon_weight_usd_per_kgco2e",
        "value": 1.0,
        "unit": "USD/kgCO2e",
        "kind": "chosen",
    },
]


def of_schema_1(kind: str, text: str) -> dict[str, Any]:
    """The parts of a plan that said the objective, as they were written."""
    document = {
        "schema": 1,
        "objective": {"kind": kind, "text": text, "value_usd": 500.2},
        "totals": [
            {"name": "cost", "value": 2e4, "unit": "USD"},
            {"name": "objective", "value": 500.2, "unit": "USD"},
        ],
        "tables": {"summary": [{"measure": "Objective", "unit": "USD", "plan": 500.2}]},
        "tornado": [{"fact": "grid.x", "at_low": 400.0, "at_high": 600.0, "unit": "kgCO2e/kWh"}],
        "explanations": {"objective": STEPS},
    }
    return copy.deepcopy(document)


@pytest.mark.parametrize(
    ("kind", "text", "unit"),
    [
        ("money", "least cost", "USD"),
        ("weighted", "least cost, with carbon at 200 USD/t", "USD"),
        ("carbon", "least carbon", "kgCO2e"),
        ("lexicographic", "least carbon, then least cost with 0.1 % more of the first", "USD"),
        ("lexicographic", "least cost, then least carbon with 0.1 % more of the first", "kgCO2e"),
    ],
)
def test_a_plan_of_schema_1_says_its_unit(kind: str, text: str, unit: str) -> None:
    """Its number is the one that was written; the unit follows what the policy minimised at last."""
    found = up_to_date(of_schema_1(kind, text))

    assert found["schema"] == 3
    assert found["objective"] == {"kind": kind, "text": text, "value": 500.2, "unit": unit}
    assert [total["unit"] for total in found["totals"]] == ["USD", unit]
    assert found["tables"]["summary"][0]["unit"] == unit
    assert found["tornado"][0]["at_unit"] == unit
    assert explained(found, "objective").steps[0].unit == unit
    assert up_to_date(found) == found


def test_the_equation_of_carbon_holds_in_its_units() -> None:
    """Each input is found under the name that the equation of today gives it; money stays money."""
    found = up_to_date(of_schema_1("carbon", "least carbon"))
    whole, cost, _, money, carbon = explained(found, "objective").to_dict()

    assert whole["name"] == "weighted_kgco2e"
    assert list(whole["inputs"]) == [
        "plan_usd",
        "plan_kgco2e",
        "money_weight_kgco2e_per_usd",
        "carbon_weight_ratio",
    ]
    assert (cost["unit"], money["unit"], carbon["unit"]) == ("USD", "kgCO2e/USD", "1")
    assert whole["value"] == money["value"] * cost["value"] + carbon["value"] * 500.0


@pytest.mark.parametrize(("measure", "unit"), [("money", "USD"), ("carbon", "kgCO2e")])
def test_futures_of_edition_1_say_their_unit(measure: str, unit: str) -> None:
    """Columns lose the unit that was wrong, the document says the one that is right."""
    row = {"future": "low", "objective_usd": 3.0, "known_usd": 2.0, "mean_plan_usd": None, "cost_usd": 9.0}
    expected = {"name": "expected_usd", "value": 3.0, "unit": "USD", "inputs": {"each_usd": 1}}
    found = up_to_date(
        {
            "everfleet_futures": 1,
            "measure": measure,
            "futures": [row],
            "worth": [{"name": "knowing", "usd": 1.0}],
            "explanations": {"expected": [expected]},
        }
    )

    assert (found["everfleet_futures"], found["objective"]) == (
        2,
        {"kind": measure, "value": 3.0, "unit": unit},
    )
    (new,) = found["futures"]
    assert (new["objective_value"], new["known_value"], new["mean_plan_value"]) == (3.0, 2.0, None)
    assert new["cost_usd"] == 9.0
    assert found["worth"] == [{"name": "knowing", "value": 1.0}]
    assert found["explanations"]["expected"][0]["unit"] == unit
    assert "measure" not in found


def test_other_documents_come_back_as_they_are() -> None:
    fit = {"everfleet_fit": 1, "name": "rack"}

    assert up_to_date(fit) is fit
