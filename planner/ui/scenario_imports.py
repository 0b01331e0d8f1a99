"""Files of your own: what was recognised in them and what was left out, before any of it is used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import date
from pathlib import PurePosixPath
from typing import Any

import streamlit as st

from planner.answers.check import check, scenario_found
from planner.answers.failures.upload import log_found
from planner.answers.start import TITLE, template_files, uploads_found
from planner.inputs.editing import SIGNALS, Found, change_rows, series_found, signal_of, traffic_found
from planner.inputs.scenario import Scenario
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.ui import scenario_edits, session, shared, workers

LARGEST_SERIES_MB, LARGEST_LOG_MB = 25, 25
UNITS = ("", "g/kWh", "kg/kWh", "kg/MWh", "lb/MWh")
TIME_ZONES = ("", "UTC", "Europe/London", "Europe/Berlin", "America/New_York", "America/Los_Angeles")
SHIPPED = "A scenario that ships"
_WORK = "scenario.log"
SHEETS_NAME = "from-spreadsheets.toml"


def imports() -> None:
    """Choose what to bring, see what it is, use it."""
    kinds: dict[str, Callable[[], None]] = {
        SHIPPED: shipped,
        "My scenario": scenario_file,
        "My spreadsheets": spreadsheets,
        "My failure log": failure_log,
        "My grid series": grid_series,
        "My traffic trace": traffic_trace,
    }
    kind = st.segmented_control(
        "What to bring", list(kinds), default=SHIPPED, required=True, key="kind", label_visibility="collapsed"
    )
    kinds[kind or SHIPPED]()


def shipped() -> None:
    """The scenarios that come with everfleet."""
    name = st.selectbox("Scenario", shared.scenario_names(), key="shipped")
    st.markdown("It replaces the present one; download that first if it matters.")
    st.button("Open it", key="open-shipped", on_click=scenario_edits.open_shipped, args=(name,))


def scenario_file() -> None:
    """A TOML file, with the files that it names."""
    files = st.file_uploader(
        "A scenario (TOML), and the files that it names (JSON, CSV)",
        type=["toml", "json", "csv", "tsv", "txt"],
        key="file-scenario",
        accept_multiple_files=True,
        max_upload_size=LARGEST_SERIES_MB,
    )
    texts = [file for file in files if file.name.endswith(".toml")]
    if not files:
        return
    if len(texts) != 1:
        st.error(f"One TOML file is wanted, and there are {len(texts)}.")
        return
    others = {file.name: file.getvalue() for file in files if file is not texts[0]}
    name, content = texts[0].name, texts[0].getvalue()
    found = _found(lambda: scenario_found(session.file_name(name), content, others), "This scenario")
    if found is not None:
        _shown(found)
        st.button("Use it", key="use", on_click=scenario_edits.open_file, args=(name, content, found))


def spreadsheets() -> None:
    """Tables of sites, fleet, offers and demand, or a cluster's list of nodes, as a scenario of their own."""
    st.markdown("Tables are recognised by their columns. Each of these has example rows to replace:")
    with st.container(horizontal=True):
        for name, text in template_files().items():
            st.download_button(
                name,
                text,
                name,
                "text/csv",
                key=f"template-{name}",
                on_click="ignore",
                icon=":material/download:",
            )
    files = st.file_uploader(
        "Tables (CSV, XLSX), or nodes and pods as kubectl get and scontrol show nodes print them (JSON)",
        type=["csv", "tsv", "txt", "xlsx", "xlsm", "json"],
        key="file-sheets",
        accept_multiple_files=True,
        max_upload_size=LARGEST_SERIES_MB,
    )
    if not files:
        return
    contents = {file.name: file.getvalue() for file in files}
    made: list[str] = []

    def read() -> Found:
        text, found = uploads_found(contents, title=TITLE, today=date.today())
        made.append(text)
        return found

    found = _found(read, "These tables")
    if found is not None:
        _shown(found)
        use = (SHEETS_NAME, made[0].encode(), found)
        st.button("Use it", key="use", on_click=scenario_edits.open_file, args=use)


def failure_log() -> None:
    """A failure or job log, fitted next to the page."""
    file = st.file_uploader(
        "A failure or job log: sacct text, a table of events or lives, Xid lines; .gz and .xz too",
        key="file-log",
        max_upload_size=LARGEST_LOG_MB,
    )
    if file is None:
        return
    from planner.ui.progress import work_shown

    suffix = PurePosixPath(file.name).suffix
    name = session.file_name(file.name, suffix or ".txt")
    seen = work_shown(_fitting(name, file.file_id, file.getvalue))
    if seen.result is not None:
        _offered(log_found(name, seen.result), f"the failure log {name}")


def _fitting(name: str, upload: str, content: Callable[[], bytes]) -> str:
    """The work on an upload; its key is the digest of many megabytes, which no re-run has to make again."""
    held_upload, key = st.session_state.get(_WORK, ("", ""))
    if held_upload != upload or workers.seen(key) is None:
        key = workers.start("fit-log", name=name, content=content(), mapping="", question={})
        st.session_state[_WORK] = (upload, key)
    return str(key)


def grid_series() -> None:
    """An hourly series for the grid of one site."""
    file = st.file_uploader(
        "An hourly grid series (CSV)",
        type=["csv", "txt"],
        key="file-series",
        max_upload_size=LARGEST_SERIES_MB,
    )
    scenario = _scenario()
    sites = [site.name for site in scenario.sites]
    if not sites:
        st.info("Hours of a grid are read for a site of your own, and this scenario has none: all is rented.")
        return
    left, right = st.columns(2)
    site = left.selectbox("Site", sites, key="series-site", format_func=shared.plain)
    meant = signal_of(scenario, site)
    tags = ["", *sorted(SIGNALS, key=lambda tag: tag != meant)]
    options: dict[str, Any] = {
        "signal": right.selectbox(
            "What its values mean",
            tags,
            key=f"series-signal-{site}",
            format_func=lambda tag: tag or f"as the file says, else {meant}",
        ),
        "unit": left.selectbox("Unit", UNITS, key="series-unit", format_func=_unit_name),
        "time_zone": right.selectbox(
            "Time zone of times without an offset",
            TIME_ZONES,
            key="series-time-zone",
            format_func=lambda zone: zone or "none: every time names its own",
        ),
        "zone": left.text_input("Zone, if the file has several", key="series-zone", max_chars=100).strip(),
    }
    if file is None:
        return
    content = file.getvalue()
    found = _found(lambda: _cached("series", file.name, content, site, **options), "This series")
    if found is not None:
        _offered(found, f"the grid series {file.name} at {site}")


def traffic_trace() -> None:
    """A trace of requests for one service."""
    services = [service.name for service in _scenario().services]
    if not services:
        st.info("This scenario has no service that a trace could be the traffic of: add one under Tables.")
        return
    file = st.file_uploader(
        "A trace of requests (CSV)",
        type=["csv", "txt"],
        key="file-traffic",
        max_upload_size=LARGEST_SERIES_MB,
    )
    left, right = st.columns(2)
    service = left.selectbox("Service", services, key="traffic-service", format_func=shared.plain)
    with_rates = right.toggle("Take its rates too, not only the tokens", value=True, key="traffic-rates")
    if file is None:
        return
    content = file.getvalue()
    found = _found(
        lambda: _cached("traffic", file.name, content, service, with_rates=with_rates), "This trace"
    )
    if found is not None:
        _offered(found, f"the traffic trace {file.name} for {service}")


def _unit_name(unit: str) -> str:
    return unit or "as the header says"


def _scenario() -> Scenario:
    held = session.draft()
    return check(held.text, held.name, dict(held.files))


def _cached(kind: str, name: str, content: bytes, at: str, **options: Any) -> Found:
    """What a file holds, read once for each content, scenario and choice of options."""
    said = json.dumps([kind, name, at, options, session.draft().digest], sort_keys=True).encode()
    digest = hashlib.sha256(said + hashlib.sha256(content).digest()).hexdigest()
    return _read(digest, kind, name, content, at, options)


# The digest alone is the key: arguments with a leading underscore are no part of it.
@st.cache_data(show_spinner="Reading the file", max_entries=16)
def _read(digest: str, _kind: str, _name: str, _content: bytes, _at: str, _options: dict[str, Any]) -> Found:
    readers: dict[str, Callable[..., Found]] = {"series": series_found, "traffic": traffic_found}
    return readers[_kind](session.file_name(_name, ".csv"), _content, _scenario(), _at, **_options)


def _found(read: Callable[[], Found], what: str) -> Found | None:
    """What was found; where the file is of no use, why."""
    try:
        return read()
    except InputError as error:
        st.error(f"{what} cannot be used.")
        st.code(str(error), language=None, wrap_lines=True)
        return None


def _offered(found: Found, note: str) -> None:
    _shown(found)
    held = session.draft()
    rows = change_rows(held.text, held.name, found.changes)
    if not rows:
        st.info("Nothing in it would change the scenario.")
        return
    st.markdown("**What it would change**")
    st.dataframe(rows, hide_index=True, height="content", alt="What using the file would change")
    st.button("Use it", key="use", on_click=scenario_edits.use, args=(found, note))


def _shown(found: Found) -> None:
    """What was recognised, what has to be said of it, and the rows that were left out."""
    st.subheader(f"Recognised: {found.what}")
    st.dataframe(found.fact_rows(), hide_index=True, height="content", alt="What was recognised")
    if found.notes:
        shared.lines(found.notes)
    if not found.dropped_count:
        st.markdown("No row was left out.")
        return
    st.warning(f"Rows left out: {count_text(found.dropped_count)}")
    with st.expander("Rows left out, and why"):
        st.dataframe(found.dropped_rows(), hide_index=True, alt="Rows left out")
