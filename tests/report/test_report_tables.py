"""Tables of a report: each column in one unit that its heading names, and every word from the document."""

from __future__ import annotations

from typing import Any

import pytest

from planner.report.shape import SCHEMA
from planner.report.table_columns import column_unit
from planner.report.tables import (
    across_periods,
    compared,
    headline,
    infeasibility_tables,
    of_periods,
    provenance,
    range_text,
    table_of,
    totals_table,
    why_text,
)

TOTAL = {"name": "cost", "label": "total cost", "unit": "USD", "value": 2_500_000.0}
STATUS = {"verified": True, "gap_fraction": 0.0123, "seconds": 4.5}
MADE_FROM = {
    "everfleet": "1.0",
    "schema": 3,
    "scenario": "a.toml",
    "scenario_digest": "5ce",
    "facts_digest": "fac",
    "status": STATUS,
}


@pytest.mark.parametrize(
    ("key", "unit"),
    [
        ("cost_usd", "USD"),
        ("mttf_h", "h"),
        ("share_fraction", "1"),  # kept as a share: percent is only how it is shown
        ("node_h", "h"),
        ("nodes", ""),
        ("fraction", ""),  # a suffix alone names no unit
        ("tokens_per_s", "1/s"),
    ],
)
def test_a_column_is_kept_in_the_unit_of_its_name(key: str, unit: str) -> None:
    assert column_unit(key) == unit


def test_a_column_has_one_unit_that_its_heading_names() -> None:
    """The largest value decides: 20 USD stand as 0.02 beside 2.5 in a column of thousands."""
    table = table_of("", [{"what": "a", "cost_usd": 2500.0}, {"what": "b", "cost_usd": 20.0}])

    assert table.headings == ("for", "cost (kUSD)")
    assert table.values == (("a", 2.5), ("b", 0.02))
    assert table.numeric == (False, True)
    assert table.records()[1] == {"for": "b", "cost (kUSD)": 0.02}


def test_shares_are_shown_in_percent_and_holes_as_a_dash() -> None:
    table = table_of("", [{"regret_fraction": 0.125, "done": True}, {"regret_fraction": None, "done": False}])

    assert table.headings == ("regret (%)", "done")
    assert table.cells == (("12.5", "yes"), ("–", "no"))


def test_rows_with_units_of_their_own_keep_them() -> None:
    """A megawatt and a few racks may stand below each other: each row says what it is in."""
    rows = [
        {"limit": "power", "used": 1500.0, "allowed": 2000.0, "unit": "kW", "binding": False},
        {"limit": "racks", "used": 3.0, "allowed": 60.0, "unit": "racks", "binding": False},
    ]
    table = table_of("limits", rows)

    assert table.headings == ("limit", "used", "allowed", "unit", "binding")
    assert table.values == (("power", 1.5, 2.0, "MW", False), ("racks", 3.0, 60.0, "racks", False))


def test_facts_keep_their_digits() -> None:
    """Four digits suffice to read a plan, not to check a fact."""
    row = {"key": "gwp", "value": 0.123456}

    assert (table_of("facts", [row]).cells, table_of("", [row]).cells) == (
        (("gwp", "0.123456"),),
        (("gwp", "0.1235"),),
    )


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ({"p5": 2_400_000.0, "p95": 2_700_000.0}, "p5 2.4 to p95 2.7 MUSD"),
        ({"p5": 2_500_000.0, "p95": 2_500_000.0}, ""),  # nothing is uncertain
        ({"p5": None, "p95": None}, ""),
        ({}, ""),
    ],
)
def test_a_range_is_in_the_unit_of_its_total(ends: dict[str, float | None], said: str) -> None:
    total = TOTAL | ends

    assert range_text(total) == said
    assert totals_table({"totals": [total]}).cells == (("total cost", "2.5 MUSD", said),)


def test_a_way_out_says_whether_it_is_enough_and_what_it_costs() -> None:
    row = {
        "limit": "power",
        "where": "iowa",
        "period": "2027 Q1",
        "by": 1200.0,
        "unit": "kW",
        "share_fraction": 0.1,
    }
    ways: list[dict[str, Any]] = [
        {"family": "power", "alone_enough": True, "cost_usd": 3e6, "rows": [row]},
        {"family": "space", "alone_enough": False, "rows": [row]},
    ]
    (power, table), (space, _) = infeasibility_tables({"clash": {"families": ways}})

    assert (power, space) == ("power (enough alone, costs 3 MUSD)", "space (not enough alone)")
    assert table.values[0][3:5] == (1.2, "MW")
    assert infeasibility_tables({"clash": None}) == []


def test_a_clash_takes_the_place_of_the_headline() -> None:
    said = ["Buy nothing."]

    assert headline({"clash": None, "headline": said}) == said
    assert headline({"clash": {"text": "no plan"}, "headline": said}) == []


@pytest.mark.parametrize(
    ("reference", "found"),
    [({"cost_only": 1.0, "as_today": None}, True), ({"cost_only": None, "as_today": None}, False)],
)
def test_a_plan_without_baselines_stands_beside_nothing(reference: dict[str, Any], found: bool) -> None:
    assert compared({"tables": {"summary": [{"measure": "cost", **reference}]}}) is found
    assert compared({"tables": {}}) is False


def test_rows_of_periods_become_columns() -> None:
    """Rows of one place add up; where it has none there is 0; of seven periods every other one is shown."""
    rows = [
        {"site": "iowa", "period": "p7", "nodes": 2},
        {"site": "iowa", "period": "p7", "nodes": 3},
        {"site": "oslo", "period": "p6", "nodes": 9},
    ]
    periods = [f"p{number}" for number in range(1, 8)]
    iowa, oslo = across_periods(rows, ["site"], "nodes", periods)

    assert iowa == {"site": "iowa", "p1": 0, "p3": 0, "p5": 0, "p7": 5}
    assert oslo == {"site": "oslo", "p1": 0, "p3": 0, "p5": 0, "p7": 0}, "p6 is not shown"
    assert of_periods("Replicas", periods) == "Replicas in 4 of 7 periods (--json has all)"
    assert of_periods("Replicas", periods[:6]) == "Replicas"
    months = [f"m{number}" for number in range(1, 13)]
    (year,) = across_periods([{"site": "iowa", "period": "m1", "nodes": 4}], ["site"], "nodes", months)
    assert year == {"site": "iowa", "m1": 4, "m3": 0, "m6": 0, "m9": 0, "m12": 0}, "the first month is shown"


def test_columns_that_are_read_across_have_one_unit() -> None:
    """0.36 MUSD next to 362.1 kUSD of the same bills read as two amounts."""
    rows = [
        {"line": "bills", "economic_usd": 362_100.0, "cash_usd": 362_100.0, "accounts_usd": 362_100.0},
        {"line": "all", "economic_usd": 1.2e6, "cash_usd": 3.9e6, "accounts_usd": 760_200.0},
    ]
    assert len({heading.partition("(")[2] for heading in table_of("views", rows).headings[1:]}) == 1
    assert len(set(table_of("views", rows).values[0][1:])) == 1


def test_provenance_names_what_a_plan_can_be_made_again_from() -> None:
    lines = provenance(MADE_FROM)

    assert lines[:3] == [
        f"everfleet 1.0, document schema {SCHEMA}",
        "scenario a.toml, sha256 5ce",
        "facts, sha256 fac",
    ]
    assert lines[3] == "solved in 4.5 s, gap 1.2 %, re-checked by plain sums"


@pytest.mark.parametrize("gap", [None, float("inf")])
def test_provenance_claims_no_gap_that_is_not_known(gap: float | None) -> None:
    status = {"verified": False, "gap_fraction": gap, "seconds": 60.0}

    assert provenance(MADE_FROM | {"status": status})[3] == "solved in 60 s, not re-checked"


def test_a_number_without_an_explanation_has_no_why() -> None:
    step = {"number": 0, "name": "cost", "value": 2.0, "unit": "USD", "kind": "chosen"}
    document = {"explanations": {"cost": [step], "carbon": []}}

    assert why_text(document, "cost") == "cost = 2 USD  (chosen)"
    assert why_text(document, "carbon") is None
    assert why_text(document, None) is None


def test_a_column_has_a_unit_in_which_its_small_numbers_can_be_read() -> None:
    """2.9 USD in a column of megadollars would be 2.9e-06; in kilodollars both are read."""
    large, small = {"label": "a", "usd": 1.048e6}, {"label": "b", "usd": 2.939}
    assert table_of("", [large, small]).cells == (("a", "1,048"), ("b", "0.002939"))
    assert "kUSD" in table_of("", [large, small]).headings[1]
    assert "MUSD" in table_of("", [large, {"label": "b", "usd": 2939.0}]).headings[1]


def test_what_one_of_a_work_takes_is_in_the_plain_unit() -> None:
    """One run and one accelerator-hour stand in one column: in kUSD the hour would be 0.001606."""
    rows = [{"work": "run", "usd_per_unit": 18_960.0}, {"work": "hour", "usd_per_unit": 1.606}]
    assert table_of("", rows).cells == (("run", "18,960"), ("hour", "1.606"))
