"""How long a checkpoint takes to write: shared storage, the nodes' links, background copies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reliability.columns import Column
from reliability.domain import require_not_negative, require_positive, require_positive_or_infinite


@dataclass(frozen=True, slots=True)
class AsynchronousWrite:
    """How long a checkpoint stops the job, and how long until it is stored in the background."""

    blocking_h: Column
    persist_h: Column


def write_bandwidth_gb_per_s(
    *, nodes: Column, node_gb_per_s: Column, shared_gb_per_s: Column, others_fraction: Column = 0.0
) -> Column:
    """Bandwidth at which all nodes of a job together write.

        B = min(N * b_node, (1 - o) * B_shared)

    `others_fraction` o is what other jobs take of the shared limit while this one writes. Nodes write alike
    and at once; metadata and stragglers are left out. `shared_gb_per_s` may be infinite: local drives.

    Source: the narrower of the nodes' links and the storage.
    """
    require_positive(nodes=nodes, node_gb_per_s=node_gb_per_s)
    require_positive_or_infinite(shared_gb_per_s=shared_gb_per_s)
    require_not_negative(others_fraction=others_fraction)
    if np.any(np.asarray(others_fraction) >= 1):
        raise ValueError(
            f"others_fraction must leave some of the shared limit, wanted below 1, got {others_fraction}"
        )
    own = np.multiply(nodes, node_gb_per_s)
    return np.minimum(own, np.subtract(1.0, others_fraction) * shared_gb_per_s)[()]


def asynchronous_write(
    *, size_gb: Column, nodes: Column, host_gb_per_s: Column, bandwidth_gb_per_s: Column
) -> AsynchronousWrite:
    """A copy to the hosts' memory stops the job; the write to storage runs behind it.

        b = S / (N * b_host),  P = S / B

    `host_gb_per_s` is one node's. Slower steps while the background write shares the network, and the memory
    for the copy, are left out.

    Source: definition of bandwidth; PyTorch distributed checkpointing for the split.
    """
    require_positive(size_gb=size_gb, nodes=nodes, host_gb_per_s=host_gb_per_s)
    require_positive(bandwidth_gb_per_s=bandwidth_gb_per_s)
    return AsynchronousWrite(
        blocking_h=np.divide(size_gb, np.multiply(nodes, host_gb_per_s)) / 3600.0,
        persist_h=np.divide(size_gb, bandwidth_gb_per_s) / 3600.0,
    )


def write_stop_fraction(*, write_h: Column, compute_h: Column, blocking: bool) -> Column:
    """Share of the time that writing checkpoints stops a job, failures left out.

        blocking:    C / (W + C)
        background:  (P - W)+ / max(W, P)

    In the background one write is on its way at a time: the job waits only where the next is due before
    the last is stored. The snapshot itself is then a blocking write of its own.

    Source: counting the time of one interval.
    """
    require_not_negative(write_h=write_h)
    require_positive(compute_h=compute_h)
    waited = write_h if blocking else np.maximum(np.subtract(write_h, compute_h), 0.0)
    share: Column = np.divide(waited, np.add(compute_h, waited))
    return share
