"""A failure log of your own: uploaded, shown as it was understood, fitted; and the fit that is in use."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Protocol

import streamlit as st

from planner.inputs.log_question import FitQuestion
from planner.report.tables import table_of
from planner.trace.numbers import count_text, number_text
from planner.trace.records import Document
from planner.ui import question_inputs, shared, workers
from planner.ui.progress import work_shown

LARGEST_LOG_MB, MOST_NODES = 25, 1_000_000
SHIPPED = {
    "infinitehbd": "Outages of a training cluster (InfiniteHBD)",
    "slurm": "Job log of Slurm, simulated",
}
_USED, _MAPPINGS, _WORKS, _FITTED = "log.used", "log.mappings", "log.works", "log.fitted"
BLANK_MAPPING = """kind = "events"
timezone = "UTC"

[columns]
unit = "the column that names the node"
start = "the column with the time of a failure"
"""


class Upload(Protocol):
    """A file that was uploaded."""

    name: str
    file_id: str

    def getvalue(self) -> bytes:
        """What it holds."""


@dataclass(frozen=True, slots=True)
class UsedFit:
    """The fit that checkpoint intervals start from: the few numbers that they read, as JSON."""

    digest: str
    name: str
    text: str

    def failures(self) -> Document:
        """As `checkpoint_document` takes it."""
        found: Document = json.loads(self.text)
        return found


@st.cache_data(show_spinner=False)
def shipped_fit(name: str) -> Document:
    """The fit of a shipped log as it lies ready; only a listed name is ever made into a path."""
    from planner.inputs.loading import data_folder

    if name not in SHIPPED:
        raise ValueError(f"no shipped log '{name}'; there are {', '.join(SHIPPED)}")
    text = (data_folder() / "solved" / f"fit-{name}.json").read_text(encoding="utf-8")
    document: Document = json.loads(text)
    return document


def digest_of(document: Document) -> str:
    """SHA-256 of a document."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def use(document: Document) -> UsedFit:
    """Have a fit used for checkpoint intervals in this session."""
    from planner.answers.failures import as_failures

    used = UsedFit(digest_of(document), document["name"], json.dumps(as_failures(document), sort_keys=True))
    st.session_state[_USED] = used
    return used


def used_fit() -> UsedFit | None:
    """The fit in use, if any."""
    used: UsedFit | None = st.session_state.get(_USED)
    return used


def own_fit(place: str) -> Document | None:
    """From an upload to its fit, step by step; None until the fit is there. `place` keeps pages apart."""
    file = st.file_uploader(
        "Failure or job log",
        key=f"log-{place}",
        max_upload_size=LARGEST_LOG_MB,
        help="What `sacct --parsable2` prints, a table of events, outages or lives, or lines of a kernel log "
        "with Xid; .gz and .xz, too.",
    )
    if file is None:
        st.caption(
            f"What sacct --parsable2 prints, a table of outages or of lives, kernel lines with Xid; at most "
            f"{LARGEST_LOG_MB} MB. It stays on this machine, and is not saved."
        )
        return _last_fit(place)
    mapping = st.session_state.get(_MAPPINGS, {}).get(file.file_id, "")
    stated = {"mapping": mapping, **_fleet_size(file, place)}
    read = _work("read-log", file, **stated)
    proposed = mapping or BLANK_MAPPING
    if read is not None:
        proposed = read["mapping"]
    if read is not None and "refused" in read:
        st.error("The log needs a word more in the mapping below.", icon=":material/block:")
        st.code(read["refused"], language=None, wrap_lines=True)
        read = None
    elif read is not None:
        _what_was_read(read)
    elif not _failed("read-log", file, **stated):
        return None
    _mapping_form(file, proposed, place, opened=read is None)
    return None if read is None else _fit(file, stated | {"mapping": read["mapping"]}, place)


def _fleet_size(file: Upload, place: str) -> dict[str, int]:
    """Nodes of the fleet, where they are stated: without it those that never failed count nowhere."""
    nodes = st.number_input(
        "Nodes in the log, with those that never failed",
        1,
        MOST_NODES,
        None,
        key=f"log-nodes-{place}-{file.file_id}",
        help="A log names only nodes that failed or worked: without the others rates come out too high. A "
        "`fleet_size` in the mapping says the same.",
        placeholder="as the log or its mapping says",
    )
    return {} if nodes is None else {"fleet_size": int(nodes)}


def _fit(file: Upload, stated: dict[str, Any], place: str) -> Document | None:
    """What else is stated, and the fit once it was requested."""
    with st.form(f"fit-form-{place}"):
        per_node = question_inputs.number(FitQuestion, "accelerators_per_node", f"log-accelerators-{place}")
        if st.form_submit_button("Fit this log", key=f"log-fit-{place}"):
            st.session_state[_FITTED] = (file.file_id, stated, per_node)
    wanted = st.session_state.get(_FITTED)
    if wanted is None or wanted[:2] != (file.file_id, stated):
        return None
    question = {"accelerators_per_node": wanted[2]}
    document = _work("fit-log", file, **stated, question=question)
    if document is not None:
        st.session_state[f"log.last.{place}"] = document
    return document


def _last_fit(place: str) -> Document | None:
    """The fit that this page showed before the visitor looked at another one."""
    document: Document | None = st.session_state.get(f"log.last.{place}")
    return document


def _what_was_read(read: Document) -> None:
    """What was recognised, what was dropped and why, before anything is made of it."""
    section = read["sections"]["read"]
    st.markdown(f"**{shared.plain(read['title'])}**")
    shared.lines(section["said"])
    shared.sheet(table_of("", section["tables"]["read"]), "What was recognised")
    left_out = read["bad_row_count"]
    if left_out:
        st.warning(
            f"{count_text(left_out)} rows left out; the reason of each is below.", icon=":material/warning:"
        )
        shared.data("", read["bad_rows"], f"Rows left out ({number_text(left_out)})", key="left-out")
    else:
        st.caption("No row was left out.")
    few_failures(read)


def few_failures(document: Document) -> None:
    """A warning where a log holds too few failures to say much."""
    failures = document["failures"]
    if failures < 10:
        few = "1 failure says" if failures == 1 else f"{failures} failures say"
        st.warning(
            f"{few} little: intervals are wide, and what other fleets saw weighs in.",
            icon=":material/warning:",
        )


def _mapping_form(file: Upload, proposed: str, place: str, *, opened: bool) -> None:
    """What the columns mean, to be read and corrected."""
    with (
        st.expander("What the columns mean", expanded=opened),
        st.form(f"mapping-form-{place}", border=False),
    ):
        # A new proposal is a new field: one of the same key would keep the old text.
        key = f"log-mapping-{place}-{hashlib.sha256((file.file_id + proposed).encode()).hexdigest()[:12]}"
        text = st.text_area("Mapping (TOML)", proposed, height=260, key=key)
        if st.form_submit_button("Read it so", key=f"log-read-{place}"):
            mappings: dict[str, str] = st.session_state.setdefault(_MAPPINGS, {})
            mappings[file.file_id] = text
            st.rerun()


def _work(task: str, file: Upload, **arguments: Any) -> Document | None:
    """The answer of a worker, None while there is none; progress and errors are shown in its place."""
    seen = work_shown(_key(task, file, **arguments))
    return seen.result


def _failed(task: str, file: Upload, **arguments: Any) -> bool:
    seen = workers.seen(_key(task, file, **arguments))
    return seen is None or seen.ended


def _key(task: str, file: Upload, **arguments: Any) -> str:
    """The key of the work, kept: to make it from the content again would hold up each run."""
    works: dict[str, str] = st.session_state.setdefault(_WORKS, {})
    name = json.dumps([task, file.file_id, arguments], sort_keys=True)
    if name not in works or workers.seen(works[name]) is None:
        works[name] = workers.start(task, name=file.name, content=file.getvalue(), **arguments)
    return works[name]
