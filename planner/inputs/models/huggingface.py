"""Reads a Hugging Face `config.json`: a table of families says under which key each figure stands.

A figure that a family's own default would fill is requested, unless the default follows from the other
figures: guessing a width would be worse than a message. Every problem of a file is reported at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner.inputs.files import parse_json, read_limited
from planner.inputs.models.hybrids import states_of
from planner.inputs.models.shape import ModelShape
from planner.trace.errors import InputError
from planner.trace.numbers import count_text

MAX_BYTES = 1_000_000
# Of one figure, such as a width or a vocabulary: a thousand times the largest that was published.
LARGEST_FIGURE = 1_000_000_000


class ModelCardError(InputError):
    """A file that is no model configuration, or one that is not understood; the message lists why."""


@dataclass(frozen=True, slots=True)
class Family:
    """Key of each figure, what may be missing, and what the family takes where a file is silent.

    `must_be` holds keys whose other values mean a layout of layers that is not understood. Of so many
    layers `window_period` the last sees all tokens and the others a window: 1 where every layer has one, 0
    where the file must name the layers that do. `states` says how a hybrid names its layers with a state:
    by a period, by the places of those that attend, or by a pattern of letters.
    """

    keys: Mapping[str, str]
    gated: int = 1
    tied: bool = False
    derived: tuple[str, ...] = ()
    must_be: Mapping[str, object] = field(default_factory=dict)
    window_period: int = 0
    states: str = ""


_USUAL = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "ffn": "intermediate_size",
    "vocab": "vocab_size",
}
_ONE_CACHE_PER_HEAD = ("kv_heads", "head_dim")
_QWEN3_MOE = _USUAL | {
    "ffn": "moe_intermediate_size",
    "experts": "num_experts",
    "experts_per_token": "num_experts_per_tok",
}
_DEEPSEEK = _USUAL | {
    "head_dim": "qk_nope_head_dim",
    "rotary_dim": "qk_rope_head_dim",
    "value_dim": "v_head_dim",
    "query_rank": "q_lora_rank",
    "latent_rank": "kv_lora_rank",
    "ffn": "moe_intermediate_size",
    "dense_ffn": "intermediate_size",
    "dense_layers": "first_k_dense_replace",
    "experts": "n_routed_experts",
    "experts_per_token": "num_experts_per_tok",
    "shared_experts": "n_shared_experts",
}
_GPT2 = {
    "layers": "n_layer",
    "hidden": "n_embd",
    "heads": "n_head",
    "kv_heads": "",
    "head_dim": "",
    "ffn": "n_inner",
    "vocab": "vocab_size",
}
_BLOOM = _GPT2 | {"hidden": "hidden_size", "ffn": ""}
_OPT = _USUAL | {"kv_heads": "", "head_dim": "", "ffn": "ffn_dim"}
_NEOX = _USUAL | {"kv_heads": "", "head_dim": ""}

_MAMBA_2 = {"state_size": "mamba_d_state", "state_groups": "mamba_n_groups", "state_heads": "mamba_n_heads"}
_BAMBA = _USUAL | _MAMBA_2 | {"state_convolution": "mamba_d_conv", "state_chunk": "mamba_chunk_size"}
_JAMBA = _USUAL | {
    "experts": "num_experts",
    "experts_per_token": "num_experts_per_tok",
    "state_size": "mamba_d_state",
    "state_rank": "mamba_dt_rank",
    "state_convolution": "mamba_d_conv",
}
_NEMOTRON_H = _USUAL | {
    "head_dim": "attention_head_dim head_dim",  # older and newer files
    "state_size": "ssm_state_size",
    "state_groups": "n_groups",
    "state_heads": "mamba_num_heads",
    "state_convolution": "conv_kernel",
    "state_chunk": "chunk_size",
}

# `model_type` of the file -> how to read it.
FAMILIES: Mapping[str, Family] = {
    "bamba": Family(_BAMBA, derived=_ONE_CACHE_PER_HEAD, states="places"),
    "bloom": Family(_BLOOM, gated=0, tied=True, derived=(*_ONE_CACHE_PER_HEAD, "ffn")),
    "deepseek_v2": Family(_DEEPSEEK, must_be={"moe_layer_freq": 1}),
    "deepseek_v3": Family(_DEEPSEEK, must_be={"moe_layer_freq": 1}),
    "gemma": Family(_USUAL, tied=True),
    "gemma2": Family(_USUAL, tied=True, window_period=2),
    "gemma3_text": Family(_USUAL, tied=True, window_period=6),
    "gpt2": Family(_GPT2, gated=0, tied=True, derived=(*_ONE_CACHE_PER_HEAD, "ffn")),
    "gpt_neox": Family(_NEOX, gated=0, derived=_ONE_CACHE_PER_HEAD),
    "gpt_oss": Family(
        _USUAL | {"experts": "num_local_experts", "experts_per_token": "num_experts_per_tok"}, window_period=2
    ),
    "jamba": Family(_JAMBA, derived=_ONE_CACHE_PER_HEAD, states="period"),
    "llama": Family(_USUAL, derived=_ONE_CACHE_PER_HEAD),
    "mistral": Family(_USUAL, derived=("head_dim",), window_period=1),
    "mixtral": Family(
        _USUAL | {"experts": "num_local_experts", "experts_per_token": "num_experts_per_tok"},
        derived=("head_dim",),
    ),
    "nemotron_h": Family(_NEMOTRON_H, gated=0, derived=_ONE_CACHE_PER_HEAD, states="letters"),
    "olmo2": Family(_USUAL, derived=_ONE_CACHE_PER_HEAD),
    "opt": Family(_OPT, gated=0, tied=True, derived=_ONE_CACHE_PER_HEAD),
    "qwen2": Family(_USUAL, derived=("head_dim",)),
    "qwen3": Family(_USUAL),
    "qwen3_moe": Family(_QWEN3_MOE, must_be={"mlp_only_layers": [], "decoder_sparse_step": 1}),
}
_STATE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
# Zero, or no value, means that the model has none of it.
_MAY_BE_ZERO = frozenset({"dense_layers", "shared_experts"})


def read_shape(path: Path) -> ModelShape:
    """Shape in a `config.json`.

    Raises:
        ModelCardError: no such file, not JSON, an unknown family, or figures missing or impossible.
    """
    document = _document(path)
    family = _family(path, document)
    problems: list[str] = []
    figures = {
        name: figure
        for name, key in family.keys.items()
        if (figure := _figure(document, name, key, family, problems)) is not None
    }
    problems += _not_understood(document, family)
    if not problems:
        figures |= _derived(figures, family, problems)
    if family.states and not problems:
        figures |= states_of(document, family.states, figures, problems)
        figures |= _state_bytes(document, problems)
    problems += [] if problems else _impossible(figures, family)
    figures |= {} if problems else _windows(document, figures["layers"], family, problems)
    tied = document.get("tie_word_embeddings", family.tied)
    if not isinstance(tied, bool):
        problems.append(f"tie_word_embeddings is true or false, got {json.dumps(tied)}")
    if problems:
        raise _error(path, problems)
    return ModelShape(**figures, gated=family.gated, tied_embeddings=int(tied))


def _document(path: Path) -> dict[str, Any]:
    try:
        content = read_limited(path, most_bytes=MAX_BYTES, instead="name the config.json, not the weights")
    except OSError as error:
        raise _error(path, [f"cannot be read: {error.strerror}"]) from None
    except InputError as error:
        raise ModelCardError(str(error)) from None
    try:
        document = parse_json(content)
    except ValueError:
        raise _error(path, ["is not JSON"]) from None
    if not isinstance(document, dict):
        raise _error(path, ["is not a model configuration: it holds no keys"])
    return document


def _family(path: Path, document: Mapping[str, Any]) -> Family:
    kind, known = document.get("model_type"), ", ".join(FAMILIES)
    if kind is None:
        raise _error(path, [f"model_type is missing: write the family of the model, one of {known}"])
    if isinstance(document.get("text_config"), dict):
        hint = "save its text_config as a file of its own; what reads images would not be counted"
        raise _error(path, [f"model_type {json.dumps(kind)} holds more than a language model: {hint}"])
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise _error(path, [f"model_type {json.dumps(kind)} is not understood; known are {known}"])
    return FAMILIES[kind]


def _figure(
    document: Mapping[str, Any], name: str, key: str, family: Family, problems: list[str]
) -> int | None:
    """A whole number of the file; None where it is wrong, or to be derived."""
    key, *others = key.split() or [""]
    value = next((document[one] for one in (key, *others) if document.get(one) is not None), None)
    if value is None and name in family.derived:
        return None
    if value is None and name in _MAY_BE_ZERO:
        return 0
    if value is None:
        problems.append(f"{key} is missing")
        return None
    lowest = 0 if name in _MAY_BE_ZERO else 1
    if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
        problems.append(f"{key} is a whole number from {lowest}, got {json.dumps(value)}")
        return None
    if value > LARGEST_FIGURE:
        problems.append(
            f"{key} is larger than any model has, a whole number up to {count_text(LARGEST_FIGURE)}"
        )
        return None
    return value


def _derived(figures: Mapping[str, int], family: Family, problems: list[str]) -> dict[str, int]:
    """What follows from the other figures: a key-value head for each head, h/a, and 4 h."""
    hidden, heads = figures["hidden"], figures["heads"]
    if hidden % heads and "head_dim" in family.derived and "head_dim" not in figures:
        problems.append(f"the width {hidden} does not divide among {heads} heads: write head_dim")
    all_ = {"kv_heads": heads, "head_dim": hidden // heads, "ffn": 4 * hidden}
    return {name: all_[name] for name in family.derived if name not in figures}


def _windows(document: Mapping[str, Any], layers: int, family: Family, problems: list[str]) -> dict[str, int]:
    """The window, and how many layers have it; nothing where every layer sees all tokens."""
    kinds, period = document.get("layer_types"), document.get("sliding_window_pattern", family.window_period)
    if isinstance(kinds, list):
        windowed = kinds.count("sliding_attention")
    elif isinstance(period, bool) or not isinstance(period, int) or period < 0:
        problems.append(f"sliding_window_pattern is a whole number from 0, got {json.dumps(period)}")
        return {}
    else:
        windowed = layers if period == 1 else layers - layers // period if period else 0
    if document.get("sliding_window") is None or document.get("use_sliding_window") is False or not windowed:
        return {}
    window = _figure(document, "window", "sliding_window", family, problems)
    return {} if window is None else {"window": window, "windowed_layers": min(windowed, layers)}


def _state_bytes(document: Mapping[str, Any], problems: list[str]) -> dict[str, int]:
    """Bytes of a value of the state while the model serves; nothing where engines choose."""
    kind = document.get("mamba_ssm_cache_dtype", "auto")
    if kind != "auto" and kind not in _STATE_BYTES:
        problems.append(f"mamba_ssm_cache_dtype is one of {', '.join(_STATE_BYTES)}, got {json.dumps(kind)}")
    return {"state_bytes": _STATE_BYTES[kind]} if kind in _STATE_BYTES else {}


def _not_understood(document: Mapping[str, Any], family: Family) -> Iterator[str]:
    for key, wanted in family.must_be.items():
        if (value := document.get(key, wanted)) != wanted:
            yield (
                f"{key} is {json.dumps(value)}: only {json.dumps(wanted)} is understood, experts in every "
                "layer after the dense ones"
            )


def _impossible(figures: Mapping[str, int], family: Family) -> Iterator[str]:
    """Figures that are each possible, but not together."""
    keys = family.keys
    if figures["heads"] % figures["kv_heads"]:
        yield f"{figures['heads']} heads do not divide among {figures['kv_heads']} {keys['kv_heads']}"
    for part, whole in (("experts_per_token", "experts"), ("dense_layers", "layers")):
        if figures.get(part, 0) > figures.get(whole, 0):
            yield f"{keys[part]} is {figures[part]}, and {keys[whole]} only {figures[whole]}"


def _error(path: Path, problems: list[str]) -> ModelCardError:
    return ModelCardError("\n".join(f"{path}: {problem}" for problem in problems))
