"""Which replicas exist at all: service x node group x size and layout x power cap, and what each holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.inputs.service_requests import request_classes, request_tokens
from planner.performance.bundles import Bundle, Requests
from planner.performance.engine import Transformer, attended_tokens
from planner.performance.memory import kv_cache_gb_per_token, largest_batch, replica_weights_gb
from planner.performance.mix import class_context_tokens
from planner.physics.batch_serving import in_batches, largest_requests, possible_units
from planner.physics.engines import engine_batch_limit, engine_of
from planner.physics.links import has_slow_links
from planner.physics.served_models import model_fact, served_model
from planner.physics.techniques import CACHE, serving_ratio
from planner.physics.training_options import (
    UNCAPPED,
    Dropped,
    allowed,
    is_mixture,
    link_domain,
    modes,
    without_precision,
)
from planner.physics.ways import service_said
from planner.trace.columns import Column, Indices
from planner.trace.quantities import Traced, chosen, derive, pick, rows

SPLITS = (1, 2, 4, 8)
NODES = (2, 4)  # that a replica may span where one is too small
UNIT_COLUMNS = 8  # of a unit: replicas, their accelerators, groups and stages, of both kinds
# How requests spread around their means, by class of prompts: the trace's joint histogram of lengths.
CLASSES = {
    "share_fraction": "share of requests in a class of prompts: data/samples of the trace, or all in one",
    "input_ratio": "prompt of a class over the mean prompt: data/samples of the trace, or 1",
    "output_ratio": "answer of a class over the mean answer: data/samples of the trace, or 1",
    "output_scv_ratio": "squared spread of answers in a class: data/samples of the trace, or exponential (1)",
}


@dataclass(frozen=True)
class ServingCandidates:
    """Columns over service x group x accelerators of a replica x layout x mode, with the batch of each.

    The layers lie on `stages` in a row, of `accelerators / stages` each; among those `groups` share
    attention, and experts lie on all of them.
    """

    service: Indices
    node_group: Indices
    accelerators: Indices
    groups: Indices
    stages: Indices
    batch: Indices
    power_cap_fraction: NDArray[np.float64]
    clock_fraction: NDArray[np.float64]
    unit: Indices  # [V, 8] of `UNIT_COLUMNS`; zeros where replicas read and write

    def __len__(self) -> int:
        """How many candidates there are."""
        return len(self.service)

    def some(self, rows: NDArray[Any]) -> ServingCandidates:
        """Some of them, in this order."""
        return ServingCandidates(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def with_more(self, more: ServingCandidates) -> ServingCandidates:
        """These, and others behind them."""
        both = {f.name: np.concatenate([getattr(self, f.name), getattr(more, f.name)]) for f in fields(self)}
        return ServingCandidates(**both)


def possible_layouts(
    inputs: Inputs, sizes: Sequence[int] = SPLITS, *, staged: bool = True
) -> tuple[ServingCandidates, list[Dropped]]:
    """Every service on every node group it may use, in every size and layout whose memory holds a request.

    A replica spans several nodes, a stage on each, only where no single one holds the model. None has stages
    unless `staged`.
    """
    tried: list[tuple[int, int, int, int, int, int, float, float]] = []
    dropped: dict[tuple[int, int, int], Dropped] = {}
    services = inputs.scenario.services
    for i, service in enumerate(services):
        if in_batches(inputs, service):
            continue
        for p, (k, s) in enumerate(inputs.node_groups):
            if not allowed(inputs, service, k, s):
                continue
            most = _most(inputs, k)
            nodes = [n * most for n in NODES if staged and most in sizes and _joins_nodes(inputs, k, most)]
            for size in (*(n for n in sizes if n <= most), *nodes):
                reasons = {
                    (groups, stages): _not_split(inputs, service, k, size // (groups * stages))
                    for groups, stages in _layouts(inputs, service, k, size, most)
                    if staged or stages == 1
                }
                able = [layout for layout, reason in reasons.items() if not reason]
                tried += [
                    (i, p, size, *layout, k, *mode) for layout in able for mode in modes(inputs, service, k)
                ]
                if not able and size <= most:
                    dropped[i, k, size] = _unsplit(inputs, i, k, size, next(iter(reasons.values())))
    units = _units(inputs, dropped)
    if not tried:
        return units, list(dropped.values())
    *columns, caps, clocks = zip(*tried, strict=True)
    service_, node_group, size_, groups_, stages_, sku = (
        np.array(column, dtype=np.intp) for column in columns
    )
    held = held_requests(inputs, service_, sku, *layout_columns(size_, groups_, stages_))
    # Of each group; a replica holds so many times its groups.
    batch = np.asarray(held.value, dtype=np.intp)
    every = ServingCandidates(
        service_,
        node_group,
        size_,
        groups_,
        stages_,
        batch * groups_ * stages_,
        np.array(caps),
        np.array(clocks),
        _one_kind(tried),
    )
    domain = np.array([_most(inputs, k) for k in range(len(inputs.skus))])[sku]
    spans, place = size_ > domain, service_ * len(inputs.node_groups) + node_group
    # The fewest nodes that hold the model, where one does not.
    fits = (batch >= 1) & ~(spans & np.isin(place, place[(batch >= 1) & ~spans]))
    fewest = np.full(int(place.max()) + 1, np.iinfo(np.intp).max)
    np.minimum.at(fewest, place[fits], size_[fits])
    fits &= ~spans | (size_ == fewest[place])
    for i, _, size, _, _, k, *_ in (tried[row] for row in np.flatnonzero((batch < 1) & ~spans)):
        reason = "its weights and one request do not fit in the memory"
        dropped[i, k, size] = _unsplit(inputs, i, k, size, reason)
    for row in np.flatnonzero(fits):
        dropped.pop((int(service_[row]), int(sku[row]), int(size_[row])), None)
    found = every.some(fits)
    return (found if not len(units) else found.with_more(units)), list(dropped.values())


def _units(inputs: Inputs, dropped: dict[tuple[int, int, int], Dropped]) -> ServingCandidates:
    """Units of the services that answer in batches, each next to the largest batch that it takes."""
    found = [
        (i, p, size, largest_requests(inputs, service))
        for i, service in enumerate(inputs.scenario.services)
        if in_batches(inputs, service)
        for p, k, size, reason in possible_units(inputs, service)
        if not _noted(inputs, dropped, i, k, size, reason)
    ]
    service_, group, size_, batch = (np.array([row[c] for row in found], dtype=np.intp) for c in range(4))
    alone, freely = np.ones(len(found), dtype=np.intp), np.full(len(found), UNCAPPED)
    return ServingCandidates(
        service_, group, size_, alone, alone.copy(), batch, freely, freely.copy(), _one_kind(found)
    )


def _one_kind(found: Sequence[object]) -> Indices:
    """Rows of candidates that are no units of two kinds of replicas."""
    return np.zeros((len(found), UNIT_COLUMNS), dtype=np.intp)


def _noted(
    inputs: Inputs, dropped: dict[tuple[int, int, int], Dropped], i: int, k: int, size: int, reason: str
) -> bool:
    """Whether a unit cannot be, which is noted."""
    if reason:
        dropped[i, k, size] = _unsplit(inputs, i, k, size, reason)
    return bool(reason)


def layout_columns(accelerators: Indices, groups: Indices, stages: Indices) -> tuple[Traced, Traced, Traced]:
    """Accelerators that share attention, groups of them, and stages of those, as columns."""
    shared = accelerators // (groups * stages)
    return (
        chosen("tp", shared.astype(float), "enumerated: accelerators that share attention"),
        chosen("dp", groups.astype(float), "enumerated: groups that share the experts"),
        chosen("pp", stages.astype(float), "enumerated: stages that hold the layers in a row"),
    )


def _most(inputs: Inputs, sku: int) -> int:
    """Accelerators that fast links join: a replica may span trays of one rack."""
    return int(max(inputs.server("accelerators")[sku].value, link_domain(inputs, sku).value))


def _joins_nodes(inputs: Inputs, sku: int, most: int) -> bool:
    """Whether replicas span whole nodes: of accelerators, not of processors, several of which share one."""
    return inputs.skus[sku].trains and inputs.server("accelerators")[sku].value == most > 1


def _layouts(
    inputs: Inputs, service: Service, sku: int, accelerators: int, most: int
) -> tuple[tuple[int, int], ...]:
    """Ways to lay out a replica: groups and stages.

    A dense model is shared by all; of a mixture groups may repeat attention. Layers lie on stages as engines
    advise: a stage a node where one node is too small, and inside a node where its links are slow or the
    heads do not divide.

    Source: vLLM, "Parallelism and Scaling".
    """
    if accelerators > most:
        return ((1, accelerators // most),)
    divisors = [n for n in range(1, accelerators + 1) if accelerators % n == 0]
    groups = divisors if is_mixture(inputs, service.model) else [1]
    heads = int(model_fact(inputs, service.model, "heads").value)
    slow = has_slow_links(inputs, inputs.skus[sku].accelerator) or heads % accelerators
    stages = divisors[1:] if slow and inputs.skus[sku].trains else []
    return (*((n, 1) for n in groups), *((1, n) for n in stages))


def served_models(inputs: Inputs, service: Indices, sku: Indices) -> Transformer:
    """The models of a column of services on SKUs, as engines hold them."""
    used, index = np.unique(service, return_inverse=True)
    models = [
        served_model(inputs, one.model, one.precision, one.cache_precision)
        for one in (inputs.scenario.services[i] for i in used)
    ]
    model = stacked(models, index.ravel())
    smaller = serving_ratio(inputs, service, sku, CACHE)
    if smaller is None:
        return model
    return replace(model, kv_bytes=(model.kv_bytes / smaller).named("kv_bytes"))


def stacked(bundles: Sequence[Bundle], index: Indices) -> Bundle:
    """One bundle of columns from a bundle for each kind and the kind of each row."""
    first = bundles[0]
    parts = {f.name: [getattr(one, f.name) for one in bundles] for f in fields(first)}
    return type(first)(**{name: pick(items, index) for name, items in parts.items()})


def rows_of(bundle: Bundle, index: NDArray[np.intp]) -> Bundle:
    """Some rows of a bundle; what a field takes where nothing is said stays as it is."""
    columns = {f.name: getattr(bundle, f.name) for f in fields(bundle)}
    parts = {name: rows(one, index) for name, one in columns.items() if isinstance(one, Traced)}
    return replace(bundle, **parts)


def requests_of(inputs: Inputs, service: Indices) -> Requests:
    """Lengths of the requests of a column of services. One that writes nothing ends with its prompt."""
    lengths = [request_tokens(inputs, one) for one in inputs.scenario.services]
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


def held_requests(
    inputs: Inputs,
    service: Indices,
    sku: Indices,
    tp: Traced,
    dp: Traced,
    pp: Traced,
    requests: Requests | None = None,
) -> Traced:
    """Requests that each group of a replica holds at once; 0 where not one fits next to the weights."""
    model = served_models(inputs, service, sku)
    requests = requests_of(inputs, service) if requests is None else requests
    engines = [engine_of(inputs, inputs.scenario.services[i]) for i in service]
    states: dict[str, Traced] = {}
    if np.any(np.asarray(model.state_bytes.value) > 0):
        states["state_gb"] = derive(split_state_gb, state_bytes=model.state_bytes, tp=tp)
    per_token = derive(
        kv_cache_gb_per_token,
        tp=tp,
        layers=model.layers,
        kv_heads=model.kv_heads,
        head_dim=model.head_dim,
        kv_bytes=model.kv_bytes,
    )
    if (cached := cached_tokens(inputs, service, requests)) is not None:
        tokens = derive(attended_tokens, model=model, context_tokens=cached)
        states["kept_gb"] = derive(kept_gb, tokens=tokens, kv_cache_gb_per_token=per_token)
    return derive(
        largest_batch,
        **states,
        memory_gb=inputs.of_sku(inputs.accelerator("memory"), sku),
        usable_fraction=inputs.fact("performance.serving.usable_memory"),
        weights_gb=derive(
            replica_weights_gb,
            parameters=model.parameters,
            routed_parameters=model.routed_parameters,
            weight_bytes=model.weight_bytes,
            tp=tp,
            dp=dp,
            pp=pp,
        ),
        kv_cache_gb_per_token=per_token,
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
        pp=pp,
    )


def hit_fractions(inputs: Inputs, service: Indices) -> Traced | None:
    """Share of prompt tokens that engines find in their prefix cache; None where no service states any."""
    services = inputs.scenario.services
    if not any(services[i].cache_hits_fraction for i in np.unique(service)):
        return None
    none = chosen("hit_fraction", 0.0, "no cache_hits are stated")
    each = [
        inputs.yours(f"services.{one.name}.cache_hits", one.cache_hits_fraction, "1")
        if one.cache_hits_fraction
        else none
        for one in services
    ]
    return pick(each, service)


def cached_tokens(inputs: Inputs, service: Indices, requests: Requests) -> Traced | None:
    """Tokens of earlier prompts that a group keeps for hits: as stated, or one prefix."""
    hits = hit_fractions(inputs, service)
    if hits is None:
        return None
    one_prefix: Traced = (requests.input_tokens * hits).named("cached_tokens")
    services = inputs.scenario.services
    stated = [services[i].cached_tokens for i in service]
    if all(one is None for one in stated):
        return one_prefix
    return pick(
        [
            one_prefix[row]
            if one is None
            else inputs.yours(f"services.{services[i].name}.cached_tokens", one, "1")
            for row, (i, one) in enumerate(zip(service.tolist(), stated, strict=True))
        ],
        np.arange(len(service)),
    )


def kept_gb(*, tokens: Column, kv_cache_gb_per_token: Column) -> Column:
    """Memory of one accelerator that cached prefixes take.

    G = n k

    Source: Zheng et al., "SGLang", NeurIPS 2024, arXiv 2312.07104 (a tree of cached prefixes).
    """
    return np.multiply(tokens, kv_cache_gb_per_token)


def split_state_gb(*, state_bytes: Column, tp: Column) -> Column:
    """What the layers with a state keep of a request on one of the accelerators that share attention.

    S = S_0 / t

    Source: definition; channels are split, as heads are.
    """
    return np.divide(state_bytes, tp) / 1e9


def _class_columns(inputs: Inputs, service: Indices) -> dict[str, Traced]:
    """Classes of prompts of each row, filled up with classes of no request where a service has fewer."""
    each = [request_classes(inputs, s) for s in inputs.scenario.services]
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
    return Dropped(f"{service_said(inputs, service)}, split over {tp}", inputs.skus[sku].name, reason)


def _not_split(inputs: Inputs, service: Service, sku: int, tp: int) -> str:
    """Why a SKU cannot run a service's model on so many accelerators, memory aside; empty where it can."""
    accelerator, engine = inputs.skus[sku].accelerator, inputs.catalogue.engines[engine_of(inputs, service)]
    if reason := without_precision(inputs, accelerator, service.precision):
        return reason
    if not engine.runs_on(accelerator):
        return f"{engine.title} does not run on {accelerator}"
    heads = int(model_fact(inputs, service.model, "heads").value)
    return f"{heads} heads do not divide among {tp} accelerators" if heads % tp else ""
