"""Throughput: what hardware delivers for a model, chip by chip, and what a million tokens cost and emit."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from planner.inputs.hardware_question import Question
from planner.inputs.question_fields import fields_of
from planner.report.cells import opened_at
from planner.report.charts import THROUGHPUT_MEASURES, side_by_side
from planner.report.data import csv_text
from planner.report.shape import answer_json
from planner.report.tables import table_of
from planner.trace.errors import InputError
from planner.trace.records import Document, Record
from planner.ui import logs, question_inputs, shared, work_button
from planner.ui.chart_cache import draw_kept

if TYPE_CHECKING:
    from planner.trace.explain import Explanation

FIRST = {"model": "llama-3.1-70b", "skus": ["h100-8", "h200-8", "b200-8", "mi300x-8"]}
SIDE_BY_SIDE = (
    "sku",
    "nodes",
    "accelerators",
    "rate_per_s",
    "low_per_s",
    "high_per_s",
    "error_fraction",
    "replica_kw",
    "node_kw",
    "each_j",
    "million_usd",
    "million_kgco2e",
)


def render() -> None:
    """Draw the page."""
    st.title("Throughput")
    st.markdown(
        "What hardware delivers for a model, chip next to chip, and what a million tokens take on it."
    )
    wanted = question()
    try:
        document = shown(json.dumps(wanted, sort_keys=True))
    except InputError as error:
        work_button.refused("This has no answer.", error)
        return
    results(document, wanted)
    downloads(document)
    shared.next_step("what of it to buy, and when", "plan")


def question() -> dict[str, Any]:
    """What the reader asks, by the names of the options of `everfleet throughput`."""
    known = _choices()
    titles = dict(zip(known["skus"], known["titles"], strict=True))
    left, middle, right = st.columns(3)
    model = left.selectbox("Model", known["models"], known["models"].index(FIRST["model"]), key="tp.model")
    serve = (
        middle.segmented_control(
            "Work", ["Serve it", "Train it"], default="Serve it", required=True, key="tp.work"
        )
        == "Serve it"
    )
    precision = question_inputs.name_of(Question, "precision", known["precisions"], "tp.precision", right)
    chips = fields_of(Question)["skus"]
    skus = st.multiselect(
        chips.heading,
        known["skus"],
        FIRST["skus"],
        format_func=lambda name: f"{name}: {titles[name]}",
        key="tp.skus",
        help=chips.said,
    )
    wanted: dict[str, Any] = {"model": model, "serve": serve, "precision": precision, "skus": skus}
    with st.expander("Targets, requests and grid", key="tp.more", icon=":material/tune:"):
        wanted["grid"] = question_inputs.name_of(Question, "grid", known["grids"], "tp.grid")
        if serve and model in known["writing"]:
            wanted |= _targets(known["mixes"])
        elif not serve:
            wanted |= _amount()
    return wanted


def _targets(mixes: list[str]) -> dict[str, Any]:
    """How fast answers have to be, and which requests come."""
    *each, last = st.columns(4)
    places = dict(zip(("ttft_s", "tpot_s", "requests_per_s"), each, strict=True))
    numbers = {
        name: question_inputs.number(Question, name, f"tp.{name}", place) for name, place in places.items()
    }
    return {
        **{name: value or None for name, value in numbers.items()},
        "mix": question_inputs.name_of(Question, "mix", mixes, "tp.mix", last),
    }


def _amount() -> dict[str, Any]:
    """How much there is to train by when; both or neither."""
    places = dict(zip(("tokens", "by_h"), st.columns(2), strict=True))
    found = {
        name: question_inputs.number(Question, name, f"tp.{name}", place) for name, place in places.items()
    }
    return found if all(found.values()) else {}


def results(document: Document, wanted: Record) -> None:
    """The chips side by side, then every size, and what does not work."""
    best, rows = document["best"], document["rows"]
    if best:
        measure = st.segmented_control(
            "Measure",
            list(THROUGHPUT_MEASURES),
            format_func=THROUGHPUT_MEASURES.__getitem__,
            default="million_usd",
            required=True,
            key="tp.measure",
        )
        digest = logs.digest_of({"wanted": wanted, "measure": measure})
        draw_kept(digest, lambda: side_by_side(document, measure))
        st.caption(f"A million {document['million_of']}; each SKU at its size of least money.")
        keys = [key for key in SIDE_BY_SIDE if key in best[0]]
        opens = partial(_opened, json.dumps(wanted, sort_keys=True), "best")
        shared.sheet(table_of("", best, keys), "Chips side by side", opens, "tp.best")
    else:
        st.warning("None of these chips does this: the reasons are below.")
    if reached := document.get("reached"):
        st.subheader("Smallest size that is enough")
        opens = partial(_opened, json.dumps(wanted, sort_keys=True), "reached")
        shared.sheet(table_of("", reached), "Smallest size that is enough", opens, "tp.reached")
    if failing := [row for row in rows if not row["fits"]]:
        shared.data("", failing, "What does not work, and why", key="tp.failing")
    fitting = [row for row in rows if row["fits"]]
    places = [place for place, row in enumerate(rows) if row["fits"]]

    def every(row: int, key: str) -> Explanation | None:
        return _opened(json.dumps(wanted, sort_keys=True), "rows", places[row], key)

    shared.data("", fitting, "Every size", every, "tp.rows")
    shared.lines(document["notes"], shared.ours)


def downloads(document: Document) -> None:
    """The rows and the whole document, as the command writes them."""
    with st.container(horizontal=True):
        st.download_button(
            "Rows (CSV)",
            lambda: csv_text("", document["rows"]),
            "throughput.csv",
            "text/csv",
            key="tp.csv",
            on_click="ignore",
        )
        st.download_button(
            "Data (JSON)",
            lambda: answer_json(document),
            "throughput.json",
            "application/json",
            key="tp.json",
            on_click="ignore",
        )


def _opened(wanted: str, table: str, row: int, key: str) -> Explanation | None:
    return opened_at(shown(wanted), table, row, key)


@st.cache_data(show_spinner="Looking at every chip and size", max_entries=32)
def shown(wanted: str) -> Document:
    """The document of a question, as JSON."""
    from planner.answers.throughput import question_of, throughput_document

    said = json.loads(wanted)
    return throughput_document(question_of(said | {"skus": tuple(said["skus"])}))


@st.cache_data(show_spinner=False, max_entries=1)
def _choices() -> Record:
    from planner.answers.throughput import choices
    from planner.inputs.loading import load_catalogue

    return choices(load_catalogue())


render()
