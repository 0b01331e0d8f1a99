"""Plan: a scenario solved while the reader looks on, and every number of the plan opened."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from planner.ui import frame, plan_parts, plan_source, saved, scenario_edits, session, shared, sharing
from planner.ui.plan_source import Planned

PAGES = Path(__file__).parent
LARGEST_SCENARIO_MB = 1


def render() -> None:
    """Draw the page."""
    heading = st.empty()
    heading.title("Plan")
    sharing.begin_by_link()
    held, named = session.draft(), saved.digest_in_address()
    if named is not None and not plan_source.belongs_to(named, held):
        made = elsewhere(named)
    else:
        with st.sidebar:
            chosen_scenario(held)
        left_out()
        made = plan_source.plan_of(session.draft(), named=True)
    if made is not None:
        heading.title(shared.plain(made.document["title"]))
        plan_parts.plan(made)
    saved.listed()
    shared.next_step("what it trades, money and time against carbon", "tradeoffs")


def elsewhere(digest: str) -> Planned | None:
    """The plan that the address names, which is not that of the scenario being worked on."""
    if plan_source.is_work(digest):
        made = plan_source.plan_at_work(digest)
    else:
        found = saved.opened(digest)
        made = None if found is None else plan_source.plan_opened(found)
    with st.container(horizontal=True):
        st.button(
            "Back to my scenario",
            key="back",
            icon=":material/undo:",
            on_click=plan_source.back_to_mine,
        )
        if made is not None:
            st.button(
                "Work on this scenario",
                key="adopt",
                icon=":material/edit:",
                on_click=plan_source.begin_with,
                args=(made.text, made.name, made.files),
            )
    return made


def chosen_scenario(held: session.Draft) -> None:
    """Which scenario is planned: the one being worked on, a shipped one, or a file of the user's own."""
    begin_by_name()
    names = shared.scenario_names()
    held = session.draft()
    own = held.name.removesuffix(".toml")
    is_shipped = own in names and held.text == shared.scenario_text(own)
    label = own if is_shipped else f"{own} (yours)"
    st.session_state["scenario"] = label  # what stands in the session is what is chosen here
    frame.heading("Planned here")
    options = names if is_shipped else [label, *names]
    st.selectbox("Scenario", options, key="scenario", on_change=_begin_with_shipped)
    st.page_link(PAGES / "scenario.py", label="Change it", icon=":material/tune:")
    st.file_uploader(
        "or a TOML file of your own",
        type="toml",
        key="own",
        max_upload_size=LARGEST_SCENARIO_MB,
        on_change=_begin_with_own,
    )


def left_out() -> None:
    """What the page Scenario shows and this plan does not hold."""
    if lines := scenario_edits.not_taken():
        st.warning("Not in this plan: what was typed on the page Scenario and does not check.")
        shared.lines(lines)
        st.page_link(PAGES / "scenario.py", label="Correct it, or discard it", icon=":material/tune:")


def begin_by_name() -> None:
    """An address may name a shipped scenario, once; anything else is passed over."""
    name = st.query_params.pop("scenario", None)
    if name in shared.scenario_names():
        plan_source.begin_with(shared.scenario_text(str(name)), f"{name}.toml")


def _begin_with_shipped() -> None:
    name = st.session_state["scenario"]
    if name in shared.scenario_names():
        plan_source.begin_with(shared.scenario_text(name), f"{name}.toml")


def _begin_with_own() -> None:
    file = st.session_state["own"]
    if file is not None:
        plan_source.begin_with(file.getvalue().decode("utf-8", errors="replace"), file.name)


render()
