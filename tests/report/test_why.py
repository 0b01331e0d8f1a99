"""The short way to say why: its sentences and its small table agree with the steps that they stand for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from explained import explained

from planner.report.why import MOST_PARTS, labels_of, why_parts, why_said, words_of
from planner.trace.currency import Currency, showing
from planner.trace.explain import explain
from planner.trace.quantities import Fact, Source, chosen, derive, total

SAMPLE = Path(__file__).parents[1] / "sample_plan.json"
PAPER = Source("paper-2026", "A paper", "Somebody et al.", "2026", "arXiv 1234.5678")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(SAMPLE.read_text(encoding="utf-8"))
    return read


def price(kind: str = "yours", **ends: float) -> Fact:
    return Fact(30_000.0, "USD", key="own.price", source=PAPER, locator="Table 1", kind=kind, note="", **ends)


def bill_usd(*, price_usd: float, nodes: int) -> float:
    """What nodes cost.

    B = P * n
    """
    return price_usd * nodes


def test_a_sum_names_its_largest_parts_and_their_shares() -> None:
    """The largest first, each with its share; what is nothing has no row, and three parts are named."""
    amounts = {"new nodes": 10.0, "space": 80_000.0, "spares": 0.0, "power": 19_000.0, "staff": 990.0}
    parts = {word: chosen("part_usd", amount, "stated") for word, amount in amounts.items()}

    found = explain(total("cost_usd", parts))
    table = why_parts(found)

    assert why_said(found) == [
        "100 kUSD is the sum of 4 numbers. The largest: space (80 kUSD, 80 %); power (19 kUSD, 19 %); "
        "staff (990 USD, 1 %)."
    ]
    assert table is not None
    assert table.headings == ("part", "value", "share", "from")
    assert [row[:3] for row in table.cells] == [
        ("space", "80 kUSD", "80 %"),
        ("power", "19 kUSD", "19 %"),
        ("staff", "990 USD", "1 %"),
        ("new nodes", "10 USD", "below 1 %"),
    ]


def test_parts_that_take_away_have_no_share() -> None:
    """A share of a sum with takings would be above the whole."""
    parts = {"before": chosen("held_nodes", 58, "stands"), "retired": chosen("held_nodes", -22, "decided")}

    found = explain(total("nodes", parts))

    assert why_said(found)[0] == "36 is the sum of 2 numbers. The largest: before (58); retired (-22)."
    assert (why_parts(found) or pytest.fail("no table")).headings == ("part", "value", "from")


def test_parts_are_called_as_the_plan_calls_its_terms() -> None:
    """By the label of the term where the plan has one, else by the words of its name."""
    rows = [
        {"label": "Space: rated power", "explain": "cost.space"},
        {"label": "Rent", "explain": "cost.rent"},
    ]
    labels = labels_of({"tables": {"cost": rows}}, "cost")
    parts = {"space_usd": chosen("a_usd", 80.0, "stated"), "staff_usd": chosen("a_usd", 20.0, "stated")}

    found = explain(total("cost_usd", parts))

    assert why_said(found, labels)[0].endswith("Space: rated power (80 USD, 80 %); staff (20 USD, 20 %).")
    assert labels_of({"tables": {}}, "cost") == {}


def test_it_says_how_many_facts_of_each_kind_are_behind(document: dict[str, Any]) -> None:
    """Counted once each, however often they are used; those of the reader first."""
    found = explained(document, "carbon")
    kinds = {step.name: step.kind for step in found.facts()}

    said = why_said(found)[1]

    assert kinds
    assert said.startswith(f"It rests on {len(kinds)} fact")
    for kind in set(kinds.values()):
        assert f"{list(kinds.values()).count(kind)} {kind}" in said


def test_an_equation_has_a_row_for_each_input_with_its_range_and_where_it_is_from() -> None:
    node = derive(bill_usd, price_usd=price(low=25_000.0, high=40_000.0), nodes=chosen("nodes", 4, "decided"))

    found = explain(node)
    table = why_parts(found)

    assert why_said(found) == [
        "120 kUSD is worked out from 2 numbers by B = P * n.",
        "It rests on 1 fact: 1 yours.",
    ]
    assert table is not None
    assert table.headings == ("part", "value", "range", "from")
    assert table.cells == (
        ("price", "30 kUSD", "25 to 40 kUSD", "yours: own.price"),
        ("nodes", "4", "", "decided"),
    )


def test_money_is_told_in_the_currency_of_the_explanation() -> None:
    with showing(Currency("EUR", 1.25)):
        found = explain(derive(bill_usd, price_usd=price(), nodes=chosen("nodes", 4, "decided")))

    assert why_said(found)[0].startswith("96 kEUR is worked out")
    assert [row[1] for row in (why_parts(found) or pytest.fail("no table")).cells] == ["24 kEUR", "4"]


def test_a_fact_and_a_decision_have_no_parts() -> None:
    """A fact says who says it, a decision who made it."""
    fact, decision = explain(price("published")), explain(chosen("nodes", 4, "decided by the program"))

    assert why_said(fact) == [f"30 kUSD is a fact (published): {PAPER.cite()}; Table 1."]
    assert why_said(decision) == ["4: decided by the program."]
    assert why_parts(fact) is None is why_parts(decision)


def test_no_number_of_a_plan_is_told_at_length(document: dict[str, Any]) -> None:
    """Two sentences and a table that fits a small window, whatever the number."""
    for name in document["explanations"]:
        found = explained(document, name)
        table = why_parts(found)
        assert 1 <= len(why_said(found)) <= 2, name
        assert table is None or len(table.cells) <= MOST_PARTS + 1, name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("standing_capital_usd", "standing capital"),
        ("maintenance_fraction", "maintenance"),
        ("year_h", "year"),
        ("layout.pp", "pp"),
        ("nodes", "nodes"),
        ("rent_usd_per_node_h", "rent per node h"),
    ],
)
def test_names_are_read_as_words(name: str, words: str) -> None:
    assert words_of(name) == words
