"""Columns that a document keeps no explanation of, worked out again from its scenario for one row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.inputs.catalogue import load_catalogue
from planner.inputs.consistency import with_cards
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario
from planner.physics.experiments import pool_work
from planner.physics.nodes import node_columns
from planner.physics.serving import replica_columns, serving_candidates
from planner.physics.serving_options import ServingCandidates
from planner.report.cells import close
from planner.report.charts import Record
from planner.trace.explain import Explanation, explain


def replica_explanation(scenario: Scenario, row: Record, part: str, value: float) -> Explanation | None:
    """A number of one replica of a row of the services; None where it comes out otherwise today.

    Args:
        scenario: of the plan.
        row: of its table of services.
        part: which column of the replicas: requests_per_s, ttft_s, tpot_s.
        value: what it is in the plan.
    """
    inputs = _inputs(scenario)
    candidates, _ = serving_candidates(inputs)
    wanted = list(_like(inputs, candidates, row))
    if not wanted:
        return None
    replicas = replica_columns(inputs, node_columns(inputs), candidates.some(np.array(wanted)))
    column = getattr(replicas, part)
    at = next((index for index, one in np.ndenumerate(column.value) if close(float(one), value)), None)
    return None if at is None else explain(column, row=at)


def speed_explanation(scenario: Scenario, row: Record, value: float) -> Explanation | None:
    """How much of a pool's work an hour of a SKU does; None where it comes out otherwise today."""
    inputs = _inputs(scenario)
    work = pool_work(inputs)
    if work.speed is None:
        return None
    for at, (pool, place) in enumerate(zip(work.work, work.node_group, strict=True)):
        named = (scenario.pools[pool].name, *_names(inputs, int(place)))
        if named == (row["pool"], row["site"], row["sku"]) and close(float(work.speed.value[at]), value):
            return explain(work.speed, row=at)
    return None


def _inputs(scenario: Scenario) -> Inputs:
    return Inputs(scenario, with_cards(scenario, load_catalogue()))


def _names(inputs: Inputs, group: int) -> tuple[str, str]:
    """Site and SKU of a node group."""
    return inputs.sites[inputs.node_group_site[group]].name, inputs.skus[inputs.node_group_sku[group]].name


def _accelerators(row: Record) -> int:
    """Accelerators of a replica of a row of the services."""
    return int(row["tensor_parallel"]) * int(row.get("groups", 1))


def _like(inputs: Inputs, candidates: ServingCandidates, row: Record) -> Iterator[int]:
    """Candidates that a row of the services may be."""
    cap = row.get("power_cap_fraction")
    for number, service in enumerate(candidates.service):
        named = inputs.scenario.services[service].name, *_names(inputs, int(candidates.node_group[number]))
        if named != (row["service"], row["site"], row["sku"]):
            continue
        if candidates.accelerators[number] == _accelerators(row) and (
            cap is None or close(float(candidates.power_cap_fraction[number]), cap)
        ):
            yield number
