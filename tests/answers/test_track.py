"""A plan next to what happened: bands by hand, what has left them, and the scenario from here."""

from __future__ import annotations

import copy
import gzip
import json
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import poisson

from planner.answers.rolling_horizon import scenario_from_here
from planner.answers.saved.tracking import tracked as tracked_file
from planner.answers.telemetry import telemetry_answer
from planner.answers.track import track_document, track_text
from planner.inputs.actuals import read_actuals
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import load_scenario
from planner.report.shape import written
from planner.report.standards import write_as
from planner.trace.errors import InputError

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "data" / "scenarios" / "next-quarter.toml"
SCRAPE = ROOT / "data" / "samples" / "dcgm-scrape.prom.gz"


@cache
def shipped() -> dict[str, Any]:
    with gzip.open(ROOT / "data" / "solved" / "next-quarter.json.gz") as file:
        return written(json.load(file))


@pytest.fixture
def plan() -> dict[str, Any]:
    return copy.deepcopy(shipped())


def actual(folder: Path, *rows: str, header: str = "month,measure,of,value") -> Path:
    path = folder / "actual.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def tracked(plan: dict[str, Any], path: Path) -> dict[str, Any]:
    document = track_document(plan, read_actuals([path], load_catalogue(), "USD"), load_catalogue())
    track_text(document)
    return document


def test_energy_of_a_month_has_the_band_of_the_total(plan: dict[str, Any], tmp_path: Path) -> None:
    """28 of the 90 days of the first quarter; p5 and p95 are as far off as those of its total."""
    (row,) = tracked(plan, actual(tmp_path, "2027-02,energy,,322 MWh"))["rows"]
    total = next(one for one in plan["totals"] if one["name"] == "energy")
    quarter_kwh = plan["tables"]["by_period"][0]["energy_kwh"]

    assert row["plan"] == pytest.approx(quarter_kwh * 28 / 90, rel=1e-6)
    assert row["low"] == pytest.approx(row["plan"] * total["p5"] / total["value"])
    assert row["high"] == pytest.approx(row["plan"] * total["p95"] / total["value"])
    assert (row["actual"], row["unit"], row["within"]) == (322_000, "kWh", "yes")


@pytest.mark.parametrize(
    ("row", "within"),
    [
        ("2027-01,nodes,h100-8/oregon,32", "yes"),
        ("2027-01,nodes,h100-8/oregon,31", "no"),
        ("2027-01,demand,code,93 /s", "yes"),  # the band ends at 94.0: exp(1.645 * 0.15 * 0.5**0.6) = 1.175
        ("2027-01,demand,code,95 /s", "no"),
        ("2027-01,carbon,,100 t", "no"),
        ("2027-01,used_fraction,h100-8/oregon,71 %", "no range"),
        ("2027-05,power,,340 kW", "yes"),
        ("2027-01,cost,,252620", "yes"),
        ("2027-03,done_fraction,pretrain-70b,0.6", "no"),  # 90 of 124 days to the day of 95 %: 0.726
        ("2027-03,done_fraction,pretrain-70b,0.8", "yes"),
    ],
)
def test_what_has_left_its_band_is_named(plan: dict[str, Any], tmp_path: Path, row: str, within: str) -> None:
    document = tracked(plan, actual(tmp_path, row))

    assert [one["within"] for one in document["rows"]] == [within]
    assert len(document["left"]) == (within == "no")


def test_failures_are_a_count_over_the_range_of_the_rate(plan: dict[str, Any], tmp_path: Path) -> None:
    """Percentiles by SciPy's own distribution, of 90 nodes over 31 days."""
    (row,) = tracked(plan, actual(tmp_path, "2027-01,failures,,9"))["rows"]
    hours = 90 * 31 * 24

    assert row["plan"] == pytest.approx(0.000157916667 * hours, rel=1e-6)
    assert row["low"] == poisson.ppf(0.05, 0.000143333333 * hours)
    assert row["high"] == poisson.ppf(0.95, 0.00017375 * hours)


def test_rows_of_focus_come_back_as_the_cash_of_the_plan(plan: dict[str, Any], tmp_path: Path) -> None:
    """A bill that is the plan's own export is within its band in every month, to the cent."""
    path = tmp_path / "focus.csv"
    path.write_text(write_as(plan, "focus")["focus.csv"], encoding="utf-8")
    document = tracked(plan, path)

    assert len(document["rows"]) == 12
    for row in document["rows"]:
        assert row["actual"] == pytest.approx(row["plan"], rel=1e-9)
    with pytest.raises(InputError, match="is in USD, and the plan in EUR"):
        read_actuals([path], load_catalogue(), "EUR")
    path.write_text("BilledCost,BillingCurrency, ChargePeriodStart\n1,USD,2027-01-01\n", encoding="utf-8")
    with pytest.raises(InputError, match="lacks ChargePeriodStart"):
        read_actuals([path], load_catalogue(), "USD")


def test_monitoring_says_how_many_nodes_and_how_used(tmp_path: Path) -> None:
    """Two nodes of h100-8 in October 2026, of which one began to work after a third of the hour."""
    found = {one.measure: one for one in read_actuals([SCRAPE], load_catalogue(), "USD")}

    assert (found["nodes"].month, found["nodes"].of, found["nodes"].value) == ("2026-10", "h100-8", 2.0)
    assert found["used_fraction"].value == pytest.approx((31 + 21) / 62)
    assert found["failures"].value == 1.0


def test_an_hour_of_monitoring_is_no_month_of_failures(plan: dict[str, Any]) -> None:
    """The rate of the plan over the node-hours that were watched: over all nodes and the month it is ten."""
    found = [one for one in read_actuals([SCRAPE], load_catalogue(), "USD") if one.measure == "failures"]
    (row,) = track_document(plan, [replace(found[0], month="2027-01")], load_catalogue())["rows"]

    assert found[0].node_h == pytest.approx(2.0, rel=0.02)
    assert row["plan"] == pytest.approx(0.000157916667 * row["node_h"], rel=1e-6)
    assert (row["low"], row["high"], row["within"]) == (0.0, 0.0, "no")


def test_a_month_of_sales_is_as_unsure_as_what_moves(plan: dict[str, Any], tmp_path: Path) -> None:
    """In April the plan pays 193,838 USD and sells for 191,681: 2,157 USD more or less are no narrow band."""
    (row,) = tracked(plan, actual(tmp_path, "2027-04,cost,,150000"))["rows"]
    held = next(one for one in plan["tables"]["cash"] if one["month"] == "2027-04")
    total = next(one for one in plan["totals"] if one["name"] == "cost")
    moved = held["bills_usd"] - held["sales_usd"]

    assert row["plan"] == pytest.approx(held["cash_usd"])
    assert row["low"] == pytest.approx(row["plan"] - moved * (1 - total["p5"] / total["value"]))
    assert row["high"] == pytest.approx(row["plan"] + moved * (total["p95"] / total["value"] - 1))
    assert row["within"] == "yes"


def test_nodes_that_the_plan_has_sold_are_counted_against_none(plan: dict[str, Any], tmp_path: Path) -> None:
    """A group that the plan knows, in a period in which none of it stands: planned 0, and out of its band."""
    plan["tables"]["fleet"] = [row for row in plan["tables"]["fleet"] if row["period"] == "2027 Q1"]
    (row,) = tracked(plan, actual(tmp_path, "2027-10,nodes,a100-80-8/dallas,3"))["rows"]

    assert (row["plan"], row["actual"], row["within"]) == (0.0, 3.0, "no")


@pytest.mark.parametrize(
    "text", ["month;measure;of;value\n2027-01;energy;;3 MWh\n", "month,energy\n2027-01,322\n"]
)
def test_a_table_of_another_form_is_told_which_one_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "actual.csv"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(
        InputError, match="it is no table with the header month,measure,of,value, has no BilledCost"
    ):
        read_actuals([path], load_catalogue(), "USD")


def test_a_header_may_be_written_in_capitals(plan: dict[str, Any], tmp_path: Path) -> None:
    path = actual(tmp_path, "2027-02,energy,,322 MWh", header="Month,Measure,Of,Value")

    assert tracked(plan, path)["rows"][0]["actual"] == 322_000


def test_scrapes_without_times_belong_to_no_month(tmp_path: Path) -> None:
    """They were those of January 1970; `telemetry` says what they are."""
    path = tmp_path / "now.prom"
    labels = '{gpu="0",UUID="GPU-1",modelName="NVIDIA H100 80GB HBM3",Hostname="n1"}'
    path.write_text(f"DCGM_FI_DEV_POWER_USAGE{labels} 512.3\n", encoding="utf-8")

    with pytest.raises(InputError, match="scrapes without times, which belong to no month"):
        read_actuals([path], load_catalogue(), "USD")
    _, document, _ = telemetry_answer([path], "own", None, None)
    assert document["span"] == "scrapes without times, 0 h"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["2027-13,energy,,1 MWh"], "actual.csv:2: '2027-13' is no month"),
        (["2027-01,energies,,1 MWh"], "is no measure: write one of nodes"),
        (["2027-01,energy,oregon,1 MWh"], "energy is of nothing"),
        (["2027-01,nodes,,3"], "nodes is of a SKU at a site"),
        (["2027-01,energy,,1 kg"], "kg"),
        (["2027-01,used_fraction,h100-8/oregon,71"], "is a share from 0 to 1"),
        (["2027-01,nodes,h100-8/oregon,nan"], "'nan' is no number"),
        (["2027-01,nodes,h100-8/oregon,1e400"], "is a number from 0"),
        (["2027-01,energy,,1 MWh", "2027-01,energy,,2 MWh"], "keep one"),
        (["2026-01,energy,,1 MWh"], "the plan is of 2027-01 to 2027-12"),
        (
            ["2027-01,demand,chatter,1 /s"],
            "the plan says nothing of demand of chatter in 2027-01: it has chat, code",
        ),
        (
            ["2027-01,done_fraction,pretrain,0.4"],
            "nothing of done_fraction of pretrain in 2027-01: it has pretrain-70b",
        ),
        (["2027-01,nodes,h100/oregon,3"], "it has a100-80-8/dallas, h100-8/oregon"),
        (["2027-01,cost,,254000 USD"], "write the amount alone, in the currency of the plan"),
        (["2027-01,failures,,9 %"], "'9 %' is no number: write one from 0"),
        (["2027-01,cost,,1", "2027-01,cost,,2"], "is 2, and .* says 1: keep one, or write their sum as one"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(
    plan: dict[str, Any], tmp_path: Path, rows: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        tracked(plan, actual(tmp_path, *rows))


def test_the_scenario_from_here_plans_what_is_left(plan: dict[str, Any], tmp_path: Path) -> None:
    """Three quarters, the fleet that stands, code at 1.625 times its demand, a fifth of the tokens."""
    path = actual(
        tmp_path,
        "2027-03,nodes,h100-8/oregon,31",
        "2027-03,demand,code,130 /s",
        "2027-03,done_fraction,pretrain-70b,0.8",
    )
    actuals = read_actuals([path], load_catalogue(), "USD")
    text, notes = scenario_from_here(SCENARIO.read_text(encoding="utf-8"), "next-quarter.toml", plan, actuals)
    found = tomllib.loads(text)
    new = tmp_path / "from-here.toml"
    new.write_text(text, encoding="utf-8")

    check_scenario(load_scenario(new), load_catalogue())
    assert (str(found["horizon"]["start"]), found["horizon"]["periods"]) == ("2027-04-01", 3)
    assert {(one["sku"], one["nodes"]) for one in found["fleet"]} == {("a100-80-8", 58), ("h100-8", 31)}
    assert found["training"][0]["tokens"] == pytest.approx(4e11)
    assert found["pools"][0]["gpu_time"] == ["600000 h", "700000 h", "800000 h"]
    assert found["services"][0]["peak_rate"] == ["90 /s", "120 /s", "160 /s"]
    assert found["services"][1]["peak_rate"] == ["178.8 /s", "227.5 /s", "292.5 /s"]
    assert "# accelerator-hours of the reference" in text
    assert any("1.62 times the demand" in note for note in notes)


def test_progress_is_asked_of_the_month_before(plan: dict[str, Any], tmp_path: Path) -> None:
    """A row of 2027-04 would begin the scenario a quarter later than the one that asks for it."""
    actuals = read_actuals([actual(tmp_path, "2027-03,energy,,322 MWh")], load_catalogue(), "USD")

    with pytest.raises(InputError, match=r"by a row such as 2027-03,done_fraction,pretrain-70b,0\.6"):
        scenario_from_here(SCENARIO.read_text(encoding="utf-8"), "x", plan, actuals)


def test_what_is_on_order_is_told(plan: dict[str, Any], tmp_path: Path) -> None:
    """Four b200-8 are ordered by 2027-06-23 and come on 2027-10-01: they do not stand on 2027-07-01."""
    rows = ("2027-06,energy,,322 MWh", "2027-06,done_fraction,pretrain-70b,1")
    actuals = read_actuals([actual(tmp_path, *rows)], load_catalogue(), "USD")
    _, notes = scenario_from_here(SCENARIO.read_text(encoding="utf-8"), "x", plan, actuals)

    assert any(
        "come on 2027-10-01: the scenario from here does not know of the order" in one for one in notes
    )


def test_batteries_and_cells_that_are_up_are_told(plan: dict[str, Any], tmp_path: Path) -> None:
    """Those of a day that has come; what is due later is planned again."""
    put_up = {"site": "oregon", "ready_by": "2027-04-01"}
    plan["tables"]["installations"] = [
        put_up | {"what": "battery", "battery_kwh": 275.0},
        put_up | {"what": "sun's cells", "solar_kw": 129.5},
        put_up | {"what": "sun's cells", "solar_kw": 7.0, "ready_by": "2027-07-01"},
    ]
    rows = ("2027-06,energy,,322 MWh", "2027-06,done_fraction,pretrain-70b,1")
    actuals = read_actuals([actual(tmp_path, *rows)], load_catalogue(), "USD")
    _, notes = scenario_from_here(SCENARIO.read_text(encoding="utf-8"), "x", plan, actuals)

    told = [one for one in notes if "that the plan puts up by" in one]
    assert [one.partition(" that")[0] for one in told] == [
        "oregon: 275 kWh of battery",
        "oregon: 129.5 kW of sun's cells",
    ]


def test_what_has_come_stands_in_the_scenario(plan: dict[str, Any], tmp_path: Path) -> None:
    """Four b200-8 that came on 2027-07-15, of which three are reported; the run is done, and gone."""
    text = SCENARIO.read_text(encoding="utf-8")
    plan["tables"]["purchases"][0]["arrives"] = "2027-07-15"
    plan["tables"]["fleet"].append(
        {"period": "2027 Q3", "site": "oregon", "sku": "b200-8", "in_service_nodes": 4}
    )
    rows = ("2027-09,nodes,b200-8/oregon,3", "2027-09,done_fraction,pretrain-70b,1")
    actuals = read_actuals([actual(tmp_path, *rows)], load_catalogue(), "USD")
    found = tomllib.loads(scenario_from_here(text, "x", plan, actuals)[0])
    new = found["fleet"][-1]

    assert (new["sku"], new["site"], new["nodes"]) == ("b200-8", "oregon", 3)
    assert str(new["in_service"]) == "2027-07-15"
    assert "training" not in found
    late = read_actuals([actual(tmp_path, "2027-10,nodes,b200-8/oregon,3")], load_catalogue(), "USD")
    with pytest.raises(InputError, match="2027-10 is in the last period"):
        scenario_from_here(text, "x", plan, late)


def test_what_comes_on_the_first_day_stands(plan: dict[str, Any], tmp_path: Path) -> None:
    """Four b200-8 come on 2027-10-01, with the scenario, one of them early: it was reported in September."""
    rows = ("2027-09,nodes,b200-8/oregon,1", "2027-09,done_fraction,pretrain-70b,1")
    actuals = read_actuals([actual(tmp_path, *rows)], load_catalogue(), "USD")
    text, notes = scenario_from_here(SCENARIO.read_text(encoding="utf-8"), "x", plan, actuals)
    new = tomllib.loads(text)["fleet"][-1]

    assert (new["sku"], new["nodes"], str(new["in_service"])) == ("b200-8", 4, "2027-10-01")
    assert any(
        "3 nodes that the plan orders by 2027-06-23 come on 2027-10-01, and stand" in note for note in notes
    )
    assert not any("does not know of the order" in note for note in notes)


def test_demand_grows_on_from_what_it_has_come_to(plan: dict[str, Any], tmp_path: Path) -> None:
    """Chat stated as 40 /s that doubles in a year is 80 /s / sqrt(2) at mid-year, reported or not."""
    text = SCENARIO.read_text(encoding="utf-8")
    stated = next(line for line in text.splitlines() if line.startswith("peak_rate"))
    text = text.replace(stated, 'peak_rate = "40 /s"\ngrowth = "100 %/year"', 1)
    done = "2027-06,done_fraction,pretrain-70b,1"
    for row in plan["tables"]["services"]:
        if row["service"] == "chat":
            row["demand_per_s"] = 40 * 2 ** (int(row["period"][-1]) / 4 - 1 / 4)
    as_planned = read_actuals([actual(tmp_path, done)], load_catalogue(), "USD")
    twice = read_actuals(
        [actual(tmp_path, done, f"2027-06,demand,chat,{80 * 2**0.25} /s")], load_catalogue(), "USD"
    )
    for actuals, expected in ((as_planned, "56.57 /s"), (twice, "113.1 /s")):
        found, _ = scenario_from_here(text, "x", plan, actuals)
        assert tomllib.loads(found)["services"][0]["peak_rate"] == expected
        assert tomllib.loads(found)["services"][0]["growth"] == "100 %/year"


def test_limits_on_the_horizon_are_what_is_left_of_them(plan: dict[str, Any], tmp_path: Path) -> None:
    """A cap of 400 t, less 60 t of January and two months as planned; what is used up stays, and is told."""
    text = SCENARIO.read_text(encoding="utf-8").replace(
        "[policy]", '[policy]\ncarbon_cap = "400 t"\nmoney_cap = "1 USD"'
    )
    rows = ("2027-01,carbon,,60 t", "2027-03,done_fraction,pretrain-70b,0.8")
    actuals = read_actuals([actual(tmp_path, *rows)], load_catalogue(), "USD")
    found, notes = scenario_from_here(text, "x", plan, actuals)
    first = plan["tables"]["by_period"][0]["carbon_kgco2e"]
    policy = tomllib.loads(found)["policy"]

    assert float(policy["carbon_cap"].split()[0]) == pytest.approx(4e5 - 6e4 - first * 59 / 90, rel=1e-3)
    assert policy["money_cap"] == "1 USD"
    assert any("policy.money_cap: all of 1.00 USD is used up" in note for note in notes)


def test_what_a_report_leaves_open_is_told(plan: dict[str, Any], tmp_path: Path) -> None:
    """Progress of January is not that of March; a deadline has passed; a term that the plan began goes on."""
    plan["tables"]["commitments"] = [
        {"period": "2027 Q1", "location": "cloud", "nodes": 4, "ends": "2028-01-01", "signed": False},
        {"period": "2027 Q1", "location": "old", "nodes": 4, "ends": "2028-01-01", "signed": True},
    ]
    text = SCENARIO.read_text(encoding="utf-8")
    early = read_actuals(
        [actual(tmp_path, "2027-01,done_fraction,pretrain-70b,0.3")], load_catalogue(), "USD"
    )
    late = read_actuals([actual(tmp_path, "2027-06,done_fraction,pretrain-70b,0.9")], load_catalogue(), "USD")
    notes = scenario_from_here(text, "x", plan, early)[1]
    passed = scenario_from_here(text, "x", plan, late)[1]

    assert any(
        note.endswith("as of 2027-01: what it does from then to 2027-04-01 is not counted") for note in notes
    )
    assert [note for note in notes if "signed = true" in note] == [
        "cloud: 4 nodes that the plan reserves in 2027 Q1 are paid until 2028-01-01: "
        "state them by signed = true and starts"
    ]
    assert "pretrain-70b: its deadline, 2027-06-30, has passed: state a later one" in passed


def test_a_plan_that_only_rents_is_a_plan(plan: dict[str, Any], tmp_path: Path) -> None:
    """It has no node of its own; one that was not found has no totals."""
    path = tmp_path / "plan.json"
    plan["tables"]["fleet"], plan["cells"]["fleet"] = [], []
    for totals, fails in ((plan["totals"], False), ([], True)):
        cells = plan["cells"] | ({"totals": []} if fails else {})
        path.write_text(json.dumps(plan | {"totals": totals, "cells": cells}), encoding="utf-8")
        files = [actual(tmp_path, "2027-01,cost,,254000")]
        if fails:
            with pytest.raises(InputError, match="is no plan that was found"):
                tracked_file(str(path), files)
        else:
            assert tracked_file(str(path), files)[0]["rows"][0]["measure"] == "cost"


def test_a_run_under_way_needs_its_share_done(plan: dict[str, Any], tmp_path: Path) -> None:
    actuals = read_actuals([actual(tmp_path, "2027-03,energy,,320 MWh")], load_catalogue(), "USD")
    with pytest.raises(InputError, match="pretrain-70b: began by the plan: say how far"):
        scenario_from_here(SCENARIO.read_text(encoding="utf-8"), "x", plan, actuals)


def test_a_run_of_samples_has_samples_left(plan: dict[str, Any], tmp_path: Path) -> None:
    """A fifth of 2e12 samples; a run whose tokens follow from a wanted loss is refused."""
    text = SCENARIO.read_text(encoding="utf-8").replace("tokens = 2e12", "samples = 2e12")
    actuals = read_actuals(
        [actual(tmp_path, "2027-03,done_fraction,pretrain-70b,0.8")], load_catalogue(), "USD"
    )
    found, notes = scenario_from_here(text, "x", plan, actuals)

    assert tomllib.loads(found)["training"][0]["samples"] == pytest.approx(4e11)
    assert "pretrain-70b: 20.0 % of its samples are left" in notes
    with pytest.raises(InputError, match="follow from a wanted loss"):
        scenario_from_here(text.replace("samples = 2e12", "target = 2"), "x", plan, actuals)


def test_nodes_without_their_site_stand_where_one_site_has_them(plan: dict[str, Any], tmp_path: Path) -> None:
    """Monitoring counts 30 h100-8 and knows no site; where two have the SKU, somebody has to say."""
    text = SCENARIO.read_text(encoding="utf-8")
    rows = ("2027-03,nodes,h100-8,30", "2027-03,done_fraction,pretrain-70b,1")
    actuals = read_actuals([actual(tmp_path, *rows)], load_catalogue(), "USD")
    found = tomllib.loads(scenario_from_here(text, "x", plan, actuals)[0])

    assert {one["nodes"] for one in found["fleet"] if one["sku"] == "h100-8"} == {30}
    plan["tables"]["fleet"].append(
        {"period": "2027 Q1", "site": "virginia", "sku": "h100-8", "in_service_nodes": 4}
    )
    with pytest.raises(InputError, match="h100-8 stands at several sites: say how many at each"):
        scenario_from_here(text, "x", plan, actuals)


def test_a_share_done_of_what_is_no_run_is_refused(plan: dict[str, Any], tmp_path: Path) -> None:
    rows = ("2027-03,done_fraction,code,0.5", "2027-03,done_fraction,pretrain-70b,1")
    actuals = read_actuals([actual(tmp_path, *rows)], load_catalogue(), "USD")
    with pytest.raises(InputError, match="code: done_fraction is of a training job"):
        scenario_from_here(SCENARIO.read_text(encoding="utf-8"), "x", plan, actuals)
