"""Which replicas exist at all: service x node group x size and layout x power cap, and what each holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.performance.bundles import Bundle
from planner.performance.capacity import Requests
from planner.performance.engine import Transformer, attended_tokens
from planner.performance.memory import kv_cache_gb_per_token, largest_batch, replica_weights_gb
from planner.performance.mix import class_context_tokens
from planner.physics.engines import engine_batch_limit, engine_of, served_model
from planner.physics.training_options import (
    Dropped,
    Indices,
    allowed,
    is_mixture,
    link_domain,
    power_caps,
    without_precision,
)
from planner.trace.quantities import Traced, chosen, derive, pick, rows

Column = float | NDArray[Any]

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
    """Columns over service x group x accelerators of a replica x layout x power cap, with the batch of each.

    `groups` share attention among `accelerators / groups` each; experts lie on all accelerators.
    """

    service: Indices
    node_group: Indices
    accelerators: Indices
    groups: Indices
    batch: Indices
    power_cap_fraction: NDArray[np.float64]

    def __len__(self) -> int:
        """How many candidates there are."""
        return len(self.service)

    def some(self, rows: NDArray[Any]) -> ServingCandidates:
        """Some of them, in this order."""
        return ServingCandidates(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def possible_layouts(
    inputs: Inputs, sizes: Sequence[int] = SPLITS
) -> tuple[ServingCandidates, list[Dropped]]:
    """Every service on every node group it may use, in every size and layout whose memory holds a request."""
    tried: list[tuple[int, int, int, int, int, float]] = []
    dropped: dict[tuple[int, int, int], Dropped] = {}
    services = inputs.scenario.services
    for i, service in enumerate(services):
        for p, (k, s) in enumerate(inputs.node_groups):
            if not allowed(inputs, service, k, s):
                continue
            # A replica may span trays of one rack: fast links join them.
            most = int(max(inputs.server("accelerators")[k].value, link_domain(inputs, k).value))
            for size in (n for n in sizes if n <= most):
                reasons = {
                    groups: _not_split(inputs, service, k, size // groups)
                    for groups in _groups(inputs, service, size)
                }
                able = [groups for groups, reason in reasons.items() if not reason]
                tried += [
                    (i, p, size, groups, k, cap) for groups in able for cap in power_caps(inputs, service, k)
                ]
                if not able:
                    dropped[i, k, size] = _unsplit(inputs, i, k, size, next(iter(reasons.values())))
    if not tried:
        none = np.zeros(0, dtype=np.intp)
        return ServingCandidates(none, none, none, none, none, np.zeros(0)), list(dropped.values())
    *columns, caps = zip(*tried, strict=True)
    service_, node_group, size_, groups_, sku = (np.array(column, dtype=np.intp) for column in columns)
    tp, dp = layout_columns(size_, groups_)
    held = held_requests(inputs, service_, sku, tp, dp)
    # Of each group; a replica holds so many times its groups.
    batch = np.asarray(held.value, dtype=np.intp)
    for i, _, size, _, k, _ in (tried[row] for row in np.flatnonzero(batch < 1)):
        reason = "its weights and one request do not fit in the memory"
        dropped[i, k, size] = _unsplit(inputs, i, k, size, reason)
    fits = batch >= 1
    every = ServingCandidates(service_, node_group, size_, groups_, batch * groups_, np.array(caps))
    for row in np.flatnonzero(fits):
        dropped.pop((int(service_[row]), int(sku[row]), int(size_[row])), None)
    return every.some(fits), list(dropped.values())


def layout_columns(accelerators: Indices, groups: Indices) -> tuple[Traced, Traced]:
    """Accelerators that share attention, and groups of them, as columns."""
    tp = chosen("tp", (accelerators // groups).astype(float), "enumerated: accelerators that share attention")
    return tp, chosen("dp", groups.astype(float), "enumerated: groups that share the experts")


def _groups(inputs: Inputs, service: Service, accelerators: int) -> tuple[int, ...]:
    """Ways to lay out a replica: a dense model shares all; of a mixture groups may repeat attention."""
    if not is_mixture(inputs, service.model) or accelerators == 1:
        return (1,)
    return tuple(n for n in range(1, accelerators + 1) if accelerators % n == 0)


def served_models(inputs: Inputs, service: Indices) -> Transformer:
    """The models of a column of services, as engines hold them."""
    models = [
        served_model(inputs, one.model, one.precision, one.cache_precision)
        for one in inputs.scenario.services
    ]
    return stacked(models, service)


def stacked(bundles: Sequence[Bundle], index: Indices) -> Bundle:
    """One bundle of columns from a bundle for each kind and the kind of each row."""
    first = bundles[0]
    parts = {f.name: [getattr(one, f.name) for one in bundles] for f in fields(first)}
    return type(first)(**{name: pick(items, index) for name, items in parts.items()})


def rows_of(bundle: Bundle, index: NDArray[np.intp]) -> Bundle:
    """Some rows of a bundle."""
    parts = {f.name: rows(getattr(bundle, f.name), index) for f in fields(bundle)}
    return replace(bundle, **parts)


def requests_of(inputs: Inputs, service: Indices) -> Requests:
    """Lengths of the requests of a column of services. One that writes nothing ends with its prompt."""
    lengths = [inputs.request_tokens(one) for one in inputs.scenario.services]
    prompt, answer = (pick([each[place] for each in lengths], service) for place in (0, 1))
    return Requests(
        input_tokens=prompt,
        output_tokens=derive(answer_tokens, written_tokens=answer),
        **_class_columns(inputs, service),
    )


def answer_tokens(*, written_tokens: Column) -> Column:
    """Steps that a request takes: one even where it writes nothing, which reads its prompt.

    o = max(written, 1)

    Source: definition (an embedding or a score comes with the prompt, as a first token does).
    """
    return np.maximum(written_tokens, 1.0)


def held_requests(inputs: Inputs, service: Indices, sku: Indices, tp: Traced, dp: Traced) -> Traced:
    """Requests that each group of a replica holds at once; 0 where not one fits next to the weights."""
    model, requests = served_models(inputs, service), requests_of(inputs, service)
    engines = [engine_of(inputs, inputs.scenario.services[i]) for i in service]
    return derive(
        largest_batch,
        memory_gb=inputs.of_sku(inputs.accelerator("memory"), sku),
        usable_fraction=inputs.fact("performance.serving.usable_memory"),
        weights_gb=derive(
            replica_weights_gb,
            parameters=model.parameters,
            routed_parameters=model.routed_parameters,
            weight_bytes=model.weight_bytes,
            tp=tp,
            dp=dp,
        ),
        kv_cache_gb_per_token=derive(
            kv_cache_gb_per_token,
            tp=tp,
            layers=model.layers,
            kv_heads=model.kv_heads,
            head_dim=model.head_dim,
            kv_bytes=model.kv_bytes,
        ),
        # Room for whole answers: a cache that only just holds what is written preempts half of the time.
        context_tokens=derive(
            attended_tokens,
            model=model,
            context_tokens=derive(
                class_context_tokens,
                written_fraction=chosen("written_fraction", 1.0, "room is kept for whole answers"),
                **{f.name: getattr(requests, f.name) for f in fields(requests)},
            ),
        ),
        batch_limit=engine_batch_limit(inputs, engines, sku),
    )


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
    accelerator, engine = inputs.skus[sku].accelerator, inputs.catalogue.engines[engine_of(inputs, service)]
    if reason := without_precision(inputs, accelerator, service.precision):
        return reason
    if not engine.runs_on(accelerator):
        return f"{engine.title} does not run on {accelerator}"
    heads = int(inputs.fact(f"model.{service.model}.heads").value)
    return f"{heads} heads do not divide among {tp} accelerators" if heads % tp else ""
