"""Start: a solved example on screen at once, and four doors."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from planner.trace.currency import currency_of, showing
from planner.ui import plan_source, shared
from planner.ui.session import Draft

PAGES = Path(__file__).parent


def render() -> None:
    """Draw the page."""
    st.title("AI fleets that finish on time, at the least carbon and money")
    doors()
    text = shared.scenario_text(shared.FIRST)
    made = plan_source.plan_of(Draft(text, f"{shared.FIRST}.toml", text))
    if made is None:
        return
    document = made.document
    st.subheader(shared.plain(document["title"]))
    shared.status_line(document)
    if document["clash"] is not None:
        shared.infeasibility(document)
        return
    with showing(currency_of(document)):
        shared.totals(document, "start", shared.FIRST_TOTALS, sure=True)
        shared.story(document, made.identity)
        with st.expander("The plan in words"):
            shared.lines(document["headline"])
    shared.next_step("all of this plan, and yours", "plan")


def doors() -> None:
    """Where a visitor goes from here."""
    begin, plan, job, checkpoints = st.columns(4)
    with begin.container(border=True, height="stretch", gap="xxsmall"):
        st.page_link(PAGES / "begin.py", label="Start from nothing", icon=":material/add_circle:")
        st.caption("Six steps, and no file is needed.")
    with plan.container(border=True, height="stretch", gap="xxsmall"):
        st.page_link(PAGES / "plan.py", label="Plan the next quarter", icon=":material/calendar_month:")
        st.caption("What to buy, keep and retire.")
    with job.container(border=True, height="stretch", gap="xxsmall"):
        st.page_link(PAGES / "job.py", label="Carbon of one training job", icon=":material/eco:")
        st.caption("Range, parts, cleaner places.")
    with checkpoints.container(border=True, height="stretch", gap="xxsmall"):
        st.page_link(PAGES / "checkpoints.py", label="Checkpoint intervals", icon=":material/save:")
        st.caption("The interval that loses the least.")


render()
