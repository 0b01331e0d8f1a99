"""The plan that a page shows: shipped, made in a worker, or saved before."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import streamlit as st

from planner.store.addresses import default_address, read_only
from planner.trace.records import Document
from planner.ui import session, shared
from planner.ui.progress import work_shown
from planner.ui.saved import PARAMETER, Opened
from planner.ui.session import Draft, Files
from planner.ui.workers import Seen, start
from planner.ui.workers import seen as look_at
from planner.ui.workers.messages import work_key


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with what it was made from; `saved` is its digest in the store, `unsaved` why there is none."""

    identity: str
    document: Document
    text: str
    name: str
    files: Files = ()
    saved: str | None = None
    unsaved: str = ""

    def arguments(self) -> dict[str, Any]:
        """What a worker needs to know of its scenario."""
        return _arguments(self.text, self.name, self.files)


def plan_of(held: Draft, *, named: bool = False) -> Planned | None:
    """The plan of a scenario: at once where it was shipped, else made while the page shows how far it is.

    With `named`, the address names the work, then the plan: who comes back by it finds either.
    """
    if not held.files and (document := shared.load_plan(held.text, held.name)) is not None:
        return Planned(held.digest, document, held.text, held.name)
    key = start("plan", **_arguments(held.text, held.name, held.files))
    if named:
        st.query_params[PARAMETER] = key
    seen = work_shown(key)
    if seen.result is None:
        return None
    made = _made(key, seen, held.files)
    if named and made.saved is not None:
        st.query_params[PARAMETER] = made.saved
    return made


def plan_at_work(key: str) -> Planned | None:
    """The plan of a piece of work that somebody came back to by its key; it may be under way still."""
    seen = work_shown(key)
    if seen.result is None:
        return None
    made = _made(key, seen, ())
    if made.saved is not None:
        st.query_params[PARAMETER] = made.saved  # which outlives the server
    return made


def plan_opened(opened: Opened) -> Planned:
    """A saved plan."""
    kept = opened.scenario
    files = tuple(sorted(kept.files.items()))
    name = kept.name or "scenario.toml"
    return Planned(opened.digest, opened.document, kept.text, name, files, saved=opened.digest)


def is_work(digest: str) -> bool:
    """Whether a digest is that of a plan that is being made, or has just been made here."""
    seen = look_at(digest)
    return seen is not None and (seen.result is None or "document" in seen.result)


def belongs_to(digest: str, held: Draft) -> bool:
    """Whether an address that names a plan names that of this scenario."""
    key = work_key("plan", _arguments(held.text, held.name, held.files))
    seen = look_at(key)
    return digest == key or bool(seen and seen.result and seen.result.get("saved") == digest)


def back_to_mine() -> None:
    """Forget the plan that the address named."""
    st.query_params.pop(PARAMETER, None)


def begin_with(text: str, name: str, files: Files = ()) -> None:
    """Let another scenario stand, and forget the plan that the address named."""
    session.put(text, name, files)
    back_to_mine()


def _arguments(text: str, name: str, files: Files) -> dict[str, Any]:
    return {
        "text": text,
        "name": name,
        "files": dict(files),
        "store_address": "" if read_only() else default_address(),
    }


def _made(key: str, seen: Seen, files: Files) -> Planned:
    assert seen.result is not None
    held = _copied(key, seen.result)
    scenario = held["scenario"]
    return Planned(
        key,
        held["document"],
        scenario["text"],
        scenario["name"],
        files,
        saved=held["saved"],
        unsaved=held["unsaved"],
    )


# Each session gets a copy of its own: what workers give is one for all, and the first value kept here too.
@st.cache_data(show_spinner=False, max_entries=16)
def _copied(key: str, _result: dict[str, Any]) -> dict[str, Any]:
    return deepcopy(_result)
