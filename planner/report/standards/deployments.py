"""Deployments of a plan's services as manifests have them: sizes of a replica, and where it runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.report.standards.fleet_names import (
    accelerators_per_node,
    cluster_name,
    node_labels,
    plugin_resource,
)
from planner.report.standards.formats import StandardError
from planner.report.standards.periods import Period, periods_of
from planner.trace.records import Record

# How engines pass the cache of a prompt on, in the words of vLLM.
NIXL = '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'


@dataclass(frozen=True)
class Deployment:
    """A service on a SKU at a site: tensors and stages of a replica, and groups that share its attention.

    Where prompts are read apart, it is the replicas that write, and `reader` those that read for them.
    """

    service: str
    model: str
    engine: str
    name: str
    replicas: int
    standby: int
    tensor: int
    stages: int
    groups: int
    accelerators_per_node: int
    resource: str
    labels: dict[str, str]
    role: str = "worker"  # or prefill, decode
    reader: Deployment | None = None

    @property
    def runtime(self) -> str:
        """Its engine without a version: vllm of vLLM 0.24."""
        return self.engine.partition(" ")[0].lower()

    @property
    def accelerators(self) -> int:
        """Those of a replica."""
        return self.tensor * self.stages * self.groups

    @property
    def nodes(self) -> int:
        """Those that a replica lies on."""
        return math.ceil(self.accelerators / self.accelerators_per_node)

    @property
    def count(self) -> dict[str, int]:
        """What a replica takes of a node, as Kubernetes counts it."""
        return {self.resource: min(self.accelerators, self.accelerators_per_node)}

    @property
    def parts(self) -> tuple[Deployment, ...]:
        """Each kind of replica: the one, or those that write and those that read."""
        return (self,) if self.reader is None else (self, self.reader)

    @property
    def annotations(self) -> dict[str, str]:
        """Names of the catalogue."""
        return {"everfleet/model": self.model, "everfleet/engine": self.engine}


def deployments_of(document: Record, form: str) -> Iterator[tuple[Period, str, list[Deployment]]]:
    """Each period with deployments that write tokens, and a comment that names it and what is not among them.

    Raises:
        StandardError: the plan serves nothing, nothing that writes tokens, or does not name its models.
    """
    rows = document["tables"].get("services", [])
    if not rows:
        raise StandardError(f"{form}: the plan serves nothing")
    if any("model" not in row for row in rows):
        raise StandardError(f"{form}: this plan was made before services named their model: plan again")
    if not any("engine" in row for row in rows):
        names = ", ".join(sorted({row["service"] for row in rows}))
        raise StandardError(f"{form}: its runtime writes tokens, and {names} answer in batches")
    for period in periods_of(document):
        here = [row for row in rows if row["period"] == period.label]
        mine = [row for row in here if "engine" in row]
        others = sorted({row["service"] for row in here} - {row["service"] for row in mine})
        comment = f"{document['title']}\n{period.label}: {period.first} to {period.after}"
        comment += f"\nnot here, since they answer in batches: {', '.join(others)}" if others else ""
        if mine:
            yield period, comment, [_deployment(row) for row in mine]


def _deployment(row: Record) -> Deployment:
    if "prefill_replicas" in row:
        reader, writer = (_one_kind(row, role, *_of_unit(row, role)) for role in ("prefill", "decode"))
        return replace(writer, reader=reader)
    sizes = (int(row.get(name, 1)) for name in ("tensor_parallel", "stages", "groups"))
    return _one_kind(row, "worker", 1, *sizes)


def _of_unit(row: Record, role: str) -> tuple[int, int, int, int]:
    """Replicas of a kind in a unit, and tensors, stages and groups of each."""
    stages, groups = (int(row.get(f"{role}_{name}", 1)) for name in ("stages", "groups"))
    each = int(row[f"{role}_replicas"]) // int(row["replicas"])
    return each, int(row[f"{role}_accelerators"]) // (stages * groups), stages, groups


def _one_kind(row: Record, role: str, each: int, tensor: int, stages: int, groups: int) -> Deployment:
    """Replicas of one kind, so many of them in each unit."""
    return Deployment(
        service=row["service"],
        model=row["model"],
        engine=row["engine"],
        name=cluster_name(row["service"], row["site"], row["sku"], f"tp{tensor}"),
        replicas=each * int(row["replicas"]),
        standby=each * math.ceil(row["standby"]),
        tensor=tensor,
        stages=stages,
        groups=groups,
        accelerators_per_node=accelerators_per_node(row["sku"]),
        resource=plugin_resource(row["sku"]),
        labels=node_labels(row["site"], row["sku"]),
        role=role,
    )
