"""Services of a plan for llm-d: values of its chart `llm-d-modelservice`, a file for each deployment.

Where the weights lie (`modelArtifacts.uri`) and the image are the user's to add: a plan knows a model by its
name in the catalogue. One set of pods reads prompts and writes answers, so that `prefill` is off. Standby
replicas are ready, so that they are among the replicas. The chart serves by vLLM and lays several nodes under
data parallel ranks alone: a service on another engine, or with stages between nodes, is refused.

Source: llm-d, chart llm-d-modelservice, values.schema.json.
"""

from __future__ import annotations

from planner.report.standards.deployments import Deployment, deployments_of
from planner.report.standards.formats import Files, StandardError
from planner.report.standards.yaml import yaml_of
from planner.trace.records import Record

# The resource of a device plugin -> the chart's name of the accelerator.
ACCELERATORS = {
    "nvidia.com/gpu": "nvidia",
    "amd.com/gpu": "amd",
    "google.com/tpu": "google",
    "habana.ai/gaudi": "intel-gaudi",
}
TO_ADD = (
    "add modelArtifacts.uri, where the weights lie, and the image of the container\n"
    "standby replicas are among the replicas"
)


def write(document: Record) -> Files:
    """`llm-d-PERIOD/DEPLOYMENT.yaml`: values of each deployment of each period."""
    return {
        f"llm-d-{period.name}/{one.name}.yaml": yaml_of(_values(one), f"{comment}\n{TO_ADD}")
        for period, comment, found in deployments_of(document, "llm-d")
        for one in found
    }


def _values(one: Deployment) -> Record:
    """One deployment: a service on a SKU at a site."""
    if one.runtime != "vllm":
        raise StandardError(f"llm-d: {one.service} runs on {one.engine}, and its chart serves by vLLM")
    if one.resource not in ACCELERATORS:
        raise StandardError(f"llm-d: its chart has no accelerator that is counted by {one.resource}")
    if one.nodes > 1 and (one.groups % one.nodes or one.tensor * one.stages > one.accelerators_per_node):
        raise StandardError(
            f"llm-d: a replica of {one.service} takes {one.nodes} nodes, and its chart lays several nodes "
            "under data parallel ranks alone"
        )
    stages = ["--pipeline-parallel-size", str(one.stages)] if one.stages > 1 else []
    return {
        "fullnameOverride": one.name,
        "multinode": one.nodes > 1,
        "modelArtifacts": {
            "name": one.service,
            "labels": {"llm-d.ai/inference-serving": "true", "llm-d.ai/model": one.service},
        },
        "accelerator": {"type": ACCELERATORS[one.resource]},
        "decode": {
            "create": True,
            "replicas": one.replicas + one.standby,
            "nodeSelector": one.labels,
            "parallelism": {
                "tensor": one.tensor,
                "data": one.groups,
                "dataLocal": one.groups // one.nodes,
                "workers": one.nodes,
            },
            "containers": [
                {
                    "name": "vllm",
                    "modelCommand": "vllmServe",
                    "args": stages,
                    "resources": {"limits": one.count, "requests": one.count},
                }
            ],
        },
        "prefill": {"create": False},
    }
