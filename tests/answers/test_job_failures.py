"""Failures of a job by one's own fitted log: as `checkpoint --failures fit.json` takes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.answers.checkpoints import checkpoint_document
from planner.answers.job import job_from_flags, load_job, read_job
from planner.answers.job.footprint import footprint_of
from planner.answers.job.setting import setting_of
from planner.answers.job.upload import uploaded_job
from planner.inputs.job.schema import Job
from planner.inputs.job_question import CheckpointQuestion
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import ScenarioError
from planner.inputs.scenario.files import read_toml
from planner.trace.errors import InputError
from planner.trace.origins import facts_of
from planner.trace.quantities import Traced

CATALOGUE = load_catalogue()
FIT = {
    "everfleet_fit": 1,
    "name": "north",
    "accelerators_per_node": 8,
    "definition": "unplanned stops",
    "rate": {"value": 5.0, "low": 4.0, "high": 6.0, "unit": "1/(1000 node d)"},
    "source": "jobs.txt",
    "outage": None,
    "variance_to_mean": None,
}
JOB = """
title = "own failures"
[site]
grid = "us"
pue = 1.1
[hardware]
sku = "h100-8"
[training]
model = "llama-3.1-8b"
tokens = 1e12
nodes = 64
failures = "fits/fit.json"
"""
FLAGS = {"sku": "h100-8", "grid": "us", "model": "llama-3.1-8b", "tokens": 1e12, "nodes": 64, "pue": 1.1}


def fit_in(folder: Path, **changes: Any) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "fit.json"
    file.write_text(json.dumps(FIT | changes), encoding="utf-8")
    return file


def job_in(folder: Path, text: str = JOB) -> Job:
    (folder / "job.toml").write_text(text, encoding="utf-8")
    return load_job(folder / "job.toml", CATALOGUE)


def time_to_failure(job: Job) -> Traced:
    phase = footprint_of(setting_of(job, CATALOGUE)).phase("training")
    assert phase is not None
    assert phase.done is not None
    assert phase.done.states is not None
    return phase.done.states.renewal["mttf_h"]


@pytest.mark.parametrize("accelerators", [8, 4, None])
def test_a_job_and_checkpoint_take_the_same_failures(tmp_path: Path, accelerators: int | None) -> None:
    """5 failures for 1000 node-days of 64 nodes, by hand; file, flag and `checkpoint` say it alike."""
    file = fit_in(tmp_path / "fits", accelerators_per_node=accelerators)
    found = time_to_failure(job_in(tmp_path))
    question = CheckpointQuestion(failures=str(file), sku="h100-8", nodes=64, model="llama-3.1-8b")

    assert float(found.value) == pytest.approx(1000 * 24 / 5 / 64 / (8 / (accelerators or 8)))
    assert float(found.value) == pytest.approx(checkpoint_document(question)["inputs"]["mttf_h"])
    flagged = job_from_flags(FLAGS | {"failures": str(file)}, CATALOGUE)
    assert float(time_to_failure(flagged).value) == float(found.value)
    fact = facts_of(found)["fit.north.failure_rate"]
    assert "jobs.txt" in f"{fact.source} {fact.locator} {fact.note}"


def test_a_job_without_its_fit_is_that_of_a_fleet(tmp_path: Path) -> None:
    """More failures than the usual fleet: the run takes longer, and emits more."""
    fit_in(tmp_path / "fits", rate={"value": 400.0, "low": 300.0, "high": 500.0, "unit": "1/(1000 node d)"})
    own, usual = (
        float(footprint_of(setting_of(job_in(tmp_path, text), CATALOGUE)).carbon.value)
        for text in (JOB, JOB.replace('failures = "fits/fit.json"\n', ""))
    )

    assert own > usual


def test_files_that_were_passed_in_hold_the_fit(tmp_path: Path) -> None:
    text = JOB.replace("fits/", "")
    with uploaded_job(text, "job.toml", {"fit.json": json.dumps(FIT).encode()}) as job:
        assert float(time_to_failure(job).value) == pytest.approx(1000 * 24 / 5 / 64)
    with (
        pytest.raises(ScenarioError, match=r"training\.failures: names the file 'fit\.json', which is not"),
        uploaded_job(text, "job.toml", {}),
    ):
        pass


def test_failures_that_cannot_be_taken_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"training\.failures: 'fits/fit\.json' cannot be read as a fit"):
        job_in(tmp_path)
    fit_in(tmp_path / "fits", everfleet_fit=2)
    with pytest.raises(ScenarioError, match=r"'fits/fit\.json' is a fit of edition 2; only 1 is known"):
        job_in(tmp_path)
    with pytest.raises(ScenarioError, match="this text has no file: save it"):
        read_job(read_toml(JOB, "job"), "job.toml", CATALOGUE)
    with pytest.raises(
        ScenarioError, match=r"no fleet with failures 'meta-rsc-9'; near: meta-rsc-2, meta-rsc-1; or"
    ):
        job_in(tmp_path, JOB.replace("fits/fit.json", "meta-rsc-9"))


def test_a_log_or_its_folder_is_told_what_to_name(tmp_path: Path) -> None:
    """On the command line; a file that somebody sent learns nothing of this machine's files."""
    fit_in(tmp_path / "fits")
    (tmp_path / "sacct.txt").write_text("log")
    for given, said in (("fits", "name the fit in that folder"), ("sacct.txt", "a log is fitted first")):
        with pytest.raises(InputError, match=f"--failures: no fleet .* {said}"):
            job_from_flags(FLAGS | {"failures": str(tmp_path / given)}, CATALOGUE)
        with pytest.raises(InputError) as raised:
            job_in(tmp_path, JOB.replace("fits/fit.json", str(tmp_path / given)))
        assert said not in str(raised.value)
