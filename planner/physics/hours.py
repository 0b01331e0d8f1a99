"""One hour of a node of one's own: what having, feeding and making it takes, for every short question."""

from __future__ import annotations

from collections.abc import Callable

from carbon.attribution import calendar_share_kgco2e, lifetime_h
from carbon.embodied import server_kgco2e
from carbon.operational import operational_kgco2e
from carbon.pue import facility_energy_kwh
from planner.inputs.catalogue import Sku
from planner.inputs.resolved import HOURS_PER_YEAR
from planner.physics.equations.money import capital_charge_usd, energy_usd, maintenance_usd, space_usd
from planner.trace.quantities import Fact, Traced, chosen, derive


def one_hour() -> Traced:
    """The hour that prices and carbon of a node are stated for."""
    return chosen("hours_h", 1.0, "one hour")


def had_usd(
    fact: Callable[[str], Fact],
    server: str,
    price: Traced,
    discount: Traced,
    life: Traced,
    space_price: Traced | None = None,
) -> Traced:
    """Money for having one node for one hour, energy apart; `server` begins the names of its facts.

    Its space at the price of its site, or at the usual one where none is given.
    """
    hour, year = one_hour(), chosen("year_h", HOURS_PER_YEAR, "365.25 days")
    capital = derive(
        capital_charge_usd,
        price_usd=price,
        discount_fraction=discount,
        life_y=life,
        residual_fraction=fact("finance.residual_value"),
        hours_h=hour,
        year_h=year,
    )
    upkeep = derive(
        maintenance_usd,
        price_usd=price,
        maintenance_fraction=fact("finance.maintenance"),
        hours_h=hour,
        year_h=year,
    )
    space = derive(
        space_usd,
        provisioned_kw=fact(f"{server}.max_power"),
        space_usd_per_kw_h=space_price or fact("finance.space"),
        hours_h=hour,
    )
    return (capital + upkeep + space).named(
        "owned_usd", "Money for having a bought node in service, energy apart"
    )


def made_kgco2e(fact: Callable[[str], Fact], sku: Sku, life: Traced) -> Traced:
    """Share of the making of one node that one hour of its life is charged."""
    made = derive(
        server_kgco2e,
        "embodied=server",
        accelerators=fact(f"server.{sku.server}.accelerators"),
        accelerator_kgco2e=fact(f"accelerator.{sku.accelerator}.embodied"),
        host_kgco2e=fact(f"server.{sku.server}.embodied"),
    )
    hours = derive(lifetime_h, lifetime_y=life)
    return derive(calendar_share_kgco2e, embodied_kgco2e=made, used_h=one_hour(), lifetime_h=hours)


def fed(power_kw: Traced, pue: Traced, electricity: Traced, grid: Traced) -> tuple[Traced, Traced]:
    """Money and carbon of an hour's draw, the building's part in it."""
    drawn = (power_kw * one_hour()).named("drawn_kwh")
    energy = derive(facility_energy_kwh, it_energy_kwh=drawn, pue=pue)
    return (
        derive(energy_usd, facility_energy_kwh=energy, electricity_usd_per_kwh=electricity),
        derive(operational_kgco2e, facility_energy_kwh=energy, grid_kgco2e_per_kwh=grid),
    )


def electricity_of(fact: Callable[[str], Fact], has: Callable[[str], bool], grid: str) -> Fact:
    """Price of a kilowatt-hour in a grid region: its own where it is known, else the default."""
    own = f"electricity.{grid}.price"
    return fact(own if has(own) else "electricity.default_price")
