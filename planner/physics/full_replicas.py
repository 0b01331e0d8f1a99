"""What a node does of work that no one waits for: replicas that are always full, in their best size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Cohort, Pool, Service, Site
from planner.inputs.scenario.base import Part
from planner.inputs.techniques import Way, Ways
from planner.performance.bundles import Targets
from planner.performance.capacity import replica_capacity
from planner.physics.engine_law import check_peak
from planner.physics.nodes import host_columns, working_node_kw
from planner.physics.power_caps import Modes
from planner.physics.replica_questions import replica_arguments
from planner.physics.serving import serving_candidates
from planner.physics.serving_demand import heard_at_once
from planner.physics.serving_options import ServingCandidates, layout_columns, possible_layouts
from planner.physics.serving_power import drawn_accelerator_kw, slowed_arguments
from planner.physics.techniques import SERVING_TIME, serving_ratio
from planner.physics.training_options import FREELY, UNLOCKED, Mode
from planner.trace.quantities import Traced, chosen, derive_parts, rows

P = TypeVar("P", bound=Part)
LENGTHS = ("tokens_in", "tokens_out")
LONGEST_S = 1e9  # a target that every request keeps
NO_TARGETS = Targets(
    ttft_target_s=chosen("ttft_target_s", LONGEST_S, "nobody waits for the first token"),
    tpot_target_s=chosen("tpot_target_s", LONGEST_S, "nobody waits for a token"),
    quantile_fraction=chosen("quantile_fraction", 0.0, "means are compared"),
)
CALM = chosen("arrival_scv_ratio", 1.0, "always full: the next prompt is there")

ALMOST_IDLE = {
    "utilisation_fraction": chosen("utilisation_fraction", 1e-6, "so few prompts that each runs alone")
}


class PoolService(Service):
    """The prompts or recordings of a pool as a service: the pool states them."""

    @property
    def place(self) -> str:
        """Where the file states it."""
        return f"pools.{self.name}"


@dataclass(frozen=True, slots=True)
class FullNode:
    """Prompts that a node answers in a second, its power meanwhile, and time of a token written alone."""

    rate_per_s: Traced
    busy_kw: Traced
    alone_s: Traced


def full_nodes(
    inputs: Inputs,
    pool: Pool,
    skus: Sequence[int],
    techniques: tuple[str, ...] = (),
    mode: Mode = FREELY,
) -> dict[int, FullNode | str]:
    """What a node of each SKU does of the prompts of a pool, or why it answers none.

    Of all sizes and layouts of a replica that one is taken of which a node answers most. Techniques change
    steps, prompts and caches of these replicas as they do of services, and so does a lower clock.
    """
    own = _alone(inputs, pool, skus, techniques)
    candidates, dropped = serving_candidates(own)
    reasons = {one.sku: one.reason for one in dropped}
    found: dict[int, FullNode | str] = {
        k: reasons.get(inputs.skus[k].name, "no replica of it works") for k in skus
    }
    if not len(candidates):
        return found
    tried = np.asarray(_rates(own, candidates, mode)[1].value)
    sku = own.node_group_sku[candidates.node_group]
    best = np.array(
        [row[np.argmax(tried[row])] for row in (np.flatnonzero(sku == k) for k in np.unique(sku))]
    )
    sku, candidates = sku[best], candidates.some(best)
    arguments, rate, limit = _rates(own, candidates, mode)
    check_peak(own, candidates.service, sku, candidates.accelerators, np.asarray(limit.value), arguments)
    accelerators = own.of_sku(own.server("accelerators"), sku)
    modes = Modes.alike(mode, sku.shape)
    busy = drawn_accelerator_kw(own, candidates.service, sku, modes, arguments, CALM, limit)
    node_kw = working_node_kw(host_columns(own, sku), accelerators, busy)
    alone = derive_parts(replica_capacity, arrival_scv_ratio=CALM, **{**arguments, **ALMOST_IDLE}).tpot_s
    for row, k in enumerate(sku.tolist()):
        one = np.array(row)
        found[skus[k]] = FullNode(rows(rate, one), rows(node_kw, one), rows(alone, one))
    return found


def why_none_answers(inputs: Inputs, pool: Pool, sku: int) -> str:
    """Why no replica on a SKU answers the prompts of a pool; empty where one does."""
    candidates, dropped = possible_layouts(_alone(inputs, pool, [sku]))
    return (
        "" if len(candidates) else next((one.reason for one in reversed(dropped)), "no replica of it works")
    )


def _rates(
    inputs: Inputs, candidates: ServingCandidates, mode: Mode
) -> tuple[dict[str, Any], Traced, Traced]:
    """Arguments of replicas without targets, prompts of a node in a second, and those of a replica."""
    sku = inputs.node_group_sku[candidates.node_group]
    split = layout_columns(candidates.accelerators, candidates.groups, candidates.stages)
    arguments = {**replica_arguments(inputs, candidates.service, sku, *split), "targets": NO_TARGETS}
    if mode != FREELY:
        modes = Modes.alike(mode, sku.shape)
        arguments = slowed_arguments(inputs, candidates.service, sku, modes, arguments, CALM)
    limit = derive_parts(replica_capacity, arrival_scv_ratio=CALM, **arguments).limit_requests_per_s
    techniques = serving_ratio(inputs, candidates.service, sku, SERVING_TIME)
    faster = heard_at_once(inputs, candidates.service, techniques)
    done = limit if faster is None else (limit * faster).named("limit_requests_per_s")
    share = (_size(candidates) / inputs.of_sku(inputs.server("accelerators"), sku)).named(
        "replica_nodes", "Nodes of a replica: its accelerators over those of a node"
    )
    return (
        arguments,
        (done / share).named(
            "node_items_per_s", "Prompts that a node answers in a second, by replicas that are always full"
        ),
        limit,
    )


def _size(candidates: ServingCandidates) -> Traced:
    return chosen(
        "accelerators",
        candidates.accelerators.astype(float),
        "the size with which a node does most",
    )


def _made(part: type[P], **values: Any) -> P:
    """A part of a scenario with what is read of it here, and nothing else."""
    return cast(P, part.model_construct(**values))


def _alone(inputs: Inputs, pool: Pool, skus: Sequence[int], techniques: tuple[str, ...] = ()) -> Inputs:
    """The prompts of a pool as the only service, and a node of each SKU, in their order."""
    said = {key: getattr(pool, key) for key in ("name", "model", "engine", *LENGTHS)}
    said["precision"] = pool.number_format
    if pool.way.key == "audio_rate":
        window_s = inputs.fact(f"speech.{pool.model}.window").value
        said["audio_s"] = window_s if pool.audio_s is None else pool.audio_s
    waits = {"first_token_s": LONGEST_S, "per_token_s": LONGEST_S}
    # A pool is asked about in one mode at a time, whatever the policy says.
    service = _made(PoolService, **said, **waits, clocks_fraction=(UNLOCKED,))
    site = _made(Site, name="site")
    fleet = tuple(_made(Cohort, sku=inputs.skus[k].name, site=site.name, nodes=1) for k in skus)
    scenario = inputs.scenario.but(
        sites=(site,), fleet=fleet, market=(), rental=(), moves=(), training=(), pools=(), services=(service,)
    )
    only = (Way(of=0, base=0, techniques=techniques),) if techniques else ()
    return Inputs(scenario, inputs.catalogue, inputs.facts_used, Ways(services=only))
