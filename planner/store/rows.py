"""Rows as they go into the tables, each within a transaction that somebody else ends."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.exc import IntegrityError

from planner.inputs.scenario.bundle import KeptScenario
from planner.store import schema
from planner.store.errors import StoreError
from planner.store.packing import content_digest, packed, versions_here

SHORTEST_DIGEST = 4
_TOTALS = {
    "cost": "cost_usd",
    "carbon": "carbon_kgco2e",
    "energy": "energy_kwh",
    "capex": "capex_usd",
}


def whole_digest(connection: Connection, table: Table, digest: str, what: str, address: str) -> str:
    """The one digest of a table that begins so.

    Raises:
        StoreError: none does, or more than one.
    """
    if not re.fullmatch(rf"[0-9a-f]{{{SHORTEST_DIGEST},64}}", digest):
        raise StoreError(
            f"'{digest}' names no {what}: write {SHORTEST_DIGEST} or more characters (0-9, a-f) of its digest"
        )
    query = select(table.c.digest).where(table.c.digest.startswith(digest)).limit(2)
    found = connection.execute(query).scalars().all()
    if len(found) != 1:
        said = "more than one" if found else "no"
        raise StoreError(f"{address}: {said} {what} begins with {digest}")
    return str(found[0])


def add_scenario(connection: Connection, kept: KeptScenario) -> None:
    """Put a scenario and its files there, within a transaction."""
    row = {"digest": kept.digest, "title": kept.title, "name": kept.name, "text": kept.text, "saved": now()}
    if add_once(connection, schema.scenarios, row):
        for name, content in kept.files.items():
            connection.execute(insert(schema.files).values(scenario=kept.digest, name=name, content=content))


def plan_row(
    kept: KeptScenario, document: Mapping[str, Any], *, baselines: bool, seed: int
) -> dict[str, Any]:
    """A plan as a row: made before a transaction begins, or where the plan was made."""
    totals = {total["name"]: total["value"] for total in document["totals"]}
    return {
        "digest": content_digest(document),
        "scenario": kept.digest,
        "title": document["title"],
        "saved": now(),
        "facts_digest": document["facts_digest"],
        "versions": json.dumps(versions_here(), sort_keys=True),
        "seed": seed,
        "baselines": baselines,
        "status": document["status"]["name"],
        "objective": document["objective"]["kind"],
        "objective_value": document["objective"]["value"],
        "objective_unit": document["objective"]["unit"],
        **{column: totals.get(name) for name, column in _TOTALS.items()},
        "document": packed(document),
    }


def add_once(connection: Connection, table: Table, row: Mapping[str, Any]) -> bool:
    """Insert a row unless its digest is there already, in whatever dialect; says whether it was new."""
    if connection.execute(select(table.c.digest).filter_by(digest=row["digest"])).first() is not None:
        return False
    try:
        with connection.begin_nested():
            connection.execute(insert(table).values(**row))
    except IntegrityError:  # another program was quicker, with the same content
        return False
    return True


def now() -> str:
    """This moment, so that text sorts as time does."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
