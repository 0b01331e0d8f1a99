"""A question about checkpoints as any door asks it: of a job that is described, or of a scenario's jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.answers.checkpoints.document import checkpoint_document
from planner.answers.checkpoints.question import SharedOptions
from planner.answers.checkpoints.scenarios import scenario_document
from planner.inputs.scenario import Scenario
from planner.trace.errors import InputError
from planner.trace.records import Record

# What a scenario speaks for.
STATED = ("model", "storage", "restart_min", "grid", "asynchronous", "spare_confidence_fraction")


@dataclass(frozen=True, slots=True)
class Question:
    """A job and its run; what is None takes the default, or what the scenario says."""

    failures: str | Mapping[str, Any] | None = None
    sku: str | None = None
    nodes: int | None = None
    model: str | None = None
    storage: str | None = None
    restart_min: float | None = None
    grid: str | None = None
    asynchronous: bool | None = None
    spare_confidence_fraction: float | None = None
    job: str | None = None
    queue_min: float = 0.0
    storage_others_fraction: float = 0.0
    state: str = ""
    restart_parts: Mapping[str, float] | None = None
    useful_h: float | None = None
    replicas: int = 0
    seed: int = 0
    linear: bool = False
    today_min: float | None = None

    def stated(self) -> dict[str, Any]:
        """Those of all fields that are stated."""
        return self.said(*self.__dataclass_fields__)

    def said(self, *names: str) -> dict[str, Any]:
        """Those of some fields that are stated."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def checkpoint_answer(
    question: Question, scenario: Scenario | None = None, *, changed: bool = False
) -> Record:
    """The document of a job that the question describes, or of the training jobs of a scenario.

    Args:
        question: the job, and how long and how often it runs.
        scenario: whose jobs are meant, where there is one.
        changed: whether changes of a scenario were stated.

    Raises:
        InputError: the question says what the scenario says, or is about a scenario that is not named.
    """
    run = question.said("useful_h", "replicas", "seed", "linear", "today_min")
    shared = question.said("queue_min", "storage_others_fraction", "state", "restart_parts")
    if scenario is None:
        for name, is_stated in (("job", question.job is not None), ("set", changed)):
            if is_stated:
                raise InputError(f"--{name} is about a scenario: name one")
        return checkpoint_document(**question.said("failures", "sku", "nodes", *STATED), **shared, **run)
    if stated := question.said(*STATED):
        flags = ", ".join(f"--{name.replace('_', '-').removesuffix('-fraction')}" for name in stated)
        raise InputError(f"the scenario says what {flags} would: leave it out, or use --set")
    return scenario_document(
        scenario, **question.said("job", "sku", "nodes", "failures"), options=SharedOptions(**shared), **run
    )
