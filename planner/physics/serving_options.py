"""Which replicas exist at all: service x pool x split x power cap, and how many requests each holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.performance.memory import kv_cache_gb_per_token, largest_batch, serving_weights_gb
from planner.performance.mix import class_context_tokens
from planner.performance.serving import latent_head_dim
from planner.physics.training_options import (
    Dropped,
    Indices,
    allowed,
    is_mixture,
    power_caps,
    weight_bytes,
    without_precision,
)
from planner.trace.quantities import Traced, chosen, derive, pick

SPLITS = (1, 2, 4, 8)
# How requests spread around their means, by class of prompts: the trace's joint histogram of lengths.
CLASSES = {
    "share_fraction": "share of requests in a class of prompts: data/samples of the trace, or all in one",
    "input_ratio": "prompt of a class over the mean prompt: data/samples of the trace, or 1",
    "output_ratio": "answer of a class over the mean answer: data/samples of the trace, or 1",
    "output_scv_ratio": "squared spread of answers in a class: data/samples of the trace, or exponential (1)",
}


@dataclass(frozen=True)
class ServingCandidates:
    """Columns over service x pool x split (accelerators of a replica) x power cap, with the batch of each."""

    service: Indices
    pool: Indices
    tp: Indices
    batch: Indices
    power_cap_fraction: NDArray[np.float64]

    def __len__(self) -> int:
        """How many candidates there are."""
        return len(self.service)

    def some(self, rows: NDArray[Any]) -> ServingCandidates:
        """Some of them, in this order."""
        service, pool, tp, batch = (part[rows] for part in (self.service, self.pool, self.tp, self.batch))
        return ServingCandidates(service, pool, tp, batch, self.power_cap_fraction[rows])


def serving_candidates(
    inputs: Inputs, splits: Sequence[int] = SPLITS
) -> tuple[ServingCandidates, list[Dropped]]:
    """Every service on every pool it may use, at every split of its model whose memory holds a request."""
    tried: list[tuple[int, int, int, int, float]] = []
    dropped: dict[tuple[int, int, int], Dropped] = {}
    services = inputs.scenario.services
    for i, service in enumerate(services):
        for p, (k, s) in enumerate(inputs.pools):
            if not allowed(inputs, service, k, s):
                continue
            most = int(inputs.server("accelerators")[k].value)
            for tp in (t for t in splits if t <= most):
                if reason := _not_split(inputs, service, k, tp):
                    dropped[i, k, tp] = _unsplit(inputs, i, k, tp, reason)
                else:
                    tried += [(i, p, tp, k, cap) for cap in power_caps(inputs, service, k)]
    if not tried:
        none = np.zeros(0, dtype=np.intp)
        return ServingCandidates(none, none, none, none, np.zeros(0)), list(dropped.values())
    *columns, caps = zip(*tried, strict=True)
    service_, pool, split, sku = (np.array(column, dtype=np.intp) for column in columns)
    tp_ = chosen("tp", split.astype(float), "enumerated: accelerators that share the model")
    held = held_requests(inputs, served_arguments(inputs, service_), sku, tp_)
    batch = np.asarray(held.value, dtype=np.intp)
    for i, _, tp, k, _ in (tried[row] for row in np.flatnonzero(batch < 1)):
        reason = "its weights and one request do not fit in the memory"
        dropped[i, k, tp] = _unsplit(inputs, i, k, tp, reason)
    fits = batch >= 1
    every = ServingCandidates(service_, pool, split, batch, np.array(caps))
    return every.some(fits), list(dropped.values())


def served_arguments(inputs: Inputs, service: Indices) -> dict[str, Traced]:
    """What the services of a column ask of an engine: weights and shape of a model, lengths of requests."""
    services = inputs.scenario.services
    models = [_served_model(inputs, one) for one in services]
    lengths = [inputs.request_tokens(one) for one in services]
    columns = {name: pick([model[name] for model in models], service) for name in models[0]}
    for place, name in enumerate(("input_tokens", "output_tokens")):
        columns[name] = pick([each[place] for each in lengths], service)
    return columns | _class_columns(inputs, service)


def held_requests(inputs: Inputs, served: Mapping[str, Traced], sku: Indices, tp: Traced) -> Traced:
    """Requests that one replica holds at once; 0 where not one fits next to the weights."""
    return derive(
        largest_batch,
        memory_gb=inputs.of_sku(inputs.accelerator("memory"), sku),
        usable_fraction=inputs.fact("performance.serving.usable_memory"),
        weights_gb=derive(
            serving_weights_gb, tp=tp, parameters=served["parameters"], weight_bytes=served["weight_bytes"]
        ),
        kv_cache_gb_per_token=derive(
            kv_cache_gb_per_token,
            tp=tp,
            **{name: served[name] for name in ("layers", "kv_heads", "head_dim", "kv_bytes")},
        ),
        # Room for whole answers: a cache that only just holds what is written preempts half of the time.
        context_tokens=derive(
            class_context_tokens,
            written_fraction=chosen("written_fraction", 1.0, "room is kept for whole answers"),
            **{name: served[name] for name in ("input_tokens", "output_tokens", *CLASSES)},
        ),
        batch_limit=inputs.fact("performance.serving.largest_batch"),
    )


def routed_parameters(
    *, parameters: float, active_parameters: float, experts: float, experts_per_token: float
) -> float:
    """Weights that lie in experts.

    N_r = (N - N_act) / (1 - k/E)

    What a token leaves untouched lies in the experts that it does not choose.

    Source: definition of the active weights.
    """
    return (parameters - active_parameters) / (1.0 - experts_per_token / experts)


def _served_model(inputs: Inputs, service: Service) -> dict[str, Traced]:
    """Arguments of an engine's step that belong to a model: all weights are held, few of experts are met."""
    model, name = service.model, f"model.{service.model}"
    size = weight_bytes(service.precision)
    facts: dict[str, Traced] = {
        part: inputs.fact(f"{name}.{part}")
        for part in ("parameters", "active_parameters", "layers", "hidden", "kv_heads", "head_dim")
    }
    facts["weight_bytes"] = chosen("weight_bytes", size, f"bytes of one {service.precision} value")
    facts["kv_bytes"] = _cached_value(service)
    if inputs.catalogue.has(f"{name}.latent_rank"):
        facts["kv_heads"] = chosen("kv_heads", 1.0, "all heads read one latent vector")
        facts["head_dim"] = derive(
            latent_head_dim,
            latent_dims=inputs.fact(f"{name}.latent_rank"),
            rope_dims=inputs.fact(f"{name}.rotary_dim"),
        )
    if not is_mixture(inputs, model):
        none = "a dense model has no routed experts"
        counts = {"experts": 1.0, "experts_per_token": 1.0, "routed_parameters": 0.0}
        return facts | {part: chosen(part, value, none) for part, value in counts.items()}
    experts = {part: inputs.fact(f"{name}.{part}") for part in ("experts", "experts_per_token")}
    routed = derive(
        routed_parameters,
        **experts,
        **{part: facts[part] for part in ("parameters", "active_parameters")},
    )
    return facts | experts | {"routed_parameters": routed}


def _cached_value(service: Service) -> Traced:
    """Bytes of one cached value: engines keep 16 bits, whatever the weights take, by default."""
    stated = service.cache_precision
    reason = "16 bits, as engines keep it by default" if stated is None else f"bytes of one {stated} value"
    return chosen("kv_bytes", weight_bytes(stated or "bf16"), reason)


def _class_columns(inputs: Inputs, service: Indices) -> dict[str, Traced]:
    """Classes of prompts of each row, filled up with classes of no request where a service has fewer."""
    each = [inputs.request_classes(s) for s in inputs.scenario.services]
    most = max(len(classes.share_fraction) for classes in each)

    def column(name: str, filling: float) -> NDArray[np.float64]:
        filled = [
            np.pad(part, (0, most - len(part)), constant_values=filling)
            for part in (getattr(classes, name) for classes in each)
        ]
        return np.array(filled)[service]

    return {
        name: chosen(name, column(name, float(name != "share_fraction")), CLASSES[name]) for name in CLASSES
    }


def _unsplit(inputs: Inputs, service: int, sku: int, tp: int, reason: str) -> Dropped:
    name = inputs.scenario.services[service].name
    return Dropped(f"{name}, split over {tp}", inputs.skus[sku].name, reason)


def _not_split(inputs: Inputs, service: Service, sku: int, tp: int) -> str:
    """Why a SKU cannot run a service's model on so many accelerators, memory aside; empty where it can."""
    if reason := without_precision(inputs, inputs.skus[sku].accelerator, service.precision):
        return reason
    heads = int(inputs.fact(f"model.{service.model}.heads").value)
    return f"{heads} heads do not divide among {tp} accelerators" if heads % tp else ""
