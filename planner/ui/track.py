"""Plan against actual: each month next to the plan and its band, what has left it, and the plan from here."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from planner.inputs.loading import data_folder
from planner.report.charts import TRACK_PICTURES
from planner.report.data import csv_text
from planner.report.shape import written
from planner.report.tables import table_of
from planner.trace.currency import currency_of, showing
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.trace.records import Document
from planner.ui import logs, plan_source, saved, shared, work_button
from planner.ui.chart_cache import draw_kept

if TYPE_CHECKING:
    from planner.inputs.actuals import Actual

PAGES = Path(__file__).parent
SAMPLE = "actual-months.csv"
SHIPPED = "shipped"
KINDS = ["csv", "json", "txt", "prom", "gz"]
LARGEST_MB = 25
# Column of the answer -> the one that is shown, whose heading says it here.
COLUMNS = {
    "month": "month",
    "measure": "measure",
    "of": "of",
    "unit": "in",
    "plan": "planned",
    "low": "from",
    "high": "to",
    "actual": "actual",
    "off_fraction": "above_plan_fraction",
    "within": "within",
}
FROM_HERE = "from-here.toml"


def render() -> None:
    """Draw the page."""
    st.title("Plan against actual")
    st.markdown(
        "What your fleet reported, month by month, next to the plan and its band; and the plan from here on."
    )
    plan, files = chosen()
    if plan is None or not files:
        return
    try:
        document, actuals = tracked(f"{plan.identity} {digest(files)}", files, plan.document)
    except InputError as error:
        work_button.refused("These files cannot be set next to the plan.", error)
        return
    with showing(currency_of(plan.document)):
        results(document)
    again(plan, document, actuals)
    shared.next_step("what of it to buy, and when", "plan")


def chosen() -> tuple[plan_source.Planned | None, tuple[tuple[str, bytes], ...]]:
    """The plan, shipped or saved, and what happened, the shipped months at first."""
    left, right = st.columns(2)
    plans = _saved()
    named = left.selectbox(
        "Plan",
        [SHIPPED, *plans],
        key="tr.plan",
        format_func=lambda digest: plans.get(digest, f"The shipped quarter ({shared.FIRST})"),
    )
    uploaded = right.file_uploader(
        "What happened: a CSV of month, measure, of, value; rows of FOCUS; monitoring",
        type=KINDS,
        accept_multiple_files=True,
        key="tr.files",
        max_upload_size=LARGEST_MB,
    )
    files = tuple((one.name, one.getvalue()) for one in uploaded)
    if named == SHIPPED:
        if not files:
            st.caption("Shown are made-up months of the shipped quarter; bring what your fleet reported.")
            files = ((SAMPLE, (data_folder() / "samples" / SAMPLE).read_bytes()),)
        return _shipped(), files
    opened = saved.opened(named)
    if not files:
        st.info("Bring what happened in the months of this plan.")
    return (None if opened is None else plan_source.plan_opened(opened)), files


def results(document: Document) -> None:
    """What has left its band first, then every figure over its band, and the table."""
    rows, left = document["rows"], document["left"]
    said = f"{count_text(len(left))} of {count_text(len(rows))} figures have left their band."
    if left:
        st.warning(said, icon=":material/trending_up:")
    else:
        st.success("Every figure is within its band.", icon=":material/check_circle:")
    if left or document["outside"]:
        shared.lines(document["headline"])
    draw_kept(f"track {logs.digest_of({'rows': rows})}", lambda: TRACK_PICTURES["off"](document))
    st.caption("Bars are bands of the plan, p5 to p95; nodes have none, since the plan orders them.")
    table = table_of("", [{shown: row[key] for key, shown in COLUMNS.items()} for row in rows])
    shared.sheet(table, "Every figure next to the plan", key="tr.rows")
    with st.container(horizontal=True):
        st.download_button(
            "Rows (CSV)", lambda: csv_text("", rows), "track.csv", "text/csv", key="tr.csv", on_click="ignore"
        )
        st.download_button(
            "Data (JSON)",
            lambda: json.dumps(document, indent=1),
            "track.json",
            "application/json",
            key="tr.json",
            on_click="ignore",
        )


def again(plan: plan_source.Planned, document: Document, actuals: list[Actual]) -> None:
    """The scenario of what is left, from what stands and what came: to look at, and to plan."""
    from planner.answers.saved.tracking import from_here

    st.subheader("Plan again from here")
    try:
        text, notes = from_here(plan.text, plan.name, written(plan.document), document, actuals)
    except InputError as error:
        work_button.refused("The scenario from here needs more.", error)
        return
    shared.lines(notes)
    with st.container(horizontal=True):
        st.download_button(
            "Scenario (TOML)", text, FROM_HERE, "application/toml", key="tr.toml", on_click="ignore"
        )
        if st.button("Open it", key="tr.open", icon=":material/tune:"):
            plan_source.begin_with(text, FROM_HERE, plan.files)
            st.switch_page(PAGES / "scenario.py")


def digest(files: tuple[tuple[str, bytes], ...]) -> str:
    """What tells files from all others."""
    found = hashlib.sha256()
    for name, content in files:
        found.update(f"{name}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


@st.cache_data(show_spinner="Reading what happened", max_entries=16)
def tracked(
    key: str, _files: tuple[tuple[str, bytes], ...], _plan: Document
) -> tuple[Document, list[Actual]]:
    """The answer of `everfleet track` for a plan and files, and what these say."""
    from planner.answers.saved.tracking import tracked_plan

    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        paths = [Path(folder) / Path(name).name for name, _ in _files]
        for path, (_, content) in zip(paths, _files, strict=True):
            path.write_bytes(content)
        try:
            return tracked_plan(written(_plan), paths)
        except InputError as error:
            raise InputError(str(error).replace(f"{folder}/", "")) from None


def _saved() -> dict[str, str]:
    """Saved plans that were found, the newest first."""
    held = saved.store()
    plans = [] if held is None else saved.plans_of(held)
    return {plan.digest: saved.label_text(plan) for plan in plans if plan.cost_usd is not None}


def _shipped() -> plan_source.Planned | None:
    """The quarter that the app opens with."""
    from planner.ui.session import Draft

    text = shared.scenario_text(shared.FIRST)
    return plan_source.plan_of(Draft(text, f"{shared.FIRST}.toml", text))


render()
