"""Deployments of a plan's services as manifests have them: sizes of a replica, and where it runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from planner.report.standards.fleet_names import (
    accelerators_per_node,
    cluster_name,
    node_labels,
    plugin_resource,
)
from planner.report.standards.formats import StandardError
from planner.report.standards.periods import Period, periods_of
from planner.trace.records import Record


@dataclass(frozen=True)
class Deployment:
    """A service on a SKU at a site: tensors and stages of a replica, and groups that share its attention."""

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
    if apart := sorted({row["service"] for row in rows if "prefill_replicas" in row}):
        raise StandardError(
            f"{form}: {', '.join(apart)} reads prompts and writes answers on replicas of their own, and only "
            'replicas that do both are written: plan with phases = "together"'
        )
    for period in periods_of(document):
        here = [row for row in rows if row["period"] == period.label]
        mine = [row for row in here if "engine" in row]
        others = sorted({row["service"] for row in here} - {row["service"] for row in mine})
        comment = f"{document['title']}\n{period.label}: {period.first} to {period.after}"
        comment += f"\nnot here, since they answer in batches: {', '.join(others)}" if others else ""
        if mine:
            yield period, comment, [_deployment(row) for row in mine]


def _deployment(row: Record) -> Deployment:
    tensor, stages, groups = (int(row.get(name, 1)) for name in ("tensor_parallel", "stages", "groups"))
    return Deployment(
        service=row["service"],
        model=row["model"],
        engine=row["engine"],
        name=cluster_name(row["service"], row["site"], row["sku"], f"tp{tensor}"),
        replicas=int(row["replicas"]),
        standby=math.ceil(row["standby"]),
        tensor=tensor,
        stages=stages,
        groups=groups,
        accelerators_per_node=accelerators_per_node(row["sku"]),
        resource=plugin_resource(row["sku"]),
        labels=node_labels(row["site"], row["sku"]),
    )
