"""The whole ledger of a plan: what it minimises, and what stands around it, each line once, by scope.

Minimised is what decisions change: electricity of nodes, the making and repair of nodes that are bought or
rented, and carriage. Next to it stand lines that are sunk, or that grow with the nodes whatever is chosen:
standing nodes, network, storage, building, end of life. They are in no total that the program makes small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from carbon.ledger import Ledger
from carbon.lines import Line
from carbon.scopes import Category
from carbon.signals import GridSignal
from planner.answers.plan.ledger_parts import (
    NO_NODES,
    burnt_fraction,
    burnt_of,
    electricity_of,
    every_row,
    meter_by_site,
    nodes_by_site,
    part_of,
)
from planner.physics.inventory import capital_note
from planner.physics.surroundings import (
    lines_kgco2e,
    network_share,
    node_shares,
    storage_share,
    water_of,
)
from planner.physics.upstream import BOUNDARY, scope_note
from planner.program.plan import Plan
from planner.program.solution import Solution
from planner.trace.numbers import amount_text, mass, percent_text
from planner.trace.quantities import Traced, chosen, derive, total
from planner.trace.records import Record

WHOLE = "embodied=fleet"  # all of a plan together holds hardware of every kind
OWN_FIGURE = "average/direct/production"  # what a grid intensity without a signal is taken for
TOLERANCE = 1e-6
AROUND = ("standing nodes", "network", "storage", "building", "end of life")  # in names of lines
WHERE = {
    "moved": "carriage",
    "egress": "network",
    "transfers": "network",
    "battery": "building",
    "solar": "building",
}  # what a term is of, where not of servers
RENTED_NOTE = "what stands around rented nodes is the provider's, and left out"


class TotalsDisagree(RuntimeError):
    """The lines add up to something else than the plan: a fault of this program."""


@dataclass(frozen=True)
class Entry:
    """One line: where it belongs, what it holds, and whether the plan minimises it."""

    name: str
    scope: int
    boundary: str
    kgco2e: Traced
    minimised: bool
    category: Category | None = None
    location: Traced | None = None  # of electricity in a market-based plan

    @property
    def scope_text(self) -> str:
        """Scope, with the category of scope 3, in the words of a job; scope 2 by how it is counted."""
        if self.category is None:
            by = "market" if self.kgco2e.boundary.get("grid") == "market" else "location"
            return f"{self.scope}, {by}-based"
        return f"3.{int(self.category)}, {self.category.name.lower().replace('_', ' ')}"


@dataclass(frozen=True)
class WholeLedger:
    """Lines of carbon, and water by site: (site, on site, off site)."""

    entries: tuple[Entry, ...]
    water: tuple[tuple[str, Traced, Traced], ...]
    avoided: Traced | None = None  # by a second life, below zero: the plan weighs it, no line has it

    def of(self, name: str) -> Traced | None:
        """A line by name; None where the plan has none of it."""
        return next((one.kgco2e for one in self.entries if one.name == name), None)

    @property
    def whole(self) -> Traced:
        """All lines together."""
        return _together({one.name: one.kgco2e for one in self.entries}, "whole_kgco2e")


def whole_ledger(plan: Plan, solution: Solution) -> WholeLedger:
    """Every line of a plan, checked against what the program minimised.

    Raises:
        TotalsDisagree: the minimised lines add up to something else than the plan's carbon.
    """
    bought = part_of(plan, "bought", every_row(plan, "bought"), of=plan.assembled.nodes.sunk_kgco2e)
    server = [one for one in (bought, plan.ledger.sunk_carbon) if one is not None and one.value]
    made = (
        server[0]
        if len(server) == 1
        else total("making_kgco2e", {"new": server[0], "standing": server[1]})
        if server
        else None
    )
    site_kwh = nodes_by_site(plan)
    entries = [one for one in _minimised(plan, bought) if np.any(one.kgco2e.value)]
    around = [one for one in _around(plan, solution, made, site_kwh) if np.any(one.kgco2e.value)]
    avoided = plan.ledger.kgco2e_terms.get("reused_kgco2e")
    found = WholeLedger((*entries, *around), tuple(_water(plan, site_kwh)), avoided)
    _check(plan, found)
    return found


def ledger_records(found: WholeLedger) -> list[Record]:
    """One row for each line."""
    return [
        {
            "line": one.name,
            "scope": one.scope_text,
            "boundary": one.boundary,
            "minimised": "yes" if one.minimised else "no",
            "kgco2e": one.kgco2e,
        }
        for one in found.entries
    ]


def scope_records(found: WholeLedger) -> list[Record]:
    """Totals by scope: what the plan minimises, what stands around it, and both."""
    scopes = sorted({(one.scope, int(one.category or 0), one.scope_text) for one in found.entries})
    keys = {text: [one for one in found.entries if one.scope_text == text] for _, _, text in scopes}
    keys["all scopes"] = list(found.entries)
    return [
        {
            "scope": text,
            "minimised_kgco2e": _together(
                {one.name: one.kgco2e for one in lines if one.minimised}, "minimised_kgco2e"
            ),
            "around_kgco2e": _together(
                {one.name: one.kgco2e for one in lines if not one.minimised}, "around_kgco2e"
            ),
            "whole_kgco2e": _together({one.name: one.kgco2e for one in lines}, "whole_kgco2e"),
        }
        for text, lines in keys.items()
    ]


def water_records(found: WholeLedger) -> list[Record]:
    """Water of each site."""
    return [{"site": site, "onsite_l": onsite, "offsite_l": offsite} for site, onsite, offsite in found.water]


def ledger_sentences(plan: Plan, found: WholeLedger) -> Iterator[str]:
    """What the carbon of the plan leaves out, and what it takes in water."""
    whole = float(found.whole.value)
    avoided = 0.0 if found.avoided is None else float(found.avoided.value)
    counted = float(plan.ledger.carbon.value) - avoided
    if avoided:
        yield (
            f"A second life avoids {mass(-avoided)} of making in the lower tier. The plan weighs it: its "
            f"{mass(counted + avoided)} are after it; {mass(counted)} are emitted, which an inventory "
            "reports. The making of the old nodes stays sunk."
        )
    around = [one for one in found.entries if not one.minimised]
    if around:
        left, *words = (word for word in AROUND if any(word in one.name for one in around))
        what = " and ".join([", ".join([left, *words[:-1]]), *words[-1:]])
        rented = f"; {RENTED_NOTE}" if plan.inputs.rented.any() else ""
        yield (
            f"{'What is emitted' if avoided else 'The total'} counts {mass(counted)}. "
            f"Around it stand {mass(whole - counted)}: {what} of the nodes of your own{rented}. All of it is "
            f"{mass(whole)}, of which {percent_text((whole - counted) / whole, 0)} weighs in no decision."
        )
    if note := upstream_note(plan):
        yield note
    if any(one.category is Category.CAPITAL_GOODS for one in found.entries):
        yield capital_note(_ordered_kgco2e(plan))
    onsite = sum(float(one.value) for _, one, _ in found.water)
    offsite = sum(float(one.value) for _, _, one in found.water)
    if onsite + offsite > 0:
        here, there = amount_text(onsite, "L"), amount_text(offsite, "L")
        yield f"Cooling takes {here} of water on site, power stations {there}."


def _ordered_kgco2e(plan: Plan) -> float:
    """The whole making of the nodes that are ordered."""
    solution, groups = plan.answer.solution, plan.problem.node_groups
    assert solution is not None, "a plan has a solution"
    nodes = solution.orders * groups.order_unit_nodes[:, None]
    return float(np.sum(nodes * plan.assembled.nodes.made_kgco2e.value))


def _minimised(plan: Plan, bought: Traced | None) -> Iterator[Entry]:
    """Lines that add up to the carbon of the plan."""
    ledger, off = plan.ledger, plan.problem.node_groups.off_site
    market = ledger.location_carbon is not None
    own, others = electricity_of(plan, ~off), electricity_of(plan, off)
    if own is not None or ledger.matched_kwh is not None:
        if (contract := ledger.kgco2e_terms.get("contract_kgco2e")) is not None and own is not None:
            own = total("electricity_kgco2e", {"grid": own, "contracts": contract})
        if own is not None:
            burnt, place = burnt_of(plan), electricity_of(plan, ~off, location=True) if market else None
            if place is not None and burnt is not None:
                place = burnt_of(plan, location=True)
            yield from _parted("nodes", own, burnt, True, place)
    goods, capital = Category.PURCHASED_GOODS_AND_SERVICES, Category.CAPITAL_GOODS
    if others is not None:
        yield Entry("electricity of rented nodes", 3, "facility", others, True, goods)
    if bought is not None:
        yield Entry("making of new nodes", 3, "server", bought, True, capital)
    kept = plan.assembled.nodes.kept_kgco2e
    replaced = {
        word: one
        for word, one in (
            ("new nodes", part_of(plan, "bought", every_row(plan, "bought"), of=kept)),
            ("standing nodes", ledger.kgco2e_terms.get("standing_kgco2e")),
        )
        if one is not None and one.value
    }
    if replaced:
        yield Entry("replaced parts", 3, "server", total("replaced_kgco2e", replaced), True, goods)
    for term, name, category in (
        ("rental", "making of nodes by the hour", goods),
        ("reserved", "making of nodes under a term", goods),
        ("moved", "carriage of nodes", Category.UPSTREAM_TRANSPORT),
        ("egress", "data moved between sites", goods),
        ("transfers", "data moved to runs and services", goods),
        ("battery", "making of batteries", capital),
        ("solar", "making of the sun's cells", capital),
        ("feeding", "making of workers that feed runs", capital),
    ):
        one = ledger.kgco2e_terms.get(f"{term}_kgco2e")
        if one is not None and one.value:
            yield Entry(name, 3, WHERE.get(term, "server"), one, True, category)


def _parted(
    what: str, whole: Traced, burnt: Traced | None, minimised: bool, location: Traced | None = None
) -> Iterator[Entry]:
    """Electricity of something: what stations burn for it, and what lies upstream where that is known."""
    name = f"electricity of {what}"
    yield Entry(name, 2, "facility", burnt or whole, minimised, location=location)
    if burnt is not None:
        rest = (whole - burnt).named("upstream_kgco2e")
        yield Entry(f"upstream of {name}", 3, BOUNDARY, rest, minimised, Category.FUEL_AND_ENERGY)


def upstream_note(plan: Plan) -> str:
    """What scope 2 holds or leaves out; empty where upstream has lines of its own."""
    own = electricity_of(plan, ~plan.problem.node_groups.off_site)
    if own is None:
        return ""
    tag = own.boundary.get("grid")
    if plan.ledger.location_carbon is not None:
        scenario = plan.inputs.scenario
        mixes = [one.market_kgco2e_per_kwh for one in scenario.sites]
        stated = any(one is not None for one in mixes) or any(
            one.intensity_kgco2e_per_kwh for one in scenario.contracts
        )
        place = electricity_of(plan, ~plan.problem.node_groups.off_site, location=True)
        tag = None if stated or place is None else place.boundary.get("grid")
    return scope_note(tag, parted=burnt_of(plan) is not None)


def _around(
    plan: Plan, solution: Solution, made: Traced | None, site_kwh: Mapping[int, Traced]
) -> Iterator[Entry]:
    """Lines that the program does not make small."""
    inputs, capital = plan.inputs, Category.CAPITAL_GOODS
    yield Entry("making of standing nodes", 3, "server", plan.ledger.sunk_carbon, False, capital)
    # The network draws by what the nodes draw: what batteries and the sun save of that is not its own.
    operational = electricity_of(plan, ~plan.problem.node_groups.off_site, without=NO_NODES)
    if operational is not None and made is not None:
        it, meter = _it_and_meter(plan, site_kwh)
        share = network_share(
            inputs, it_kwh=it, operational=operational, server=made, pue=(meter / it).named("pue")
        )
        burnt = burnt_of(plan, covered=False, without=NO_NODES)
        of_network = burnt and (share.operational * (burnt / operational)).named("burnt_kgco2e")
        yield from _parted("the network", share.operational, of_network, False)
        yield Entry("making of the network", 3, "network", share.made, False, capital)
    for s, site in enumerate(inputs.scenario.sites):
        kept = storage_share(inputs, s)
        if kept is not None:
            fraction = burnt_fraction(plan, s)
            of_storage = fraction and (kept.operational * fraction).named("burnt_kgco2e")
            yield from _parted(f"storage at {site.name}", kept.operational, of_storage, False)
            yield Entry(f"making of storage at {site.name}", 3, "storage", kept.made, False, capital)
    building, end = dict[str, Traced](), dict[str, Traced]()
    past_life_h = (1.0 - plan.assembled.standing.spread_fraction.value) * plan.problem.node_groups.hours
    for k, sku in enumerate(inputs.skus):
        here = (inputs.node_group_sku == k) & ~plan.problem.node_groups.off_site
        hours = solution.in_service[here] * plan.problem.node_groups.hours
        if not hours.any():
            continue
        node_h = chosen("node_h", float(hours.sum()), f"nodes of {sku.name} in service, by the program", "h")
        past = np.isin(plan.problem.cohorts.node_group, np.flatnonzero(here))
        past_h = float((past[:, None] * solution.kept * past_life_h).sum())
        spread_h = chosen("node_h", float(hours.sum()) - past_h, "those within the life of nodes", "h")
        shares = node_shares(inputs, k, node_h, spread_h)
        building[sku.name], end[sku.name] = shares.building, shares.end_of_life
    if building:
        yield Entry("building", 3, "building", total("building_kgco2e", building), False, capital)
        yield Entry("end of life", 3, "end of life", total("end_kgco2e", end), False, Category.WASTE)


def _water(plan: Plan, site_kwh: Mapping[int, Traced]) -> Iterator[tuple[str, Traced, Traced]]:
    """Water of each site of one's own: its nodes, its part of the network, its storage.

    Power stations take it for what is drawn of the grid: more by what batteries lose, less by the sun.
    """
    inputs, saved_kwh = plan.inputs, meter_by_site(plan, lambda term: term in NO_NODES)
    power = inputs.fact("network.fabric.power")
    for s, site in enumerate(inputs.scenario.sites):
        parts: dict[str, Traced] = {}
        if s in site_kwh:
            nodes = (site_kwh[s] / inputs.pue[s]).named("it_kwh")
            parts = {"nodes": nodes, "network": (nodes * power).named("fabric_kwh")}
        if (kept := storage_share(inputs, s)) is not None:
            parts["storage"] = kept.it_kwh
        if not parts:
            continue
        it = total("it_kwh", parts)
        meter: Traced = (it * inputs.pue[s]).named("meter_kwh")
        if s in saved_kwh:
            meter = total("drawn_kwh", {"computers": meter, "batteries_and_sun": saved_kwh[s]})
        onsite, offsite = water_of(inputs, s, it_kwh=it, facility_kwh=meter)
        yield site.name, onsite, offsite


def _it_and_meter(plan: Plan, site_kwh: Mapping[int, Traced]) -> tuple[Traced, Traced]:
    """Energy of computers and at the meters of all sites together."""
    names = plan.problem.site_names
    it: dict[str, Traced] = {
        names[s]: (kwh / plan.inputs.pue[s]).named("it_kwh") for s, kwh in site_kwh.items()
    }
    return total("it_kwh", it), total("meter_kwh", {names[s]: kwh for s, kwh in site_kwh.items()})


def _together(parts: Mapping[str, Traced], name: str) -> Traced:
    held = {f"{word.replace(' ', '_').replace('-', '_')}_kgco2e": one for word, one in parts.items()}
    if not held:
        return chosen(name, 0.0, "nothing of this kind in the plan", "kgCO2e")
    return derive(lines_kgco2e, WHOLE, **held)


def _unrounded(kgco2e: float) -> float:
    """A line that is nothing but rounding, as of energy that contracts cover in full, is nothing."""
    return 0.0 if abs(kgco2e) < TOLERANCE else kgco2e


def _check(plan: Plan, found: WholeLedger) -> None:
    """No line twice, none negative, by the ledger of the leaf; those minimised are the plan's carbon."""
    market = plan.ledger.location_carbon is not None
    tags = [(one.location or one.kgco2e).boundary.get("grid", "market") for one in found.entries]
    # A market-based figure says nothing of the grid: where no line does, it is taken as one's own.
    signal = GridSignal.parse(next((tag for tag in tags if tag != "market"), OWN_FIGURE))
    if any(one.category is Category.FUEL_AND_ENERGY for one in found.entries):
        signal = replace(signal, scope="direct")  # the rest has lines of its own
    lines = []
    for one in found.entries:
        value, place = _unrounded(float(one.kgco2e.value)), one.location or one.kgco2e
        lines.append(
            Line(
                one.name,
                "fleet",
                one.scope,  # type: ignore[arg-type]  # a scope
                float(place.value),
                one.boundary,
                one.category,
                signal if one.boundary == "facility" else None,
                value if one.boundary == "facility" else None,
            )
        )
    book = Ledger(tuple(lines))
    whole = float(book.total_kgco2e("market" if market else "location"))
    minimised = sum(float(one.kgco2e.value) for one in found.entries if one.minimised)
    minimised += 0.0 if found.avoided is None else float(found.avoided.value)
    for what, ours, theirs in (
        ("lines that the plan minimises", minimised, float(plan.ledger.carbon.value)),
        ("lines", whole, float(found.whole.value)),
    ):
        if abs(ours - theirs) > TOLERANCE * max(1.0, abs(theirs)):
            raise TotalsDisagree(f"{what} add up to {ours!r} and the total is {theirs!r} kgCO2e: not shown")
