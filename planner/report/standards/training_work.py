"""What a job's document says of the work behind its carbon: the model, its tokens and its operations."""

from __future__ import annotations

from dataclasses import dataclass

from carbon.operational import training_flops
from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import load_catalogue
from planner.trace.records import Record

OPERATIONS = "validation.flops_per_parameter_token"


@dataclass(frozen=True, slots=True)
class TrainingWork:
    """A training run as the document states it; None where it states no model or no tokens."""

    model: str | None
    tokens: float | None
    parameters: float | None
    active_parameters: float | None
    flop: float | None


def counted_said(document: Record) -> str:
    """How the electricity of a job is counted, as the name of its carbon says it."""
    label = next(row["label"] for row in document["totals"] if row["name"] == "carbon")
    return str(label).removeprefix("Carbon, ")


def training_work(document: Record) -> TrainingWork:
    """The training run of a job, its operations by 6 N D with the active parameters."""
    stated = document["inputs"].get("training") or {}
    model, tokens = stated.get("model"), stated.get("tokens")
    catalogue = load_catalogue()
    every = {fact["key"]: fact["value"] for fact in document["tables"]["facts"]}

    def of_model(prop: str) -> float | None:
        key = f"model.{model}.{prop}"
        value = every.get(key, catalogue.fact(key).value if catalogue.has(key) else None)
        return None if value is None else float(value)

    parameters = of_model("parameters") if model else None
    active = (of_model("active_parameters") if model else None) or parameters
    return TrainingWork(model, tokens, parameters, active, _flop(active, tokens, catalogue))


def _flop(active: float | None, tokens: float | None, catalogue: Catalogue) -> float | None:
    if active is None or tokens is None:
        return None
    per_token = float(catalogue.fact(OPERATIONS).value)
    return float(training_flops(active_parameters=active, tokens=tokens, flops_per_parameter_token=per_token))
