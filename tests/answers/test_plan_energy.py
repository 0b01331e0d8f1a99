"""Where the energy of a plan goes, and the charts of it and of what may come out otherwise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from planner.answers.plan.energy import energy_records
from planner.inputs.scenario import load_scenario
from planner.program.plan import Plan, plan_fleet
from planner.report.charts import to_svg
from planner.report.charts.flows import METERS, OVERHEAD, energy_flow
from planner.report.charts.risk import margins, ranges
from planner.report.charts.searching import search_trace
from planner.trace.records import plain_rows

SCENARIOS = Path(__file__).resolve().parents[2] / "data" / "scenarios"


@pytest.fixture(scope="module")
def trained() -> Plan:
    """One training job on nodes that idle when it is done."""
    return plan_fleet(load_scenario(SCENARIOS / "one-training-job.toml"), baselines=False)


def test_the_uses_of_energy_add_up_to_the_meters(trained: Plan) -> None:
    """Computers and what cooling adds, site by site, are the energy of the ledger; the PUE is 1.15."""
    rows = plain_rows(energy_records(trained))
    total = math.fsum(row["it_kwh"] + row["overhead_kwh"] for row in rows)

    assert total == pytest.approx(trained.ledger.energy.value, rel=1e-9)
    assert {row["site"] for row in rows} == {"stockholm"}
    for row in rows:
        assert row["overhead_kwh"] == pytest.approx(0.15 * row["it_kwh"], rel=1e-9)


def test_training_is_split_by_what_its_hours_are_spent_on(trained: Plan) -> None:
    """Useful and lost work burn at the same power: of the two, their energies are as their hours.

    Checkpoints and restarts draw less: the useful share of the energy is above the ETTR, and below what it
    would be without them.
    """
    rows = {row["use"]: row["it_kwh"] for row in plain_rows(energy_records(trained))}
    training = {use: kwh for use, kwh in rows.items() if use.startswith("training")}
    runs = trained.ledger.runs
    assert runs is not None
    c = int(runs.candidate[trained.ledger.run_rows[0]])
    hours = runs.ettr.call.inputs  # type: ignore[attr-defined]
    lost_of_useful = (hours["lost_h"].value / hours["useful_h"].value)[c]
    useful = training["training: useful work"]

    assert training["training: lost to failures"] / useful == pytest.approx(lost_of_useful, rel=1e-9)
    ettr = float(runs.ettr.value[c])
    assert ettr < useful / math.fsum(training.values()) < 1 / (1 + lost_of_useful)


def flowing(**uses: tuple[float, float]) -> dict[str, Any]:
    rows = [
        {"site": site, "use": "serving", "it_kwh": it, "overhead_kwh": over, "explain": "energy.serving"}
        for site, (it, over) in uses.items()
    ]
    return {"tables": {"energy": rows}}


def test_the_flow_keeps_its_energy_and_says_it_in_words() -> None:
    """Two sites of 1,000 and 500 kWh for computers; 150 kWh of cooling leave beside them: 1.65 MWh in all."""
    flow = energy_flow(flowing(here=(1000.0, 100.0), there=(500.0, 50.0)))
    assert flow is not None
    (series,) = flow.spec["series"]
    into: dict[str, float] = {}
    for link in series["links"]:
        into[link["target"].split("\n")[0]] = into.get(link["target"].split("\n")[0], 0.0) + link["value"]

    assert into == {"at here": 1100.0, "at there": 550.0, "serving": 1500.0, OVERHEAD: 150.0}
    assert {node["name"] for node in series["data"]} == {
        f"{METERS}\n1.65 MWh",
        "at here\n1.1 MWh",
        "at there\n550 kWh",
        "serving\n1.5 MWh",
        f"{OVERHEAD}\n150 kWh",
    }
    assert "at there 550 kWh" in flow.alt


def test_a_site_may_be_called_as_a_use_is() -> None:
    """A band from 'serving' to 'serving' would be a circle, which no such picture can show."""
    flow = energy_flow(flowing(serving=(10.0, 1.0)))

    assert flow is not None
    assert all(link["source"] != link["target"] for link in flow.spec["series"][0]["links"])


def test_a_plan_without_its_energy_has_no_flow() -> None:
    """Plans that an earlier everfleet saved, and scenarios without a plan."""
    assert energy_flow({"tables": {}}) is None
    assert energy_flow({"tables": {"energy": []}}) is None


@pytest.mark.usefixtures("drawn_pictures")
def test_ranges_tell_both_ends_in_units() -> None:
    """5 MUSD within 4 and 7: the bar runs from 80 to 140 % of the plan."""
    total = {"name": "cost", "label": "Cost", "value": 5e6, "unit": "USD", "p5": 4e6, "p95": 7e6}
    known = {"name": "energy", "label": "Energy", "value": 5.0, "unit": "kWh", "p5": None, "p95": None}
    drawn = ranges({"totals": [total, known]})

    assert drawn is not None
    assert "Cost 4 MUSD to 7 MUSD" in drawn.alt
    assert "80" in to_svg(drawn)
    assert ranges({"totals": [known]}) is None


def test_margins_count_the_days_to_the_deadline() -> None:
    """Done on 20 or 25 June with a deadline on 30 June: 10 and 5 days early; one without is left out."""
    job = {"job": "a", "finish_p50": "2027-06-20", "finish_p95": "2027-06-25", "deadline": "2027-06-30"}
    drawn = margins({"tables": {"jobs": [job, job | {"job": "b", "finish_p95": "never"}]}})

    assert drawn is not None
    assert "a: 5 d (95 %) to 10 d (median)" in drawn.alt
    assert "b:" not in drawn.alt
    assert margins({"tables": {"jobs": []}}) is None


def test_a_search_is_drawn_once_there_is_something_to_compare() -> None:
    """Without a plan yet there is no incumbent to draw; a long search is drawn with at most 400 steps."""
    none = {"elapsed_s": 0.1, "incumbent": None, "bound": 1e6}
    steps = [{"elapsed_s": n / 10, "incumbent": 3e6, "bound": 2e6} for n in range(2000)]

    assert search_trace([none], "USD") is None
    drawn = search_trace([none, *steps], "USD")
    assert drawn is not None
    assert len(drawn.chart.to_dict()["data"]["values"]) <= 800
    assert "best so far 3 MUSD, bound: nothing is below 2 MUSD" in drawn.alt
