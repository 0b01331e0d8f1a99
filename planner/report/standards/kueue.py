"""Quotas of a plan's jobs and pools for Kueue: a flavor for each node group, a queue for each work.

A queue's nominal quota is the accelerators that the plan gives to the work in a period, in whole nodes, and
all of them are no more than stand there; queues of one plan are a cohort, so that work borrows what others
leave idle. Services are not queued: `kserve` writes them.

Source: Kueue, API kueue.x-k8s.io/v1beta2, ResourceFlavor and ClusterQueue.
"""

from __future__ import annotations

import math

from planner.report.standards.fleet_names import (
    accelerators_per_node,
    cluster_name,
    groups_of,
    node_labels,
    plugin_resource,
)
from planner.report.standards.formats import Files, StandardError
from planner.report.standards.periods import Period, periods_of
from planner.report.standards.yaml import yaml_stream
from planner.trace.records import Record

API = "kueue.x-k8s.io/v1beta2"


def write(document: Record) -> Files:
    """`kueue-PERIOD.yaml`: flavors and queues of each period that has work to queue."""
    found: Files = {}
    for period in periods_of(document):
        if quotas := quotas_of(document, period):
            flavors = [_flavor(site, sku) for site, sku in groups_of(_groups(quotas))]
            queues = [_queue(work, rows) for work, rows in quotas.items()]
            comment = f"{document['title']}\n{period.label}: {period.first} to {period.after}"
            found[f"kueue-{period.name}.yaml"] = yaml_stream([*flavors, *queues], comment)
    if not found:
        raise StandardError("kueue: the plan has no pool, job or pausable job that would wait in a queue")
    return found


def quotas_of(document: Record, period: Period) -> dict[str, list[Record]]:
    """Work -> node groups with the nodes that it is promised in a period.

    Runs of a stated size have theirs. Pools and pausable jobs have their mean, and no more than services and
    runs leave of the group: what they do after a run has ended they borrow.
    """
    tables, left = document["tables"], _left(document, period)
    found: dict[str, list[Record]] = {}

    def promise(work: str, row: Record, nodes: int, *, fixed: bool = False) -> None:
        place = row["site"], row["sku"]
        given = nodes if fixed else max(0, min(nodes, left.get(place, 0)))
        left[place] = left.get(place, 0) - given
        found.setdefault(work, []).append({"site": row["site"], "sku": row["sku"], "nodes": given})

    for row in tables.get("jobs", []):
        if period.overlaps(row["start"], row["finish_p95"]):
            promise(row["job"], row, int(row["nodes"]) * int(row.get("count", 1)), fixed=True)
    for row in tables.get("pools", []):
        if row["period"] == period.label and row["held_node_h"]:
            promise(row["pool"], row, math.ceil(row["held_node_h"] / period.hours))
    for row in tables.get("pausable", []):
        if row["period"] == period.label and row["mean_nodes"]:
            promise(row["job"], row, math.ceil(row["mean_nodes"]))
    return found


def _left(document: Record, period: Period) -> dict[tuple[str, str], int]:
    """Whole nodes of each group that its services leave."""
    tables = document["tables"]
    nodes = {
        (row["site"], row["sku"]): math.floor(row["in_service_nodes"])
        for row in tables["fleet"]
        if row["period"] == period.label
    }
    taken: dict[tuple[str, str], float] = {}
    for row in tables.get("services", []):
        if row["period"] == period.label:
            place = row["site"], row["sku"]
            each = _accelerators(row)
            replicas = row["replicas"] + row["standby"]
            taken[place] = taken.get(place, 0.0) + replicas * each / accelerators_per_node(row["sku"])
    return {place: count - math.ceil(taken.get(place, 0.0)) for place, count in nodes.items()}


def _accelerators(row: Record) -> float:
    """Those of a replica, or of a unit of replicas that read prompts and replicas that write answers."""
    if "tensor_parallel" in row:
        return float(row["tensor_parallel"] * row.get("stages", 1) * row.get("groups", 1))
    kinds = ("prefill", "decode")
    both = sum(row[f"{kind}_replicas"] * row[f"{kind}_accelerators"] for kind in kinds)
    return float(both / row["replicas"])


def _groups(quotas: dict[str, list[Record]]) -> list[Record]:
    return [row for rows in quotas.values() for row in rows]


def _flavor(site: str, sku: str) -> Record:
    return {
        "apiVersion": API,
        "kind": "ResourceFlavor",
        "metadata": {"name": cluster_name(site, sku)},
        "spec": {"nodeLabels": node_labels(site, sku)},
    }


def _queue(work: str, rows: list[Record]) -> Record:
    """The queue of a work: a group of flavors for each resource by which its accelerators are counted."""
    resources: dict[str, list[Record]] = {}
    for row in rows:
        resource = plugin_resource(row["sku"])
        quota = row["nodes"] * accelerators_per_node(row["sku"])
        resources.setdefault(resource, []).append(
            {
                "name": cluster_name(row["site"], row["sku"]),
                "resources": [{"name": resource, "nominalQuota": quota}],
            }
        )
    return {
        "apiVersion": API,
        "kind": "ClusterQueue",
        "metadata": {"name": cluster_name(work)},
        "spec": {
            "cohortName": "everfleet",
            "namespaceSelector": {},
            "resourceGroups": [
                {"coveredResources": [resource], "flavors": flavors}
                for resource, flavors in resources.items()
            ],
        },
    }
