"""Hybrids of attention and state-space layers from their configurations: weights, caches, speed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.answers.throughput import Question, throughput_document
from planner.inputs.loading import load_catalogue
from planner.inputs.models import ModelCardError, active_parameters, parameters, read_shape, with_model_cards
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import parse_scenario
from planner.performance.experts import layer_weights
from planner.performance.memory import kv_cache_gb_per_token
from planner.physics.hybrids import crossover, hybrid_arguments
from planner.physics.requests import FRAME, inputs_of
from planner.physics.served_models import served_model
from planner.physics.training_step import layout_of, step_arguments
from planner.validation.registry import evaluate

LAYER = (
    "hidden",
    "heads",
    "kv_heads",
    "ffn",
    "gated",
    "mixer_parameters",
    "experts",
    "experts_per_token",
    "shared_experts",
    "expert_hidden",
)
COMMON = {
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
}
# As released: ai21labs/Jamba-v0.1, ibm-ai-platform/Bamba-9B, nvidia/Nemotron-H-8B-Base-8K.
JAMBA = COMMON | {
    "model_type": "jamba",
    "attn_layer_offset": 4,
    "attn_layer_period": 8,
    "expert_layer_offset": 1,
    "expert_layer_period": 2,
    "intermediate_size": 14336,
    "mamba_d_conv": 4,
    "mamba_d_state": 16,
    "mamba_dt_rank": 256,
    "mamba_expand": 2,
    "num_experts": 16,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 32,
    "vocab_size": 65536,
}
BAMBA = COMMON | {
    "model_type": "bamba",
    "attn_layer_indices": [9, 18, 27],
    "intermediate_size": 14336,
    "mamba_chunk_size": 256,
    "mamba_d_conv": 4,
    "mamba_d_state": 128,
    "mamba_expand": 2,
    "mamba_n_groups": 1,
    "mamba_n_heads": 128,
    "num_hidden_layers": 32,
    "vocab_size": 128256,
}
NEMOTRON = COMMON | {
    "model_type": "nemotron_h",
    "attention_head_dim": 128,
    "chunk_size": 128,
    "conv_kernel": 4,
    "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
    "intermediate_size": 21504,
    "mamba_head_dim": 64,
    "mamba_num_heads": 128,
    "n_groups": 8,
    "num_hidden_layers": 52,
    "ssm_state_size": 128,
    "vocab_size": 131072,
}

# nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16: experts between the layers that mix tokens.
NEMOTRON_3_SUPER = {
    "model_type": "nemotron_h",
    "chunk_size": 128,
    "conv_kernel": 4,
    "head_dim": 128,
    "hidden_size": 4096,
    "hybrid_override_pattern": "MEMEMEM*" + 2 * "EMEMEMEM*" + 4 * "EMEMEMEMEM*" + "EMEMEMEM*EMEMEMEME",
    "intermediate_size": 2688,
    "mamba_head_dim": 64,
    "mamba_ssm_cache_dtype": "float32",
    "mamba_num_heads": 128,
    "moe_intermediate_size": 2688,
    "moe_latent_size": 1024,
    "moe_shared_expert_intermediate_size": 5376,
    "n_groups": 8,
    "n_routed_experts": 512,
    "num_attention_heads": 32,
    "num_experts_per_tok": 22,
    "num_hidden_layers": 88,
    "num_key_value_heads": 2,
    "num_nextn_predict_layers": 1,
    "ssm_state_size": 128,
    "tie_word_embeddings": False,
    "vocab_size": 131072,
}


def written(folder: Path, config: dict[str, Any]) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def known(folder: Path, config: dict[str, Any]) -> Inputs:
    """A scenario's inputs that know the model as config.json."""
    written(folder, config)
    return inputs_of(with_model_cards(load_catalogue(), ["config.json"], folder), ("h100-8",))


@pytest.mark.parametrize(
    ("config", "whole", "active"),
    [
        (JAMBA, 52e9, 12e9),  # Lieber et al., "Jamba", arXiv 2403.19887, abstract: 52B available, 12B active
        (BAMBA, 9.78e9, 9.78e9),  # model card of Bamba-9B
        (NEMOTRON, 8.1e9, 8.1e9),  # NVIDIA, "Nemotron-H", arXiv 2504.03624: 8B
        (NEMOTRON_3_SUPER, 120.6e9, 12.7e9),  # NVIDIA, "Nemotron 3 Super", arXiv 2604.12374: 120.6B, 12.7B
    ],
)
def test_weights_are_those_published(
    tmp_path: Path, config: dict[str, Any], whole: float, active: float
) -> None:
    """Norms and convolutions are left out: below 1 %. Jamba's authors round to billions."""
    shape = read_shape(written(tmp_path, config))

    assert parameters(shape) == pytest.approx(whole, rel=0.012)
    assert active_parameters(shape) == pytest.approx(active, rel=0.012)


def test_newer_files_name_the_width_of_a_head_otherwise(tmp_path: Path) -> None:
    """`head_dim` in place of `attention_head_dim`: never h/a in silence."""
    newer = {key: value for key, value in NEMOTRON.items() if key != "attention_head_dim"}
    newer |= {"num_attention_heads": 40, "hidden_size": 4480, "head_dim": 128}

    assert read_shape(written(tmp_path, newer)).head_dim == 128


def test_jamba_keeps_four_gigabytes_of_256k_tokens(tmp_path: Path) -> None:
    """Lieber et al., arXiv 2403.19887, table 1: 4 GB of keys and values at 256K tokens; Mixtral 32."""
    shape = read_shape(written(tmp_path, JAMBA))
    each = kv_cache_gb_per_token(layers=32.0, kv_heads=8.0, head_dim=128.0, kv_bytes=2.0, tp=1.0)

    def kept(share: float) -> float:
        return float(share * each * 262_144.0)

    assert kept(1.0 - shape.state_layers / shape.layers) * 1e9 / 2**30 == pytest.approx(4.0, rel=1e-9)
    assert kept(1.0) * 1e9 / 2**30 == pytest.approx(32.0, rel=1e-9)


def test_an_engine_holds_the_state_once_and_keys_and_values_by_the_token(tmp_path: Path) -> None:
    """Nemotron-H: 24 layers x (8192 x 128 + 3 x 10,240) values; 4 of 28 layers attend."""
    model = served_model(known(tmp_path, NEMOTRON), "config.json", "bf16")
    state = 24 * (8192 * 128 + 3 * (8192 + 2 * 8 * 128)) * 2

    assert float(np.asarray(model.state_bytes.value)) == pytest.approx(state)
    assert float(np.asarray(model.windowed_fraction.value)) == pytest.approx(24 / 28)


def test_the_context_from_which_a_state_is_smaller(tmp_path: Path) -> None:
    """A layer's 1,079,296 values over 2,048 a token: 527 tokens."""
    assert float(np.asarray(crossover(known(tmp_path, NEMOTRON), "config.json").value)) == pytest.approx(527)


@pytest.mark.slow
def test_a_longer_context_costs_a_hybrid_less(tmp_path: Path) -> None:
    """At 100,000 tokens a replica holds several times the requests of a transformer of its size."""
    path = written(tmp_path, NEMOTRON)

    def held(model: str, tokens: float) -> float:
        asked = Question(
            model,
            serve=True,
            skus=("h100-8",),
            input_tokens=tokens,
            output_tokens=100.0,
            ttft_s=60.0,
            tpot_s=1.0,
        )
        rows = throughput_document(asked)["rows"]
        return float(next(row["batch"] for row in rows if row["accelerators"] == 1))

    assert held(str(path), 100_000.0) > 3 * held("llama-3.1-8b", 100_000.0)
    assert held(str(path), 200.0) < held("llama-3.1-8b", 200.0)  # below the crossover the state is larger


def test_training_takes_the_mean_of_both_mixers(tmp_path: Path) -> None:
    """W = (4 x 41.9 M + 24 x 109.6 M)/28; the step is that of the leaf with those arguments."""
    inputs = known(tmp_path, NEMOTRON)
    found = hybrid_arguments(inputs, "config.json")
    attends = 4096 * 128 * (64 + 16)
    state = 4096 * (2 * 8192 + 2 * 8 * 128 + 128) + 8192 * 4096

    assert float(np.asarray(found["mixer_parameters"].value)) == pytest.approx(
        (4 * attends + 24 * state) / 28
    )
    layout = layout_of(
        step_arguments(inputs, "config.json", "h100-sxm-80gb", "bf16"),
        accelerators=64,
        global_batch=512,
        sequence_tokens=8192,
        memory_gb=80.0,
        usable_fraction=0.9,
        as_fast_fraction=0.02,
    )
    assert layout.memory_gb > 10


@pytest.mark.parametrize(
    ("config", "changes", "said"),
    [
        (JAMBA, {"attn_layer_period": None}, "attn_layer_period is missing"),
        (JAMBA, {"attn_layer_period": 1, "attn_layer_offset": 0}, "is no hybrid"),
        (BAMBA, {"attn_layer_indices": [40]}, "attn_layer_indices are places of layers below 32"),
        (BAMBA, {"mamba_d_state": "128"}, "mamba_d_state is a whole number"),
        (NEMOTRON, {"hybrid_override_pattern": "M-Z"}, "hybrid_override_pattern has one of"),
        (NEMOTRON, {"mamba_head_dim": 0}, "mamba_head_dim is a whole number from 1"),
    ],
)
def test_a_file_that_is_none_is_told(
    tmp_path: Path, config: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ModelCardError, match=said):
        read_shape(written(tmp_path, config | changes))


def test_training_of_mixtures_in_some_layers_is_refused_by_name(tmp_path: Path) -> None:
    """Jamba is served; how its experts train is not known, and a plan says so."""
    from planner.physics.training_options import training_candidates

    catalogue = known(tmp_path, JAMBA).catalogue
    text = FRAME.replace("nodes = [1]", "nodes = [8]").replace('model = "none"', 'model = "config.json"')
    text = text.format(fleet='[[market]]\nsku = "h100-8"\nlead_time = "0 d"\n')
    _, dropped = training_candidates(Inputs(parse_scenario(text, "x"), catalogue))

    assert "its training is not known" in dropped[0].reason


def test_every_door_refuses_a_step_that_nobody_knows(tmp_path: Path) -> None:
    """A plan and the carbon of a job refused to train Jamba, `throughput` answered with a rate."""
    from planner.answers.throughput import Question, throughput_document

    path = written(tmp_path, JAMBA)
    document = throughput_document(Question(str(path), skus=("h100-8",), nodes=(4,)))

    assert "its training is not known" in document["rows"][0]["reason"]


@pytest.mark.parametrize(
    ("model", "running", "written", "tokens_per_s"),
    [
        ("NVIDIA Nemotron Nano 9B V2", 31.98, 5513.3, 2401.4),
        ("NVIDIA Nemotron Nano 12B V2", 127.99, 5695.1, 4013.3),
    ],
)
def test_a_shipped_hybrid_beside_its_measured_rate(
    model: str, running: float, written: float, tokens_per_s: float
) -> None:
    """ML.ENERGY v3, GPQA task, one H100 in 16 bits: nothing was fitted on a model with states."""
    row = {"model": model, "gpu": "H100-80GB-SXM", "avg_batch": running, "avg_output_tokens": written}
    row |= {"weights": "bfloat16", "engine": "vLLM", "tp": 1, "ep": 1}

    assert evaluate("serve_decode", row, "output tokens/s")[0] == pytest.approx(tokens_per_s, rel=0.1)


def test_the_shipped_mixture_is_as_its_file_reads(tmp_path: Path) -> None:
    """Facts of Nemotron 3 Super next to its config.json; a run trains its module for further tokens twice."""
    shipped, read = load_catalogue().facts, known(tmp_path, NEMOTRON_3_SUPER).catalogue.facts
    names = {key.rpartition(".")[2] for key in shipped if key.startswith("model.nemotron-3-super.")}

    assert names == {key.rpartition(".")[2] for key in read if key.startswith("model.config.json.")}
    for name in names - {"prediction_layers"}:
        assert shipped[f"model.nemotron-3-super.{name}"].value == read[f"model.config.json.{name}"].value, (
            name
        )


def test_a_state_takes_as_many_bits_as_its_file_says(tmp_path: Path) -> None:
    """float32 as Nemotron 3 is released, 16 bits where engines choose; no other word passes in silence."""
    kinds = {"float32": 4, "bfloat16": 2, "auto": 0}
    read = {
        kind: read_shape(written(tmp_path, NEMOTRON_3_SUPER | {"mamba_ssm_cache_dtype": kind})).state_bytes
        for kind in kinds
    }

    assert read == kinds
    with pytest.raises(
        ModelCardError, match='mamba_ssm_cache_dtype is one of float32, float16, bfloat16, got "fp8"'
    ):
        read_shape(written(tmp_path, NEMOTRON_3_SUPER | {"mamba_ssm_cache_dtype": "fp8"}))


def test_parts_named_by_words_are_those_named_by_letters(tmp_path: Path) -> None:
    letters = {"M": "mamba", "*": "attention", "E": "moe"}
    newer = dict(NEMOTRON_3_SUPER)
    newer["layers_block_type"] = [letters[one] for one in newer.pop("hybrid_override_pattern")]

    assert read_shape(written(tmp_path, newer)) == read_shape(written(tmp_path, NEMOTRON_3_SUPER))


@pytest.mark.parametrize(
    ("model", "tokens_per_s", "tflop_per_s"),
    [
        ("nemotron-3-nano", 39749, 885),  # Megatron-Bridge 26.06, GB300
        ("nemotron-3.5-lightning", 28672, 807),  # 26.08, GB200
        ("nemotron-3-super", 9856, 831),  # 26.08, GB300
        ("nemotron-3-ultra", 3552, 1281),
    ],
)
def test_operations_of_a_token_are_those_published(
    model: str, tokens_per_s: float, tflop_per_s: float
) -> None:
    """Megatron-Bridge publishes tokens and operations a second of the same run: their ratio is 3 x forward.

    By the weights that the step multiplies, scores with half of the mask, states and heads; what it counts of
    scores and states is not published: they are 7 to 12 % of the whole.
    """
    facts = load_catalogue()
    of = {
        name: float(np.asarray(one.value))
        for name, one in step_arguments(facts, model, "b300-sxm-288gb", "bf16").items()
    }
    weights = layer_weights(
        **{name: of[name] for name in LAYER},
    )
    layer = weights.common_parameters + weights.active_routed_parameters
    scores = 2.0 * of["attention_fraction"] * 8192 * of["heads"] * of["head_dim"]
    each = of["layers"] * (2.0 * layer + scores + of["state_space_flops_per_token"])
    heads = 2.0 * of["predicted_tokens"] * of["hidden"] * of["vocabulary"]

    assert 3.0 * (each + heads) == pytest.approx(tflop_per_s * 1e12 / tokens_per_s, rel=0.07)
