"""What hardware is worth as it ages: one curve for what is bought, stands, is sold, or is left at the end.

Holding a node costs interest on its value and the fall of its value, whoever paid for it and whenever. A sale
ends that and costs the friction of the market. So nothing is earned by standing still, nothing that is thrown
away is free, and a horizon that ends sooner makes no purchase cheaper than the time that it is held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import HOURS_PER_YEAR, Inputs
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, pick

CURVE_YEARS = 8  # ages that the curve has a point for; beyond, the last year's fall goes on


def value_usd(
    *,
    price_usd: Column,
    age_y: Column,
    year_1_fraction: Column,
    year_2_fraction: Column,
    year_3_fraction: Column,
    year_4_fraction: Column,
    year_5_fraction: Column,
    year_6_fraction: Column,
    year_7_fraction: Column,
    year_8_fraction: Column,
) -> Column:
    """Value of a node by its age.

    V(a) = P * k_1^min(a, 1) * k_2^min(max(a - 1, 0), 1) * ... * k_8^max(a - 7, 0)

    k_n is the share of its value that a node keeps in its n-th year of age; the eighth goes on from there.
    Within a year the value falls at a steady rate.

    Source: declining value with a rate of each year of age, as market prices of used accelerators show.
    """
    kept = (
        year_1_fraction,
        year_2_fraction,
        year_3_fraction,
        year_4_fraction,
        year_5_fraction,
        year_6_fraction,
        year_7_fraction,
        year_8_fraction,
    )
    worth: Column = np.asarray(price_usd, dtype=float)
    for year, fraction in enumerate(kept):
        most = np.inf if year == CURVE_YEARS - 1 else 1.0
        worth = worth * np.asarray(fraction) ** np.clip(np.subtract(age_y, year), 0.0, most)
    return worth


def straight_value_usd(
    *, price_usd: Column, age_y: Column, life_y: Column, residual_fraction: Column
) -> Column:
    """Value of a node by its age, where the scenario states what it is worth after its life.

    V(a) = P * (1 - (1 - rho) * min(a / L, 1))

    Source: straight line from the price to the residual value.
    """
    aged = np.clip(np.divide(age_y, life_y), 0.0, 1.0)
    worth: Column = price_usd * (1.0 - (1.0 - np.asarray(residual_fraction)) * aged)
    return worth


def implied_price_usd(*, resale_usd: Column, price_usd: Column, value_at_start_usd: Column) -> Column:
    """Price at which the curve passes through what a node is stated to bring at the horizon's start.

    P' = max(R, 0) * P / V(age at the start)

    A node that costs money to be rid of has no value.

    Source: the curve, scaled to a known point.
    """
    return np.maximum(resale_usd, 0.0) * np.divide(price_usd, value_at_start_usd)


def disposal_usd(*, resale_usd: Column) -> Column:
    """What it costs to be rid of a node whose stated resale is below zero.

    D = max(-R, 0)

    Source: definition.
    """
    return np.maximum(np.negative(resale_usd), 0.0)


def holding_usd(
    *,
    value_from_usd: Column,
    value_to_usd: Column,
    discount_fraction: Column,
    hours_h: Column,
    year_h: Column,
) -> Column:
    """Capital cost of having a node through a period: interest on its value, and the fall of its value.

    u = ln(1 + r) * V_mean * hours / year + V_from - V_to,
    V_mean = (V_from - V_to) / ln(V_from / V_to)

    Spans add up: the charge of two periods is the sum of theirs. Discounted, the charges of all periods
    come to the value at first less the discounted one at last.

    Source: user cost of capital c = V * (r + decline), Jorgenson 1963; OECD, Measuring Capital (2009), ch. 8.
    """
    first, last = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (value_from_usd, value_to_usd)))
    fall = first - last
    some = (first > 0) & (last > 0) & (np.abs(fall) > 1e-9 * np.abs(first))
    ratio = np.divide(first, last, out=np.full(first.shape, 2.0), where=some)
    mean = np.where(some, fall / np.log(ratio), (first + last) / 2.0)
    charge: Column = np.log1p(discount_fraction) * mean * hours_h / year_h + fall
    return charge


def sale_usd(*, value_usd: Column, fee_fraction: Column, fixed_usd: Column, disposal_usd: Column) -> Column:
    """What parting with a node costs: its value less what the sale brings, or all of it where that is less.

    S = min(f * V + F, V) + D

    f is the fee of the market, F what taking out and freight cost, D what disposal is stated to cost.

    Source: sum of parts.
    """
    friction = np.minimum(np.multiply(fee_fraction, value_usd) + fixed_usd, value_usd)
    parting: Column = friction + disposal_usd
    return parting


def deposit_interest_usd(
    *,
    price_usd: Column,
    deposit_fraction: Column,
    discount_fraction: Column,
    lead_h: Column,
    year_h: Column,
) -> Column:
    """Interest on what is paid when a node is ordered, until it is delivered.

    D = P * d * ((1 + r)^(lead / year) - 1)

    Source: compound interest.
    """
    grown = np.expm1(np.log1p(discount_fraction) * lead_h / year_h)
    return np.multiply(price_usd, deposit_fraction) * grown


@dataclass(frozen=True)
class Value:
    """By row and period: value at its start and end, capital cost of it, cost of parting at its start."""

    usd: Traced
    end_usd: Traced
    capital_usd: Traced
    sale_usd: Traced
    at: Callable[[NDArray[np.float64]], Traced]  # value at hours (1, n) from the start of the horizon
    sale_of: Callable[[Traced], Traced]  # cost of parting with a node of a value


def standing_value(inputs: Inputs, home: NDArray[np.intp]) -> Value:
    """Of the entry of the fleet that each row names (H, T)."""
    fleet, start = inputs.scenario.fleet, inputs.scenario.horizon.start
    names = [sku.name for sku in inputs.skus]
    of_sku = np.array([names.index(cohort.sku) for cohort in fleet], dtype=np.intp)
    age_y = np.array([(start - cohort.in_service).days / 365.25 for cohort in fleet])
    stated = [
        None if c.resale_usd is None else inputs.money(f"fleet[{i}].resale", c.resale_usd, "USD")
        for i, c in enumerate(fleet)
    ]
    curves = [_curve(inputs, int(k), i) for i, k in enumerate(of_sku)]
    prices: list[Traced] = []
    for i, (k, resale) in enumerate(zip(of_sku.tolist(), stated, strict=True)):
        price: Traced = inputs.node_price(k, 0)
        if resale is not None:
            age = chosen("age_y", float(age_y[i]), "at the horizon's start")
            then = derive(curves[i].function, price_usd=price, age_y=age, **curves[i].shape)
            price = derive(implied_price_usd, resale_usd=resale, price_usd=price, value_at_start_usd=then)
        prices.append(price)

    def at(hours_h: NDArray[np.float64]) -> Traced:
        return _values(curves, prices, home, age_y[home][:, None] + hours_h / HOURS_PER_YEAR)

    none = chosen("disposal_usd", 0.0, "none is stated")
    away = [none if one is None else derive(disposal_usd, resale_usd=one) for one in stated]
    net = np.array([one is not None for one in stated], dtype=bool)
    return _value(inputs, of_sku[home], at, disposal_usd=pick(away, home[:, None]), net=net[home])


def bought_value(
    inputs: Inputs, sku: NDArray[np.intp], period: NDArray[np.intp], price_usd: Sequence[Traced]
) -> Value:
    """Of nodes of a SKU at a price that enter service at the start of a period: one row each (W, T)."""
    start = inputs.period_start_h.value
    entered = start[0, period][:, None]
    curves = [_curve(inputs, k, None) for k in range(len(inputs.skus))]
    row = np.arange(len(sku))

    def at(hours_h: NDArray[np.float64]) -> Traced:
        age_y = np.maximum(hours_h - entered, 0.0) / HOURS_PER_YEAR
        return _values([curves[k] for k in sku], price_usd, row, age_y)

    none = chosen("disposal_usd", 0.0, "none is stated")
    return _value(inputs, sku, at, disposal_usd=none, net=np.zeros(len(sku), dtype=bool))


@dataclass(frozen=True)
class _Curve:
    """How a node loses its value: an equation, and all that it asks for but price and age."""

    function: Callable[..., Column]
    shape: dict[str, Traced]


def _curve(inputs: Inputs, k: int, entry: int | None) -> _Curve:
    """Of a SKU, or of an entry of the fleet: to the residual value that is stated, else the market's."""
    policy, sku = inputs.scenario.policy, inputs.skus[k]
    if policy.residual_value_fraction is not None:
        life_y = inputs.yours("policy.node_life", policy.node_life_y, "y")
        return _Curve(straight_value_usd, {"life_y": life_y, "residual_fraction": inputs.residual_value()})
    years = range(1, CURVE_YEARS + 1)
    decline = None if entry is None else inputs.scenario.fleet[entry].resale_decline_fraction
    if decline is not None:
        stated = inputs.yours(f"fleet[{entry}].resale_decline", decline, "1")
        kept = (1.0 - stated).named("yearly_fraction", "Share of its value that a node keeps in a year")
        return _Curve(value_usd, {f"year_{n}_fraction": kept for n in years})
    market = sku.resale if inputs.has(f"resale.{sku.resale}.year_1.kept") else "common"
    return _Curve(
        value_usd, {f"year_{n}_fraction": inputs.fact(f"resale.{market}.year_{n}.kept") for n in years}
    )


def rest_worth_usd(
    inputs: Inputs, skus: NDArray[np.intp], due_usd: Traced, middle_y: NDArray[np.float64]
) -> Traced:
    """What the rest of a term is worth: hours that were priced at its start, by how nodes lose value since.

    Rows are node groups, columns the periods in which a term begins; `middle_y` is the time from there to the
    middle of what is left, where the value of the hours is taken.
    """
    curves = [_curve(inputs, int(k), None) for k in skus]
    index = np.arange(len(curves))[:, None]
    shape = {name: pick([one.shape[name] for one in curves], index) for name in curves[0].shape}
    age = chosen("age_y", middle_y, "from the start of a term to the middle of its rest")
    return derive(curves[0].function, price_usd=due_usd, age_y=age, **shape)


def _values(
    curves: Sequence[_Curve],
    prices: Sequence[Traced],
    row: NDArray[np.intp],
    age_y: NDArray[np.float64],
) -> Traced:
    """Value by row and time, where row i is of the curve and the price `row[i]`; all are of one equation."""
    index = row[:, None]
    shape = {name: pick([one.shape[name] for one in curves], index) for name in curves[0].shape}
    age = chosen("age_y", age_y, "of the nodes by the calendar")
    return derive(curves[0].function, price_usd=pick(prices, index), age_y=age, **shape)


def _value(
    inputs: Inputs,
    sku: NDArray[np.intp],
    at: Callable[[NDArray[np.float64]], Traced],
    *,
    disposal_usd: Traced,
    net: NDArray[np.bool_],
) -> Value:
    """The cost of holding and of parting; what is stated to be brought is what all friction leaves."""
    row = np.where(net, len(inputs.skus), sku)[:, None]
    begins, ends = at(inputs.period_start_h.value), at(inputs.period_end_h.value)
    fees, fixed = (
        [
            *(inputs.fact(f"resale.{one.resale}.node.{word}") for one in inputs.skus),
            chosen(name, 0.0, "it is stated what a node brings"),
        ]
        for word, name in (("fee", "fee_fraction"), ("fixed", "fixed_usd"))
    )

    def sale_of(worth_usd: Traced) -> Traced:
        return derive(
            sale_usd,
            value_usd=worth_usd,
            fee_fraction=pick(fees, row),
            fixed_usd=pick(fixed, row),
            disposal_usd=disposal_usd,
        )

    return Value(
        usd=begins,
        end_usd=ends,
        capital_usd=derive(
            holding_usd,
            value_from_usd=begins,
            value_to_usd=ends,
            discount_fraction=inputs.discount_rate(),
            hours_h=inputs.period_h,
            year_h=inputs.year_h,
        ),
        sale_usd=sale_of(begins),
        at=at,
        sale_of=sale_of,
    )
