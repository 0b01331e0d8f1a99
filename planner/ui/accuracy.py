"""Accuracy: ours next to published values, by what is modelled and by chip, the worst named."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from planner.report.charts.accuracy import errors_by_name
from planner.report.data import csv_text
from planner.report.tables import table_of
from planner.trace.numbers import count_text, percent_text
from planner.trace.records import Record
from planner.ui import shared, workers
from planner.ui.chart_cache import draw_kept
from planner.ui.progress import work_shown
from planner.ui.workers.messages import work_key
from planner.validation.accuracy import CLOSE_FRACTION

if TYPE_CHECKING:
    from planner.trace.explain import Explanation

VIEWS = {
    "by_subject": "What is modelled",
    "by_generation": "Chip generation",
    "by_generation_and_subject": "Both",
    "by_kind": "Kind of question",
    "by_source": "Source",
}
GROUPS = (
    "of",
    "rows",
    "understood",
    "inside",
    "scored",
    "median_error_fraction",
    "mean_error_fraction",
    "within_10_percent_fraction",
    "worst_error_fraction",
    "worst_id",
)
ROWS = (
    "id",
    "subject",
    "quantity",
    "generation",
    "ours",
    "published",
    "unit",
    "error_fraction",
    "tolerance",
    "status",
    "source",
    "note",
)
MOST_WORST = 5
# Key of a row -> the name that its column goes by here.
SHOWN = {
    "name": "of",
    "expected": "published",
    **{name: f"{name}_fraction" for name in ("error", "median_error", "mean_error", "worst_error")},
}
KEPT = {shown: name for name, shown in SHOWN.items()}


def render() -> None:
    """Draw the page."""
    st.title("Accuracy")
    st.markdown("Our values next to published ones, those that fail too: what `everfleet validate` prints.")
    found = validation()
    if found is None:
        return
    summary = found["summary"]
    heads(summary, found["rows"])
    view = st.segmented_control(
        "By", list(VIEWS), format_func=VIEWS.__getitem__, default="by_subject", required=True, key="acc.by"
    )
    groups = [group for group in summary[view] if group["name"]]
    draw_kept(f"{_digest()}-{view}", lambda: errors_by_name(groups))
    st.caption(
        "Bar: median error of the rows that state a value and leave room around it; tick: the worst of them."
    )
    shared.sheet(
        table_of("", _shares(groups), GROUPS), VIEWS[view], _opened(found, f"summary_{view}", groups), view
    )
    rows(found)
    shared.next_step("the facts that all of it rests on", "sources")


def validation() -> Record | None:
    """What the command answers: as it was made for these rows and facts, or made here."""
    known = _shipped(_digest())
    if known is not None:
        return known
    given = {"rows": _digest()}
    key = work_key("validate", given)
    if workers.seen(key) is None:
        workers.start("validate", **given)
    return work_shown(key).result


def heads(summary: Record, every: Sequence[Record]) -> None:
    """How many rows there are and how close ours come, and the worst by name."""
    ran = summary["rows"] - summary["not run"]
    with st.container(horizontal=True, key="totals-accuracy"):
        shared.card("Published rows", count_text(summary["rows"]), f"{summary['not run']} not run here")
        shared.card("Inside their tolerance", count_text(summary["inside"]), f"of {ran} that ran")
        shared.card("Median error", percent_text(summary["median_error"]), "of rows that state a value")
        shared.card("Largest error", percent_text(summary["worst_error"], 0), "of the same rows")
    by_id = {row["id"]: row for row in every}
    groups = sorted(
        (one for one in summary["by_subject"] if (one["worst_error"] or 0.0) > CLOSE_FRACTION),
        key=lambda one: -float(one["worst_error"]),
    )
    st.markdown("**The worst rows**")
    shared.lines(
        [
            f"{row['id']}, {row['subject']}: {percent_text(row['error'], 0, sign=True)}, {row['status']} "
            f"({row['source']})"
            for row in (by_id[one["worst_id"]] for one in groups[:MOST_WORST])
        ]
    )


def rows(answer: Record) -> None:
    """Every row, to be looked through; a number opens to its inputs and its source."""
    every = answer["rows"]
    st.subheader("Every row")
    words = st.text_input("Words in any column", key="acc.words", placeholder="for example: h100 training")
    first, second, third = st.columns(3)
    chosen = {
        "subject": first.selectbox("What is modelled", _offered(every, "subject"), key="acc.subject"),
        "generation": second.selectbox("Generation", _offered(every, "generation"), key="acc.generation"),
        "status": third.selectbox("Status", _offered(every, "status"), key="acc.status"),
    }
    found = [row for row in every if _holds(row, words, chosen)]
    st.markdown(f"**{count_text(len(found))}** rows of {count_text(len(every))}")
    if not found:
        st.info("No row holds all of these. Take a word or a choice away.")
        return
    shared.sheet(table_of("", _shares(found), ROWS), "Rows", _opened(answer, "rows", found), "acc.rows")
    st.download_button(
        "These rows (CSV)",
        lambda: csv_text("", found),
        "validation.csv",
        "text/csv",
        key="acc.csv",
        on_click="ignore",
    )


ALL = "all"


def _offered(every: Sequence[Record], column: str) -> list[str]:
    return [ALL, *sorted({str(row[column]) for row in every if row[column]})]


def _holds(row: Record, words: str, chosen: Record) -> bool:
    text = " ".join(str(value) for value in row.values()).casefold()
    return all(word in text for word in words.casefold().split()) and all(
        value in (ALL, row[column]) for column, value in chosen.items()
    )


def _shares(found: Sequence[Record]) -> list[Record]:
    """Rows whose columns say what they hold."""
    return [{SHOWN.get(key, key): value for key, value in row.items()} for row in found]


def _opened(answer: Record, table: str, shown: Sequence[Record]) -> Callable[[int, str], Explanation | None]:
    from planner.report.cells import opened_cell

    return lambda row, key: opened_cell(answer, table, shown[row], KEPT.get(key, key))


@st.cache_data(show_spinner=False, max_entries=1)
def _digest() -> str:
    from planner.inputs.loading import load_catalogue
    from planner.ui.workers.shipped import published_text

    return hashlib.sha256((published_text() + load_catalogue().digest).encode()).hexdigest()


@st.cache_data(show_spinner=False, max_entries=1)
def _shipped(digest: str) -> Record | None:
    from planner.ui.workers.shipped import VALIDATION, published_text, shipped

    return shipped(VALIDATION, published_text())


render()
