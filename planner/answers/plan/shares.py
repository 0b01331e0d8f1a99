"""What a plan takes in one period, or at one site: the parts of its totals, row by row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from planner.physics.serving_demand import unmet_items
from planner.program.places import BILLS
from planner.program.plan import Plan
from planner.program.slot_ledger import OF_SITES
from planner.trace.quantities import Traced, total

Kind = Literal["usd", "kgco2e", "kwh"]


def of_period(plan: Plan, kind: Kind, period: int, name: str) -> Traced:
    """What all decisions of a plan take in a period."""
    found = {
        term: one
        for term in plan.ledger.parts[kind]
        if (one := part_total(plan, kind, term, f"{term}_{kind}", periods=[period])) is not None
    }
    if (contract := of_contracts(plan, kind, period)) is not None:
        found["contract"] = contract
    return total(name, found, "what each decision of the plan takes in this period")


def part_total(
    plan: Plan,
    kind: Kind,
    term: str,
    name: str,
    *,
    rows: Iterable[int] | None = None,
    periods: Iterable[int] | None = None,
) -> Traced | None:
    """What some rows of a term take in some periods; None where that is nothing."""
    each, counts = plan.ledger.parts[kind][term]
    wide = np.asarray(each.value) * counts.value
    wide = np.broadcast_to(wide, (len(wide), plan.inputs.periods)) if wide.shape[1] == 1 else wide
    found: dict[str, Traced] = {}
    for row in range(len(wide)) if rows is None else rows:
        for period in range(plan.inputs.periods) if periods is None else periods:
            if wide[row, period]:
                word = _word(plan, term, row, None if periods is not None else period)
                while word in found:
                    word += "'"
                found[word] = (counts[row, period] * each[row, period]).named(name)
    return total(name, found) if found else None


def _word(plan: Plan, term: str, row: int, period: int | None) -> str:
    """What a row of a term is about, and when."""
    groups = plan.ledger.part_groups.get(term)
    if term in BILLS:
        where = plan.problem.site_names[row]
    elif groups is not None and term in OF_SITES:
        where = plan.problem.site_names[int(plan.problem.node_groups.site[groups[row]])]
    elif groups is None:  # demand that is not carried belongs to a service
        where = plan.inputs.scenario.services[list(unmet_items(plan.inputs))[row]].name
    else:
        where = plan.problem.node_group_name(int(groups[row]))
    return where if period is None else f"{where}, {plan.inputs.scenario.horizon.period_labels[period]}"


def of_contracts(plan: Plan, kind: Kind, period: int) -> Traced | None:
    """Clean energy under contract in a period."""
    matched = plan.ledger.matched_kwh
    if matched is None or kind == "kwh":
        return None
    name = f"contract_{kind}"
    parts = {
        one.name: contract_part(plan, kind, c, period).named(name)
        for c, one in enumerate(plan.inputs.scenario.contracts)
        if matched.value[c, period]
    }
    return total(name, parts) if parts else None


def contract_part(plan: Plan, kind: Kind, contract: int, period: int) -> Traced:
    """Premium of the energy under a contract in a period, or its carbon beyond that of the residual mix."""
    contracted, matched = plan.assembled.contracted, plan.ledger.matched_kwh
    assert contracted is not None, "something is under contract"
    assert matched is not None, "something is under contract"
    at = (contract, period)
    if kind == "usd":
        return matched[at] * contracted.premium_usd_per_kwh[at]
    return matched[at] * (contracted.own_kgco2e_per_kwh[at] - contracted.market_kgco2e_per_kwh[at])


def avoided_part(plan: Plan, contract: int, period: int) -> Traced:
    """Carbon of the residual mix that the energy under a contract stands for, less its own."""
    contracted, matched = plan.assembled.contracted, plan.ledger.matched_kwh
    assert contracted is not None, "something is under contract"
    assert matched is not None, "something is under contract"
    at = (contract, period)
    return matched[at] * (contracted.market_kgco2e_per_kwh[at] - contracted.own_kgco2e_per_kwh[at])
