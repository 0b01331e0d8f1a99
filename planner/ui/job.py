"""Job carbon: the estimate of one job with its range, its split, and what would change it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from planner.report.charts import jobs
from planner.report.tables import table_of
from planner.trace.errors import InputError
from planner.trace.numbers import percent_text
from planner.trace.records import Document
from planner.ui import shared
from planner.ui.chart_cache import draw_kept
from planner.ui.job_inputs import Base, chosen_base, expert, incoming, inputs, job_file, refused, switches
from planner.ui.parts import tabs
from planner.ui.progress import work_shown
from planner.ui.workers import start

if TYPE_CHECKING:
    from planner.trace.explain import Explanation

# The explanation of a number: of a table, the number of a row in it, and a column.
Why = Callable[[str, int, str], "Explanation | None"]


def render() -> None:
    """Draw the page."""
    st.title("Carbon of a job")
    st.markdown("Data, training, fine-tuning, inference, storage, network: each with its range and sources.")
    base = chosen_base()
    files, whole = st.columns(2)
    text, wanted = inputs(base)
    with files:  # they stand above the inputs, and need what those say
        incoming(base, wanted)
    with whole:
        expert(text, base)
    answer, counted = st.container(), st.container()
    with answer:
        document = estimate(text, base)
    with counted:  # drawn in every run, or a switch would forget how it stands
        switches(text, base, document)
    if document is None:
        return
    digest = base.digest(text)
    why = partial(_why, document)
    with answer:
        summary(document, digest, why, kept_title=base.begun == "file" and text != base.text)
    parts: dict[str, Callable[[], None]] = {
        "What it is made of": lambda: split(document, digest, why),
        "Where and when": lambda: elsewhere(text, base),
        "What would change it": lambda: differently(document, digest, why),
        "For a model card": lambda: card(document),
    }
    # A part is drawn when it is looked at: the estimate need not wait for what stands behind it.
    tabs(parts, "job-tabs")
    downloads(document, job_file(text, base))


def estimate(text: str, base: Base) -> Document | None:
    """The document of the job; None where it is wrong or still being worked out, and says so."""
    from planner.answers.job.upload import takes_long
    from planner.inputs.job.reading import lacking
    from planner.inputs.scenario.files import read_toml

    try:
        if base.own and (lacks := lacking(read_toml(text, base.name))):
            st.info(lacks)
            return None
        if takes_long(text, base.name):
            return work_shown(start("job", text=text, name=base.name, files=dict(base.files))).result
        with st.spinner("Working the job out"):
            return _document(base.digest(text), text, base)
    except InputError as error:
        refused("This job cannot be estimated with these inputs.", error)
        return None


def summary(document: Document, digest: str, why: Why, *, kept_title: bool) -> None:
    """The totals with their ranges."""
    from planner.answers.job.model_card import assumed_said

    st.subheader(shared.plain(document["title"]))
    if kept_title:
        st.caption("With the inputs above; the title is that of the job file.")
    shared.totals(document, "job", ("carbon", "operational", "embodied", "energy", "water", "data", "market"))
    left, right = st.columns(2)
    with left:
        draw_kept(f"{digest} range_bars", lambda: jobs.range_bars(document))
    with right:
        st.markdown(shared.plain(document["model_card"]))
        if assumed := assumed_said(document):
            st.markdown(shared.plain(assumed))
        if document["notes"]:
            shared.lines(document["notes"])
    shared.data("totals", document["totals"], opens=partial(why, "totals"), key="job-totals")
    if document["scores"]:
        scores(document, why)


def scores(document: Document, why: Why) -> None:
    """Carbon for what the job gives, in the words of its model card."""
    from planner.answers.job.model_card import said

    st.subheader("Per unit of work")
    with st.container(horizontal=True, key="totals-scores"):
        for score in document["scores"]:
            value, low, high = (said(score[end], score["unit"]) for end in ("value", "p5", "p95"))
            with shared.card(score["label"], value, f"p5 {low} to p95 {high}"):
                shared.why(document, score["explain"], "score")
    shared.data("totals", document["scores"], opens=partial(why, "scores"), key="job-scores-data")


def split(document: Document, digest: str, why: Why) -> None:
    """Phases, scopes, and what failures cost of the training run."""
    from planner.answers.job.model_card import said

    left, right = st.columns([3, 2])
    with left:
        draw_kept(f"{digest} split_waterfall", lambda: jobs.split_waterfall(document))
    with right, st.container(horizontal=True):
        for row in document["phases"]:
            name = f"phase.{row['phase'].replace('-', '_').replace(' ', '_')}"
            shared.why(document, name, "job", f"why {shared.plain(row['phase'])}?")
    shared.data("", document["phases"], opens=partial(why, "phases"), key="job-phases")
    left, right = st.columns(2)
    with left:
        st.markdown("By scope; a market-based figure is shown next to the total and is no part of it:")
        shared.lines([f"scope {row['scope']}: {said(row['kgco2e'], 'kgCO2e')}" for row in document["scopes"]])
        for note in (document.get("scope_note"), *document.get("inventory_notes", [])):
            if note:
                st.caption(note)
    if document["failures"]:
        with right:
            st.markdown("Of the training run, by what its hours were for:")
            shared.lines(
                [
                    f"{row['state']}: {said(row['kgco2e'], 'kgCO2e')}, "
                    f"{percent_text(row['of_training_fraction'], 2)}"
                    for row in document["failures"]
                ]
            )
    for label, name in (("Data by scope", "scopes"), ("Data by what the hours were for", "failures")):
        shared.data("", document[name], label, partial(why, name), f"job-{name}")


def elsewhere(text: str, base: Base) -> None:
    """The same job in other places and at other times."""
    digest = base.digest(text)
    try:
        with st.spinner("Trying other places and hours"):
            document = _places(digest, text, base)
    except InputError as error:
        refused("Other places cannot be worked out.", error)
        return
    why = partial(_why, document)
    if document["places"]:
        st.markdown(
            "The whole job, had it drawn all its electricity in one hour of the day, in the mean of a year. "
            "It is a bound: no queue, no moving of data, and a service cannot choose its hours. In the maps "
            "a circle marks the cleanest time of a place, a triangle the dirtiest."
        )
    left, right = st.columns(2)
    for column, chart, name in ((left, jobs.hour_map, "hours"), (right, jobs.month_map, "months")):
        with column:
            draw_kept(f"{digest} {name}", partial(chart, document))
    for label, name in (("Data by hour of the day", "hours"), ("Data by month of the start", "months")):
        shared.data("", document[name], label, partial(why, name), f"job-{name}")
    if document["places"]:
        ends = table_of("", document["places"])
        shared.sheet(ends, "Cleanest and dirtiest hour of each place", partial(why, "places"), "job-places")
    if document["notes"]:
        shared.lines(document["notes"])
    shared.data("", document["left_out"], "Places that are not compared, and why", key="job-left-out")


def differently(document: Document, digest: str, why: Why) -> None:
    """The same job with one thing different, and with each uncertain fact at its ends."""
    from planner.answers.job.page import tornado_rows

    left, right = st.columns(2)
    with left:
        st.markdown("The same job worked out again with one thing different.")
        draw_kept(f"{digest} changes", lambda: jobs.changes(document))
    with right:
        st.markdown("What is least certain: carbon with each fact at its low and at its high end.")
        draw_kept(f"{digest} tornado", lambda: jobs.tornado(document))

    def swing(row: int, key: str) -> Explanation | None:
        return why("tornado", row, key.removesuffix("_kgco2e"))  # the document names no unit there

    changes, swings = document["changes"], tornado_rows(document)
    shared.data("", changes, "Data of the changes", partial(why, "changes"), "job-changes")
    shared.data("", swings, "Data of the facts at their ends", swing, "job-tornado")
    facts = document["facts"]
    shared.data("facts", facts, "Facts and their sources", partial(why, "facts"), "job-facts")


def card(document: Document) -> None:
    """The text for a model card."""
    from planner.answers.job import to_card

    st.markdown("Markdown; the button in its corner copies it.")
    st.code(to_card(document), language=None, wrap_lines=True)


def downloads(document: Document, text: str) -> None:
    """The estimate in every format, made when it is requested."""
    from planner.answers.job import to_card
    from planner.answers.job.page import to_csv_files, to_html
    from planner.report.shape import answer_json

    made: tuple[tuple[str, Callable[[], str | bytes], str, str], ...] = (
        ("Page (HTML)", lambda: to_html(document), "job.html", "text/html"),
        ("Data (JSON)", lambda: answer_json(document), "job.json", "application/json"),
        ("Tables (CSV)", lambda: shared.zipped(to_csv_files(document)), "job-csv.zip", "application/zip"),
        ("Model card (Markdown)", lambda: to_card(document) + "\n", "job.md", "text/markdown"),
        ("Job file (TOML)", lambda: text, "job.toml", "text/plain"),
    )
    st.subheader("Download")
    with st.container(horizontal=True):
        for label, content, name, kind in made:
            st.download_button(label, content, name, kind, key=f"job.{name}", on_click="ignore")


# The digest of everything that the answer rests on is the key; the rest is not part of it.
@st.cache_data(show_spinner=False, max_entries=32)
def _document(digest: str, _text: str, _base: Base) -> Document:
    from planner.answers.job.upload import uploaded_document

    document: Document = uploaded_document(_text, _base.name, dict(_base.files), own=_base.own)
    return document


@st.cache_data(show_spinner=False, max_entries=32)
def _places(digest: str, _text: str, _base: Base) -> Document:
    from planner.answers.job.upload import uploaded_places

    document: Document = uploaded_places(_text, _base.name, dict(_base.files), own=_base.own)
    return document


def _why(document: Document, table: str, row: int, key: str) -> Explanation | None:
    """The explanation of a cell, by the steps that the document keeps."""
    from planner.report.cells import opened_cell
    from planner.trace.records import table_rows

    return opened_cell(document, table, table_rows(document, table)[row], key)


render()
