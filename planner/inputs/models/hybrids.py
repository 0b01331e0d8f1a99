"""Which layers of a hybrid keep a state in place of keys and values, and which have experts, by its file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MIXERS = {"M": "a state", "*": "attention"}
NETWORK = "-"


def states_of(
    document: Mapping[str, Any], way: str, figures: Mapping[str, int], problems: list[str]
) -> dict[str, int]:
    """Layers with a state, their widths, and layers without experts; every problem is noted."""
    read = {"period": _by_period, "places": _by_places, "letters": _by_letters}[way]
    found = read(document, figures, problems)
    if problems:
        return {}
    if found["state_layers"] < 1 or found["state_layers"] >= found.get("layers", figures["layers"]):
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
    operations are kept.
    """
    pattern = document.get("hybrid_override_pattern")
    known = {*MIXERS, NETWORK}
    if not isinstance(pattern, str) or not set(pattern) <= known or len(pattern) != figures["layers"]:
        problems.append(
            f"hybrid_override_pattern has one of {' '.join(sorted(known))} for each of "
            f"{figures['layers']} layers, got {_short(pattern)}"
        )
        return {}
    states, mixers, networks = (
        pattern.count("M"),
        len(pattern) - pattern.count(NETWORK),
        pattern.count(NETWORK),
    )
    width = _whole(document, "mamba_head_dim", problems, 1)
    if not mixers or not networks:
        problems.append("hybrid_override_pattern has no layer that mixes tokens, or none with a network")
        return {}
    return {
        "layers": mixers,
        "ffn": round(figures["ffn"] * networks / mixers),
        "state_layers": states,
        "state_inner": figures["state_heads"] * width,
    }


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
