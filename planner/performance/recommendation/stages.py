"""Servers of each stage of a ranking pipeline."""

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_not_negative, require_share
from planner.performance.queueing import servers_needed

Column = float | NDArray[np.float64]


def stage_servers(
    *,
    queries_per_s: Column,
    items: Column,
    item_s: Column,
    fixed_s: Column,
    latency_budget_s: Column,
    met_fraction: float,
    occupancy_fraction: Column,
) -> NDArray[np.float64]:
    """Servers of each stage of a ranking pipeline (filter, then rank), one entry per stage.

    S_k = fixed_k + items_k item_k,  q = met^(1/stages)
    c_k = min {c : P(wait <= budget_k - S_k) >= q and A_k/c <= occupancy};  infinite where S_k > budget_k

    A query that keeps every stage's budget keeps their sum, so the share of queries in time is at least
    `met_fraction`. Waits are those of exponential service, which is safe for the steadier scoring of a
    fixed number of items. Batching of several queries is left out.

    Source: Gupta et al., "RecPipe", MICRO 2021 (stages with own hardware); Kleinrock 1975 (M/M/c).
    """
    require_share(met_fraction=met_fraction)
    require_not_negative(items=items, item_s=item_s, fixed_s=fixed_s)
    service = np.asarray(fixed_s + items * item_s, dtype=np.float64)
    shape = np.broadcast_shapes(service.shape, np.shape(latency_budget_s), np.shape(queries_per_s), (1,))
    service = np.broadcast_to(service, shape)
    slack = np.broadcast_to(np.asarray(latency_budget_s), shape) - service
    servers = servers_needed(
        offered_load=np.broadcast_to(np.asarray(queries_per_s), shape) * service,
        service_h=service / 3600.0,
        wait_target_h=np.maximum(slack, 0.0) / 3600.0,
        met_fraction=np.full(shape, met_fraction ** (1.0 / shape[-1])),
        occupancy_fraction=occupancy_fraction,
    )
    result: NDArray[np.float64] = np.where(slack >= 0, servers, np.inf)
    return result
