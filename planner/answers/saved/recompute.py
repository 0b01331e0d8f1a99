"""The same plan once more, from what is stored alone: is it the same, and if not, what has changed since."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner.answers.futures.document import futures_document
from planner.answers.plan.document import plan_document
from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import Scenario
from planner.inputs.scenario.bundle import restored
from planner.program.futures import plan_futures
from planner.program.plan import Watch, plan_fleet
from planner.store import StoreError
from planner.store.packing import packed, repeatable, unpacked, versions_here
from planner.store.store import SavedFuturesPlan, SavedPlan, Store
from planner.trace.records import Record

# Said by `changed`, once, rather than as a difference of the documents.
_CIRCUMSTANCES = ("everfleet", "facts_digest")


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where two documents differ."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Repeat:
    """A plan that was worked out again.

    `changed` says which versions and facts differ from then; `differences` where the new document differs.
    """

    digest: str
    changed: tuple[str, ...]
    differences: tuple[Difference, ...]
    document: Record

    @property
    def same(self) -> bool:
        """Whether every number and word of the plan came out the same, to the last bit."""
        return not self.differences


def recompute(
    store: Store,
    digest: str,
    *,
    catalogue: Catalogue | None = None,
    watch: Callable[[str], None] | None = None,
) -> Repeat:
    """Plan a saved plan again, and compare bit for bit all but the seconds that it took.

    A plan that its time limit stopped may differ: another run gets further, or less far.

    Raises:
        StoreError: there is no such plan.
        ScenarioError: this everfleet does not take the scenario any more.
    """
    saved = store.plan(digest)

    def again(scenario: Scenario, facts: Catalogue) -> Record:
        return plan_document(plan_fleet(scenario, catalogue=facts, baselines=saved.baselines, watch=watch))

    return repeated(store, saved, store.document(saved.digest), again, catalogue=catalogue)


def repeated(
    store: Store,
    saved: SavedPlan | SavedFuturesPlan,
    before: Mapping[str, Any],
    again: Callable[[Scenario, Catalogue], Record],
    *,
    catalogue: Catalogue | None = None,
) -> Repeat:
    """What `again` makes of the scenario that was saved, next to the document `before` that was made then."""
    catalogue = catalogue or load_catalogue()
    kept = replace(store.scenario(saved.scenario), name=before["scenario"])
    with restored(kept) as scenario:
        check_scenario(scenario, catalogue)
        after = unpacked(packed(again(scenario, catalogue)))
    found = tuple(differences(_plain(before), _plain(after)))
    changed = (*_versions(saved.versions), *_facts(before, after))
    return Repeat(saved.digest, changed, found, after)


def differences(before: Any, after: Any, path: str = "") -> Iterator[Difference]:
    """Every place where two trees of plain data differ; rows of lists stand by their number."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from differences(before.get(key), after.get(key), f"{path}.{key}" if path else key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif before != after or type(before) is not type(after):
        yield Difference(path, before, after)


def fact_values(document: Mapping[str, Any]) -> dict[str, str]:
    """Facts that a plan stood on or weighed, each as its text shows it."""
    tables = document["tables"]
    rows = [*tables.get("facts", ()), *tables.get("facts_weighed", ())]
    return {row["key"]: row["stated"] for row in rows}


def _plain(document: Mapping[str, Any]) -> Record:
    return {key: value for key, value in repeatable(document).items() if key not in _CIRCUMSTANCES}


def _versions(before: Mapping[str, str]) -> Iterator[str]:
    after = versions_here()
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield f"{name} was {before.get(name, 'not there')} and is {after.get(name, 'not there')}"


def _facts(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    if before["facts_digest"] == after["facts_digest"]:
        return
    was, now = fact_values(before), fact_values(after)
    shown = [
        f"fact {key} was {was.get(key, 'not used')} and is {now.get(key, 'not used')}"
        for key in sorted(was.keys() | now.keys())
        if was.get(key) != now.get(key)
    ]
    yield from shown or ["facts of the catalogue changed, none of those that this plan rests on"]


def recompute_futures(
    store: Store, digest: str, *, catalogue: Catalogue | None = None, watch: Watch | None = None
) -> Repeat:
    """Plan for several futures again, and compare bit for bit all but the seconds that it took.

    A plan that was stopped, by its time limit or on request, may differ.

    Raises:
        StoreError: there is no such plan, or it was saved when its facts were not kept with it.
        ScenarioError: this everfleet does not take the scenario any more.
    """
    saved = store.futures.plan(digest)
    before = store.futures.document(saved.digest)
    if "facts_digest" not in before:
        raise StoreError(
            f"{saved.digest[:10]} cannot be worked out again: an older everfleet saved it without its facts "
            "and the name of its scenario's file; plan it again with `everfleet futures --save`"
        )

    def again(scenario: Scenario, facts: Catalogue) -> Record:
        return futures_document(plan_futures(scenario, catalogue=facts, watch=watch))

    return repeated(store, saved, before, again, catalogue=catalogue)
