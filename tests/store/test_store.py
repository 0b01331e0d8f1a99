"""The store: what is saved comes back to the last bit, a kill leaves no half of it, refusals are one line.

No number of a plan is judged here. What is judged is that it is the same one: against the document that was
saved, against planning anew, and against files planned elsewhere.
"""

from __future__ import annotations

import copy
import gc
import json
import multiprocessing
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sizes import size
from sqlalchemy import Engine, create_engine, event, inspect, update
from sqlalchemy import text as sql

from planner.answers.futures import futures_document, plan_futures
from planner.answers.futures.page import futures_text
from planner.answers.plan.document import plan_document
from planner.answers.saved import commands
from planner.answers.saved import recompute as repeating
from planner.answers.saved.commands import compared_text
from planner.answers.saved.compare import NO_INPUTS, compare_plans, compare_sides, kept_side
from planner.answers.saved.exporting import export_plan
from planner.answers.saved.recompute import recompute, recompute_futures
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario import (
    Scenario,
    canonical_text,
    digest,
    load_scenario,
    parse_scenario,
    with_changes,
)
from planner.inputs.scenario.bundle import KeptScenario, keep, restored
from planner.program.plan import plan_fleet
from planner.report.data import to_json
from planner.report.saving import ReportError
from planner.report.shape import answer_json
from planner.report.standards import write_as
from planner.store import Labels, Store, StoreError, addresses, labels_of, open_store, schema
from planner.store.addresses import engine_for, parsed, shown
from planner.store.packing import content_digest, packed
from planner.trace.errors import InputError

POSIX = pytest.mark.skipif(os.name != "posix", reason="kills by signal")
KILLS = size(12, nightly=50)
ROOT = Path(__file__).resolve().parents[2]
SHIPPED = data_folder() / "scenarios" / "one-training-job.toml"
CONFIG = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
# The tables of a store as everfleet wrote them before there were sweeps.
EDITION_1 = """
CREATE TABLE everfleet_schema (version INTEGER NOT NULL);
INSERT INTO everfleet_schema VALUES (1);
CREATE TABLE everfleet_scenarios (digest VARCHAR(64) NOT NULL PRIMARY KEY, title TEXT NOT NULL,
    name TEXT NOT NULL, text TEXT NOT NULL, saved VARCHAR(32) NOT NULL);
CREATE TABLE everfleet_scenario_files (scenario VARCHAR(64) NOT NULL REFERENCES everfleet_scenarios (digest),
    name VARCHAR(250) NOT NULL, content BLOB NOT NULL, PRIMARY KEY (scenario, name));
CREATE TABLE everfleet_plans (digest VARCHAR(64) NOT NULL PRIMARY KEY,
    scenario VARCHAR(64) NOT NULL REFERENCES everfleet_scenarios (digest), title TEXT NOT NULL,
    saved VARCHAR(32) NOT NULL, facts_digest VARCHAR(64) NOT NULL, versions TEXT NOT NULL,
    seed INTEGER NOT NULL, baselines BOOLEAN NOT NULL, status VARCHAR(32) NOT NULL,
    objective VARCHAR(32) NOT NULL, objective_usd FLOAT, cost_usd FLOAT, carbon_kgco2e FLOAT,
    energy_kwh FLOAT, capex_usd FLOAT, document BLOB NOT NULL);
CREATE INDEX ix_everfleet_plans_scenario ON everfleet_plans (scenario);
CREATE TABLE everfleet_fits (digest VARCHAR(64) NOT NULL PRIMARY KEY, name TEXT NOT NULL,
    saved VARCHAR(32) NOT NULL, document BLOB NOT NULL);
"""


def planned(scenario: Scenario) -> dict[str, Any]:
    return plan_document(plan_fleet(scenario, baselines=False))


def plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document as a file holds it."""
    found: dict[str, Any] = json.loads(to_json(dict(document)))
    return found


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario(SHIPPED)


@pytest.fixture(scope="module")
def document(scenario: Scenario) -> dict[str, Any]:
    return planned(scenario)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "own" / "plans.sqlite"


@pytest.fixture
def store(file: Path) -> Store:
    return open_store(str(file))


# Saving


def test_what_is_saved_comes_back(store: Store, scenario: Scenario, document: dict[str, Any]) -> None:
    """The document is the one that was saved, and the listed totals are those in it, to the last bit."""
    saved = store.plan(store.save_plan(scenario, document, baselines=False))
    totals = {total["name"]: total["value"] for total in document["totals"]}

    assert store.document(saved.digest) == plain(document)
    assert (saved.cost_usd, saved.carbon_kgco2e) == (totals["cost"], totals["carbon"])
    assert (saved.energy_kwh, saved.capex_usd) == (totals["energy"], totals["capex"])
    assert (saved.objective_value, saved.objective_unit) == (document["objective"]["value"], "USD")
    assert (saved.facts_digest, saved.scenario) == (document["facts_digest"], digest(scenario))
    assert (saved.status, saved.seed, saved.baselines) == ("optimal", 0, False)
    assert {"everfleet", "highspy", "python"} <= saved.versions.keys()


def test_the_same_twice_is_one_row(store: Store, scenario: Scenario, document: dict[str, Any]) -> None:
    """Two runs differ in the seconds that the solver took and in nothing else."""
    again = planned(scenario)
    digests = {store.save_plan(scenario, one, baselines=False) for one in (document, again)}

    assert again["status"]["seconds"] != document["status"]["seconds"]
    assert len(digests) == len(store.plans()) == len(store.scenarios()) == 1


def test_no_plan_is_saved_too(store: Store, scenario: Scenario) -> None:
    """An answer without a plan has a status and no totals."""
    capped = with_changes(scenario, {"policy.carbon_cap": "1 kg"})
    saved = store.plan(store.save_plan(capped, planned(capped)))

    assert (saved.status, saved.cost_usd, saved.carbon_kgco2e) == ("infeasible", None, None)


def test_a_scenario_keeps_its_comments_until_it_is_changed(store: Store, scenario: Scenario) -> None:
    """As written where the file still says the same; else in canonical units, which say the same."""
    changed = with_changes(scenario, {"sites.stockholm.pue": 1.2})
    as_written, canonical = (store.scenario(store.save_scenario(one)) for one in (scenario, changed))

    assert as_written.text == SHIPPED.read_text(encoding="utf-8")
    assert canonical.text == canonical_text(changed)
    assert parse_scenario(canonical.text) == changed
    assert [title for _, title in store.scenarios()] == [scenario.title] * 2


def test_plans_are_listed_newest_first_and_by_title(store: Store, document: dict[str, Any]) -> None:
    """A percent sign in the text asked for is a character, not a wildcard."""
    for number, title in enumerate(("winter", "summer 100%", "summer")):
        store.save_plan(KeptScenario(f"{number:064x}", title, "", "text"), {**document, "title": title})
        time.sleep(0.002)

    assert [plan.title for plan in store.plans()] == ["summer", "summer 100%", "winter"]
    assert [plan.title for plan in store.plans(title="SUMMER", most=1)] == ["summer"]
    assert [plan.title for plan in store.plans(title="0%")] == ["summer 100%"]


def test_a_digest_may_be_shortened(store: Store, scenario: Scenario, document: dict[str, Any]) -> None:
    whole = store.save_plan(scenario, document)
    other = f"{'0' if whole[4] != '0' else '1'}"

    assert store.plan(whole[:4]).digest == whole
    with pytest.raises(StoreError, match=f"no plan begins with {whole[:4]}{other}"):
        store.plan(whole[:4] + other)
    with pytest.raises(StoreError, match="'%' names no plan: write 4 or more"):
        store.document("%")


def test_what_was_asked_is_compared_in_units_that_people_write(
    file: Path, scenario: Scenario, document: dict[str, Any]
) -> None:
    """0.2 USD/kgCO2e is 200 USD/t, and 35,300 kgCO2e are 35.3 t; the data keep the units of the program."""
    plans = []
    store = open_store(str(file))
    for price, cap in (("200 USD/t", "35.3 t"), ("0.25 USD/kg", "36000 kg")):
        wanted = with_changes(scenario, {"policy.carbon_price": price, "policy.carbon_cap": cap})
        plans.append(store.save_plan(wanted, document | {"title": price}))
    found, text = commands.compare_saved(str(file), *plans)

    assert "policy.carbon_price: 200 USD/t -> 250 USD/t" in text
    assert "policy.carbon_cap: [35.3 t" in text or "policy.carbon_cap: 35.3 t -> 36 t" in text
    assert {row["before"] for row in found["inputs"]} >= {"0.2 USD/kgCO2e"}


def test_fits_are_kept(store: Store) -> None:
    fit = {"everfleet_fit": 1, "name": "rack", "rate": {"value": 0.1 + 0.2}}
    digests = {store.save_fit(fit) for _ in range(2)}

    assert [(row.digest, row.name) for row in store.fits()] == [(digests.pop(), "rack")]
    assert store.fit(store.fits()[0].digest) == fit


FUTURES: dict[str, Any] = {
    "everfleet_futures": 2,
    "title": "one training job",
    "objective": {"kind": "money", "value": 2.5e6, "unit": "USD"},
    "first_stage": [],
    "worth": [],
    "status": {"name": "optimal", "text": "the best", "seconds": 1.5, "verified": True},
    "headline": ["Order, retire and move nothing now."],
    "explanations": {},
    "futures": [
        {
            "future": "as stated",
            "probability_fraction": 1.0,
            "objective_value": 2000.0,
            "cost_usd": 2000.0,
            "carbon_kgco2e": 50.0,
            "known_value": 2000.0,
            "regret_value": 0.0,
            "regret_fraction": 0.0,
            "mean_plan_value": None,
            "nodes_ordered": 0,
        },
    ],
}


def test_plans_for_several_futures_are_kept(store: Store, scenario: Scenario) -> None:
    """One row however long each run took, its document whole, and the scenario that it was made from."""
    slower = {**FUTURES, "status": {**FUTURES["status"], "seconds": 99.0}}
    digests = {store.futures.save(scenario, document) for document in (FUTURES, slower)}
    (listed,) = store.futures.all()

    assert {listed.digest} == digests
    assert (listed.status, listed.futures) == ("optimal", 1)
    assert store.futures.document(listed.digest[:6]) == FUTURES
    assert store.futures.plan(listed.digest[:6]) == listed
    with restored(store.scenario(listed.scenario)) as again:
        assert again == scenario
    with pytest.raises(StoreError, match="no plan for several futures begins with 0000"):
        store.futures.document("0000")


def test_commands_know_plans_for_several_futures(file: Path, scenario: Scenario, tmp_path: Path) -> None:
    """Listed and shown beside the others, and exported with their own report."""
    said = commands.save_futures(str(file), scenario, FUTURES)
    (row,), line = commands.list_saved(str(file), title="TRAINING")
    paths, _ = commands.export_saved(str(file), row["digest"], str(tmp_path / "out"))

    assert said == f"saved as {row['digest'][:10]} in {file}"
    assert row["kind"] == "futures"
    assert " optimal       for 1 futures " in line
    assert commands.show_saved(str(file), row["digest"]) == (FUTURES, futures_text(FUTURES))
    assert commands.list_saved(str(file), title="no such title") == ([], "nothing is saved")
    assert {str(Path(path).relative_to(tmp_path / "out")) for path in paths} == {
        "scenario/one-training-job.toml",
        "futures/futures.json",
        "futures/futures.html",
        "futures/futures.md",
        "futures/csv/futures.csv",
    }


# Files that a scenario names


@pytest.fixture
def with_files(tmp_path: Path) -> Scenario:
    """A scenario in a folder of its own that names a configuration beside it."""
    home = tmp_path / "cards" / "home"
    home.mkdir(parents=True)
    (home.parent / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    text = SHIPPED.read_text(encoding="utf-8").replace('"llama-3-8b"', '"../config.json"')
    (home / "run.toml").write_text(text, encoding="utf-8")
    return load_scenario(home / "run.toml")


def test_files_that_are_named_come_along(store: Store, with_files: Scenario) -> None:
    """Without the folder that it was planned in, the plan comes out the same to the last bit."""
    saved = store.save_plan(with_files, planned(with_files), baselines=False)
    assert with_files.path is not None
    with_files.path.unlink()
    (with_files.path.parent.parent / "config.json").unlink()

    assert recompute(store, saved).same


def test_other_content_of_a_file_is_another_scenario(with_files: Scenario) -> None:
    """The text of the scenario does not change with the file that it names."""
    before = keep(with_files)
    assert with_files.path is not None
    (with_files.path.parent.parent / "config.json").write_text(json.dumps({**CONFIG, "vocab_size": 2}))
    after = keep(with_files)

    assert before.text == after.text
    assert before.digest != after.digest


def test_a_kept_scenario_writes_nowhere_else(tmp_path: Path) -> None:
    """A store may come from somebody else: its names must not choose what is written on this machine."""
    outside = tmp_path / "outside.json"
    kept = KeptScenario("0" * 64, "t", "run.toml", "", {str(outside): b"{}"})

    with pytest.raises(InputError, match="leads out of the folder"), restored(kept):
        pass
    with (
        pytest.raises(InputError, match="leads out"),
        restored(replace(kept, name="../../run.toml", files={})),
    ):
        pass
    assert not outside.exists()


def test_a_file_that_is_gone_is_named(with_files: Scenario) -> None:
    assert with_files.path is not None
    (with_files.path.parent.parent / "config.json").unlink()

    with pytest.raises(InputError, match=r"'\.\./config\.json', which the scenario names, cannot be read"):
        keep(with_files)


# Working out again


def test_a_repeat_is_the_same_to_the_last_bit(store: Store, scenario: Scenario) -> None:
    """With the plans beside it, too, where they were asked for."""
    saved = store.save_plan(scenario, plan_document(plan_fleet(scenario)))
    repeat = recompute(store, saved)

    assert repeat.same
    assert (repeat.changed, repeat.differences) == ((), ())
    assert content_digest(repeat.document) == saved


def test_a_repeat_names_the_fact_that_changed(
    store: Store, scenario: Scenario, document: dict[str, Any]
) -> None:
    """Twice the grid's intensity: that fact is named, and more carbon among the differences."""
    saved = store.save_plan(scenario, document, baselines=False)
    catalogue = load_catalogue()
    grid = catalogue.fact("grid.se.intensity")
    dirtier = replace(grid, value=2 * grid.value, low=None, high=None, stated="twice as much")
    repeat = recompute(store, saved, catalogue=catalogue.with_facts([dirtier]))
    carbon = next(i for i, total in enumerate(document["totals"]) if total["name"] == "carbon")
    moved = {row.path: row for row in repeat.differences}[f"totals[{carbon}].value"]

    assert not repeat.same
    assert repeat.changed == (f"fact grid.se.intensity was {grid.stated} and is twice as much",)
    assert moved.before == document["totals"][carbon]["value"] < moved.after


@pytest.mark.nightly
def test_a_repeat_names_the_versions_that_changed(
    store: Store, scenario: Scenario, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other versions with the same answer are the same plan."""
    saved = store.save_plan(scenario, document, baselines=False)
    monkeypatch.setattr(repeating, "versions_here", lambda: {**store.plan(saved).versions, "highspy": "9.9"})
    repeat = recompute(store, saved)

    assert repeat.same
    assert repeat.changed == (f"highspy was {store.plan(saved).versions['highspy']} and is 9.9",)


NAMED = {
    "futures": [
        {"name": "as stated", "probability": 0.75},
        {
            "name": "more to learn",
            "probability": 0.25,
            "tokens": 1.8,
            "set": {"facts.grid.se.intensity": "90 g/kWh"},
        },
    ]
}
DRAWN = {"uncertainty": {"draws": 4, "reduce_to": 2, "seed": 7, "demand": [0.9, 1.2]}}


def planned_for(scenario: Scenario, changes: Mapping[str, Any]) -> tuple[Scenario, dict[str, Any]]:
    """The scenario with its futures, and the document of the plan for them."""
    changed = with_changes(scenario, dict(changes))
    return changed, futures_document(plan_futures(changed))


@pytest.mark.parametrize(
    "changes",
    [NAMED, DRAWN, NAMED | {"policy.robust": "regret"}, NAMED | {"policy.carbon_cap": "1 kg"}],
    ids=["named", "drawn", "least regret", "no plan"],
)
def test_a_plan_for_several_futures_is_the_same_again(
    store: Store, scenario: Scenario, changes: dict[str, Any]
) -> None:
    """To the last bit, draws included, from what is stored alone; that there is none is the same, too."""
    saved = store.futures.save(*planned_for(scenario, changes))
    repeat = recompute_futures(store, saved[:8])

    assert (repeat.changed, repeat.differences) == ((), ())
    assert content_digest(repeat.document) == saved


@pytest.mark.nightly
def test_futures_are_worked_out_again_under_the_name_of_their_file(
    store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    """The same scenario was saved before from another file: sources name the one that was planned."""
    changed = with_changes(scenario, NAMED)
    store.save_scenario(changed)
    path = tmp_path / "another-name.toml"
    path.write_text(canonical_text(changed), encoding="utf-8")
    saved = store.futures.save(*planned_for(load_scenario(path), {}))
    path.unlink()

    assert recompute_futures(store, saved).same


@pytest.mark.parametrize("changes", [NAMED, DRAWN], ids=["named", "drawn"])
def test_futures_worked_out_again_name_the_fact_that_changed(
    store: Store, scenario: Scenario, changes: dict[str, Any]
) -> None:
    """Twice the grid's intensity: named as the catalogue has it, whatever a future sets, and more carbon."""
    saved = store.futures.save(*planned_for(scenario, changes))
    catalogue = load_catalogue()
    grid = catalogue.fact("grid.se.intensity")
    twice = replace(grid, value=2 * grid.value, low=None, high=None, stated="twice as much")
    repeat = recompute_futures(store, saved, catalogue=catalogue.with_facts([twice]))
    carbon = {row.path: row for row in repeat.differences}["futures[0].carbon_kgco2e"]

    assert not repeat.same
    assert repeat.changed == (f"fact grid.se.intensity was {grid.stated} and is twice as much",)
    assert carbon.before < carbon.after


@pytest.mark.nightly
def test_a_fact_that_no_future_asks_for_changes_no_plan(store: Store, scenario: Scenario) -> None:
    """Another country's grid: the plan is the same, and that the catalogue changed is told."""
    saved = store.futures.save(*planned_for(scenario, NAMED))
    catalogue = load_catalogue()
    elsewhere = replace(catalogue.fact("grid.fr.intensity"), value=9.0, stated="9 kg/kWh")
    repeat = recompute_futures(store, saved, catalogue=catalogue.with_facts([elsewhere]))

    assert repeat.same
    assert repeat.changed == ("facts of the catalogue changed, none of those that this plan rests on",)


def test_futures_of_an_older_edition_say_why_they_are_not_worked_out_again(
    store: Store, scenario: Scenario
) -> None:
    saved = store.futures.save(scenario, FUTURES)

    with pytest.raises(StoreError, match=f"{saved[:10]} cannot be worked out again: .* without its facts"):
        recompute_futures(store, saved)


# Comparing and exporting


def test_two_plans_are_compared(store: Store, scenario: Scenario, document: dict[str, Any]) -> None:
    """Every input that was changed and no other; totals differ by the difference of the documents."""
    changes = {
        "training.train-8b.nodes": [8],
        "policy.carbon_cap": "9 t",
        "facts.grid.se.intensity": "30 g/kWh",
    }
    changed = with_changes(scenario, changes)
    other = planned(changed)
    digests = [store.save_plan(one, held) for one, held in ((scenario, document), (changed, other))]
    found = compare_plans(store, *digests)
    cost = found["totals"][0]

    assert {row["path"] for row in found["inputs"]} == {
        "training.train-8b.nodes",
        "policy.carbon_cap",
        "facts.grid.se.intensity",
    }
    assert [row["path"] for row in found["facts"]] == ["grid.se.intensity"]
    assert (cost["before"], cost["after"]) == tuple(d["totals"][0]["value"] for d in (document, other))
    assert cost["difference"] == cost["after"] - cost["before"]
    assert cost["difference_fraction"] == pytest.approx(cost["after"] / cost["before"] - 1)
    jobs = [held["tables"]["jobs"][0] for held in (document, other)]
    (row,) = [row for row in found["decisions"] if row["path"] == "run train-8b"]
    assert [row[side].split()[0] for side in ("before", "after")] == [str(int(job["nodes"])) for job in jobs]
    assert (found["files"], found["versions"]) == ([], [])


def test_the_same_plan_in_other_money_decides_the_same(document: dict[str, Any], tmp_path: Path) -> None:
    """Sentences in EUR are other sentences; orders, runs and replicas are not. Folders are compared, too."""
    other = copy.deepcopy(document) | {
        "headline": [one.replace("USD", "EUR") for one in document["headline"]]
    }
    other["tables"]["purchases"][0]["nodes"] += 1
    same, more = (compare_sides(kept_side(document), kept_side(one)) for one in (document, other))
    bought = document["tables"]["purchases"][0]

    assert same["decisions"] == []
    assert "nothing differs" in compared_text(same)
    assert [(row["path"], row["after"]) for row in more["decisions"]] == [
        (
            f"order {bought['sku']} at {bought['site']} in {bought['period']}",
            f"{int(bought['nodes']) + 1} nodes",
        )
    ]
    (tmp_path / "plan.json").write_text(answer_json(document), encoding="utf-8")
    assert commands.compare_saved(None, str(tmp_path), str(tmp_path))[1].endswith(NO_INPUTS)
    with pytest.raises(InputError, match="is no plan"):
        kept_side({"title": "a fit"})


def test_clean_energy_that_is_bought_is_a_decision(document: dict[str, Any]) -> None:
    """Two plans may differ in nothing else, and then in all of their carbon."""
    other = copy.deepcopy(document)
    row = {"contract": "wind", "site": "stockholm", "period": "2027 Q1", "matched_kwh": 64_800.0}
    other["tables"]["contracts"] = [row]
    found = compare_sides(kept_side(document), kept_side(other))

    assert found["decisions"] == [
        {
            "path": "buy clean energy under wind at stockholm in 2027 Q1",
            "before": None,
            "after": "64.8 MWh",
        }
    ]


def test_no_plan_next_to_one_says_why(scenario: Scenario, document: dict[str, Any]) -> None:
    """Not every order of the plan "-> none"; nor is it written as bills that are empty."""
    none = plan_document(plan_fleet(with_changes(scenario, {"policy.carbon_cap": "1 kg"}), baselines=False))
    found = compare_sides(kept_side(document), kept_side(none))

    (row,) = found["decisions"]
    assert (row["path"], row["before"]) == ("the plan", "found")
    assert row["after"].startswith("No plan exists that keeps every limit.")
    assert "MUSD -> –" in compared_text(found) or "kUSD -> –" in compared_text(found)
    with pytest.raises(ReportError, match="focus is written of a plan that was found"):
        write_as(none, "focus")


@pytest.mark.nightly
def test_an_exported_scenario_plans_the_same(store: Store, with_files: Scenario, tmp_path: Path) -> None:
    """From the exported files alone, and a second export takes the place of the first."""
    saved = store.save_plan(with_files, planned(with_files), baselines=False)
    for _ in range(2):
        path, *report = export_plan(store, saved, tmp_path / "out")

    assert content_digest(planned(load_scenario(path))) == saved
    assert {"plan.html", "plan.json", "plan.md"} <= {one.name for one in report}
    assert {one.name for one in (tmp_path / "out").iterdir()} == {"scenario", "plan"}


def test_an_export_touches_nothing_of_others(
    store: Store, scenario: Scenario, document: dict[str, Any], tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.txt").write_text("mine")

    with pytest.raises(ReportError, match=r"holds 'thesis\.txt'"):
        export_plan(store, store.save_plan(scenario, document), theirs)
    assert [path.name for path in theirs.iterdir()] == ["thesis.txt"]


@pytest.mark.nightly
def test_commands_say_in_words_what_they_hold_as_data(
    file: Path, scenario: Scenario, document: dict[str, Any], tmp_path: Path
) -> None:
    address = str(file)
    assert commands.list_saved(address) == ([], "nothing is saved")
    said = commands.save_plan(address, scenario, document, baselines=False)
    changed = with_changes(scenario, {"training.train-8b.nodes": [8]})
    commands.save_plan(address, changed, planned(changed), baselines=False)
    listed, lines = commands.list_saved(address)
    newest, oldest = (row["digest"] for row in listed)

    assert said == f"saved as {oldest[:10]} in {file}"
    assert [line[:10] for line in lines.splitlines()] == [newest[:10], oldest[:10]]
    assert json.loads(json.dumps(listed)) == listed
    assert document["headline"][0] in commands.show_saved(address, oldest)[1]
    assert (
        "training.train-8b.nodes: [2, 4, 8, 16] -> [8]" in commands.compare_saved(address, oldest, newest)[1]
    )
    assert commands.recompute_saved(address, oldest, futures=recompute_futures) == (
        {"digest": oldest, "same": True, "changed": [], "differences": []},
        f"{oldest[:10]}: the same to the last bit",
    )
    assert commands.export_saved(address, oldest, str(tmp_path / "out"))[0][0].endswith(
        "one-training-job.toml"
    )


# Kills and crowds


def _save_for_ever(address: str, document: dict[str, Any], first: int, ready: int) -> None:
    """Save one plan after another, and say of each that it is saved."""
    store = open_store(address)
    while True:
        kept = KeptScenario(f"{first:064x}", "t", "s.toml", "text", {"config.json": bytes(5000)})
        store.save_plan(kept, {**document, "title": f"plan {first}"})
        os.write(ready, b".")
        first += 1


@POSIX
def test_a_kill_leaves_the_old_state_or_the_new_one(
    file: Path, store: Store, document: dict[str, Any]
) -> None:
    """Kills at random moments of a save: every plan is whole, and none that was reported is lost.

    Whole: SQLite finds no fault, no row without its scenario, and each document has the digest it goes by.
    """
    moments = random.Random(6)
    reported = 0
    small = {**document, "explanations": {}, "tables": {}}
    for _ in range(KILLS):
        reading, writing = os.pipe()
        # A fork: what is tested is the save, and a fresh Python would take a second to get there.
        victim = multiprocessing.get_context("fork").Process(
            target=_save_for_ever, args=(str(file), small, len(store.plans()), writing)
        )
        victim.start()
        os.read(reading, 1)
        time.sleep(moments.uniform(0, 0.02))
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        os.close(writing)
        reported += 1 + len(os.read(reading, 1_000_000))
        os.close(reading)
        held = {plan.digest: plan.scenario for plan in store.plans()}

        assert len(held) >= reported
        assert set(held.values()) <= {scenario for scenario, _ in store.scenarios()}
    assert all(content_digest(store.document(plan)) == plan for plan in held)
    assert all(store.scenario(scenario).files for scenario in held.values())
    with closing(sqlite3.connect(file)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []


def _save_ten(address: str, document: dict[str, Any], worker: int) -> None:
    store = open_store(address)
    for number in range(10):
        kept = KeptScenario(f"{number:064x}", "t", "", "text")
        store.save_plan(kept, {**document, "title": f"plan {number} of {worker % 2}"})


@POSIX
def test_a_crowd_loses_nothing(tmp_path: Path, document: dict[str, Any]) -> None:
    """4 processes make one store at once and save 40 plans, each of 20 twice: 20 rows of 10 scenarios."""
    address = str(tmp_path / "crowd.sqlite")
    small = {**document, "explanations": {}, "tables": {}}
    fork = multiprocessing.get_context("fork")
    crowd = [fork.Process(target=_save_ten, args=(address, small, worker)) for worker in range(4)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    store = open_store(address)

    assert [one.exitcode for one in crowd] == [0] * 4
    assert (len(store.plans()), len(store.scenarios())) == (20, 10)


# Editions


def tables_of(file: Path) -> dict[str, set[tuple[str, str]]]:
    engine = create_engine(f"sqlite:///{file}")
    found = inspect(engine)
    return {
        table: {(column["name"], str(column["type"])) for column in found.get_columns(table)}
        for table in found.get_table_names()
    }


LABELS = ("name", "note", "tags", "owner")


def save_as_edition_3(store: Store, document: dict[str, Any], kind: str, text: str) -> None:
    """A plan as a store of edition 3 held it, in the tables of that edition."""
    stated = {"kind": kind, "text": text, "value": 500.2, "unit": "USD"}
    store.save_plan(KeptScenario("a" * 64, "t", "", "text"), document | {"objective": stated})
    before = {"kind": kind, "text": text, "value_usd": 500.2}
    with store.writing() as connection:
        connection.execute(
            update(schema.plans).values(document=packed(document | {"schema": 1, "objective": before}))
        )
        labels = (f"DROP COLUMN {name}" for name in LABELS)
        for change in (
            "RENAME COLUMN objective_value TO objective_usd",
            "DROP COLUMN objective_unit",
            *labels,
        ):
            connection.execute(sql(f"ALTER TABLE everfleet_plans {change}"))
        connection.execute(update(schema.edition).values(version=3))


def test_an_older_store_is_brought_up_to_date(
    tmp_path: Path, store: Store, file: Path, document: dict[str, Any]
) -> None:
    """Afterwards it has the tables of a new one, and what it held is as before."""
    old = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(old)) as raw, raw:
        raw.executescript(EDITION_1)
        raw.execute("INSERT INTO everfleet_scenarios VALUES (?, 't', '', 'text', '2026')", ["a" * 64])
        row = ["b" * 64, "a" * 64, "t", "2026", "f", "{}", 0, True, "optimal", "money", *[1.0] * 5]
        raw.execute(f"INSERT INTO everfleet_plans VALUES ({', '.join('?' * 16)})", [*row, packed(document)])
    upgraded = open_store(str(old))

    assert tables_of(old) == tables_of(file)
    assert upgraded.document("bbbb") == plain(document)
    assert upgraded.sweeps.all() == []
    assert upgraded.futures.all() == []
    with closing(sqlite3.connect(old)) as raw:
        assert raw.execute("SELECT version FROM everfleet_schema").fetchall() == [(5,)]


def test_each_edition_takes_the_steps_that_it_lacks(file: Path, store: Store) -> None:
    """A store of edition 2 has sweeps and no futures: it gets what a new one has, and keeps its sweeps."""
    new = tables_of(file)
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.execute("DROP TABLE everfleet_futures")
        raw.execute("ALTER TABLE everfleet_plans RENAME COLUMN objective_value TO objective_usd")
        raw.execute("ALTER TABLE everfleet_plans DROP COLUMN objective_unit")
        for name in LABELS:
            raw.execute(f"ALTER TABLE everfleet_plans DROP COLUMN {name}")
        raw.execute("UPDATE everfleet_schema SET version = 2")
        raw.execute("INSERT INTO everfleet_scenarios VALUES (?, 't', '', 'text', '2026')", ["a" * 64])
        grid = '{"kind": "varied", "points": []}'
        raw.execute(
            "INSERT INTO everfleet_sweeps VALUES (?, ?, 't', '2026', ?, 'done')", ["c" * 64, "a" * 64, grid]
        )
    held = sqlite3.connect(file)
    before = held.execute("SELECT * FROM everfleet_sweeps").fetchall()
    upgraded = open_store(str(file))

    assert tables_of(file) == new
    assert upgraded.futures.all() == []
    assert held.execute("SELECT * FROM everfleet_sweeps").fetchall() == before
    held.close()


@pytest.mark.parametrize(
    ("kind", "text", "unit"),
    [
        ("money", "least cost", "USD"),
        ("carbon", "least carbon", "kgCO2e"),
        ("lexicographic", "least cost, then least carbon with 1 % more of the first", "kgCO2e"),
        ("lexicographic", "least carbon, then least cost with 1 % more of the first", "USD"),
    ],
)
def test_an_objective_of_edition_3_gets_its_unit(
    kind: str, text: str, unit: str, file: Path, store: Store, document: dict[str, Any]
) -> None:
    """The number stays; its unit follows the policy, and the document says the same."""
    new = tables_of(file)
    save_as_edition_3(store, document, kind, text)
    upgraded = open_store(str(file))
    (saved,) = upgraded.plans()

    assert tables_of(file) == new
    assert (saved.objective, saved.objective_value, saved.objective_unit) == (kind, 500.2, unit)
    assert upgraded.document(saved.digest)["objective"] == {
        "kind": kind,
        "text": text,
        "value": 500.2,
        "unit": unit,
    }


def test_a_newer_store_is_refused(file: Path, store: Store) -> None:
    """And left as it is."""
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.execute("UPDATE everfleet_schema SET version = 6")

    with pytest.raises(StoreError, match="is a store of edition 6, and this everfleet knows 5: use a newer"):
        open_store(str(file))


# Labels


def test_a_plan_is_called_and_found_by_its_labels(
    file: Path, store: Store, scenario: Scenario, document: dict[str, Any]
) -> None:
    """They may change, its digest does not; saved again without any it keeps them."""
    called = labels_of(name="First  cut", note="for the\nreview", tags=["q3, draft", "q3"], owner="Capacity")
    digest = store.save_plan(scenario, document, labels=called)
    assert store.save_plan(scenario, document) == digest

    for words in ("first cut", "review", "draft", "capacity"):
        assert [plan.digest for plan in store.plans(title=words)] == [digest]
    assert store.plans(title="nobody") == []
    held = store.plan(digest)
    assert (held.name, held.note, held.tags, held.owner) == (
        "First cut",
        "for the\nreview",
        ("q3", "draft"),
        "Capacity",
    )
    _, line = commands.label_saved(str(file), digest, Labels(name="Second cut"), frozenset(["name", "note"]))
    assert f"Second cut: {held.title}, of Capacity [q3, draft]" in line
    assert store.plan(digest).note == ""


def test_labels_that_are_too_long_are_refused_together() -> None:
    with pytest.raises(StoreError) as caught:
        labels_of(name="n" * 81, tags=["t" * 41, *"abcdefghijk"], owner="o" * 81)
    said = str(caught.value)
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        "name",
        "owner",
        f"tag '{'t' * 10}…'",
        "12 tags",
    ]


# Messages


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (" ://", "is no address of a store: write a file, or for example postgresql://"),
        ("postgresql://me:secret@localhost:port/x", "is no address of a store"),
        ("oracul://x/y", "no kind of database is called 'oracul'"),
        ("sqlite://", "a store in memory would be gone at once"),
        ("postgresql://me:secret@localhost:1/x", r"me:\*\*\*@localhost:1/x: no server answers there"),
        ("postgresql://me:sec@secret@localhost:1/x", "in a password @ is written %40"),
        ("postgresql://me:12@secret/x@localhost:1/x", "in a password @ is written %40"),
        ("postgresql://me:secret/x", "is no address of a store"),
        ("postgresql:/me:secret@localhost/x", "is no address of a store"),
        ("postgresql//me:secret@localhost/x", "is no address of a store"),
        ("sqlite://me:secret@localhost/", "a store in memory would be gone at once"),
        ("postgresql://localhost:1/x?user=me&password=secret", r"me:\*\*\*@localhost:1/x: no server answers"),
        ("postgresql://me:secret@localhost:1/x?secret=1", "has an option that nobody knows: there are appl"),
        ("postgresql://127.0.0.1:1/x", "names no user: write postgresql://user@host/database"),
        ("postgresql://127.0.0.1:1/x?password=secret", "names no user: write postgresql://user@host/databa"),
    ],
)
def test_a_wrong_address_says_how_to_write_one(
    address: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, and without the password, in whatever form; nor is it made a file of that name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=message) as caught:
        open_store(address)
    assert "\n" not in str(caught.value)
    assert "secret" not in "".join(traceback.format_exception(caught.value))
    assert not list(tmp_path.iterdir())


def test_what_stands_for_a_store_shows_no_password() -> None:
    """Neither the address as it is read, nor the engine; it stands in the end of the address, too."""
    for address in ("postgresql://me:secret@localhost/x", "postgresql://localhost/x?user=me&password=secret"):
        url = parsed(address)
        assert url.password == "secret"
        assert "secret" not in repr(url) + str(url) + repr(engine_for(url, 1.0)) + shown(url)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the driver's own socket
@pytest.mark.parametrize("greeted", [True, False])
def test_a_server_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch, greeted: bool) -> None:
    """It takes the connection and says nothing, or greets and then answers nothing that it is asked."""
    monkeypatch.setattr(addresses, "SILENT_S", 0.2)
    welcome = b"R\0\0\0\x08\0\0\0\0" + b"Z\0\0\0\x05I"  # authentication is granted; ready for a query
    ended = threading.Event()

    def answer() -> None:
        with server.accept()[0] as connection:
            if greeted:
                for said in (b"N", welcome):  # no encryption
                    connection.recv(1000)
                    connection.sendall(said)
            ended.wait(30)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        address = f"postgresql://me:secret@127.0.0.1:{server.getsockname()[1]}/x"
        with pytest.raises(StoreError, match=r"me:\*\*\*@.*the server does not answer in time: see that"):
            open_store(address)
        ended.set()
        thread.join()
    gc.collect()


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pg8000", None)

    with pytest.raises(StoreError, match=r"needs the driver pg8000.*pip install 'everfleet\[postgresql\]'"):
        open_store("postgresql://localhost/x")


def test_a_locked_store_says_so_and_loses_nothing(
    file: Path, store: Store, scenario: Scenario, document: dict[str, Any]
) -> None:
    """Readers go on; the writer hears that nothing was saved, and saves once the other is done."""
    patient = open_store(str(file), busy_s=0.05)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"another program is writing to it.*Nothing of this was saved"):
            patient.save_plan(scenario, document)
        assert patient.plans() == []
        other.execute("ROLLBACK")

    assert patient.save_plan(scenario, document) == store.plans()[0].digest


def test_a_full_disk_is_named_and_loses_nothing(
    file: Path, store: Store, scenario: Scenario, document: dict[str, Any]
) -> None:
    """A database that may grow no further answers as a full disk does; what it held before stays."""
    kept = store.save_scenario(scenario)

    def no_room(connection: sqlite3.Connection, _: Any) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(Engine, "connect", no_room)
    try:
        with pytest.raises(StoreError, match="the disk is full: make room, and try again"):
            open_store(str(file)).save_plan(scenario, document)
    finally:
        event.remove(Engine, "connect", no_room)

    assert [digest for digest, *_ in store.scenarios()] == [kept]
    assert store.plans() == []
    assert store.save_plan(scenario, document) == store.plans()[0].digest


def test_a_store_that_is_gone_is_missed(file: Path, store: Store, scenario: Scenario) -> None:
    """It is not made anew behind the user's back; nor is a stranger's file filled."""
    file.unlink()
    with pytest.raises(StoreError, match="it is gone, or may not be opened"):
        store.save_scenario(scenario)
    assert not file.exists()
    file.touch()
    with pytest.raises(StoreError, match="its tables are gone"):
        store.plans()
    file.write_bytes(b"no database at all, " * 100)
    with pytest.raises(StoreError, match="it is not a SQLite database"):
        open_store(str(file))


@POSIX
@pytest.mark.nightly
def test_a_folder_that_may_not_be_written_is_named(file: Path, store: Store) -> None:
    """As somebody without rights: root, who may write anywhere, first becomes nobody."""
    scratch = Path(tempfile.gettempdir()).resolve()
    for folder in (file.parent, *file.parent.parents):
        if scratch in folder.parents:  # others have to reach the file through what the tests made
            folder.chmod(0o755)
    script = f"""
        import os
        from planner.store import StoreError, open_store
        from planner.inputs.scenario import load_scenario
        scenario = load_scenario({str(SHIPPED)!r})
        # What is imported late is imported now: nobody may be unable to read where Python lives.
        open_store({str(file)!r}).save_scenario(scenario)
        try:
            open_store({str(file.parent)!r}).plans()
        except StoreError as error:
            str(error)
        os.chmod({str(file.parent)!r}, 0o555)
        os.chmod({str(file)!r}, 0o444)
        if os.getuid() == 0:
            os.setuid(65534)
        for address in ({str(file)!r}, {str(file.parent / "new.sqlite")!r}):
            try:
                open_store(address).save_scenario(scenario)
            except StoreError as error:
                print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    file.parent.chmod(0o755)
    assert done.returncode == 0, done.stderr
    old, new = done.stdout.splitlines()

    assert old.startswith(f"{file}: it ")
    assert "name another store" in old
    assert new.startswith(f"{file.parent / 'new.sqlite'}: cannot be made: unable to open database file")


def test_the_default_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EVERFLEET_STORE first, else the data folder of the user."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("EVERFLEET_STORE", raising=False)
    if sys.platform == "linux":
        assert open_store().address == str(tmp_path / "data" / "everfleet" / "plans.sqlite")
    monkeypatch.setenv("EVERFLEET_STORE", str(tmp_path / "named.sqlite"))
    assert open_store().address == str(tmp_path / "named.sqlite")
