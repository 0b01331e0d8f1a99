"""A plan to take along: the report in every format and its program, made when they are requested."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from planner.report.data import to_csv_files
from planner.report.page import to_html
from planner.report.shape import answer_json
from planner.report.text import to_markdown
from planner.report.workbook import to_workbook
from planner.ui import shared
from planner.ui.plan_source import Planned
from planner.ui.progress import work_shown
from planner.ui.work_button import wanted
from planner.ui.workers import start


def downloads(made: Planned) -> None:
    """One button for each format, and one for the scenario."""
    document = made.document
    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Scenario (TOML)", made.name, "application/toml", lambda: made.text),
        ("Report (HTML)", "plan.html", "text/html", lambda: to_html(document)),
        ("Report (Markdown)", "plan.md", "text/markdown", lambda: to_markdown(document)),
        ("Data (JSON)", "plan.json", "application/json", lambda: answer_json(document)),
        (
            "Workbook (XLSX)",
            "plan.xlsx",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            lambda: to_workbook(document),
        ),
        ("Tables (CSV)", "plan-csv.zip", "application/zip", lambda: shared.zipped(to_csv_files(document))),
    )
    st.subheader("Download")
    with st.container(horizontal=True):
        for label, name, kind, content in files:
            st.download_button(label, content, name, kind, key=f"file-{name}", on_click="ignore")
    program(made)


def program(made: Planned) -> None:
    """The integer program itself, which takes a moment to write: only when requested."""
    if not wanted(made.identity, "program", "Write the program (LP)", ":material/function:"):
        return
    found = work_shown(start("program", **made.arguments())).result
    if found is not None:
        text = found["lp"]
        st.download_button(
            "Program (LP)", text, "program.lp", "text/plain", key="file-program.lp", on_click="ignore"
        )
