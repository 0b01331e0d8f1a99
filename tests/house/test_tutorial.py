"""The tutorial: its commands run, in its order, and what it prints is what they print."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from sizes import few_ranges

from benchmarks.studies import slurm_sample
from planner.cli import ANSWER, NO_PLAN, main
from planner.inputs.loading import data_folder
from planner.store import open_store

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "from-slurm-to-interval.md").read_text(encoding="utf-8")
CARBON_PAGE = (ROOT / "docs" / "carbon-of-a-training-job.md").read_text(encoding="utf-8")
GPUS_PAGE = (ROOT / "docs" / "how-many-gpus.md").read_text(encoding="utf-8")
RECOMMENDATION_PAGE = (ROOT / "docs" / "recommendation-fleet.md").read_text(encoding="utf-8")
QUARTER_PAGE = (ROOT / "docs" / "plan-next-quarter.md").read_text(encoding="utf-8")
SAMPLE = ROOT / "data" / "samples" / "slurm-simulated.txt"


def blocks(page: str = PAGE) -> list[tuple[str, str]]:
    """Language and text of each block of a page, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)


def test_tutorial_runs_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each shown line is a line of the output of the command before it, so that no number is out of date."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.txt").write_bytes(SAMPLE.read_bytes())
    scenario = (data_folder() / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")
    own = next(text for kind, text in blocks() if kind == "toml" and "[reliability]" in text)
    own_scenario, replaced = re.subn(r"\[reliability\]\n(?:\w.*\n)+", own, scenario)
    (tmp_path / "plan.toml").write_text(own_scenario, encoding="utf-8")
    printed, ran = "", 0
    for kind, text in blocks():
        if kind == "sh" and text.startswith("everfleet "):
            command, _, into = text.strip().partition(" > ")
            assert main(shlex.split(command)[1:]) == ANSWER
            printed, ran = capsys.readouterr().out, ran + 1
            if into:
                (tmp_path / into).write_text(printed, encoding="utf-8")
        elif kind == "text":
            assert set(text.splitlines()) <= {*printed.splitlines(), ""}

    assert (replaced, ran) == (1, 5)


def test_mapping_in_the_tutorial_is_the_proposed_one(capsys: pytest.CaptureFixture[str]) -> None:
    """The page shows some lines of the mapping; all of them are in the proposed one."""
    assert main(["fit", str(SAMPLE), "--show-mapping"]) == ANSWER
    proposed = capsys.readouterr().out.splitlines()
    shown = next(text for kind, text in blocks() if kind == "toml" and text.startswith("kind"))

    assert set(shown.splitlines()) <= {*proposed, ""}


def test_sample_is_what_its_script_makes() -> None:
    """The shipped log is the one of the stated rate and seed."""
    assert "\n".join(slurm_sample.sacct_lines()) + "\n" == SAMPLE.read_text(encoding="utf-8")
    extra = len(slurm_sample.WEAK_NODES) * (slurm_sample.WEAK_FACTOR - 1) / slurm_sample.NODES
    assert slurm_sample.PER_1000_NODE_DAYS * (1 + extra) == pytest.approx(5.742, abs=1e-3)


@pytest.mark.nightly
def test_tutorial_of_carbon_runs_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each shown line is a line of the output of the command before it; both files are those of the page."""
    monkeypatch.chdir(tmp_path)
    tables = [text for kind, text in blocks(CARBON_PAGE) if kind == "toml"]
    job = next(text for text in tables if text.startswith("title"))
    hourly, contract = (
        next(text for text in tables if text.startswith(head)) for head in ("[site]\nhourly", "[contract]")
    )
    Path("job.toml").write_text(job, encoding="utf-8")
    Path("hourly.toml").write_text(re.sub(r"\[site\]\n(?:\w.*\n)+", hourly, job), encoding="utf-8")
    Path("contract.toml").write_text(f"{job}\n{contract}", encoding="utf-8")
    printed, ran = "", 0
    for kind, text in blocks(CARBON_PAGE):
        if kind == "sh":
            command = text.strip().partition(" > ")[0]
            assert main(shlex.split(command)[1:]) == ANSWER
            printed, ran = capsys.readouterr().out, ran + 1
        elif kind == "text":
            assert set(text.splitlines()) <= {*printed.splitlines(), ""}

    assert ran == 5
    assert main(["carbon", "contract.toml"]) == ANSWER
    assert "next to it, not in the total" in capsys.readouterr().out


def test_job_of_the_carbon_tutorial_is_the_shipped_one() -> None:
    """Comments apart, the page's file is `train-8b`."""
    page = next(text for kind, text in blocks(CARBON_PAGE) if kind == "toml" and text.startswith("title"))
    shipped = (data_folder() / "jobs" / "train-8b.toml").read_text(encoding="utf-8")

    assert tomllib.loads(page) == tomllib.loads(shipped)


@pytest.mark.nightly
def test_tutorial_of_gpus_runs_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each shown line is a line of the output of the command before it, and one asks too much."""
    monkeypatch.chdir(tmp_path)
    scenario, measured = (text for kind, text in blocks(GPUS_PAGE) if kind == "toml")
    Path("run.toml").write_text(scenario, encoding="utf-8")
    Path("mine.toml").write_text(f"{scenario}\n{measured}", encoding="utf-8")
    printed, ran = "", []
    for kind, text in blocks(GPUS_PAGE):
        if kind == "sh":
            ran.append(main(shlex.split(text)[1:]))
            printed = capsys.readouterr().out
        elif kind == "text":
            assert set(text.splitlines()) <= {*printed.splitlines(), ""}

    assert ran == [ANSWER] * 5 + [NO_PLAN] + [ANSWER] * 4


@pytest.mark.slow
@pytest.mark.usefixtures("no_ranges")
@pytest.mark.nightly  # by day each of its kinds has its tests; that of the command line's tutorial runs
def test_tutorial_of_a_recommendation_fleet_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each shown line is a line of the output of the command before it; the tables are the shipped ones."""
    monkeypatch.chdir(tmp_path)
    printed, ran = "", []
    for kind, text in blocks(RECOMMENDATION_PAGE):
        if kind == "sh":
            ran.append(main(shlex.split(text)[1:]))
            printed = capsys.readouterr().out
        elif kind == "text":
            assert set(text.splitlines()) <= {*printed.splitlines(), ""}
    path = data_folder() / "scenarios" / "recommendation-fleet.toml"
    shown, stages, fed = (text for kind, text in blocks(RECOMMENDATION_PAGE) if kind == "toml")

    assert ran == [ANSWER] * 3
    shipped = tomllib.loads(path.read_text(encoding="utf-8"))["services"]
    assert tomllib.loads(shown)["services"][0] in shipped
    job = (data_folder() / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")
    Path("stages.toml").write_text(f"{job}\n{stages}", encoding="utf-8")
    Path("fed.toml").write_text(f"{job}\n{fed}", encoding="utf-8")
    assert main(["check", "stages.toml", "fed.toml"]) == ANSWER


@pytest.fixture
def no_ranges() -> Iterator[None]:
    """These pages show no range."""
    with few_ranges(plans=8, jobs=20):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("no_ranges")
@pytest.mark.parametrize(
    ("role", "commands", "says"),
    [
        ("planners", 7, ["Order 3 nodes", "bought_usd", "mine.toml: fine", "plan_usd"]),
        ("ml-leads", 5, ["tokens/kWh", "requests/s", "time-optimal", "MFU"]),
        (
            "sustainability-leads",
            8,
            ["## Environmental impact", "grid.de.intensity", "CodeCarbon", "Source: "],
        ),
    ],
)
def test_path_of_a_role_runs(
    role: str,
    commands: int,
    says: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every command and the Python of the page give an answer, with only what the page brings along."""
    monkeypatch.chdir(tmp_path)
    Path("jobs.txt").write_bytes(SAMPLE.read_bytes())
    Path("emissions.csv").write_bytes((ROOT / "tests" / "metered" / "codecarbon-germany.csv").read_bytes())
    ran = []
    for kind, text in blocks((ROOT / "docs" / f"for-{role}.md").read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(text, f"for-{role}.md", "exec"), {})
            continue
        assert kind == "sh"
        for line in text.splitlines():
            words = shlex.split(line)[1:]
            found = [sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in words]
            ran.append(main([word for each in found for word in each]))
    printed = capsys.readouterr().out

    assert ran == [ANSWER] * commands
    assert [each for each in says if each not in printed] == []


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.usefixtures("no_ranges")
@pytest.mark.timeout(300)  # fourteen commands
def test_tutorial_of_the_next_quarter_runs_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each shown line begins a line of the output of the command before it; two commands find no plan."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVERFLEET_STORE", str(tmp_path / "plans.sqlite"))
    quarter, futures, came, more = (text for kind, text in blocks(QUARTER_PAGE) if kind == "toml")
    market = quarter.replace("[policy]\n", '[policy]\naccounting = "market"\n')
    for name, text in {
        "quarter": quarter,
        "futures": f"{quarter}\n{futures}",
        "came": came,
        "more": f"{market}\n{more}",
    }.items():
        Path(f"{name}.toml").write_text(text, encoding="utf-8")
    printed, ended = "", []
    for kind, text in blocks(QUARTER_PAGE):
        if kind == "sh":
            ended.append(main(shlex.split(named(text, tmp_path / "plans.sqlite"))[1:]))
            printed = "\n" + capsys.readouterr().out
        elif kind == "text":
            assert [line for line in text.splitlines() if line and f"\n{line}" not in printed] == []

    assert ended == [ANSWER] * 7 + [NO_PLAN] * 2 + [ANSWER] * 5


def named(command: str, store: Path) -> str:
    """A command with the saved plans' digests in place of FIRST and SECOND."""
    if "FIRST" not in command:
        return command
    opened = open_store(str(store))
    second, first = (plan.digest for plan in opened.plans())
    opened.close()
    return command.replace("FIRST", first).replace("SECOND", second)
