"""Plan: a scenario solved, and every number of it opened."""

from __future__ import annotations

import streamlit as st

from planner.charts import TIMELINE_KEY, Document
from planner.report import to_csv_files, to_html, to_json
from planner.report.tables import TITLES, provenance, table_of
from planner.ui import shared

LARGEST_SCENARIO_MB = 1


def render() -> None:
    """Draw the page."""
    st.title("Plan")
    text, name = chosen_scenario()
    document = shared.solved(text, name)
    if document is None:
        return
    st.subheader(shared.plain(document["title"]))
    shared.status_line(document)
    if document["clash"] is not None:
        shared.clash(document)
    else:
        results(document)
    details(document)
    downloads(document)
    st.caption(" · ".join(shared.plain(line) for line in provenance(document)))


def chosen_scenario() -> tuple[str, str]:
    """A shipped scenario, named in the address, or a file of the user's own."""
    names = shared.scenario_names()
    shipped, own = st.columns(2)
    with shipped:
        name = st.selectbox("Scenario", names, key="scenario", bind="query-params")
    with own:
        file = st.file_uploader(
            "or a TOML file of your own", type="toml", key="own", max_upload_size=LARGEST_SCENARIO_MB
        )
    if file is None:
        return shared.scenario_text(name), f"{name}.toml"
    return file.getvalue().decode("utf-8", errors="replace"), file.name


def results(document: Document) -> None:
    """The plan from the answer down to its terms."""
    held = document["tables"]
    shared.story(document)
    shared.totals(document, "plan")
    st.subheader("Why this plan")
    shared.lines(document["why"])
    st.subheader(TITLES["summary"])
    shared.picture("baselines", document)
    shared.data("summary", held["summary"])
    st.subheader("Jobs and arrivals")
    shared.picture("timeline", document)
    st.caption(TIMELINE_KEY)
    shared.data("purchases", held["purchases"], "Show what is bought")
    st.subheader(TITLES["cost"])
    shared.terms("cost", "usd", "USD", document)
    shared.data("cost", held["cost"])
    st.subheader(TITLES["carbon"])
    shared.terms("carbon", "kgco2e", "kgCO2e", document)
    shared.data("carbon", held["carbon"])


def details(document: Document) -> None:
    """Tables of what runs where, how full the limits are, and what the result hangs on."""
    held = document["tables"]
    for name in ("moves", "rental", "jobs", "pausable", "services", "pools", "by_period"):
        if held.get(name):
            st.subheader(TITLES[name])
            shared.sheet(table_of(name, held[name]), TITLES[name])
    for title, name, rows in (
        (TITLES["limits"], "limits", held["limits"]),
        ("What the result hangs on", "tornado", document["tornado"]),
    ):
        if rows:
            st.subheader(title)
            shared.picture(name, document)
            shared.data(name, rows)
    for name in ("alternatives_dropped", "facts", "facts_weighed"):
        shared.data(name, held[name], TITLES[name])


def downloads(document: Document) -> None:
    """The report in every format, made when it is asked for."""
    st.subheader("Take it along")
    with st.container(horizontal=True):
        st.download_button(
            "Report (HTML)",
            lambda: to_html(document),
            "plan.html",
            "text/html",
            key="html",
            on_click="ignore",
        )
        st.download_button(
            "Data (JSON)",
            lambda: to_json(document),
            "plan.json",
            "application/json",
            key="json",
            on_click="ignore",
        )
        st.download_button(
            "Tables (CSV)",
            lambda: shared.zipped(to_csv_files(document)),
            "plan-csv.zip",
            "application/zip",
            key="csv",
            on_click="ignore",
        )


render()
