"""What the page on a job's carbon asks: the few inputs, the whole job file, and files of one's own.

A `Base` stands in the session: the text of a job file and the files that it names. Inputs change a copy.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

import streamlit as st

from planner.errors import InputError
from planner.report.tables import table_of
from planner.ui import shared

FIRST = "train-8b"
LARGEST_FILE_MB = 25
IN_A_ROW = 4
OWN = "as the job file says"
LABELS = {
    "model": "Model", "tokens": "Training tokens (billions)", "nodes": "Nodes",
    "accelerator_hours": "Accelerator-hours", "requests_per_day": "Requests a day (thousands)",
    "sku": "Kind of node (SKU)", "grid": "Grid region", "pue": "PUE of the building",
    "lifetime_y": "Life of the hardware (years)",
}  # fmt: skip
HELP = {
    "pue": "Energy at the meter over that of the machines. Empty: the catalogue's, with its range.",
    "lifetime_y": "Years over which the making of nodes is spread. Empty: the catalogue's, with its range.",
    "grid": "What the region's grid emits for a kilowatt-hour; the Sources page lists them all.",
    "nodes": "Nodes that the training run takes, all at once.",
}
# Input -> least, most, and how many of its own units the number on the page counts.
NUMBERS = {
    "tokens": (1e-6, 1e9, 1e9), "nodes": (1, 1_000_000, 1), "accelerator_hours": (1e-3, 1e12, 1),
    "requests_per_day": (1e-3, 1e12, 1e3), "pue": (1.0, 3.0, 1), "lifetime_y": (0.1, 30.0, 1),
}  # fmt: skip
_BASE = "job.base"
_INPUT = "job.input."

Files = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Base:
    """What the few inputs change: the text of a job file and the files that it names."""

    text: str
    name: str
    files: Files = ()

    def digest(self, text: str) -> str:
        """SHA-256 of another text in its place, with its name and files."""
        held = [
            self.name,
            text,
            *(f"{name} {hashlib.sha256(content).hexdigest()}" for name, content in self.files),
        ]
        return hashlib.sha256("\0".join(held).encode()).hexdigest()


def chosen_base() -> Base:
    """The job that the inputs start from: a shipped one, or a file that was taken over."""
    names = job_names()
    st.selectbox("Start from", names, key="job.example", on_change=_begin, bind="query-params")
    if _BASE not in st.session_state:
        _begin()
    held: Base = st.session_state[_BASE]
    return held


def _begin() -> None:
    """Start again from the shipped job that is chosen."""
    name = st.session_state.get("job.example", FIRST)
    take(Base(job_text(name if name in job_names() else FIRST), f"{name}.toml"))


def take(base: Base) -> None:
    """Let another job file stand; what was typed for the one before is forgotten."""
    for key in [key for key in st.session_state if str(key).startswith(_INPUT)]:
        del st.session_state[key]
    st.session_state[_BASE] = base


def take_over(base: Base) -> None:
    """Let another job file stand where it holds; else say why, and leave everything as it was."""
    from planner.jobs.handed import handed_job

    try:
        with handed_job(base.text, base.name, dict(base.files)):
            pass
    except InputError as error:
        refused("This job file cannot be used; nothing of it was taken.", error)
        return
    take(base)
    st.rerun()


def job_names() -> list[str]:
    """The shipped jobs, the one that the page opens with first."""
    from planner.catalogue import data_folder

    names = sorted(path.stem for path in (data_folder() / "jobs").glob("*.toml"))
    return sorted(names, key=lambda name: name != FIRST)


def job_text(name: str) -> str:
    """The text of a shipped job; the name is one of the list."""
    from planner.catalogue import data_folder

    return (data_folder() / "jobs" / f"{name}.toml").read_text(encoding="utf-8")


def inputs(base: Base) -> str:
    """The job file as the few inputs leave it."""
    from planner.jobs.simple import with_simple
    from planner.scenario.files import read_toml, write_toml

    asked, stated = _stated(base.digest(base.text), base)
    lists = _lists()
    wanted = {}
    # A row of columns at a time: on a phone they then stand in the order in which they are asked for.
    rows = [st.columns(IN_A_ROW) for _ in range(0, len(asked), IN_A_ROW)]
    for place, name in enumerate(asked):
        with rows[place // IN_A_ROW][place % IN_A_ROW]:
            was = stated[name]
            value = _asked_for(name, was, lists.get(name))
        if value != was:
            wanted[name] = value
    text = write_toml(with_simple(read_toml(base.text, base.name), wanted)) if wanted else base.text
    expert(text, base)
    return text


# The digest alone is the key.
@st.cache_data(show_spinner=False, max_entries=32)
def _stated(digest: str, _base: Base) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Which inputs a job takes, and what it states of them."""
    from planner.jobs.handed import handed_job
    from planner.jobs.simple import asked_of, simple_of

    with handed_job(_base.text, _base.name, dict(_base.files)) as job:
        return asked_of(job), asdict(simple_of(job))


@st.cache_data(show_spinner=False)
def _lists() -> dict[str, list[str]]:
    """The names that an input may take."""
    from planner.catalogue import load_catalogue
    from planner.inputs import known_names

    known = known_names(load_catalogue())
    return {"model": sorted(known.models), "sku": sorted(known.skus), "grid": sorted(known.grids)}


def _asked_for(name: str, was: Any, options: list[str] | None) -> Any:
    """One input, as the job states it until something else is typed."""
    if options is not None:
        return _one_of(name, was, options)
    least, most, scale = NUMBERS[name]
    shown = None if was is None else int(was) if isinstance(least, int) else was / scale
    value = st.number_input(
        LABELS[name], least, most, shown, key=_INPUT + name, help=HELP.get(name), placeholder="catalogue",
        format="%d" if isinstance(least, int) else "%.6g",
    )  # fmt: skip
    if value == shown:
        return was
    return None if value is None else int(value) if isinstance(least, int) else float(value) * scale


def _one_of(name: str, was: str | None, options: list[str]) -> str | None:
    """A name of a list; what the file says in another way is one of the choices."""
    held = options if was in options else [was or OWN, *options]
    chosen = st.selectbox(LABELS[name], held, held.index(was or OWN), key=_INPUT + name, help=HELP.get(name))
    return was if chosen == OWN else chosen


def expert(text: str, base: Base) -> None:
    """The whole job file, to be changed by hand."""
    with st.expander("Expert: the whole job file"):
        st.markdown("Every phase and option of the job; what a phase needs is said when the text is used.")
        key = f"job.text.{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        typed = st.text_area("Job file (TOML)", text, height=380, key=key)
        if st.button("Use this text", key="job.use_text"):
            take_over(Base(typed, base.name, base.files))


# Files


def incoming(base: Base) -> None:
    """Files of one's own: what was recognised in each, before it is used."""
    with st.expander("Bring a job file or metered energy"):
        files = st.file_uploader(
            "A job file (TOML) with the files it names, or what CodeCarbon, nvidia-smi, DCGM or Slurm wrote",
            ["toml", "csv", "txt", "log", "json"], accept_multiple_files=True, key="job.files",
            max_upload_size=LARGEST_FILE_MB,
        )  # fmt: skip
        held = {PurePosixPath(file.name).name: file.getvalue() for file in files}
        job = next((name for name in held if name.lower().endswith(".toml")), None)
        beside = tuple((name, content) for name, content in held.items() if name != job)
        if job is not None:
            recognised_job(Base(held[job].decode("utf-8", errors="replace"), job, beside))
        elif beside:
            recognised_meter(base, *beside[0])


def recognised_job(brought: Base) -> None:
    """What a job file says, and a button that lets it stand."""
    from planner.jobs.handed import handed_job, job_rows

    try:
        with handed_job(brought.text, brought.name, dict(brought.files)) as job:
            rows = job_rows(job)
    except InputError as error:
        refused("This job file cannot be used; nothing of it was taken.", error)
        return
    st.markdown(f"Recognised in {shared.plain(brought.name)}:")
    shared.sheet(table_of("", rows), "What was recognised")
    if st.button("Use this file", key="job.use_file"):
        take_over(brought)


def recognised_meter(base: Base, name: str, content: bytes) -> None:
    """What a meter saw, what was left out and why, and a button that makes it the training run."""
    from planner.jobs.handed import metered_rows, metered_seen
    from planner.jobs.simple import with_metered
    from planner.scenario.files import read_toml, write_toml

    known = meter_questions()
    try:
        seen = metered_seen(name, content, known)
    except InputError as error:
        refused("This file cannot be used; nothing of it was taken.", error)
        return
    st.markdown(f"Recognised in {shared.plain(name)}:")
    shared.sheet(table_of("", metered_rows(seen)), "What was recognised")
    if seen.notes:
        shared.lines(seen.notes)
    if seen.bad_rows:
        rows = [{"line": row.line, "reason": row.reason} for row in seen.bad_rows]
        st.markdown("Left out:")
        shared.sheet(table_of("", rows), "Rows that were left out")
    if seen.accelerator_h is None:
        st.warning("The file does not say how many accelerators it saw: write the number above.")
    elif st.button("Use as the training run", key="job.use_meter"):
        tables = with_metered(read_toml(base.text, base.name), name, known)
        others = tuple(held for held in base.files if held[0] != name)
        take_over(Base(write_toml(tables), base.name, (*others, (name, content))))


def meter_questions() -> dict[str, Any]:
    """What only the owner of a metered file can say."""
    left, middle, right = st.columns(3)
    count = left.number_input(
        "Accelerators it saw", 1, 1_000_000, None, key="job.meter.count", placeholder="as the file says"
    )
    zone = middle.text_input("Time zone of its stamps", key="job.meter.zone", placeholder="Europe/Berlin")
    covers = right.selectbox(
        "What it covers", ("accelerators", "components", "node", "unstated"), None, key="job.meter.covers",
        placeholder="as the file says",
    )  # fmt: skip
    return {"accelerators": count, "zone": zone.strip() or None, "covers": covers}


def refused(said: str, error: InputError) -> None:
    """What is wrong with an input, in the library's own words."""
    st.error(said)
    st.code(str(error), language=None, wrap_lines=True)
