"""Services of a plan for KServe: an InferenceService for each deployment, as many replicas as the plan has.

Where the weights lie is the user's to add (`storageUri`): a plan knows a model by its name in the catalogue.
A replica on several nodes has a `workerSpec`, as KServe takes its sizes from nowhere else. Its runtime writes
tokens; services that answer in batches (scoring, images) need one of their own, and each file names them.

Source: KServe, API serving.kserve.io/v1beta1, InferenceService; Hugging Face runtime, arguments of vLLM.
"""

from __future__ import annotations

import math

from planner.report.standards.fleet_names import (
    accelerators_per_node,
    cluster_name,
    node_labels,
    plugin_resource,
)
from planner.report.standards.formats import Files, StandardError
from planner.report.standards.periods import periods_of
from planner.report.standards.yaml import yaml_stream
from planner.trace.records import Record

NO_WEIGHTS = "add to each `model` its storageUri: where the weights lie is not part of a plan"


def write(document: Record) -> Files:
    """`kserve-PERIOD.yaml`: the services of each period."""
    rows = document["tables"].get("services", [])
    if not rows:
        raise StandardError("kserve: the plan serves nothing")
    if any("model" not in row for row in rows):
        raise StandardError("kserve: this plan was made before services named their model: plan again")
    found: Files = {}
    for period in periods_of(document):
        here = [row for row in rows if row["period"] == period.label]
        mine = [row for row in here if "engine" in row]
        others = sorted({row["service"] for row in here} - {row["service"] for row in mine})
        if mine:
            comment = f"{document['title']}\n{period.label}: {period.first} to {period.after}\n{NO_WEIGHTS}"
            comment += f"\nnot here, since they answer in batches: {', '.join(others)}" if others else ""
            found[f"kserve-{period.name}.yaml"] = yaml_stream(list(map(_service, mine)), comment)
    if not found:
        names = ", ".join(sorted({row["service"] for row in rows}))
        raise StandardError(f"kserve: its runtime writes tokens, and {names} answer in batches")
    return found


def _service(row: Record) -> Record:
    """One deployment: a service on a SKU at a site."""
    tensor, stages, groups = (int(row.get(name, 1)) for name in ("tensor_parallel", "stages", "groups"))
    resource, each = plugin_resource(row["sku"]), accelerators_per_node(row["sku"])
    accelerators = tensor * stages * groups
    several = accelerators > each
    here = each if several else accelerators
    arguments = [f"--model_name={row['service']}"]
    if not several:
        arguments += [f"--tensor-parallel-size={tensor}"]
        arguments += [f"--pipeline-parallel-size={stages}"] if stages > 1 else []
        arguments += [f"--data-parallel-size={groups}"] if groups > 1 else []
    count = {resource: here}
    replicas = int(row["replicas"])
    predictor = {
        "minReplicas": replicas,
        "maxReplicas": replicas + math.ceil(row["standby"]),
        "nodeSelector": node_labels(row["site"], row["sku"]),
        "model": {
            "modelFormat": {"name": "huggingface"},
            "args": arguments,
            "resources": {"limits": count, "requests": count},
        },
    }
    if several:
        predictor["workerSpec"] = {
            "pipelineParallelSize": max(stages, math.ceil(accelerators / each)),
            "tensorParallelSize": min(tensor, each),
        }
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            "name": cluster_name(row["service"], row["site"], row["sku"], f"tp{tensor}"),
            "annotations": {"everfleet/model": row["model"], "everfleet/engine": row["engine"]},
        },
        "spec": {"predictor": predictor},
    }
