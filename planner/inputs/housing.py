"""Which nodes a site can house: by the cooling and the power of its racks."""

from __future__ import annotations

import math
from collections.abc import Callable

from planner.inputs.catalogue import Sku
from planner.inputs.scenario.schema_places import Site
from planner.trace.numbers import number_text
from planner.trace.quantities import Fact

CLOSE = 1 + 1e-6  # the power of a rack's trays adds up to that of the rack but for rounding


def not_housed(site: Site, sku: Sku, fact: Callable[[str], Fact]) -> str | None:
    """Why a site cannot house a SKU, in the words of its keys; nothing where it can, or says nothing."""
    if site.cooling == "air" and sku.cooling != "air":
        return f"{sku.name} is cooled by {sku.cooling}, and the racks of {site.name} by air (cooling)"
    if site.rack_power_kw is None:
        return None
    trays = _trays_of_a_rack(sku, fact)
    needed = rack_need_kw(sku, fact)
    if needed <= site.rack_power_kw * CLOSE:
        return None
    what = "a node" if trays == 1 else "a rack"
    return (
        f"{what} of {sku.name} takes up to {number_text(needed)} kW, and a rack of {site.name} has "
        f"{number_text(site.rack_power_kw)} kW (rack_power)"
    )


def rack_need_kw(sku: Sku, fact: Callable[[str], Fact]) -> float:
    """Power that a rack needs for a node of a SKU, for all its trays where it is sold as whole racks."""
    return float(fact(f"server.{sku.server}.max_power").value) * _trays_of_a_rack(sku, fact)


def _trays_of_a_rack(sku: Sku, fact: Callable[[str], Fact]) -> int:
    """Nodes that are sold as whole racks, of which no part stands elsewhere: those of one rack; else 1."""
    if sku.resale != "rack":
        return 1
    units = float(fact(f"server.{sku.server}.rack_units").value) * sku.buying_unit
    racks = max(round(units / float(fact("rack.usable_units").value)), 1)
    return math.ceil(sku.buying_unit / racks)
