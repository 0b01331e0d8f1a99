"""The cleanest plan of a scenario for each day by which its jobs have to be done."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from planner.answers.tradeoffs.carbon_front import ALIKE
from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import with_cards
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, with_changes
from planner.program.assembly import assemble
from planner.program.plan import Plan
from planner.program.searches import dominated, knee, lexicographic
from planner.program.solution import Solution
from planner.trace.errors import InputError
from planner.trace.numbers import mass, money, share_of
from planner.trace.records import Record

LEAST_GAP = 0.005  # points are for reading: half a per cent of carbon is less than the facts are sure of
HOURS_A_DAY = 24


class TimeError(InputError):
    """A scenario has no deadline that could be moved; the message says so."""


@dataclass(frozen=True)
class Timed:
    """The cleanest plan, with the least money at that, for deadlines moved by so many days."""

    shift_d: int
    plan: Plan
    solution: Solution

    @property
    def deadline(self) -> date:
        """The last of the deadlines."""
        return max(job.deadline for job in self.plan.inputs.scenario.training)

    @property
    def finish_p95(self) -> date | None:
        """The day by which the last run is done with 95 % chance; None where none runs in one piece."""
        ledger = self.plan.ledger
        if ledger.runs is None or len(ledger.run_rows) == 0:
            return None
        runs, rows = ledger.runs, ledger.run_rows
        finish_h = runs.start_h.value[rows, 0] + runs.finish_p95_h.value[runs.candidate[rows]]
        return self.plan.inputs.scenario.horizon.date_after_h(float(finish_h.max()))


@dataclass(frozen=True)
class TimeFront:
    """Plans by the days that deadlines moved; levels without a plan are counted."""

    scenario: Scenario
    points: tuple[Timed, ...]
    needless: tuple[bool, ...]  # an earlier one is as clean, within the gap
    knee: int | None
    without_plan: tuple[int, ...]  # days
    complete: bool


def find_times(
    scenario: Scenario,
    *,
    points: int,
    watch: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    met: Callable[[Timed], None] | None = None,
) -> TimeFront:
    """Least carbon, then least money, for at most so many deadlines.

        minimise kgCO2e(x), subject to finish(x) <= deadline + shift

    All deadlines move together, from the first day by which the fastest options could be done to the end of
    the horizon. More time never makes the cleanest plan dirtier, so that only days between two plans that
    differ are looked at. The scenario's objective is not looked at, its limits are. A stop keeps the points
    that are there; `met` receives each as it is found.

    Raises:
        TimeError: no job has a deadline that can move.
    """
    if points < 2:
        raise ValueError(f"points is a count of at least 2, got {points}")
    catalogue, stopped = load_catalogue(), should_stop or (lambda: False)
    tell = watch or (lambda _: None)
    first_d, last_d = days_to_move(scenario, catalogue)
    seen: dict[int, Timed | None] = {}
    wanted = list(dict.fromkeys((0, last_d, first_d)))
    while wanted and len(seen) < 2 * points and not stopped():
        shift_d = wanted.pop(0)
        seen[shift_d] = point = _cleanest(moved(scenario, shift_d), catalogue, shift_d, should_stop)
        tell(f"{len(seen)}: {_found_text(shift_d, point)}")
        if point is not None and met is not None:
            met(point)
        enough = sum(each is not None for each in seen.values()) >= points
        wanted = wanted or ([] if enough else _next_days(seen))
    return _marked(scenario, seen, complete=not stopped())


def _found_text(shift_d: int, point: Timed | None) -> str:
    if point is None:
        return f"{days_text(shift_d)} no plan was found"
    return f"done by {point.deadline}: {mass(point.solution.kgco2e)}, {money(point.solution.usd)}"


def days_to_move(scenario: Scenario, catalogue: Catalogue) -> tuple[int, int]:
    """Fewest and most days by which the deadlines may move.

    Raises:
        TimeError: no job has a deadline, or it cannot move within the horizon.
    """
    if not scenario.training:
        raise TimeError("No job of this scenario has a deadline: add one under [[training]].")
    most = max((scenario.horizon.end - job.deadline).days for job in scenario.training)
    least = min(_fastest_d(scenario, catalogue), 0)
    if least == most:
        raise TimeError("The deadlines can move neither way: add periods, or let the jobs begin earlier.")
    return least, most


def _next_days(seen: dict[int, Timed | None]) -> list[int]:
    """The middle of the widest step of the staircase, by days times the share of carbon that it saves."""
    best, middle = 0.0, []
    for before, after in pairwise(sorted(seen)):
        early, late = seen[before], seen[after]
        if late is None or after - before < 2:
            continue
        saved = 1.0 if early is None else _saved(early.solution.kgco2e, late.solution.kgco2e)
        if saved > LEAST_GAP and (after - before) * saved > best:
            best, middle = (after - before) * saved, [(before + after) // 2]
    return middle


def _saved(early_kgco2e: float, late_kgco2e: float) -> float:
    """Share of the carbon that more time saves; any saving is a whole one where there is no share of it."""
    share = share_of(early_kgco2e - late_kgco2e, early_kgco2e)
    return float(late_kgco2e < early_kgco2e) if share is None else share


def _fastest_d(scenario: Scenario, catalogue: Catalogue) -> int:
    """Days from the deadlines to when the fastest option of every job could be done, were it alone.

    With deadlines that nothing can keep, the lateness of each option tells when it is done.
    """
    changes = {path: job.earliest + timedelta(days=1) for path, job in _jobs(scenario)}
    hasty = with_changes(scenario, {f"{path}.deadline": day for path, day in changes.items()})
    options = assemble(Inputs(hasty, with_cards(hasty, catalogue))).problem.run_options
    needed: list[int] = []
    for number, (path, job) in enumerate(_jobs(scenario)):
        late_h = options.late_h[options.job == number]
        first = (changes[path] - job.deadline).days
        needed.append(first + (math.ceil(late_h.min() / HOURS_A_DAY) if len(late_h) else 0))
    return max(needed)


def _jobs(scenario: Scenario) -> list[tuple[str, Any]]:
    return [(f"training[{number}]", job) for number, job in enumerate(scenario.training)]


def deadline_changes(scenario: Scenario, shift_d: int) -> Record:
    """The deadlines moved, kept after the first day of each job and inside the horizon."""
    return {
        f"{path}.deadline": min(
            max(job.deadline + timedelta(days=shift_d), job.earliest + timedelta(days=1)),
            scenario.horizon.end,
        )
        for path, job in _jobs(scenario)
    }


def moved(scenario: Scenario, shift_d: int) -> Scenario:
    """The scenario with its deadlines moved by so many days."""
    return with_changes(scenario, deadline_changes(scenario, shift_d))


def _cleanest(
    scenario: Scenario, catalogue: Catalogue, shift_d: int, should_stop: Callable[[], bool] | None
) -> Timed | None:
    inputs = Inputs(scenario, with_cards(scenario, catalogue))
    assembled = assemble(inputs)
    gap = gap_of(scenario)
    found = lexicographic(
        assembled.problem,
        carbon_first=True,
        tolerance_fraction=gap,
        gap_fraction=gap,
        time_limit_s=scenario.solve.time_limit_s,
        should_stop=should_stop,
    )
    if found.solution is None:
        return None
    return Timed(shift_d, Plan(inputs, assembled, found, {}, None), found.solution)


def gap_of(scenario: Scenario) -> float:
    """The gap of the searches: the scenario's, where that is not closer than anybody reads."""
    return max(scenario.solve.gap_fraction, LEAST_GAP)


def _marked(scenario: Scenario, seen: dict[int, Timed | None], *, complete: bool) -> TimeFront:
    """The points with those that an earlier one makes needless, plans that repeat left out."""
    points = [point for _, point in sorted(seen.items()) if point is not None]
    carbon = [point.solution.kgco2e for point in points]
    gap = gap_of(scenario)
    needless = dominated(carbon, [point.shift_d for point in points], gap_fraction=gap)
    stays = [
        number
        for number, point in enumerate(points)
        if not needless[number]
        or point.shift_d == 0
        or not any(_alike(point, other) for other in points[:number])
    ]
    kept = [number for number in stays if not needless[number]]
    bend = knee([carbon[number] for number in kept], [points[number].shift_d for number in kept])
    return TimeFront(
        scenario,
        tuple(points[number] for number in stays),
        tuple(needless[number] for number in stays),
        None if bend is None else stays.index(kept[bend]),
        tuple(shift_d for shift_d, point in sorted(seen.items()) if point is None),
        complete,
    )


def _alike(one: Timed, other: Timed) -> bool:
    first, second = ((each.solution.usd, each.solution.kgco2e) for each in (one, other))
    return bool(np.allclose(first, second, rtol=ALIKE, atol=0))


def days_text(shift_d: int) -> str:
    """How far deadlines moved, to begin a sentence with."""
    if shift_d == 0:
        return "With the deadlines of the scenario"
    return f"With deadlines {abs(shift_d)} days {'earlier' if shift_d < 0 else 'later'}"
