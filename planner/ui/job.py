"""Job carbon: the estimate of one job with its range, its split, and what would change it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from planner.charts import Document, jobs
from planner.errors import InputError
from planner.report.tables import table_of
from planner.ui import shared
from planner.ui.drawn import draw_kept
from planner.ui.job_inputs import Base, Files, chosen_base, incoming, inputs, refused
from planner.ui.waiting import work_shown
from planner.workers import start


def render() -> None:
    """Draw the page."""
    st.title("Carbon of a job")
    st.markdown("Data, training, fine-tuning, inference, storage, network: each with its range and sources.")
    base = chosen_base()
    incoming(base)
    text = inputs(base)
    document = estimate(text, base)
    if document is None:
        return
    digest = base.digest(text)
    summary(document, digest, changed=text != base.text)
    split(document, digest)
    elsewhere(text, base)
    differently(document, digest)
    card(document)
    downloads(document, text)


def estimate(text: str, base: Base) -> Document | None:
    """The document of the job; None where it is wrong or still being worked out, and says so."""
    from planner.jobs.handed import takes_long

    try:
        if takes_long(text, base.name):
            return work_shown(start("job", text=text, name=base.name, files=dict(base.files))).result
        with st.spinner("Working the job out"):
            return _document(base.digest(text), text, base.name, base.files)
    except InputError as error:
        refused("This job cannot be estimated as it stands.", error)
        return None


def summary(document: Document, digest: str, *, changed: bool) -> None:
    """The totals with their ranges."""
    st.subheader(shared.plain(document["title"]))
    if changed:
        st.caption("With the inputs above; the title is that of the job file.")
    shared.totals(document, "job", ("carbon", "operational", "embodied", "energy", "water", "market"))
    left, right = st.columns(2)
    with left:
        draw_kept(f"{digest} range_bars", lambda: jobs.range_bars(document))
        shared.data("totals", document["totals"])
    with right:
        st.markdown(shared.plain(document["model_card"]))
        if document["notes"]:
            shared.lines(document["notes"])
    if document["scores"]:
        scores(document)


def scores(document: Document) -> None:
    """Carbon for what the job gives, in the words of its model card."""
    from planner.jobs.card import said

    st.subheader("For what it gives")
    with st.container(horizontal=True, key="job-scores"):
        for score in document["scores"]:
            value, low, high = (said(score[end], score["unit"]) for end in ("value", "p5", "p95"))
            with st.container(border=True, width=320, height="stretch"):
                st.markdown(shared.plain(score["label"]))
                st.metric(score["name"], value, label_visibility="collapsed")
                st.markdown(shared.plain(f"p5 {low} to p95 {high}"))
                shared.why(document, score["explain"], "score")


def split(document: Document, digest: str) -> None:
    """Phases, scopes, and what failures cost of the training run."""
    st.subheader("What it is made of")
    left, right = st.columns([3, 2])
    with left:
        draw_kept(f"{digest} split_waterfall", lambda: jobs.split_waterfall(document))
        shared.data("", document["phases"])
    with right, st.container(horizontal=True):
        for row in document["phases"]:
            name = f"phase.{row['phase'].replace('-', '_').replace(' ', '_')}"
            shared.why(document, name, "job", f"why {shared.plain(row['phase'])}?")
    st.markdown("By scope; a market-based figure stands beside the total and is no part of it.")
    shared.sheet(table_of("", document["scopes"]), "Carbon by scope")
    if document["failures"]:
        st.markdown("Of the training run, by what its hours were for:")
        shared.sheet(table_of("", document["failures"]), "Carbon by state")
        with st.container(horizontal=True):
            for name in ("useful", "lost", "checkpoint", "restart"):
                shared.why(document, f"training.{name}", "job", f"why {name}?")


def elsewhere(text: str, base: Base) -> None:
    """The same job in other places and at other times."""
    st.subheader("Where and when")
    try:
        with st.spinner("Trying other places and hours"):
            document = _places(base.digest(text), text, base.name, base.files)
    except InputError as error:
        refused("Other places cannot be worked out.", error)
        return
    if document["places"]:
        st.markdown(
            "The whole job, had it drawn all its electricity in one hour of the day, in the mean of a year. "
            "It is a bound: no queue, no moving of data, and a service cannot choose its hours. In the maps "
            "a circle marks the cleanest time of a place, a triangle the dirtiest."
        )
    left, right = st.columns(2)
    for column, chart, name in ((left, jobs.hour_map, "hours"), (right, jobs.month_map, "months")):
        with column:
            draw_kept(f"{base.digest(text)} {name}", partial(chart, document))
            shared.data("", document[name])
    if document["places"]:
        shared.sheet(table_of("", document["places"]), "Cleanest and dirtiest hour of each place")
        _why_place(document)
    if document["notes"]:
        shared.lines(document["notes"])
    shared.data("", document["left_out"], "Places that are not compared, and why")


def _why_place(document: Document) -> None:
    """Opens the cleanest or the dirtiest hour of one place."""
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    names = [row["place"] for row in document["places"]]
    chosen = left.selectbox("Open a place", names, key="job.place")
    with right, st.container(horizontal=True):
        for mark in ("cleanest", "dirtiest"):
            shared.why(document, f"place.{chosen}.{mark}", "job", f"why the {mark}?")


def differently(document: Document, digest: str) -> None:
    """The same job with one thing different, and with each uncertain fact at its ends."""
    from planner.report.jobs import tornado_rows

    left, right = st.columns(2)
    with left:
        st.subheader("What would change it")
        st.markdown("The same job worked out again with one thing different.")
        draw_kept(f"{digest} changes", lambda: jobs.changes(document))
        shared.data("", document["changes"])
    with right:
        st.subheader("What is least certain")
        st.markdown("Carbon with each fact at its low and at its high end.")
        draw_kept(f"{digest} tornado", lambda: jobs.tornado(document))
        shared.data("", tornado_rows(document))
    shared.data("facts", document["facts"], "Facts and their sources")


def card(document: Document) -> None:
    """The text for a model card."""
    from planner.jobs import to_card

    st.subheader("For a model card")
    st.markdown("Markdown; the button in its corner copies it.")
    st.code(to_card(document), language="markdown", wrap_lines=True)


def downloads(document: Document, text: str) -> None:
    """The estimate in every format, made when it is asked for."""
    from planner.jobs import to_card
    from planner.report import to_json
    from planner.report.jobs import to_csv_files, to_html

    made: tuple[tuple[str, Callable[[], str | bytes], str, str], ...] = (
        ("Page (HTML)", lambda: to_html(document), "job.html", "text/html"),
        ("Data (JSON)", lambda: to_json(document), "job.json", "application/json"),
        ("Tables (CSV)", lambda: shared.zipped(to_csv_files(document)), "job-csv.zip", "application/zip"),
        ("Model card (Markdown)", lambda: to_card(document) + "\n", "job.md", "text/markdown"),
        ("Job file (TOML)", lambda: text, "job.toml", "text/plain"),
    )
    st.subheader("Take it along")
    with st.container(horizontal=True):
        for label, content, name, kind in made:
            st.download_button(label, content, name, kind, key=f"job.{name}", on_click="ignore")


# The digest of everything that the answer rests on is the key; the rest is not part of it.
@st.cache_data(show_spinner=False, max_entries=32)
def _document(digest: str, _text: str, _name: str, _files: Files) -> Document:
    from planner.jobs.handed import handed_document

    document: Document = handed_document(_text, _name, dict(_files))
    return document


@st.cache_data(show_spinner=False, max_entries=32)
def _places(digest: str, _text: str, _name: str, _files: Files) -> Document:
    from planner.jobs.handed import handed_places

    document: Document = handed_places(_text, _name, dict(_files))
    return document


render()
