"""Scenario: what is planned, changed by key, table, file or text; every step can be undone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

from planner.trace.numbers import count_text
from planner.ui import scenario_edits, scenario_form, scenario_imports, scenario_tables, session, shared

PAGES = Path(__file__).parent
FIRST_VIEW = "Main inputs"


def render() -> None:
    """Draw the page."""
    st.title("Scenario")
    document = scenario_edits.shown_document()
    header(str(document.get("title", "")))
    views: dict[str, Callable[[], None]] = {
        FIRST_VIEW: partial(scenario_form.simple, document),
        "Tables": scenario_tables.tables,
        "All inputs": partial(scenario_form.expert, document),
        "Import": scenario_imports.imports,
        "Text": text,
    }
    view = st.segmented_control(
        "View", list(views), default=FIRST_VIEW, required=True, key="view", label_visibility="collapsed"
    )
    with st.container():  # always there: what comes below must not move, or the field typed in is lost
        scenario_form.refused()
        scenario_form.refused(scenario_edits.FILE)
    views[view or FIRST_VIEW]()
    shared.next_step("the plan of this scenario", "plan")


def header(title: str) -> None:
    """Which scenario stands, the way back and forth, and where to go from here."""
    with st.container():  # as for what is refused
        if shown := scenario_edits.said():
            st.success(shared.plain(shown), icon=":material/check_circle:")
    held, history = session.draft(), session.history()
    edits = len(history.past)
    state = f"{edits} edit{'s' * (edits != 1)}" if edits else "no edits"
    st.markdown(f"**{shared.plain(title)}** · {shared.plain(held.name)} · {state}")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Undo",
            key="undo",
            icon=":material/undo:",
            on_click=scenario_edits.undo,
            disabled=not history.past,
            help=shared.plain(history.past[-1].note) if history.past else None,
        )
        st.button(
            "Redo",
            key="redo",
            icon=":material/redo:",
            on_click=scenario_edits.redo,
            disabled=not history.taken_back,
            help=shared.plain(history.taken_back[-1].note) if history.taken_back else None,
        )
        st.download_button(
            "Scenario (TOML)",
            held.text,
            held.name,
            "application/toml",
            key="toml",
            on_click="ignore",
            icon=":material/download:",
        )
        st.page_link(PAGES / "plan.py", label="Plan it", icon=":material/play_arrow:")
        st.page_link(PAGES / "begin.py", label="Start from nothing", icon=":material/add_circle:")


def text() -> None:
    """The file itself, and what may be in it."""
    held = session.draft()
    turn = scenario_edits.turn()
    key = f"text-{held.digest}-{turn}"
    scenario_edits.forget_unseen(scenario_edits.TEXT, key)
    scenario_form.refused(scenario_edits.TEXT)
    st.text_area(
        "Scenario as TOML; Ctrl+Enter takes it",
        held.text,
        key=key,
        height=600,
        max_chars=1_000_000,
        on_change=_text_changed,
        args=(key, turn),
    )
    for name, content in held.files:
        st.markdown(shared.plain(f"Its file: {name}, {count_text(len(content))} bytes"))
    with st.expander("Every key, and the values it may have"):
        from planner.inputs.reference import key_rows

        st.dataframe(list(key_rows("scenario")), hide_index=True, alt="Keys of a scenario", height=500)


def _text_changed(key: str, turn: int) -> None:
    if turn == scenario_edits.turn():
        scenario_edits.take_text(str(st.session_state[key] or ""))


render()
