"""Checkpoints: which interval loses the least time, money and carbon."""

from __future__ import annotations

from typing import Any

import streamlit as st

from planner.charts import MEASURES, Document, checkpoint_curve
from planner.errors import InputError
from planner.report import csv_text
from planner.report.tables import table_of
from planner.ui import shared


def render() -> None:
    """Draw the page."""
    st.title("Checkpoint intervals")
    st.markdown("Too often, and writing stalls the job; too rarely, and each failure repeats more work.")
    try:
        document = shared.load_checkpoints(**chosen_inputs(shared.load_checkpoints()))
    except InputError as error:
        st.error("These inputs have no answer.")
        st.code(str(error), language=None, wrap_lines=True)
        return
    results(document)


def chosen_inputs(first: Document) -> dict[str, Any]:
    """What the reader sets; the defaults and the choices are the document's own."""
    defaults, choices = first["inputs"], first["choices"]

    def one_of(key: str, label: str, options: list[str]) -> str:
        default = defaults[key]
        chosen: str = st.selectbox(
            label, options, options.index(default) if default in options else 0, key=key
        )
        return chosen

    left, middle, right = st.columns(3)
    inputs: dict[str, Any] = {}
    with left:
        inputs["failures"] = one_of("failures", "Failures as in", choices["failures"])
        inputs["nodes"] = int(
            st.number_input("Nodes of the job", 1, 100_000, int(defaults["nodes"]), key="nodes")
        )
    with middle:
        inputs["sku"] = one_of("sku", "SKU", choices["skus"])
        inputs["model"] = one_of("model", "Model whose state is written", choices["models"])
    with right:
        inputs["storage"] = one_of("storage", "Checkpoint storage", choices["storages"])
        inputs["grid"] = one_of("grid", "Grid", choices["grids"])
    restart = left.number_input(
        "Restart after a failure (min)", 0.1, 1440.0, float(defaults["restart_min"]), key="restart"
    )
    background = middle.toggle("Write in the background", bool(defaults["asynchronous"]), key="asynchronous")
    return inputs | {"restart_min": float(restart), "asynchronous": background}


def results(document: Document) -> None:
    """The curve, the optima, and the table behind them."""
    measure = st.segmented_control(
        "Measure", list(MEASURES), format_func=MEASURES.__getitem__, default="ettr_fraction", key="measure"
    )
    if (drawn := checkpoint_curve(document, measure or "ettr_fraction")) is not None:
        shared.draw(drawn)
    flat = document["flat"]
    st.markdown(
        shared.plain(
            f"Anything from {flat['low_min']:.3g} to {flat['high_min']:.3g} min loses at most "
            f"{100 * flat['loss_fraction']:.2g} % against the best."
        )
    )
    shared.sheet(table_of("marks", document["marks"]), "Optima")
    with st.container(horizontal=True):
        for name in document["explanations"]:
            shared.why(document, name, "checkpoints", shared.plain(f"why {name.replace('.', ', ')}?"))
    shared.data("checkpoints", document["rows"])
    st.download_button(
        "Table (CSV)",
        lambda: csv_text("checkpoints", document["rows"]),
        "checkpoints.csv",
        "text/csv",
        key="csv",
        on_click="ignore",
    )


render()
