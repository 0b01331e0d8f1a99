"""A job that trains on samples: hours of the table, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from planner.answers.job.footprint import footprint_of
from planner.answers.job.setting import setting_of
from planner.answers.throughput import Question, throughput_document
from planner.inputs.job.reading import read_job
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import ScenarioError
from planner.inputs.scenario.files import read_toml

CATALOGUE = load_catalogue()
JOB = """
[site]
grid = "us"
pue = 1.1
[hardware]
sku = "h100-8"
[{phase}]
model = "{model}"
nodes = 8
{said}
"""


def read(said: str, phase: str = "training", model: str = "dlrm-dcnv2"):  # type: ignore[no-untyped-def]
    text = 'title = "again"\n' + JOB.format(said=said, phase=phase, model=model)
    return read_job(read_toml(text, "job"), "job.toml", CATALOGUE)


@pytest.mark.parametrize(
    ("model", "samples", "batch"),
    [("dlrm-dcnv2", 4.2e12, 65_536), ("sd2", 5e9, 2048), ("vit-h-14", 5e9, 4096)],
)
def test_a_job_takes_the_hours_of_the_table(model: str, samples: float, batch: int) -> None:
    """As at the rate of 64 H100, a third of a percent longer by failures and checkpoints."""
    document = throughput_document(Question(model, skus=("h100-8",), nodes=(8,), batch=batch), CATALOGUE)
    hours = samples / document["rows"][0]["rate_per_s"] / 3600
    job = read(f"samples = {samples}\nbatch_samples = {batch}", model=model)
    footprint = footprint_of(setting_of(job, CATALOGUE))
    held = float(np.asarray(footprint.phases[0].done.node_h.value))

    assert held == pytest.approx(8 * hours, rel=0.01)
    assert held > 8 * hours


@pytest.mark.parametrize(
    ("job", "wanted"),
    [
        (
            {"said": "tokens = 1e12"},
            "training.tokens: 'dlrm-dcnv2' is a recommendation model, which trains on",
        ),
        (
            {"said": "samples = 1e12", "model": "llama-3.1-8b"},
            "training.samples: works for a recommendation model",
        ),
        ({"said": "samples = 1e12\ntokens = 1e12"}, "training.samples: is next to tokens"),
        ({"said": "samples = 1e12\nbatch_tokens = 4e6"}, "training.batch_tokens: has no effect with samples"),
        (
            {"said": "samples = 1e12", "phase": "fine_tuning"},
            "fine_tuning.model: 'dlrm-dcnv2' is a recommendation",
        ),
        ({"said": 'samples = "all"'}, "training.samples: 'all'"),
        (
            {"said": "samples = 1e9", "model": "sd2"},
            "training.batch_samples: is missing: write the images of a step",
        ),
        ({"said": "tokens = 1e9", "model": "sd2"}, "training.tokens: 'sd2' is a model that makes images"),
        (
            {"said": "samples = 1e9", "model": "whisper-large-v3"},
            "training.model: 'whisper-large-v3' is a model of speech: it works in [inference]",
        ),
    ],
)
def test_what_does_not_go_together_is_said(job: dict[str, str], wanted: str) -> None:
    with pytest.raises(ScenarioError) as error:
        read(**job)
    found = [f"{one.path}: {one.message}" for one in error.value.problems]

    assert len([one for one in found if one.startswith(wanted)]) == 1, found
