"""Places whose carbon is counted in different ways: each takes the factor of its country."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.inputs.catalogue import Catalogue

# Grid factors of countries: what places of several families are brought to, so that one plan can add them up.
_COUNTRIES = "average/life-cycle/production"


def take_one_signal(found: Mapping[str, Any], catalogue: Catalogue) -> list[str]:
    """Where regions of several families meet, each takes the factor of its country: like is added to like.

    The entries of `found` are changed. A price of electricity that hung on the region stays.
    """
    placed = [
        (table, entry, catalogue.regions[entry["region"]])
        for table in ("sites", "rental")
        for entry in found.get(table, ())
        if entry.get("region") in catalogue.regions and "grid_intensity" not in entry
    ]
    grids = [str(entry["grid"]) for entry in found.get("sites", ()) if "grid" in entry]
    grids += [region.grid for _, entry, region in placed if "grid" not in entry]
    signals = {name: _signal(name, catalogue) for name in grids}
    if len(set(signals.values()) - {""}) < 2:
        return []
    notes = []
    for table, entry, region in placed:
        country = region.country.lower()
        if "grid" in entry or signals[region.grid] == _COUNTRIES or _signal(country, catalogue) != _COUNTRIES:
            continue
        entry["grid"] = country
        price = catalogue.facts.get(f"electricity.{region.grid}.price")
        if table == "sites" and price is not None:
            entry.setdefault("electricity_price", price.stated)
        notes.append(
            f"{table}.{entry.get('name', entry['region'])}: the factor of its country, {country}, is taken: "
            f"that of {region.grid} is {signals[region.grid]}, and other places are {_COUNTRIES}"
        )
    return notes


def _signal(grid: str, catalogue: Catalogue) -> str:
    key = f"grid.{grid}.intensity"
    return catalogue.fact(key).boundary.get("grid", "") if catalogue.has(key) else ""
