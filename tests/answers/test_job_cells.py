"""Every number in the tables of a job opens: its explanation is worked out again, and comes to the number."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from planner.answers.job import document, job_document, load_job
from planner.answers.job.document import traced_totals
from planner.answers.job.footprint import footprint_of
from planner.answers.job.places import place_document
from planner.answers.job.setting import setting_of
from planner.answers.job.upload import uploaded_document, uploaded_places
from planner.answers.job.what_if import on_other_facts
from planner.answers.opening import open_document
from planner.cli import ANSWER, main
from planner.cli.console import WRONG_INPUT
from planner.inputs.job.schema import Job
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario import ScenarioError
from planner.report.cells import named_cell, opened_cell
from planner.report.data import to_json
from planner.report.shape import answer_json, written
from planner.trace.errors import InputError
from planner.trace.explain import Explanation, explain
from planner.trace.numbers import exact_text
from planner.trace.origins import facts_of
from planner.trace.quantities import Derived
from planner.trace.recomputation import recompute
from planner.trace.records import table_rows
from planner.trace.uncertainty import ranged_facts, spread
from planner.ui import shared

PAGE = Path(__file__).resolve().parents[2] / "planner" / "ui" / "job.py"
ESTIMATE = ("totals", "scores", "phases", "scopes", "failures", "changes", "tornado", "facts", "predicted")
ELSEWHERE = ("hours", "months", "places")
HOURLY = """title = "hours of a grid, under contract"
[site]
hourly = "gb-2021"
fill = "line"
longest_gap = "5 d"
start = 2021-03-01
[hardware]
sku = "h100-8"
[training]
accelerator_hours = 80000
power = "700 W"
duration = "10 d"
[end_of_life]
[contract]
covered = 0.6
intensity = "0 g/kWh"
residual = "450 g/kWh"
"""


@cache
def job(name: str) -> Job:
    return load_job(data_folder() / "jobs" / f"{name}.toml", load_catalogue())


@cache
def estimate(name: str) -> dict[str, Any]:
    return job_document(job(name))


@cache
def elsewhere(name: str) -> dict[str, Any]:
    return place_document(job(name))


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def opened(name: str, table: str, row: int, key: str) -> Explanation:
    document = elsewhere(name) if table in ELSEWHERE else estimate(name)
    found = opened_cell(document, table, table_rows(document, table)[row], key)
    assert found is not None
    return found


# Each cell


@pytest.mark.parametrize("name", ["bloom", "federated-keyboard"])
@pytest.mark.parametrize("table", ESTIMATE + ELSEWHERE)
def test_every_number_is_the_top_of_its_explanation(name: str, table: str) -> None:
    """Measured hours and devices: each cell of each table; a name opens nothing."""
    document = elsewhere(name) if table in ELSEWHERE else estimate(name)
    for number, row in enumerate(table_rows(document, table)):
        for key, value in row.items():
            found = opened_cell(document, table, row, key)
            assert (found is not None) == is_number(value), (number, key)
            assert found is None or found.steps[0].value == pytest.approx(value, rel=1e-12), (number, key)


@pytest.mark.slow
@pytest.mark.parametrize("table", ESTIMATE + ELSEWHERE)
def test_every_column_of_a_predicted_job(table: str) -> None:
    """A run with failures and checkpoints: the last row of each table, which is of another place there."""
    document = elsewhere("train-8b") if table in ELSEWHERE else estimate("train-8b")
    number = len(table_rows(document, table)) - 1
    for key, value in table_rows(document, table)[number].items():
        if is_number(value):
            assert opened("train-8b", table, number, key).steps[0].value == pytest.approx(value, rel=1e-12), (
                key
            )


@pytest.mark.slow
def test_every_change_of_a_predicted_job() -> None:
    """Each of its variants is worked out again, other SKUs and the other interval among them."""
    for number, row in enumerate(estimate("train-8b")["changes"]):
        found = opened("train-8b", "changes", number, "change_kgco2e")
        assert found.steps[0].value == pytest.approx(row["change_kgco2e"], rel=1e-9)
        assert f"with {row['what']} {row['to']} in place of {row['from']}" in found.to_text(2)


@pytest.mark.slow
def test_hours_of_a_grid_and_contracts() -> None:
    """Another first day, pausing, market-based scope 2, waste, and the mean of a series open as well."""
    document, places = uploaded_document(HOURLY, "own.toml", {}), uploaded_places(HOURLY, "own.toml", {})
    changes = [row["what"] for row in document["changes"]]
    scopes = [row["scope"] for row in document["scopes"]]

    assert {"first day (bound)", "paused half the day (bound)"} <= set(changes)
    assert {"2, market-based", "3.5, waste"} <= set(scopes)
    for source, table in (
        (document, "changes"),
        (document, "scopes"),
        (document, "facts"),
        (places, "months"),
    ):
        for number, row in list(enumerate(source[table]))[::5]:  # each takes a while
            for key, value in row.items():
                if is_number(value):
                    found = opened_cell(source, table, row, key)
                    assert found is not None
                    assert found.steps[0].value == pytest.approx(value, rel=1e-9), (table, number, key)


@pytest.mark.parametrize(
    ("table", "key"), [("phases", "of_total_fraction"), ("scopes", "kgco2e"), ("places", "dirtiest_kgco2e")]
)
def test_explanations_lead_down_to_sources(table: str, key: str) -> None:
    """What is derived has inputs, and what has none is a fact with its source or says why it was chosen."""
    found = opened("bloom", table, -1, key)

    assert found.facts()
    for step in found.steps:
        assert bool(step.inputs) == (step.kind == "derived"), step.name
        assert step.source or step.equation or step.about, step.name


# What another number would be


@pytest.mark.slow
def test_a_change_is_the_difference_of_both_jobs() -> None:
    """The region changed by hand in the file gives the number that stands for it, to the last digit."""
    row = estimate("train-8b")["changes"][0]
    text = (data_folder() / "jobs" / "train-8b.toml").read_text(encoding="utf-8")
    moved = uploaded_document(text.replace(f'"{row["from"]}"', f'"{row["to"]}"'), "train-8b.toml", {})
    found = opened("train-8b", "changes", 0, "change_kgco2e")
    then, now = (found.steps[found.steps[0].inputs[name]].value for name in ("then_kgco2e", "now_kgco2e"))

    assert row["what"] == "region"
    assert then == moved["totals"][0]["value"]
    assert now == estimate("train-8b")["totals"][0]["value"]
    assert f"grid.{row['to']}.intensity" in found.to_text()
    assert f"grid.{row['from']}.intensity" in found.to_text()


def test_what_a_variant_tries_is_not_said_to_be_stated() -> None:
    """BLOOM's file states a life of 6 years; the variant of 3 says that the job does not."""
    changes = estimate("bloom")["changes"]
    number = next(i for i, row in enumerate(changes) if (row["from"], row["to"]) == ("6 y", "3 y"))
    lives = [
        step
        for step in opened("bloom", "changes", number, "kgco2e").steps
        if "lifetime" in step.place + step.name
    ]
    (tried,) = (step for step in lives if step.name == "job.hardware.lifetime")
    (stated,) = (
        step for step in opened("bloom", "totals", 2, "value").steps if step.name == "job.hardware.lifetime"
    )

    assert (tried.value, stated.value) == (3.0, 6.0)
    assert "not what the job states" in tried.source
    assert stated.source.startswith("job 'BLOOM")


def test_the_end_of_a_fact_stands_in_the_tree() -> None:
    """The tornado's number, with what was chosen left as it is, as `recompute` has it."""
    row = estimate("train-8b")["tornado"][0]
    found = opened("train-8b", "tornado", 0, "at_low")
    carbon = footprint_of(setting_of(job("train-8b"), load_catalogue())).carbon
    (again,) = recompute([carbon], {row["fact"]: row["low"]})
    (moved,) = (step for step in found.steps if step.name == row["fact"])

    assert found.steps[0].value == again == row["at_low"]
    assert moved.value == row["low"]
    assert moved.about.startswith("the low end of its range")
    assert opened("train-8b", "tornado", 0, "low").steps[0].value == row["low"]


def test_a_percentile_names_draws_seed_and_facts() -> None:
    """Drawn again with that number and that seed, the facts give the percentile that is explained."""
    footprint = footprint_of(setting_of(job("federated-keyboard"), load_catalogue()))
    nodes = list(traced_totals(job("federated-keyboard"), load_catalogue()))
    found = opened("federated-keyboard", "totals", 0, "p95")
    draws = found.steps[found.steps[0].inputs["draws"]]
    drawn = {name: found.steps[number] for name, number in draws.inputs.items()}
    bands = spread(nodes, draws=int(draws.value), seed=int(drawn.pop("seed").value))

    assert draws.value == document.DRAWS
    assert found.steps[0].value == bands[0].p95
    assert drawn.keys() == {fact.key for fact in ranged_facts(footprint.carbon)}
    assert all(step.low is not None for step in drawn.values())


def test_a_percentile_of_what_is_certain_is_the_estimate() -> None:
    """BLOOM states all that its electricity rests on: nothing is drawn."""
    assert opened("bloom", "totals", 1, "p5") == opened("bloom", "totals", 1, "value")


def test_only_what_rests_on_a_fact_is_made_again() -> None:
    """Other numbers stay the very nodes that they were; a new value is what the equation gives."""
    carbon = footprint_of(setting_of(job("bloom"), load_catalogue())).carbon
    assert isinstance(carbon, Derived)
    fact = facts_of(carbon.call.inputs["embodied_kgco2e"])["job.hardware.lifetime"]
    same = on_other_facts(carbon, {"no.such.fact": fact})
    other = on_other_facts(
        carbon,
        {
            fact.key: type(fact)(
                **{
                    **{
                        name: getattr(fact, name)
                        for name in ("unit", "boundary", "key", "source", "locator", "kind")
                    },
                    "value": fact.value / 2,
                }
            )
        },
    )
    assert isinstance(other, Derived)

    assert same is carbon
    assert other.call.inputs["operational_kgco2e"] is carbon.call.inputs["operational_kgco2e"]
    assert other.value == recompute([carbon], {fact.key: fact.value / 2})[0]
    assert explain(other).steps[0].equation == explain(carbon).steps[0].equation


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "key", "says"),
    [
        ("phases", "energy_kwh", "totals.energy (added up over phases)"),
        ("phases", "electricity_kgco2e", "totals.carbon (added up over phases)"),
        ("scopes", "kgco2e", "scopes[0].kgco2e"),
        ("totals", "value", "totals.carbon"),
        ("changes", "change_kgco2e", "changes[0].change_kgco2e"),
    ],
)
def test_a_number_that_was_changed_is_refused(table: str, key: str, says: str, tmp_path: Path) -> None:
    """A phase's energy tripled, a scope half as large again: the place is named, and nothing opens."""
    whole: dict[str, Any] = json.loads(to_json(estimate("train-8b")))
    file = tmp_path / "job.json"
    file.write_text(json.dumps(whole), encoding="utf-8")
    assert open_document(file) == whole
    file.write_text(answer_json(whole), encoding="utf-8")
    assert written(open_document(file)) == json.loads(file.read_text(encoding="utf-8"))

    for factor in (3.0, 1.5):
        changed = json.loads(json.dumps(whole))
        changed[table][0][key] = changed[table][0][key] * factor + 1.0
        file.write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(ScenarioError, match=re.escape(says)):
            open_document(file)


# Where it is asked for


def test_a_number_is_asked_for_by_name() -> None:
    """Rows count from 1; without a column the first number of the row is meant."""
    row = estimate("bloom")["phases"][0]

    assert named_cell(written(estimate("bloom")), "phases.1").steps[0].value == row["kgco2e"]
    energy = named_cell(written(estimate("bloom")), "phases.1.energy_kwh")
    assert (energy.steps[0].value, energy.steps[0].unit) == (row["energy_kwh"], "kWh")


@pytest.mark.parametrize(
    "name", ["", "carbon", "changes", "changes.0", "changes.99", "changes.1.what", "failures.1"]
)
def test_a_number_that_is_not_there_is_refused(name: str) -> None:
    """The message says which there are; BLOOM's hours are measured, so that failures have no table."""
    with pytest.raises(InputError, match=r"phases\.1 to phases\.1, ") as refused:
        named_cell(written(estimate("bloom")), name)

    assert "failures.1 to" not in str(refused.value)


def test_the_command_opens_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints the tree; a number that is not there is the user's to mend."""
    assert main(["carbon", "bloom", "--explain", "changes.1.change_fraction"]) == ANSWER
    assert capsys.readouterr().out.startswith("change_fraction = 0.218483\n")
    assert main(["carbon", "bloom", "--explain", "changes.9"]) == WRONG_INPUT
    assert "changes.1 to changes.4" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("part", ["What it is made of", "Where and when", "What would change it"])
def test_every_table_of_the_page_opens(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """Of each table the columns of one row: the text begins with the number that stands in the cell."""
    opened: dict[str, int] = {}

    def data(name: str, rows: Any, label: str = "", opens: Any = None, key: str = "") -> None:
        for column, value in rows[-1].items() if opens is not None and rows else ():
            found = opens(len(rows) - 1, column)
            assert (found is not None) == is_number(value), (key, column)
            if found is not None:
                text = found if isinstance(found, str) else found.to_text()
                assert f"= {exact_text(value)}" in text.splitlines()[0], (key, column)
                opened[key] = opened.get(key, 0) + 1

    monkeypatch.setattr(shared, "data", data)
    app = AppTest.from_file(str(PAGE), default_timeout=120)
    app.session_state["job-tabs"] = part
    app.query_params["job.example"] = "bloom" if part == "Where and when" else "train-8b"
    app.run()
    wanted = {
        "What it is made of": {"job-phases", "job-scopes", "job-failures"},
        "Where and when": {"job-hours"},
        "What would change it": {"job-changes", "job-tornado", "job-facts"},
    }[part]

    assert not app.exception
    assert wanted | {"job-totals", "job-scores-data"} == set(opened)


def test_places_of_a_flat_grid_open_as_one_number() -> None:
    """BLOOM states its grid as one figure: every hour of its own place is the job as it is."""
    row = elsewhere("bloom")["hours"][5]
    found = opened("bloom", "hours", 5, "change_kgco2e")

    assert (row["hour"], row["change_kgco2e"]) == (5, 0.0)
    assert found.steps[0].value == 0.0
    assert np.isclose(found.steps[found.steps[0].inputs["then_kgco2e"]].value, elsewhere("bloom")["kgco2e"])
