"""What a million tokens, samples, images or requests cost and emit on nodes of one's own at the rate told."""

from __future__ import annotations

from collections.abc import Sequence

from planner.answers.throughput.equations import each_j, million_kgco2e, million_usd, yield_per_kwh
from planner.answers.throughput.setting import Row, Setting
from planner.physics.hours import electricity_of, fed, had_usd, made_kgco2e
from planner.trace.columns import Indices
from planner.trace.numbers import percent_text
from planner.trace.quantities import Traced, derive

GRID = "us"


def delivered(
    setting: Setting, sku: Indices, *, rate: Traced, nodes: Traced, node_kw: Traced
) -> dict[str, Traced]:
    """What whole nodes deliver for a kWh, and what a million of it takes."""
    return {
        "per_kwh": derive(yield_per_kwh, rate_per_s=rate, nodes=nodes, node_kw=node_kw),
        **per_million(setting, sku, rate=rate, nodes=nodes, node_kw=node_kw),
    }


def per_million(
    setting: Setting, sku: Indices, *, rate: Traced, nodes: Traced, node_kw: Traced
) -> dict[str, Traced]:
    """Energy of each, money and carbon of a million, on new nodes busy at this rate in every hour."""
    inputs, fact, has = setting.inputs, setting.fact, setting.catalogue.has
    grid = grid_of(setting)
    bill, burnt = fed(
        node_kw,
        fact("pue.default"),
        electricity_of(fact, has, grid),
        fact(f"grid.{grid}.intensity"),
    )
    discount, life, lasts = (
        fact(key) for key in ("finance.discount_rate", "finance.capex_life", "embodied.lifetime")
    )
    had = [
        had_usd(fact, f"server.{one.server}", fact(f"server.{one.server}.price"), discount, life)
        for one in inputs.skus
    ]
    made = [made_kgco2e(fact, one, lasts) for one in inputs.skus]
    energy = derive(yield_per_kwh, rate_per_s=rate, nodes=nodes, node_kw=node_kw)
    return {
        "each_j": derive(each_j, per_kwh=energy),
        "million_usd": derive(
            million_usd, nodes=nodes, had_usd=inputs.of_sku(had, sku), energy_usd=bill, rate_per_s=rate
        ),
        "million_kgco2e": derive(
            million_kgco2e,
            "embodied=server",
            nodes=nodes,
            made_kgco2e=inputs.of_sku(made, sku),
            energy_kgco2e=burnt,
            rate_per_s=rate,
        ),
    }


def grid_of(setting: Setting) -> str:
    """The grid region of the question."""
    return setting.question.grid or GRID


def costs_note(setting: Setting) -> str:
    """What the money and the carbon rest on."""
    fact = setting.fact
    life, rate, pue = (
        fact(key).value for key in ("finance.capex_life", "finance.discount_rate", "pue.default")
    )
    return (
        f"Money and carbon of a million are of nodes bought new at list price and kept {life:g} years at "
        f"{percent_text(rate, 0)}, with upkeep and space, busy at this rate in every hour; grid "
        f"{grid_of(setting)}, PUE {pue:g}. Idle hours, spares, staff and network come on top "
        "(`everfleet plan`)."
    )


def best_rows(rows: Sequence[Row]) -> list[int]:
    """For each SKU that works its size of least money for a million."""
    least: dict[object, int] = {}
    for place, row in enumerate(rows):
        if row["fits"]:
            best = least.get(row["sku"])
            if best is None or _usd(row) < _usd(rows[best]):
                least[row["sku"]] = place
    return list(least.values())


def _usd(row: Row) -> float:
    return float(str(row["million_usd"]))
