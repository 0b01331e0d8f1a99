"""What stands around the nodes of a fleet: network, storage, building, end of life; and the water of it all.

The functions are those by which a job counts the same, so that a plan and a job of the same work agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from carbon.attribution import calendar_share_kgco2e, lifetime_h
from carbon.embodied import (
    building_share_kgco2e,
    capacity_kgco2e,
    end_of_life_kgco2e,
    network_kgco2e,
)
from carbon.operational import operational_kgco2e
from carbon.pue import facility_energy_kwh
from carbon.water import offsite_water_l, onsite_water_l
from planner.inputs.resolved import Inputs
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, pick


def stored_kwh(*, stored_gb: Column, copies: Column, power_kw_per_gb: Column, duration_h: Column) -> Column:
    """IT energy of keeping data.

    E = r * S * p * t

    Drives alone; what carries them is left out.

    Source: form of Cloud Carbon Footprint (watt-hours of a terabyte-hour, replication factor).
    """
    return np.multiply(stored_gb, copies) * power_kw_per_gb * duration_h


def held_copies(*, copies: Column, reads_ratio: Column, hit_fraction: Column) -> Column:
    """How often data has to lie on drives, for its copies and for the operations that they give.

    n = max(n_copies, ratio (1 - hits))

    Source: drives by operations, `planner.performance.ingestion.drives_for_reads`; a fast tier spares them.
    """
    return np.maximum(copies, np.multiply(reads_ratio, np.subtract(1.0, hit_fraction)))


def fabric_kwh(*, it_kwh: Column, power_fraction: Column) -> Column:
    """IT energy of the network, as a share of what the nodes draw.

    E_net = f * E_IT

    Source: MLPerf power submissions, fabric next to nodes.
    """
    return np.multiply(it_kwh, power_fraction)


def fabric_kgco2e(*, operational_kgco2e: Column, power_fraction: Column) -> Column:
    """Carbon of the network's electricity, as a share of that of the nodes in the same hours.

    C_net = f * C_op

    Source: as `fabric_kwh`.
    """
    return np.multiply(operational_kgco2e, power_fraction)


def lines_kgco2e(**lines: float) -> float:
    """Carbon of some lines of the ledger together.

    C = sum_l C_l

    Source: GHG Protocol, "Corporate Value Chain (Scope 3) Standard", 2011.
    """
    return sum(lines.values())


@dataclass(frozen=True)
class Share:
    """Electricity and making of something around the nodes of a site, over the horizon; scalars."""

    it_kwh: Traced
    facility_kwh: Traced
    operational: Traced
    made: Traced


@dataclass(frozen=True)
class NodeShares:
    """A node of each SKU for some hours: its share of the building and of being taken apart; scalars."""

    building: Traced
    end_of_life: Traced


def network_share(
    inputs: Inputs, *, it_kwh: Traced, operational: Traced, server: Traced, pue: Traced
) -> Share:
    """The network of nodes that drew, emitted and took so much to make."""
    power, made = inputs.fact("network.fabric.power"), inputs.fact("network.fabric.embodied")
    fabric = derive(fabric_kwh, it_kwh=it_kwh, power_fraction=power)
    return Share(
        fabric,
        derive(facility_energy_kwh, it_energy_kwh=fabric, pue=pue),
        derive(fabric_kgco2e, operational_kgco2e=operational, power_fraction=power),
        derive(network_kgco2e, "embodied=network", server_kgco2e=server, network_fraction=made),
    )


def node_shares(inputs: Inputs, sku: int, node_h: Traced, spread_h: Traced) -> NodeShares:
    """Building and end of life of nodes of one SKU that stand at a site for so many node-hours.

    `spread_h` are those within the life of a node: what it takes to treat is spread over that life alone.
    """
    one, catalogue = inputs.skus[sku], inputs.catalogue
    weighed = f"server.{one.server}.mass"
    mass = inputs.fact(weighed if catalogue.has(weighed) else "job.node_mass")
    years = inputs.yours("policy.node_life", inputs.scenario.policy.node_life_y, "y")
    treated = derive(
        end_of_life_kgco2e,
        "embodied=end-of-life",
        mass_kg=mass,
        end_of_life_kgco2e_per_kg=inputs.fact("end_of_life.intensity"),
    )
    return NodeShares(
        derive(
            building_share_kgco2e,
            provisioned_kw=inputs.server("max_power")[sku],
            building_kgco2e_per_kw=inputs.fact("embodied.building"),
            used_h=node_h,
            building_lifetime_h=derive(lifetime_h, lifetime_y=inputs.fact("embodied.building_life")),
        ),
        derive(
            calendar_share_kgco2e,
            embodied_kgco2e=treated,
            used_h=spread_h,
            lifetime_h=derive(lifetime_h, lifetime_y=years),
        ),
    )


def storage_share(inputs: Inputs, site: int) -> Share | None:
    """Drives of a site through the horizon; None where it states no storage."""
    place = inputs.scenario.sites[site]
    if place.storage_gb is None:
        return None
    medium, path = f"storage.{place.storage_medium or 'hdd'}", f"sites.{place.name}"
    stored = inputs.yours(f"{path}.storage", place.storage_gb, "GB")
    copies: Traced = inputs.fact("job.storage_copies")
    if place.storage_reads_ratio is not None:
        reads = inputs.yours(f"{path}.storage_reads_ratio", place.storage_reads_ratio, "1")
        none = chosen("hit_fraction", 0.0, "there is no fast tier")
        copies = derive(held_copies, copies=copies, reads_ratio=reads, hit_fraction=none)
    hours = chosen("duration_h", float(np.sum(inputs.scenario.horizon.hours)), "the whole horizon")
    it = derive(
        stored_kwh,
        stored_gb=stored,
        copies=copies,
        power_kw_per_gb=inputs.fact(f"{medium}.power"),
        duration_h=hours,
    )
    facility = derive(facility_energy_kwh, it_energy_kwh=it, pue=inputs.pue[site])
    by_period = inputs.period_h.value[0] / np.sum(inputs.period_h.value)
    grid = pick(inputs.grid, site * inputs.periods + np.arange(inputs.periods))
    spread = chosen("period_fraction", by_period, "hours of each period over those of the horizon")
    emitted = derive(
        operational_kgco2e,
        facility_energy_kwh=(facility * spread).named("facility_kwh"),
        grid_kgco2e_per_kwh=grid,
    )
    drives = derive(
        capacity_kgco2e,
        capacity_gb=(stored * copies).named("copied_gb", "Capacity that copies of data take"),
        capacity_kgco2e_per_gb=inputs.fact(f"{medium}.embodied"),
    )
    years = inputs.yours("policy.node_life", inputs.scenario.policy.node_life_y, "y")
    made = derive(
        calendar_share_kgco2e,
        embodied_kgco2e=drives,
        used_h=hours,
        lifetime_h=derive(lifetime_h, lifetime_y=years),
    )
    return Share(it, facility, derive(summed_kgco2e, each_kgco2e=emitted), made)


def summed_kgco2e(*, each_kgco2e: Column) -> float:
    """Carbon of all periods together.

    C = sum_t C_t

    Source: sum of parts.
    """
    return float(np.sum(each_kgco2e))


def water_of(inputs: Inputs, site: int, *, it_kwh: Traced, facility_kwh: Traced) -> tuple[Traced, Traced]:
    """Water that a site's cooling evaporates, and that power stations take for its electricity."""
    place, catalogue = inputs.scenario.sites[site], inputs.catalogue
    region = catalogue.regions.get(place.region or "")
    onsite: Traced
    if place.wue_l_per_kwh is not None:
        onsite = inputs.yours(f"sites.{place.name}.wue", place.wue_l_per_kwh, "L/kWh")
    else:
        onsite = inputs.fact((region.wue_key if region is not None else "") or "wue.default")
    offsite = inputs.fact(catalogue.water_key(place.grid))
    return (
        derive(onsite_water_l, it_energy_kwh=it_kwh, onsite_l_per_kwh=onsite),
        derive(offsite_water_l, facility_energy_kwh=facility_kwh, offsite_l_per_kwh=offsite),
    )
