"""Which generation of accelerators a row is about, from the name of the chip or node in its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from planner.inputs.loading import load_catalogue
from planner.validation.aliases import aliases, catalogue_name

NO_ACCELERATOR = ""
OTHER = "other"
_LIMITED = " MaxQ"


@cache
def generations() -> Mapping[str, str]:
    """Generation of each accelerator, by its name in the catalogue."""
    return {chip: name for name, chips in aliases("generation").items() for chip in chips}


def generation_of(inputs: Mapping[str, Any]) -> str:
    """The generation of the one accelerator that a row names; empty where it names none, or several."""
    for key in ("gpu", "accelerator"):
        if isinstance(inputs.get(key), str):
            return generations().get(_chip(inputs[key]), OTHER)
    node = str(inputs.get("node", "")).removesuffix(_LIMITED).split(", ")[0]  # how it is cooled follows
    sku = load_catalogue().skus.get(str(aliases("sku").get(node, node)))
    return NO_ACCELERATOR if sku is None else generations().get(sku.accelerator, OTHER)


def _chip(name: str) -> str:
    """The catalogue's name; a remark in brackets may follow the chip's own."""
    for text in (name, name.split(" (")[0]):
        try:
            return catalogue_name("accelerator", text)
        except ValueError:
            continue
    return name
