"""Work that takes its time: how far it is, a way to end it, and what became of it."""

from __future__ import annotations

from dataclasses import asdict
from uuid import uuid4

import streamlit as st
from streamlit.errors import StreamlitAPIException

from planner.report.charts.searching import search_trace
from planner.trace.currency import currency_of, showing
from planner.trace.numbers import count_text, percent_text, quantity_text
from planner.ui import shared
from planner.ui.frame import coming
from planner.ui.workers import Seen, ask_as, forget, leave, stop
from planner.ui.workers import seen as look_at

LOOK_EVERY_S = 0.5
GONE = "This work is not known any more, or ended long ago."


def know_visitors() -> None:
    """Let the workers know who asks, and who has gone: places are shared among visitors."""
    ask_as(_visitor)


def work_shown(key: str) -> Seen:
    """How a piece of work stands, drawn as long as it goes on; the page runs anew when it has ended.

    Where it came to nothing, the page says why and offers to begin anew: the caller draws nothing then.
    """
    seen = look_at(key) or Seen("died", error=GONE)
    if not seen.ended:
        _watched(key)
    elif seen.result is None:
        _came_to_nothing(key, seen)
    return seen


@st.fragment(run_every=LOOK_EVERY_S)
def _watched(key: str) -> None:
    """The only part of the page that runs while the work goes on."""
    seen = look_at(key)
    if seen is None or seen.ended:
        st.rerun()
    st.status(_heading(seen), state="running", type="compact")
    if seen.trail:
        _search(seen)
    elif seen.text:
        st.caption(shared.plain(seen.text))
    if seen.stopping:
        label = "Stopping: the best so far is kept" if seen.trail else "Stopping"
    else:
        label = "Cancel: keep the best so far" if seen.trail else "Cancel"
    st.button(
        label,
        key=f"cancel-{key}",
        disabled=seen.stopping,
        icon=":material/stop:",
        on_click=stop,
        args=(key,),
    )
    if not seen.trail:
        coming()


def _heading(seen: Seen) -> str:
    if seen.state == "waiting":
        before = {0: "", 1: "; yours is next"}.get(seen.place, f"; {seen.place - 1} before")
        return f"Waiting for other work to end: {count_text(seen.elapsed_s)} s{before}"
    return f"Working: {count_text(seen.elapsed_s)} s"


def _search(seen: Seen) -> None:
    """Incumbent, bound and gap of a search, and how they came about; a part may tell their unit."""
    part = next((part for part in seen.parts if "unit" in part), {"unit": ""})
    with showing(currency_of(part)):
        _searched(seen, part["unit"])


def _searched(seen: Seen, unit: str) -> None:
    last = seen.trail[-1]
    with st.container(horizontal=True):
        for label, value in (("Best so far", last.incumbent), ("Bound", last.bound)):
            st.metric(label, "none yet" if value is None else quantity_text(value, unit), border=True)
        gap = last.gap_fraction
        st.metric("Gap", "not known yet" if gap is None else percent_text(gap, 2), border=True)
    st.caption(shared.plain(seen.text))
    if (drawn := search_trace([asdict(step) for step in seen.trail], unit)) is not None:
        shared.draw(drawn)


def _came_to_nothing(key: str, seen: Seen) -> None:
    """Say why, in its own words, and offer to begin anew."""
    if seen.state == "stopped":
        st.warning("Stopped before there was anything to keep.", icon=":material/timer:")
    else:
        died = seen.state == "died"
        said = (
            "The work ended before it was done." if died else "This cannot be worked out with these inputs."
        )
        st.error(said, icon=":material/block:")
        st.code(seen.error, language=None, wrap_lines=True)
    st.button("Start again", key=f"anew-{key}", on_click=forget, args=(key,))


def _visitor() -> str:
    """Who asks, as long as the page is open; nobody where no session is."""
    try:
        return _name()
    except StreamlitAPIException:
        return ""


# What belongs to a session is let go when its connection ends: the page was closed, or lost.
@st.cache_resource(show_spinner=False, scope="session", on_release=leave)
def _name() -> str:
    return uuid4().hex
