"""Electricity and energy of a plan by site and node group, as its whole ledger lays them out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from carbon.signals import GridSignal
from planner.physics.clean_energy import contracted_kgco2e
from planner.physics.equations.totals import weighted_total_kgco2e, weighted_total_kwh
from planner.physics.upstream import direct_fraction, of_whole_lives
from planner.program.market_based import at_location
from planner.program.plan import Plan
from planner.trace.quantities import Fact, Traced, derive, rows, total

NO_NODES = ("stored", "sun")  # energy at the meter that no node draws or saves


def electricity_of(
    plan: Plan, groups: NDArray[np.bool_], location: bool = False, without: tuple[str, ...] = ()
) -> Traced | None:
    """Carbon of the electricity of some node groups, but for the terms `without`."""
    ledger = plan.ledger
    if location:
        found = at_location(plan.inputs, ledger.parts["kwh"], ledger.part_groups)
        parts = dict[str, Traced]()
        for term, part in found.items():
            if term in without:
                continue
            index = np.flatnonzero(groups[ledger.part_groups[term]])
            if part is not None and index.size:
                each, counts = rows(part[0], index), rows(part[1], index)
                parts[term] = derive(weighted_total_kgco2e, each_kgco2e=each, counts=counts)
    else:
        parts = {
            term: one
            for term in ledger.parts["kwh"]
            if term not in without
            and (one := part_of(plan, term, np.flatnonzero(groups[ledger.part_groups[term]]))) is not None
        }
    return total("electricity_kgco2e", parts) if parts else None


def burnt_of(
    plan: Plan, *, location: bool = False, covered: bool = True, without: tuple[str, ...] = ()
) -> Traced | None:
    """What stations burn for the nodes of all sites of one's own; None where one does not tell it.

    By the market it is less what contracts cover, unless `covered` is false; `without` are terms left out.
    """
    groups, parts = plan.problem.node_groups, dict[str, Traced]()
    for s, site in enumerate(plan.inputs.scenario.sites):
        drawn = electricity_of(plan, (groups.site == s) & ~groups.off_site, location, without)
        if drawn is None or not drawn.value:
            continue
        if covered and not location and (contracts := _covered(plan, s)) is not None:
            drawn = total("electricity_kgco2e", {"grid": drawn, "contracts": contracts})
        fraction = burnt_fraction(plan, s)
        if fraction is None:
            return None
        parts[site.name] = (drawn * fraction).named("burnt_kgco2e")
    return total("burnt_kgco2e", parts) if parts else None


def burnt_fraction(plan: Plan, site: int) -> Fact | None:
    """Share of a site's electricity that power stations burn; None where its factor does not tell it.

    Hours of one's own say nothing of their fuels. Nor does a residual mix that is stated in a market-based
    plan, or a contract that emits; where the grid's factor replaces the mix, it is that of the grid.
    """
    inputs, stated = plan.inputs, plan.inputs.scenario.sites[site]
    if plan.ledger.location_carbon is not None:
        dirty = any(
            one.site == stated.name and one.intensity_kgco2e_per_kwh for one in inputs.scenario.contracts
        )
        if stated.market_kgco2e_per_kwh is not None or dirty:
            return None
    if stated.grid is None or stated.hourly is not None:
        return None
    if not of_whole_lives(GridSignal.parse(inputs.fact(f"grid.{stated.grid}.intensity").boundary["grid"])):
        return None
    return direct_fraction(inputs.fact, inputs.has, stated.grid)


def _covered(plan: Plan, site: int) -> Traced | None:
    """What contracts change of the carbon of a site's electricity; None where they cover nothing there."""
    contracted, matched = plan.assembled.contracted, plan.ledger.matched_kwh
    if contracted is None or matched is None:
        return None
    here = np.flatnonzero(contracted.site == site)
    if not np.any(np.asarray(matched.value)[here]):
        return None
    return derive(
        contracted_kgco2e,
        contract_kgco2e_per_kwh=rows(contracted.own_kgco2e_per_kwh, here),
        market_kgco2e_per_kwh=rows(contracted.market_kgco2e_per_kwh, here),
        matched_kwh=rows(matched, here),
    )


def part_of(
    plan: Plan, term: str, index: NDArray[np.intp], of: Traced | None = None, kind: str = "kgco2e"
) -> Traced | None:
    """Some rows of a term; `of` is another price of each of them, by node group. None where there is none."""
    parts = plan.ledger.parts[kind]  # type: ignore[index]
    if term not in parts or not index.size:
        return None
    each, counts = parts[term]
    price = rows(each, index) if of is None else rows(of, plan.ledger.part_groups[term][index])
    function = weighted_total_kgco2e if kind == "kgco2e" else weighted_total_kwh
    return derive(function, **{f"each_{kind}": price, "counts": rows(counts, index)})


def every_row(plan: Plan, term: str) -> NDArray[np.intp]:
    """All rows of a term."""
    return np.arange(len(plan.ledger.part_groups.get(term, ())))


def nodes_by_site(plan: Plan) -> dict[int, Traced]:
    """Energy at the meter of the nodes of each site of one's own."""
    return meter_by_site(plan, lambda term: term not in NO_NODES)


def meter_by_site(plan: Plan, counted: Callable[[str], bool]) -> dict[int, Traced]:
    """Energy at the meter of each site of one's own, of the terms that are counted."""
    groups, found = plan.problem.node_groups, dict[int, Traced]()
    for s in range(len(plan.inputs.scenario.sites)):
        here = (groups.site == s) & ~groups.off_site
        parts = {
            term: one
            for term in plan.ledger.parts["kwh"]
            if counted(term)
            and (one := part_of(plan, term, np.flatnonzero(here[plan.ledger.part_groups[term]]), kind="kwh"))
            is not None
        }
        if parts:
            found[s] = total("facility_kwh", parts)
    return found
