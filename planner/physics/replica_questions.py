"""What a replica is asked: its model, chip, engine, layout, requests and targets, in columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.performance.bundles import Guesses, Measured, Requests, Targets
from planner.physics.engines import (
    engine_constants,
    engine_of,
    engine_of_kernels,
    frame_time,
    has_one_scale,
    limits,
    served_chip,
)
from planner.physics.links import replica_layout
from planner.physics.measured_serving import measured_points
from planner.physics.pipelines import QUANTILE, answer_quantile, answer_target
from planner.physics.serving_options import (
    held_requests,
    hit_fractions,
    requests_of,
    rows_of,
    served_models,
    stacked,
)
from planner.physics.techniques import DECODE, PROMPTS, serving_ratio
from planner.trace.quantities import Traced, chosen, pick, rows

Arguments = dict[str, Any]  # of `replica_capacity`: bundles of columns, and columns


def latency_quantiles(inputs: Inputs, service: NDArray[np.intp]) -> Traced:
    """Share of first tokens in time; a column only where stages of pipelines have one of their own."""
    if not inputs.ways.quantiles:
        return inputs.fact(QUANTILE)
    return pick([answer_quantile(inputs, one) for one in inputs.scenario.services], service)


def replica_arguments(
    inputs: Inputs,
    service: NDArray[np.intp],
    sku: NDArray[np.intp],
    tp: Traced,
    dp: Traced,
    pp: Traced,
    requests: Requests | None = None,
) -> Arguments:
    """Arguments of `replica_capacity` for services on SKUs, but for the burstiness of arrivals.

    Requests other than those of the services may be given.
    """
    services = inputs.scenario.services
    pairs, index = np.unique(np.stack([service, sku]), axis=1, return_inverse=True)
    chips = [
        served_chip(
            inputs,
            inputs.skus[k].accelerator,
            services[i].precision,
            engine=engine_of_kernels(inputs, services[i].model, engine_of(inputs, services[i])),
            one_scale=has_one_scale(inputs, services[i].model, engine_of(inputs, services[i])),
        )
        for i, k in pairs.T
    ]
    engines = [engine_of(inputs, services[i]) for i in service]
    ranks = np.asarray(tp.value) * np.asarray(dp.value) * np.asarray(pp.value)
    points = measured_points(inputs, service, sku, chosen("tp", ranks, "accelerators of a replica"))
    return {
        "model": served_models(inputs, service, sku),
        "chip": stacked(chips, index.ravel()),
        "engine": engine_constants(inputs, engines, sku, pp, _frame_times(inputs, service)),
        "layout": replica_layout(inputs, sku, tp, dp, pp),
        "requests": requests_of(inputs, service) if requests is None else requests,
        "limits": limits(inputs, engines, sku, held_requests(inputs, service, sku, tp, dp, pp, requests)),
        "measured": Measured(batches=points["measured_batches"], factors=points["measured_factors"]),
        "targets": Targets(
            ttft_target_s=pick([answer_target(inputs, one) for one in services], service),
            tpot_target_s=pick([_per_token(inputs, one) for one in services], service),
            quantile_fraction=latency_quantiles(inputs, service),
            tpot_quantile_fraction=chosen(
                "tpot_quantile_fraction", 0.0, "time per token is a mean, as engines report it"
            ),
        ),
        "utilisation_fraction": inputs.fact("performance.serving.headroom"),
        **_guesses(inputs, service, sku),
    }


def _frame_times(inputs: Inputs, service: NDArray[np.intp]) -> Traced | None:
    """Time of the host for a frame of the sound of services; None where none of them hears."""
    found = [frame_time(inputs, one.model) for one in inputs.scenario.services]
    if all(found[i] is None for i in service.tolist()):
        return None
    none = chosen("frame_s", 0.0, "no sound", "s")
    return pick([none if one is None else one for one in found], service)


def _guesses(inputs: Inputs, service: NDArray[np.intp], sku: NDArray[np.intp]) -> dict[str, Guesses]:
    """What techniques and prefix caches spare a step: several tokens at once, prompts known in part; or none.

    Their range is measured with what it takes to guess and to check: no tokens are charged for it again.
    """
    at_once = serving_ratio(inputs, service, sku, DECODE)
    known = serving_ratio(inputs, service, sku, PROMPTS)
    hits = hit_fractions(inputs, service)
    if at_once is None and known is None and hits is None:
        return {}
    one = chosen("accepted_tokens", np.ones(len(service)), "a token for each step")
    whole: Traced = chosen("read_fraction", np.ones(len(service)), "prompts are read whole")
    if hits is not None:
        whole = (whole - hits).named("read_fraction", "what the prefix cache does not hold")
    return {
        "guesses": Guesses(
            draft_tokens=chosen("draft_tokens", np.zeros(len(service)), "in the range of the technique"),
            accepted_tokens=one if at_once is None else at_once,
            read_fraction=whole if known is None else (whole / known).named("read_fraction"),
        )
    }


def some_rows(arguments: Arguments, index: NDArray[np.intp]) -> Arguments:
    """Arguments of some rows."""
    return {
        name: rows(part, index) if isinstance(part, Traced) else rows_of(part, index)
        for name, part in arguments.items()
    }


def _per_token(inputs: Inputs, service: Service) -> Traced:
    """Longest time for each further token; of an answer that comes at once, that of all of it."""
    if service.per_token_s is None:
        return answer_target(inputs, service)
    return inputs.yours(f"services.{service.name}.per_token", service.per_token_s, "s")
