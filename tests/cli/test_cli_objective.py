"""A plan whose objective is carbon says kgCO2e: document, tables, charts, store, sweep, futures, replay."""

from __future__ import annotations

import csv
import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from explained import explained

from planner.answers.futures.commands import draw_realised, replay_document, replay_text
from planner.answers.plan.cells import cell_explanation
from planner.answers.plan.document import plan_document
from planner.answers.sweeps.commands import sweep_document
from planner.answers.sweeps.running import run_sweep
from planner.cli import ANSWER, main
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario import Scenario, canonical_text, load_scenario, with_changes
from planner.program.grids import varied
from planner.program.plan import plan_fleet
from planner.program.replay import replay
from planner.report.charts import FUTURES_PICTURES, PLAN_PICTURES
from planner.report.data import to_csv_files
from planner.report.shape import read_back
from planner.report.tables import table_of
from planner.store import open_store

LEXICOGRAPHIC = {"policy.objective": "lexicographic", "policy.first": "money", "policy.tolerance": "5 %"}
FUTURES = [
    {"name": "as stated", "probability": 0.75},
    {"name": "more to learn", "probability": 0.25, "tokens": 1.2},
]


def scenario(changes: dict[str, Any] | None = None) -> Scenario:
    path = data_folder() / "scenarios" / "one-training-job.toml"
    return with_changes(load_scenario(path), {"policy.objective": "carbon"} | (changes or {}))


@cache
def document() -> dict[str, Any]:
    return plan_document(plan_fleet(scenario()))


def total(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(row for row in document()["totals"] if row["name"] == name)
    return found


def test_the_document_says_kilograms() -> None:
    """The objective is the plan's carbon, and a hundredth of a gram for each dollar."""
    stated, cost, carbon = document()["objective"], total("cost"), total("carbon")
    summary = next(row for row in document()["tables"]["summary"] if row["measure"] == "Objective")
    whole, money, *_ = explained(document(), "objective").steps

    assert (stated["kind"], stated["unit"]) == ("carbon", "kgCO2e")
    assert stated["value"] == pytest.approx(carbon["value"] + 1e-5 * cost["value"], rel=1e-12)
    assert total("objective")["unit"] == summary["unit"] == "kgCO2e"
    assert (whole.name, whole.unit) == ("weighted_kgco2e", "kgCO2e")
    assert (money.name, money.unit) == ("plan_usd", "USD")
    assert {row["at_unit"] for row in document()["tornado"]} == {"kgCO2e"}


@pytest.mark.parametrize(
    ("changes", "unit"),
    [
        ({"policy.objective": "cash"}, "USD"),
        (LEXICOGRAPHIC, "kgCO2e"),
        (LEXICOGRAPHIC | {"policy.first": "carbon"}, "USD"),
    ],
)
def test_the_unit_follows_what_was_minimised_at_last(changes: dict[str, Any], unit: str) -> None:
    made = plan_document(plan_fleet(scenario(changes), baselines=False))
    name = "cost" if unit == "USD" else "carbon"

    assert made["objective"]["unit"] == unit
    looked_for = f"The plan looks for {made['objective']['text']}; what is next to it may be better in"
    assert made["why"][0].startswith(looked_for), "else a cheaper baseline looks like a mistake"
    assert any("with 95 % chance where only failures vary" in line for line in made["headline"])
    assert made["objective"]["value"] == next(row["value"] for row in made["totals"] if row["name"] == name)


def test_tables_and_charts_say_kilograms() -> None:
    """The tornado's heading, its columns as CSV, its axis, and the number that a cell opens."""
    rows = document()["tornado"]
    picture = PLAN_PICTURES["tornado"](document())
    opened = cell_explanation(document(), "tornado", rows[0], "at_low")
    columns = csv.DictReader(io.StringIO(to_csv_files(document())["columns.csv"]))
    units = {row["column"]: row["unit"] for row in columns if row["table"] == "tornado"}

    assert picture is not None
    assert "CO2e" in picture.alt
    assert "USD" not in picture.alt.replace("USD/", "")
    assert "CO2e" in json.dumps(picture.chart.to_dict()["layer"][0]["encoding"]["x"]["title"])
    assert [name for name in table_of("tornado", rows).headings if name.startswith("objective at")] == [
        "objective at low (tCO2e)",
        "objective at high (tCO2e)",
    ]
    assert (units["at_low"], units["at_high"]) == ("kgCO2e", "kgCO2e")
    assert opened is not None
    assert opened.steps[0].unit == "kgCO2e"


@pytest.mark.slow
@pytest.mark.nightly
def test_the_command_and_the_store_say_kilograms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `plan` prints, what is saved, and what a sweep over objectives holds next to each other."""
    file, address = tmp_path / "carbon.toml", str(tmp_path / "plans.sqlite")
    file.write_text(canonical_text(scenario()), encoding="utf-8")
    assert main(["plan", str(file), "--no-baselines", "--save", "--store", address, "--quiet"]) == ANSWER
    line = next(one for one in capsys.readouterr().out.splitlines() if "What the program minimised" in one)
    store = open_store(address)
    (saved,) = store.plans()

    assert "CO2e" in line
    assert "USD" not in line
    assert (saved.objective_value, saved.objective_unit) == (document()["objective"]["value"], "kgCO2e")

    base, grid = scenario(), varied(["policy.objective=money,carbon"])
    points = sweep_document(base, grid, run_sweep(base, grid, store), store.document)["points"]
    assert [(point["objective_unit"], point["objective_value"]) for point in points] == [
        ("USD", points[0]["cost_usd"]),
        ("kgCO2e", saved.objective_value),
    ]


@pytest.mark.nightly
def test_futures_say_kilograms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Document, words, chart and explanations: a mean of the objectives of its futures, in their unit."""
    file = tmp_path / "futures.toml"
    file.write_text(canonical_text(scenario({"futures": FUTURES})), encoding="utf-8")
    assert main(["futures", str(file), "--json"]) == ANSWER
    found = read_back(json.loads(capsys.readouterr().out))
    stated, longer = found["futures"]
    picture = FUTURES_PICTURES["futures"](found)
    mean = 0.75 * stated["objective_value"] + 0.25 * longer["objective_value"]

    assert found["objective"] == {"kind": "carbon", "value": pytest.approx(mean), "unit": "kgCO2e"}
    assert stated["objective_value"] == pytest.approx(
        stated["carbon_kgco2e"] + 1e-5 * stated["cost_usd"], rel=1e-9
    )
    for name in ("expected", "knowing", "future.as stated.objective"):
        assert explained(found, name).steps[0].unit == "kgCO2e", name
    assert not any("USD" in line for line in found["headline"])
    assert picture is not None
    assert "CO2e" in picture.alt
    assert "USD" not in picture.alt


def test_a_replay_says_kilograms() -> None:
    catalogue = load_catalogue()
    base = scenario({"futures": FUTURES})
    made = replay_document(replay(base, draw_realised(base, 1, catalogue), catalogue=catalogue))
    known = next(way for way in made["ways"] if way["way"] == "all known")

    assert made["objective"] == {"kind": "carbon", "unit": "kgCO2e"}
    assert known["objective_value"] == pytest.approx(
        known["carbon_kgco2e"] + 1e-5 * known["cost_usd"], rel=1e-9
    )
    assert "CO2e" in replay_text(made)
    assert "USD" not in replay_text(made)
