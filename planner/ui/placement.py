"""Placement: where embedding tables lie on nodes, how long a step then waits, and how far from the best."""

from __future__ import annotations

import hashlib
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from planner.inputs.placement_question import NODES, TIERS, TIME, WAYS, PlacementQuestion
from planner.inputs.question_fields import fields_of
from planner.report.cells import opened_at
from planner.report.charts import PLACEMENT_PICTURES
from planner.report.shape import answer_json
from planner.report.tables import in_milliseconds, table_of
from planner.trace.errors import InputError
from planner.trace.records import Document, Record
from planner.ui import logs, question_inputs, shared, work_button
from planner.ui.chart_cache import draw_kept

if TYPE_CHECKING:
    from planner.trace.explain import Explanation

SHIPPED = "criteo_tables.csv"
SETS = {
    "mlperf_dlrm_dcnv2_multihot": "26 tables of MLPerf DLRM-DCNv2",
    "dlrm_criteo_1tb_onehot": "26 tables of Criteo 1 TB, one row each",
}
OWN = "own"
MOST_NODES = 8
LARGEST_MB = 25
AIMS = {TIME: "Least time", NODES: "Fewest nodes"}
PICTURES = {"devices": "Time of each device", "bytes": "What each device holds"}
# Table -> its title; the first stand open.
OPEN = {"sizes": "Sizes", "tiers": "Memories"}
DATA = {"devices": "Each device", "placed": "Where each table lies", "rules": "Greedy rules next to it"}


def render() -> None:
    """Draw the page."""
    st.title("Placement")
    st.markdown(
        "Which device holds which embedding table, in which of its memories, and how long a step waits for "
        "the slowest one."
    )
    file = tables()
    wanted = question()
    if file is None:
        return
    name, content, chosen = file
    try:
        digest = hashlib.sha256(content).hexdigest()
        document = shown(name, digest, json.dumps(wanted | {"model": chosen}, sort_keys=True), content)
    except InputError as error:
        work_button.refused("These tables cannot be placed.", error)
        return
    results(document, wanted | {"model": chosen, "file": name, "content": digest})
    downloads(document)
    shared.next_step("what the model then delivers on any chip", "throughput")


def tables() -> tuple[str, bytes, str] | None:
    """Name and content of the file of tables, and which of its sets; None until one is brought."""
    left, right = st.columns(2)
    chosen = left.selectbox(
        "Tables",
        [*SETS, OWN],
        key="pl.tables",
        format_func=lambda name: SETS.get(name, "Tables of your own"),
    )
    if chosen != OWN:
        return SHIPPED, b"", chosen
    uploaded = right.file_uploader(
        "CSV with table, rows, dim, pooling", type=["csv"], key="pl.file", max_upload_size=LARGEST_MB
    )
    if uploaded is None:
        st.info(
            "Bring a CSV: a line for each table, with its rows, its columns and the rows that a sample reads."
        )
        return None
    set_name = right.text_input("Set of tables, where the file has several", key="pl.set").strip()
    return uploaded.name, uploaded.getvalue(), set_name


def question() -> dict[str, Any]:
    """What the reader asks, by the names of the options of `everfleet place`."""
    chips, left, right = st.columns([2, 2, 1])
    fields = fields_of(PlacementQuestion)
    sku = question_inputs.name_of(PlacementQuestion, "sku", _skus(), "pl.sku", chips)
    nodes = left.slider(
        fields["nodes"].heading,
        1,
        MOST_NODES,
        (1, 2),
        key="pl.nodes",
        help="each of these sizes is looked at",
    )
    with right:
        train = question_inputs.switch(PlacementQuestion, "train", "pl.train")
    wanted: dict[str, Any] = {"sku": sku, "nodes": list(range(nodes[0], nodes[1] + 1)), "train": train}
    with st.expander("Batch, memories and ways", key="pl.more", icon=":material/tune:"):
        first, second = st.columns(2)
        wanted["batch"] = question_inputs.number(PlacementQuestion, "batch", "pl.batch", first)
        wanted["aim"] = second.segmented_control(
            "What is to be least",
            list(AIMS),
            format_func=AIMS.__getitem__,
            default=TIME,
            required=True,
            key="pl.aim",
        )
        for name, every, place in (("tiers", TIERS, first), ("ways", WAYS, second)):
            wanted[name] = place.pills(
                fields[name].heading,
                list(every),
                default=list(every),
                selection_mode="multi",
                key=f"pl.{name}",
                help=fields[name].said,
            )
    return wanted


def results(document: Document, wanted: Record) -> None:
    """What was found in words and totals, each device, then the tables."""
    digest = logs.digest_of(wanted)
    if not document.get("devices"):
        st.warning("The tables fit on none of these sizes: the table below says why.")
    else:
        totals = [in_milliseconds(total) for total in document["totals"]]
        shared.totals(document | {"totals": totals}, "placement", ("step", "imbalance"))
    shared.lines(document["headline"], shared.ours)
    if document.get("devices"):
        for place, (name, title) in zip(st.columns(2), PICTURES.items(), strict=True):
            with place:
                st.subheader(title, anchor=False)
                draw_kept(f"{digest} {name}", partial(PLACEMENT_PICTURES[name], document))
        st.caption("The dashed line is the bound: no placement on so many devices takes less.")
    for name, title in OPEN.items():
        if rows := document.get(name):
            st.subheader(title)
            opens = partial(_opened, document, name)
            shared.sheet(table_of("", [in_milliseconds(row) for row in rows]), title, opens, f"pl.{name}")
    for name, title in DATA.items():
        if rows := document.get(name):
            shown_rows = [in_milliseconds(row) for row in rows]
            shared.data("", shown_rows, title, partial(_opened, document, name), f"pl.{name}")


def downloads(document: Document) -> None:
    """The document, where each table lies, and the imbalance as a fact, as the command writes them."""
    with st.container(horizontal=True):
        for label, name, kind, make in (
            ("Tables (CSV)", "placement.csv", "text/csv", _csv),
            ("Imbalance (TOML)", "imbalance.toml", "application/toml", _facts),
            ("Data (JSON)", "placement.json", "application/json", answer_json),
        ):
            st.download_button(
                label, partial(make, document), name, kind, key=f"pl.{name}", on_click="ignore"
            )


def _csv(document: Document) -> str:
    from planner.answers.placement import to_csv

    return to_csv(document)


def _facts(document: Document) -> str:
    from planner.answers.placement import facts_toml

    return facts_toml(document)


def _opened(document: Document, table: str, row: int, key: str) -> Explanation | None:
    kept = f"{key.removesuffix('_ms')}_s" if key.endswith("_ms") else key
    return opened_at(document, table, row, kept)


@st.cache_data(show_spinner="Placing the tables on every size", max_entries=16)
def shown(name: str, digest: str, wanted: str, _content: bytes) -> Document:
    """The document of a question; content of a file of one's own, none of a shipped one."""
    from planner.answers.placement import placement_document

    said: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in json.loads(wanted).items()
    }
    question = PlacementQuestion(**said)
    if not _content:
        return placement_document(Path(name), question)
    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(_content)
        try:
            return placement_document(path, question)
        except InputError as error:
            raise InputError(str(error).replace(f"{folder}/", "")) from None


@st.cache_data(show_spinner=False, max_entries=1)
def _skus() -> list[str]:
    from planner.inputs.loading import load_catalogue

    catalogue = load_catalogue()
    return [
        name
        for name, sku in catalogue.skus.items()
        if catalogue.has(f"accelerator.{sku.accelerator}.link_bandwidth")
    ]


render()
