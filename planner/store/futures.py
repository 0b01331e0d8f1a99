"""Plans for several futures in the store: what was planned, and the document of what came out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, select

from planner.scenario import Scenario
from planner.store import schema
from planner.store.kept import KeptScenario, keep
from planner.store.packing import Record, content_digest, packed, unpacked, versions_here
from planner.store.rows import add_once, add_scenario, now, whole_digest

if TYPE_CHECKING:
    from planner.store.plans import Store

WHAT = "plan for several futures"
_TABLE = schema.futures
_LISTED = [column for column in _TABLE.c if column.name != "document"]


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
            "digest": content_digest(document), "scenario": kept.digest, "title": document["title"],
            "saved": now(), "versions": json.dumps(versions_here(), sort_keys=True),
            "status": document["status"]["name"], "futures": len(document["futures"]),
            "document": packed(document),
        }  # fmt: skip
        with self._store.writing() as connection:
            add_scenario(connection, kept)
            add_once(connection, _TABLE, row)
        return str(row["digest"])

    def all(self) -> list[SavedFuturesPlan]:
        """Those saved, the newest first."""
        asked = select(*_LISTED).order_by(_TABLE.c.saved.desc(), _TABLE.c.digest)
        with self._store.reading() as connection:
            return [_listed(row) for row in connection.execute(asked)]

    def plan(self, digest: str) -> SavedFuturesPlan:
        """What the list shows of one.

        Raises:
            StoreError: there is none, or more than one begins so.
        """
        with self._store.reading() as connection:
            whole = whole_digest(connection, _TABLE, digest, WHAT, self._store.address)
            return _listed(connection.execute(select(*_LISTED).filter_by(digest=whole)).one())

    def document(self, digest: str) -> Record:
        """The document of one, as it was saved."""
        with self._store.reading() as connection:
            whole = whole_digest(connection, _TABLE, digest, WHAT, self._store.address)
            content = connection.execute(select(_TABLE.c.document).filter_by(digest=whole)).scalar_one()
        return unpacked(bytes(content))


def _listed(row: Row[Any]) -> SavedFuturesPlan:
    held = dict(row._mapping)
    return SavedFuturesPlan(**(held | {"versions": json.loads(held["versions"])}))
