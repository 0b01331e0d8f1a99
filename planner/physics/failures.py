"""How often the nodes of a node group fail, how sure that is, and how bursts of failures add up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from planner.inputs.fits import FittedFleet
from planner.inputs.resolved import HOURS_PER_YEAR, Inputs
from planner.physics.equations.ownership import (
    down_variance_to_mean_ratio,
    node_failure_rate_per_node_h,
    rate_log_sigma,
    rate_shape,
)
from planner.trace.columns import Column
from planner.trace.quantities import Fact, Traced, chosen, derive, pick, rows

RANGE_CONFIDENCE = 0.95  # what ranges of failure rates are meant to hold, in the catalogue and in fits


def interruption_rate_per_node_h(*, taken_back_fraction: Column, month_h: Column) -> Column:
    """Interruptions of a spot node an hour, from the share of them that are taken back in a month.

    r = -ln(1 - q) / month

    Source: constant hazard; providers publish the share by class of instance.
    """
    return -np.log1p(np.negative(taken_back_fraction)) / month_h


def mean_restart_h(
    *,
    restart_h: Column,
    wait_h: Column,
    failure_rate_per_node_h: Column,
    interruption_rate_per_node_h: Column,
) -> Column:
    """Mean time until work goes on after a node stopped: another spot node has to be had first.

    t = t_restart + t_wait * r_interruption / (r_failure + r_interruption)

    The provider replaces at once what fails.

    Source: mean over causes.
    """
    stops = np.add(failure_rate_per_node_h, interruption_rate_per_node_h)
    share = np.divide(interruption_rate_per_node_h, np.where(stops > 0, stops, 1.0))
    return restart_h + wait_h * share


def stops_by_node_group(inputs: Inputs, failure_rate_per_node_h: Traced) -> Traced:
    """Stops of a node an hour in each node group: failures, and interruptions where nodes are spot."""
    if not inputs.spot.any():
        return failure_rate_per_node_h
    return (failure_rate_per_node_h + _interruptions(inputs)).named(
        "stopping_rate_per_node_h", "How often a node stops working: it fails, or it is taken back"
    )


OLDEST = "age of the oldest nodes of the node group at the horizon's start"


def restart_by_node_group(inputs: Inputs, group: NDArray[np.intp]) -> Traced:
    """Time from a stop to running again, in the shape of a column of node groups; one where none is spot."""
    restart = inputs.yours("reliability.restart", inputs.scenario.reliability.restart_h, "h")
    if not inputs.spot.any():
        return restart
    wait = [
        inputs.fact("rental.spot.wait") if spot else chosen("wait_h", 0.0, "no node is taken back")
        for spot in inputs.spot
    ]
    return rows(
        derive(
            mean_restart_h,
            restart_h=restart,
            wait_h=pick(wait, np.arange(len(wait))),
            failure_rate_per_node_h=failure_rate_by_node_group(inputs),
            interruption_rate_per_node_h=_interruptions(inputs),
        ),
        group,
    )


def _interruptions(inputs: Inputs) -> Traced:
    """Interruptions of a node an hour: as stated, by its accelerator, or as is usual; 0 if not spot."""
    month = chosen("month_h", HOURS_PER_YEAR / 12.0, "a twelfth of the mean year")
    found: list[Traced] = []
    for group, spot in enumerate(inputs.spot):
        if not spot:
            found.append(chosen("interruption_rate_per_node_h", 0.0, "no node is taken back", "1/h"))
            continue
        rental, sku = inputs.rental_of(group), inputs.skus[inputs.node_group_sku[group]]
        stated, own = rental.interruption_rate_per_node_h, f"rental.{sku.accelerator}.interruptions"
        if stated is not None:
            found.append(inputs.yours(f"rental.{rental.name}.interruption_rate", stated, "1/h"))
            continue
        usual = inputs.fact(own if inputs.has(own) else "rental.spot.interruptions")
        found.append(derive(interruption_rate_per_node_h, taken_back_fraction=usual, month_h=month))
    return pick(found, np.arange(len(found)))


def failure_rate_by_node_group(inputs: Inputs) -> Traced:
    """Failures of a node an hour in each node group; nodes bought into a group of old nodes count as old."""
    return derive(
        node_failure_rate_per_node_h,
        reference_rate_per_node_h=inputs.failure_rate(),
        accelerators=pick(inputs.server("accelerators"), inputs.node_group_sku),
        reference_accelerators=inputs.reference_accelerators(),
        ageing_fraction_per_y=inputs.fact("reliability.ageing"),
        age_y=chosen("age_y", ages_y(inputs), OLDEST),
    )


def ages_y(inputs: Inputs) -> NDArray[np.float64]:
    """Years that the oldest nodes of each node group are in service as the horizon begins."""
    start = inputs.scenario.horizon.start
    skus, sites = [sku.name for sku in inputs.skus], [site.name for site in inputs.scenario.sites]
    ages = np.zeros(len(inputs.node_groups))
    for cohort in inputs.scenario.fleet:
        at = inputs.node_groups.index((skus.index(cohort.sku), sites.index(cohort.site)))
        ages[at] = max(ages[at], (start - cohort.in_service).days / 365.25)
    return ages


def failure_rate_shape(inputs: Inputs) -> Traced | None:
    """How sure the rate is: as the log has it, by its range, else by how fleets differ; None where stated."""
    rate, fleet, fit = inputs.failure_rate(), inputs.scenario.reliability.failures, inputs.scenario.fit
    if fit is not None and fit.rate_shape is not None:
        return inputs.keep(fit.rate_shape)
    if rate.kind == "yours" and fit is None:
        return None
    spread = f"reliability.{fleet}.sigma"
    if inputs.catalogue.has(spread):
        return derive(rate_shape, log_sigma=inputs.fact(spread))
    if not (rate.low and rate.high and rate.low < rate.high):
        return derive(rate_shape, log_sigma=inputs.fact("reliability.prior.sigma"))
    sigma = derive(
        rate_log_sigma,
        low_per_node_h=chosen("low_per_node_h", rate.low, f"low end of {rate.key}"),
        high_per_node_h=chosen("high_per_node_h", rate.high, f"high end of {rate.key}"),
        confidence_fraction=chosen("confidence_fraction", RANGE_CONFIDENCE, "what such ranges hold"),
    )
    return derive(rate_shape, log_sigma=sigma)


def down_variance_to_mean(inputs: Inputs, most_nodes: int) -> Traced:
    """Variance over mean of the nodes down in a group, where 1, 2, ... and at last the most are in use."""
    ratio, fleet_nodes = measured_bursts(inputs.scenario.fit, inputs.fact)
    return derive(
        down_variance_to_mean_ratio,
        nodes=chosen("nodes", np.arange(1.0, most_nodes + 1), "enumerated: nodes in use"),
        fleet_variance_to_mean_ratio=inputs.keep(ratio),
        fleet_nodes=inputs.keep(fleet_nodes),
    )


def measured_bursts(fit: FittedFleet | None, fact: Callable[[str], Fact]) -> tuple[Fact, Fact]:
    """Variance over mean of the nodes down in a fleet, and that fleet's nodes: of the log, else published.

    One is nothing without the other: a log that lacks either lends neither.
    """
    if fit is not None and fit.variance_to_mean is not None and fit.nodes is not None:
        return fit.variance_to_mean, fit.nodes
    return fact("reliability.spares.variance_to_mean"), fact("reliability.spares.fleet_nodes")
