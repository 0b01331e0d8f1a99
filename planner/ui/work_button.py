"""Answers that a page asks for: made beforehand, found in a worker, or to be worked out at a click."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import streamlit as st

from planner.trace.errors import InputError
from planner.trace.records import Document, Record
from planner.ui import session, workers
from planner.ui.progress import work_shown
from planner.ui.workers.messages import work_key

LOOK_EVERY_S = 2.0


@dataclass(frozen=True)
class Answer:
    """A document, and the plans of its points by number, which are opened one at a time.

    The digest tells the document from all others.
    """

    digest: str
    document: Document
    plan: Callable[[int], Record]


def answer(
    task: str,
    draft: session.Draft,
    label: str,
    so_far: Callable[[Sequence[Record]], None] | None = None,
    **arguments: Any,
) -> Answer | None:
    """The answer of a task about a scenario; until there is one, how far it is, or a button to begin.

    Args:
        task: its name, as `planner.ui.workers.tasks` has it.
        draft: the scenario.
        label: of the button.
        so_far: draws what is there while the work goes on.
        arguments: arguments of the task next to the scenario.
    """
    text = hashlib.sha256(draft.text.encode()).hexdigest()
    if not draft.files and (known := _shipped(task, text, draft.text)) is not None:
        return Answer(f"{task}-{text}", known, lambda number: _shipped_plan(task, text, number, draft.text))
    given = {"name": draft.name, "text": draft.text, "files": dict(draft.files), **arguments}
    key = work_key(task, given)
    if workers.seen(key) is None:
        st.button(
            label, key=f"begin-{task}", icon=":material/play_arrow:", on_click=_begin, args=(task, given)
        )
        return None
    seen = work_shown(key)
    if not seen.ended and so_far is not None:
        _growing(key, so_far)
    if not seen.ended or seen.result is None:
        return None
    found = seen.result
    return Answer(f"{key}-{seen.state}", found, lambda number: found["plans"][number - 1])


def _begin(task: str, given: Record) -> None:
    workers.start(task, **given)


def refused(what: str, error: InputError) -> None:
    """Say what cannot be done, and why."""
    st.error(what)
    st.code(str(error), language=None, wrap_lines=True)


@st.fragment(run_every=LOOK_EVERY_S)
def _growing(key: str, so_far: Callable[[Sequence[Record]], None]) -> None:
    if (seen := workers.seen(key)) is not None and seen.parts:
        so_far(seen.parts)


# The digest alone is the key. A front without its plans is small; a plan is read when it is opened.
@st.cache_data(show_spinner=False, max_entries=16)
def _shipped(task: str, digest: str, _text: str) -> Document | None:
    from planner.ui.workers.shipped import NAMES, shipped

    found = shipped(task, _text) if task in NAMES else None
    return None if found is None else {key: value for key, value in found.items() if key != "plans"}


@st.cache_data(show_spinner=False, max_entries=64)
def _shipped_plan(task: str, digest: str, number: int, _text: str) -> Record:
    from planner.ui.workers.shipped import shipped

    found = shipped(task, _text)
    assert found is not None, "its front was shown"
    plan: Record = found["plans"][number - 1]
    return plan


def wanted(identity: str, what: str, label: str, icon: str) -> bool:
    """Whether something that takes a while was requested for this plan; a button to request it where not."""
    request = f"wanted-{what}-{identity}"
    if not st.session_state.get(request):
        st.button(label, key=f"{what}-{identity}", icon=icon, on_click=ask_once_more, args=(request,))
        return False
    return True


def ask_once_more(name: str) -> None:
    """Note under a name that something is requested."""
    st.session_state[name] = uuid4().hex  # no attempt stands for another, of this visitor or of any
