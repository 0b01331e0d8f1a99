"""Sets of techniques that a training run may use: which, from when on, how much faster, people's time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import TrainingJob
from planner.inputs.techniques import RUNS, technique_named
from planner.physics.techniques import in_scope, ratio_column
from planner.physics.ways import people_h, sets_together, usable_h
from planner.trace.columns import Indices
from planner.trace.quantities import Traced, pick


def run_sets(inputs: Inputs) -> tuple[tuple[str, ...], ...]:
    """Every set of techniques that some job may use, none of them first."""
    every = (names for job in inputs.scenario.training for names in sets_together(_named(inputs, job)))
    return tuple(dict.fromkeys([(), *every]))


def sets_of(inputs: Inputs, job: TrainingJob, sku: int) -> tuple[int, ...]:
    """Which of them a job may use on a SKU: those of which each is in scope there."""
    here = in_scope(inputs, _named(inputs, job), "training", job.model, sku)
    every = run_sets(inputs)
    return tuple(every.index(names) for names in sets_together(here))


def usable_from_h(inputs: Inputs, way: Indices) -> NDArray[np.float64]:
    """Hours from the start of the horizon until the set of each row is in use."""
    return np.array(
        [max((usable_h(inputs, one) for one in names), default=0.0) for names in run_sets(inputs)]
    )[way]


def run_ratio(inputs: Inputs, way: Indices) -> Traced | None:
    """How many times less time each row takes; None where no row has any technique."""
    return ratio_column(inputs, run_sets(inputs), way, RUNS)


def adopted_usd(inputs: Inputs, way: Indices) -> Traced:
    """What people do once for each run that uses the set of its row, in money."""
    hour, items = inputs.fact("planning.person_hour"), list[Traced]()
    for names in run_sets(inputs):
        items.append((people_h(inputs, names) * hour).named("adopted_usd"))
    return pick(items, way)


def set_said(inputs: Inputs, way: int) -> str:
    """The set of a row in words."""
    return " and ".join(run_sets(inputs)[way]) or "as stated"


def _named(inputs: Inputs, job: TrainingJob) -> tuple[str, ...]:
    """Techniques that a job may use: its own and those of the policy, of those that are for training."""
    named = dict.fromkeys((*job.techniques, *inputs.scenario.policy.techniques))
    return tuple(
        name for name in named if not technique_named(name).idle_in(inputs.catalogue, "training", job.model)
    )
