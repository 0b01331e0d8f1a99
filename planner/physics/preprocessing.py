"""Workers that preprocess the data of training runs: how many, their power, room, money and carbon.

They stand next to the nodes of a run for as long as it works, and are charged by their hours at what having a
node takes: from a tier of processors that other work uses before and after. Jobs count them alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.catalogue import Sku
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import TrainingJob
from planner.performance.ingestion import preprocessing_workers, supplied_fraction, workers_in_use
from planner.performance.power import node_power_kw, stalled_power_kw
from planner.physics.hours import had_usd, made_kgco2e
from planner.physics.nodes import host_facts, working_node_kw
from planner.physics.shared_runs import Halves
from planner.trace.quantities import Fact, Traced, chosen, derive, pick, rows

WORKER = "xeon-6980p-2"  # a worker where nothing else is stated


def worker_kw(fact: Callable[[str], Fact], sku: Sku) -> Traced:
    """Power of a worker that reads, decodes and transforms."""
    host = host_facts(fact, sku)
    drawn = derive(stalled_power_kw, tdp_kw=host["tdp_kw"], stall_fraction=fact("ingestion.worker_power"))
    return working_node_kw(host, fact(f"server.{sku.server}.accelerators"), drawn)


@dataclass(frozen=True)
class Feeding:
    """What feeds each candidate of a column (C,): workers of a run, and what one of them takes."""

    workers: Traced
    supplied: Traced
    working_kw: Traced
    idle_kw: Traced
    racks: Traced  # of all workers of a run
    sku: tuple[str, ...]  # of a worker, by job; empty where nothing feeds it


@dataclass(frozen=True)
class FedHours:
    """Hours of workers of each run by period (R, T), and what they cost and emit beyond electricity."""

    worker_h: Traced
    usd: Traced
    kgco2e: Traced


def feeding(
    inputs: Inputs, job: NDArray[np.intp], nodes: NDArray[np.intp], halves: Halves | None = None
) -> Feeding | None:
    """Workers of runs on so many nodes; None where no run states any. Each half has its part."""
    jobs = inputs.scenario.training
    if all(one.ingestion is None for one in jobs):
        return None
    whole = nodes if halves is None else nodes + halves.nodes
    pairs, index = np.unique(np.stack([job, whole]), axis=1, return_inverse=True)
    each = [_of_run(inputs, jobs[j], n) for j, n in pairs.T.tolist()]
    workers: Traced
    racks: Traced
    workers, supplied, working, idle, racks = (
        pick([one[i] for one in each], index.ravel()) for i in range(len(each[0]))
    )
    if halves is not None:
        part = chosen("part", nodes / whole, "nodes of this half over those of the run")
        workers, racks = (workers * part).named("workers"), (racks * part).named("racks")
    names = tuple("" if one.ingestion is None else worker_of(inputs, one).name for one in jobs)
    return Feeding(workers, supplied, working, idle, racks, names)


def worker_of(inputs: Inputs, job: TrainingJob) -> Sku:
    """SKU of the workers of a run."""
    stated = None if job.ingestion is None else job.ingestion.sku
    return inputs.catalogue.skus[stated or WORKER]


def _of_run(inputs: Inputs, job: TrainingJob, nodes: int) -> tuple[Traced, Traced, Traced, Traced, Traced]:
    """Workers, share supplied, power at work and idle of one, and racks of all."""
    stated = job.ingestion
    if stated is None:
        said = f"training.{job.name} states no ingestion"
        none = chosen("workers", 0.0, said)
        supplied, power = chosen("supplied_fraction", 1.0, said), chosen("worker_kw", 0.0, said)
        return none, supplied, power, power, chosen("racks", 0.0, said)
    at, sku = f"training.{job.name}.ingestion", worker_of(inputs, job)
    needs: Traced = (
        inputs.fact("ingestion.workers_per_trainer")
        if stated.workers_per_node is None
        else inputs.yours(f"{at}.workers_per_node", stated.workers_per_node, "1")
    )
    trainers = chosen("trainers", float(nodes), "enumerated: a size that the scenario names")
    wanted = derive(preprocessing_workers, trainers=trainers, workers_per_trainer=needs)
    there: Traced = wanted
    if stated.workers is not None:
        most = inputs.yours(f"{at}.workers", float(stated.workers), "1")
        there = derive(workers_in_use, needed_workers=wanted, stated_workers=most)
    host, count = host_facts(inputs.fact, sku), inputs.fact(f"server.{sku.server}.accelerators")
    room = (inputs.fact(f"server.{sku.server}.rack_units") / inputs.fact("rack.usable_units")).named(
        "racks_per_node", "Share of a rack that a node fills, by its units"
    )
    return (
        there,
        derive(supplied_fraction, workers=there, trainers=trainers, workers_per_trainer=needs),
        worker_kw(inputs.fact, sku),
        derive(
            node_power_kw, host_kw=host["host_idle_kw"], accelerators=count, accelerator_kw=host["idle_kw"]
        ),
        (there * room).named("racks"),
    )


def fed_hours(
    inputs: Inputs,
    fed: Feeding,
    job: NDArray[np.intp],
    site: NDArray[np.intp],
    candidate: NDArray[np.intp],
    active: Traced,
) -> FedHours:
    """Worker-hours of runs that work for so many hours in each period (R, T), at what having a node takes."""
    hours = (rows(fed.workers, candidate[:, None]) * active).named("worker_h")
    pairs, index = np.unique(np.stack([job, site]), axis=1, return_inverse=True)
    usd, kgco2e = [list[Traced]() for _ in range(2)]
    for j, s in pairs.T.tolist():
        for t in range(inputs.periods):
            one = _hour(inputs, inputs.scenario.training[j], s, t)
            usd.append(one[0])
            kgco2e.append(one[1])
    at = index.ravel()[:, None] * inputs.periods + np.arange(inputs.periods)
    each = chosen("hour_h", 1.0, "one hour")
    return FedHours(
        hours,
        (hours / each * pick(usd, at)).named("usd"),
        (hours / each * pick(kgco2e, at)).named("kgco2e"),
    )


def _hour(inputs: Inputs, job: TrainingJob, site: int, period: int) -> tuple[Traced, Traced]:
    """Money and carbon of having one worker for an hour, electricity apart."""
    if job.ingestion is None:
        said = f"training.{job.name} states no ingestion"
        return chosen("usd", 0.0, said, unit="USD"), chosen("kgco2e", 0.0, said, unit="kgCO2e")
    sku = worker_of(inputs, job)
    life = inputs.yours("policy.node_life", inputs.scenario.policy.node_life_y, "y")
    place = next((k for k, one in enumerate(inputs.skus) if one.name == sku.name), None)
    price = inputs.fact(f"server.{sku.server}.price") if place is None else inputs.node_price(place, period)
    space = inputs.space_price[site * inputs.periods + period]
    had = had_usd(inputs.fact, f"server.{sku.server}", price, inputs.discount_rate(), life, space)
    return had, made_kgco2e(inputs.fact, sku, life)
