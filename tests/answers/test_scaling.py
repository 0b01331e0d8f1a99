"""`everfleet scaling`, and runs that state a target in place of tokens; demand that grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.answers.scaling import scaling_document
from planner.cli import ANSWER, NO_PLAN, WRONG_INPUT, main
from planner.inputs.loading import data_folder
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario

SAMPLE = data_folder() / "samples" / "scaling-runs.csv"
JOB = (data_folder() / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")
POOL = '[[pools]]\nname = "team"\nmodel = "llama-3-8b"\nreference = "h100-8"\n'


def scenario(folder: Path, job: str, runs: str | None = None) -> Scenario:
    (folder / "runs.csv").write_text(SAMPLE.read_text() if runs is None else runs, encoding="utf-8")
    (folder / "mine.toml").write_text(job, encoding="utf-8")
    return load_scenario(folder / "mine.toml")


def with_target(text: str) -> str:
    line = next(line for line in JOB.splitlines() if line.startswith("tokens = "))
    return JOB.replace(line, text)


def test_a_target_is_told_in_tokens_with_its_range(capsys: pytest.CaptureFixture[str]) -> None:
    """The sample was drawn around 1.8 + 1.02 (tokens / 1e10)^-0.25: 2.1 takes 1.34e12."""
    assert main(["scaling", str(SAMPLE), "--target", "2.1"]) == ANSWER
    said = capsys.readouterr().out
    (row,) = scaling_document(SAMPLE, target=2.1)["fits"]

    needed = "1.329 trillion tokens; in 90 % of cases 1.174 trillion to 1.506 trillion"
    assert f"A loss of 2.1 takes {needed}." in said
    assert row["needed_low"] < 1e10 * (1.02 / 0.3) ** 4 < row["needed_high"]


def test_below_the_floor_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scaling", str(SAMPLE), "--target", "1.7"]) == NO_PLAN
    assert "unreachable: it is below the floor c = 1.8 ± 0.01476" in capsys.readouterr().out


def test_compute_is_told_in_tokens_of_a_model(tmp_path: Path) -> None:
    """Six operations for each of the 8.03e9 weights and token."""
    runs = SAMPLE.read_text().replace("tokens", "flops")
    (tmp_path / "runs.csv").write_text(runs, encoding="utf-8")
    (row,) = scaling_document(tmp_path / "runs.csv", target=2.1, model="llama-3-8b")["fits"]

    assert row["tokens"] == pytest.approx(row["needed"] / (6 * 8.03e9), rel=1e-3)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ("tokens,loss\n1,2\n2,1\n", "4 runs of different size are needed, and there are 2"),
        ("tokens,loss\n1,2\nx,1\n", "runs.csv:3: 'x' is no number above zero"),
        ("steps,loss\n1,2\n", "has no column tokens or compute or parameters: its header is steps, loss"),
        ("tokens,compute,loss\n1,2,3\n", "has tokens and compute: say which by --axis tokens"),
        ("", "is empty"),
    ],
)
def test_runs_that_are_not_understood(
    runs: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs.csv").write_text(runs, encoding="utf-8")

    assert main(["scaling", str(tmp_path / "runs.csv"), "--target", "2.1"]) == WRONG_INPUT
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


def test_a_run_may_state_its_target(tmp_path: Path) -> None:
    found = scenario(tmp_path, with_target('curve = "runs.csv"\ntarget = 2.1'))

    assert found.training[0].tokens == pytest.approx(1.329e12, rel=1e-3)
    assert found.files_of_rows == ("runs.csv",)


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (
            'curve = "runs.csv"\ntarget = 1.7',
            "curve: runs.csv: a loss of 1.7 is unreachable, below",
        ),
        ('curve = "runs.csv"', "curve: runs.csv needs a loss to reach: write for example target = 2.1"),
        ('curve = "runs.csv"\ntarget = 2.1\ntokens = 1e12', "curve: runs.csv and tokens say the same thing"),
        (
            "target = 2.1\ntokens = 1e12",
            "target: has no effect without curve: write for",
        ),
        ('curve = "none.csv"\ntarget = 2.1', "curve: there is no file 'none.csv' in the folder"),
    ],
)
def test_a_wrong_target_is_one_message(job: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(tmp_path, with_target(job))

    assert len(refused.value.problems) == 1
    assert said in str(refused.value)


def test_demand_grows_by_the_year(tmp_path: Path) -> None:
    """30 % a year from quarter to quarter; the first period is as stated."""
    found = scenario(tmp_path, f'{JOB}\n{POOL}gpu_time = "9000 h"\ngrowth = "30 %/year"\n')
    periods = found.horizon.periods

    assert periods > 1
    months = found.horizon.period_months
    assert found.pools[0].need == pytest.approx([9000 * 1.3 ** (t * months / 12) for t in range(periods)])
    listed = f'{JOB}\n{POOL}people = {[2.0] * periods}\ngrowth = "3 %/y"\n'
    with pytest.raises(ScenarioError, match=r"team\.growth: says what the list of people says already"):
        scenario(tmp_path, listed)
