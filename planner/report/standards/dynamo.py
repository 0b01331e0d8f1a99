"""Services of a plan for NVIDIA Dynamo: a graph for each deployment, a frontend before its workers.

The image of its runtime and where the weights lie are the user's to add: a plan knows a model by its name in
the catalogue. Standby replicas are ready, so that they are among the replicas of the workers. Where prompts
are read apart, workers that read stand next to those that write; caches cross by NIXL. Groups that share
attention are data parallel ranks; Dynamo's TensorRT-LLM takes these from a file of its own.

Source: NVIDIA Dynamo, API nvidia.com/v1beta1, DynamoGraphDeployment; arguments of its vLLM, SGLang and
TensorRT-LLM workers.
"""

from __future__ import annotations

from planner.report.standards.deployments import NIXL, Deployment, deployments_of
from planner.report.standards.formats import Files, StandardError
from planner.report.standards.yaml import yaml_stream
from planner.trace.records import Record

BACKENDS = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "trtllm"}
TO_ADD = (
    "add to each container its image, and where the weights lie in place of the model's name\n"
    "standby replicas are among the replicas"
)


def write(document: Record) -> Files:
    """`dynamo-PERIOD.yaml`: the graphs of each period."""
    return {
        f"dynamo-{period.name}.yaml": yaml_stream(list(map(_graph, found)), f"{comment}\n{TO_ADD}")
        for period, comment, found in deployments_of(document, "dynamo")
    }


def _graph(one: Deployment) -> Record:
    """One deployment: a service on a SKU at a site."""
    backend = BACKENDS.get(one.runtime)
    if backend is None:
        raise StandardError(f"dynamo: {one.service} runs on {one.engine}, which Dynamo has no workers for")
    frontend = {"name": "main", "command": ["python3", "-m", "dynamo.frontend"]}
    first = {
        "name": "frontend",
        "type": "frontend",
        "replicas": 1,
        "podTemplate": {"spec": {"containers": [frontend]}},
    }
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": one.name, "annotations": one.annotations},
        "spec": {
            "backendFramework": backend,
            "components": [first, *(_workers(part, backend) for part in one.parts)],
        },
    }


def _workers(one: Deployment, backend: str) -> Record:
    """Replicas of one kind."""
    worker = {
        "name": "main",
        "command": ["python3", "-m", f"dynamo.{backend}"],
        "args": [*_arguments(one, backend), *_phase(one, backend)],
        "resources": {"limits": one.count, "requests": one.count},
    }
    found = {
        "name": one.role,
        "type": one.role,
        "replicas": one.replicas + one.standby,
        "podTemplate": {"spec": {"nodeSelector": one.labels, "containers": [worker]}},
    }
    if one.nodes > 1:
        found["multinode"] = {"nodeCount": one.nodes}
    return found


def _phase(one: Deployment, backend: str) -> list[str]:
    """Whether a worker reads or writes, and what carries the cache from one to the other."""
    if one.role == "worker":
        return []
    carries = {
        "vllm": ["--kv-transfer-config", NIXL],
        "sglang": ["--disaggregation-transfer-backend", "nixl"],
    }
    return ["--disaggregation-mode", one.role, *carries.get(backend, [])]


def _arguments(one: Deployment, backend: str) -> list[str]:
    """The model and the sizes of a replica as the worker of a backend takes them."""
    sizes: dict[str, int]
    match backend:
        case "sglang":
            # Its tensor ranks are all of a replica, of which attention takes a part each.
            sizes = {"tp-size": one.tensor * one.groups, "pp-size": one.stages, "dp-size": one.groups}
        case "vllm":
            sizes = {
                "tensor-parallel-size": one.tensor,
                "pipeline-parallel-size": one.stages,
                "data-parallel-size": one.groups,
            }
        case _:
            if one.groups > 1:
                raise StandardError(
                    f"dynamo: {one.service} shares attention between {one.groups} groups, which workers "
                    "of TensorRT-LLM take from a file of their own"
                )
            sizes = {"tensor-parallel-size": one.tensor, "pipeline-parallel-size": one.stages}
    first = "--model" if backend == "vllm" else "--model-path"
    found = [first, one.model, "--served-model-name", one.service]
    for name, size in sizes.items():
        found += [f"--{name}", str(size)] if size > 1 else []
    return found + (["--enable-dp-attention"] if backend == "sglang" and one.groups > 1 else [])
