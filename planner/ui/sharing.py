"""Working together: a link that holds the scenario, what a saved plan is called, what changed since one."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from planner.inputs.scenario.bundle import unsaved
from planner.inputs.scenario.link import packed_link, unpacked_link
from planner.store import SavedPlan, Store, labels_of
from planner.store.addresses import read_only
from planner.trace.currency import currency_of, showing
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.ui import plan_source, saved, shared, work_button
from planner.ui.plan_source import Planned

PARAMETER = "open"  # of an address that holds a scenario
MOST_LINES = 8


def begin_by_link() -> None:
    """An address may hold a scenario, once; what holds none is refused in words."""
    link = st.query_params.pop(PARAMETER, None)
    if link is None:
        return
    try:
        name, text = unpacked_link(str(link))
    except InputError as error:
        work_button.refused("This link cannot be opened.", error)
        return
    plan_source.begin_with(text, name)


def together(made: Planned) -> None:
    """A link to the scenario, the labels of the plan, and what changed since a saved one."""
    with st.container(horizontal=True):
        with st.popover("Share", icon=":material/link:", key=f"share-{made.identity}"):
            link(made)
        if made.saved is not None and not read_only() and (store := saved.store()) is not None:
            with st.popover("Name, note, tags", icon=":material/label:", key=f"labels-{made.identity}"):
                labels(store, made.saved)
    changed_since(made)


def link(made: Planned) -> None:
    """The address that opens the scenario on any everfleet, without anything kept on a server."""
    if made.files:
        st.markdown("This scenario names files, which a link cannot hold: download both and share those.")
        return
    try:
        packed = packed_link(made.name, made.text)
    except InputError as error:
        work_button.refused("It is too long for a link.", error)
        return
    here = (st.context.url or "").partition("?")[0]
    st.markdown(
        f"Whoever opens this has the scenario, in {count_text(len(packed))} characters; no server keeps "
        "it. What the scenario says can be read from the link."
    )
    st.code(f"{here}?{urlencode({PARAMETER: packed})}", language=None, wrap_lines=True)


def labels(store: Store, digest: str) -> None:
    """What the saved plan is called, to be changed."""
    try:
        held = store.plan(digest)
    except InputError as error:
        saved.unreachable(error)
        return
    with st.form(f"labels-form-{digest}", border=False):
        name = st.text_input("Name", held.name)
        note = st.text_area("Note", held.note)
        tags = st.text_input("Tags, apart by commas", ", ".join(held.tags))
        owner = st.text_input("Owner", held.owner)
        if not st.form_submit_button("Keep"):
            return
    try:
        store.label_plan(digest, labels_of(name=name, note=note, tags=[tags], owner=owner))
    except InputError as error:
        work_button.refused("This is not kept.", error)
        return
    st.success("Kept.")


def changed_since(made: Planned) -> None:
    """What differs between this plan and a saved one, in words."""
    with st.expander(
        "What changed since a saved plan", key=f"since-{made.identity}", on_change="rerun"
    ) as opened:
        if not opened.open or (store := saved.store()) is None:
            return
        listed = {plan.digest: plan for plan in saved.plans_of(store) if plan.digest != made.saved}
        if not listed:
            st.markdown("No other plan is saved yet.")
            return
        alike = [digest for digest, plan in listed.items() if plan.title == made.document["title"]]
        chosen = st.selectbox(
            "Saved plan",
            list(listed),
            list(listed).index(alike[0]) if alike else 0,
            format_func=lambda digest: saved.label_text(listed[digest]),
            key=f"since-plan-{made.identity}",
        )
        try:
            _said(made, store, listed[chosen])
        except InputError as error:
            work_button.refused("These plans cannot be compared.", error)


def _said(made: Planned, store: Store, before: SavedPlan) -> None:
    from planner.answers.saved.commands import compared_lines
    from planner.answers.saved.compare import compare_sides, made_side, saved_side

    now = made_side(unsaved(made.name, made.text, made.files), made.document)
    found = compare_sides(saved_side(store, before.digest), now)
    with showing(currency_of(found)):
        said = {title: lines for title, lines in compared_lines(found).items() if lines}
    if not said:
        st.markdown("Nothing: the same inputs and the same plan.")
    for title, lines in said.items():
        st.markdown(f"**{title.capitalize()}**")
        more = len(lines) - MOST_LINES
        shared.lines([*lines[:MOST_LINES], *([f"and {more} more"] if more > 0 else [])])
