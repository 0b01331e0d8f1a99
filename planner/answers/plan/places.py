"""What sites charge for space and for peaks, and what of it nobody stated: tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.inputs.consistency import space_note, space_unstated
from planner.program.plan import Plan
from planner.program.solution import Solution, stopping_kw
from planner.trace.numbers import count_text, money, percent_text
from planner.trace.quantities import Traced, chosen
from planner.trace.records import Record

ROUNDING = 1e-6


def place_records(plan: Plan, solution: Solution) -> list[Record]:
    """The bill of each site and period: space by rated power in service or committed, and the peak."""
    bills, terms = plan.ledger.bills, plan.assembled.terms
    found: list[Record] = []
    for t, label in enumerate(plan.inputs.scenario.horizon.period_labels):
        for s, site in enumerate(plan.inputs.scenario.sites):
            row: Record = {
                "period": label,
                "site": site.name,
                "occupied_kw": bills.occupied_kw[s, t],
                "committed_kw": terms.committed_kw[s, t],
                "space_usd": bills.space_usd[s, t],
            }
            if bills.peak_kw is not None and bills.peak_usd is not None:
                row |= {"peak_kw": bills.peak_kw[s, t], "peak_usd": bills.peak_usd[s, t]}
            found.append(row)
    return found


def _curtailment(plan: Plan, solution: Solution) -> Iterator[str]:
    """Contracts for curtailment: how much power may stop, what is paid; and which are not signed, and why."""
    places = plan.problem.places
    stops = stopping_kw(plan.problem, solution)
    for s in np.flatnonzero(places.curtailed_kw > 0).tolist():
        name, least = plan.problem.site_names[s], float(places.curtailed_kw[s])
        fewest = float(stops[s].min())
        if solution.signed[s]:
            yield (
                f"{name} signs the contract for curtailment: at least {count_text(fewest)} kW of work may "
                f"stop, {count_text(least)} are asked for; it pays "
                f"{money(float(places.curtailed_usd[s].sum()))}, and the hours that are lost are planned for."
            )
        elif fewest < least:
            yield (
                f"{name} does not sign the contract for curtailment: {count_text(least)} kW are asked for, "
                f"and in some period no more than {count_text(fewest)} kW of work may stop within the notice."
            )
        else:
            yield f"{name} does not sign the contract for curtailment: it pays less than the hours are worth."


def place_sentences(plan: Plan, solution: Solution) -> list[str]:
    """What space and peaks cost, what is paid for and not used, and the price that nobody stated."""
    bills, terms, cost = plan.ledger.bills, plan.assembled.terms, float(plan.ledger.cost.value)
    paid, names = np.asarray(bills.space_usd.value), [site.name for site in plan.inputs.scenario.sites]
    said = []
    assumed = [s for s, site in enumerate(plan.inputs.scenario.sites) if space_unstated(site)]
    money_assumed = float(paid[assumed].sum())
    if money_assumed > 0:
        said.append(
            f"{space_note(plan.inputs.scenario, plan.inputs.catalogue)}: {money(money_assumed)}"
            f"{_share(money_assumed, cost)}."
        )
    wide = np.broadcast_to(terms.committed_kw.value, paid.shape)
    unused = np.maximum(wide - np.asarray(bills.occupied_kw.value), 0.0)
    wasted = unused * np.broadcast_to(terms.space_usd_per_kw.value, paid.shape)
    for s in np.flatnonzero(wasted.sum(axis=1) > ROUNDING).tolist():
        t = int(unused[s].argmax())
        said.append(
            f"{names[s]} pays {money(float(wasted[s].sum()))} for committed space that nothing uses, at most "
            f"{count_text(unused[s, t])} of {count_text(wide[s, t])} kW in "
            f"{plan.inputs.scenario.horizon.period_labels[t]}."
        )
    said += _curtailment(plan, solution)
    if bills.peak_usd is not None:
        peaks = float(np.sum(bills.peak_usd.value))
        if peaks > 0:
            said.append(f"Demand charges of the sites come to {money(peaks)}{_share(peaks, cost)}.")
    return said


def _share(part: float, whole: float) -> str:
    digits = 0 if abs(part) >= 0.01 * whole else 2
    return f", {percent_text(part / whole, digits)} of the cost" if whole > 0 else ""


def space_held(plan: Plan, group: int, period: int) -> Traced:
    """What one more node of a group would add to the bill for space in a period."""
    terms, site = plan.assembled.terms, int(plan.problem.node_groups.site[group])
    rated = terms.rated_kw[group, 0]
    room = plan.problem.places.committed_kw[site, period] - plan.ledger.bills.occupied_kw.value[site, period]
    if room <= 0:
        return (rated * terms.space_usd_per_kw[site, period]).named("space_usd")
    beyond = max(float(rated.value) - float(room), 0.0)
    more = chosen("beyond_kw", beyond, "rated power of one more node beyond what is committed", "kW")
    return (more * terms.space_usd_per_kw[site, period]).named("space_usd")
