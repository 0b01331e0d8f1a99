"""Services whose requests are answered as a whole: recommenders, makers of images and films, vision models.

A unit (one accelerator, or several that share the tables of a recommender) takes requests in batches; what it
carries within the response time, and how busy it is, follow from `planner.performance.batches`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.model_kinds import IN_BATCHES, RECOMMENDATION, kind_of_model
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.performance.batches import (
    batch_sizes,
    batched_capacity,
    batched_in_time_fraction,
    batched_use,
)
from planner.performance.ceilings import check_ceiling
from planner.performance.power import served_generation_power_kw, served_power_kw
from planner.physics.batch_work import BatchWork, batch_work, items_together, makes_images, power_law
from planner.physics.pipelines import answer_quantile, answer_target
from planner.physics.placed_tables import imbalance_column, no_room
from planner.physics.training_options import allowed, without_precision
from planner.trace.columns import Indices
from planner.trace.quantities import Parts, Traced, chosen, derive, derive_parts, each_row, pick, rows

each_row(batched_capacity)
each_row(batched_use)

SPLITS = (1, 2, 4, 8)
GENERATION = ("busy_fraction", "memory_use_fraction", "compute_use_fraction")
NODES = (2, 4, 8)  # whole nodes that share the tables of a recommender where one does not hold them


def in_batches(inputs: Inputs, service: Service) -> bool:
    """Whether the model of a service answers as a whole."""
    return kind_of_model(inputs.catalogue, service.model) in IN_BATCHES


def unit_sizes(inputs: Inputs, service: Service, sku: int) -> tuple[int, ...]:
    """Accelerators of a unit to look at: tables may be shared, images are not."""
    if kind_of_model(inputs.catalogue, service.model) != RECOMMENDATION:
        return (1,)
    each = int(inputs.server("accelerators")[sku].value)
    whole = [each * n for n in NODES] if inputs.skus[sku].trains else []
    return (*(n for n in SPLITS if n <= each), *([] if each in SPLITS and each <= 8 else [each]), *whole)


def why_not(inputs: Inputs, service: Service, sku: int, size: int) -> str:
    """Why a unit of a SKU cannot answer; empty where it can."""
    accelerator = inputs.skus[sku].accelerator
    if reason := without_precision(inputs, accelerator, service.precision):
        return reason
    if service.tables is not None:
        return no_room(inputs, service.tables, f"services.{service.name}", sku, size)
    one = np.array([sku], dtype=np.intp)
    largest = np.full((1, 1), _sizes(inputs, service)[-1])
    held = float(np.ravel(_work(inputs, service, one, np.array([size]), largest).memory_gb.value)[0])
    usable = inputs.fact("performance.serving.usable_memory").value
    room = usable * float(inputs.accelerator("memory")[sku].value)
    if held <= room:
        return ""
    return f"each accelerator needs {held:,.3g} GB for it, and {room:,.3g} GB are usable"


def possible_units(inputs: Inputs, service: Service) -> Iterator[tuple[int, int, int, str]]:
    """Each node group that it may use: its place, SKU, size of a unit, and why that cannot be; one that can.

    Of the sizes that hold the model the smallest few are looked at: a larger one is faster for one request,
    and carries no more on each accelerator.
    """
    known: dict[tuple[int, int], str] = {}
    for p, (k, s) in enumerate(inputs.node_groups):
        if not allowed(inputs, service, k, s):
            continue
        domain = int(inputs.server("accelerators")[k].value)
        held = False
        for size in unit_sizes(inputs, service, k):
            if held and size > domain:
                break
            if (k, size) not in known:
                known[k, size] = why_not(inputs, service, k, size)
            held = held or not known[k, size]
            yield p, k, size, known[k, size]


def _sizes(inputs: Inputs, service: Service) -> NDArray[np.float64]:
    """Sizes of batches, in requests: up to as many items as engines take together, one request at least."""
    assert service.items is not None, "asked for on reading"
    together = float(items_together(inputs, service.model).value)
    return batch_sizes(largest=max(1.0, together / service.items))


def largest_requests(inputs: Inputs, service: Service) -> int:
    """Requests of the largest batch."""
    return int(_sizes(inputs, service)[-1])


def _work(
    inputs: Inputs, service: Service, sku: Indices, size: Indices, requests: NDArray[np.float64]
) -> BatchWork:
    """Batches of so many requests (a row for each SKU, a column for each size of a batch)."""
    assert service.items is not None, "asked for on reading"
    key = "candidates" if service.candidates is not None else "images"
    items = (
        chosen("requests", requests, "enumerated: requests that are answered together")
        * inputs.yours(f"services.{service.name}.{key}", service.items, "1")
    ).named("batch_items", "Samples or images of a batch of requests")
    units = chosen("accelerators", size.astype(float), "enumerated: accelerators of a unit")
    imbalance = imbalance_column(inputs, service.tables, f"services.{service.name}", sku, size)
    return batch_work(inputs, service.model, service.precision, sku, items, units, imbalance)


@dataclass(frozen=True)
class BatchLaw:
    """What units of a service on SKUs do at any load; one row for each."""

    inputs: Inputs
    service: Service
    sku: Indices
    size: Indices
    requests: Traced
    work: BatchWork
    start_s: Traced
    target_s: Traced

    @property
    def largest_batch(self) -> Traced:
        """Requests of the largest batch of each row."""
        most = np.asarray(self.requests.value)[:, -1]
        return chosen("batch", most, "as many samples or images as engines take together")

    def _times(self, index: Indices | None = None) -> dict[str, Traced]:
        found = {
            "batch_requests": self.requests,
            "batch_s": self.work.time_s,
            "start_s": self.start_s,
            "response_target_s": self.target_s,
        }
        return found if index is None else {name: rows(one, index) for name, one in found.items()}

    def capacity(self, arrival_scv: Traced, index: Indices | None = None) -> Parts:
        """Planned load, and the response there; of some rows where `index` says which."""
        return derive_parts(
            batched_capacity,
            **self._times(index),
            quantile_fraction=answer_quantile(self.inputs, self.service),
            arrival_scv_ratio=arrival_scv,
            utilisation_fraction=self.inputs.fact("performance.serving.headroom"),
        )

    def in_time(
        self, arrival_scv: Traced, rate_per_s: NDArray[np.float64], within_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Shares of answers within each of several times (last axis), at a load."""
        return batched_in_time_fraction(
            **{name: np.asarray(one.value) for name, one in self._times().items()},
            arrival_scv_ratio=np.asarray(arrival_scv.value),
            requests_per_s=rate_per_s,
            within_s=within_s,
        )

    def accelerator_kw(self, arrival_scv: Traced, rate_per_s: Traced) -> Traced:
        """Power of an accelerator at a load or several (last axis)."""
        use = derive_parts(
            batched_use,
            **self._times(),
            batch_memory_fraction=self.work.memory_use,
            batch_compute_fraction=self.work.compute_use,
            arrival_scv_ratio=arrival_scv,
            requests_per_s=rate_per_s,
        )
        inputs, loads = self.inputs, np.ndim(rate_per_s.value) > 1

        def on_loads(column: Traced) -> Traced:
            return rows(column, np.arange(len(self.sku))[:, None]) if loads else column

        columns = {
            "tdp_kw": inputs.of_sku(inputs.accelerator("tdp"), self.sku),
            "loaded_idle_kw": inputs.of_sku(inputs.accelerator("loaded_idle_power"), self.sku),
            **power_law(inputs, self.service.model, self.sku),
        }
        drawn = {name: on_loads(column) for name, column in columns.items()}
        if makes_images(inputs, self.service.model):
            return derive(served_generation_power_kw, **{name: use[name] for name in GENERATION}, **drawn)
        none = chosen("exchange_factor", 0.0, "exchanges of vectors are short next to look-ups")
        return derive(served_power_kw, **use, exchange_factor=none, **drawn)

    def check(self, limit_per_s: NDArray[np.float64]) -> None:
        """Refuse a load beyond the dense peak: batches have no more time for a request than it computes."""
        inputs = self.inputs
        peak = np.array(
            [float(inputs.fact(f"accelerator.{s.accelerator}.bf16_peak").value) for s in inputs.skus]
        )
        requests = np.asarray(self.requests.value)
        flop = np.asarray(self.work.compute_use.value) * np.asarray(self.work.time_s.value)
        each = np.min(flop / requests, axis=-1) * peak[self.sku] * 1e12
        check_ceiling(
            flop_per_s=limit_per_s * each,
            peak_flop_per_s=peak[self.sku] * 1e12,
            what=[
                f"service '{self.service.name}': {self.service.model} on {inputs.skus[k].name}"
                for k in self.sku
            ],
        )


def batch_law(inputs: Inputs, service: Service, sku: Indices, size: Indices) -> BatchLaw:
    """The law of units of a service: batches of every size that is looked at."""
    sizes = _sizes(inputs, service)
    requests = np.broadcast_to(sizes, (len(sku), len(sizes))).copy()
    kind = kind_of_model(inputs.catalogue, service.model)
    target = answer_target(inputs, service)
    return BatchLaw(
        inputs=inputs,
        service=service,
        sku=sku,
        size=size,
        requests=chosen("batch_requests", requests, "enumerated: requests that are answered together"),
        work=_work(inputs, service, sku, size, requests),
        start_s=inputs.fact(f"performance.{kind}.batch_time"),
        target_s=pick([target], np.zeros(len(sku), dtype=np.intp)),
    )


def loaded_bytes(inputs: Inputs, service: Service, sku: int) -> Traced:
    """Bytes of tables and layers, or of weights, that a unit reads before it answers, as a count of them."""
    one = np.array([sku], dtype=np.intp)
    held = _work(inputs, service, one, np.ones(1, dtype=np.intp), np.full((1, 1), _sizes(inputs, service)[0]))
    gb = held.memory_gb[0, 0]
    return chosen("parameters", float(np.asarray(gb.value)) * 1e9, "bytes that are loaded")
