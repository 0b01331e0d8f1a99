"""Terms of a plan for what bends: rented hours, parked nodes, pausable jobs, demand that is not carried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from planner.assembly import Assembled
from planner.coefficients.elastic import Elastic, elastic_jobs
from planner.coefficients.training import POLICIES
from planner.coefficients.unmet import unmet_items
from planner.inputs import Inputs
from planner.trace import Chosen, Traced, chosen, pick, rows
from solver.account import active_node_h
from solver.problem import Solution

DECIDED = "decided by the program"
Kind = Literal["usd", "kgco2e", "kwh"]
Part = tuple[Traced, Chosen]


@dataclass(frozen=True)
class Paused:
    """How pausable jobs run: their coefficients, which row each is, which option of the program."""

    elastic: Elastic
    rows: NDArray[np.intp]
    options: NDArray[np.intp]


def paused_jobs(inputs: Inputs, assembled: Assembled, solution: Solution) -> Paused | None:
    """Coefficients of the pausable jobs that run, worked out once more."""
    options, every = np.flatnonzero(solution.done_node_h.sum(axis=1)), assembled.elastic
    if every is None or not len(options):
        return None
    candidate = assembled.elastic_row[options]
    few = elastic_jobs(inputs, assembled.nodes, every.candidates.some(candidate))
    return Paused(few, np.arange(len(options)) * len(POLICIES) + every.policy[candidate], options)


def used_terms(
    kind: Kind, inputs: Inputs, assembled: Assembled, paused: Paused | None, solution: Solution
) -> dict[str, Part]:
    """Each kind of use that the plan makes: what one of it costs, emits or draws, and how many there are."""
    found: dict[str, Part] = {}
    if paused is not None:
        each = getattr(paused.elastic, "facility_kwh" if kind == "kwh" else kind)
        found["elastic"] = _part(each, paused.rows, solution.done_node_h[paused.options], "node_h")
    rented = assembled.rented
    hours = rented_node_h(assembled, solution)
    rate = None if kind == "kwh" else getattr(rented, kind)
    if rate is not None and hours.any():
        found["rental"] = _part(rate, np.arange(len(rented.pool)), hours, "node_h")
    if assembled.parked is not None and solution.parked.any():
        pools = np.flatnonzero(solution.parked.sum(axis=1))
        each = getattr(assembled.parked, kind)
        found["parked"] = _part(each, pools, solution.parked[pools], "parked nodes")
    if kind == "usd" and solution.shed_fraction.any():
        items = unmet_items(inputs)
        index = np.arange(len(items) * inputs.periods).reshape(len(items), inputs.periods)
        price = pick([item for row in items.values() for item in row], index)
        shed = solution.shed_fraction[list(items)]
        found["unmet"] = price, chosen("shed_fraction", shed, DECIDED, "1")
    return found


def rented_node_h(assembled: Assembled, solution: Solution) -> NDArray[np.float64]:
    """Hours in use of each pool of rented nodes, by period."""
    active = active_node_h(
        assembled.problem, solution.run, solution.replicas, solution.work_node_h, solution.done_node_h
    )
    hours: NDArray[np.float64] = active[assembled.rented.pool]
    return hours


def _part(each: Traced, index: NDArray[np.intp], counts: NDArray[Any], name: str) -> Part:
    return rows(each, index), chosen(name, np.asarray(counts, dtype=float), DECIDED, "1")
