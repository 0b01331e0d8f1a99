"""How fast accelerators are let run: power caps and locked clocks as columns and sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from planner.physics.power_caps import Modes
from planner.physics.serving_options import ServingCandidates
from planner.physics.training_options import UNCAPPED, UNLOCKED, TrainingCandidates
from planner.program.plan import Plan
from planner.program.solution import Solution
from planner.trace.numbers import percent_text
from planner.trace.records import Record

Floats = NDArray[np.float64]

SHOWN = 0.005  # of the work, from which on a mode is told


def modes_of(candidates: TrainingCandidates | ServingCandidates) -> Modes:
    """The caps and clocks of candidates."""
    return Modes(candidates.power_cap_fraction, candidates.clock_fraction)


def mode_columns(modes: Modes, row: int) -> Record:
    """The cap and the clock of a row, each where any row has one."""
    shares = {"power_cap_fraction": modes.power_cap_fraction, "clock_fraction": modes.clock_fraction}
    return {name: float(share[row]) for name, share in shares.items() if np.any(share < UNCAPPED)}


def slowed_run(modes: Modes, row: int) -> str:
    """What the sentence of a run says of its accelerators."""
    said = _said(float(modes.power_cap_fraction[row]), float(modes.clock_fraction[row]))
    return f", {said}," if said else ""


def mode_sentences(plan: Plan, solution: Solution) -> list[str]:
    """A sentence for each service and pool whose accelerators do not all run freely."""
    replicas, works = plan.ledger.replicas, plan.assembled.work
    said = []
    if replicas is not None:
        options, rows = plan.problem.serve_options, plan.ledger.replica_options
        modes = modes_of(replicas.candidates)
        carried = (solution.replicas[rows] * options.capacity[rows]).sum(axis=1)
        said += list(_sentences(plan.problem.services.name, options.service[rows], modes, carried))
    if works.speed is not None:
        done = (np.asarray(works.speed.value)[:, None] * solution.work_node_h).sum(axis=1)
        said += list(_sentences(plan.problem.work.name, works.work, works.modes, done))
    return said


def _sentences(
    names: tuple[str, ...], owner: NDArray[np.intp], modes: Modes, amount: Floats
) -> Iterator[str]:
    each = np.stack([modes.power_cap_fraction, modes.clock_fraction], axis=1)
    for number, name in enumerate(names):
        here = owner == number
        whole, parts = float(amount[here].sum()), []
        for mode in np.unique(each[here], axis=0).tolist():
            share = float(amount[here & (each == mode).all(axis=1)].sum()) / max(whole, 1e-12)
            if share > SHOWN and (said := _said(*mode)):
                parts.append(said if share > 1.0 - SHOWN else f"{said} for {percent_text(share, 0)} of it")
        if parts:
            yield f"Run {name} with {'; '.join(parts)}."


def _said(power_cap_fraction: float, clock_fraction: float) -> str:
    if power_cap_fraction < UNCAPPED:
        return f"accelerators capped at {percent_text(power_cap_fraction, 0)}"
    return "" if clock_fraction == UNLOCKED else f"clocks locked at {percent_text(clock_fraction, 0)}"
