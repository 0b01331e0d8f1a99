"""Every command's `--json` is of one shape, comes back as it was, and each of its numbers opens."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from shape_check import shape_problems, unopened

from planner.cli import main
from planner.inputs.loading import data_folder
from planner.report.integrity import disagreements
from planner.report.shape import answer_json, is_written, read_back, written

Record = dict[str, Any]
SAMPLES, PUBLISHED = data_folder() / "samples", data_folder() / "published"
JOB = "one-training-job"
OUTAGES = (str(SAMPLES / "infinitehbd-outages.csv"), "--mapping", str(SAMPLES / "infinitehbd-outages.toml"))
FUTURES = """
[[futures]]
name = "as stated"
probability = 0.75

[[futures]]
name = "more to learn"
probability = 0.25
tokens = 1.8
"""
COMMANDS: dict[str, tuple[str, ...]] = {
    "plan": ("plan", JOB, "--no-baselines", "--quiet"),
    "job": ("carbon", "train-8b"),
    "checkpoints": ("checkpoint", "--nodes", "128", "--today-min", "60"),
    "checkpoints of a scenario": ("checkpoint", JOB),
    "fit": ("fit", str(SAMPLES / "slurm-simulated.txt"), "--quiet"),
    "backtest": ("backtest", *OUTAGES, "--quiet"),
    "throughput": ("throughput", "llama-3.1-8b", "--sku", "h100-8", "--nodes", "1,8"),
    "serving": ("throughput", "llama-3.1-8b", "--serve", "--sku", "h100-8", "--why", "h100-8:2"),
    "across": ("throughput", "llama-3.1-8b", "--across", "se:2,no:2", "--link", "800 Gbit/s, 20 ms"),
    "traces": ("trace", str(SAMPLES / "chakra_small.0.json")),
    "placement": ("place", "criteo_tables.csv", "--model", "dlrm_criteo_1tb_onehot", "--nodes", "1"),
    "calibration": ("calibrate", str(SAMPLES / "measurements.csv")),
    "serving calibration": ("calibrate", str(SAMPLES / "serving-measurements.csv")),
    "scaling": ("scaling", str(SAMPLES / "scaling-runs.csv"), "--target", "2.1"),
    "validation": ("validate", str(PUBLISHED / "carbon.csv")),
    "front": ("pareto", JOB, "--points", "2", "--quiet"),
    "sensitivity": ("sensitivity", JOB, "--vary", "grid=0.8..1.2", "--quiet"),
    "futures": ("futures", "FILE", "--quiet"),
    "replay": ("replay", "FILE", "--draw", "1", "--quiet"),
    "sweep": ("sweep", JOB, "--vary", "sites.stockholm.power_cap=2 MW,5 kW", "--quiet", "--store", "STORE"),
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """What a command prints with `--json`; each is asked once."""
    folder = tmp_path_factory.mktemp("shape")
    text = (data_folder() / "scenarios" / f"{JOB}.toml").read_text(encoding="utf-8")
    (folder / "two.toml").write_text(text + FUTURES, encoding="utf-8")
    places = {"FILE": str(folder / "two.toml"), "STORE": str(folder / "plans.sqlite")}

    @cache
    def of(name: str) -> str:
        import contextlib
        import io

        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            main([places.get(word, word) for word in (*COMMANDS[name], "--json")])
        return out.getvalue()

    return of


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_prints_the_one_shape(printed: Callable[[str], str], name: str) -> None:
    document = json.loads(printed(name))

    assert shape_problems(document) == []
    assert document["title"]
    assert document["tables"] or document["answers"]
    assert disagreements(document) == []
    assert json.loads(answer_json(read_back(document))) == document, "nothing is lost on the way back"


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_each_number_opens(printed: Callable[[str], str], name: str) -> None:
    document = json.loads(printed(name))

    assert list(unopened(document)) == []


def test_each_fault_in_a_shape_is_named(printed: Callable[[str], str]) -> None:
    """A number of a step that is not there, a row too many, a list in a cell, a key that is gone."""
    whole = printed("job")
    faults: dict[str, Callable[[Record], Any]] = {
        "cells.phases[0].kgco2e": lambda found: found["cells"]["phases"][0].update(kgco2e=10**6),
        "cells.scopes": lambda found: found["tables"]["scopes"].append({}),
        "changes[0].kgco2e": lambda found: found["tables"]["changes"][0].update(kgco2e=[1.0]),
        "headline": lambda found: found["headline"].append(1),
        "totals[0]": lambda found: found["totals"][0].pop("unit"),
        "why": lambda found: found.pop("why"),
        "schema": lambda found: found.update(schema=3),
        "explanations.carbon": lambda found: found["explanations"].update(carbon=-1),
    }
    for place, plant in faults.items():
        document = json.loads(whole)
        plant(document)
        assert place in dict(shape_problems(document)), place
    without = json.loads(whole)
    del without["cells"]["phases"]
    assert "phases[0].kgco2e" in list(unopened(without))


@pytest.mark.parametrize("name", ["next-quarter", "next-quarter-front", "next-quarter-front-of-time"])
def test_shipped_answers_come_back(name: str) -> None:
    """The largest ones, with whole plans inside."""
    held: Record = json.loads(gzip.decompress((data_folder() / "solved" / f"{name}.json.gz").read_bytes()))
    document: Record = held.get("answer", held)
    found: Record = json.loads(json.dumps(written(document)))

    assert shape_problems(found) == []
    assert written(read_back(found)) == found
    assert not is_written(document)


CELLS = {
    "plan": "purchases.1.capex_usd",
    "job": "changes.1.kgco2e",
    "fit": "mttf.1.mttf_h",
    "throughput": "rows.1.rate_per_s",
    "calibration": "hardware.1.speed_after",
    "validation": "rows.1.ours",
    "replay": "ways.1.cost_usd",
}


@pytest.mark.parametrize("name", CELLS)
def test_explain_opens_a_cell_of_any_answer(
    printed: Callable[[str], str], name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its first step is the number of the row; a cell that is not there is told with those that are."""
    file = tmp_path / "answer.json"
    file.write_text(printed(name), encoding="utf-8")
    table, row, key = CELLS[name].split(".")
    capsys.readouterr()

    assert main(["explain", str(file), CELLS[name], "--json"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert first["value"] == json.loads(printed(name))["tables"][table][int(row) - 1][key]
    assert main(["explain", str(file), f"{table}.0.{key}"]) == 2
    assert f"{table}.1 to {table}." in capsys.readouterr().err


@pytest.mark.slow
def test_what_was_written_is_read_again(printed: Callable[[str], str], tmp_path: Path) -> None:
    """A calibration is used, a fit gives the failures, and `explain` opens a kept number."""
    files = {name: tmp_path / f"{name}.json" for name in ("calibration", "fit", "job")}
    for name, file in files.items():
        file.write_text(printed(name), encoding="utf-8")
    calibrated = (*COMMANDS["throughput"], "--calibration", str(files["calibration"]))

    assert main([*calibrated]) == 0
    assert main(["checkpoint", "--nodes", "64", "--failures", str(files["fit"])]) == 0
    assert main(["explain", str(files["job"]), "carbon"]) == 0
