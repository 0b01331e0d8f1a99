"""The store itself: what it takes, what it lists, and what it gives back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Row, Table, select

from planner.scenario import Scenario
from planner.store import schema
from planner.store.addresses import WRITES, default_address, engine_for, parsed, shown
from planner.store.errors import in_words
from planner.store.futures import SavedFuturesPlans
from planner.store.kept import KeptScenario, keep
from planner.store.packing import Record, content_digest, packed, unpacked
from planner.store.rows import add_once, add_scenario, now, plan_row, whole_digest
from planner.store.sweeps import SavedSweeps

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
    objective_usd: float | None
    cost_usd: float | None
    carbon_kgco2e: float | None
    energy_kwh: float | None
    capex_usd: float | None


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
    ) -> str:
        """Save the document of a plan with its scenario; gives the plan's digest.

        Args:
            scenario: what was planned.
            document: what `plan_document` made of it.
            baselines: whether the plans beside it were asked for, so that a repeat asks for them too.
            seed: of the facts, where they were drawn.
        """
        kept = scenario if isinstance(scenario, KeptScenario) else keep(scenario)
        row = plan_row(kept, document, baselines=baselines, seed=seed)
        with self.writing() as connection:
            add_scenario(connection, kept)
            add_once(connection, schema.plans, row)
        return str(row["digest"])

    def save_fit(self, document: Mapping[str, Any]) -> str:
        """Save the document of a fitted log; gives its digest."""
        digest = content_digest(document)
        row = {"digest": digest, "name": document["name"], "saved": now(), "document": packed(document)}
        with self.writing() as connection:
            add_once(connection, schema.fits, row)
        return digest

    def plans(self, *, title: str = "", sweep: str = "", most: int | None = None) -> list[SavedPlan]:
        """Saved plans whose title holds a text, those of one sweep if it is named, the newest first."""
        asked = select(*_LISTED).order_by(schema.plans.c.saved.desc(), schema.plans.c.digest).limit(most)
        if title:
            asked = asked.where(schema.plans.c.title.icontains(title, autoescape=True))
        if sweep:
            points = schema.points.c
            asked = asked.where(schema.plans.c.digest.in_(select(points.plan).where(points.sweep == sweep)))
        with self.reading() as connection:
            return [_saved_plan(row) for row in connection.execute(asked)]

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
        asked = select(table.c.digest, table.c.name, table.c.saved).order_by(table.c.saved.desc())
        with self.reading() as connection:
            return [Fit(*row) for row in connection.execute(asked)]

    def fit(self, digest: str) -> Record:
        """The document of a fit, as it was saved."""
        return self._document(schema.fits, digest, "fit")

    def scenarios(self) -> list[tuple[str, str]]:
        """Digest and title of each saved scenario, the newest first."""
        table = schema.scenarios
        asked = select(table.c.digest, table.c.title).order_by(table.c.saved.desc(), table.c.digest)
        with self.reading() as connection:
            return [(row.digest, row.title) for row in connection.execute(asked)]

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
    return SavedPlan(**(held | {"versions": json.loads(held["versions"])}))
