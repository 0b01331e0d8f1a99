"""Futures: one plan for several futures and what hedging is worth, and a plan made again each period."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from planner.inputs.scenario.bundle import restored, unsaved
from planner.report.charts import FUTURES_PICTURES
from planner.report.tables import table_of
from planner.trace.currency import currency_of, showing
from planner.trace.errors import InputError
from planner.trace.records import Document, Record
from planner.ui import session, shared, work_button
from planner.ui.chart_cache import draw_kept

if TYPE_CHECKING:
    from planner.trace.explain import Explanation

PAGES = Path(__file__).parent
VIEWS = {"several": "One plan for all", "replay": "Replay"}
# Key of a future -> what a column is called, and what the multiple is of.
MULTIPLES = {
    "demand": "requests ×",
    "work": "pools' work ×",
    "tokens": "training tokens ×",
    "node_price": "node price ×",
    "electricity": "electricity ×",
    "grid": "grid carbon ×",
    "failures": "failures ×",
}
STARTED = {"as stated": (0.5, 1.0), "more": (0.3, 1.3), "less": (0.2, 0.7)}  # chance and multiple


def render() -> None:
    """Draw the page."""
    st.title("Futures")
    st.markdown("What to order now, whatever comes; what each future takes; and what hedging is worth.")
    draft = session.draft()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Scenario: **{shared.plain(draft.name)}**", width="content")
        st.page_link(PAGES / "scenario.py", label="Change it", icon=":material/tune:")
    view = st.segmented_control(
        "View", list(VIEWS), format_func=VIEWS.__getitem__, default="several", required=True, key="fut.view"
    )
    try:
        stated = _stated(draft.digest, draft)
    except InputError as error:
        work_button.refused("This scenario cannot be planned.", error)
        return
    changes = chosen_futures(draft, stated)
    if changes is not None:
        {"several": several, "replay": replay}[view](draft, changes)
    shared.next_step("what the plan trades", "tradeoffs")


def chosen_futures(draft: session.Draft, stated: Record) -> Record | None:
    """The futures that are planned for, as changes of the scenario; none where it draws them itself."""
    if stated["draws"]:
        st.markdown(
            f"The scenario draws {stated['draws']} futures from the ranges of facts and demand, and plans "
            f"for {stated['reduce_to']} that represent them."
        )
        return {}
    rows = stated["futures"] or stated["started"]
    own = "The futures of the scenario"
    said = own if stated["futures"] else "The scenario states no futures; here are three to begin with"
    st.markdown(f"{said}. Change a number, add a row, or take one away; an empty cell is ×1.")
    columns = {
        "name": st.column_config.TextColumn("future", required=True),
        "probability": st.column_config.NumberColumn("chance", min_value=0.01, max_value=1.0, required=True),
    } | {key: st.column_config.NumberColumn(label, min_value=0.0) for key, label in MULTIPLES.items()}
    edited: list[Record] = st.data_editor(
        [{key: row.get(key) for key in columns} for row in rows],
        column_config=columns,
        num_rows="dynamic",
        placeholder="×1",
        hide_index=True,
        key=f"fut.table-{draft.digest}",
    )
    futures = [_as_written(row, rows) for row in edited if not _is_empty(row.get("name"))]
    if not futures:
        st.info("State one future at least: a name and a chance of 1.")
        return None
    return {"uncertainty": None, "futures": futures}


def _as_written(row: Record, before: Sequence[Record]) -> Record:
    """A row of the table as the file has it, with what of its future the table does not show."""
    hidden: Record = next(
        (one["hidden"] for one in before if one["name"] == row["name"] and "hidden" in one), {}
    )
    return hidden | {key: value for key, value in row.items() if not _is_empty(value)}


def _is_empty(value: object) -> bool:
    """Whether a cell holds nothing: numbers that are not there come back as NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def several(draft: session.Draft, changes: Record) -> None:
    """One plan for all futures."""
    answer = work_button.answer("futures", draft, "Plan for all of them", changes=changes)
    if answer is None:
        return
    document = answer.document
    with showing(currency_of(document)):
        shared.lines(document["headline"])
        st.caption(shared.plain(document["status"]["text"]))
        if not document["futures"]:
            return
        st.subheader("What each future takes")
        draw_kept(f"{answer.digest}-futures", lambda: FUTURES_PICTURES["futures"](document))
        with st.container(horizontal=True):
            for name in document["explanations"]:
                shared.why(document, name, "futures", f"why {name.replace('_', ' ')}?")
        tables(document)


def tables(document: Document) -> None:
    """The tables that the command writes, each of their numbers to be opened."""
    from planner.answers.futures.page import COLUMNS, sheets

    for section in sheets(document)["sections"].values():
        for name, rows in section["tables"].items():
            keys = dict(zip(rows[0], COLUMNS, strict=True)) if name == "futures" else {}
            opens = partial(_opened, document, name, keys)
            st.markdown(f"**{section['title']}**")
            shared.sheet(table_of("", rows), section["title"], opens, f"fut.{name}")


def _opened(document: Document, table: str, keys: Record, row: int, key: str) -> Explanation | None:
    from planner.report.cells import opened_cell

    key = "value" if table == "worth" else keys.get(key, key)
    return opened_cell(document, table, document[table][row], key)


def replay(draft: session.Draft, changes: Record) -> None:
    """The scenario planned again each period, in a future that comes by chance."""
    st.markdown("Plan, see what comes, plan again: how a plan made again each period would have fared.")
    left, right = st.columns(2)
    draw = int(left.number_input("Which chance (a seed)", 0, 10_000, 1, key="fut.draw"))
    persist = right.toggle("Expect later periods as the last one was", key="fut.persist")
    answer = work_button.answer(
        "replay", draft, "Play it through", changes=changes, draw=draw, persist=persist
    )
    if answer is None:
        return
    document = answer.document
    st.markdown(f"Came: **{shared.plain(document['realised'])}**. {shared.plain(document['status']['text'])}")
    unit = document["objective"]["unit"].lower()
    ways = [
        {
            "way": way["way"],
            f"objective_{unit}": way["objective_value"],
            f"regret_{unit}": way["regret_value"],
            "regret_fraction": way["regret_fraction"],
            "cost_usd": way["cost_usd"],
            "carbon_kgco2e": way["carbon_kgco2e"],
        }
        for way in document["ways"]
    ]
    shared.sheet(table_of("", ways), "How each way of planning fares")
    with st.container(horizontal=True):
        for name in document["explanations"]:
            shared.why(document, name, "replay", f"why {name}?")
    shared.sheet(table_of("", document["steps"]), "What is ordered when")


# The digest alone is the key.
@st.cache_data(show_spinner=False, max_entries=16)
def _stated(digest: str, _draft: session.Draft) -> Record:
    """What the scenario says of futures, as its file does."""
    with restored(unsaved(_draft.name, _draft.text, _draft.files)) as scenario:
        from planner.inputs.scenario.writing import tables as written

        held: dict[str, Any] = written(scenario)
        drawn = scenario.uncertainty
    moved = ["demand", "work"] if scenario.services else ["work", "tokens"]
    futures = [_row(future) for future in held.get("futures", [])]
    return {
        "futures": futures,
        "started": [
            {"name": name, "probability": chance} | ({} if ratio == 1.0 else dict.fromkeys(moved, ratio))
            for name, (chance, ratio) in STARTED.items()
        ],
        "draws": 0 if drawn is None else drawn.draws,
        "reduce_to": 0 if drawn is None else drawn.reduce_to,
    }


def _row(future: Record) -> Record:
    """A future as a row of the table; what the table cannot hold is kept next to it."""
    plain = {key: value for key, value in future.items() if isinstance(value, int | float | str)}
    return plain | {"hidden": {key: value for key, value in future.items() if key not in plain}}


render()
