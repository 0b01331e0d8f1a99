"""What a node costs, emits and breaks: by node group (one SKU at one site) and period."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carbon.attribution import calendar_share_kgco2e, lifetime_h
from carbon.embodied import server_kgco2e
from carbon.operational import operational_kgco2e
from carbon.pue import facility_energy_kwh
from planner.inputs.catalogue import Sku
from planner.inputs.resolved import Inputs
from planner.performance.power import host_at_load_kw, node_power_kw
from planner.physics.equations.money import energy_usd, maintenance_usd
from planner.physics.equations.ownership import (
    powered_racks_per_node,
    replacement_kgco2e,
)
from planner.physics.failures import failure_rate_by_node_group, stops_by_node_group
from planner.trace.quantities import Fact, Traced, chosen, derive, pick, rows

POWER_CURVE = {
    "idle_share_factor": "c0",
    "memory_factor": "c1",
    "compute_factor": "c2",
    "compute_root_factor": "c3",
}
# Making images and films: straight up to what is held.
GENERATION_CURVE = {name: key for name, key in POWER_CURVE.items() if name != "compute_root_factor"}
TURN = "performance.power.turn_exponent"


@dataclass(frozen=True)
class Nodes:
    """Columns by node group (P) or by node group and period (P, T)."""

    accelerators: Traced
    price_usd: Traced
    owned_kgco2e: Traced
    kept_usd: Traced  # energy, capital and what the site charges apart
    kept_kgco2e: Traced
    sunk_kgco2e: Traced
    made_kgco2e: Traced  # the whole making of a node; (P, 1)
    idle_node_kw: Traced
    idle_facility_kw: Traced
    idle_kwh: Traced  # through a period; of nodes by the hour, what is paid and not filled idles
    idle_usd: Traced
    idle_kgco2e: Traced
    failure_rate_per_node_h: Traced  # spot nodes that are taken back count as failing
    racks: Traced


def node_columns(inputs: Inputs) -> Nodes:
    """Every coefficient of owning, keeping and idling nodes."""
    sku, site = inputs.node_group_sku, inputs.node_group_site
    tall = np.arange(len(sku))[:, None]

    def by_node_group(items: Any) -> Traced:
        return pick(items, sku[:, None])

    policy = inputs.scenario.policy
    hours = inputs.period_h
    accelerators = by_node_group(inputs.server("accelerators"))

    embodied_each = [
        derive(
            server_kgco2e,
            "embodied=server",
            accelerators=count,
            accelerator_kgco2e=board,
            host_kgco2e=host,
        )
        for count, board, host in zip(
            inputs.server("accelerators"),
            inputs.accelerator("embodied"),
            inputs.server("embodied"),
            strict=True,
        )
    ]
    embodied = by_node_group(embodied_each)
    life_y = inputs.yours("policy.node_life", policy.node_life_y, "y")
    share = derive(
        calendar_share_kgco2e,
        embodied_kgco2e=embodied,
        used_h=hours,
        lifetime_h=derive(lifetime_h, lifetime_y=life_y),
    )
    rate = failure_rate_by_node_group(inputs)
    replaced = derive(
        replacement_kgco2e,
        failure_rate_per_node_h=rows(rate, tall),
        hours_h=hours,
        replacement_fraction=inputs.fact("reliability.replacement_fraction"),
        server_kgco2e=embodied,
        accelerators=accelerators,
    )

    price = pick(
        [inputs.node_price(k, t) for k in range(len(inputs.skus)) for t in range(inputs.periods)],
        sku[:, None] * inputs.periods + np.arange(inputs.periods),
    )
    year = inputs.year_h
    maintenance = derive(
        maintenance_usd,
        price_usd=price,
        hours_h=hours,
        year_h=year,
        maintenance_fraction=inputs.fact("finance.maintenance"),
    )
    pue = pick(inputs.pue, site[:, None])

    idle_node = by_node_group(idle_node_items(inputs))
    idle_kw = (idle_node * pue).named("facility_power_kw")
    idle_kwh = (idle_kw * hours).named("drawn_kwh")
    idle_usd, idle_kgco2e = bill_by_site(inputs, idle_kwh, site)
    return Nodes(
        accelerators=accelerators,
        price_usd=price,
        owned_kgco2e=(share + replaced).named(
            "owned_kgco2e", "Carbon for having a bought node in service, energy apart"
        ),
        kept_usd=maintenance,
        kept_kgco2e=replaced,
        sunk_kgco2e=share,
        made_kgco2e=embodied,
        idle_node_kw=idle_node,
        idle_facility_kw=idle_kw,
        idle_kwh=idle_kwh,
        idle_usd=idle_usd,
        idle_kgco2e=idle_kgco2e,
        failure_rate_per_node_h=stops_by_node_group(inputs, rate),
        racks=_racks(inputs),
    )


def _racks(inputs: Inputs) -> Traced:
    """Share of a rack that a node of each group fills: by its units, and by the power of the site's racks."""
    found = (
        pick(inputs.in_place("rack_units"), inputs.node_group_sku) / inputs.fact("rack.usable_units")
    ).named("racks_per_node", "Share of a rack that a node fills, by its units")
    limits = {s: site.rack_power_kw for s, site in enumerate(inputs.sites) if site.rack_power_kw is not None}
    if not limits:
        return found
    each: list[Traced] = [found[p] for p in range(len(inputs.node_groups))]
    for p, (k, s) in enumerate(inputs.node_groups):
        if s in limits and not inputs.on_shelf[p]:
            each[p] = derive(
                powered_racks_per_node,
                racks=each[p],
                node_kw=inputs.in_place("max_power")[k],
                rack_kw=inputs.yours(f"sites.{inputs.sites[s].name}.rack_power", limits[s], "kW"),
            )
    return pick(each, np.arange(len(each)))


def idle_node_items(inputs: Inputs) -> tuple[Traced, ...]:
    """Power of an idle node of each SKU; of one on the shelf there is none."""
    none = chosen("idle_node_kw", 0.0, "it lies on the shelf", "kW")
    return tuple(
        none if sku.spare_of else derive(node_power_kw, host_kw=host, accelerators=count, accelerator_kw=idle)
        for sku, host, count, idle in zip(
            inputs.skus,
            inputs.server("host_idle_power"),
            inputs.server("accelerators"),
            inputs.accelerator("idle_power"),
            strict=True,
        )
    )


def host_facts(fact: Callable[[str], Fact], sku: Sku, cooling: str = "") -> dict[str, Fact]:
    """What the host of a SKU draws at the two ends of its load, and the accelerators there.

    Cooled as the SKU is sold where nothing else is stated.
    """
    server, accelerator = f"server.{sku.server}", f"accelerator.{sku.accelerator}"
    cooled = f"@{cooling}" if cooling and cooling != sku.cooling else ""
    return {
        "host_idle_kw": fact(f"{server}.host_idle_power{cooled}"),
        "host_kw": fact(f"{server}.host_power{cooled}"),
        "idle_kw": fact(f"{accelerator}.idle_power"),
        "tdp_kw": fact(f"{accelerator}.tdp"),
    }


def host_columns(inputs: Inputs, sku: NDArray[np.intp]) -> dict[str, Traced]:
    """The same for a column of SKUs."""
    each = [host_facts(inputs.fact, one) for one in inputs.skus]
    return {name: inputs.of_sku([facts[name] for facts in each], sku) for name in each[0]}


def working_node_kw(host: Mapping[str, Traced], accelerators: Traced, accelerator_kw: Traced) -> Traced:
    """Power of a node whose accelerators draw so much each: every answer takes it from here."""
    drawn = derive(host_at_load_kw, accelerator_kw=accelerator_kw, **host)
    return derive(node_power_kw, host_kw=drawn, accelerators=accelerators, accelerator_kw=accelerator_kw)


def power_curve(inputs: Inputs, sku: NDArray[np.intp]) -> dict[str, Traced]:
    """Coefficients of the power law for a column of SKUs: that of the generation that stands nearest."""
    return {
        parameter: pick(
            [inputs.fact(f"performance.power.{one.power_curve}.{name}") for one in inputs.skus], sku
        )
        for parameter, name in POWER_CURVE.items()
    }


def generation_curve(inputs: Inputs, sku: NDArray[np.intp], what: str) -> dict[str, Traced]:
    """The same of making images or films (`what` "image" or "video"), with what was never passed."""
    laws = [f"performance.power.{one.power_curve}" for one in inputs.skus]
    found: dict[str, Traced] = {
        parameter: pick([inputs.fact(f"{law}-image.{name}") for law in laws], sku)
        for parameter, name in GENERATION_CURVE.items()
    }
    return found | {
        "sustained_fraction": pick([inputs.fact(f"{law}.{what}") for law in laws], sku),
        "turn_exponent": pick([inputs.fact(TURN)], np.zeros_like(sku)),
    }


def energy_by_site(inputs: Inputs, it_kwh: Traced, site: NDArray[np.intp]) -> tuple[Traced, Traced, Traced]:
    """Facility energy, its bill and its carbon, for IT energy by row and period at each row's site."""
    facility = derive(facility_energy_kwh, it_energy_kwh=it_kwh, pue=pick(inputs.pue, site[:, None]))
    return facility, *bill_by_site(inputs, facility, site)


def bill_by_site(inputs: Inputs, kwh: Traced, site: NDArray[np.intp]) -> tuple[Traced, Traced]:
    """Bill and carbon of facility energy by row and period, at the means of the period at each row's site."""
    electricity, grid = (inputs.site_by_period(each, site) for each in (inputs.electricity, inputs.grid))
    return (
        derive(energy_usd, facility_energy_kwh=kwh, electricity_usd_per_kwh=electricity),
        derive(operational_kgco2e, facility_energy_kwh=kwh, grid_kgco2e_per_kwh=grid),
    )


@dataclass(frozen=True)
class Parked:
    """A node that is off through a period, by node group (and period)."""

    facility_kw: Traced
    kwh: Traced
    usd: Traced
    kgco2e: Traced


def parked_nodes(inputs: Inputs) -> Parked | None:
    """Off in every node group; None where nodes are never switched off."""
    if not inputs.scenario.policy.park_idle:
        return None
    site = inputs.node_group_site
    power = (inputs.fact("performance.power.off") * pick(inputs.pue, site[:, None])).named(
        "facility_power_kw"
    )
    energy = (power * inputs.period_h).named("drawn_kwh")
    return Parked(power, energy, *bill_by_site(inputs, energy, site))
