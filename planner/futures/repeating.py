"""A saved plan for several futures once more, from what is stored alone."""

from __future__ import annotations

from planner.catalogue import Catalogue
from planner.futures.document import Record, futures_document
from planner.futures.planning import Watch, plan_futures
from planner.scenario import Scenario
from planner.store import Repeat, Store, StoreError
from planner.store.repeating import repeated


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
            "and the name of its scenario's file; plan it anew with `everfleet futures --save`"
        )

    def again(scenario: Scenario, facts: Catalogue) -> Record:
        return futures_document(plan_futures(scenario, catalogue=facts, watch=watch))

    return repeated(store, saved, before, again, catalogue=catalogue)
