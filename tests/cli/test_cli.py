"""Every command: answers on stdout, talk on stderr, exit 0, 1 or 2; wrong input writes nothing."""

from __future__ import annotations

import _thread
import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import pytest
from explained import explained

from planner.cli import ANSWER, INTERRUPTED, NO_PLAN, WRONG_INPUT, main
from planner.cli.commands import parser
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.reference import json_schema
from planner.inputs.scenario import (
    load_scenario,
)

ROOT = Path(__file__).resolve().parents[2]
JOB = "one-training-job"
COMMANDS = (
    "plan",
    "label",
    "start",
    "serve",
    "mcp",
    "completion",
    "list",
    "show",
    "compare",
    "export",
    "recompute",
    "sweep",
    "check",
    "explain",
    "facts",
    "add",
    "skus",
    "models",
    "grids",
    "regions",
    "prices",
    "traces",
    "techniques",
    "carbon",
    "checkpoint",
    "fit",
    "backtest",
    "calibrate",
    "trace",
    "place",
    "scaling",
    "telemetry",
    "track",
    "throughput",
    "validate",
    "schema",
    "app",
    "pareto",
    "sensitivity",
    "futures",
    "replay",
)
TOO_LITTLE_POWER = ("--set", "sites.stockholm.power_cap=5 kW")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command here: exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture(scope="module")
def plan_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the smallest scenario, in a folder that was not there; what was said is where it is."""
    folder = tmp_path_factory.mktemp("reports") / "new" / "report"
    with contextlib.redirect_stderr(io.StringIO()) as said:
        assert main(["plan", JOB, "--quiet", "--no-baselines", "--out", str(folder)]) == ANSWER
    assert said.getvalue() == f"report: {folder / 'plan.html'}\n"
    return folder


def refuse_constant(name: str) -> NoReturn:
    raise AssertionError(f"{name} is no JSON")


def strict_json(text: str) -> Any:
    """JSON as the standard has it: without NaN and Infinity."""
    return json.loads(text, parse_constant=refuse_constant)


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "planner.cli", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False, **options
    )


# plan


@pytest.mark.nightly
def test_plan_prints_the_plan_and_talks_aside(run: Run) -> None:
    code, out, err = run("plan", JOB)

    assert code == ANSWER
    for heading in ("Totals", "What to do, by when", "Training jobs", "Cost", "Carbon", "Why this plan"):
        assert f"\n{heading}\n" in out
    assert "train-8b" in out
    assert "working out what each option takes" in err
    assert "working out" not in out


def test_plan_writes_the_whole_report(plan_folder: Path) -> None:
    assert sorted(path.name for path in plan_folder.iterdir()) == [
        "csv",
        "plan.html",
        "plan.json",
        "plan.md",
        "plan.xlsx",
    ]
    assert {"cost.csv", "facts.csv", "jobs.csv"} <= {path.name for path in (plan_folder / "csv").iterdir()}


def test_plan_as_json_is_one_strict_document(run: Run) -> None:
    code, out, err = run("plan", JOB, "--json", "--quiet")
    found = strict_json(out)

    assert code == ANSWER
    assert err == ""
    assert found["status"]["name"] in ("optimal", "within gap")
    assert found["status"]["verified"] is True
    first = found["tables"]["summary"][0]
    assert first["measure"] == "Cost in the horizon, fall of value and interest included"
    assert first["cost_only"] == pytest.approx(found["totals"][0]["value"])


def test_the_printed_plan_is_the_written_one(run: Run, plan_folder: Path) -> None:
    """--json and plan.json are one shape, and the same scenario is planned the same way."""
    _, out, _ = run("plan", JOB, "--json", "--quiet", "--no-baselines")
    printed, written = strict_json(out), strict_json((plan_folder / "plan.json").read_text(encoding="utf-8"))

    assert printed.keys() == written.keys()
    for part in ("scenario_digest", "facts_digest", "headline", "explanations"):
        assert printed[part] == written[part]
    assert printed["tables"] == written["tables"]


def test_plan_with_a_changed_value(run: Run) -> None:
    """Two changes at once; the doubled price is in the file's place, and the deadline moves the finish."""
    _, out, _ = run(
        "plan",
        JOB,
        "--json",
        "--quiet",
        "--no-baselines",
        "--set",
        "training.train-8b.deadline=2027-02-15",
        "--set",
        "sites.stockholm.electricity_price=130 USD/MWh",
    )
    found = strict_json(out)
    prices = [row for row in found["tables"]["facts"] if row["key"].endswith("stockholm.electricity_price")]

    assert [row["value"] for row in prices] == [pytest.approx(0.130)]
    assert prices[0]["kind"] == "yours"
    assert found["tables"]["jobs"][0]["finish_p95"] <= "2027-02-15"


def test_a_scenario_that_cannot_be_names_the_limit_and_the_amount(run: Run) -> None:
    """Two A100 nodes draw more than 5 kW: exit 1, and the power that is missing is stated."""
    code, out, _ = run("plan", JOB, "--quiet", *TOO_LITTLE_POWER)

    assert code == NO_PLAN
    shown = " ".join(out.split())
    assert "These cannot be kept together: the power of stockholm" in shown
    assert "without any one of them there is a plan. A plan exists if one of these gives way: power" in shown
    line = next(line for line in out.splitlines() if line.startswith("power  stockholm"))
    *_, amount, unit, _ = line.split()
    assert unit == "kW"
    # With that much more there is a plan; with a little less there is none.
    enough, short = (f"sites.stockholm.power_cap={5 + float(amount) + off:.4f} kW" for off in (0.01, -0.05))
    assert run("check", JOB)[0] == ANSWER
    assert run("plan", JOB, "--json", "--quiet", "--no-baselines", "--set", enough)[0] == ANSWER
    assert run("plan", JOB, "--json", "--quiet", "--no-baselines", "--set", short)[0] == NO_PLAN


def test_a_scenario_that_cannot_be_is_a_document_too(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("plan", JOB, "--quiet", "--json", *TOO_LITTLE_POWER, "--out", str(tmp_path / "why"))
    found = strict_json(out)

    assert code == NO_PLAN
    assert found["status"]["name"] == "infeasible"
    assert found["status"]["verified"] is False
    power = next(family for family in found["clash"]["families"] if family["family"] == "power")
    assert power["rows"][0]["by"] > 0
    assert power["rows"][0]["unit"] == "kW"
    assert strict_json((tmp_path / "why" / "plan.json").read_text(encoding="utf-8")) == found


def test_leaving_all_work_out_is_a_plan(run: Run) -> None:
    """Nothing bought and a small penalty paid: an answer, although no node is in service."""
    code, out, _ = run(
        "plan",
        JOB,
        "--json",
        "--quiet",
        "--no-baselines",
        "--set",
        "training.train-8b.may_be_left_out=true",
        "--set",
        "training.train-8b.left_out_penalty=5 USD",
    )
    found = strict_json(out)

    assert code == ANSWER
    assert found["tables"]["fleet"] == []
    assert next(total for total in found["totals"] if total["name"] == "cost")["value"] == pytest.approx(5)


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        (
            ("sites.stockholm.pue=0.3", "policy.carbon=3"),
            (
                "one-training-job.toml: sites.stockholm.pue: 0.3 is out of range: write a value from 1 to 3",
                "one-training-job.toml: policy.carbon: is not known here; did you mean 'carbon_cap'",
            ),
        ),
        (("sites.stockholm.power_cap=5",), ("power_cap: '5' has no unit: write one",)),
        (("sites.oslo.pue=1.2",), ("sites.oslo.pue: leads nowhere",)),
        (("market.h100-8.sku=h1000",), ("'h1000'",)),
        (("facts.server.hgx-h100.cost=5 USD",), ("facts",)),
        (
            ("nonsense",),
            ("--set 'nonsense' has no value: write for example 'policy.carbon_price=300 USD/t'",),
        ),
    ],
)
def test_a_wrong_change_is_refused_whole_and_nothing_is_written(
    run: Run, tmp_path: Path, changes: tuple[str, ...], problems: tuple[str, ...]
) -> None:
    options = [part for change in changes for part in ("--set", change)]
    code, out, err = run("plan", JOB, *options, "--out", str(tmp_path / "report"))

    assert code == WRONG_INPUT
    assert out == ""
    assert list(tmp_path.iterdir()) == []
    for problem in problems:
        assert problem in err


def test_a_foreign_folder_is_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    code, _, err = run("plan", JOB, "--quiet", "--no-baselines", "--out", str(tmp_path))

    assert code == WRONG_INPUT
    assert "this is not a plan folder (it holds 'thesis.txt')" in err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_missing_file_is_wrong_input(run: Run) -> None:
    assert run("plan", "nosuch.toml") == (WRONG_INPUT, "", "nosuch.toml: no such file\n")


def test_a_name_that_is_none_of_ours_is_told_the_shipped_ones(run: Run) -> None:
    code, out, said = run("plan", "nosuch")

    assert (code, out) == (WRONG_INPUT, "")
    assert said.startswith("nosuch: no such file; shipped by name are ")
    assert "next-quarter" in said


def test_a_sweep_without_a_plan_stars_none(run: Run, tmp_path: Path) -> None:
    """All points wrong: the line on stars is left out."""
    store = ("--store", str(tmp_path / "store.db"))
    code, out, said = run("sweep", "next-quarter", "--vary", "policy.x=1,2", "--quiet", *store)

    assert code != ANSWER
    assert "policy.x: is not known here" in out + said
    assert "no other point" not in out


def test_lists_keep_the_unit_of_each_column(run: Run) -> None:
    """Cut headings hid that the price of a node is in kUSD; in a narrow list units have their own line."""
    _, out, _ = run("skus", "h200-8")
    names, units, *_ = out.splitlines()

    assert "price of a node" in names
    assert all(unit in units for unit in ("(TFLOP/s)", "(GB)", "(GB/s)", "(kW)", "(kUSD)"))


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.nightly
def test_ctrl_c_keeps_the_best_plan_so_far(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The main thread is interrupted, as Ctrl-C does it, as soon as a first plan is known."""
    heard: list[str] = []

    def progress(text: str) -> None:
        if "none yet" not in text and ", within" in text and not heard:
            heard.append(text)
            _thread.interrupt_main()

    monkeypatch.setattr("planner.cli.loading.progress", progress)
    code, out, _ = run(
        "plan", "tight-power", "--json", "--set", "solve.gap=0 %", "--set", "solve.time_limit=50 s"
    )
    status = strict_json(out)["status"]

    assert heard
    assert code == INTERRUPTED
    assert status["name"] == "interrupted"
    assert status["verified"] is True
    assert status["gap_fraction"] > 0
    assert status["seconds"] < 50


def test_ctrl_c_before_a_plan_writes_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: Any, **__: Any) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.cli.plans.solve", interrupted)
    code, out, err = run("plan", JOB, "--out", str(tmp_path / "report"))

    assert (code, out, err) == (INTERRUPTED, "", "stopped; nothing was written\n")
    assert list(tmp_path.iterdir()) == []


# check and schema


def test_every_shipped_scenario_is_right(run: Run) -> None:
    names = sorted(path.stem for path in (data_folder() / "scenarios").glob("*.toml"))
    code, out, err = run("check", *names)

    assert len(names) >= 3
    assert code == ANSWER
    assert out.splitlines() == [f"{name}: fine" for name in names]
    prices, waits = "Not stated, so taken from the catalogue: ", '; with period = "month" they wait less'
    said = [line.partition(": ")[2] for line in err.splitlines()]
    assert all(line.startswith(prices) or line.endswith(waits) for line in said)


def test_check_reports_every_problem_of_every_file(run: Run) -> None:
    wrong = "tests/broken/many-problems.toml"
    code, out, err = run("check", JOB, "nosuch.toml", str(ROOT / wrong), "--json")
    good, missing, many = strict_json(out)

    assert code == WRONG_INPUT
    assert good["ok"] is True
    assert [problem["message"] for problem in missing["problems"]] == ["no such file"]
    assert len(many["problems"]) >= 9
    for problem in many["problems"]:
        assert problem["path"]
        assert problem["message"] in err


def test_a_path_goes_before_a_shipped_name(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / JOB).write_text("title = 'mine'", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code, _, err = run("check", JOB)

    assert code == WRONG_INPUT
    assert f"{JOB}: horizon: is missing" in err


def test_schema_describes_what_the_files_hold(run: Run) -> None:
    """JSON, with every table of the shipped scenarios in it and nothing unknown allowed."""
    code, out, _ = run("schema")
    found = strict_json(out)

    assert code == ANSWER
    assert found == json_schema("scenario")
    assert found["$schema"].startswith("https://json-schema.org/")
    assert found["additionalProperties"] is False
    for path in (data_folder() / "scenarios").glob("*.toml"):
        assert load_scenario(path).model_fields_set <= found["properties"].keys()


# explain


def test_explain_lists_numbers_and_opens_one(run: Run, plan_folder: Path) -> None:
    code, listed, _ = run("explain", str(plan_folder))
    assert code == ANSWER
    assert {"cost", "carbon", "energy", "carbon.training", "job.train-8b.ettr"} <= set(listed.split())

    code, short, err = run("explain", str(plan_folder), "carbon")
    assert code == ANSWER
    assert err == "every step, down to the sources: --tree, or --depth 2 for two levels of it\n"
    assert " is the sum of " in short
    assert "It rests on " in short

    code, text, err = run("explain", str(plan_folder), "carbon", "--tree")
    assert code == ANSWER
    assert err == ""
    assert text.startswith(short)
    assert "plan_kgco2e = sum of the numbers below" in text
    grid = load_catalogue().fact("grid.se.intensity")
    assert f"grid.se.intensity = {grid.value}" in text
    assert grid.source.cite() in text


def test_explain_says_the_same_of_a_folder_and_of_its_file(run: Run, plan_folder: Path) -> None:
    assert run("explain", str(plan_folder), "cost") == run("explain", str(plan_folder / "plan.json"), "cost")


def test_explain_solves_a_scenario(run: Run, plan_folder: Path) -> None:
    number = "job.train-8b.interval"
    code, solved, _ = run("explain", JOB, number, "--json")

    assert code == ANSWER
    assert strict_json(solved) == strict_json(run("explain", str(plan_folder), number, "--json")[1])


def test_explain_opens_as_deep_as_asked(run: Run, plan_folder: Path) -> None:
    _, whole, _ = run("explain", str(plan_folder), "carbon", "--tree")
    _, shallow, _ = run("explain", str(plan_folder), "carbon", "--depth", "1")

    assert shallow.splitlines()[0] == whole.splitlines()[0]
    assert 10 < len(shallow.splitlines()) < len(whole.splitlines()) / 3


def test_explain_as_json_is_the_steps(run: Run, plan_folder: Path) -> None:
    written = strict_json((plan_folder / "plan.json").read_text(encoding="utf-8"))

    assert strict_json(run("explain", str(plan_folder), "--json")[1]) == sorted(written["explanations"])
    assert (
        strict_json(run("explain", str(plan_folder), "carbon", "--json")[1])
        == explained(written, "carbon").to_dict()
    )


def test_explain_refuses_what_is_not_there(run: Run, plan_folder: Path, tmp_path: Path) -> None:
    code, out, err = run("explain", str(plan_folder), "happiness")
    assert (code, out) == (WRONG_INPUT, "")
    assert err.startswith("no number 'happiness' in this answer; it has: capex, carbon, ")

    for name, content, message in (
        ("cut.json", '{"everfleet": "0.1"', "cannot be read as a plan: "),
        ("other.json", '{"answer": 42}', "is not a plan: name a plan.json that `plan` wrote"),
        ("list.json", "[]", "is not a plan: name a plan.json that `plan` wrote"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        code, out, err = run("explain", str(tmp_path / name))
        assert (code, out) == (WRONG_INPUT, "")
        assert err.startswith(f"{tmp_path / name}: {message}")
    assert run("explain", str(tmp_path))[0] == WRONG_INPUT


def test_explain_of_no_plan_says_so(run: Run, tmp_path: Path) -> None:
    run("plan", JOB, "--quiet", *TOO_LITTLE_POWER, "--out", str(tmp_path / "why"))

    assert run("explain", str(tmp_path / "why"), "cost") == (
        NO_PLAN,
        "",
        "No plan exists that keeps every limit.\n",
    )


# facts


def test_facts_are_found_by_all_their_words(run: Run) -> None:
    code, out, err = run("facts", "h100", "bandwidth")
    lines = out.splitlines()

    assert code == ANSWER
    assert err == f"{len(lines)} facts\n"
    assert any(
        line.startswith("accelerator.h100-sxm-80gb.memory_bandwidth = 3,350 GB/s  (") for line in lines
    )
    assert not any("a100-sxm" in line.partition(" = ")[0] for line in lines)


def test_facts_without_words_are_all_facts(run: Run) -> None:
    """Each with value, kind and source; strict JSON gives the same ones with their whole citation."""
    catalogue = load_catalogue()
    lines = run("facts")[1].splitlines()
    rows = strict_json(run("facts", "--json")[1])

    assert [line.partition(" = ")[0] for line in lines] == list(catalogue.facts)
    assert [row["key"] for row in rows] == list(catalogue.facts)
    assert all(row["source"] and row["kind"] for row in rows)
    assert not any(line.endswith(", )") for line in lines)
    assert {row["use"] for row in rows} == {"input", "check", "knowable", "reference"}
    idle = {line.partition(" = ")[0] for line in lines if line.endswith("it is shown for reference)")}
    assert idle == {row["key"] for row in rows if row["use"] == "reference"}


def test_facts_that_nobody_has(run: Run) -> None:
    assert run("facts", "phlogiston") == (NO_PLAN, "", "0 facts\n")


# carbon and checkpoint


def test_carbon_of_measured_hours(run: Run) -> None:
    """1,082,990 h at 400 W is 433 MWh (Luccioni et al. 2023, BLOOM)."""
    flags = (
        "carbon",
        "--accelerator-hours",
        "1082990",
        "--sku",
        "a100-80-8",
        "--power",
        "400 W",
        "--pue",
        "1",
    )
    code, out, err = run(*flags, "--grid", "fr")

    assert code == ANSWER
    assert err == ""
    assert "433 MWh" in out
    found = strict_json(run(*flags, "--grid", "fr", "--json")[1])
    assert {total["name"] for total in found["totals"]} >= {"carbon", "energy", "water"}
    assert found["model_card"] in " ".join(out.split())


def test_carbon_of_a_described_job_opens_to_its_sources(run: Run) -> None:
    code, out, _ = run("carbon", "--model", "llama-3-8b", "--tokens", "1e12", "--nodes", "16", "--why")

    assert code == ANSWER
    assert "1 trillion tokens of llama-3-8b on 16 nodes of h100-8 (predicted)" in " ".join(out.split())
    assert load_catalogue().fact("grid.us.intensity").source.cite() in out


def test_carbon_of_a_job_file_is_printed_as_a_card_and_saved(run: Run, tmp_path: Path) -> None:
    code, out, err = run("carbon", "train-8b", "--card", "--out", str(tmp_path / "job"))

    assert code == ANSWER
    assert out.startswith("## Environmental impact")
    assert err == f"report: {tmp_path / 'job' / 'job.html'}\n"
    saved = json.loads((tmp_path / "job" / "job.json").read_text())
    assert saved["model_card"] in out
    assert strict_json(run("carbon", "train-8b", "--json")[1])["totals"] == saved["totals"]
    code, out, _ = run("explain", str(tmp_path / "job"), "per_million_tokens_trained")
    assert code == ANSWER
    assert "worked out from" in out
    assert "c = C / n * 10^6" in out


def test_carbon_of_a_metered_file_by_flags(run: Run) -> None:
    file = str(ROOT / "tests" / "metered" / "codecarbon-3.3.csv")
    code, out, _ = run(
        "carbon", "--metered", file, "--grid", "fr", "--utilisation", "85 %", "--start", "2025-05-01"
    )

    assert code == ANSWER
    assert "metered by codecarbon" in " ".join(out.split()).lower()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "give --model with --tokens, or --accelerator-hours, or --metered, or a job file"),
        (("--accelerator-hours", "5", "--power", "5 kWh"), "'5 kWh': 'kWh' is an energy, here kW is wanted"),
        (
            ("--accelerator-hours", "5", "--grid", "atlantis"),
            "--grid: the catalogue has no grid region 'atlantis'",
        ),
        (("--accelerator-hours", "-5"), "--accelerator-hours: -5.0 is out of range: write a value above 0"),
        (("--accelerator-hours", "5", "--utilisation", "120"), "write for example 0.85 or '85 %'"),
        (("--model", "llama-9", "--tokens", "1e12"), "the catalogue has no model 'llama-9'"),
        (("--model", "llama-3-8b", "--tokens", "-1", "--nodes", "0"), "--nodes: 0 is out of range"),
        (("train-8b", "--pue", "1.2"), "the job file says what --pue would"),
        (("no-such-job.toml",), "no-such-job.toml: no such file"),
    ],
)
def test_carbon_refuses_wrong_questions(run: Run, flags: tuple[str, ...], message: str) -> None:
    code, out, err = run("carbon", *flags)

    assert (code, out) == (WRONG_INPUT, "")
    assert message in err


def test_checkpoint_prints_the_table_with_its_optima(run: Run) -> None:
    code, out, err = run("checkpoint", "--nodes", "2048", "--failures", "meta-llama-3-405b")

    assert code == ANSWER
    assert err == ""
    for name in ("time-optimal", "money-optimal", "carbon-optimal", "Young", "Daly"):
        assert name in out
    assert "one every 3.09" in out  # Llama 3 report: 419 interruptions in 54 days


def test_checkpoint_hands_on_every_option(run: Run) -> None:
    """Each option reaches the question; a dropped one would leave its default there."""
    flags = {
        "failures": "meta-rsc-1",
        "sku": "a100-80-8",
        "nodes": "32",
        "model": "llama-3-8b",
        "storage": "nas",
        "restart-min": "7",
        "grid": "se",
    }
    options = [part for name, value in flags.items() for part in (f"--{name}", value)]
    inputs = strict_json(run("checkpoint", *options, "--asynchronous", "--json")[1])["inputs"]

    for name, value in flags.items():
        given = inputs[name.replace("-", "_")]
        assert given == type(given)(value), name
    assert inputs["asynchronous"] is True


def test_checkpoint_refuses_with_every_problem(run: Run) -> None:
    code, out, err = run("checkpoint", "--sku", "h200", "--failures", "bogus", "--nodes", "0")

    assert (code, out) == (WRONG_INPUT, "")
    assert len(err.splitlines()) == 3
    assert "no fleet with failures 'bogus'; there are: " in err
    assert "no SKU 'h200'; near: h200-8" in err
    assert "--nodes: has to be from 1 to 1,000,000, got 0" in err


# validate


def test_the_shipped_rows_are_inside_but_two_that_are_told(shipped_validation: tuple[int, Any]) -> None:
    """Rows that we miss ship as well: they stay, are told, and make the command end with 1."""
    code, found = shipped_validation
    off = {row["id"]: row["status"] for row in found["rows"] if row["status"] != "inside"}

    assert off["PO123"] == off["PO127"] == "outside"  # power while serving on H100, off by more than 12 %
    # About files that may not be shipped; they run where `--data` names them.
    assert all("--data" in row["note"] for row in found["rows"] if row["status"] == "not run")
    assert code == NO_PLAN
    assert len(found["rows"]) >= 500
    shipped = sum(
        len(path.read_text(encoding="utf-8").splitlines()) - 1
        for path in (data_folder() / "published").glob("*.csv")
    )
    assert found["summary"]["rows"] == len(found["rows"]) == shipped


def test_rows_outside_and_not_understood_are_said_and_counted(run: Run, tmp_path: Path) -> None:
    """A wrong expectation and an unknown quantity end with 1; a row that is right does not hide them."""
    energy = '"{""quantity"": ""job_energy"", ""gpu_hours"": 1000, ""power_w"": 400, ""pue"": 1.5}"'
    file = tmp_path / "mine.csv"
    lines = ["id,source,inputs,expected,unit,tolerance,note", f"right,me,{energy},600,kWh,1%,"]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert run("validate", str(file))[0] == ANSWER

    lines += [f"wrong,me,{energy},900,kWh,1%,", 'odd,me,"{""quantity"": ""happiness""}",1,1,1%,']
    file.write_text("\n".join(lines), encoding="utf-8")
    code, out, _ = run("validate", str(file), "--json")
    status = {row["id"]: row["status"] for row in strict_json(out)["tables"]["rows"]}

    assert code == NO_PLAN
    assert status == {"right": "inside", "wrong": "outside", "odd": "not understood"}


def test_validate_lists_its_quantities_and_misses_no_file(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("validate", "--list")
    assert code == ANSWER
    assert "job_energy" in out

    code, out, err = run("validate", str(tmp_path / "none.csv"))
    assert (code, out) == (WRONG_INPUT, "")
    assert "none.csv: No such file or directory" in err


# fit and backtest

OUTAGES = str(ROOT / "data" / "samples" / "infinitehbd-outages.csv")
OUTAGES_MAPPING = ("--mapping", str(ROOT / "data" / "samples" / "infinitehbd-outages.toml"))
EVENTS = str(ROOT / "tests" / "logs" / "events.csv")  # of a few lines
BROKEN_LOGS = ROOT / "tests" / "logs" / "broken"


@pytest.mark.nightly
def test_fit_prints_and_writes_what_it_printed(run: Run, tmp_path: Path) -> None:
    """The rate on stdout, to four digits, is the one that `checkpoint` and `explain` then read."""
    code, out, err = run("fit", OUTAGES, *OUTAGES_MAPPING, "--name", "mine", "--out", str(tmp_path / "mine"))
    written = json.loads((tmp_path / "mine" / "fit.json").read_text(encoding="utf-8"))

    assert code == ANSWER
    assert f"{written['rate']['value']:.4g}" in out
    assert "reading infinitehbd-outages.csv" in err
    assert f"report: {tmp_path / 'mine' / 'fit.html'}" in err
    assert written["name"] == "mine"
    code, out, _ = run("checkpoint", "--failures", str(tmp_path / "mine" / "fit.json"), "--nodes", "256")
    assert code == ANSWER
    assert f"one every {24_000 / 256 / written['rate']['value']:.4f}"[:20] in out
    code, out, _ = run("explain", str(tmp_path / "mine"), "rate", "--tree")
    assert code == ANSWER
    assert "log.failures" in out
    assert "Garwood" in out


@pytest.mark.nightly
def test_a_fit_is_saved_listed_and_shown(run: Run, tmp_path: Path) -> None:
    """What `show` prints of it is what `fit` printed; saved twice it is one row."""
    store = ("--store", str(tmp_path / "mine.sqlite"))
    for _ in range(2):
        code, fitted, err = run("fit", EVENTS, "--name", "mine", "--save", *store)
    ((fit,), (_, listed, _)) = json.loads(run("list", "--json", *store)[1]), run("list", "MINE", *store)

    assert code == ANSWER
    assert (fit["kind"], fit["name"]) == ("fit", "mine")
    assert f"saved as {fit['digest'][:10]} in {tmp_path / 'mine.sqlite'}" in err
    assert listed.startswith(fit["digest"][:10])
    assert run("list", "theirs", *store)[1] == "nothing is saved\n"
    assert run("show", fit["digest"][:6], *store)[1] == fitted


def test_a_folder_is_no_log(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for options in ((), ("--show-mapping",), OUTAGES_MAPPING):
        code, out, err = run("fit", ".", *options)
        assert (code, out) == (WRONG_INPUT, "")
        assert err.splitlines()[-1] == ".: is a folder: name a log file in it"


def test_fit_as_json_is_the_file(run: Run, tmp_path: Path) -> None:
    _, out, _ = run("fit", EVENTS, "--quiet", "--json", "--out", str(tmp_path / "mine"))

    assert json.loads(out) == json.loads((tmp_path / "mine" / "fit.json").read_text(encoding="utf-8"))


@pytest.mark.nightly
def test_proposed_mapping_is_one_that_can_be_read_back(run: Run, tmp_path: Path) -> None:
    """`fit LOG --show-mapping > map.toml` and `fit LOG --mapping map.toml` count the same."""
    code, mapping, _ = run("fit", EVENTS, "--show-mapping")
    (tmp_path / "map.toml").write_text(mapping, encoding="utf-8")
    plain = run("fit", EVENTS, "--json", "--quiet")[1]
    mapped = run("fit", EVENTS, "--json", "--quiet", "--mapping", str(tmp_path / "map.toml"))[1]

    assert code == ANSWER
    assert mapping.startswith('kind = "events"')
    assert json.loads(plain)["rate"] == json.loads(mapped)["rate"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("zero-bytes.csv", "the file is empty"),
        ("missing-column.csv", "is it 'strat'?"),
        ("mixed-zones.csv", "with and 1 row without a time zone"),
        ("header-only.csv", "holds no records"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "backtest"])
def test_a_log_that_cannot_be_used_is_wrong_input(
    run: Run, tmp_path: Path, command: str, name: str, message: str
) -> None:
    """Nothing on stdout, nothing written, the reader's message on stderr."""
    into = ("--out", str(tmp_path / "mine")) if command == "fit" else ()
    code, out, err = run(command, str(BROKEN_LOGS / name), "--quiet", *into)

    assert (code, out) == (WRONG_INPUT, "")
    assert message in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--confidence", "1.2"), "--confidence: has to be a share between 0 and 1, got 1.2"),
        (("--severities", "nothing"), "no failure has severity nothing; there is hardware, other, software"),
        (("--fleet-size", "10"), "correct --fleet-size"),
        (("--fleet-size", "0"), "--fleet-size must be a number of units from 1 up, got 0"),
        (("--prior", "nobody"), "no prior 'nobody'"),
        (("--mapping", "nowhere.toml"), "nowhere.toml: cannot be read"),
    ],
)
def test_wrong_options_of_fit_are_named(run: Run, options: tuple[str, ...], message: str) -> None:
    code, out, err = run("fit", OUTAGES, *OUTAGES_MAPPING, "--quiet", *options)

    assert (code, out) == (WRONG_INPUT, "")
    assert message in err


def test_ctrl_c_during_a_fit_writes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after the log was read: no folder, and no half of one."""

    def stopped(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.answers.failures.fit_document", stopped)
    code, out, err = run("fit", OUTAGES, *OUTAGES_MAPPING, "--out", str(tmp_path / "mine"))

    assert (code, out) == (INTERRUPTED, "")
    assert "stopped; nothing was written" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.nightly
def test_backtest_prints_its_scores(run: Run) -> None:
    """As JSON the share held is that of the rows beside it."""
    code, out, _ = run("backtest", OUTAGES, *OUTAGES_MAPPING, "--quiet")
    document = json.loads(run("backtest", OUTAGES, *OUTAGES_MAPPING, "--quiet", "--json")[1])
    tables = document["tables"]
    held = [row["low"] <= row["failures"] <= row["high"] for row in tables["forecasts"]]

    assert code == ANSWER
    assert "Poisson of the last four" in out
    assert tables["scores"][0]["held_fraction"] == pytest.approx(sum(held) / len(held))


def test_backtest_that_cannot_be_made_says_what_would_do(run: Run) -> None:
    code, _, err = run("backtest", OUTAGES, *OUTAGES_MAPPING, "--quiet", "--period-days", "300")

    assert code == WRONG_INPUT
    assert "make --period-days shorter" in err


# the command itself


def test_help_is_there_for_every_command_and_imports_nothing_heavy() -> None:
    """One process asks for every help; a command that imports on the way would show in its modules."""
    flags = f"""
import io, contextlib, sys
from planner.cli import main
for arguments in [["--help"], *([name, "--help"] for name in {COMMANDS!r})]:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            main(arguments)
        except SystemExit as end:
            assert end.code == 0, arguments
    assert said.getvalue().startswith("usage: everfleet"), arguments
heavy = {{"numpy", "pandas", "scipy", "pulp", "highspy", "pydantic", "pint", "streamlit", "altair", "jinja2"}}
sys.exit(", ".join(sorted(heavy & set(sys.modules))) or 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", flags], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_workers_that_plan_and_keep_import_no_tables_and_no_charts() -> None:
    """Each page's work is a process of its own: what a plan does not need would be paid with every one.

    A worker of a sweep is a process that plans and keeps: charts were a fifth of its start.
    """
    flags = """
import sys
import planner.answers.plan.document
unneeded = {"pandas", "altair", "scipy.optimize", "streamlit", "lifelines", "duckdb", "sqlalchemy"}
planning = unneeded & set(sys.modules)
import planner.answers.sweeps.running
keeping = {"pandas", "altair", "jinja2", "streamlit"} & set(sys.modules)
sys.exit(", ".join(sorted(planning | keeping)) or 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", flags], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr


def test_the_commands_are_the_documented_ones() -> None:
    """README and program name the same commands."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    offered = next(
        action.choices for action in parser()._actions if isinstance(action, argparse._SubParsersAction)
    )

    assert set(offered) == set(COMMANDS)
    for name in COMMANDS:
        assert f" `everfleet {name}" in readme, name


def test_no_command_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == ANSWER
    shown = capsys.readouterr().out
    assert "usage: everfleet" in shown
    assert "Exit codes: 0 an answer" in shown


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == ANSWER
    assert capsys.readouterr().out == f"everfleet {version('everfleet')}\n"


def test_the_process_exits_as_the_function_returns() -> None:
    done = process("checkpoint", "--nodes", "0")

    assert done.returncode == WRONG_INPUT
    assert done.stdout == ""
    assert done.stderr == "--nodes: has to be from 1 to 1,000,000, got 0\n"


@pytest.mark.skipif(os.name == "nt", reason="a closed pipe is another error there")
@pytest.mark.parametrize("command", [("facts",), ("schema",)])
def test_a_reader_that_leaves_early_is_no_error(command: tuple[str, ...]) -> None:
    """`everfleet facts | head` ends well, with nothing said about it."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "planner.cli", *command],
            cwd=ROOT,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)

    assert done.returncode == ANSWER
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["check", "x.toml", "--set", "a=b"], "everfleet check: error: unrecognized arguments: --set a=b"),
        (["throughput", "llama-3.1-8b", "--request-per-s", "3"], "did you mean --requests-per-second?"),
    ],
)
def test_an_unknown_option_is_answered_by_its_command(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The usage is that of the command, not of everfleet, which takes no option but two."""
    with pytest.raises(SystemExit) as ended:
        main(given)
    told = capsys.readouterr().err

    assert ended.value.code == 2
    assert told.startswith(f"usage: everfleet {given[0]} ")
    assert said in told
