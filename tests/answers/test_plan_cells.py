"""Numbers of a plan's tables opened: each explanation gives the very number, and its equation makes it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import pytest
import test_plan_contracts
import test_plan_ownership
from test_plan_flexibility import CLOUD, JOB, PAUSABLE, one_job, planned

from planner.answers.plan.cells import OPENED, cell_explanation
from planner.answers.plan.document import plan_document
from planner.answers.plan.shipped import solved_plan
from planner.answers.saved.cells import input_text, step_explanation, term_explanation, total_explanation
from planner.answers.tradeoffs.cells import flip_explanation, point_explanation, whole_plan
from planner.inputs.catalogue import data_folder
from planner.inputs.scenario import Scenario, parse_scenario
from planner.trace.errors import InputError
from planner.trace.explain import Explanation, explanation_from
from planner.ui.workers.shipped import shipped, shipped_as_it_was

Record = dict[str, Any]
EQUATION = re.compile(r"(\w+) = (.*)")
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


def made_by(equation: str, values: dict[str, float]) -> float:
    """What an equation gives for the numbers below it."""
    if equation.startswith("sum of the"):
        return math.fsum(values.values())
    return float(eval(equation, {"__builtins__": {"abs": abs}}, values))


def equations_hold(explanation: Explanation) -> int:
    """Check the equations that are written in the names of the inputs; how many there are.

    Those of kept explanations are in the letters of their papers.
    """
    checked = 0
    for step in explanation.steps:
        found = EQUATION.fullmatch(step.equation)
        if found is None or found[1] != step.name:
            continue
        values = {name: explanation.steps[below].value for name, below in step.inputs.items()}
        if not found[2].startswith("sum of the") and not set(values) & set(re.findall(r"\w+", found[2])):
            continue
        assert made_by(found[2], values) == pytest.approx(step.value, rel=1e-6, abs=1e-6), step
        checked += 1
    return checked


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


def test_every_table_is_met() -> None:
    """Together the documents hold a row of each table, but for those of a search or of an infeasible case."""
    held = {table for name in DOCUMENTS for table, _, _ in numbers_of(document_of(name))}

    assert OPENED.keys() - held == {"prices", "alternatives", "clash"}


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

    assert steps["capex_usd"].equation == "capex_usd = nodes * price_usd_per_node * (1 - rebate_fraction)"
    assert "Epoch AI" in price.source
    assert price.low is not None
    assert price.low < price.value < (price.high or 0.0)
    assert steps["market.b200-8.order_nodes"].kind == "yours"


def test_kept_explanations_stand_below_the_cells_that_rest_on_them() -> None:
    """The ETTR of a job and the cost of a plan are opened as far as the document opens them."""
    document = document_of("the shipped quarter")

    for table, key, name in (
        ("jobs", "ettr_fraction", "job.pretrain-70b.ettr"),
        ("summary", "plan", "cost"),
        ("cost", "usd", "cost.bought"),
        ("totals", "value", "cost"),
    ):
        assert opened(document, table, key) == explanation_from(document["explanations"][name])
    finish = opened(document, "totals", "p95")
    assert "95 % of joint draws" in finish.steps[0].about
    assert finish.steps[finish.steps[0].inputs["value"]].name == "plan_usd"


def test_a_plan_that_was_saved_with_former_names_opens() -> None:
    """Terms of pausable jobs were called `elastic`: their cells are opened as those of today are."""
    document = document_of("pausable")
    former = json.loads(
        re.sub(
            r"\bpausable(?=_usd|_kgco2e|_kwh)|(?<=cost.)pausable|(?<=energy.)pausable",
            "elastic",
            json.dumps(document),
        )
    )

    assert "energy.elastic" in former["explanations"]
    assert "energy.pausable" not in former["explanations"]
    today = opened(document, "pausable", "energy_kwh")
    found = opened(former, "pausable", "energy_kwh")
    assert [step.value for step in found.steps] == [step.value for step in today.steps]


def test_the_energy_of_a_run_is_its_power_for_its_hours() -> None:
    """24 nodes at 7.360 kW for 2,587 h with a PUE of 1.10 draw 502.7 MWh."""
    explanation = opened(document_of("the shipped quarter"), "jobs", "energy_kwh")
    inputs = {name: explanation.steps[number] for name, number in explanation.steps[0].inputs.items()}

    assert {name: round(step.value, 3) for name, step in inputs.items()} == {
        "nodes": 24,
        "mean_node_kw": 7.36,
        "duration_h": 2587.198,
        "pue": 1.1,
    }
    assert inputs["mean_node_kw"].equation.startswith("P = ((useful + lost)")
    assert inputs["pue"].name == "scenario.sites.oregon.pue"


def test_nodes_in_service_are_those_before_and_what_came_and_went() -> None:
    """Four b200 nodes are ordered for hamina in the second quarter and stand there in the fourth."""
    document = document_of("the shipped quarter")
    at = next(
        number
        for number, row in enumerate(document["tables"]["fleet"])
        if (row["site"], row["period"]) == ("hamina", "2027 Q4")
    )
    steps = opened(document, "fleet", "in_service_nodes", at).steps
    inputs = {name: steps[number].value for name, number in steps[0].inputs.items()}

    assert inputs == {
        "before_nodes": 0,
        "arrived_nodes": 4,
        "moved_in_nodes": 0,
        "moved_out_nodes": 0,
        "retired_nodes": 0,
    }


def test_what_a_baseline_costs_belongs_to_another_plan() -> None:
    """Its decisions are not in the document: the explanation says so; its objective is weighed alike."""
    document = document_of("the shipped quarter")
    cost = opened(document, "summary", "cost_only")
    objective = opened(document, "summary", "cost_only", 2)

    assert cost.steps[0].kind == "another plan"
    assert "whatever it emits" in cost.steps[0].about
    assert objective.steps[0].equation.startswith("cost_only = money_weight * cost_usd")
    assert equations_hold(objective) == 1


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
    assert equations_hold(change) == 1
    assert change.steps[0].unit == "USD"
    for key in ("relaxed_saving_per_unit", "held_saving_per_unit", "more_by", "more_least", "more_most"):
        found = cell_explanation(document, "prices", row, key)
        assert found is not None
        assert found.steps[0].about
    assert cell_explanation(document, "prices", row, "less_by") is None


def test_another_plan_costs_more_by_the_objective() -> None:
    """Its excess is worked out from its money and carbon by the weights of the objective."""
    document = document_of("the shipped quarter")
    best = document["objective"]["value"]
    row = {
        "alternative": 1,
        "cost_usd": 2.2e6,
        "carbon_kgco2e": 4e5,
        "nodes_bought": 6.0,
        "distance_fraction": 0.2,
        "excess_fraction": (2.2e6 + 0.2 * 4e5 - best) / best,
    }
    excess = cell_explanation(document, "alternatives", row, "excess_fraction")

    assert excess is not None
    assert equations_hold(excess) == 1
    assert cell_explanation(document, "alternatives", row, "alternative") is None


def test_a_plan_of_an_earlier_edition_says_what_it_knows() -> None:
    """Rows without the newer columns, and no kept explanation, open without an error."""
    document = document_of("the shipped quarter")
    bare = document | {
        "explanations": {},
        "tables": {
            "purchases": [
                {
                    key: document["tables"]["purchases"][0][key]
                    for key in ("period", "site", "sku", "nodes", "accelerators", "arrives", "capex_usd")
                }
            ],
            "jobs": document["tables"]["jobs"],
            "energy": document["tables"]["energy"],
        },
    }
    for table, row, key in numbers_of(bare):
        found = cell_explanation(bare, table, row, key)

        assert found is not None, (table, key)
        assert found.steps[0].value == pytest.approx(row[key]), (table, key)


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
    for row, kept in list(zip(rows, document["plans"], strict=True))[:3]:
        for key, value in row.items():
            if isinstance(value, int | float) and key not in NAMES:
                found = point_explanation(rows, row, key, kept)
                assert found is not None, key
                assert found.steps[0].value == pytest.approx(value), key
                equations_hold(found)
        plan = whole_plan(kept, "next-quarter.toml", scenario_text())
        for name in ("fleet", "cost", "carbon"):
            for one in plan["tables"][name]:
                for key, value in one.items():
                    if isinstance(value, int | float):
                        found = cell_explanation(plan, name, one, key)
                        assert found is not None, (name, key)
                        assert found.steps[0].value == pytest.approx(value), (name, key)
                        equations_hold(found)


def test_what_would_change_the_fleet_says_how_far_it_looked() -> None:
    row = {
        "what": "price of electricity",
        "unit": "times",
        "today": 1.0,
        "side": "below",
        "looked_to": 0.5,
        "holds_to": 0.8,
        "changes_at": None,
        "regret_at_the_end_fraction": 0.01,
        "then": "",
    }

    assert flip_explanation(row, "changes_at") is None
    for key in ("today", "looked_to", "holds_to", "regret_at_the_end_fraction"):
        found = flip_explanation(row, key)
        assert found is not None
        assert found.steps[0].value == row[key]


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


def test_a_row_is_worked_out_again_from_its_scenario() -> None:
    """How fast a replica answers is in no total: the scenario gives the same number, opened to its facts."""
    document = document_of("the shipped quarter")

    def scenario() -> AbstractContextManager[Scenario]:
        return nullcontext(parse_scenario(scenario_text()))

    for table, key, name in (
        ("services", "first_token_s", "replica_capacity.ttft_s"),
        ("services", "per_token_s", "replica_capacity.tpot_s"),
        ("services", "capacity_per_s", "replica_capacity.requests_per_s"),
        ("pools", "reference_h", "speed_ratio"),
    ):
        row = document["tables"][table][-1]
        found = cell_explanation(document, table, row, key, scenario)

        assert found is not None
        assert found.steps[0].value == pytest.approx(row[key], rel=1e-6), key
        assert name in {step.name for step in found.steps}, key
        assert any(step.source for step in found.steps), key
        equations_hold(found)
    other = document["tables"]["services"][0] | {"first_token_s": 9.0}
    found = cell_explanation(document, "services", other, "first_token_s", scenario)
    assert found is not None
    assert found.steps[0].name == "first_token_s", "what comes out otherwise today is not shown for it"


def test_a_scenario_that_is_not_taken_any_more_opens_what_is_known() -> None:
    """A plan that an earlier everfleet saved may rest on a file that this one refuses."""
    document = document_of("the shipped quarter")

    def refused() -> AbstractContextManager[Scenario]:
        raise InputError("an unknown key")

    row = document["tables"]["services"][0]
    found = cell_explanation(document, "services", row, "capacity_per_s", refused)
    assert found is not None
    assert equations_hold(found) == 1
