"""How far off rates, demand and deliveries may be, and the headroom that a confidence asks for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.inputs.model_kinds import DIFFUSION, RECOMMENDATION, kind_of_model
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Pool, Service, TrainingJob
from planner.physics.equations.chance import demand_sigma, headroom_ratio, on_time_fraction, rate_sigma
from planner.physics.measured_serving import factors_of, rate_error
from planner.trace.quantities import Fact, Traced, chosen, derive, pick

QUARTER_H = 2191.5  # a quarter of the mean year
IN_STOCK_H = 1e6  # of slack: longer than any delay
TRAINING_ERROR = "performance.training.out_of_sample_error"


def serving_sigma(inputs: Inputs, service: Service | Pool, sku: int) -> Traced:
    """Error of the rate at which a SKU serves a service: of its own measured points, else of its kind."""
    accelerator = inputs.skus[sku].accelerator
    precision = service.number_format if isinstance(service, Pool) else service.precision
    points = factors_of(inputs.catalogue, accelerator, service.model, precision, 1)
    if points:
        worst = max((fact for _, fact in points), key=lambda fact: (fact.high or fact.value) / fact.value)
        error: Traced = chosen(
            "mean_error_fraction", (worst.high or worst.value) / worst.value - 1.0, "of the measured points"
        )
    else:
        error = rate_error(inputs, accelerator, service.model).fact
    return derive(rate_sigma, mean_error_fraction=error)


def error_key(inputs: Inputs, job: TrainingJob) -> str:
    """Key of the fact of how far off the rate of a run is, by the kind of its model."""
    kind = kind_of_model(inputs.catalogue, job.model)
    return f"performance.{kind}.rate_error" if kind in (RECOMMENDATION, DIFFUSION) else TRAINING_ERROR


def training_sigma(inputs: Inputs, sku: int, job: TrainingJob | None = None) -> Traced:
    """Error of the rate at which a SKU trains, by the published runs that no fit saw, or by calibration."""
    key = TRAINING_ERROR if job is None else error_key(inputs, job)
    accelerator = inputs.skus[sku].accelerator
    calibration = inputs.scenario.calibration
    error: Traced = inputs.fact(key)
    if key == TRAINING_ERROR and calibration is not None and accelerator in calibration.training_errors:
        worst, what = calibration.training_errors[accelerator]
        error = chosen("mean_error_fraction", worst, f"calibrated: {what}")
    return derive(rate_sigma, mean_error_fraction=error)


def pool_sigma(inputs: Inputs, pool: Pool, sku: int) -> Traced:
    """Error of the speed of a SKU: next to the reference, where a pool's need is stated in its hours."""
    if pool.in_reference_hours and inputs.skus[sku].name == pool.reference:
        return chosen("rate_sigma", 0.0, "the need is stated in its hours")
    return serving_sigma(inputs, pool, sku) if pool.answers else training_sigma(inputs, sku)


def demand_sigmas(inputs: Inputs, works: Sequence[Service] | Sequence[Pool]) -> Traced:
    """Error of the demand of services, or of pools, by period (W, T)."""
    kind = "services" if works and isinstance(works[0], Service) else "pools"
    each: list[Traced] = [
        inputs.fact("planning.demand_error")
        if one.demand_error_fraction is None
        else inputs.yours(f"{kind}.{one.name}.demand_error", one.demand_error_fraction, "1")
        for one in works
    ]
    return derive(
        demand_sigma,
        quarter_error_fraction=pick(each, np.arange(len(each))[:, None]),
        ahead_h=inputs.period_end_h,
        quarter_h=chosen("quarter_h", QUARTER_H, "a quarter of the mean year"),
        growth_exponent=inputs.fact("planning.demand_error_growth"),
    )


def confidence(inputs: Inputs) -> Fact | None:
    """The chance that the policy asks for."""
    stated = inputs.scenario.policy.confidence_fraction
    return None if stated is None else inputs.yours("policy.confidence", stated, "1")


def serving_headroom(
    inputs: Inputs, service: NDArray[np.intp], sku: NDArray[np.intp], period: NDArray[np.intp]
) -> Traced:
    """Capacity over demand that the policy asks for, of each service on a SKU in a period (rows)."""
    sure, services = confidence(inputs), inputs.scenario.services
    if sure is None or not len(service):
        return chosen("headroom_ratio", np.ones(len(service)), "the policy asks for no confidence")
    pairs, back = np.unique(np.stack([service, sku]), axis=1, return_inverse=True)
    rates = [serving_sigma(inputs, services[i], k) for i, k in pairs.T.tolist()]
    return derive(
        headroom_ratio,
        confidence_fraction=sure,
        rate_sigma=pick(rates, back.ravel()),
        demand_sigma=chosen(
            "demand_sigma",
            demand_sigmas(inputs, services).value[service, period],
            "of each service and period",
        ),
    )


def pool_headroom(inputs: Inputs, work: NDArray[np.intp], sku: NDArray[np.intp]) -> Traced:
    """Hours held over hours needed that the policy asks for, of pools on SKUs (O, T)."""
    sure, pools = confidence(inputs), inputs.scenario.pools
    if sure is None:
        return chosen(
            "headroom_ratio", np.ones((len(work), inputs.periods)), "the policy asks for no confidence"
        )
    rates = [pool_sigma(inputs, pools[w], k) for w, k in zip(work.tolist(), sku.tolist(), strict=True)]
    demand = demand_sigmas(inputs, pools)
    return derive(
        headroom_ratio,
        confidence_fraction=sure,
        rate_sigma=pick(rates, np.arange(len(rates))[:, None]),
        demand_sigma=chosen("demand_sigma", demand.value[work], "of each pool"),
    )


def delivery_slack(inputs: Inputs, sku: int, ordered: int, arrives: int) -> Traced:
    """Hours from the stated lead time of an order to the period that needs it.

    It is placed on the first day of its period, or before it where that has a day less than the lead time.
    What has no lead time is in stock: nothing delays it.
    """
    lead_h = inputs.offers[inputs.skus[sku].name].lead_time_h
    if lead_h == 0.0:
        return chosen("slack_h", IN_STOCK_H, "in stock, by a lead time of 0 d")
    starts = inputs.period_start_h.value[0]
    slack = max(float(starts[arrives] - starts[ordered] - lead_h), 0.0)
    return chosen("slack_h", slack, "from the stated lead time to the period that needs the nodes")


def delivery_chance(inputs: Inputs, slack_h: Traced) -> Traced:
    """Chance that an order is there when its nodes are needed."""
    return derive(on_time_fraction, slack_h=slack_h, late_p95_h=inputs.fact("planning.delivery_delay"))
