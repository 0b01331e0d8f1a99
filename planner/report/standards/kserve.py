"""Services of a plan for KServe: an InferenceService for each deployment, as many replicas as the plan has.

Where the weights lie is the user's to add (`storageUri`): a plan knows a model by its name in the catalogue.
A replica on several nodes has a `workerSpec`, as KServe takes its sizes from nowhere else. Its runtime writes
tokens; services that answer in batches (scoring, images) need one of their own, and each file names them.

Source: KServe, API serving.kserve.io/v1beta1, InferenceService; Hugging Face runtime, arguments of vLLM.
"""

from __future__ import annotations

from planner.report.standards.deployments import Deployment, deployments_of
from planner.report.standards.formats import Files, StandardError
from planner.report.standards.yaml import yaml_stream
from planner.trace.records import Record

NO_WEIGHTS = "add to each `model` its storageUri: where the weights lie is not part of a plan"


def write(document: Record) -> Files:
    """`kserve-PERIOD.yaml`: the services of each period."""
    return {
        f"kserve-{period.name}.yaml": yaml_stream(list(map(_service, found)), f"{comment}\n{NO_WEIGHTS}")
        for period, comment, found in deployments_of(document, "kserve")
    }


def _service(one: Deployment) -> Record:
    """One deployment: a service on a SKU at a site."""
    if one.reader is not None:
        raise StandardError(
            f"kserve: {one.service} reads prompts and writes answers on replicas of their own, and an "
            'InferenceService has one kind: write llm-d or dynamo, or plan with phases = "together"'
        )
    arguments = [f"--model_name={one.service}"]
    if one.nodes == 1:
        arguments += [f"--tensor-parallel-size={one.tensor}"]
        arguments += [f"--pipeline-parallel-size={one.stages}"] if one.stages > 1 else []
        arguments += [f"--data-parallel-size={one.groups}"] if one.groups > 1 else []
    predictor = {
        "minReplicas": one.replicas,
        "maxReplicas": one.replicas + one.standby,
        "nodeSelector": one.labels,
        "model": {
            "modelFormat": {"name": "huggingface"},
            "args": arguments,
            "resources": {"limits": one.count, "requests": one.count},
        },
    }
    if one.nodes > 1:
        predictor["workerSpec"] = {
            "pipelineParallelSize": max(one.stages, one.nodes),
            "tensorParallelSize": min(one.tensor, one.accelerators_per_node),
        }
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": one.name, "annotations": one.annotations},
        "spec": {"predictor": predictor},
    }
