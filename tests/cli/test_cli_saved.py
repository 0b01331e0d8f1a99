"""The commands about saved plans, sweeps and exported programs: what each writes, says and returns."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import highspy
import openpyxl
import pytest

from planner.cli import ANSWER, INTERRUPTED, NO_PLAN, WRONG_INPUT, main
from solver.build import THOUSAND

JOB = "one-training-job"
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
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of one plan, its report and its program in both formats."""
    folder = tmp_path_factory.mktemp("saved")
    for name in ("program.lp", "program.mps"):
        command = ["plan", JOB, "--quiet", "--no-baselines", "--program", str(folder / name), "--json"]
        command += ["--save", "--store", str(folder / "plans.sqlite"), "--out", str(folder / "plan")]
        assert main(command) == ANSWER
    return folder


def digest_in(run: Run, folder: Path) -> str:
    code, out, _ = run("list", "--store", str(folder / "plans.sqlite"), "--json")
    (plan,) = json.loads(out)
    assert code == ANSWER
    return str(plan["digest"])


@pytest.mark.parametrize("name", ["program.lp", "program.mps"])
def test_the_program_has_the_objective_of_the_plan(made: Path, name: str) -> None:
    """HiGHS reads the file and finds, to the scenario's gap, what the document says was minimised."""
    plan = json.loads((made / "plan" / "plan.json").read_text(encoding="utf-8"))
    engine = highspy.Highs()
    engine.silent()
    engine.readModel(str(made / name))
    engine.run()
    names = list(engine.getLp().col_names_)

    found = engine.getObjectiveValue() * THOUSAND
    assert found == pytest.approx(plan["objective"]["value"], rel=plan["status"]["gap_fraction"] + 1e-3)
    assert any(name.startswith("order_") and "stockholm" in name for name in names)
    assert any(name.startswith("run_train_8b_on_") for name in names)


def test_a_program_of_another_kind_is_wrong_usage(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", JOB, "--program", "program.txt"])

    assert ended.value.code == WRONG_INPUT
    assert "end it in .lp or .mps" in capsys.readouterr().err


def test_a_program_that_cannot_be_written_is_told(run: Run, tmp_path: Path) -> None:
    code, out, err = run("plan", JOB, "--quiet", "--no-baselines", "--program", str(tmp_path / "no" / "p.lp"))

    assert code == WRONG_INPUT
    assert "p.lp: cannot be written: No such file or directory" in err
    assert out.startswith("One 8B training run"), "the plan itself was told"


def test_the_purchase_list_says_what_a_buyer_needs(made: Path) -> None:
    """Nodes times price is the bill, bills add up to the cash total, an order can still arrive in time."""
    plan = json.loads((made / "plan" / "plan.json").read_text(encoding="utf-8"))
    rows = plan["tables"]["purchases"]
    cash = next(total["value"] for total in plan["totals"] if total["name"] == "capex")
    book = openpyxl.load_workbook(io.BytesIO((made / "plan" / "plan.xlsx").read_bytes()))
    text = (made / "plan" / "csv" / "purchases.csv").read_text(encoding="utf-8")

    assert rows
    assert sum(row["capex_usd"] for row in rows) == pytest.approx(cash)
    for row in rows:
        assert row["capex_usd"] == pytest.approx(row["nodes"] * row["price_usd_per_node"])
        assert row["order_by"] < row["arrives"] or row["lead_time_d"] == 0
        assert row["price_source"] in text
        assert row["order_by"] in (made / "plan" / "plan.html").read_text(encoding="utf-8")
    assert "purchases" in book.sheetnames


def test_a_saved_plan_is_listed_shown_and_exported(run: Run, made: Path, tmp_path: Path) -> None:
    """The same plan was saved twice and is one row; what comes out is what went in."""
    store = ("--store", str(made / "plans.sqlite"))
    digest = digest_in(run, made)
    shown = run("show", digest[:8], "--json", *store)
    saved = json.loads((made / "plan" / "plan.json").read_text(encoding="utf-8"))
    code, out, _ = run("export", digest[:8], "--out", str(tmp_path / "quarter"), *store)

    assert json.loads(shown[1])["totals"] == saved["totals"]
    assert run("show", digest[:8], *store)[1].startswith(saved["title"])
    assert digest[:8] in run("list", *store)[1]
    assert run("list", "no such title", *store)[:2] == (ANSWER, "nothing is saved\n")
    assert code == ANSWER
    assert {path.name for path in (tmp_path / "quarter" / "plan").iterdir()} >= {"plan.xlsx", "plan.html"}
    assert str(tmp_path / "quarter" / "scenario") in out


def test_a_saved_plan_is_compared_with_itself_and_worked_out_again(run: Run, made: Path) -> None:
    """Nothing differs from itself, and what is stored gives the same plan to the last bit."""
    store = ("--store", str(made / "plans.sqlite"))
    digest = digest_in(run, made)
    compared = json.loads(run("compare", digest, digest, "--json", *store)[1])
    tables = compared["tables"]
    code, out, _ = run("recompute", digest, *store)

    assert tables["inputs"] == tables["facts"] == tables["decisions"] == []
    assert all(row["difference"] == 0 for row in compared["totals"])
    said = run("compare", digest, "nowhere", *store)[2]
    assert "there is no folder or file 'nowhere' of a plan" in said
    assert code == ANSWER
    assert "the same to the last bit" in out


def test_a_store_that_cannot_be_used_is_told_before_the_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.cli.plans.solve", lambda *_, **__: pytest.fail("planned first"))
    (tmp_path / "store").mkdir()
    code, out, err = run("plan", JOB, "--save", "--store", str(tmp_path / "store"))

    assert (code, out) == (WRONG_INPUT, "")
    assert str(tmp_path / "store") in err


@pytest.mark.nightly
def test_a_sweep_prints_every_point_and_goes_on_where_it_was(run: Run, tmp_path: Path) -> None:
    """Two caps, one too small for any plan; the second run plans nothing anew and says the same."""
    command = ["sweep", JOB, "--vary", "sites.stockholm.power_cap=2 MW,5 kW", "--quiet", "--json"]
    command += ["--store", str(tmp_path / "plans.sqlite"), "--out", str(tmp_path / "sweep")]
    code, out, err = run(*command)
    again = json.loads(run(*command)[1])
    first = json.loads(out)

    assert code == ANSWER
    assert [row["status"] for row in first["tables"]["points"]] == ["optimal", "infeasible"]
    assert (first["points_planned_now"], again["points_planned_now"]) == (2, 0)
    assert again["tables"]["points"] == first["tables"]["points"]
    assert (tmp_path / "sweep" / "csv" / "points.csv").is_file()
    assert "sweep: " in err


@pytest.mark.nightly
def test_a_sweep_without_any_plan_has_none_and_one_of_no_kind_is_wrong_input(
    run: Run, tmp_path: Path
) -> None:
    store = ("--store", str(tmp_path / "plans.sqlite"), "--quiet")
    assert run("sweep", JOB, *TOO_LITTLE_POWER, "--vary", "title=one", *store)[0] == NO_PLAN
    code, _, err = run("sweep", JOB, *store)

    assert code == WRONG_INPUT
    assert "use --vary, or --pareto, or --draws" in err


def test_a_sweep_that_is_stopped_says_what_is_kept(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.answers.sweeps.commands.sweep", stopped)
    code, out, err = run("sweep", JOB, "--vary", "title=one", "--store", str(tmp_path / "plans.sqlite"))

    assert (code, out) == (INTERRUPTED, "")
    assert "the same command goes on from there" in err
