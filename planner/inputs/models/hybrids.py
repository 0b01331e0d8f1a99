"""Which layers of a hybrid keep a state in place of keys and values, and which have experts, by its file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MIXERS = {"M": "a state", "*": "attention"}
NETWORK, MIXTURE = "-", "E"
_LETTERS = {"mamba": "M", "attention": "*", "mlp": NETWORK, "moe": MIXTURE}
# Figures of a mixture by their keys in a file of letters.
_MIXTURE = {
    "ffn": "moe_intermediate_size",
    "experts": "n_routed_experts",
    "experts_per_token": "num_experts_per_tok",
}


def states_of(
    document: Mapping[str, Any], way: str, figures: Mapping[str, int], problems: list[str]
) -> dict[str, int]:
    """Layers with a state, their widths, and layers without experts; every problem is noted."""
    read = {"period": _by_period, "places": _by_places, "letters": _by_letters}[way]
    found = read(document, figures, problems)
    if problems:
        return {}
    layers = found.get("layers", figures["layers"])
    attending = found.get("attending_layers", layers - found["state_layers"])
    if found["state_layers"] < 1 or attending < 1:
        problems.append("is no hybrid: some layers have to keep a state, and some to attend")
    return found


def _by_period(
    document: Mapping[str, Any], figures: Mapping[str, int], problems: list[str]
) -> dict[str, int]:
    """Jamba: one layer of so many attends, and one of so many has experts."""
    layers = figures["layers"]
    period, offset, experts, first, expand = (
        _whole(document, key, problems, least)
        for key, least in (
            ("attn_layer_period", 1),
            ("attn_layer_offset", 0),
            ("expert_layer_period", 1),
            ("expert_layer_offset", 0),
            ("mamba_expand", 1),
        )
    )
    if problems:
        return {}
    attend = sum(i % period == offset for i in range(layers))
    mixtures = sum(i % experts == first for i in range(layers)) if figures["experts"] > 1 else 0
    found = {"state_layers": layers - attend, "state_inner": expand * figures["hidden"], "state_groups": 1}
    if not mixtures:
        return {**found, "experts": 0, "experts_per_token": 0}
    return {**found, "dense_layers": layers - mixtures, "dense_ffn": figures["ffn"]}


def _by_places(
    document: Mapping[str, Any], figures: Mapping[str, int], problems: list[str]
) -> dict[str, int]:
    """Bamba: the layers that attend are named."""
    places, layers = document.get("attn_layer_indices"), figures["layers"]
    expand = _whole(document, "mamba_expand", problems, 1)
    if not isinstance(places, list) or not all(type(i) is int and 0 <= i < layers for i in places):
        problems.append(f"attn_layer_indices are places of layers below {layers}, got {_short(places)}")
        return {}
    return {"state_layers": layers - len(set(places)), "state_inner": expand * figures["hidden"]}


def _by_letters(
    document: Mapping[str, Any], figures: Mapping[str, int], problems: list[str]
) -> dict[str, int]:
    """Nemotron-H: a letter for each part. A layer here is what mixes tokens, with its share of networks.

    Where there are fewer networks than mixers, each layer has one of the mean width, so that all weights and
    operations are kept. With experts a layer is one that has them, with its share of what mixes tokens.
    """
    pattern = _pattern(document)
    known = {*MIXERS, NETWORK, MIXTURE}
    if not isinstance(pattern, str) or not set(pattern) <= known or len(pattern) != figures["layers"]:
        problems.append(
            f"hybrid_override_pattern has one of {' '.join(sorted(known))} for each of "
            f"{figures['layers']} layers, got {_short(pattern)}"
        )
        return {}
    states, networks = pattern.count("M"), pattern.count(NETWORK)
    mixers = sum(pattern.count(letter) for letter in MIXERS)
    width = _whole(document, "mamba_head_dim", problems, 1)
    if not mixers or mixers == len(pattern):
        problems.append("hybrid_override_pattern has no layer that mixes tokens, or none with a network")
        return {}
    found = {"state_layers": states, "state_inner": figures["state_heads"] * width}
    if MIXTURE not in pattern:
        return {**found, "layers": mixers, "ffn": round(figures["ffn"] * networks / mixers)}
    if networks:
        problems.append(
            "hybrid_override_pattern has networks with and without experts, which is not understood"
        )
        return {}
    attending = {"layers": pattern.count(MIXTURE), "attending_layers": pattern.count("*")}
    return {**found, **attending, **_experts(document, problems)}


def _pattern(document: Mapping[str, Any]) -> object:
    """A letter for each part; newer files name each part by a word."""
    words = document.get("layers_block_type")
    if isinstance(words, list) and document.get("hybrid_override_pattern") is None:
        return "".join(_LETTERS.get(word, "?") if isinstance(word, str) else "?" for word in words)
    return document.get("hybrid_override_pattern")


def _experts(document: Mapping[str, Any], problems: list[str]) -> dict[str, int]:
    """Experts of a file of letters; one that all tokens meet counts as several by its width."""
    found = {name: _whole(document, key, problems, 1) for name, key in _MIXTURE.items()}
    shared = _whole(document, "moe_shared_expert_intermediate_size", problems, 0)
    if shared % found["ffn"]:
        problems.append(
            f"moe_shared_expert_intermediate_size is a multiple of {found['ffn']}, the width of an expert, "
            f"got {shared}"
        )
    found["shared_experts"] = shared // found["ffn"]
    if document.get("moe_latent_size") is not None:
        found["expert_hidden"] = _whole(document, "moe_latent_size", problems, 1)
    if document.get("num_nextn_predict_layers"):
        found["prediction_layers"] = _whole(document, "num_nextn_predict_layers", problems, 1)
    return found


def _whole(document: Mapping[str, Any], key: str, problems: list[str], least: int) -> int:
    value = document.get(key)
    if type(value) is not int or not least <= value <= 1_000_000:
        problems.append(
            f"{key} is missing"
            if value is None
            else f"{key} is a whole number from {least}, got {_short(value)}"
        )
        return least
    return value


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
