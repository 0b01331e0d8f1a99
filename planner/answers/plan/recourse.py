"""Ways out of a bad case: moving work, renting, keeping, ordering, leaving demand out; what each takes.

Each way may place work anew on the nodes that are there, and has one means besides, or one with nodes by the
hour for the rest. Money and carbon are those of the operation then, less those of the operation at the stated
facts; what is rented for a year or ordered is had from the first period that is short, in whole nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.physics.procurement import catalogue_usd_per_h
from planner.program.operation import NONE, Desk, Means, More, Operation, Prices, World, operate
from planner.program.plan import Plan
from planner.program.solution import Solution, bought_usd, installed_usd, racks_in_use, totals_by
from planner.trace.columns import difference
from planner.trace.numbers import count_text, percent_text

Delayed = NDArray[np.bool_]  # by node group: whether its orders come a period later

MORE_HOURS = "rent more hours of the nodes that the plan rents"
MOVE = "move work to free nodes"
KEEP = "keep {nodes} of {name} that the plan sells"
YEAR = "1 year"


@dataclass(frozen=True)
class Way:
    """One way out: in words, the nodes that it adds at once, and what it takes."""

    text: str
    nodes: float
    usd: float
    kgco2e: float


@dataclass(frozen=True)
class Recourse:
    """The operation as stated, to which each way out is compared."""

    plan: Plan
    solution: Solution
    at: Desk
    prices: Prices
    stated: Operation

    @classmethod
    def of(cls, plan: Plan, solution: Solution, at: Desk) -> Recourse:
        """The operation of a plan as it was made for."""
        prices = at.prices()
        stated = operate(at, at.stated(), Means(rent=True, drop=True), prices)
        assert stated is not None, "with nodes to rent there is always an operation"
        return cls(plan, solution, at, prices, stated)

    def moved(self, world: World) -> Way | None:
        """Work placed anew on the nodes of the plan; None where they are not enough."""
        found = self._operated(self._own(world), Means())
        return None if found is None else self._way(self._moved_text(found), 0.0, found)

    def by_the_hour(self, world: World) -> Way | None:
        """More hours of the offers that the plan rents by the hour, and more of their nodes at once."""
        found = self._operated(world, Means())
        if found is None:
            return None
        nodes = self._hourly_nodes(found)
        dearer = found.usd > self.stated.usd + NONE * abs(self.stated.usd)
        text = f"rent up to {_nodes(nodes)} by the hour" if nodes > NONE else MORE_HOURS if dearer else ""
        return self._way(text, nodes, found)

    def ways(self, world: World, first: int, late: Delayed | None = None) -> list[Way]:
        """Every way out of a world that is short from a period on, the cheapest first.

        Of node groups whose deliveries come a period late, an order has to be placed a period sooner as well.
        """
        found = [self.moved(world), self._by_the_hour(world), self._dropped(world)]
        own = self._own(world)
        for offers, text in self._offers(first, late):
            found += [self._more(own, offers, text), self._more(world, offers, text, rent=True)]
        kept = self._kept()
        found += [self._more(own, kept, KEEP), self._more(world, kept, KEEP, rent=True)] if kept else []
        return sorted((way for way in found if way is not None), key=lambda way: way.usd)

    def _own(self, world: World) -> World:
        """The world with no more of the offers by the hour than the plan takes."""
        groups = len(world.there)
        hired, at = self.at.hired, self.at
        serves, works = at.problem.serve_options, at.problem.work_options
        used = totals_by(serves.node_group, groups, self.stated.serving)
        used += totals_by(works.node_group[at.work], groups, self.stated.working[at.work] * at.held)
        there, at_once = world.there.copy(), world.at_once.copy()
        planned = used[hired] * (1.0 + 1e-9)
        there[hired], at_once[hired] = (np.minimum(each[hired], planned) for each in (there, at_once))
        return replace(world, there=there, at_once=at_once)

    def _operated(self, world: World, means: Means) -> Operation | None:
        return operate(self.at, world, means, self.prices)

    def _way(self, text: str, nodes: float, found: Operation) -> Way:
        stated = self.stated
        usd, kgco2e = difference(found.usd, stated.usd), difference(found.kgco2e, stated.kgco2e)
        return Way(text, nodes, float(usd), float(kgco2e))

    def _moved_text(self, found: Operation) -> str:
        at, groups = self.at, len(self.at.there)
        serves, works = at.problem.serve_options, at.problem.work_options
        planned = serves.nodes[:, None] * self.solution.replicas
        more = totals_by(serves.node_group, groups, found.serving - planned)
        more += totals_by(
            works.node_group[at.work], groups, (found.working - self.solution.work_node_h)[at.work] * at.held
        )
        more[at.hired] = 0.0
        gained = [p for p in np.argsort(-more.max(axis=1)).tolist() if more[p].max() > 0.05][:2]
        names = " and ".join(at.problem.node_group_name(p) for p in gained)
        return f"{MOVE} of {names}" if names else MOVE

    def _by_the_hour(self, world: World) -> Way | None:
        found = self._operated(world, Means(rent=True))
        if found is None or _undone(found):
            return None
        nodes = self._hourly_nodes(found)
        return None if nodes < NONE else self._way(f"rent up to {_nodes(nodes)} by the hour", nodes, found)

    def _hourly_nodes(self, found: Operation) -> float:
        """The most nodes at once by the hour beyond those that the plan has of each offer."""
        beyond = self.at.hired_beyond(found, self.stated).sum(axis=0)
        return float((found.rented.sum(axis=0) + beyond).max())

    def _dropped(self, world: World) -> Way | None:
        problem = self.at.problem
        if not np.isfinite(problem.services.unmet_usd).any():
            return None
        found = self._operated(self._own(world), Means(drop=True))
        if found is None or not (found.unserved > NONE).any():
            return None
        i, t = np.unravel_index(int(found.unserved.argmax()), found.unserved.shape)
        name, label = problem.services.name[i], self.plan.inputs.scenario.horizon.period_labels[t]
        share = percent_text(float(found.unserved[i, t]), 0)
        return self._way(
            f"leave out up to {share} of {name} ({label}) at services.{name}.unmet_penalty", 0.0, found
        )

    def _more(self, world: World, offers: list[More], text: str, rent: bool = False) -> Way | None:
        """The cheapest of some offers, in whole units; None where they are not enough or none is needed."""
        found = self._operated(world, Means(rent=rent, more=offers))
        if found is None or _undone(found) or not (found.more > NONE).any():
            return None
        best, nodes, hourly = int(found.more.argmax()), float(found.more.sum()), self._hourly_nodes(found)
        if rent and hourly < NONE:
            return None  # they are enough without
        text += f", and rent up to {_nodes(hourly)} by the hour" if rent else ""
        names = {
            self.at.problem.node_group_name(one.node_group)
            for one, n in zip(offers, found.more.tolist(), strict=True)
            if n > NONE
        }
        first = self.at.problem.node_group_name(offers[best].node_group)
        others = " and others" if len(names) > 1 else ""
        name, sku = first + others, first.partition(" at ")[0] + others
        return self._way(text.format(nodes=_nodes(nodes), name=name, sku=sku), nodes + hourly * rent, found)

    def _offers(self, first: int, late: Delayed | None) -> Iterator[tuple[list[More], str]]:
        """Nodes to have from a period on: for a year at the catalogue's price, or bought in time."""
        inputs, problem, prices = self.plan.inputs, self.at.problem, self.prices
        labels, groups = inputs.scenario.horizon.period_labels, problem.node_groups
        year_h = float(inputs.year_h.value)
        rented: list[More] = []
        for p in np.flatnonzero(np.isfinite(prices.hourly["usd"]).all(axis=1)).tolist():
            k = int(groups.sku[p])
            price = (
                catalogue_usd_per_h(inputs, YEAR, inputs.skus[k].accelerator)
                * inputs.server("accelerators")[k]
            ).named("rented_node_usd_per_h", "Price of a node for an hour in use, its electricity included")
            making = float(prices.hourly["kgco2e"][p, first:].sum())
            rented.append(More(p, first, float(price.value) * year_h, making, np.inf, on_site=False))
        yield rented, "rent {nodes} of {sku} for a year from " + labels[first] + ", paid to its end"
        yield self._orders(first, late), "order {nodes} of {name} in time for " + labels[first]

    def _kept(self) -> list[More]:
        """Standing nodes that the plan parts with before the end of their life, from that day on."""
        problem, solution, found = self.at.problem, self.solution, list[More]()
        groups, cohorts = problem.node_groups, problem.cohorts
        space = problem.places.space_usd_per_kw[groups.site] * groups.space_kw[:, None]
        for h, t in np.argwhere(solution.retired > 0).tolist():
            if int(cohorts.must_retire_by[h]) < problem.periods:
                continue
            p = int(cohorts.node_group[h])
            held = cohorts.keep_usd_per_node[h, t:] + groups.idle_usd_per_node[p, t:] + space[p, t:]
            making = cohorts.keep_kgco2e_per_node[h, t:] + groups.idle_kgco2e_per_node[p, t:]
            spared = float(cohorts.retire_usd_per_node[h, t])
            found.append(
                More(
                    p,
                    t,
                    float(held.sum()) - spared,
                    float(making.sum()),
                    float(solution.retired[h, t]),
                    on_site=True,
                )
            )
        return found

    def _orders(self, first: int, late: Delayed | None) -> list[More]:
        """What of the market would be there in a period, within supply, budget and racks."""
        problem, solution, found = self.at.problem, self.solution, list[More]()
        groups, limits = problem.node_groups, problem.limits
        placed = solution.orders * groups.order_unit_nodes[:, None]
        supplied = totals_by(groups.sku, len(problem.sku_names), placed)
        paid = (placed * groups.capex_usd_per_node).sum(axis=0)
        paid += bought_usd(problem, solution) + installed_usd(problem, solution)
        stand = solution.in_service.max(axis=1) * groups.racks_per_node
        fed = racks_in_use(problem, solution.run, np.zeros_like(solution.in_service)).max(axis=1)
        racks = limits.racks - totals_by(groups.site, len(problem.site_names), stand) - fed
        space = problem.places.space_usd_per_kw[groups.site] * groups.space_kw[:, None]
        for p, lead in enumerate(groups.lead_periods.tolist()):
            t = first - lead - int(late is not None and late[p])
            if groups.off_site[p] or t < 0 or not groups.purchase_allowed[p, t]:
                continue
            most = [limits.supply_nodes[groups.sku[p], t] - supplied[groups.sku[p], t]]
            most.append((limits.budget_usd[t] - paid[t]) / max(groups.capex_usd_per_node[p, t], 1e-9))
            most.append(racks[groups.site[p]] / max(groups.racks_per_node[p], 1e-9))
            unit = int(groups.order_unit_nodes[p])
            units = min(most) // unit
            if units < 1:
                continue
            held = (
                groups.holding_usd_per_node[p, first:]
                + groups.idle_usd_per_node[p, first:]
                + space[p, first:]
            )
            making = groups.holding_kgco2e_per_node[p, first:] + groups.idle_kgco2e_per_node[p, first:]
            found.append(
                More(
                    p,
                    first,
                    float(groups.order_usd_per_node[p, t] + held.sum()),
                    float(making.sum()),
                    float(units * unit),
                    on_site=True,
                    whole=unit,
                )
            )
        return found


def _undone(found: Operation) -> bool:
    return bool((found.unserved > NONE).any() or (found.undone > NONE).any())


def _nodes(nodes: float) -> str:
    whole = math.ceil(nodes - NONE)
    return f"{count_text(whole)} node{'s' if whole != 1 else ''}"
