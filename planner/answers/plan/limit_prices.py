"""What one more unit of each limit is worth to a plan, as records and in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from planner.answers.plan.names import labels_of, limit_place, limit_text
from planner.program.assembly import objective_unit
from planner.program.plan import Plan
from planner.program.searches import AT_LEAST, Move, Price, prices
from planner.program.solution import LIMITS
from planner.trace.currency import USD, shown_unit
from planner.trace.numbers import amount_text, number_text
from planner.trace.records import Record

CONFIRMED = tuple(family for family in LIMITS if family not in ("deadlines", "end of life"))
NOTHING = 1e-6  # of an objective: rounding, not a price
# Unit of a limit -> the larger one that prices are shown in, and how many it holds.
SHOWN_IN = {"kW": ("MW", 1000.0), "kgCO2e": ("tCO2e", 1000.0)}
ONE_IS = {"racks": "rack", "nodes": "node", "requests/s": "request/s", "node-h": "node-hour", "jobs": "job"}


def with_prices(
    plan: Plan, *, time_limit_s: float, should_stop: Callable[[], bool] | None = None, confirm: bool = True
) -> Plan:
    """The plan with the worth of its limits: linear prices, and confirmed steps of those that bind."""
    if plan.answer.solution is None:
        return plan
    found = prices(
        plan.problem,
        plan.answer,
        gap_fraction=plan.inputs.scenario.solve.gap_fraction,
        time_limit_s=time_limit_s,
        confirm=confirm,
        confirmed=CONFIRMED,
        should_stop=should_stop,
    )
    return replace(plan, prices=tuple(each for each in found if _tells(plan, each)))


def _tells(plan: Plan, price: Price) -> bool:
    """Whether a price says something: nodes that nobody offers have no supply to ease."""
    if price.family == "supply":
        groups = plan.problem.node_groups
        if not groups.purchase_allowed[groups.sku == price.index[0]].any():
            return False
    worth = (price.saving_per_unit, price.relaxed_saving_per_unit)
    return price.eased is not None or any(each > NOTHING for each in worth)


def price_records(plan: Plan) -> list[Record]:
    """One row for each limit that has a price: three routes to it, and how far it was looked."""
    unit, found = objective_unit(plan.problem.objective), []
    for price in plan.prices:
        where, period = limit_place(plan.problem, labels_of(plan), price.family, price.index)
        found.append(
            {
                "limit": price.family,
                "where": where,
                "period": period,
                "unit": price.unit,
                "saving_unit": unit,
                "relaxed_saving_per_unit": _number(price.relaxed_saving_per_unit),
                "held_saving_per_unit": _number(price.saving_per_unit),
                **_moved(price.eased, "more"),
                **_moved(price.tightened, "less"),
            }
        )
    return found


def price_sentences(plan: Plan) -> list[str]:
    """The prices in words, the largest first."""
    ordered = sorted(plan.prices, key=lambda each: -(_worth(each) or 0.0))
    return [_sentence(plan, each) for each in ordered]


def objective_text(plan: Plan, value: float) -> str:
    """An amount of the objective."""
    return amount_text(value, objective_unit(plan.problem.objective))


def _sentence(plan: Plan, price: Price) -> str:
    name = limit_text(plan.problem, labels_of(plan), price.family, price.index)
    what, size = SHOWN_IN.get(price.unit, (_one(price.unit), 1.0))
    size /= shown_unit(price.unit)[0]  # of money: one of the currency that is shown
    one = f"one {what} less saves" if price.family in AT_LEAST else f"one more {what} saves"
    said = [
        _step(plan, move, price, eased=move is price.eased)
        for move in (price.eased, price.tightened)
        if move is not None
    ]
    worth = price.relaxed_saving_per_unit
    if worth > NOTHING:
        said.append(f"{one} {objective_text(plan, worth * size)} if nodes could be split")
    if not said:
        said.append(f"{one} {objective_text(plan, price.saving_per_unit * size)}")
    return f"{name[0].upper()}{name[1:]}: {'; '.join(said)}."


def _step(plan: Plan, move: Move, price: Price, *, eased: bool) -> str:
    """What a step of a limit really changes: its amount is how far the figure holds."""
    unit = price.unit
    more = eased != (price.family in AT_LEAST)
    counted = _one(unit) if abs(move.amount) == 1 else unit
    size = f"{number_text(abs(move.amount))} {counted}"
    amount = f"{amount_text(abs(move.amount), unit) if unit == USD else size} {'more' if more else 'less'}"
    if math.isinf(move.change):
        return f"with {amount} there is no plan"
    if math.isnan(move.change):
        return f"{amount}: not settled in the time allowed"
    change = -move.change if eased else move.change
    verb = "saves" if eased else "costs"
    if move.least <= 0 <= move.most and abs(change) <= (move.most - move.least) / 2 + NOTHING:
        return f"{amount} changes nothing beyond the gap of the search"
    each = objective_text(plan, change / abs(move.amount) / shown_unit(unit)[0])
    per_unit = "" if abs(move.amount) == 1 else f" ({each} per {_one(unit)})"
    return f"{amount} {verb} {objective_text(plan, change)}{per_unit}"


def _one(unit: str) -> str:
    """What one of a limit is called."""
    return ONE_IS.get(unit, shown_unit(unit)[1])


def _moved(move: Move | None, name: str) -> Record:
    if move is None:
        return {f"{name}_by": None, f"{name}_change": None, f"{name}_least": None, f"{name}_most": None}
    return {
        f"{name}_by": abs(move.amount),
        f"{name}_change": _number(move.change),
        f"{name}_least": _number(move.least),
        f"{name}_most": _number(move.most),
    }


def _worth(price: Price) -> float | None:
    """What a step of either kind moves at the most, else the linear price of a unit."""
    steps = [abs(move.change) for move in (price.eased, price.tightened) if move is not None]
    known = [change for change in steps if math.isfinite(change)]
    return max(known) if known else _number(price.relaxed_saving_per_unit)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
