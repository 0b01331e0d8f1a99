"""The tables of a store, and the steps from each older edition of them to this one.

A new store gets the tables as they are here; an older one goes through the steps. A step that changes a
table says so in words of its own: what stands here may go on changing.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    text,
    update,
)

from planner.store.errors import StoreError
from planner.store.packing import unpacked

VERSION = 5
_DIGEST = String(64)
_LOCK = 0x65766572  # "ever": what PostgreSQL calls our turn at the tables

metadata = MetaData()

edition = Table("everfleet_schema", metadata, Column("version", Integer, nullable=False))

scenarios = Table(
    "everfleet_scenarios",
    metadata,
    Column("digest", _DIGEST, primary_key=True),
    Column("title", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("saved", String(32), nullable=False),
)

files = Table(
    "everfleet_scenario_files",
    metadata,
    Column("scenario", _DIGEST, ForeignKey(scenarios.c.digest), primary_key=True),
    Column("name", String(250), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

plans = Table(
    "everfleet_plans",
    metadata,
    Column("digest", _DIGEST, primary_key=True),
    Column("scenario", _DIGEST, ForeignKey(scenarios.c.digest), nullable=False, index=True),
    Column("title", Text, nullable=False),
    Column("saved", String(32), nullable=False),
    Column("facts_digest", _DIGEST, nullable=False),
    Column("versions", Text, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("baselines", Boolean, nullable=False),
    Column("status", String(32), nullable=False),
    Column("objective", String(32), nullable=False),
    Column("objective_value", Float(53)),
    Column("objective_unit", String(16), nullable=False),
    Column("cost_usd", Float(53)),
    Column("carbon_kgco2e", Float(53)),
    Column("energy_kwh", Float(53)),
    Column("capex_usd", Float(53)),
    Column("document", LargeBinary, nullable=False),
    *(Column(name, Text, nullable=False, server_default="") for name in ("name", "note", "tags", "owner")),
)

fits = Table(
    "everfleet_fits",
    metadata,
    Column("digest", _DIGEST, primary_key=True),
    Column("name", Text, nullable=False),
    Column("saved", String(32), nullable=False),
    Column("document", LargeBinary, nullable=False),
)

futures = Table(
    "everfleet_futures",
    metadata,
    Column("digest", _DIGEST, primary_key=True),
    Column("scenario", _DIGEST, ForeignKey(scenarios.c.digest), nullable=False),
    Column("title", Text, nullable=False),
    Column("saved", String(32), nullable=False),
    Column("versions", Text, nullable=False),
    Column("status", String(32), nullable=False),
    Column("futures", Integer, nullable=False),
    Column("document", LargeBinary, nullable=False),
)

sweeps = Table(
    "everfleet_sweeps",
    metadata,
    Column("digest", _DIGEST, primary_key=True),
    Column("scenario", _DIGEST, ForeignKey(scenarios.c.digest), nullable=False),
    Column("title", Text, nullable=False),
    Column("saved", String(32), nullable=False),
    Column("grid", Text, nullable=False),
    Column("state", String(16), nullable=False),
)

points = Table(
    "everfleet_sweep_points",
    metadata,
    Column("sweep", _DIGEST, ForeignKey(sweeps.c.digest), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("changes", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("plan", _DIGEST, ForeignKey(plans.c.digest)),
    Column("error", Text),
)


def _sweeps_begin(connection: Connection) -> None:
    """From 1 to 2: sweeps and their points."""
    for table in (sweeps, points):
        table.create(connection)


def _futures_begin(connection: Connection) -> None:
    """From 2 to 3: plans for several futures."""
    futures.create(connection)


def _objectives_say_their_unit(connection: Connection) -> None:
    """From 3 to 4: the objective of a plan, which was called USD where it counted carbon."""
    for change in (
        "RENAME COLUMN objective_usd TO objective_value",
        "ADD COLUMN objective_unit VARCHAR(16) DEFAULT 'USD' NOT NULL",
    ):
        connection.execute(text(f"ALTER TABLE everfleet_plans {change}"))
    query = text("SELECT digest FROM everfleet_plans WHERE objective IN ('carbon', 'lexicographic')")
    held = text("SELECT document FROM everfleet_plans WHERE digest = :digest")
    stated = text("UPDATE everfleet_plans SET objective_unit = :unit WHERE digest = :digest")
    for digest in connection.execute(query).scalars().all():
        document = unpacked(bytes(connection.execute(held, {"digest": digest}).scalar_one()))
        connection.execute(stated, {"unit": document["objective"]["unit"], "digest": digest})


def _plans_have_labels(connection: Connection) -> None:
    """From 4 to 5: what people call a plan."""
    for name in ("name", "note", "tags", "owner"):
        connection.execute(text(f"ALTER TABLE everfleet_plans ADD COLUMN {name} TEXT DEFAULT '' NOT NULL"))


# Step i leads from edition i + 1 to the next.
STEPS: tuple[Callable[[Connection], None], ...] = (
    _sweeps_begin,
    _futures_begin,
    _objectives_say_their_unit,
    _plans_have_labels,
)


def bring_up_to_date(connection: Connection, address: str) -> None:
    """Make the tables of a new store, or bring those of an older one up to date; a writer's transaction.

    Raises:
        StoreError: a newer everfleet made the store.
    """
    if connection.dialect.name == "postgresql":  # two programs may open a new store at once
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    found = stated_version(connection)
    if found is None:
        metadata.create_all(connection)
        connection.execute(insert(edition).values(version=VERSION))
        return
    if found > VERSION:
        raise StoreError(
            f"{address}: is a store of edition {found}, and this everfleet knows {VERSION}: "
            "use a newer everfleet, or name another store"
        )
    for step in STEPS[found - 1 :]:
        step(connection)
    connection.execute(update(edition).values(version=VERSION))


def stated_version(connection: Connection) -> int | None:
    """Edition of the tables, none where there are none yet."""
    if not inspect(connection).has_table(edition.name):
        return None
    version = connection.execute(select(edition.c.version)).scalar()
    return None if version is None else int(version)
