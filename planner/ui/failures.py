"""Failures: what a log tells of its fleet, a shipped log at first."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from planner.report import findings
from planner.report.cells import opened_at
from planner.report.charts import AHEAD_KEY, FIT_PICTURES, SURVIVAL_KEY
from planner.report.shape import answer_json
from planner.report.tables import table_of
from planner.trace.numbers import SPOKEN, count_text, number_text
from planner.trace.records import Document, Record
from planner.ui import logs, shared
from planner.ui.chart_cache import draw_kept
from planner.ui.parts import tabs

OWN = "own"
CHECKPOINTS = Path(__file__).parent / "checkpoints.py"
LARGE = 1024  # accelerators: a job for which failures matter
# Subject -> its tab, in the order of reading.
TABS = {
    "lives": "Lifetimes",
    "sizes": "Jobs",
    "rate": "Rate and causes",
    "lemons": "Weak nodes",
    "ahead": "Forecast",
    "downtime": "Spares",
    "repeats": "Repeats",
    "beside": "Compared with others",
    "read": "What was read",
}
# Tables that are part of the answer: they stand open and first.
OPEN = {
    "risk": "Units at risk",
    "fits": "Lifetimes fitted, the best first",
    "rate": "Rate",
    "forecast": "Forecast",
    "spares": "Pools of spares",
}
KEYS = {"lives": SURVIVAL_KEY, "ahead": AHEAD_KEY}
NAMES = {"mttf": "time between failures", "shapes": "gaps between failures"}
WHY = {
    "rate": {"rate": "rate"},
    "sizes": {"mttf": "time between failures", "ettr": "ETTR"},
    "ahead": {f"forecast.{span}": f"forecast of a {span}" for span in ("month", "quarter", "year")},
    "downtime": {"spares": "pool", "spares.poisson": "pool, were failures Poisson's"},
}


def render() -> None:
    """Draw the page."""
    st.title("Failures")
    st.markdown(
        "How long nodes last, how often a job stops, which nodes are weak, and what the next quarter brings: "
        "from the log that your cluster keeps anyway."
    )
    name = st.selectbox(
        "Log",
        [*logs.SHIPPED, OWN],
        key="log",
        format_func=lambda name: logs.SHIPPED.get(name, "A log of your own"),
    )
    document = logs.own_fit("failures") if name == OWN else logs.shipped_fit(name)
    if document is not None:
        results(document)


def results(document: Document) -> None:
    """The answer in short, then subject by subject."""
    digest = logs.digest_of(document)
    st.subheader(shared.plain(document["title"]))
    logs.few_failures(document)
    cards(document)
    hand_over(document, digest)
    present = [name for name in TABS if name in document["sections"]]
    tabs({TABS[name]: partial(section, document, name, digest) for name in present}, "failure-tabs")
    left_out(document)
    downloads(document)


def cards(document: Document) -> None:
    """Rate, next quarter and time between failures of a large job, each with its interval and its why."""
    with st.container(horizontal=True, key="totals-failures"):
        for label, value, between, why in _headline(document):
            with shared.card(label, value, between):
                shared.why(document, why, "failure-cards")


def hand_over(document: Document, digest: str) -> None:
    """The fit as the start of checkpoint intervals."""
    used = logs.used_fit()
    if used is not None and used.digest == digest:
        st.success("Checkpoint intervals start from this fit.", icon=":material/check_circle:")
        st.page_link(CHECKPOINTS, label="See the intervals", icon=":material/save:")
    elif st.button("Use this fit for checkpoint intervals", key="use-fit"):
        logs.use(document)
        st.rerun()


def section(document: Document, name: str, digest: str) -> None:
    """One subject: what is to be said, its chart, its tables."""
    found = document["sections"][name]
    st.subheader(shared.plain(found["title"]))
    if found["said"]:
        shared.lines(found["said"])
    if name in FIT_PICTURES:
        draw_kept(f"{digest} {name}", lambda: FIT_PICTURES[name](document))
    if name in KEYS and found["tables"]:
        st.caption(KEYS[name])
    with st.container(horizontal=True):
        for why, label in WHY.get(name, {}).items():
            shared.why(document, why, f"section-{name}", f"why this {label}?")
    tables = found["tables"]
    for table in sorted(tables, key=lambda table: list(OPEN).index(table) if table in OPEN else len(OPEN)):
        show_table(table, tables[table], partial(opened_at, document, table), f"{name}-{table}")


def show_table(name: str, rows: list[Record], explained: shared.Opens, key: str) -> None:
    """A table, open where it is part of the answer; each of its numbers opens."""
    if name in OPEN:
        st.markdown(f"**{OPEN[name]}**")
        shared.sheet(table_of("", rows), OPEN[name], explained, key)
    else:
        shared.data("", rows, f"Show data: {NAMES.get(name, name.replace('_', ' '))}", explained, key)


def left_out(document: Document) -> None:
    """Rows that could not be read, and why."""
    if document["bad_row_count"]:
        label = f"Rows left out ({count_text(document['bad_row_count'])})"
        shared.data("", document["bad_rows"], label, key="left-out-of-fit")


def downloads(document: Document) -> None:
    """The fit in every format, made when it is requested."""
    st.subheader("Download")
    with st.container(horizontal=True):
        for label, make, file, kind, key in (
            ("Report (HTML)", lambda: findings.to_html(document), "fit.html", "text/html", "html"),
            ("Fit (JSON)", lambda: answer_json(document), "fit.json", "application/json", "json"),
            (
                "Tables (CSV)",
                lambda: shared.zipped(findings.to_csv_files(document)),
                "fit-csv.zip",
                "application/zip",
                "csv",
            ),
        ):
            st.download_button(label, make, file, kind, key=key, on_click="ignore")
    st.caption("The JSON is what a scenario names as its log, and what everfleet checkpoint reads.")


def _headline(document: Document) -> list[tuple[str, str, str, str]]:
    """Label, value, interval and explanation of each card."""
    rate, sections = document["rate"], document["sections"]
    found = [
        (
            "Failures in 1000 node-days",
            number_text(rate["value"], SPOKEN),
            f"{number_text(rate['low'], SPOKEN)} to {number_text(rate['high'], SPOKEN)}, 95 % interval",
            "rate",
        )
    ]
    for row in sections["ahead"]["tables"].get("forecast", []):
        found.append(
            (
                f"Failures of the next {row['next']}",
                number_text(row["median"]),
                f"{number_text(row['low'])} to {number_text(row['high'])}, 90 % interval",
                f"forecast.{row['next']}",
            )
        )
    large = next(row for row in sections["sizes"]["tables"]["mttf"] if row["accelerators"] >= LARGE)
    high = "any" if large["high_mttf_h"] is None else f"{number_text(large['high_mttf_h'], SPOKEN)} h"
    found.append(
        (
            f"Between failures at {count_text(large['accelerators'])} accelerators",
            f"{number_text(large['mttf_h'], SPOKEN)} h",
            f"{number_text(large['low_mttf_h'], SPOKEN)} h to {high}, 90 % interval",
            "mttf",
        )
    )
    return found


render()
