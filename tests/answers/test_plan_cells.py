"""Numbers of a plan's tables opened: each explanation gives the very number, and its equation makes it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import test_plan_contracts
import test_plan_ownership
from explained import equations_hold, explained
from test_plan_flexibility import CLOUD, JOB, PAUSABLE, one_job, planned

from planner.answers.opening import open_document
from planner.answers.plan.cells import cell_explanation
from planner.answers.plan.document import plan_document
from planner.answers.plan.shipped import solved_plan
from planner.answers.saved.cells import input_text, step_explanation, term_explanation, total_explanation
from planner.inputs.loading import data_folder
from planner.inputs.scenario import ScenarioError
from planner.report.cells import opened_at
from planner.report.data import to_json
from planner.report.editions import up_to_date
from planner.report.integrity import disagreements
from planner.trace.explain import Explanation
from planner.ui.workers.shipped import shipped, shipped_as_it_was

Record = dict[str, Any]
RENTED = {k: v for k, v in CLOUD.items() if k != "price"}
# What no column of a document is a number with a reason of its own.
NAMES = {"point"}


def scenario_text() -> str:
    return (data_folder() / "scenarios" / "next-quarter.toml").read_text(encoding="utf-8")


def quarter() -> Record:
    document = solved_plan(scenario_text(), "next-quarter.toml")
    assert document is not None
    return document


DOCUMENTS: dict[str, Callable[[], Record]] = {
    "the shipped quarter": quarter,
    "rented": lambda: plan_document(planned(one_job(), {"rental": [CLOUD]})),
    "rented by the catalogue": lambda: plan_document(
        planned(one_job(), {"rental": [RENTED], f"{JOB}.sites": ["cloud"]})
    ),
    "pausable": lambda: plan_document(planned(one_job(), PAUSABLE | {"policy.park_idle": True})),
    "repeated and capped": lambda: plan_document(
        planned(one_job(), {f"{JOB}.count": 3, f"{JOB}.power_caps": ["80 %", 1.0]})
    ),
    "moved": lambda: plan_document(test_plan_ownership.planned({"moves": [test_plan_ownership.NORTHWARDS]})),
    "cash": lambda: plan_document(
        test_plan_ownership.planned({"policy.objective": "cash"} | test_plan_ownership.BUSY)
    ),
    "contracts": lambda: plan_document(test_plan_contracts.with_contracts()),
}


@cache
def document_of(name: str) -> Record:
    return DOCUMENTS[name]()


def numbers_of(document: Record) -> Iterator[tuple[str, Record, str]]:
    """Every number of every table that can be opened."""
    tables = document["tables"] | {"totals": document["totals"], "tornado": document["tornado"]}
    for table, rows in tables.items():
        for row in rows[:20] if table.startswith("facts") else rows:
            for key, value in row.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    yield table, row, key


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_number_of_a_plan_is_opened_to_itself(name: str) -> None:
    """The top of each explanation is the number of the cell, and every equation gives what it says."""
    document = document_of(name)
    for table, row, key in numbers_of(document):
        found = cell_explanation(document, table, row, key)

        assert found is not None, (table, key)
        assert found.steps[0].value == pytest.approx(row[key], rel=1e-6, abs=1e-6), (table, key)
        equations_hold(found)
        says = found.steps[0]
        assert says.equation or says.about or says.source, f"{table}.{key} says nothing of itself"


@pytest.mark.nightly
def test_every_table_is_met() -> None:
    """Together the documents hold a row of each table, but for those of a search or of an infeasible case."""
    held = {table for name in DOCUMENTS for table, _, _ in numbers_of(document_of(name))}

    unmet = {"npv", "prices", "ties", "alternatives", "verification", "clash", "commitments", "needs"}
    unmet |= {
        "hours",
        "levers",
        "site_energy",
        "clean_energy",
    }  # with levers: test_levers.py, test_plan_site_energy.py
    assert {name for name in document_of("moved")["tables"]} - held <= unmet


def opened(document: Record, table: str, key: str, number: int = 0) -> Explanation:
    rows = document["totals"] if table == "totals" else document["tables"][table]
    found = cell_explanation(document, table, rows[number], key)
    assert found is not None
    return found


def test_the_price_of_a_purchase_leads_to_its_source() -> None:
    """What is paid is nodes times a price; the price is a fact of the catalogue with its range."""
    document = document_of("the shipped quarter")
    steps = {step.name: step for step in opened(document, "purchases", "capex_usd").steps}
    price = steps["server.hgx-b200.price"]

    assert steps["capex_usd"].equation == "capex_usd = nodes * price * (1 - rebate_fraction)"
    assert "Epoch AI" in price.source
    assert price.low is not None
    assert price.low < price.value < (price.high or 0.0)
    assert steps["scenario.market.b200-8.order_nodes"].kind == "yours"


def test_kept_explanations_stand_below_the_cells_that_rest_on_them() -> None:
    """The ETTR of a job and the cost of a plan are opened as far as the document opens them."""
    document = document_of("the shipped quarter")

    for table, key, name in (
        ("jobs", "ettr_fraction", "job.pretrain-70b.ettr"),
        ("summary", "plan", "cost"),
        ("cost", "usd", "cost.capital"),
        ("totals", "value", "cost"),
    ):
        assert opened(document, table, key).steps[1:] == explained(document, name).steps[1:]
    finish = opened(document, "totals", "p95")
    assert "95 of 100 draws" in finish.steps[0].equation


def test_the_energy_of_a_run_is_that_of_its_periods() -> None:
    """A run draws what its nodes draw in the hours of each period, at their mean power and the PUE."""
    explanation = opened(document_of("the shipped quarter"), "jobs", "energy_kwh")
    periods = [explanation.steps[number] for number in explanation.steps[0].inputs.values()]

    assert math.fsum(step.value for step in periods) == pytest.approx(explanation.steps[0].value)
    names = {step.name for step in explanation.steps}
    assert {"mean_node_kw", "scenario.sites.oregon.pue"} <= names


def test_nodes_in_service_are_those_before_and_what_came_and_went() -> None:
    """Four b200 nodes are ordered for oregon in the second quarter and stand there in the fourth."""
    document = document_of("the shipped quarter")
    at = next(
        number
        for number, row in enumerate(document["tables"]["fleet"])
        if (row["site"], row["sku"], row["period"]) == ("oregon", "b200-8", "2027 Q4")
    )
    steps = opened(document, "fleet", "in_service_nodes", at).steps
    inputs = {name: steps[number].value for name, number in steps[0].inputs.items()}

    assert inputs == {"those before": 0, "ordered in 2027 Q2": 4}


def test_what_a_baseline_costs_belongs_to_another_plan() -> None:
    """Its decisions are not in the document: the explanation says so; its objective is weighed alike."""
    document = document_of("the shipped quarter")
    cost = opened(document, "summary", "cost_only")
    objective = opened(document, "summary", "cost_only", 2)

    assert cost.steps[0].kind == "chosen"
    assert "whatever it emits" in cost.steps[0].about
    assert objective.steps[0].name == "weighted_usd"
    assert {"cost_usd", "carbon_kgco2e"} <= {step.name for step in objective.steps}


def test_prices_are_differences_of_two_plans() -> None:
    """With a step of power more the objective falls by 1,000: the plan solved again, less this one."""
    document = document_of("the shipped quarter")
    row = {
        "limit": "power",
        "where": "oregon",
        "period": "2027 Q2",
        "unit": "kW",
        "saving_unit": "USD",
        "relaxed_saving_per_unit": 12.0,
        "held_saving_per_unit": 0.0,
        "more_by": 40.0,
        "more_change": -1000.0,
        "more_least": -1200.0,
        "more_most": -900.0,
        "less_by": None,
    }
    change = cell_explanation(document, "prices", row, "more_change")

    assert change is not None
    assert "solved again" in change.steps[0].about
    assert change.steps[0].unit == "USD"
    for key in ("relaxed_saving_per_unit", "held_saving_per_unit", "more_by", "more_least", "more_most"):
        found = cell_explanation(document, "prices", row, key)
        assert found is not None
        assert found.steps[0].about
    assert cell_explanation(document, "prices", row, "less_by") is None


def test_a_plan_of_an_earlier_edition_opens_what_it_kept() -> None:
    """Schema 2 held the steps of each explanation apart: they open as before, cells say what was decided."""
    document = document_of("rented")
    names = ("cost", "carbon", "job.train-8b.ettr")
    apart = {name: explained(document, name).to_dict() for name in names}
    former = {key: held for key, held in document.items() if key not in ("cells", "steps")}
    found = up_to_date(former | {"schema": 2, "explanations": apart})

    assert found["schema"] == 3
    for name in names:
        assert explained(found, name) == explained(document, name)
    assert opened(found, "totals", "value").steps[1:] == explained(document, "cost").steps[1:]
    assert "decided by the program" in opened(found, "rental", "node_h").steps[0].about
    row = found["tables"]["rental"][0]
    assert cell_explanation(found, "rental", row, "rent_usd") is None


def test_names_and_empty_cells_are_not_opened() -> None:
    document = document_of("the shipped quarter")
    row = document["tables"]["limits"][0]

    assert cell_explanation(document, "limits", row, "where") is None
    assert cell_explanation(document, "limits", row, "binding") is None
    assert cell_explanation(document, "limits", row | {"left": None}, "left") is None
    assert cell_explanation(document, "unknown", {"cost_usd": 1.0}, "cost_usd") is None


@pytest.mark.parametrize(
    ("task", "section", "table"),
    [
        ("front", "front", "points"),
        ("front_of_time", "times", "times"),
    ],
)
def test_every_number_of_a_front_is_opened(task: str, section: str, table: str) -> None:
    """A point by the plan that it leads to, and every table of that plan as those of any plan."""
    document = shipped(task, scenario_text())
    assert document is not None
    rows = document["sections"][section]["tables"][table]
    for number, (row, plan) in list(enumerate(zip(rows, document["plans"], strict=True)))[:3]:
        for key, value in row.items():
            if isinstance(value, int | float) and key not in NAMES:
                found = opened_at(document, table, number, key)
                assert found is not None, key
                assert found.steps[0].value == pytest.approx(value), key
                equations_hold(found)
        for name in ("fleet", "cost", "carbon"):
            for one in plan["tables"][name]:
                for key, value in one.items():
                    if isinstance(value, int | float):
                        found = cell_explanation(plan, name, one, key)
                        assert found is not None, (name, key)
                        assert found.steps[0].value == pytest.approx(value), (name, key)
                        equations_hold(found)


def test_plans_side_by_side_are_opened_each_by_its_own() -> None:
    """A total by the tree that its plan keeps, a difference by both; a share is of the first."""
    record, names = shipped_as_it_was("compared"), ("A", "B", "C")
    total = record["totals"][0]
    for key, value in (
        ("B", total["values"][1]),
        ("B − A", total["differences"][1]),
        ("B − A, share", total["difference_fractions"][1]),
    ):
        found = total_explanation(record, names, 0, key)
        assert found is not None
        assert found.steps[0].value == pytest.approx(value)
        equations_hold(found)
    assert total_explanation(record, names, 0, "total") is None
    below = {**total, "values": [-10.0, -20.0, 0.0]}
    assert total_explanation({**record, "totals": [below]}, names, 0, "B − A, share") is None
    term = term_explanation(record, "cost", names, 0, "C")
    assert term is not None
    assert term.steps[0].value == pytest.approx(record["terms"]["cost"][0]["values"][2])
    assert term.steps[0].inputs, "it is opened within the cost of its plan"


def test_what_a_term_adds_is_that_of_one_plan_less_that_of_the_other() -> None:
    record, names = shipped_as_it_was("compared"), ("A", "B", "C")
    term = record["terms"]["carbon"][0]
    step = step_explanation(record, "carbon", names, (0, 2), term["label"])

    assert step is not None
    assert step.steps[0].value == pytest.approx((term["values"][2] or 0) - (term["values"][0] or 0))
    assert step_explanation(record, "carbon", names, (0, 2), "nothing of the kind") is None


def test_an_input_that_differs_says_where_it_stands() -> None:
    """The carbon price is 200 USD/t in the first plan; the cost-only plan has none."""
    record, names = shipped_as_it_was("compared"), ("A", "B", "C")
    at = next(n for n, row in enumerate(record["inputs"]) if row["path"] == "policy.carbon_price")

    assert (input_text(record, names, at, "A") or "").startswith("policy.carbon_price = 0.2 USD/kgCO2e")
    assert "not stated" in (input_text(record, names, at, "C") or "")
    assert input_text(record, names, at, "input") is None


def test_what_a_replica_does_opens_to_its_facts() -> None:
    """How fast a replica answers, and how fast a pool works, are opened to the chip."""
    document = document_of("the shipped quarter")
    for table, key, name in (
        ("services", "first_token_s", "replica_capacity.ttft_s"),
        ("services", "per_token_s", "replica_capacity.tpot_s"),
        ("services", "capacity_per_s", "replica_capacity.requests_per_s"),
        ("pools", "reference_h", "speed_ratio"),
    ):
        found = opened(document, table, key, -1)

        assert name in {step.name for step in found.steps}, key
        assert found.facts(), key


def planted(document: Record, path: str, factor: float) -> Record:
    """A copy of a document with one number that is no longer what its steps give."""
    changed: Record = json.loads(json.dumps(document))
    *way, last = path.split(".")
    at: Any = changed
    for name in way:
        at = at[int(name)] if isinstance(at, list) else at[name]
    at[last] *= factor
    return changed


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("tables.jobs.0.energy_kwh", "jobs[0].energy_kwh"),
        ("tables.by_period.0.cost_usd", "by_period[0].cost_usd"),
        ("tables.rental.0.rent_usd", "rental[0].rent_usd"),
        ("tables.cost.0.usd", "totals.cost (added up over cost)"),
        ("totals.0.value", "totals.cost"),
    ],
)
def test_a_number_that_was_changed_is_refused(path: str, says: str, tmp_path: Path) -> None:
    """A job's energy tripled, a period's cost half as large again: the place is named, and nothing opens."""
    document = json.loads(to_json(document_of("rented")))
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert open_document(file) == document
    assert disagreements(document) == []

    for factor in (3.0, 1.5, 1.0001):
        file.write_text(json.dumps(planted(document, path, factor)), encoding="utf-8")
        with pytest.raises(ScenarioError, match=re.escape(says)):
            open_document(file)


def test_a_step_that_was_changed_is_refused() -> None:
    """A cell and its step changed alike no longer agree with what the step is worked out from."""
    document = json.loads(to_json(document_of("rented")))
    number = document["cells"]["jobs"][0]["energy_kwh"]
    changed = planted(planted(document, "tables.jobs.0.energy_kwh", 3.0), f"steps.{number}.value", 3.0)

    assert [place for place, _ in disagreements(changed)] == [f"steps[{number}] (energy_kwh)"]
