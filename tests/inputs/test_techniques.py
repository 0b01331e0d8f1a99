"""Published techniques: whole records, in scope where their publication is, and without effect elsewhere."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from planner.answers.job import read_job
from planner.answers.job.footprint import footprint_of
from planner.answers.job.setting import setting_of
from planner.answers.job.techniques import turns
from planner.answers.job.what_if import changes_of
from planner.answers.lists import list_text, listed
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.techniques import UnknownTechnique, technique_named, techniques
from planner.physics.techniques import effect_ratio, lowered_kwh

CATALOGUE = load_catalogue()
HOURS = {
    "title": "measured",
    "site": {"grid": "se"},
    "hardware": {"sku": "h100-8"},
    "training": {"accelerator_hours": 1000},
}


def changes(**tables: object) -> Mapping[str, Mapping[str, Any]]:
    """Rows of techniques of a job, by name."""
    job = read_job({**HOURS, **tables}, "job.toml", CATALOGUE)
    rows = changes_of(footprint_of(setting_of(job, CATALOGUE)))
    return {str(row["to"]): row for row in rows if str(row["what"]).startswith("technique in ")}


@pytest.mark.parametrize("name", techniques())
def test_a_record_is_whole(name: str) -> None:
    """A headline maximum is the end of a range; adoption takes time and people."""
    one = technique_named(name)

    assert one.quality
    assert all(name in technique_named(other).excludes for other in one.excludes if other != "layerskip") or (
        name == "multimodal-stack"
    )
    for handle in one.handles:
        fact = CATALOGUE.fact(f"technique.{name}.{handle}")
        assert fact.low is not None
        assert fact.high is not None
        assert fact.source.name != "everfleet-assumptions"
        assert fact.value < fact.high or fact.low == fact.high or name == "kv-fp8"
    for part in ("time", "person_time"):
        assert CATALOGUE.fact(f"adoption.{one.adoption}.{part}").low is not None


def test_sparsity_is_for_chips_from_the_a100_on() -> None:
    """Madhyastha et al.: all NVIDIA GPUs starting with the A100 generation."""
    one = technique_named("2-4-sparsity")
    scope: dict[str, Any] = {"phase": "training", "model": None, "predicted": True}

    assert not one.out_of_scope(CATALOGUE, accelerator="a100-sxm-80gb", **scope)
    assert "does not run on v100" in one.out_of_scope(CATALOGUE, accelerator="v100-sxm2-32gb", **scope)


def test_data_chosen_by_a_proxy_is_for_experiments_and_never_for_the_final_run() -> None:
    """SVP-CF ranks models on a sample; what is trained at last sees all data."""
    scope: dict[str, Any] = {"model": "dlrm-a", "accelerator": "h100-sxm-80gb", "predicted": False}

    assert "experimentation" in technique_named("svp-cf").out_of_scope(CATALOGUE, phase="training", **scope)


def test_a_job_is_told_each_technique_in_its_scope_and_no_other() -> None:
    """1.4 to 1.7 times faster: 1,000 hours become 714 to 588, and all of the job is training."""
    rows = changes()
    row = rows["2-4-sparsity"]

    assert set(rows) == {"2-4-sparsity"}
    assert row["change_fraction"].value == pytest.approx(1 / 1.54 - 1, rel=1e-3)
    assert row["note"].startswith("-28.6 % to -41.2 % by its range")
    assert "2-4-sparsity" not in changes(hardware={"sku": "v100-8"})


def test_a_technique_without_effect_says_so() -> None:
    """HeteroSwitch is for fairness; buffers of experts free memory alone."""
    text = (data_folder() / "jobs" / "federated-keyboard.toml").read_text(encoding="utf-8")
    shipped = read_job(tomllib.loads(text), "job.toml", CATALOGUE)
    rows = {row["to"]: row for row in changes_of(footprint_of(setting_of(shipped, CATALOGUE)))}
    served = {"model": "mixtral-8x7b", "requests": 1e6, "tokens_in": 500, "tokens_out": 200}
    job = read_job({**HOURS, "training": None, "inference": served}, "job.toml", CATALOGUE)

    assert rows["heteroswitch"]["change_kgco2e"].value == 0.0
    assert rows["heteroswitch"]["note"].startswith("no effect;")
    assert rows["papaya"]["change_kgco2e"].value < 0.0
    setting = setting_of(job, CATALOGUE)
    assert turns(setting, technique_named("expert-buffering"), ("inference",)) == ()
    assert turns(setting, technique_named("kv-fp8"), ("inference",)) == ("technique.kv-fp8.kv_bytes",)


def test_less_energy_than_idle_nodes_draw_is_never_told() -> None:
    """READ, 84 %: what 10 hours at 7 kW draw above 2 kW idle falls to 16 %, and idle stays."""
    kwh = lowered_kwh(it_kwh=np.array([70.0]), node_h=np.array([10.0]), idle_kw=2.0, reduction_ratio=1 / 0.16)

    assert kwh == pytest.approx(20.0 + 0.16 * 50.0)
    assert lowered_kwh(it_kwh=10.0, node_h=10.0, idle_kw=2.0, reduction_ratio=9.0) == 10.0


def test_a_share_of_the_whole_is_reached_as_amdahl_says() -> None:
    """NeuroShard (2305.01868): 11.6 % off embeddings, 53.4 % of the step, is 6.6 % more end to end."""
    middle = effect_ratio(CATALOGUE, ["neuroshard"], ["lookups"])

    assert middle is not None
    assert float(middle.value) < 1.066
    high = 1 / (1 - 0.534 + 0.534 * (1 - 0.116))
    assert high - 1 == pytest.approx(0.066, rel=0.01)
    assert CATALOGUE.fact("technique.neuroshard.lookups").high == pytest.approx(1 / (1 - 0.116), rel=1e-3)


def test_one_technique_is_its_card_and_several_are_a_table() -> None:
    card = list_text(listed("techniques", ["layerskip"]))

    assert "times_less" in card
    assert "GSM8K" in card
    assert "elhoushi-2024-layerskip" in card
    assert len(listed("techniques", ["recommendation"])) > 5
    with pytest.raises(UnknownTechnique, match="no technique 'layerskp'; near: layerskip"):
        technique_named("layerskp")


@pytest.mark.parametrize(("model", "applies"), [("llama-3.1-8b", False), ("mixtral-8x7b", True)])
def test_techniques_of_experts_are_for_models_that_have_some(model: str, applies: bool) -> None:
    """A dense model has the fact `experts`, too: it is 0."""
    why = technique_named("expert-buffering").out_of_scope(
        CATALOGUE, phase="inference", model=model, accelerator="h100-sxm-80gb", predicted=True
    )

    assert (why == "") is applies
