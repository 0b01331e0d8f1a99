"""One question by function and by page: what the page's worker or loader gives is the answer's document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import everfleet as ef
from planner.inputs.loading import data_folder
from planner.report.shape import written
from planner.ui import shared
from planner.ui.workers import jobs, logs, planning


def said_to_nobody(*_: object, **__: object) -> None:
    return None


def never() -> bool:
    return False


def plain(document: Any) -> Any:
    """As JSON has it, without the seconds that the solver took."""
    return json.loads(re.sub(r'("seconds": )[-\d.e]+', r"\1 0", json.dumps(document)))


def test_a_plan(tmp_path: Path) -> None:
    file = data_folder() / "scenarios" / "one-training-job.toml"
    arguments = {"name": file.name, "text": file.read_text(), "store_address": str(tmp_path / "plans.sqlite")}
    page = planning.plan(arguments, said_to_nobody, never)

    assert plain(written(page["document"])) == plain(ef.plan("one-training-job").to_dict())


def test_a_job() -> None:
    text = (data_folder() / "jobs" / "bloom.toml").read_text()
    page = jobs.estimate({"text": text, "name": "bloom.toml", "files": {}}, said_to_nobody, never)

    assert plain(written(page)) == plain(ef.job_carbon("bloom").to_dict())


@pytest.mark.nightly
def test_a_log() -> None:
    file = data_folder() / "samples" / "slurm-simulated.txt"
    arguments = {
        "name": file.name,
        "content": file.read_bytes(),
        "mapping": "",
        "question": {"name": "mine", "accelerators_per_node": 8},
    }
    page = logs.fit(arguments, said_to_nobody, never)

    assert plain(written(page)) == plain(ef.fit(file, name="mine", accelerators_per_node=8).to_dict())


@pytest.mark.nightly
def test_checkpoints() -> None:
    """The page sets sizes next to each other, too; all else is the same."""
    inputs = {"failures": "meta-rsc-1", "sku": "a100-80-8", "nodes": 512, "restart_min": 20.0}
    page = shared.load_checkpoints(**inputs)

    assert plain(written(page)) == ef.checkpoint(**inputs).to_dict()
