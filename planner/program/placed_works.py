"""Embedding tables of the runs and services of a scenario, placed on each size that is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from planner.inputs.embedding_tables import EmbeddingTable
from planner.inputs.placement_question import TIERS, WAYS, PlacementQuestion
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service, TrainingJob
from planner.inputs.scenario.schema_tables import Tables
from planner.physics.batch_serving import largest_requests, unit_sizes
from planner.physics.batch_work import scored_without_tables_gb
from planner.physics.sample_training import without_tables_gb
from planner.physics.table_tiers import device_of
from planner.physics.training_options import allowed, cannot_train
from planner.trace.quantities import Traced, chosen

SEARCH_S = 1.0  # for each size: a plan looks at many


@dataclass(frozen=True)
class Wanted:
    """Tables of some work on so many accelerators of a SKU, and what a step there is."""

    work: str
    tables: Tables
    sku: int
    accelerators: int
    batch: int
    train: bool
    value_bytes: Traced
    exchange_bytes: Traced
    taken_gb: Traced  # of other things on each accelerator
    usable: Traced


def place_tables(inputs: Inputs) -> None:
    """Place the tables of every run and service that names them; nothing where none does."""
    for one in (*_of_runs(inputs), *_of_services(inputs)):
        _place(inputs, one, inputs.scenario.tables_of(one.tables))


def place_for_training(
    inputs: Inputs,
    work: str,
    tables: tuple[Tables, tuple[EmbeddingTable, ...]],
    model: str,
    sizes: Iterable[tuple[int, int]],
    samples: int,
) -> None:
    """Place tables that a question names on SKUs with so many nodes each, for a step of so many samples."""
    part, held = tables
    for k, nodes in sizes:
        _place(inputs, _training(inputs, work, part, model, k, nodes, samples), held)


def _place(inputs: Inputs, one: Wanted, held: tuple[EmbeddingTable, ...]) -> None:
    key = one.work, inputs.skus[one.sku].name, one.accelerators
    if key not in inputs.placements:
        inputs.placements[key] = _imbalance(inputs, one, held)


def _training(
    inputs: Inputs, work: str, part: Tables, model: str, sku: int, nodes: int, samples: int
) -> Wanted:
    count = nodes * int(inputs.server("accelerators")[sku].value)
    return Wanted(
        work,
        part,
        sku,
        count,
        samples,
        True,
        inputs.fact("performance.recommendation.table_bytes"),
        inputs.fact("performance.recommendation.value_bytes"),
        without_tables_gb(inputs, model, sku, count, samples),
        inputs.fact("performance.training.usable_memory"),
    )


def _of_runs(inputs: Inputs) -> Iterator[Wanted]:
    for job in inputs.scenario.training:
        if job.tables is None:
            continue
        for k in _skus(inputs, job):
            if cannot_train(inputs, k):
                continue
            for nodes in job.nodes:
                yield _training(
                    inputs, f"training.{job.name}", job.tables, job.model, k, nodes, int(job.step_amount)
                )


def _of_services(inputs: Inputs) -> Iterator[Wanted]:
    for service in inputs.scenario.services:
        if service.tables is None or service.items is None:
            continue
        size = inputs.fact("performance.recommendation.serving_bytes")
        batch = max(1, round(largest_requests(inputs, service) * service.items))
        for k in _skus(inputs, service):
            for count in unit_sizes(inputs, service, k):
                yield Wanted(
                    f"services.{service.name}",
                    service.tables,
                    k,
                    count,
                    batch,
                    False,
                    size,
                    size,
                    scored_without_tables_gb(inputs, service.model, batch, count),
                    inputs.fact("performance.serving.usable_memory"),
                )


def _skus(inputs: Inputs, work: TrainingJob | Service) -> list[int]:
    """SKUs on which it may be."""
    return sorted({k for k, s in inputs.node_groups if allowed(inputs, work, k, s)})


def _imbalance(inputs: Inputs, wanted: Wanted, tables: tuple[EmbeddingTable, ...]) -> Traced | None:
    """What look-ups of even parts are multiplied with on this size; None where the tables do not fit."""
    part = wanted.tables
    count = chosen("accelerators", float(wanted.accelerators), "enumerated: they share the tables")
    device = device_of(
        inputs,
        part.tiers or TIERS,
        count,
        sku=wanted.sku,
        usable=wanted.usable,
        taken_gb=wanted.taken_gb,
    )
    if not float(device.tiers[0].capacity_gb.value) > 0:
        return None
    question = PlacementQuestion(
        batch=wanted.batch, train=wanted.train, ways=part.ways or WAYS, time_limit_s=SEARCH_S
    )
    width = float(wanted.value_bytes.value)
    held = tuple(replace(one, value_bytes=width) for one in tables)
    from planner.program.table_placement import placed_once, placed_times  # its solver is slow to import

    placed = placed_once(held, question, device, float(wanted.exchange_bytes.value))
    if placed is None:
        return None
    return placed_times(placed, f"of the placement of {part.file} on {wanted.accelerators} accelerators")[
        "imbalance_ratio"
    ]
