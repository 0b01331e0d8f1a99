"""Sweeps in the store: a grid of changes to a scenario, and how far each of its points is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from planner.store import schema
from planner.store.kept import KeptScenario
from planner.store.packing import versions_here
from planner.store.rows import add_once, add_scenario, now, whole_digest

if TYPE_CHECKING:
    from planner.store.plans import Store

Changes = Mapping[str, Any]
WAITING, DONE, FAILED = "waiting", "done", "failed"
OPEN = "open"


@dataclass(frozen=True, slots=True)
class SavedSweep:
    """A sweep as a list shows it; `state` is open until every point is done or has failed."""

    digest: str
    scenario: str
    title: str
    saved: str
    kind: str
    state: str
    points: int
    done: int


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a sweep: what it changes, how far it is, its plan or why there is none."""

    number: int
    changes: Changes
    state: str
    plan: str | None = None
    error: str | None = None


class SavedSweeps:
    """The sweeps of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, kept: KeptScenario, kind: str, grid: Sequence[Changes], facts_digest: str) -> str:
        """Save a sweep whose points all wait; one that is there already stays as far as it is.

        The same scenario, grid, facts and version of everfleet are the same sweep: its numbers may stand in
        one table. Gives its digest.
        """
        said: dict[str, Any] = {"kind": kind, "points": [dict(changes) for changes in grid]}
        whole = [kept.digest, facts_digest, versions_here()["everfleet"], said]
        digest = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
        row = {
            "digest": digest, "scenario": kept.digest, "title": kept.title, "saved": now(),
            "grid": json.dumps(said), "state": OPEN,
        }  # fmt: skip
        with self._store.writing() as connection:
            add_scenario(connection, kept)
            if add_once(connection, schema.sweeps, row):
                rows = [
                    {"sweep": digest, "number": number, "changes": json.dumps(changes), "state": WAITING}
                    for number, changes in enumerate(said["points"])
                ]
                connection.execute(insert(schema.points), rows)
        return digest

    def save_point(self, sweep: str, number: int, kept: KeptScenario, plan: Mapping[str, Any]) -> None:
        """Save a point's plan, a `plan_row`, with its scenario and that the point is done, at once."""
        with self._store.writing() as connection:
            add_scenario(connection, kept)
            add_once(connection, schema.plans, plan)
            connection.execute(_set_point(sweep, number, state=DONE, plan=plan["digest"], error=None))

    def fail_point(self, sweep: str, number: int, error: str) -> None:
        """Save why a point has no plan document: its input is wrong, or its workers died."""
        with self._store.writing() as connection:
            connection.execute(_set_point(sweep, number, state=FAILED, plan=None, error=error))

    def close(self, sweep: str) -> None:
        """Save that no point waits any more."""
        with self._store.writing() as connection:
            connection.execute(update(schema.sweeps).filter_by(digest=sweep).values(state=DONE))

    def all(self) -> list[SavedSweep]:
        """Saved sweeps, the newest first."""
        sweeps, points = schema.sweeps, schema.points
        done = func.sum(func.coalesce(points.c.state == DONE, False).cast(points.c.number.type))
        counted = (
            select(points.c.sweep, func.count().label("points"), done.label("done"))
            .group_by(points.c.sweep)
            .subquery()
        )
        asked = select(sweeps, counted.c.points, counted.c.done).join(
            counted, counted.c.sweep == sweeps.c.digest
        )
        with self._store.reading() as connection:
            rows = connection.execute(asked.order_by(sweeps.c.saved.desc())).all()
        return [
            SavedSweep(
                row.digest, row.scenario, row.title, row.saved, json.loads(row.grid)["kind"], row.state,
                int(row.points), int(row.done),
            )
            for row in rows
        ]  # fmt: skip

    def points(self, sweep: str) -> list[Point]:
        """Every point of a sweep, in the order of its grid."""
        table = schema.points
        with self._store.reading() as connection:
            whole = whole_digest(connection, schema.sweeps, sweep, "sweep", self._store.address)
            rows = connection.execute(select(table).filter_by(sweep=whole).order_by(table.c.number)).all()
        return [Point(row.number, json.loads(row.changes), row.state, row.plan, row.error) for row in rows]


def _set_point(sweep: str, number: int, **values: Any) -> Any:
    return update(schema.points).filter_by(sweep=sweep, number=number).values(**values)
