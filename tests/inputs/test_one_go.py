"""A file with a problem of each kind is told all of them in one go, each once: value, name and meaning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.answers.check import check, check_file
from planner.cli.commands import main
from planner.inputs.loading import data_folder
from planner.inputs.scenario import ScenarioError

SCENARIO = """
title = "Everything at once"
horizon = { start = 2027-01-01, periods = 4, period = "quarter" }
reliability = { failures = "meta-rsc1", restart = "10 min", repair = "5.5 d", spare_confidence = 0.95 }
policy = { objective = "money", discount_rate = 8, node_life = "5 y" }

[[sites]]
name = "dallas"
grid = "us-srvc"
pue = 0.9
powercap = "2 MW"
racks = 60

[[sites]]
name = "lulea"
grid = "se"
pue = 1.1
power_cap = "2 MW"
racks = 60

[[market]]
sku = "h100-9"
lead_time = "60 d"

[[market]]
sku = "h100-8"
lead_time = "60 d"

[[training]]
name = "train-8b"
model = "lama-3-8b"
tokens = "many"
sequence_tokens = 8192
batch_tokens = 4e6
precision = "bf16"
deadline = 2026-06-30
nodes = [8, 16]
checkpoint_storage = "local-nvme"
partial = true

[[pools]]
name = "fine-tuning"
model = "llama-3.1-405b"
reference = "l40s-8"
gpu_time = "1000 h"

[facts]
"accelerator.h100-sxm-80gb.bf16_peak" = "1979 TFLOP/s"

[[futures]]
name = "boom"
probability = 1.0
set = { "market.h100-8.sku" = "h100-7" }
"""

JOB = """
[site]
pue = 0.5
grid = "atlantis"
fill = "line"
[hardware]
sku = "x"
lifetime = "0 y"
[training]
model = "llama-3.1-8b"
tokens = "many"
power = "650 W"
checkpoint_storage = "tape"
[facts]
"accelerator.h100-sxm-80gb.tdp" = "650 kg"
"accelerator.h100-sxm-80gb.bf16_peak" = "1979 TFLOP/s"
"""


def problems_of(path: Path, text: str) -> list[tuple[str, str]]:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as raised:
        check_file(path)
    return [(problem.path, problem.message) for problem in raised.value.problems]


def test_a_scenario_is_told_every_problem_in_one_go(tmp_path: Path) -> None:
    """Values that are no values, a key misspelt, dates out of order, names and figures, all at once."""
    found = problems_of(tmp_path / "s.toml", SCENARIO)

    assert [path for path, _ in found] == [
        "sites.dallas.pue",  # values
        "training.train-8b.tokens",
        "policy.discount_rate",
        "sites.dallas.powercap",  # a key; that power_cap is missing would only follow from it
        "training.train-8b.deadline",  # values next to each other, in a job with a wrong one
        "training.train-8b.partial",
        "training.train-8b.partial",
        "market.h100-9.sku",  # names
        "training.train-8b.model",
        "training.train-8b.checkpoint_storage",
        "reliability.failures",
        "sites.lulea.grid",  # meaning
        "facts.accelerator.h100-sxm-80gb.bf16_peak",
        "futures.boom.set.market.h100-7.sku",  # what a future sets
        "pools.fine-tuning.reference",  # physics
    ]
    assert len(set(found)) == len(found)


def test_a_job_is_told_every_problem_in_one_go(tmp_path: Path) -> None:
    found = problems_of(tmp_path / "j.toml", JOB)

    assert [path for path, _ in found] == [
        "title",
        "site.pue",
        "hardware.lifetime",
        "training.tokens",
        "site.grid",
        "hardware.sku",
        "training.checkpoint_storage",
        "facts.accelerator.h100-sxm-80gb.tdp",
        "site.fill",
        "training.power",
        "training.nodes",
        "facts.accelerator.h100-sxm-80gb.bf16_peak",
    ]


@pytest.mark.parametrize(("text", "name"), [(SCENARIO, "s.toml"), (JOB, "j.toml")])
def test_mending_what_was_told_leaves_no_second_round(tmp_path: Path, text: str, name: str) -> None:
    """Of one problem that is mended, all others are told again, and none that was hidden behind it."""
    before = problems_of(tmp_path / name, text)
    for wrong, right in (("pue = 0.9", "pue = 1.1"), ("pue = 0.5", "pue = 1.5"), ('"many"', "1e12")):
        after = problems_of(tmp_path / name, text.replace(wrong, right))
        assert set(after) <= set(before)


def test_each_message_says_what_would_do(tmp_path: Path) -> None:
    remedy = re.compile(
        r"write|did you mean|there is|leave it out|give|remove|has no effect|would fit|Choose"
    )
    for name, text in (("s.toml", SCENARIO), ("j.toml", JOB)):
        for path, message in problems_of(tmp_path / name, text):
            assert remedy.search(message), f"{path}: {message}"


def test_a_misspelt_table_is_one_problem(tmp_path: Path) -> None:
    """Nothing that it holds is missed, and nothing that names it is unknown."""
    good = (data_folder() / "scenarios/one-training-job.toml").read_text(encoding="utf-8")

    found = problems_of(tmp_path / "s.toml", good.replace("[[sites]]", "[[sits]]"))

    assert [path for path, _ in found] == ["sits"]


def test_a_wrong_value_under_a_misspelt_key_is_told_where_it_is_written(tmp_path: Path) -> None:
    good = (data_folder() / "scenarios/one-training-job.toml").read_text(encoding="utf-8")
    wrong = re.sub(r"power_cap = .*", "powercap = 2000", good, count=1)

    found = problems_of(tmp_path / "s.toml", wrong)

    assert [path.rpartition(".")[2] for path, _ in found] == ["powercap", "powercap"]


def test_a_site_without_a_name_leaves_its_references_alone(tmp_path: Path) -> None:
    good = (data_folder() / "scenarios/next-quarter.toml").read_text(encoding="utf-8")
    name = re.search(r"\[\[sites\]\]\n(?:#.*\n)*name = .*\n", good)
    assert name is not None
    wrong = good.replace(name[0], "[[sites]]\n", 1)

    found = problems_of(tmp_path / "s.toml", wrong)

    assert [path for path, _ in found] == ["sites[0].name"]


def test_a_text_is_checked_like_its_file() -> None:
    with pytest.raises(ScenarioError) as raised:
        check(SCENARIO, "s.toml")

    assert len(raised.value.problems) == 15


@pytest.mark.parametrize("folder", ["scenarios", "jobs"])
def test_shipped_files_are_fine_and_told_apart_by_content(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [path.stem for path in sorted((data_folder() / folder).glob("*.toml"))]

    assert main(["check", *names]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{name}: fine" for name in names]
