"""The store itself: what it takes, what it lists, and what it gives back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Row, Table, func, insert, or_, select, update

from planner.inputs.scenario import Scenario
from planner.inputs.scenario.bundle import KeptScenario, keep
from planner.store import schema
from planner.store.addresses import WRITES, default_address, engine_for, parsed, shown
from planner.store.errors import in_words
from planner.store.labels import Labels
from planner.store.packing import content_digest, packed, unpacked, versions_here
from planner.store.rows import add_once, add_scenario, now, plan_row, whole_digest
from planner.trace.records import Record

WHAT = "plan for several futures"
_TABLE = schema.futures
_LISTED_FUTURES = [column for column in _TABLE.c if column.name != "document"]


@dataclass(frozen=True, slots=True)
class SavedFuturesPlan:
    """A plan for several futures as a list shows it."""

    digest: str
    scenario: str
    title: str
    saved: str
    versions: Mapping[str, str]
    status: str
    futures: int


class SavedFuturesPlans:
    """The plans for several futures of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def save(self, scenario: Scenario | KeptScenario, document: Mapping[str, Any]) -> str:
        """Save what `futures_document` made of a scenario, with the scenario; gives its digest."""
        kept = scenario if isinstance(scenario, KeptScenario) else keep(scenario)
        row = {
            "digest": content_digest(document),
            "scenario": kept.digest,
            "title": document["title"],
            "saved": now(),
            "versions": json.dumps(versions_here(), sort_keys=True),
            "status": document["status"]["name"],
            "futures": len(document["futures"]),
            "document": packed(document),
        }
        with self._store.writing() as connection:
            add_scenario(connection, kept)
            add_once(connection, _TABLE, row)
        return str(row["digest"])

    def all(self) -> list[SavedFuturesPlan]:
        """Those saved, the newest first."""
        query = select(*_LISTED_FUTURES).order_by(_TABLE.c.saved.desc(), _TABLE.c.digest)
        with self._store.reading() as connection:
            return [_listed(row) for row in connection.execute(query)]

    def plan(self, digest: str) -> SavedFuturesPlan:
        """What the list shows of one.

        Raises:
            StoreError: there is none, or more than one begins so.
        """
        with self._store.reading() as connection:
            whole = whole_digest(connection, _TABLE, digest, WHAT, self._store.address)
            return _listed(connection.execute(select(*_LISTED_FUTURES).filter_by(digest=whole)).one())

    def document(self, digest: str) -> Record:
        """The document of one, as it was saved."""
        with self._store.reading() as connection:
            whole = whole_digest(connection, _TABLE, digest, WHAT, self._store.address)
            content = connection.execute(select(_TABLE.c.document).filter_by(digest=whole)).scalar_one()
        return unpacked(bytes(content))


def _listed(row: Row[Any]) -> SavedFuturesPlan:
    held = dict(row._mapping)
    return SavedFuturesPlan(**(held | {"versions": json.loads(held["versions"])}))


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

        The same scenario, grid, facts and version of everfleet are the same sweep: its numbers may be in
        one table. Gives its digest.
        """
        said: dict[str, Any] = {"kind": kind, "points": [dict(changes) for changes in grid]}
        whole = [kept.digest, facts_digest, versions_here()["everfleet"], said]
        digest = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
        row = {
            "digest": digest,
            "scenario": kept.digest,
            "title": kept.title,
            "saved": now(),
            "grid": json.dumps(said),
            "state": OPEN,
        }
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
        query = select(sweeps, counted.c.points, counted.c.done).join(
            counted, counted.c.sweep == sweeps.c.digest
        )
        with self._store.reading() as connection:
            rows = connection.execute(query.order_by(sweeps.c.saved.desc())).all()
        return [
            SavedSweep(
                row.digest,
                row.scenario,
                row.title,
                row.saved,
                json.loads(row.grid)["kind"],
                row.state,
                int(row.points),
                int(row.done),
            )
            for row in rows
        ]

    def points(self, sweep: str) -> list[Point]:
        """Every point of a sweep, in the order of its grid."""
        table = schema.points
        with self._store.reading() as connection:
            whole = whole_digest(connection, schema.sweeps, sweep, "sweep", self._store.address)
            rows = connection.execute(select(table).filter_by(sweep=whole).order_by(table.c.number)).all()
        return [Point(row.number, json.loads(row.changes), row.state, row.plan, row.error) for row in rows]


def _set_point(sweep: str, number: int, **values: Any) -> Any:
    return update(schema.points).filter_by(sweep=sweep, number=number).values(**values)


_LISTED = [column for column in schema.plans.c if column.name != "document"]


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan as a list shows it: where it came from and what it comes to; no plan has no totals."""

    digest: str
    scenario: str
    title: str
    saved: str
    facts_digest: str
    versions: Mapping[str, str]
    seed: int
    baselines: bool
    status: str
    objective: str
    objective_value: float | None
    objective_unit: str
    cost_usd: float | None
    carbon_kgco2e: float | None
    energy_kwh: float | None
    capex_usd: float | None
    name: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted log as a list shows it."""

    digest: str
    name: str
    saved: str


def open_store(address: str | None = None, *, busy_s: float = 10.0) -> Store:
    """The store at an address: a file, or a URL of SQLAlchemy; made where it is new, brought up to date.

    Args:
        address: none takes EVERFLEET_STORE, else a file in the user's data folder.
        busy_s: how long a writer waits for another one, on SQLite; a server has SILENT_S for each answer.

    Raises:
        StoreError: it cannot be opened, or a newer everfleet made it.
    """
    url = parsed(address or default_address())
    local = url.get_backend_name() == "sqlite"
    named = str(url.database) if local else shown(url)
    store = Store(engine_for(url, busy_s), named)
    with store.reading() as connection:
        current = schema.stated_version(connection) == schema.VERSION
    if not current:
        with store.writing() as connection:
            schema.bring_up_to_date(connection, named)
    return store


class Store:
    """Scenarios, plans, fits, sweeps and plans for futures in a database. Each method is one transaction.

    A digest may be shortened to its first characters, as long as one thing alone begins so.
    """

    def __init__(self, engine: Engine, address: str) -> None:
        self.address = address
        self.sweeps = SavedSweeps(self)
        self.futures = SavedFuturesPlans(self)
        self._engine = engine
        self._writer = engine.execution_options(**{WRITES: True})

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that changes nothing."""
        with in_words(self.address, "Nothing was changed."), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is saved at its end, or not at all."""
        with in_words(self.address, "Nothing of this was saved."), self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def save_scenario(self, scenario: Scenario | KeptScenario) -> str:
        """Save a scenario with the files that it names; gives its digest."""
        kept = scenario if isinstance(scenario, KeptScenario) else keep(scenario)
        with self.writing() as connection:
            add_scenario(connection, kept)
        return kept.digest

    def save_plan(
        self,
        scenario: Scenario | KeptScenario,
        document: Mapping[str, Any],
        *,
        baselines: bool = True,
        seed: int = 0,
        labels: Labels | None = None,
    ) -> str:
        """Save the document of a plan with its scenario; gives the plan's digest.

        Args:
            scenario: what was planned.
            document: what `plan_document` made of it.
            baselines: whether the plans next to it were requested, so that a repeat asks for them too.
            seed: of the facts, where they were drawn.
            labels: what it is called; a plan that is there already keeps its own where none are stated.
        """
        kept = scenario if isinstance(scenario, KeptScenario) else keep(scenario)
        row = plan_row(kept, document, baselines=baselines, seed=seed)
        with self.writing() as connection:
            add_scenario(connection, kept)
            add_once(connection, schema.plans, row)
            if labels is not None and labels.stated:
                connection.execute(
                    update(schema.plans).filter_by(digest=row["digest"]).values(**labels.row())
                )
        return str(row["digest"])

    def label_plan(self, digest: str, labels: Labels) -> None:
        """Call a saved plan otherwise; what is empty is no longer stated.

        Raises:
            StoreError: there is none, or more than one begins so.
        """
        with self.writing() as connection:
            whole = whole_digest(connection, schema.plans, digest, "plan", self.address)
            connection.execute(update(schema.plans).filter_by(digest=whole).values(**labels.row()))

    def save_fit(self, document: Mapping[str, Any]) -> str:
        """Save the document of a fitted log; gives its digest."""
        digest = content_digest(document)
        row = {"digest": digest, "name": document["name"], "saved": now(), "document": packed(document)}
        with self.writing() as connection:
            add_once(connection, schema.fits, row)
        return digest

    def plans(self, *, title: str = "", sweep: str = "", most: int | None = None) -> list[SavedPlan]:
        """Saved plans whose title or labels hold a text, those of one sweep if named, the newest first."""
        query = select(*_LISTED).order_by(schema.plans.c.saved.desc(), schema.plans.c.digest).limit(most)
        if title:
            columns = schema.plans.c
            places = (columns.title, columns.name, columns.note, columns.tags, columns.owner)
            query = query.where(or_(*(place.icontains(title, autoescape=True) for place in places)))
        if sweep:
            points = schema.points.c
            query = query.where(schema.plans.c.digest.in_(select(points.plan).where(points.sweep == sweep)))
        with self.reading() as connection:
            return [_saved_plan(row) for row in connection.execute(query)]

    def plan(self, digest: str) -> SavedPlan:
        """What the list shows of one plan.

        Raises:
            StoreError: there is none, or more than one begins so.
        """
        with self.reading() as connection:
            whole = whole_digest(connection, schema.plans, digest, "plan", self.address)
            return _saved_plan(connection.execute(select(*_LISTED).filter_by(digest=whole)).one())

    def document(self, digest: str) -> Record:
        """The document of a plan, as it was saved."""
        return self._document(schema.plans, digest, "plan")

    def fits(self) -> list[Fit]:
        """Saved fits, the newest first."""
        table = schema.fits
        query = select(table.c.digest, table.c.name, table.c.saved).order_by(table.c.saved.desc())
        with self.reading() as connection:
            return [Fit(*row) for row in connection.execute(query)]

    def fit(self, digest: str) -> Record:
        """The document of a fit, as it was saved."""
        return self._document(schema.fits, digest, "fit")

    def scenarios(self) -> list[tuple[str, str]]:
        """Digest and title of each saved scenario, the newest first."""
        table = schema.scenarios
        query = select(table.c.digest, table.c.title).order_by(table.c.saved.desc(), table.c.digest)
        with self.reading() as connection:
            return [(row.digest, row.title) for row in connection.execute(query)]

    def scenario(self, digest: str) -> KeptScenario:
        """A saved scenario with its files; `restored` makes it one to plan."""
        with self.reading() as connection:
            whole = whole_digest(connection, schema.scenarios, digest, "scenario", self.address)
            row = connection.execute(select(schema.scenarios).filter_by(digest=whole)).one()
            held = connection.execute(select(schema.files).filter_by(scenario=whole))
            files = {file.name: bytes(file.content) for file in held}
        return KeptScenario(row.digest, row.title, row.name, row.text, files)

    def _document(self, table: Table, digest: str, what: str) -> Record:
        with self.reading() as connection:
            whole = whole_digest(connection, table, digest, what, self.address)
            content = connection.execute(select(table.c.document).filter_by(digest=whole)).scalar_one()
        return unpacked(bytes(content))


def _saved_plan(row: Row[Any]) -> SavedPlan:
    held = dict(row._mapping)
    tags = tuple(filter(None, held["tags"].split(", ")))
    return SavedPlan(**(held | {"versions": json.loads(held["versions"]), "tags": tags}))
