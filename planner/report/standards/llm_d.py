"""Services of a plan for llm-d: values of its chart `llm-d-modelservice`, a file for each deployment.

Where the weights lie (`modelArtifacts.uri`) and the image are the user's to add: a plan knows a model by its
name in the catalogue. Where one set of pods reads prompts and writes answers, `prefill` is off; apart,
`decode` is those that write, `prefill` those that read, and caches cross by NIXL. Standby replicas are ready,
so that they are among the replicas. The chart serves by vLLM and lays several nodes under data parallel ranks
alone: a service on another engine, or with stages between nodes, is refused.

Source: llm-d, chart llm-d-modelservice, values.schema.json.
"""

from __future__ import annotations

from planner.report.standards.deployments import NIXL, Deployment, deployments_of
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
    several = {part.nodes > 1 for part in one.parts}
    if len(several) > 1:
        raise StandardError(
            f"llm-d: of {one.service} one kind of replica takes one node and the other several, and its "
            "chart lays both alike"
        )
    return {
        "fullnameOverride": one.name,
        "multinode": several == {True},
        "modelArtifacts": {
            "name": one.service,
            "labels": {"llm-d.ai/inference-serving": "true", "llm-d.ai/model": one.service},
        },
        "accelerator": {"type": ACCELERATORS[one.resource]},
        "decode": _pods(one),
        "prefill": {"create": False} if one.reader is None else _pods(one.reader),
    }


def _pods(one: Deployment) -> Record:
    """Replicas of one kind."""
    if one.nodes > 1 and (one.groups % one.nodes or one.tensor * one.stages > one.accelerators_per_node):
        raise StandardError(
            f"llm-d: a replica of {one.service} takes {one.nodes} nodes, and its chart lays several nodes "
            "under data parallel ranks alone"
        )
    arguments = ["--pipeline-parallel-size", str(one.stages)] if one.stages > 1 else []
    container: Record = {
        "name": "vllm",
        "modelCommand": "vllmServe",
        "args": arguments,
        "resources": {"limits": one.count, "requests": one.count},
    }
    if one.role != "worker":
        container["args"] = [*arguments, "--kv-transfer-config", NIXL]
        container["env"] = [
            {"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        ]
    return {
        "create": True,
        "replicas": one.replicas + one.standby,
        "nodeSelector": one.labels,
        "parallelism": {
            "tensor": one.tensor,
            "data": one.groups,
            "dataLocal": one.groups // one.nodes,
            "workers": one.nodes,
        },
        "containers": [container],
    }
