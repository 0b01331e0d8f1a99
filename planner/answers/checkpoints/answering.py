"""A question about checkpoints as any door asks it: of a job that is described, or of a scenario's jobs."""

from __future__ import annotations

from planner.answers.checkpoints.document import checkpoint_document
from planner.answers.checkpoints.scenarios import scenario_document
from planner.inputs.job_question import CheckpointQuestion
from planner.inputs.question_fields import flag
from planner.inputs.scenario import Scenario
from planner.trace.errors import InputError
from planner.trace.records import Record

# What a scenario speaks for.
STATED = ("model", "storage", "restart_min", "grid", "asynchronous", "spare_confidence_fraction")
STOPS = (
    *("loss_spikes_per_month", "rollback_min", "detect_corruption"),
    *("slow_nodes_fraction", "slowdown_factor", "step_spread_fraction"),
)


def checkpoint_answer(
    question: CheckpointQuestion, scenario: Scenario | None = None, *, changed: bool = False
) -> Record:
    """The document of a job that the question describes, or of the training jobs of a scenario.

    Args:
        question: the job, and how long and how often it runs.
        scenario: whose jobs are meant, where there is one.
        changed: whether changes of a scenario were stated.

    Raises:
        InputError: the question says what the scenario says, or is about a scenario that is not named.
    """
    if scenario is None:
        for name, is_stated in (("job", question.job is not None), ("set", changed)):
            if is_stated:
                raise InputError(f"--{name} is about a scenario: name one")
        return checkpoint_document(question)
    if stated := question.said(*STATED) | {name: one for name, one in question.said(*STOPS).items() if one}:
        flags = ", ".join(flag(name, CheckpointQuestion) for name in stated)
        raise InputError(f"the scenario says what {flags} would: leave it out, or use --set")
    return scenario_document(scenario, question)
