"""Mélange's question put to our program: which mix of GPUs serves a mix of request sizes at the least cost.

Requests fall into buckets by size, and the rate of each bucket is cut into slices. A slice goes whole to one
kind of GPU and loads it by its rate over the rate that one GPU of that kind sustains for this size. To our
program a bucket is a service whose demand is its slices, a slice a replica that fills a fraction of a node.

Source: Griggs et al., "Mélange", arXiv 2404.14527.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.program.solution import (
    Cohorts,
    Jobs,
    Limits,
    NodeGroups,
    Objective,
    Problem,
    RunOptions,
    ServeOptions,
    Services,
    SpareSteps,
    Work,
    WorkOptions,
    answer,
)
from planner.validation.forms import Book, NotUnderstood

SUBJECT = "mix of GPUs"
TIME_LIMIT_S = 60.0  # the published cases take a fraction of a second

BOOK = Book({})


@dataclass(frozen=True, slots=True)
class Mix:
    """GPUs of each kind, their share in use, and what an hour of them comes to."""

    accelerators: NDArray[np.int64]
    used_fraction: NDArray[np.float64]
    usd_per_h: float
    kgco2e_per_h: float


def best_mix(
    *,
    price_usd_per_h: ArrayLike,
    throughput_per_s: ArrayLike,
    rate_per_s: ArrayLike,
    slices: int,
    held_kgco2e_per_h: ArrayLike = 0.0,
    idle_kgco2e_per_h: ArrayLike = 0.0,
    active_kgco2e_per_h: ArrayLike = 0.0,
    objective: Objective | None = None,
) -> Mix:
    """The mix of least cost, of least carbon, or of a weighted sum.

    minimise  sum_g (c[g] + w * held[g]) * n[g] + w * carbon of energy
    subject to  sum_g x[b,g] = slices,  sum_b load[b,g] * x[b,g] <= n[g],
    load[b,g] = rate[b] / (slices * throughput[g,b])

    One row of `throughput_per_s` for each kind of GPU, one column for each bucket; 0 where a kind cannot
    serve a size. A GPU emits `held` in every hour that it is rented, `active` in an hour in use and `idle`
    in an hour without.

    Source: Griggs et al., arXiv 2404.14527, Sec. 5 (the equations without carbon).
    """
    problem = _problem(
        np.asarray(price_usd_per_h, dtype=float),
        np.asarray(throughput_per_s, dtype=float),
        np.asarray(rate_per_s, dtype=float),
        slices,
        held_kgco2e_per_h,
        idle_kgco2e_per_h,
        active_kgco2e_per_h,
        objective or Objective(),
    )
    found = answer(problem, gap_fraction=0.0, time_limit_s=TIME_LIMIT_S)
    if found.solution is None:
        raise ValueError("no mix of these GPUs serves every size of request")
    accelerators = found.solution.in_service[:, 0]
    used = np.divide(
        found.solution.in_use[:, 0], accelerators, out=np.zeros(len(accelerators)), where=accelerators > 0
    )
    return Mix(accelerators, used, found.solution.usd, found.solution.kgco2e)


@BOOK.takes("gpu_mix_cost", unit="USD/h", subject=SUBJECT)
def gpu_mix_cost(
    *, gpu_info: Any, workload_distribution: Any, total_request_rate: float, slice_factor: int
) -> float:
    """Least cost of an hour."""
    return _published(gpu_info, workload_distribution, total_request_rate, slice_factor).usd_per_h


@BOOK.takes("gpu_mix_count", unit="1", subject=SUBJECT)
def gpu_mix_count(
    *, gpu_info: Any, workload_distribution: Any, total_request_rate: float, slice_factor: int, gpu: str
) -> float:
    """GPUs of one kind in the mix of least cost."""
    mix = _published(gpu_info, workload_distribution, total_request_rate, slice_factor)
    if gpu not in gpu_info:
        raise NotUnderstood(f"gpu_mix_count: no GPU '{gpu}' in gpu_info; it has {', '.join(gpu_info)}")
    return float(mix.accelerators[list(gpu_info).index(gpu)])


def _published(gpu_info: Any, distribution: Any, rate_per_s: float, slices: int) -> Mix:
    """The best mix of a case as Mélange writes it: `cost` and `tputs` of each GPU, shares of the rate."""
    return best_mix(**case_columns(gpu_info, distribution, rate_per_s, slices))


def case_columns(
    gpu_info: Mapping[str, Mapping[str, Any]], distribution: Any, rate_per_s: float, slices: int
) -> dict[str, Any]:
    """A case as Mélange writes it, as arguments of `best_mix`.

    Raises:
        NotUnderstood: it is not of that form.
    """
    try:
        price = np.array([float(gpu["cost"]) for gpu in gpu_info.values()])
        throughput = np.array([np.ravel(gpu["tputs"]).astype(float) for gpu in gpu_info.values()])
        share = np.ravel(distribution).astype(float)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NotUnderstood(f"a mix of GPUs has a cost and tputs for each of gpu_info: {error}") from None
    if throughput.shape != (len(price), len(share)):
        raise NotUnderstood("tputs of every GPU and workload_distribution have one entry for each bucket")
    return {
        "price_usd_per_h": price,
        "throughput_per_s": throughput,
        "rate_per_s": rate_per_s * share,
        "slices": slices,
    }


def _problem(
    price: NDArray[np.float64],
    throughput: NDArray[np.float64],
    rate: NDArray[np.float64],
    slices: int,
    held: ArrayLike,
    idle: ArrayLike,
    active: ArrayLike,
    objective: Objective,
) -> Problem:
    """One period of an hour, one site without limits, one node group for each kind of GPU."""
    kinds, buckets = throughput.shape
    gpu, bucket = np.nonzero(throughput > 0)
    load = rate[bucket] / (slices * throughput[gpu, bucket])

    def hourly(column: ArrayLike) -> NDArray[np.float64]:
        return np.broadcast_to(np.asarray(column, dtype=float), kinds).reshape(-1, 1)

    zeros = np.zeros(kinds)
    return Problem(
        periods=1,
        site_names=("cloud",),
        sku_names=tuple(f"gpu {number}" for number in range(kinds)),
        node_groups=NodeGroups(
            sku=np.arange(kinds),
            site=np.zeros(kinds, dtype=int),
            order_unit_nodes=np.ones(kinds, dtype=int),
            lead_periods=np.zeros(kinds, dtype=int),
            purchase_allowed=np.ones((kinds, 1), dtype=bool),
            capex_usd_per_node=hourly(0.0),
            holding_usd_per_node=hourly(price),
            holding_kgco2e_per_node=hourly(held),
            idle_kw=zeros,
            idle_usd_per_node=hourly(0.0),
            idle_kgco2e_per_node=hourly(idle),
            racks_per_node=zeros,
            hours=np.ones(1),
        ),
        cohorts=Cohorts.none(1),
        jobs=Jobs.none(1),
        run_options=RunOptions.none(1),
        services=Services(
            name=tuple(f"bucket {number}" for number in range(buckets)), demand=np.full((buckets, 1), slices)
        ),
        serve_options=ServeOptions(
            service=bucket,
            node_group=gpu,
            capacity=np.ones((len(gpu), 1)),
            nodes=load,
            standby_fraction=np.zeros((len(gpu), 1)),
            node_hours=load[:, None],
            active_kw=np.zeros(len(gpu)),
            usd=np.zeros((len(gpu), 1)),
            kgco2e=hourly(active)[gpu] * load[:, None],
        ),
        work=Work.none(1),
        work_options=WorkOptions.none(1),
        spare_steps=SpareSteps.none(1),
        limits=Limits(
            power_kw=np.full((1, 1), np.inf),
            racks=np.full(1, np.inf),
            supply_nodes=np.full((kinds, 1), np.inf),
            budget_usd=np.full(1, np.inf),
        ),
        objective=objective,
    )
