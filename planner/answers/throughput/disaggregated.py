"""Prompts read by some replicas and answers written by others, next to replicas that do both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.answers.throughput.setting import Row, Setting, Table
from planner.inputs.resolved import Inputs
from planner.physics.disaggregation import cache_way, in_less_time, knowing_prompts, ports_of, prompts_alone
from planner.physics.engine_law import EngineLaw, engine_law
from planner.physics.replica_kinds import sharing
from planner.physics.serving import serving_candidates
from planner.physics.serving_options import ServingCandidates, requests_of
from planner.trace.columns import Floats, Indices
from planner.trace.quantities import Traced, pick


def apart_rows(setting: Setting, joint: Table) -> list[Row]:
    """Fewest accelerators of both kinds of replicas, for every SKU that reads with every SKU that writes.

    Both kinds are those of the units of a plan; here each is counted by itself, and may have its own SKU.

    Args:
        setting: the setting with its question as a service.
        joint: replicas that do both, with the numbers that carry the demand.
    """
    inputs = setting.inputs
    candidates, _ = serving_candidates(inputs, staged=False)
    if not len(candidates):
        return []
    sku, size = inputs.node_group_sku[candidates.node_group], candidates.accelerators
    each = np.arange(len(candidates))
    readers, _ = _readers(inputs, candidates, each, each)
    # The best size of each SKU that reads, by itself; then with everything that may write.
    first = [_fewest(readers * size, sku == k) for k in np.unique(sku)]
    r, w = (pair.ravel() for pair in np.meshgrid(first, each, indexing="ij"))
    need, ttft_s = _readers(inputs, candidates, r, w)
    have, _ = _needed(inputs, knowing_prompts(_law(inputs, candidates, each)))
    chips = need * size[r] + have[w] * size[w]
    rows: list[Row] = []
    for reading in first:
        for k in np.unique(sku):
            at = _fewest(chips, (r == reading) & (sku[w] == k))
            row: Row = {"prefill_sku": inputs.skus[sku[reading]].name, "decode_sku": inputs.skus[k].name}
            row |= _joint(joint, row["prefill_sku"], row["decode_sku"])
            rows.append(row | {"fits": bool(np.isfinite(chips[at]))})
            if rows[-1]["fits"]:
                rows[-1] |= {
                    "prefill_tp": int(size[reading]),
                    "prefill_replicas": int(need[at]),
                    "decode_tp": int(size[w[at]]),
                    "decode_replicas": int(have[w[at]]),
                    "accelerators": int(chips[at]),
                    "ttft_s": float(ttft_s[at]),
                }
    return rows


def _readers(inputs: Inputs, candidates: ServingCandidates, r: Indices, w: Indices) -> tuple[Floats, Floats]:
    """Replicas that read, each next to one that writes, and their mean time to the first token."""
    ports = ports_of(candidates.accelerators, candidates.groups)
    sku = inputs.node_group_sku[candidates.node_group]
    way = cache_way(inputs, candidates.service[r], ports[r], ports[w], sku[r], sku[w])
    # What the way takes is all that tells the pairs of one reader apart.
    kinds = np.stack([r, np.asarray(way.longest_s.value)])
    _, one, back = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
    law = in_less_time(_law(inputs, candidates, r[one], reads=True), way.some(one))
    needed, ttft_s = _needed(inputs, law)
    return needed[back.ravel()], ttft_s[back.ravel()] + np.asarray(way.transfer_s.value)


def _law(inputs: Inputs, candidates: ServingCandidates, at: Indices, *, reads: bool = False) -> EngineLaw:
    """The law of some candidates, as they are or with the prompts of their requests alone."""
    own = candidates.some(at)
    requests, sku = requests_of(inputs, own.service), inputs.node_group_sku[own.node_group]
    layout = (own.accelerators, own.groups, own.stages)
    return engine_law(inputs, own.service, sku, *layout, prompts_alone(requests) if reads else requests)


def _needed(inputs: Inputs, law: EngineLaw) -> tuple[Floats, Floats]:
    """Replicas that carry the demand (infinite where none does), and their mean time to the first token."""
    demand: Traced = pick(
        [inputs.yours("services.service.peak_rate", _demand_per_s(inputs), "1/s")], law.service
    )
    carrying, scv = sharing(inputs, demand, law, np.stack([law.service, np.arange(len(law.service))]))
    found = law.capacity(scv)
    works = np.asarray(found.requests_per_s.value) > 0
    return np.where(works, np.ceil(carrying.value), np.inf), np.asarray(found.ttft_s.value)


def _demand_per_s(inputs: Inputs) -> float:
    return inputs.scenario.services[0].peak_requests_per_s[0]


def _fewest(accelerators: Floats, among: NDArray[np.bool_]) -> int:
    """Where among some candidates fewest accelerators are needed; the first of them where none works."""
    own = np.flatnonzero(among)
    return int(own[np.argmin(accelerators[own])])


def _joint(table: Table, *skus: object) -> Row:
    """Fewest accelerators of replicas that do both, on either of the SKUs; none where no replica works."""
    sums = [
        int(float(str(row["replicas"]))) * int(str(row["accelerators"]))
        for row in table.rows
        if row["fits"] and row["sku"] in skus
    ]
    return {"joint_accelerators": min(sums) if sums else None}
