"""What nodes that stand already cost, emit, bring and break as they age, and what moving them takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon.attribution import lifetime_h
from planner.inputs.resolved import HOURS_PER_YEAR, Inputs
from planner.inputs.scenario import Cohort, Move
from planner.physics.equations.ownership import node_failure_rate_per_node_h
from planner.physics.nodes import Nodes
from planner.physics.second_life import SecondLife, second_life
from planner.physics.value import Value, standing_value
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, pick, rows


def extra_parts_usd(
    *,
    failure_rate_per_node_h: Column,
    usual_failure_rate_per_node_h: Column,
    hours_h: Column,
    replacement_fraction: Column,
    price_usd: Column,
    accelerators: Column,
) -> Column:
    """Money for the parts that failures use up beyond those that maintenance is priced for, for one node.

    X = (r - r_0) * hours * f * P / n

    r_0 is the rate at the end of the usual life, up to which the share of the price for maintenance covers
    parts. A part is one accelerator with its share of the server.

    Source: as for the carbon of replaced parts; Kokolis et al., arXiv 2410.21680 (swaps against failures).
    """
    beyond = np.subtract(failure_rate_per_node_h, usual_failure_rate_per_node_h)
    return beyond * hours_h * replacement_fraction * price_usd / accelerators


def aged_replacement_kgco2e(
    *, replacement_kgco2e: Column, failure_rate_per_node_h: Column, usual_failure_rate_per_node_h: Column
) -> Column:
    """Carbon of replaced parts as nodes age beyond their life.

    R' = R * r / r_0

    Source: parts are replaced in proportion to failures.
    """
    return replacement_kgco2e * np.divide(failure_rate_per_node_h, usual_failure_rate_per_node_h)


def up_fraction(
    *, failure_rate_per_node_h: Column, usual_failure_rate_per_node_h: Column, repair_h: Column
) -> Column:
    """Share of standing nodes that is not down beyond what spares are made for.

    A = 1 - (r R / (1 + r R) - r_0 R / (1 + r_0 R))

    The spares of a node group cover the failures of nodes within their life.

    Source: steady state of failure and repair.
    """
    down, covered = (
        np.multiply(rate, repair_h) / (1.0 + np.multiply(rate, repair_h))
        for rate in (failure_rate_per_node_h, usual_failure_rate_per_node_h)
    )
    return 1.0 - (down - covered)


def spread_fraction(*, lifetime_h: Column, age_h: Column, hours_h: Column) -> Column:
    """Share of a period that lies within the life over which the making of a standing node is spread.

    f = min(1, max(0, (L - a) / t))

    a is the age at the start of the period, t the hours of it. So the shares of all periods sum to what the
    node took to make, and no more.

    Source: GSF, "Software Carbon Intensity", ISO/IEC 21031:2024 (a share of the expected life).
    """
    result: Column = np.clip(np.subtract(lifetime_h, age_h) / np.asarray(hours_h), 0.0, 1.0)
    return result


@dataclass(frozen=True)
class Moving:
    """Ways to move, one row (M) for each move of each cohort that it may carry."""

    entry: NDArray[np.intp]  # of the scenario's moves
    from_cohort: NDArray[np.intp]
    to_cohort: NDArray[np.intp]
    lead_periods: NDArray[np.intp]
    usd: Traced
    kgco2e: Traced
    away_fraction: NDArray[np.float64]  # (M, T) of the period of arrival, for those that leave in t


@dataclass(frozen=True)
class Standing:
    """Columns by cohort (H) or by cohort and period (H, T): the fleet, then what each move makes of it."""

    home: NDArray[np.intp]  # entry of the fleet that it is, or comes from
    node_group: NDArray[np.intp]
    nodes: NDArray[np.intp]
    must_retire_by: NDArray[np.intp]
    may_retire: NDArray[np.bool_]  # by period
    keep_usd: Traced
    capital_usd: Traced | None  # None where money is counted when it is spent
    keep_kgco2e: Traced
    spread_fraction: Traced  # of a period in which making is carried
    retire_usd: Traced | None
    value: Value | None
    available_fraction: Traced
    beyond_life_h: NDArray[np.float64]  # of each entry of the fleet, by period
    moving: Moving | None
    second_life: SecondLife | None


def standing_columns(inputs: Inputs, nodes: Nodes) -> Standing:
    """Every coefficient of keeping, retiring and moving what stands."""
    fleet = inputs.scenario.fleet
    names, sites = [sku.name for sku in inputs.skus], [site.name for site in inputs.scenario.sites]
    ways = [
        (m, h) for m, move in enumerate(inputs.scenario.moves) for h, c in enumerate(fleet) if moves(move, c)
    ]
    home = np.array([*range(len(fleet)), *(h for _, h in ways)], dtype=np.intp)
    places = [c.site for c in fleet] + [inputs.scenario.moves[m].to for m, _ in ways]
    group = np.array(
        [
            inputs.node_groups.index((names.index(fleet[h].sku), sites.index(site)))
            for h, site in zip(home, places, strict=True)
        ],
        dtype=np.intp,
    )
    keep_usd, keep_kgco2e, available = _keeping(inputs, nodes, home, group)
    cash = inputs.scenario.policy.objective == "cash"
    value = standing_value(inputs, home) if len(home) else None
    held = keep_usd if cash or value is None else (keep_usd + value.capital_usd).named("held_usd")
    never = inputs.scenario.policy.retirement == "none"
    ends = np.array([_last_period(inputs, fleet[h]) for h in home], dtype=np.intp)
    return Standing(
        home=home,
        node_group=group,
        nodes=np.array([c.nodes for c in fleet] + [0] * len(ways), dtype=np.intp),
        must_retire_by=np.full(len(home), inputs.periods) if never else ends,
        may_retire=_may_retire(inputs, ends),
        keep_usd=keep_usd,
        capital_usd=None if cash or value is None else value.capital_usd,
        keep_kgco2e=keep_kgco2e,
        spread_fraction=_spread(inputs, home),
        retire_usd=None if value is None else _proceeds(inputs, home, value) if cash else value.sale_usd,
        value=value,
        available_fraction=available,
        beyond_life_h=_beyond_life_h(inputs),
        moving=_moving(inputs, held, ways) if ways else None,
        second_life=second_life(inputs, nodes, home, group, value),
    )


def moves(move: Move, cohort: Cohort) -> bool:
    """Whether a move may carry a cohort."""
    return cohort.site == move.origin and move.sku in (None, cohort.sku)


def _end_h(inputs: Inputs, cohort: Cohort, age_y: float) -> float:
    """Hours from the horizon's start to an age."""
    return inputs.scenario.horizon.hours_from_start(cohort.in_service) + age_y * HOURS_PER_YEAR


def _last_period(inputs: Inputs, cohort: Cohort) -> int:
    """The first period that ends after the end of life, in which they may no longer serve."""
    if cohort.life_y is None:
        return inputs.periods
    end = _end_h(inputs, cohort, cohort.extend_to_y or cohort.life_y)
    return int(np.count_nonzero(inputs.period_end_h.value[0] <= end))


def _keeping(
    inputs: Inputs, nodes: Nodes, home: NDArray[np.intp], group: NDArray[np.intp]
) -> tuple[Traced, Traced, Traced]:
    """Money and carbon of keeping, and the share that is up; they age on where their life is extended."""
    fleet, first = inputs.scenario.fleet, group[home]
    usd, kgco2e = rows(nodes.kept_usd, first), rows(nodes.kept_kgco2e, first)
    if all(cohort.extend_to_y is None for cohort in fleet):
        return usd, kgco2e, chosen("available_fraction", np.ones((len(home), 1)), "no life is extended")
    usual_age, age = _ages_y(inputs)
    accelerators, hours = rows(nodes.accelerators, first), inputs.period_h

    def rate(ages_y: NDArray[np.float64], reason: str) -> Traced:
        return derive(
            node_failure_rate_per_node_h,
            reference_rate_per_node_h=inputs.failure_rate(),
            accelerators=accelerators,
            reference_accelerators=inputs.reference_accelerators(),
            ageing_fraction_per_y=inputs.fact("reliability.ageing"),
            age_y=chosen("age_y", ages_y[home], reason),
        )

    rates = {
        "failure_rate_per_node_h": rate(age, "in the middle of the period"),
        "usual_failure_rate_per_node_h": rate(usual_age, "at the end of the life, or now where that is over"),
    }
    parts = derive(
        extra_parts_usd,
        **rates,
        hours_h=hours,
        price_usd=rows(nodes.price_usd, first),
        replacement_fraction=inputs.fact("reliability.replacement_fraction"),
        accelerators=accelerators,
    )
    each = [
        chosen("extension_usd_per_h", 0.0, "none is stated")
        if c.extension_usd_per_node_h is None
        else inputs.money(f"fleet[{i}].extension_cost", c.extension_usd_per_node_h, "USD/h")
        for i, c in enumerate(fleet)
    ]
    beyond = chosen("beyond_life_h", _beyond_life_h(inputs)[home], "hours of the period past the stated life")
    extension = (pick(each, home[:, None]) * beyond).named(
        "extension_usd", "Money for support of a node past the usual life, priced by time"
    )
    return (
        (usd + parts + extension).named("aged_kept_usd", "Money for keeping an ageing node"),
        derive(aged_replacement_kgco2e, replacement_kgco2e=kgco2e, **rates),
        derive(up_fraction, **rates, repair_h=inputs.repair()),
    )


def _spread(inputs: Inputs, home: NDArray[np.intp]) -> Traced:
    """Share of each period in which a cohort still carries its making (H, T)."""
    horizon = inputs.scenario.horizon
    age_h = np.array([-horizon.hours_from_start(c.in_service) for c in inputs.scenario.fleet])
    life_y = inputs.yours("policy.node_life", inputs.scenario.policy.node_life_y, "y")
    return derive(
        spread_fraction,
        lifetime_h=derive(lifetime_h, lifetime_y=life_y),
        age_h=chosen(
            "age_h", age_h[home][:, None] + inputs.period_start_h.value, "at the start of the period"
        ),
        hours_h=inputs.period_h,
    )


def _ages_y(inputs: Inputs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Age of each entry of the fleet that upkeep is made for (H, 1), and in mid-period beyond it (H, T)."""
    fleet, start = inputs.scenario.fleet, inputs.scenario.horizon.start
    at_start = np.array([(start - c.in_service).days / 365.25 for c in fleet])[:, None]
    middle = (inputs.period_start_h.value + inputs.period_end_h.value) / 2.0
    life = np.array([math.inf if c.extend_to_y is None else float(c.life_y or 0.0) for c in fleet])[:, None]
    usual = np.where(np.isinf(life), at_start, np.maximum(at_start, life))
    ahead = at_start + middle / HOURS_PER_YEAR
    return usual, np.where(np.isinf(life), at_start, np.maximum(usual, ahead))


def _beyond_life_h(inputs: Inputs) -> NDArray[np.float64]:
    """Hours of each period past the life of each entry of the fleet (H, T)."""
    ends = np.array(
        [math.inf if c.life_y is None else _end_h(inputs, c, c.life_y) for c in inputs.scenario.fleet]
    )[:, None]
    hours: NDArray[np.float64] = np.clip(inputs.period_end_h.value - ends, 0.0, inputs.period_h.value)
    return hours


def _may_retire(inputs: Inputs, ends: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether the policy lets nodes go at the start of a period (H, T)."""
    allowed = inputs.scenario.policy.retirement
    at_end = np.arange(inputs.periods) >= ends[:, None]
    return np.full(at_end.shape, allowed == "allowed") | (at_end & (allowed != "none"))


def _proceeds(inputs: Inputs, home: NDArray[np.intp], value: Value) -> Traced | None:
    """Money when it is earned: of the nodes whose resale is stated, none of the others."""
    stated = np.array([inputs.scenario.fleet[h].resale_usd is not None for h in home])
    if not stated.any():
        return None
    counted = chosen("counted", stated[:, None].astype(float), "it is stated what a node brings", "1")
    return ((value.sale_usd - value.usd) * counted).named("retirement_usd")


def _moving(inputs: Inputs, held_usd: Traced, ways: list[tuple[int, int]]) -> Moving:
    scenario = inputs.scenario
    entry, origin = (np.array(column, dtype=np.intp) for column in zip(*ways, strict=True))
    downtime = np.array([scenario.moves[m].downtime_h for m in entry])
    lead = np.floor(downtime / min(scenario.horizon.hours)).astype(np.intp)
    cost = [inputs.money(f"moves[{m}].cost", move.cost_usd, "USD") for m, move in enumerate(scenario.moves)]
    carbon = [_carriage(inputs, m, scenario.fleet[h].sku) for m, h in ways]
    return Moving(
        entry=entry,
        from_cohort=origin,
        to_cohort=len(scenario.fleet) + np.arange(len(ways)),
        lead_periods=lead,
        usd=(
            pick(cost, entry[:, None])
            + chosen("lead_periods", lead[:, None].astype(float), "downtime in whole periods")
            * rows(held_usd, origin)
        ).named(
            "moving_usd",
            "Money for moving a node: carriage, and keeping it without use in whole periods under way",
        ),
        kgco2e=pick(carbon, np.arange(len(ways))[:, None]),
        away_fraction=_away_fraction(inputs, downtime, lead),
    )


def _away_fraction(
    inputs: Inputs, downtime_h: NDArray[np.float64], lead_periods: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Of the period in which nodes arrive that leave in t, the share before they do; 0 after the end (M, T).

    w[m,t] = (downtime[m] - (start[t+lead[m]] - start[t])) / hours[t+lead[m]], and 0 where that is below
    """
    start, hours = inputs.period_start_h.value[0], inputs.period_h.value[0]
    away = np.zeros((len(downtime_h), inputs.periods))
    for m, (downtime, lead) in enumerate(zip(downtime_h, lead_periods, strict=True)):
        stays = max(inputs.periods - int(lead), 0)
        passed = start[lead:] - start[:stays]
        away[m, :stays] = np.maximum(downtime - passed, 0.0) / hours[lead:]
    return away


def _carriage(inputs: Inputs, m: int, sku: str) -> Traced:
    """Carbon of carrying one node of a SKU, as stated or by its mass and the way."""
    move = inputs.scenario.moves[m]
    if move.carbon_kgco2e is not None:
        return inputs.yours(f"moves[{m}].carbon", move.carbon_kgco2e, "kgCO2e")
    own = f"server.{inputs.catalogue.node(sku).server}.mass"
    mass = inputs.fact(own if inputs.catalogue.has(own) else "transport.server_mass")
    if move.distance_km is None:
        distance = inputs.fact("transport.truck.distance")
    else:
        distance = inputs.yours(f"moves[{m}].distance", move.distance_km, "km")
    carried = mass * distance * inputs.fact("transport.truck.intensity")
    return carried.named("carriage_kgco2e", "Carbon of carrying a node by road")
