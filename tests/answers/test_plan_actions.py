"""What to do, by when: the same nodes and money as in the tables that it is made of, in the order of days."""

from __future__ import annotations

from datetime import date

import pytest
from plain import plain

from planner.answers.plan.document import plan_document
from planner.inputs.scenario import load_scenario, with_changes
from planner.program.plan import plan_fleet
from planner.report.integrity import disagreements


def test_everything_to_do_stands_once_in_the_order_of_days() -> None:
    """A job on one node that is bought and one that is reserved; four that stand are sold."""
    fleet = [{"sku": "a100-80-8", "site": "stockholm", "nodes": 4, "in_service": date(2022, 1, 1)}]
    rental = [{"name": "cloud", "sku": "h100-8", "grid": "se", "commitment": "1 year", "price": "1 USD/h"}]
    plan = plan_fleet(
        with_changes(load_scenario(plain("one-training-job")), {"fleet": fleet, "rental": rental}),
        baselines=False,
    )
    document = plan_document(plan)
    tables = document["tables"]
    rows = tables["actions"]
    money = {
        name: sum(row["cash_usd"] for row in rows if row["action"] == name) for name in ("Order", "Sell")
    }

    assert disagreements(document) == []
    assert [row["by"] for row in rows] == sorted(row["by"] for row in rows)
    assert len(rows) == sum(
        len(tables[name]) for name in ("purchases", "disposals", "moves", "commitments", "rental")
    )
    assert rows
    assert money["Order"] == pytest.approx(sum(row["capex_usd"] for row in tables["purchases"]))
    assert money["Sell"] == pytest.approx(-sum(row["proceeds_usd"] for row in tables["disposals"]))
    assert all(document["cells"]["actions"][i]["cash_usd"] is not None for i in range(len(rows)))
