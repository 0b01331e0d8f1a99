"""The data of training runs by where it comes from: what is bought, and what that costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import TrainingJob
from planner.physics.equations.money import bought_data_usd
from planner.physics.run_ways import run_sets
from planner.physics.techniques import effect_ratio
from planner.trace.quantities import Traced, chosen, derive, pick

AMOUNTS = ("tokens", "samples")  # handles of techniques that make a run read less


def data_usd(inputs: Inputs, job: NDArray[np.intp], way: NDArray[np.intp]) -> Traced | None:
    """What the data of each row of a column costs, once for its run; None where no run buys any."""
    jobs, sets = inputs.scenario.training, run_sets(inputs)
    if not any(one.buys_data for one in jobs):
        return None
    pairs, index = np.unique(np.stack([job, way]), axis=1, return_inverse=True)
    return pick([_usd(inputs, jobs[j], sets[w]) for j, w in pairs.T.tolist()], index.ravel())


def _usd(inputs: Inputs, job: TrainingJob, techniques: tuple[str, ...]) -> Traced:
    if not job.buys_data:
        return chosen("data_usd", 0.0, "no data of this run is bought", unit="USD")
    at = f"training.{job.name}"
    less = effect_ratio(inputs, techniques, AMOUNTS)
    assert job.data_usd_per_million is not None, "it buys data"
    return derive(
        bought_data_usd,
        million_usd=inputs.money(f"{at}.data_price", job.data_usd_per_million, "USD"),
        amount=inputs.yours(f"{at}.{job.amount_key}", job.amount, "1"),
        bought_fraction=share_of(inputs, job, "bought"),
        passes=passes_of(inputs, job),
        reduction_ratio=chosen("reduction_ratio", 1.0, "no technique") if less is None else less,
    ).named("data_usd")


def share_of(inputs: Inputs, job: TrainingJob, kind: str) -> Traced:
    """The share of its data that a run buys, has generated, or owns."""
    value, stated = job.data_shares[kind], job.has(f"{kind}_fraction")
    if stated:
        return inputs.yours(f"training.{job.name}.{kind}", value, "1")
    return chosen("share_fraction", value, "what the other shares leave", unit="1")


def passes_of(inputs: Inputs, job: TrainingJob) -> Traced:
    """How often a run goes through its data."""
    if job.passes is None:
        return chosen("passes", 1.0, "each is seen once")
    return inputs.yours(f"training.{job.name}.passes", job.passes, "1")
