"""Scenario and catalogue, joined: every number that the coefficients ask for, as a traced node.

What the scenario states is a fact of kind `yours`; what it leaves open comes from the catalogue.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carbon.grid import market_kgco2e_per_kwh, projected_kgco2e_per_kwh
from planner.inputs.catalogue import SPARE, Catalogue, Sku
from planner.inputs.exchange import rate_fact, rates_in, shown_in, usd_text
from planner.inputs.housing import not_housed
from planner.inputs.loading import CatalogueError
from planner.inputs.scenario import Offer, Rental, Scenario, Site
from planner.inputs.scenario.own import pue_key
from planner.inputs.techniques import Ways
from planner.trace.currency import Currency, Stated
from planner.trace.quantities import Chosen, Fact, Source, Traced, chosen, derive, exchanged, pick
from planner.trace.units import canonical, parse_quantity

HOURS_PER_YEAR = 8766.0  # mean Julian year; a convention of time-keeping, not a fact about fleets


@dataclass(frozen=True)
class Inputs:
    """One scenario on one catalogue, with its SKUs and node groups in a fixed order.

    A node group is one SKU at one site: existing nodes, purchases and spares of it are interchangeable.
    Where there are `ways`, the scenario's services and runs stand once for each of them.
    """

    scenario: Scenario
    catalogue: Catalogue
    facts_used: dict[str, Fact] = field(default_factory=dict, repr=False, compare=False)
    ways: Ways = field(default_factory=Ways)
    placements: dict[tuple[str, str, int], Traced | None] = field(
        default_factory=dict, repr=False, compare=False
    )  # of tables, by work, SKU and accelerators that share them: `planner.program.placed_works`

    @cached_property
    def source(self) -> Source:
        """The scenario as the source of what it states."""
        path = self.scenario.path
        return Source("scenario", f"scenario '{self.scenario.title}'", link=path.name if path else "")

    @cached_property
    def skus(self) -> tuple[Sku, ...]:
        """SKUs that stand in the fleet or are on offer, and those that pools state their work in."""
        names = [c.sku for c in self.scenario.fleet] + [o.sku for o in self.scenario.market]
        names += [rental.sku for rental in self.scenario.rental]
        names += [pool.reference for pool in self.scenario.pools]
        names += [f"{o.sku}{SPARE}" for o in self.scenario.market if o.single_spares is not None]
        return tuple(self.catalogue.node(name) for name in dict.fromkeys(names))

    @cached_property
    def offers(self) -> dict[str, Offer]:
        """What can be bought, by SKU: the offers of the scenario, and the single spares of some of them."""
        found = {offer.sku: offer for offer in self.scenario.market}
        nothing = {"single_spares": None, "minimum_nodes": None, "tiers": ()}
        for whole in self.scenario.market:
            if whole.single_spares is not None:
                alone = {"sku": f"{whole.sku}{SPARE}", "order_nodes": 1, "supply_nodes": whole.single_spares}
                found[f"{whole.sku}{SPARE}"] = whole.model_copy(update=alone | nothing)
        return found

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """Sites of your own, then the locations of rented nodes."""
        return (*self.scenario.sites, *(_rented_site(one, self.periods) for one in self.scenario.rental))

    @cached_property
    def rented(self) -> NDArray[np.bool_]:
        """Which node groups are rented nodes."""
        return self.node_group_site >= len(self.scenario.sites)

    @cached_property
    def spot(self) -> NDArray[np.bool_]:
        """Which node groups are rented nodes that may be taken back."""
        return self._rented_as(("spot",))

    @cached_property
    def reserved(self) -> NDArray[np.bool_]:
        """Which node groups are nodes that are rented for a term, used or not."""
        return self._rented_as(("block", "1 year", "3 years"))

    def _rented_as(self, commitments: Sequence[str]) -> NDArray[np.bool_]:
        own = [False] * len(self.scenario.sites)
        ways = [*own, *(one.commitment in commitments for one in self.scenario.rental)]
        return np.array(ways, dtype=bool)[self.node_group_site]

    def rental_of(self, group: int) -> Rental:
        """The offer that a node group of rented nodes is of."""
        return self.scenario.rental[int(self.node_group_site[group]) - len(self.scenario.sites)]

    @cached_property
    def node_groups(self) -> tuple[tuple[int, int], ...]:
        """(SKU, site) pairs where nodes stand, may be bought, or may be rented."""
        sku_at = {sku.name: i for i, sku in enumerate(self.skus)}
        sites = [site.name for site in self.scenario.sites]
        pairs = [(sku_at[c.sku], sites.index(c.site)) for c in self.scenario.fleet]
        for offer in self.offers.values():
            housed = [site.name for site in self.scenario.sites if self.not_housed(site, offer.sku) is None]
            pairs += [(sku_at[offer.sku], sites.index(site)) for site in offer.sites or housed]
        for move in self.scenario.moves:
            carried = [c.sku for c in self.scenario.fleet if c.site == move.origin]
            pairs += [(sku_at[sku], sites.index(move.to)) for sku in carried if move.sku in (None, sku)]
        pairs += [(sku_at[one.sku], len(sites) + i) for i, one in enumerate(self.scenario.rental)]
        return tuple(dict.fromkeys(pairs))

    def not_housed(self, site: Site, sku: str) -> str | None:
        """Why a site cannot house a SKU, or what it is a spare of; nothing where it can."""
        whole = self.catalogue.node(sku).spare_of or sku
        return not_housed(site, self.catalogue.skus[whole], self.fact)

    @cached_property
    def node_group_sku(self) -> NDArray[np.intp]:
        """SKU of each node group."""
        return np.array([sku for sku, _ in self.node_groups], dtype=np.intp)

    @cached_property
    def node_group_site(self) -> NDArray[np.intp]:
        """Site of each node group."""
        return np.array([site for _, site in self.node_groups], dtype=np.intp)

    @cached_property
    def spares_for(self) -> NDArray[np.intp]:
        """Node group whose spares lie on the shelf as each node group; -1 for all that work."""
        at = {(self.skus[k].name, s): p for p, (k, s) in enumerate(self.node_groups)}
        pairs = [(self.skus[k].spare_of, s) for k, s in self.node_groups]
        return np.array([at.get(pair, -1) for pair in pairs], dtype=np.intp)

    @cached_property
    def on_shelf(self) -> NDArray[np.bool_]:
        """Which node groups are spares that lie on the shelf."""
        return np.array([bool(self.skus[k].spare_of) for k in self.node_group_sku], dtype=bool)

    @property
    def periods(self) -> int:
        """Number of periods."""
        return self.scenario.horizon.periods

    @cached_property
    def period_h(self) -> Chosen:
        """Hours of each period, one row."""
        return chosen("period_h", np.array([self.scenario.horizon.hours]), "calendar hours of the horizon")

    @cached_property
    def period_start_h(self) -> Chosen:
        """Start of each period from the horizon's start, one row."""
        ends = np.cumsum(self.scenario.horizon.hours)
        return chosen("period_start_h", np.array([[0.0, *ends[:-1]]]), "calendar of the horizon")

    @cached_property
    def period_end_h(self) -> Chosen:
        """End of each period from the horizon's start, one row."""
        return chosen(
            "period_end_h", np.cumsum(self.scenario.horizon.hours)[None, :], "calendar of the horizon"
        )

    @cached_property
    def year_h(self) -> Chosen:
        """Length of the mean year."""
        return chosen("year_h", HOURS_PER_YEAR, "365.25 days")

    def fact(self, key: str) -> Fact:
        """A catalogue fact, or the scenario's own value where `[facts]` overrides it; noted as used."""
        if key not in self.facts_used:
            self.facts_used[key] = (
                self._overruled(key) if key in self.scenario.facts else self.catalogue.fact(key)
            )
        return self.facts_used[key]

    def has(self, key: str) -> bool:
        """Whether there is such a fact; a scenario overrides facts and adds none."""
        return self.catalogue.has(key)

    @property
    def idle_facts(self) -> tuple[str, ...]:
        """Values of the scenario's own for facts that nothing has asked for so far."""
        return tuple(key for key in self.scenario.facts if key not in self.facts_used)

    def keep(self, fact: Fact) -> Fact:
        """A fact that comes from neither the catalogue nor the scenario itself, kept in `facts_used` too."""
        return self.facts_used.setdefault(fact.key, fact)

    def _overruled(self, key: str) -> Fact:
        shipped, text = self.catalogue.fact(key), self.scenario.facts[key]
        return Fact(
            parse_quantity(usd_text(text, self._rates), shipped.unit),
            shipped.unit,
            boundary=shipped.boundary,
            key=key,
            source=self.source,
            locator=f"[facts] {key}",
            kind="yours",
            stated=text,
        )

    @cached_property
    def _rates(self) -> dict[str, float]:
        return rates_in({"exchange": self.scenario.exchange, "facts": self.scenario.facts})

    @cached_property
    def currency(self) -> Currency:
        """The currency in which answers show money."""
        return shown_in(self.scenario, self.catalogue)

    def rate(self, code: str) -> Fact:
        """What one of a currency is in USD; noted as used."""
        fact = rate_fact(self.scenario, self.catalogue, code, self.source)
        return self.facts_used.setdefault(fact.key, fact)

    def money(self, path: str, value: float, unit: str) -> Traced:
        """Money that the scenario states; what it writes in another currency at the rate of that."""
        if not isinstance(value, Stated):
            return self.yours(path, value, unit)
        _, inside = canonical(float(value), unit)
        scale = canonical(1.0, unit)[0]
        own = inside.replace("USD", value.code)
        amount = Fact(
            value.amount * scale,
            own,
            key=f"scenario.{path}",
            source=self.source,
            locator=path,
            kind="yours",
            stated=f"{value.amount:g} {unit.replace('USD', value.code)}",
        )
        return exchanged(amount, self.rate(value.code), inside)

    def yours(self, path: str, value: float, unit: str) -> Fact:
        """A value that the scenario states, in its canonical unit, with its place in the file."""
        inside, inside_unit = canonical(value, unit)
        return Fact(
            inside,
            inside_unit,
            key=f"scenario.{path}",
            source=self.source,
            locator=path,
            kind="yours",
            stated=f"{value:g} {unit}",
        )

    def accelerator(self, name: str) -> tuple[Fact, ...]:
        """One accelerator fact for each SKU."""
        return tuple(self.fact(f"accelerator.{sku.accelerator}.{name}") for sku in self.skus)

    def server(self, name: str) -> tuple[Fact, ...]:
        """One server fact for each SKU."""
        return tuple(self.fact(f"server.{sku.server}.{name}") for sku in self.skus)

    def in_place(self, name: str) -> tuple[Traced, ...]:
        """The same, of nodes that stand in racks: what lies on the shelf takes and draws nothing."""
        each = zip(self.skus, self.server(name), strict=True)
        return tuple(
            chosen(name, 0.0, "it lies on the shelf", fact.unit) if sku.spare_of else fact
            for sku, fact in each
        )

    def of_sku(self, items: Sequence[Traced], sku: NDArray[np.intp]) -> Traced:
        """Column of an item for each SKU."""
        return pick(items, sku)

    @cached_property
    def pue(self) -> tuple[Fact, ...]:
        """PUE of each site."""
        return (
            *(self._pue(f"sites.{one.name}.pue", one) for one in self.scenario.sites),
            *(self._pue(f"rental.{one.name}.pue", one) for one in self.scenario.rental),
        )

    def _pue(self, path: str, place: Site | Rental) -> Fact:
        """PUE of a place: of its region, as it is stated, or that of providers."""
        if key := pue_key(place.region, place.pue, self.catalogue):
            return self.fact(key)
        return self.fact("rental.pue") if place.pue is None else self.yours(path, place.pue, "1")

    @cached_property
    def electricity(self) -> tuple[Traced, ...]:
        """Electricity price of each site and period, site by site; rented hours have it in their price."""
        found: list[Traced] = []
        for site in self.scenario.sites:
            if site.electricity_price_usd_per_kwh is None:
                regional = f"electricity.{site.grid}.price"
                known = self.catalogue.has(regional)
                found += [self.fact(regional if known else "electricity.default_price")] * self.periods
            else:
                found += self.by_period(
                    f"sites.{site.name}.electricity_price", site.electricity_price_usd_per_kwh, "USD/kWh"
                )
        paid = chosen("electricity_usd_per_kwh", 0.0, "in the price of the rented hour")
        return (*found, *(paid for _ in self.scenario.rental for _ in range(self.periods)))

    @cached_property
    def space_price(self) -> tuple[Traced, ...]:
        """Price of a rated kilowatt of space at each site and period, site by site; rented hours have it."""
        found: list[Traced] = []
        for site in self.scenario.sites:
            stated, path = site.space_price_usd_per_kw_month, f"sites.{site.name}.space_price"
            if site.space == "owned":
                owned = chosen("space_usd_per_kw_h", 0.0, "the building is owned: what it cost is sunk")
                found += [owned] * self.periods
            elif stated is None:
                found += [self.fact("finance.space")] * self.periods
            else:
                found += self.by_period(path, stated, "USD/kW/month")
        paid = chosen("space_usd_per_kw_h", 0.0, "in the price of the rented hour")
        return (*found, *(paid for _ in self.scenario.rental for _ in range(self.periods)))

    @cached_property
    def demand_charge(self) -> tuple[Traced, ...]:
        """Price of a kilowatt of the peak at each site and period, site by site."""
        found: list[Traced] = []
        none = chosen("price_usd_per_kw_h", 0.0, "no demand charge is stated, or it is in the rented hour")
        for site in self.sites:
            stated = site.demand_charge_usd_per_kw_month
            if stated is None:
                found += [none] * self.periods
            else:
                found += self.by_period(f"sites.{site.name}.demand_charge", stated, "USD/kW/month")
        return tuple(found)

    @cached_property
    def grid(self) -> tuple[Traced, ...]:
        """Carbon of electricity by the accounting of the policy, for each site and period, site by site."""
        if self.scenario.policy.accounting == "location":
            return self.location_grid
        return self._market_grid()

    @cached_property
    def location_grid(self) -> tuple[Traced, ...]:
        """Grid intensity of each site and period, site by site; a catalogue region declines year by year."""
        found: list[Traced] = []
        for i, site in enumerate(self.sites):
            if site.grid_kgco2e_per_kwh is not None:
                section = "sites" if i < len(self.scenario.sites) else "rental"
                found += self.by_period(
                    f"{section}.{site.name}.grid_intensity", site.grid_kgco2e_per_kwh, "kgCO2e/kWh"
                )
                continue
            region = self.fact(f"grid.{site.grid}.intensity")
            decline = self.fact("grid.decline")
            year = data_year(self.catalogue.fact(region.key))
            for start in self.scenario.horizon.period_starts:
                ahead = chosen(
                    "years_ahead_y",
                    float(max(0, start.year - year)),
                    f"from the data of {year} to {start.year}"
                    if start.year >= year
                    else f"no data of {start.year}: those of {year}, the earliest",
                )
                found.append(
                    derive(
                        projected_kgco2e_per_kwh,
                        grid_kgco2e_per_kwh=region,
                        decline_fraction_per_y=decline,
                        years_ahead_y=ahead,
                    )
                )
        return tuple(found)

    def _market_grid(self) -> tuple[Traced, ...]:
        """The factor of what no contract covers: the stated one, else the location's is used instead."""
        nothing = chosen("contracted_fraction", 0.0, "contracts are counted separately")
        own = chosen("contract_kgco2e_per_kwh", 0.0, "contracts are counted separately")
        found: list[Traced] = []
        for s, site in enumerate(self.sites):
            here: Sequence[Traced] = self.location_grid[s * self.periods : (s + 1) * self.periods]
            stated = site.market_kgco2e_per_kwh
            if stated is not None:
                here = self.by_period(f"sites.{site.name}.market_intensity", stated, "kgCO2e/kWh")
            found += [
                derive(
                    market_kgco2e_per_kwh,
                    "grid=market",
                    contracted_fraction=nothing,
                    contract_kgco2e_per_kwh=own,
                    residual_kgco2e_per_kwh=each,
                )
                for each in here
            ]
        return tuple(found)

    def site_by_period(self, items: Sequence[Traced], site: NDArray[np.intp]) -> Traced:
        """Matrix (rows, periods) of per-site-and-period items for a column of sites."""
        index = site[:, None] * self.periods + np.arange(self.periods)[None, :]
        return pick(items, index)

    def order_nodes(self, offer: Offer) -> int:
        """Nodes of one order: as the offer says, in racks or slices where the SKU is only sold so."""
        return math.lcm(offer.order_nodes, self.catalogue.node(offer.sku).buying_unit)

    def failure_rate(self) -> Fact:
        """Failures of one reference node an hour: of the log, the scenario's own, or of a published fleet."""
        policy, fit = self.scenario.reliability, self.scenario.fit
        if fit is not None:
            return self.keep(fit.failure_rate)
        if policy.failure_rate_per_node_h is not None:
            return self.yours("reliability.failure_rate", policy.failure_rate_per_node_h, "1/h")
        return self.fact(f"reliability.{policy.failures}.failure_rate")

    def reference_accelerators(self) -> Fact:
        """Accelerators of the node that the failure rate is stated for."""
        fleet, fit = self.scenario.reliability.failures, self.scenario.fit
        if fit is not None and fit.accelerators_per_node is not None:
            return self.keep(fit.accelerators_per_node)
        if fleet is None or not self.catalogue.has(f"reliability.{fleet}.accelerators_per_node"):
            return self.fact("reliability.reference_accelerators")
        return self.fact(f"reliability.{fleet}.accelerators_per_node")

    def discount_rate(self) -> Fact:
        """Yearly cost of capital."""
        return self.yours("policy.discount_rate", self.scenario.policy.discount_rate_fraction, "1")

    def node_price(self, sku: int, period: int) -> Traced:
        """Price of a node of a SKU in a period: the offer's, else the catalogue's."""
        one = self.skus[sku]
        offer = self.offers.get(one.name)
        if offer is None or offer.price_usd is None:
            return self.fact(f"server.{one.server}.price")
        return self.money(
            f"market.{one.spare_of or one.name}.price[{period}]", offer.price_usd[period], "USD"
        )

    def residual_value(self) -> Fact:
        """Share of its price that a node is worth after its life: as stated, else the catalogue's."""
        stated = self.scenario.policy.residual_value_fraction
        if stated is None:
            return self.fact("finance.residual_value")
        return self.yours("policy.residual_value", stated, "1")

    def repair(self) -> Fact:
        """Mean time until a failed node is back: as the scenario states it, else that of the log."""
        stated, fit = self.scenario.reliability.repair_h, self.scenario.fit
        if stated is None:
            assert fit is not None, "refused on reading"
            assert fit.repair is not None, "refused on reading"
            return self.keep(fit.repair)
        return self.yours("reliability.repair", stated, "h")

    def by_period(self, path: str, values: Sequence[float], unit: str) -> list[Traced]:
        """Values that the scenario states for each period, one fact where all are the same."""
        return [
            self.money(path if len(set(values)) == 1 else f"{path}[{t}]", value, unit)
            for t, value in enumerate(values)
        ]


def _rented_site(rental: Rental, periods: int) -> Site:
    """A provider's location as a site: no limit of ours on power or racks holds there."""
    limits: dict[str, Any] = {"power_cap_kw": (math.inf,) * periods, "racks": math.inf}
    where = rental.model_dump(include={"name", "grid", "grid_kgco2e_per_kwh", "pue"})
    return Site.model_construct(**where, **limits)


def data_year(grid: Fact) -> int:
    """Year that a grid factor describes: the first year that its note names.

    Raises:
        CatalogueError: the note names none.
    """
    found = re.search(r"\b(19|20)\d\d\b", grid.note)
    if found is None:
        raise CatalogueError(f"{grid.key}: its note has to name the year that it describes")
    return int(found[0])
