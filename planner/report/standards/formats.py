"""The registry of published formats: which there are, of what, in which version, and the road to each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

from planner.report.saving import ReportError
from planner.report.shape import is_written, written
from planner.trace.records import Record

Files = dict[str, str]  # the text of each file by its name, which may lie in a folder


class StandardError(ReportError):
    """The answer cannot be written in this format: the message says what it lacks, or what there is."""


@dataclass(frozen=True, slots=True)
class Format:
    """A published format: its version, what it is of, and where it is specified.

    `write` is the function of the module of this room that writes it.
    """

    title: str
    version: str
    of: str  # the kind of answer, as the one shape names it
    specification: str
    module: str

    @property
    def write(self) -> Callable[[Record], Files]:
        """The function that writes a document of the one shape."""
        return cast(Callable[[Record], Files], import_module(f"planner.report.standards.{self.module}").write)


FORMATS: Mapping[str, Format] = {
    "croissant": Format(
        "facts as a data set with its columns, for catalogues of data sets",
        "Croissant 1.0",
        "facts",
        "https://docs.mlcommons.org/croissant/docs/croissant-spec.html",
        "croissant",
    ),
    "dynamo": Format(
        "services with their workers, for Kubernetes",
        "DynamoGraphDeployment nvidia.com/v1beta1",
        "plan",
        "https://docs.nvidia.com/dynamo/kubernetes/api-reference",
        "dynamo",
    ),
    "eu-model-form": Format(
        "computation and energy as the documentation of a general-purpose AI model states them",
        "Model Documentation Form, Code of Practice of 10 July 2025; Annex XI of Regulation (EU) 2024/1689",
        "job",
        "https://digital-strategy.ec.europa.eu/en/policies/contents-code-gpai",
        "eu_model_form",
    ),
    "focus": Format(
        "planned cost and commitments as rows of cost and usage",
        "FOCUS 1.4",
        "plan",
        "https://focus.finops.org/focus-specification/v1-4/",
        "focus",
    ),
    "frictionless": Format(
        "every table with the type, unit and meaning of its columns",
        "Data Package v1, Table Schema v1",
        "plan",
        "https://specs.frictionlessdata.io/data-package/",
        "frictionless",
    ),
    "hugging-face": Format(
        "the metadata and the section of a model card",
        "co2_eq_emissions of the Hub, 2026",
        "job",
        "https://huggingface.co/docs/hub/model-cards-co2",
        "hugging_face",
    ),
    "kserve": Format(
        "services with their replicas, for Kubernetes",
        "InferenceService serving.kserve.io/v1beta1",
        "plan",
        "https://kserve.github.io/website/docs/reference/crd-api",
        "kserve",
    ),
    "kueue": Format(
        "quotas of jobs and pools, for Kubernetes",
        "ResourceFlavor and ClusterQueue kueue.x-k8s.io/v1beta2",
        "plan",
        "https://kueue.sigs.k8s.io/docs/reference/kueue.v1beta2/",
        "kueue",
    ),
    "llm-d": Format(
        "services as values of a Helm chart",
        "llm-d-modelservice v0.4",
        "plan",
        "https://github.com/llm-d-incubation/llm-d-modelservice",
        "llm_d",
    ),
    "sci": Format(
        "carbon for a unit of work, of who provides a model and of who uses it",
        "SCI for AI, draft of January 2026, on ISO/IEC 21031:2024",
        "job",
        "https://github.com/Green-Software-Foundation/sci-ai/blob/main/SPEC.md",
        "sci",
    ),
    "slurm": Format(
        "nodes and partitions of the fleet",
        "slurm.conf of Slurm 20.11 and later",
        "plan",
        "https://slurm.schedmd.com/slurm.conf.html",
        "slurm_partitions",
    ),
}


def write_as(document: Record, name: str) -> Files:
    """An answer in a published format: the text of each file by its name.

    Raises:
        StandardError: there is no such format, it is of another kind of answer, or the answer lacks
            something that it needs.
    """
    form = FORMATS.get(name)
    if form is None:
        raise StandardError(f"'{name}' is no format: choose one of {', '.join(FORMATS)}")
    shaped = document if is_written(document) else written(document)
    if shaped["kind"] != form.of:
        fitting = ", ".join(one for one, held in FORMATS.items() if held.of == shaped["kind"])
        raise StandardError(
            f"{name} is written of a {form.of}, and this is a {shaped['kind']}"
            + (f": choose {fitting}" if fitting else "")
        )
    if form.of == "plan" and not shaped["totals"] and name != "frictionless":
        raise StandardError(f"{name} is written of a plan that was found, and here none was")
    return form.write(shaped)


def save_files(files: Mapping[str, str], folder: Path) -> list[Path]:
    """Write files into a folder, each whole or not at all; what else lies there is not touched.

    Raises:
        ReportError: the folder or a file cannot be written.
    """
    paths = [folder / name for name in files]
    try:
        for path, text in zip(paths, files.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f".{path.name}.partial")
            fresh.write_bytes(text.encode())
            os.replace(fresh, path)
    except OSError as error:
        raise ReportError(f"{folder}: cannot write there: {error.strerror}. Name another folder.") from error
    return paths
