"""A sweep from its grid to a table: points are planned, saved as they come, and never planned twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.answers.plan.document import plan_document
from planner.answers.sweeps.executors import Executor, InProcess
from planner.inputs.consistency import check_scenario, with_cards
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import Scenario, with_changes
from planner.inputs.scenario.bundle import KeptScenario, keep, restored
from planner.physics.dominance import undominated
from planner.program.grids import Grid
from planner.program.plan import plan_fleet
from planner.program.solution import Status
from planner.store import Point, SavedPlan, Store
from planner.store.rows import plan_row
from planner.store.store import DONE, WAITING
from planner.trace.records import Record

TOTALS = ("objective_value", "objective_unit", "cost_usd", "carbon_kgco2e", "energy_kwh", "capex_usd")


@dataclass(frozen=True, slots=True)
class Task:
    """One point, ready to be sent to whoever plans it."""

    base: KeptScenario
    changes: Mapping[str, Any]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Planned:
    """What comes back: the changed scenario and the row of its plan, packed where it was made."""

    scenario: KeptScenario
    plan: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A sweep as far as it is; `planned` points were planned by this run, the others were there."""

    digest: str
    points: tuple[Point, ...]
    plans: Mapping[str, SavedPlan]
    planned: int

    @property
    def whole(self) -> bool:
        """Whether no point waits any more."""
        return all(point.state != WAITING for point in self.points)


def plan_point(task: Task) -> Planned:
    """Plan one point, from its task alone.

    Raises:
        InputError: the changes do not make a scenario.
        KeyboardInterrupt: the solver heard Ctrl-C: half a search is no point of a sweep.
    """
    catalogue = load_catalogue()
    with restored(task.base) as scenario:
        changed = with_changes(scenario, task.changes)
        check_scenario(changed, catalogue)
        plan = plan_fleet(changed, catalogue=catalogue, baselines=False, remedies=False)
        if plan.answer.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        kept = keep(changed)
        return Planned(kept, plan_row(kept, plan_document(plan), baselines=False, seed=task.seed))


def run_sweep(
    scenario: Scenario,
    grid: Grid,
    store: Store,
    executor: Executor | None = None,
    *,
    work: Callable[[Task], Planned] = plan_point,
    watch: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> SweepResult:
    """Plan every point of a grid that is not done yet, and save each as it comes.

    The same scenario, grid and facts are the same sweep, so that a second run goes on where the first was
    stopped; points that failed are tried again. A point without a plan is a result.

    Args:
        scenario: what the points change.
        grid: the points.
        store: where everything goes.
        executor: who plans; this process if none is given.
        work: what plans one point.
        watch: called with a message on the progress.
        should_stop: called between points; what is under way is finished.

    Raises:
        StoreError: the store cannot be used.
        InputError: nothing answers at the address of a cluster.
    """
    tell = watch or (lambda _: None)
    kept = keep(scenario)
    facts_digest = with_cards(scenario, load_catalogue()).digest
    sweep = store.sweeps.begin(kept, grid.kind, grid.points, facts_digest)
    points = store.sweeps.points(sweep)
    todo = [point for point in points if point.state != DONE]
    done = len(points) - len(todo)
    tell(f"{done} of {len(points)} points done")
    tasks = [Task(kept, point.changes, grid.seed) for point in todo]
    planned = 0
    for outcome in (executor or InProcess()).run(work, tasks, should_stop or (lambda: False)):
        number = todo[outcome.number].number
        if outcome.error is None:
            found = outcome.value
            store.sweeps.save_point(sweep, number, found.scenario, found.plan)
        else:
            store.sweeps.fail_point(sweep, number, outcome.error)
        planned += 1
        tell(f"{done + planned} of {len(points)} points done")
    result = sweep_result(store, sweep, planned)
    if result.whole:
        store.sweeps.close(sweep)
    return result


def sweep_result(store: Store, digest: str, planned: int = 0) -> SweepResult:
    """A saved sweep, by its whole digest, with the totals of its plans."""
    points = tuple(store.sweeps.points(digest))
    plans = {plan.digest: plan for plan in store.plans(sweep=digest)}
    return SweepResult(digest, points, plans, planned)


def sweep_records(result: SweepResult) -> list[Record]:
    """One row for each point: what it changes, its status and totals, its plan, or why there is none.

    `on_front` says that no other point is both as cheap and as clean.
    """
    rows = []
    for point in result.points:
        plan = None if point.plan is None else result.plans[point.plan]
        totals = {name: None if plan is None else getattr(plan, name) for name in TOTALS}
        status = point.state if plan is None else plan.status
        rows.append(
            {
                "point": point.number,
                **{path: _shown(value) for path, value in point.changes.items()},
                "status": status,
                **totals,
                "plan": point.plan,
                "error": point.error,
            }
        )
    for row, on_front in zip(rows, _front(rows), strict=True):
        row["on_front"] = on_front
    return rows


def _front(rows: list[Record]) -> list[bool]:
    solved = [row["cost_usd"] is not None for row in rows]
    metrics = np.array([(row["cost_usd"] or 0.0, row["carbon_kgco2e"] or 0.0) for row in rows])
    group = np.where(solved, 0, 1 + np.arange(len(rows)))
    kept = undominated(group, metrics)
    return [bool(stays and plan) for stays, plan in zip(kept, solved, strict=True)]


def _shown(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value)
