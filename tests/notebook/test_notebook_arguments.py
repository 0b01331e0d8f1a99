"""What functions take: units, names, tables; and what they say of what is wrong."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import everfleet as ef
from planner.cli import main
from planner.inputs.hardware_question import Question as HardwareQuestion
from planner.inputs.hardware_question import Stated
from planner.inputs.job_question import CheckpointQuestion, JobQuestion
from planner.inputs.log_question import FitQuestion
from planner.inputs.plan_question import PlanQuestion
from planner.inputs.question_fields import fields_of, flag
from planner.inputs.scenario.files import read_toml
from planner.serve.questions import arguments_in

OWN = "tests/own_scenario.toml"
SLURM = "data/samples/slurm-simulated.txt"


@pytest.mark.slow
@pytest.mark.nightly
def test_numbers_are_in_the_unit_of_their_name() -> None:
    """15 minutes and a quarter of an hour are one restart; 50 % and 0.5 one share."""
    said: list[dict[str, Any]] = [
        {"restart_min": 15, "spare_confidence_fraction": 0.5},
        {"restart_min": "0.25 h", "spare_confidence_fraction": "50 %"},
        {"restart_min": np.float64(15), "spare_confidence_fraction": "0.5"},
        {"restart_min": "15 min", "spare_confidence_fraction": 0.5},
    ]
    documents = [ef.checkpoint(**one).to_dict() for one in said]

    assert all(document == documents[0] for document in documents)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: ef.checkpoint(restart_min="10"), "restart_min: '10' has no unit"),
        (lambda: ef.checkpoint(restart_min="10 kW"), "restart_min: '10 kW': 'kW' is a power"),
        (lambda: ef.checkpoint(restart_min=True), "restart_min: True is not a number or text with a unit"),
        (lambda: ef.checkpoint(job="train"), "job is about a scenario: name one"),
        (lambda: ef.checkpoint(changes={"a.b": 1}), "changes is about a scenario: name one"),
        (
            lambda: ef.checkpoint("one-training-job", grid="us", spare_confidence_fraction=0.9),
            "the scenario says what grid, spare_confidence_fraction would: leave it out, or use changes",
        ),
        (lambda: ef.checkpoint(failures=ef.facts("pue")), "failures: <everfleet facts"),
        (lambda: ef.throughput("llama-3.1-70b", nodes=[0]), "nodes: 0 is no size"),
        (lambda: ef.throughput("llama-3.1-70b", nodes=["a"]), "nodes: ['a'] are no counts"),
        (lambda: ef.throughput("llama-3.1-70b", skus="h100"), "skus: the catalogue has no SKU 'h100'"),
        (lambda: ef.throughput("llama-3.1-70b", by_h="90 d"), "tokens: and by_h go together"),
        (lambda: ef.throughput("llama-3.1-70b", by_h="90 kg"), "by_h: '90 kg': 'kg' is a mass"),
        (
            lambda: ef.throughput("llama-3.1-8b", availability_fraction=0.9, serve=True),
            "availability_fraction: counts standby replicas, and needs requests_per_s",
        ),
        (lambda: ef.job_carbon(), "give model with tokens, or accelerator_hours, or metered, or a job file"),
        (lambda: ef.job_carbon(model="llama-3.1-8b", tokens=1e9, power_w=600), "power_w: has no effect"),
        (lambda: ef.job_carbon("bloom", pue=1.1), "the job file says what pue would"),
        (lambda: ef.job_carbon("nothing"), "nothing: no such file"),
        (lambda: ef.job_carbon({"title": "x", "site": {"grid": "us"}}), "there is no phase to count"),
        (lambda: ef.fit("nothing.csv"), "nothing.csv"),
        (lambda: ef.fit(SLURM, interval_fraction=2), "interval_fraction has to be a share between 0 and 1"),
        (lambda: ef.plan("nothing"), "nothing: no such file"),
        (
            lambda: ef.plan({"title": "x", "horizon": {"periods": object()}}),
            "horizon.periods: object is no value",
        ),
        (lambda: ef.plan({1: "x"}), "1 is no key"),
        (lambda: ef.plan(3), "scenario: 3 is not text or a path or a dict or an answer"),
        (lambda: ef.plan("next-quarter", changes=[]), "changes: [] is not a dict"),
        (lambda: ef.plan("next-quarter", baselines="no"), "baselines: 'no' is not True or False"),
        (lambda: ef.pareto("next-quarter", points=2.5), "points: 2.5 is not a whole number"),
        (lambda: ef.checkpoint(nodes="64"), "nodes: '64' is not a whole number"),
        (lambda: ef.checkpoint(restart_parts={"detect": "1 kg"}), "restart_parts.detect: '1 kg'"),
        (lambda: ef.checkpoint(restart_parts={"drink": 1}), "restart parts: 'drink=1"),
        (lambda: ef.throughput("llama-3.1-70b", tokens="15e12"), "tokens: '15e12' is not a number"),
        (lambda: ef.throughput("llama-3.1-70b", skus=3), "skus: 3 is not text or a list"),
        (lambda: ef.job_carbon(accelerator_hours=1.0, start="soon"), "start: 'soon' is not a day"),
        (lambda: ef.facts("pue", 3), "words: ('pue', 3) is not text"),
        (lambda: ef.plan(ef.facts("pue")), "keeps no scenario"),
        (lambda: ef.pareto("one-training-job", points=1), "a front has two ends"),
        (lambda: ef.compare(ef.facts("pue"), "one-training-job"), "is no plan: compare plans"),
        (lambda: ef.load("nothing"), "nothing: no answer lies there"),
        (lambda: ef.calibrate(), "name a CSV of measurements"),
        (lambda: ef.calibrate("x.csv", measure=True), "measure takes no measurements, sizes or at"),
        (lambda: ef.validate(data="nothing"), "data: no folder nothing"),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_python(ask: Any, message: str) -> None:
    """One clear message with arguments where the command names options, and no exit."""
    with pytest.raises(ef.InputError) as told:
        ask()

    assert message in str(told.value)
    assert not re.search(r"(?<![\w-])--[a-z]", str(told.value))


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ef.InputError) as told:
        ef.scenario("next-quarter", changes={"sites.oregon.pue": 0.2, "sites.dallas.racks": -1})

    assert "sites.oregon.pue" in str(told.value)
    assert "sites.dallas.racks" in str(told.value)


def test_a_file_its_name_and_its_tables_are_one_scenario(root: Path) -> None:
    tables = read_toml((root / OWN).read_text(), "own")
    by_path, by_dict = ef.scenario(root / OWN), ef.scenario(tables)

    assert by_path.to_text() == by_dict.to_text()
    assert ef.scenario("next-quarter").to_text() == ef.scenario(ef.scenario("next-quarter")).to_text()


def test_changes_leave_what_was_given_as_it_was(root: Path) -> None:
    tables = read_toml((root / OWN).read_text(), "own")
    before = repr(tables)
    changed = ef.scenario(tables, changes={"title": "Another"})

    assert changed.title == "Another"
    assert repr(tables) == before


def test_columns_of_numpy_and_pandas_are_lists(root: Path) -> None:
    tables = read_toml((root / OWN).read_text(), "own")
    plain = ef.scenario(tables, changes={"training.mine.nodes": [2, 4]} if "mine" in repr(tables) else None)
    name = plain["training"][0]["name"]
    question = ef.scenario(tables, changes={f"training.{name}.nodes": [2, 4]})

    for column in (np.array([2, 4]), pd.Series([2, 4]), (2, 4)):
        assert ef.scenario(tables, changes={f"training.{name}.nodes": column}).to_text() == question.to_text()


def test_none_removes_a_value() -> None:
    whole, without = ef.scenario("one-training-job"), {"sites.stockholm.power_cap": None}

    assert "power_cap" in whole.to_text()
    with pytest.raises(ef.InputError, match=r"power_cap"):
        ef.scenario("one-training-job", changes=without)


@pytest.mark.parametrize(
    ("command", "function", "question"),
    [
        ("throughput", ef.throughput, HardwareQuestion),
        ("fit", ef.fit, FitQuestion),
        ("carbon", ef.job_carbon, JobQuestion),
        ("checkpoint", ef.checkpoint, CheckpointQuestion),
        ("calibrate", ef.calibrate, Stated),
        ("plan", ef.plan, PlanQuestion),
    ],
)
def test_a_question_is_asked_alike_by_every_door(
    command: str, function: Callable[..., ef.Answer], question: type[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its fields, with their defaults, are arguments; each has its option."""
    arguments, asked = inspect.signature(function).parameters, fields_of(question)
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = "".join(capsys.readouterr().out.split())  # lines break at hyphens, too

    assert {one.name: one.default for one in dataclasses.fields(question) if one.name in asked} == {
        name: arguments[name].default for name in asked
    }
    assert [name for name in asked if flag(name, question) not in said] == []
    assert [one.said for one in asked.values() if "".join(one.said.split()) not in said] == []
    http = arguments_in(inspect.getdoc(function) or "")
    usual = {name: one.usual for name, one in asked.items() if arguments[name].default is None}
    told = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in usual.items()}
    assert [name for name, value in told.items() if usual[name] and value not in http[name]] == []
