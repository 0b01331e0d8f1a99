"""`futures` and `replay` as commands, and real Ctrl-C in a front and in a sensitivity."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from planner.cli import ANSWER, INTERRUPTED, NO_PLAN, WRONG_INPUT, main
from planner.cli.console import stoppable
from planner.inputs.loading import data_folder
from planner.inputs.scenario import load_scenario
from planner.report.shape import read_back
from planner.store import open_store

ROOT = Path(__file__).resolve().parents[2]
JOB = "one-training-job"
FUTURES = """
[[futures]]
name = "as stated"
probability = 0.75

[[futures]]
name = "more to learn"
probability = 0.25
tokens = 1.8
"""
TOO_LITTLE_POWER = ("--set", "sites.stockholm.power_cap=5 kW")


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    """One training run that may come out longer."""
    text = (data_folder() / "scenarios" / f"{JOB}.toml").read_text(encoding="utf-8")
    path = tmp_path / "two-futures.toml"
    path.write_text(text + FUTURES, encoding="utf-8")
    return str(path)


# futures


def test_futures_prints_and_writes_one_answer(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mean is that of its futures by hand, and `explain` opens each of them in the written file."""
    file = tmp_path / "futures.json"
    code = main(["futures", scenario, "--json", "--out", str(file)])
    said = capsys.readouterr()
    found = json.loads(said.out)
    stated, longer = found["tables"]["futures"]

    assert code == ANSWER
    assert found == json.loads(file.read_text(encoding="utf-8"))
    assert "future more to learn: the best plan if it were known" in said.err
    assert f"written: {file}" in said.err
    assert stated["nodes_ordered"] == longer["nodes_ordered"], "orders are the same whatever comes"
    mean = 0.75 * stated["objective_value"] + 0.25 * longer["objective_value"]
    known = 0.75 * stated["known_value"] + 0.25 * longer["known_value"]
    worth = {row["name"]: row["value"] for row in found["tables"]["worth"]}
    assert worth["knowing"] == pytest.approx(mean - known)

    assert main(["explain", str(file), "expected", "--json"]) == ANSWER
    assert json.loads(capsys.readouterr().out)[0]["value"] == pytest.approx(mean)


@pytest.mark.nightly
def test_futures_write_a_report_and_are_saved(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder holds the page beside the answer, `explain` opens it, and `show` prints what was printed."""
    folder, store = tmp_path / "futures", ("--store", str(tmp_path / "plans.sqlite"))
    code = main(["futures", scenario, "--out", str(folder), "--save", *store])
    said = capsys.readouterr()
    digest = said.err.partition("saved as ")[2].split()[0]

    assert code == ANSWER
    assert {path.name for path in folder.iterdir()} == {"futures.json", "futures.html", "futures.md", "csv"}
    assert f"report: {folder / 'futures.html'}" in said.err
    assert main(["explain", str(folder)]) == ANSWER
    assert "future.more to learn.cost" in capsys.readouterr().out.splitlines()
    assert main(["show", digest, *store]) == ANSWER
    assert capsys.readouterr().out == said.out


@pytest.mark.nightly
def test_saved_futures_are_worked_out_again(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same to the last bit; of a document that somebody wrote into, the place, and another exit code."""
    store = ("--store", str(tmp_path / "plans.sqlite"))
    assert main(["futures", scenario, "--json", "--save", *store]) == ANSWER
    said = capsys.readouterr()
    digest = said.err.partition("saved as ")[2].split()[0]

    assert main(["recompute", digest, *store]) == ANSWER
    assert capsys.readouterr().out == f"{digest}: the same to the last bit\n"

    document = read_back(json.loads(said.out))
    document["futures"][1]["nodes_ordered"] += 1
    other = open_store(store[1]).futures.save(load_scenario(Path(scenario)), document)
    found = document["futures"][1]["nodes_ordered"]
    assert main(["recompute", other, *store]) == NO_PLAN
    assert capsys.readouterr().out.splitlines() == [
        f"{other[:10]}: differs in 1 places",
        "",
        "differences",
        f"  futures[1].nodes_ordered: {found} -> {found - 1}",
    ]
    assert main(["recompute", other, "--json", *store]) == NO_PLAN
    assert json.loads(capsys.readouterr().out)["same"] is False


def test_futures_see_the_store_before_the_work(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be saved is told before minutes of search, and nothing is planned."""
    (tmp_path / "notes.txt").write_text("no database", encoding="utf-8")

    assert main(["futures", scenario, "--save", "--store", str(tmp_path / "notes.txt")]) == WRONG_INPUT
    said = capsys.readouterr()
    assert "it is not a SQLite database" in said.err
    assert (said.out, "working out" in said.err) == ("", False)


@pytest.mark.nightly
def test_futures_in_words(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What to order first, then a row for each future; nothing aside when it is not asked for."""
    code = main(["futures", scenario, "--quiet"])
    said = capsys.readouterr()

    assert (code, said.err) == (ANSWER, "")
    assert said.out.startswith("Order ")
    assert "whatever comes." in said.out
    assert [line.split("  ")[0] for line in said.out.splitlines()[-2:]] == ["as stated", "more to learn"]


def test_futures_of_which_none_has_a_plan(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That is an answer, too: written, named by future, and told by the exit code and by `explain`."""
    file = str(tmp_path / "futures.json")
    code = main(["futures", scenario, "--quiet", *TOO_LITTLE_POWER, "--out", file])
    shown = capsys.readouterr().out

    assert code == NO_PLAN
    assert "No plan was found in as stated, more to learn" in shown
    assert main(["explain", file, "expected"]) == NO_PLAN
    assert capsys.readouterr().err == shown


def test_a_scenario_without_futures_says_what_to_add(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["futures", JOB]) == WRONG_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert "add [[futures]], or [uncertainty] to draw some" in said.err


# replay


def test_replay_in_what_came(scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1.8 times the tokens come: planned once there are too few nodes, planned again there are enough."""
    came = tmp_path / "came.toml"
    came.write_text("tokens = 1.8\n", encoding="utf-8")
    code = main(["replay", scenario, "--realised", str(came), "--quiet", "--json"])
    found = json.loads(capsys.readouterr().out)
    ways = {way["way"]: way["objective_value"] for way in found["tables"]["ways"]}

    assert code == ANSWER
    assert found["realised"] == "realised"
    assert ways["planned once"] is None
    assert ways["planned each period"] == pytest.approx(ways["all known"], rel=2e-3)  # two gaps of 0.1 %


def test_replay_hands_on_every_option(
    scenario: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each option reaches the question, and a replay that ends early is no plan."""
    noted: dict[str, Any] = {}

    def replayed(_: object, **options: Any) -> tuple[dict[str, Any], str]:
        noted.update(options)
        return {"status": {"verified": False}}, "ended early"

    monkeypatch.setattr("planner.answers.futures.commands.replay_scenario", replayed)

    assert main(["replay", scenario, "--draw", "7", "--persist", "--quiet"]) == NO_PLAN
    assert noted.pop("should_stop")() is False
    assert noted == {"realised": None, "draw": 7, "persist": True, "watch": None}
    assert main(["replay", scenario, "--realised", "came.toml", "--quiet"]) == NO_PLAN
    assert noted.pop("should_stop")() is False
    assert noted == {"realised": Path("came.toml"), "draw": None, "persist": False, "watch": None}
    assert capsys.readouterr().out == "ended early\nended early\n"


def test_replay_refuses_what_cannot_have_come(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    came = tmp_path / "came.toml"
    came.write_text("demnd = 2\n", encoding="utf-8")

    assert main(["replay", JOB, "--realised", str(came)]) == WRONG_INPUT
    assert capsys.readouterr() == ("", "came.toml: demnd: is not known here; did you mean 'demand'?\n")
    for wrong in ([], ["--draw", "-1"], ["--draw", "1", "--realised", str(came)]):
        with pytest.raises(SystemExit) as ended:
            main(["replay", JOB, *wrong])
        assert ended.value.code == WRONG_INPUT


# Ctrl-C


def interrupted(*arguments: str, after: str) -> tuple[int, dict[str, Any]]:
    """Run a command in a process of its own and press Ctrl-C once it has said `after`."""
    script = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background shell has it ignored
        "from planner.cli import main\n"
        "sys.exit(main())"
    )
    command = [sys.executable, "-c", script, *arguments, "--json"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        if any(after in line for line in process.stderr):
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=100)
    assert "Traceback" not in err
    return process.returncode, json.loads(out)


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
def test_ctrl_c_keeps_the_points_of_a_front() -> None:
    """The points told before are there, the front says that it is cut short, and so does the code."""
    code, found = interrupted("pareto", JOB, "--points", "40", after="point 2")
    points = found["tables"]["points"]

    assert code == INTERRUPTED
    assert found["complete"] is False
    assert 2 <= len(points) < 40
    assert found["headline"][0] == f"Stopped early: {len(points)} points are there, the rest is not known."


@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
@pytest.mark.nightly  # by day test_cli.py stops a search and test_tradeoffs.py a front
def test_ctrl_c_keeps_what_was_looked_at() -> None:
    """Stopped in the second of five levers: what the first would change is told, no third one is begun."""
    code, found = interrupted("sensitivity", JOB, after="2 of 5")
    assert code == INTERRUPTED
    assert found["complete"] is False
    looked_at = list(dict.fromkeys(row["what"] for row in found["tables"]["flips"]))
    assert looked_at[0] == "price of electricity at stockholm"
    assert len(looked_at) <= 2, "of the second, what was being solved may have come to its end"
    assert found["headline"][-1] == f"Stopped early: only {len(looked_at)} were looked at."


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
def test_one_ctrl_c_ends_the_search_for_a_plan_of_all_futures(scenario: str) -> None:
    """Pressed in the first of many solves: none of the later ones is waited for, and the answer says so."""
    code, found = interrupted("futures", scenario, after="future as stated")

    assert code == INTERRUPTED
    assert found["status"]["text"].startswith("Stopped on request before there was one plan for all futures;")


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
def test_one_ctrl_c_ends_a_replay(scenario: str) -> None:
    """Pressed before the first period is planned: no other period is, and that is said."""
    code, found = interrupted("replay", scenario, "--draw", "1", after="had all been known")

    assert code == INTERRUPTED
    assert found["stopped"] is True
    assert found["status"]["text"].startswith("Stopped on request: ")


def test_a_second_ctrl_c_interrupts_at_once() -> None:
    """The first is only noted, for the search to ask; afterwards Ctrl-C means what it meant before."""
    before = signal.getsignal(signal.SIGINT)
    with stoppable() as noted:
        assert noted() is False
        signal.raise_signal(signal.SIGINT)
        assert noted() is True
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_hear_no_signals() -> None:
    """A search that runs beside the main thread cannot listen, and need not fail for it."""
    with ThreadPoolExecutor(max_workers=1) as side:
        assert side.submit(_stopped_in_a_thread).result() is False


def _stopped_in_a_thread() -> bool:
    with stoppable() as noted:
        return noted()
