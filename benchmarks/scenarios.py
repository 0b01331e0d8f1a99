"""Larger scenarios made from the shipped quarter, by a rule that can be said in one sentence.

`copies` times the sites, the fleet, the training jobs, the pools and the services, and one more SKU on the
market for each further copy. What may run where is work times places: it grows with the square of `copies`.
Copies differ, as real sites and jobs do: alike ones would let a solver swap them for ever.
"""

from __future__ import annotations

import tomllib
from typing import Any

from planner.inputs.loading import data_folder
from planner.inputs.scenario.files import write_toml

COPIES = {1: 1, 4: 2, 16: 4}  # size of the search over the shipped one -> copies
MORE_SKUS = ("mi300x-8", "gaudi3-8", "a100-40-8")
MORE_GRIDS = (
    "gcp-us-east4",
    "gcp-us-central1",
    "gcp-europe-west4",
    "gcp-europe-west1",
    "gcp-europe-west9",
    "gcp-asia-northeast1",
    "gcp-us-west4",
    "gcp-europe-west3",
    "gcp-asia-southeast1",
)
WORK_STEP, PRICE_STEP = 0.1, 0.07  # each further copy has so much less work, at so much dearer energy


def shipped() -> str:
    """The quarter that comes with the planner."""
    return (data_folder() / "scenarios" / "next-quarter.toml").read_text(encoding="utf-8")


def grown(copies: int) -> str:
    """The shipped quarter with `copies` of its sites, fleet and work."""
    if not 1 <= copies <= len(MORE_SKUS) + 1:
        raise ValueError(f"copies is 1 to {len(MORE_SKUS) + 1}, got {copies}")
    document = tomllib.loads(shipped())
    grown_up = dict(document)
    for section in ("sites", "fleet", "training", "pools", "services"):
        grown_up[section] = [
            _copy(entry, section, copy, place)
            for copy in range(copies)
            for place, entry in enumerate(document[section])
        ]
    offers = [_scaled(offer, "supply_nodes", copies) for offer in document["market"]]
    grown_up["market"] = offers + [{**offers[0], "sku": sku} for sku in MORE_SKUS[: copies - 1]]
    grown_up["policy"] = _scaled(document["policy"], "budget", copies)
    grown_up["title"] = f"{document['title']}, {copies} times"
    return write_toml(grown_up)


def _copy(entry: dict[str, Any], section: str, copy: int, place: int) -> dict[str, Any]:
    if copy == 0:
        return entry
    changed = dict(entry)
    changed |= {key: f"{entry[key]}-{copy + 1}" for key in ("name", "site") if key in entry}
    if section == "sites":
        changed["grid"] = MORE_GRIDS[((copy - 1) * 3 + place) % len(MORE_GRIDS)]
        changed = _scaled(changed, "electricity_price", 1.0 + PRICE_STEP * copy)
    for key in ("tokens", "gpu_time", "peak_rate"):
        changed = _scaled(changed, key, 1.0 - WORK_STEP * copy)
    return changed


def _scaled(entry: dict[str, Any], key: str, factor: float) -> dict[str, Any]:
    """The entry with one of its quantities so many times as large, where it states it."""
    return {**entry, key: _times(entry[key], factor)} if key in entry else entry


def _times(stated: Any, factor: float) -> Any:
    """A number, a quantity with its unit (`"30 /s"`), or one of them for each period."""
    if isinstance(stated, list):
        return [_times(each, factor) for each in stated]
    if isinstance(stated, str):
        number, _, unit = stated.partition(" ")
        return f"{float(number) * factor:.6g} {unit}"
    return type(stated)(stated * factor)
