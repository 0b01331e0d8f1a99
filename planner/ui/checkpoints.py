"""Checkpoints: which interval and policy lose the least time, money and carbon, at every size of job."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import streamlit as st

from planner.answers.checkpoints.page import csv_files
from planner.inputs.job_question import CheckpointQuestion
from planner.inputs.question_fields import fields_of
from planner.report.cells import opened_at
from planner.report.charts import (
    MEASURES,
    checkpoint_curve,
    interval_map,
    policy_curves,
    size_curves,
)
from planner.report.shape import answer_json
from planner.report.tables import table_of
from planner.trace.errors import InputError
from planner.trace.explain import Explanation, kept_step
from planner.trace.numbers import SPOKEN, number_text, percent_text, quantity_text
from planner.trace.records import Document, Record
from planner.ui import logs, question_inputs, shared
from planner.ui.chart_cache import draw_in_rows, draw_kept
from planner.ui.parts import tabs

_TAKEN = "checkpoints.fit-taken"
# The numbers of the answer in words, by the names of their explanations.
ANSWER = {"interval.time-optimal": "interval", "ettr": "ETTR"}


def render() -> None:
    """Draw the page."""
    st.title("Checkpoint intervals")
    st.markdown("Too often, and writing stalls the job; too rarely, and each failure repeats more work.")
    stated, answer = st.columns([2, 5], gap="medium")
    try:
        with stated:
            own_log()
            inputs = chosen_inputs(choices())
        document = shown(json.dumps(inputs, sort_keys=True))
    except InputError as error:
        with answer:
            st.error("These inputs have no answer.")
            st.code(str(error), language=None, wrap_lines=True)
        return
    with answer:
        results(document, inputs)
        downloads(document, inputs)


def loaded(inputs: dict[str, Any]) -> Document:
    """The document of these inputs, with sizes around the one asked for."""
    from planner.answers.checkpoints import sizes_around

    return shared.load_checkpoints(**inputs, across=list(sizes_around(inputs["nodes"])))


@st.cache_data(show_spinner=False)
def choices() -> dict[str, list[str]]:
    """The names that may be chosen."""
    from planner.answers.checkpoints import choices_of
    from planner.inputs.loading import load_catalogue

    return choices_of(load_catalogue())


# What is kept is unpacked at each run: most of the weight of a document is explanations.
@st.cache_data(show_spinner=False, max_entries=64)
def shown(inputs: str) -> Document:
    """What the page shows of the document of these inputs, as JSON; cells are explained when asked for."""
    whole = loaded(json.loads(inputs))
    parts = {part: held for part, held in whole.items() if part not in ("choices", "cells", "steps")}
    return parts | {"explanations": {name: opened_steps(whole, name) for name in ANSWER}}


def opened_steps(whole: Document, name: str) -> list[Record]:
    """The steps of one number."""
    found = kept_step(whole, name)
    return found.to_dict() if found else []


def opens(inputs: dict[str, Any], table: str) -> shared.Opens:
    """What explains a cell of a table."""

    def explained(row: int, key: str) -> Explanation | None:
        return opened_at(loaded(inputs), table, row, key)

    return explained


def own_log() -> None:
    """Failures of the user's own fleet: from the page of failures, or from a log that is brought here."""
    with st.expander("Failures from a log of your own", icon=":material/upload_file:"):
        document = logs.own_fit("checkpoints")
        if document is not None:
            rate = document["rate"]
            st.markdown(
                shared.plain(
                    f"{document['title']}: {number_text(rate['value'], 3)} in 1000 node-days, "
                    f"{number_text(rate['low'], 3)} to "
                    f"{number_text(rate['high'], 3)}."
                )
            )
            logs.few_failures(document)
            digest = logs.digest_of(document)
            if st.session_state.get(_TAKEN) != digest:  # once: another fleet may be chosen afterwards
                st.session_state[_TAKEN] = digest
                st.session_state["failures"] = _label(logs.use(document))
            st.caption("The intervals below use it.")


def chosen_inputs(choices: dict[str, list[str]]) -> dict[str, Any]:
    """What the reader sets."""
    inputs: dict[str, Any] = {"failures": chosen_failures(choices["failures"])}
    inputs["nodes"] = question_inputs.number(CheckpointQuestion, "nodes", "nodes")
    today = question_inputs.number(CheckpointQuestion, "today_min", "today")
    for name, options in (("sku", "skus"), ("model", "models"), ("storage", "storages")):
        inputs[name] = question_inputs.name_of(CheckpointQuestion, name, choices[options], name)
    with st.expander("More inputs", icon=":material/tune:"):
        inputs |= further_inputs(choices)
    return inputs | ({"today_min": today} if today else {})


def further_inputs(choices: dict[str, list[str]]) -> dict[str, Any]:
    """What seldom changes the answer."""
    inputs: dict[str, Any] = {}
    inputs["asynchronous"] = question_inputs.switch(CheckpointQuestion, "asynchronous", "asynchronous")
    inputs["grid"] = question_inputs.name_of(CheckpointQuestion, "grid", choices["grids"], "grid")
    inputs["restart_min"] = question_inputs.number(CheckpointQuestion, "restart_min", "restart")
    spikes = question_inputs.number(CheckpointQuestion, "loss_spikes_per_month", "loss-spikes")
    inputs["loss_spikes_per_month"] = spikes or 0.0
    inputs["detect_corruption"] = question_inputs.switch(
        CheckpointQuestion, "detect_corruption", "detect-corruption"
    )
    return inputs


def chosen_failures(fleets: list[str]) -> str | dict[str, Any]:
    """A published fleet, or the fit in use, which then comes first."""
    used, one = logs.used_fit(), fields_of(CheckpointQuestion)["failures"]
    options = fleets if used is None else [_label(used), *fleets]
    chosen: str = st.selectbox(
        one.heading, options, options.index(one.usual) if used is None else 0, key="failures", help=one.said
    )
    return used.failures() if used is not None and chosen == _label(used) else chosen


def results(document: Document, inputs: dict[str, Any]) -> None:
    """The curve with its optima, the policies, and the sizes."""
    measure = st.segmented_control(
        "Measure",
        list(MEASURES),
        format_func=MEASURES.__getitem__,
        default="ettr_fraction",
        required=True,
        key="measure",
    )
    digest = f"{logs.digest_of(document['inputs'])} {measure}"
    st.markdown(_answer(document))
    with st.container(horizontal=True):
        for name, word in ANSWER.items():
            shared.why(document, name, "checkpoints", f"why this {word}?")
    first, *others = _worth(document)
    shared.lines([first])
    # Only what is looked at is drawn: charts take the browser longer than all else of the page.
    parts = {
        "Intervals": intervals,
        "Policies side by side": policies,
        "Sizes side by side": sizes,
        "Recovery and corruption": recovery,
    }
    drawn = {name: partial(draw, document, inputs, measure, digest) for name, draw in parts.items()}
    tabs(drawn, "checkpoint-tabs")
    shared.lines(others)
    if "today" in document:
        rows = document["today"]
        label = f"What {number_text(inputs['today_min'], 3)} min loses a month, number by number"
        shared.data("today", rows, label, opens(inputs, "today"), "today")


def intervals(document: Document, inputs: dict[str, Any], measure: str, digest: str) -> None:
    """The curve, what it says, its optima, and its data."""
    draw_kept(f"{digest} curve", lambda: checkpoint_curve(document, measure))
    if "ettr_low_fraction" in document["rows"][0]:
        st.caption("Band: from the low to the high end of the failure rate's interval, the interval kept.")
    else:
        st.caption("No band: this failure rate was published without an interval.")
    marks, rows = document["marks"], document["rows"]
    shared.sheet(table_of("marks", marks), "Optima", opens(inputs, "marks"), "marks")
    shared.data("checkpoints", rows, opens=opens(inputs, "rows"), key="rows")


def policies(document: Document, inputs: dict[str, Any], measure: str, digest: str) -> None:
    """Blocking, asynchronous and two-level side by side."""
    st.subheader("Policies side by side")
    draw_kept(f"{digest} policies", lambda: policy_curves(document, measure))
    shared.lines([_best_words(one) for one in document["best"]])
    st.caption("Marks: the best of each. Two-level: the time between copies to the hosts' own memory.")
    best, curves = document["policies"], document["curves"]
    table = table_of("policies", best)
    shared.sheet(table, "Policies, each at its best", opens(inputs, "policies"), "policies")
    shared.data("", curves, opens=opens(inputs, "curves"), key="curves")


def sizes(document: Document, inputs: dict[str, Any], measure: str, digest: str) -> None:
    """The same job on fewer and on more nodes."""
    st.subheader("Sizes side by side")
    draw_kept(f"{digest} map", lambda: interval_map(document, measure))
    each, cells = document["sizes"], document["map"]
    table = table_of("by_nodes", each)
    shared.sheet(table, "Sizes, each at its best interval", opens(inputs, "sizes"), "sizes")
    curves = st.expander("A curve for each size", key="size-curves", on_change="rerun")
    if curves.open:
        with curves:
            draw_in_rows(f"{digest} sizes", lambda: size_curves(document, measure))
    shared.data("", cells, opens=opens(inputs, "map"), key="map")


def recovery(document: Document, inputs: dict[str, Any], measure: str, digest: str) -> None:
    """What stops the job, ways to come back, and what checks for silent corruption find and cost."""
    st.subheader("Recovery and corruption")
    for name, title in (
        ("stops", "What stops the job in a month"),
        ("waiting", "Nodes that wait for slow ones"),
        ("recovery", "Ways to come back after a failure"),
        ("detection", "Silent corruption, with and without checks"),
    ):
        if name not in document:
            continue
        st.markdown(f"**{title}**")
        shared.sheet(table_of(name, document[name]), title, opens(inputs, name), name)


def downloads(document: Document, inputs: dict[str, Any]) -> None:
    """Every table, and the whole document."""
    st.subheader("Download")
    with st.container(horizontal=True):
        st.download_button(
            "Tables (CSV)",
            lambda: shared.zipped(csv_files(document)),
            "checkpoints-csv.zip",
            "application/zip",
            key="csv",
            on_click="ignore",
        )
        st.download_button(
            "Data (JSON)",
            lambda: whole_text(inputs),
            "checkpoints.json",
            "application/json",
            key="json",
            on_click="ignore",
        )


def whole_text(inputs: dict[str, Any]) -> str:
    """The whole document as JSON."""
    return answer_json(loaded(inputs))


def _answer(document: Document) -> str:
    """The best interval for time, and how wide the choice is."""
    best, flat = document["marks"][0], document["flat"]
    interval = shared.plain(f"{number_text(best['interval_min'], 3)} min")
    said = (
        f": {percent_text(best['ettr_fraction'], 2)} of it goes into training. Anything from "
        f"{number_text(flat['low_min'], 3)} to "
        f"{number_text(flat['high_min'], 3)} min loses at most {percent_text(flat['loss_fraction'], None)} "
        "against that."
    )
    return f"A checkpoint every **{interval}** loses the least time{shared.plain(said)}"


def _worth(document: Document) -> list[str]:
    """What the interval of today loses in a month, and what one point of ETTR is worth in it."""
    from planner.answers.checkpoints import retried_said, today_said

    worth = document["worth"]
    return [
        *today_said(document.get("today", [])),
        f"One point of ETTR is worth {quantity_text(worth['usd_a_point_and_month'], 'USD', SPOKEN)} and "
        f"{quantity_text(worth['kgco2e_a_point_and_month'], 'kgCO2e', SPOKEN)} a month.",
        *retried_said(document),
    ]


def _best_words(one: Document) -> str:
    behind = [
        f"{key.removesuffix('_more_fraction')} takes {percent_text(value, 2)} more"
        for key, value in one.items()
        if key.endswith("_more_fraction") and not key.startswith(one["policy"])
    ]
    return f"Least {one['objective']}: {one['policy']}; {', '.join(behind)}."


def _label(used: logs.UsedFit) -> str:
    return f"{used.name} (your log)"


render()
