"""One question by function and by command: the same document, byte for byte but the clock."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import everfleet as ef
from planner.cli import main
from planner.inputs.scenario.files import read_toml

OWN = "tests/own_scenario.toml"
LOG = "data/samples/slurm-simulated.txt"
ROWS = "data/published/carbon.csv"
PRICE = "300 USD/t"

QUESTIONS: dict[str, tuple[str, Callable[[], ef.Answer]]] = {
    "plan": (
        f"plan {OWN} --quiet --no-baselines --set 'policy.carbon_price={PRICE}'",
        lambda: ef.plan(OWN, baselines=False, changes={"policy.carbon_price": PRICE}),
    ),
    "shipped plan": (
        "plan one-training-job --quiet --prices --alternatives 1",
        lambda: ef.plan("one-training-job", prices=True, alternatives=1),
    ),
    "job by flags": (
        "carbon --model llama-3.1-8b --tokens 1e11 --nodes 8 --grid us-srvc "
        "--interval '30 min' --lifetime '4 y'",
        lambda: ef.job_carbon(
            model="llama-3.1-8b", tokens=1e11, nodes=8, grid="us-srvc", interval_min="0.5 h", lifetime_y="4 y"
        ),
    ),
    "job by name": ("carbon bloom", lambda: ef.job_carbon("bloom")),
    "checkpoint": (
        "checkpoint --nodes 2000 --sku a100-80-8 --failures meta-rsc-1 "
        "--asynchronous --restart-min 20 --days 30",
        lambda: ef.checkpoint(
            nodes=2000,
            sku="a100-80-8",
            failures="meta-rsc-1",
            asynchronous=True,
            restart_min="20 min",
            useful_h="30 d",
        ),
    ),
    "checkpoint of a scenario": (
        "checkpoint one-training-job --sku h100-8 --nodes 8 --restart-parts detect=0.5,replace=2",
        lambda: ef.checkpoint(
            "one-training-job", sku="h100-8", nodes=8, restart_parts={"detect": "30 s", "replace": 2}
        ),
    ),
    "throughput": (
        "throughput llama-3.1-70b --sku h100-8,b200-8 --nodes 16,64 --why h100-8:16",
        lambda: ef.throughput("llama-3.1-70b", skus=["h100-8", "b200-8"], nodes=[16, 64], why="h100-8:16"),
    ),
    "throughput to a date": (
        "throughput llama-3.1-70b --sku h100-8 --tokens 15e12 --by '90 d'",
        lambda: ef.throughput("llama-3.1-70b", skus="h100-8", tokens=15e12, by_h=90 * 24),
    ),
    "serving": (
        "throughput llama-3.1-8b --serve --sku h100-8 --ttft '1 s' --tpot '100 ms' --requests-per-second 20",
        lambda: ef.throughput(
            "llama-3.1-8b", serve=True, skus="h100-8", ttft_s="1 s", tpot_s=0.1, requests_per_s=20
        ),
    ),
    "fit": (
        f"fit {LOG} --quiet --name mine --interval 0.8 --severities hardware --write-min 2",
        lambda: ef.fit(LOG, name="mine", interval_fraction="80 %", severities="hardware", write_min="2 min"),
    ),
    "facts": ("facts grid us-srvc", lambda: ef.facts("grid", "us-srvc")),
    "validate": (f"validate {ROWS}", lambda: ef.validate(ROWS)),
    "calibrate": (
        "calibrate data/samples/measurements.csv --sizes 64,512",
        lambda: ef.calibrate("data/samples/measurements.csv", sizes=[64, 512]),
    ),
    "scaling": (
        "scaling data/samples/scaling-runs.csv --target 2.1",
        lambda: ef.scaling("data/samples/scaling-runs.csv", target=2.1),
    ),
    "check": ("check next-quarter", lambda: ef.scenario("next-quarter")),
    "pareto": (
        "pareto one-training-job --points 2 --quiet",
        lambda: ef.pareto("one-training-job", points=2),
    ),
}


def without_clock(text: str) -> str:
    """A document without the seconds that the solver took."""
    return re.sub(r'("seconds": )[-\d.e]+', r"\1 0", text)


@pytest.mark.solve
@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_function_and_command_give_one_document(
    name: str, capsys: pytest.CaptureFixture[str], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    command, ask = QUESTIONS[name]
    main([*shlex.split(command), "--json"])
    printed = capsys.readouterr().out
    answer = ask()

    assert without_clock(answer.to_json()).strip() == without_clock(printed).strip()
    assert json.loads(without_clock(json.dumps(answer.to_dict()))) == json.loads(without_clock(printed))


@pytest.mark.solve
@pytest.mark.slow
@pytest.mark.nightly
def test_futures_of_a_scenario(capsys: pytest.CaptureFixture[str], root: Path, tmp_path: Path) -> None:
    """Two futures, named in the tables of a dict and in a file."""
    tables = read_toml((root / OWN).read_text(), "own")
    tables["futures"] = [
        {"name": "as planned", "probability": 0.5},
        {"name": "more failures", "probability": 0.5, "failures": 2.0},
    ]
    file = tmp_path / "own.toml"
    file.write_text((root / OWN).read_text() + FUTURES)
    main(["futures", str(file), "--quiet", "--json"])
    printed = without_clock(capsys.readouterr().out)

    assert without_clock(ef.futures(file).to_json()).strip() == printed.strip()
    assert ef.futures(tables)["futures"]["future"] == ["as planned", "more failures"]


FUTURES = """
[[futures]]
name = "as planned"
probability = 0.5

[[futures]]
name = "more failures"
probability = 0.5
failures = 2.0
"""


@pytest.mark.solve
@pytest.mark.slow
@pytest.mark.nightly
def test_saved_plans_are_compared_as_the_command_does(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, root: Path
) -> None:
    store = str(tmp_path / "plans.sqlite")
    plan = "plan one-training-job --quiet --no-baselines --save --set sites.stockholm.electricity_price="
    digests = []
    for price in ("50 USD/MWh", "90 USD/MWh"):
        main([*shlex.split(f"{plan}'{price}'"), "--store", store])
        digests.append(re.findall(r"saved as (\w+)", capsys.readouterr().err)[0])
    main(["compare", *digests, "--store", store, "--json"])
    printed = json.loads(capsys.readouterr().out)
    loaded = [ef.load(digest, store=store) for digest in digests]

    assert ef.compare(*digests, store=store).to_dict() == printed
    assert "inputs are not compared" in ef.compare(*loaded).said[0]
    assert without_heads(ef.compare(*loaded).to_dict()) == without_heads(
        {**printed, "tables": {**printed["tables"], "inputs": []}}
    )


def without_heads(document: dict[str, Any]) -> dict[str, Any]:
    """What a comparison of kept documents shares with that of a store: all but days, digests and versions."""
    left_out = ("plans", "versions")
    tables = {name: rows for name, rows in document["tables"].items() if name not in left_out}
    kept = {name: held for name, held in document.items() if name not in ("cells", "steps")}  # inputs, too
    return {**kept, "tables": tables}
