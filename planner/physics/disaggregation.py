"""Services that read prompts on some replicas and write answers on others: units of whole replicas of both.

What reads is a replica whose answers are one token long, what writes one that knows its prompts: both by the
law of replicas that do both. A unit is bought and placed as one, on one SKU at one site; the caches of its
requests cross the network ports of its accelerators.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.performance.bundles import Guesses, Requests
from planner.performance.disaggregation import (
    Pair,
    best_pairs,
    dealt_scv_ratio,
    handover_target_s,
    kv_transfer_s,
    reading_target_s,
    shared_per_s,
    unit_accelerator_kw,
    unit_capacity,
)
from planner.performance.engine import attended_tokens
from planner.performance.memory import kv_cache_gb_per_token
from planner.physics.engine_law import EngineLaw, engine_law
from planner.physics.power_caps import Modes
from planner.physics.serving_options import (
    UNIT_COLUMNS,
    ServingCandidates,
    requests_of,
    served_models,
    split_state_gb,
)
from planner.physics.training_options import UNCAPPED
from planner.trace.columns import Column, Indices
from planner.trace.quantities import Parts, Traced, chosen, derive, derive_parts, each_row, rows

for _function in (dealt_scv_ratio, unit_capacity, unit_accelerator_kw, shared_per_s):
    each_row(_function)

MOST = 6  # replicas of one kind in a unit
WHOLE = "the cache is sent after the prompt, so that its whole way is waited for"
CALM = chosen("arrival_scv_ratio", 1.0, "Poisson, to compare units")


@dataclass(frozen=True)
class CacheWay:
    """How long the cache of a prompt takes from who reads it to who writes, and the ports of each."""

    transfer_s: Traced  # of a mean prompt
    longest_s: Traced  # of the longest class of prompts
    sending_s: Traced
    receiving_s: Traced

    def some(self, index: Indices) -> CacheWay:
        """Some rows."""
        return CacheWay(**{f.name: rows(getattr(self, f.name), index) for f in fields(self)})


@dataclass(frozen=True)
class DisaggregatedLaw:
    """What units of a service do at any load; one row for each."""

    reading: EngineLaw
    writing: EngineLaw
    whole: EngineLaw  # of the requests as they are, for the peak
    readers: Traced
    writers: Traced
    way: CacheWay

    @property
    def largest_batch(self) -> Traced:
        """Requests that the replicas of a unit that write hold together."""
        return (self.writing.largest_batch * self.writers).named("batch")

    def capacity(self, arrival_scv: Traced, index: Indices | None = None) -> Parts:
        """Planned load and latencies there; of some rows where `index` says which."""
        counts = {"readers": self.readers, "writers": self.writers}
        times = {name: getattr(self.way, name) for name in ("transfer_s", "sending_s", "receiving_s")}
        if index is not None:
            counts, times = ({n: rows(one, index) for n, one in each.items()} for each in (counts, times))
        reads, writes = (
            law.capacity(derive(dealt_scv_ratio, arrival_scv_ratio=arrival_scv, replicas=count), index)
            for law, count in ((self.reading, counts["readers"]), (self.writing, counts["writers"]))
        )
        return derive_parts(
            unit_capacity,
            **counts,
            **times,
            reading_limit_per_s=reads.limit_requests_per_s,
            writing_limit_per_s=writes.limit_requests_per_s,
            reading_ttft_s=reads.ttft_s,
            reading_wait_s=reads.wait_s,
            writing_tpot_s=writes.tpot_s,
            writing_running=writes.running,
            utilisation_fraction=self.reading.arguments["utilisation_fraction"],
        )

    @property
    def service(self) -> Indices:
        """The service of each row."""
        return self.reading.service

    def pooled(self, units: Traced) -> DisaggregatedLaw:
        """The same where the replicas of each kind in so many units take requests from one queue."""
        readers, writers = (
            (units * count).named(
                "replicas_of_units", "Replicas of one kind in some units, which take requests from one queue"
            )
            for count in (self.readers, self.writers)
        )
        return replace(self, reading=self.reading.pooled(readers), writing=self.writing.pooled(writers))

    def slowed(self, modes: Modes, arrival_scv: Traced) -> DisaggregatedLaw:
        """The same with lower clocks of the replicas that write: those that read want theirs."""
        shared = derive(dealt_scv_ratio, arrival_scv_ratio=arrival_scv, replicas=self.writers)
        return replace(self, writing=self.writing.slowed(modes, shared))

    def accelerator_kw(self, arrival_scv: Traced, rate_per_s: Traced) -> Traced:
        """Mean power of an accelerator of a unit at a load or several (last axis)."""
        reads, writes = (
            law.accelerator_kw(arrival_scv, derive(shared_per_s, rate_per_s=rate_per_s, replicas=count))
            for law, count in ((self.reading, self.readers), (self.writing, self.writers))
        )
        return derive(
            unit_accelerator_kw,
            readers=self.readers,
            writers=self.writers,
            reading_accelerators=_whole(self.reading.size, "of a replica that reads"),
            writing_accelerators=_whole(self.writing.size, "of a replica that writes"),
            reading_kw=reads,
            writing_kw=writes,
        )

    def check(self, limit_per_s: NDArray[np.float64]) -> None:
        """Refuse a load beyond the dense peak."""
        self.whole.check(limit_per_s)


def disaggregated_law(
    inputs: Inputs, service: Indices, sku: Indices, size: Indices, unit: Indices
) -> DisaggregatedLaw:
    """The law of units of services on SKUs; `unit` has a row of `ServingCandidates.unit` for each."""
    readers, *reads = unit[:, :4].T
    writers, *writes = unit[:, 4:].T
    requests = requests_of(inputs, service)
    reading = engine_law(inputs, service, sku, reads[0], reads[1], reads[2], prompts_alone(requests))
    writing = engine_law(inputs, service, sku, writes[0], writes[1], writes[2], requests)
    way = cache_way(inputs, service, ports_of(*reads[:2]), ports_of(*writes[:2]), sku, sku)
    return DisaggregatedLaw(
        reading=in_less_time(reading, way),
        writing=knowing_prompts(writing),
        whole=replace(writing, size=size),
        readers=chosen("readers", readers.astype(float), "enumerated: replicas that read, of a unit"),
        writers=chosen("writers", writers.astype(float), "enumerated: replicas that write, of a unit"),
        way=way,
    )


def disaggregated_units(inputs: Inputs, every: ServingCandidates) -> ServingCandidates:
    """Units on every node group: of each size the one that carries most, where that may save accelerators.

    Args:
        inputs: the inputs.
        every: layouts of replicas of services that read and write apart.
    """
    sku_of = inputs.node_group_sku[every.node_group]
    found = list[tuple[int, int, int, int, float, tuple[int, ...]]]()
    keys = np.stack([every.service, sku_of])
    for i, k in np.unique(keys, axis=1).T.tolist():
        own = np.flatnonzero((every.service == i) & (sku_of == k))
        groups = np.unique(every.node_group[own]).tolist()
        clocks = np.unique(every.clock_fraction[own]).tolist()
        one = (every.node_group[own] == groups[0]) & (every.clock_fraction[own] == clocks[0])
        for size, batch, unit in _units(inputs, every.some(own[one]), k):
            found += [(i, p, size, batch, clock, unit) for p in groups for clock in clocks]
    service, group, size_, batch_ = (np.array([one[c] for one in found], dtype=np.intp) for c in range(4))
    alone = np.ones(len(found), dtype=np.intp)
    return ServingCandidates(
        service=service,
        node_group=group,
        accelerators=size_,
        groups=alone,
        stages=alone.copy(),
        batch=batch_,
        power_cap_fraction=np.full(len(found), UNCAPPED),
        clock_fraction=np.array([one[4] for one in found], dtype=float),
        unit=np.array([one[5] for one in found], dtype=np.intp).reshape(-1, UNIT_COLUMNS),
    )


def _units(inputs: Inputs, layouts: ServingCandidates, sku: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """Units of one service on one SKU: accelerators, requests that are held, and a row of `unit`."""
    many, columns = len(layouts), (layouts.accelerators, layouts.groups, layouts.stages)
    requests, skus = requests_of(inputs, layouts.service), np.full(many, sku, dtype=np.intp)
    size, groups, stages = columns
    writing = knowing_prompts(engine_law(inputs, layouts.service, skus, size, groups, stages, requests))
    r, w = (one.ravel() for one in np.meshgrid(np.arange(many), np.arange(many), indexing="ij"))
    service, prompts = layouts.service[r], prompts_alone(requests_of(inputs, layouts.service[r]))
    reading = engine_law(inputs, service, skus[r], size[r], groups[r], stages[r], prompts)
    ports = ports_of(size, groups)
    way = cache_way(inputs, service, ports[r], ports[w], skus[r], skus[r])
    carried = np.asarray(in_less_time(reading, way).capacity(CALM).requests_per_s.value)
    takes = np.asarray(writing.capacity(CALM).requests_per_s.value)
    planned = np.asarray(reading.arguments["utilisation_fraction"].value)
    passed = np.array([planned / np.asarray(one.value) for one in (way.sending_s, way.receiving_s)])
    pairs = best_pairs(
        reading_per_s=carried.reshape(many, many),
        reading_accelerators=size,
        writing_per_s=takes,
        writing_accelerators=size,
        most=MOST,
        wanted_per_s=max(inputs.scenario.services[int(service[0])].peak_requests_per_s),
        ports_per_s=passed.reshape(2, many, many),
    ) or [Pair(1, 0, 1, 0)]  # which a plan then says is too slow
    return [
        (
            int(one.readers * size[one.reading] + one.writers * size[one.writing]),
            int(one.writers * layouts.batch[one.writing]),
            (
                *(one.readers, *(int(column[one.reading]) for column in columns)),
                *(one.writers, *(int(column[one.writing]) for column in columns)),
            ),
        )
        for one in pairs
    ]


def cache_way(
    inputs: Inputs, service: Indices, sends: Indices, receives: Indices, sku: Indices, other_sku: Indices
) -> CacheWay:
    """The way of a cache between replicas with so many ports each, over the slower of both ends."""
    model, requests = served_models(inputs, service, sku), requests_of(inputs, service)
    bandwidth = inputs.accelerator("network_bandwidth")
    network, theirs = inputs.of_sku(bandwidth, sku), inputs.of_sku(bandwidth, other_sku)
    tokens = derive(attended_tokens, model=model, context_tokens=requests.input_tokens)
    longest = derive(
        attended_tokens,
        model=model,
        context_tokens=derive(
            longest_tokens,
            input_tokens=requests.input_tokens,
            input_ratio=requests.input_ratio,
            share_fraction=requests.share_fraction,
        ),
    )

    def takes(input_tokens: Traced, ports: Indices, network_gb_per_s: Traced) -> Traced:
        split = chosen("tp", ports.astype(float), "accelerators that hold a part of a cache each")
        return derive(
            kv_transfer_s,
            input_tokens=input_tokens,
            kv_cache_gb_per_token=derive(
                kv_cache_gb_per_token,
                tp=split,
                layers=model.layers,
                kv_heads=model.kv_heads,
                head_dim=model.head_dim,
                kv_bytes=model.kv_bytes,
            ),
            state_gb=derive(split_state_gb, state_bytes=model.state_bytes, tp=split),
            network_gb_per_s=network_gb_per_s,
            latency_s=inputs.fact("performance.training.collective_latency"),
            exposed_fraction=chosen("exposed_fraction", 1.0, WHOLE),
        )

    mean, most = (
        derive(slower_s, sending_s=takes(one, sends, network), receiving_s=takes(one, receives, theirs))
        for one in (tokens, longest)
    )
    return CacheWay(mean, most, takes(tokens, sends, network), takes(tokens, receives, theirs))


def in_less_time(law: EngineLaw, way: CacheWay) -> EngineLaw:
    """The law of what reads, with the time to the first token that the way of the cache leaves."""
    targets = law.arguments["targets"]
    left = derive(reading_target_s, ttft_target_s=targets.ttft_target_s, transfer_s=way.longest_s)
    return replace(law, arguments={**law.arguments, "targets": replace(targets, ttft_target_s=left)})


def knowing_prompts(law: EngineLaw) -> EngineLaw:
    """The law of what writes: prompts are known, and the second token comes within the handover."""
    targets, many = law.arguments["targets"], len(law.service)
    none = chosen("read_fraction", np.zeros(many), "prompts come as caches from the replicas that read them")
    guesses = law.arguments.get("guesses")
    if guesses is None:
        guesses = Guesses(
            draft_tokens=chosen("draft_tokens", np.zeros(many), "no token is guessed"),
            accepted_tokens=chosen("accepted_tokens", np.ones(many), "a token for each step"),
        )
    soon = derive(
        handover_target_s, tpot_target_s=targets.tpot_target_s, accepted_tokens=guesses.accepted_tokens
    )
    return replace(
        law,
        arguments={
            **law.arguments,
            "guesses": replace(guesses, read_fraction=none),
            "targets": replace(targets, ttft_target_s=soon),
        },
    )


def prompts_alone(requests: Requests) -> Requests:
    """The prompts of requests, each of which ends with its first token."""
    one = chosen("output_tokens", np.ones(np.shape(requests.input_tokens.value)), "the first token alone")
    alike = chosen("output_ratio", np.ones(np.shape(requests.output_ratio.value)), "one token in each class")
    spread = chosen("output_scv_ratio", np.ones(np.shape(alike.value)), "one token in each class")
    return replace(requests, output_tokens=one, output_ratio=alike, output_scv_ratio=spread)


def ports_of(accelerators: Indices, groups: Indices) -> Indices:
    """Accelerators of a replica that hold a part each of the cache of a request: those of one group."""
    result: Indices = accelerators // groups
    return result


def _whole(size: Indices, said: str) -> Traced:
    return chosen("accelerators", size.astype(float), f"enumerated: accelerators {said}")


def longest_tokens(*, input_tokens: Column, input_ratio: Column, share_fraction: Column) -> Column:
    """Mean prompt of the class with the longest ones.

    i_max = i max_j r_j over classes of any request

    Source: definition.
    """
    ratio = np.where(np.asarray(share_fraction) > 0, input_ratio, 0.0)
    longest: NDArray[np.float64] = np.multiply(input_tokens, ratio.max(axis=-1))
    return longest


def slower_s(*, sending_s: Column, receiving_s: Column) -> Column:
    """Time of a cache between two ends: that of the slower one.

    t = max(t_r, t_w)

    Source: definition.
    """
    return np.maximum(sending_s, receiving_s)
