"""Which grid and node of the catalogue a metered file names."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from planner.inputs.catalogue import Catalogue
from planner.inputs.metering import MeteredEnergy


def named_by_meter(found: MeteredEnergy, catalogue: Catalogue) -> dict[str, str]:
    """Grid region and kind of node that a metered file itself names, where the catalogue has them.

    Of several countries or kinds of accelerators none is chosen.
    """
    named = {}
    for key, names, table in (("grid", found.countries, "country"), ("sku", found.models, "driver")):
        known = {_aliases(catalogue.folder)[table].get(name) for name in names}
        if len(known) == 1 and (one := known.pop()) is not None:
            named[key] = one
    return named


def sku_of_driver(model: str, catalogue: Catalogue) -> str | None:
    """The SKU whose accelerators a driver calls so; None where the catalogue has none."""
    found = _aliases(catalogue.folder)["driver"].get(model)
    return found if found in catalogue.skus else None


@cache
def _aliases(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "aliases.toml").open("rb") as file:
        return tomllib.load(file)
