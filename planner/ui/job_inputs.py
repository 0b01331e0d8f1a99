"""What the page on a job's carbon asks: the few inputs, the whole job file, and files of your own.

A `Base` stands in the session: the text of a job file and the files that it names. Inputs change a copy. A
metered file, or another model than an example's, begins a job of your own: nothing of the example is in it.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

import streamlit as st

from planner.inputs.job_question import JobQuestion
from planner.inputs.question_fields import QuestionField, fields_of
from planner.report.tables import table_of
from planner.trace.errors import InputError
from planner.trace.numbers import percent_text
from planner.ui import shared
from planner.ui.session import Files

FIRST = "train-8b"
LARGEST_FILE_MB = 25
IN_A_ROW = 4
SWITCHES_IN_A_ROW = 5
_BY_FACTS = ("pue", "lifetime_y")
OWN_JOB = "a job of my own"
OWN_NAME = "job.toml"
OWN = "as the job file says"
# Inputs of what a file alone says: how it is headed, and how much one of the page's units is.
OF_FILES = {"requests_per_day": QuestionField("", label="Requests a day", unit="thousands", scale=1e3)}
_BASE = "job.base"
_INPUT = "job.input."
_MOVED, _TURN = "job.moved", "job.turn"


@dataclass(frozen=True, slots=True)
class Base:
    """What the few inputs change: the text of a job file and the files that it names.

    `begun` is "example" for a shipped job, "file" for one of the user's, and "own" for one that the page made
    of what the user stated: its text holds that alone, and the command's defaults fill the rest.
    """

    text: str
    name: str
    files: Files = ()
    begun: str = "file"

    @property
    def own(self) -> bool:
        """Whether its text holds only what the user stated."""
        return self.begun == "own"

    def digest(self, text: str) -> str:
        """SHA-256 of another text in its place, with its name and files."""
        held = [
            self.name,
            "own" if self.own else "whole",
            text,
            *(f"{name} {hashlib.sha256(content).hexdigest()}" for name, content in self.files),
        ]
        return hashlib.sha256("\0".join(held).encode()).hexdigest()

    @property
    def label(self) -> str:
        """What the list of beginnings calls it."""
        match self.begun:
            case "own":
                return OWN_JOB
            case "example":
                return self.name.removesuffix(".toml")
        return f"{self.name} (yours)"


def chosen_base() -> Base:
    """The job that the inputs start from: a shipped one, an empty one, or a file that was taken over."""
    first, *others = job_names()
    names = [first, OWN_JOB, *others]
    held: Base | None = st.session_state.get(_BASE)
    if held is not None and held.begun == "file":
        names.append(held.label)
    if held is not None and st.session_state.pop(_MOVED, False):
        st.session_state["job.example"] = held.label
    st.selectbox("Start from", names, key="job.example", on_change=_begin, bind="query-params")
    if held is None:
        _begin()
    began: Base = st.session_state[_BASE]
    return began


def _begin() -> None:
    """Start again from what is chosen: nothing, or a shipped job."""
    name = st.session_state.get("job.example", FIRST)
    if name == OWN_JOB:
        take(Base("", OWN_NAME, begun="own"))
        return
    name = name if name in job_names() else FIRST
    take(Base(job_text(name), f"{name}.toml", begun="example"))


def take(base: Base) -> None:
    """Let another job file stand; what was typed for the one before is forgotten."""
    for key in [key for key in st.session_state if str(key).startswith(_INPUT)]:
        del st.session_state[key]
    if _BASE in st.session_state:
        st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
    st.session_state[_BASE] = base
    st.session_state[_MOVED] = True  # the list of beginnings shows it from the next run on


def take_over(base: Base) -> None:
    """Let another job file stand where it holds; else say why, and leave everything as it was."""
    from planner.answers.job.upload import uploaded_job

    try:
        with uploaded_job(base.text, base.name, dict(base.files), own=base.own):
            pass
    except InputError as error:
        refused("This job file cannot be used; nothing of it was taken.", error)
        return
    take(base)
    st.rerun()


def job_names() -> list[str]:
    """The shipped jobs, the one that the page opens with first."""
    from planner.inputs.loading import data_folder

    names = sorted(path.stem for path in (data_folder() / "jobs").glob("*.toml"))
    return sorted(names, key=lambda name: name != FIRST)


def job_text(name: str) -> str:
    """The text of a shipped job; the name is one of the list."""
    from planner.inputs.loading import data_folder

    return (data_folder() / "jobs" / f"{name}.toml").read_text(encoding="utf-8")


def inputs(base: Base) -> tuple[str, dict[str, Any]]:
    """The job file as the few inputs and the switches leave it, and which inputs say something else."""
    from planner.inputs.job.reading import with_phases, with_simple
    from planner.inputs.scenario.files import read_toml, write_toml

    taken, stated = _stated(base.digest(base.text), base)
    lists = _lists()
    wanted = {}
    # A row of columns at a time: on a phone they then stand in the order in which they are requested.
    rows = [st.columns(IN_A_ROW) for _ in range(0, len(taken), IN_A_ROW)]
    for place, name in enumerate(taken):
        with rows[place // IN_A_ROW][place % IN_A_ROW]:
            was = stated[name]
            value = _entered(name, was, lists.get(name), own=base.own)
        if value != was:
            wanted[name] = value
    if base.begun == "example" and wanted.get("model") is not None:
        take(Base(write_toml(with_simple({}, wanted)), OWN_NAME, begun="own"))
        st.rerun()
    switched = _switched(base)
    text = base.text
    if wanted or switched:
        tables = with_phases(with_simple(read_toml(base.text, base.name), wanted), switched)
        text = write_toml(_titled(tables, base))
    return text, wanted


def _titled(tables: dict[str, Any], base: Base) -> dict[str, Any]:
    """The tables with a title that follows the inputs; one that the user wrote stays."""
    from planner.inputs.job.reading import title_of

    if base.begun != "example":
        return tables
    return tables | {"title": title_of(tables) or f"{tables['title']}, changed"}


def _switched(base: Base) -> dict[str, bool]:
    """The phases whose switch stands otherwise than the job that was begun from."""
    from planner.inputs.job.schema import PHASES

    held = _phases_in(base.digest(base.text), base)
    wanted = {name: bool(st.session_state.get(_key(f"phase.{name}"), name in held)) for name in PHASES}
    return {name: on for name, on in wanted.items() if on != (name in held)}


def switches(text: str, base: Base, document: dict[str, Any] | None) -> None:
    """A switch for each phase with its carbon: what is counted, and what could be."""
    from planner.answers.job.ledger import shown_phase
    from planner.answers.job.model_card import said
    from planner.inputs.job.reading import WITHOUT_INPUTS
    from planner.inputs.job.schema import PHASES

    held = _phases_in(base.digest(base.text), base)
    now = _phases_in(base.digest(text), Base(text, base.name, base.files, base.begun))
    found = {row["phase"]: row for row in document["phases"]} if document else {}
    st.markdown("What is counted, phase by phase:")
    rows = [st.columns(SWITCHES_IN_A_ROW) for _ in range(0, len(PHASES), SWITCHES_IN_A_ROW)]
    for place, name in enumerate(PHASES):
        label = shown_phase(name)
        can = (name in held or name in WITHOUT_INPUTS) and not (base.own and name == "training")
        with rows[place // SWITCHES_IN_A_ROW][place % SWITCHES_IN_A_ROW]:
            st.toggle(
                label[:1].upper() + label[1:],
                name in held,
                key=_key(f"phase.{name}"),
                disabled=not can,
                help=None if can else _fixed_because(name, base),
            )
            row = found.get(label)
            if row is not None:
                st.markdown(f"{said(row['kgco2e'], 'kgCO2e')}, {percent_text(row['of_total_fraction'])}")
            else:
                st.markdown("not worked out" if name in now else "not counted")


def _fixed_because(name: str, base: Base) -> str:
    if base.own and name == "training":
        return "The run that this job is about."
    return f"It has to be described first: write [{name}] in the whole job file below the inputs."


def _key(name: str) -> str:
    """The key of an input; another one where another job was begun.

    A browser keeps what stood in a field of the same key, and would show what is not worked out.
    """
    turn = st.session_state.get(_TURN, 0)
    return f"{_INPUT}{name}.{turn}" if turn else f"{_INPUT}{name}"


# The digest alone is the key.
@st.cache_data(show_spinner=False, max_entries=32)
def _phases_in(digest: str, _base: Base) -> frozenset[str]:
    """The phases that a job has."""
    from planner.inputs.job.schema import PHASES
    from planner.inputs.scenario.files import read_toml

    return frozenset(PHASES) & read_toml(_base.text, _base.name).keys()


# The digest alone is the key.
@st.cache_data(show_spinner=False, max_entries=32)
def _stated(digest: str, _base: Base) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Which inputs a job takes, and what it states of them."""
    from planner.answers.job.upload import uploaded_job
    from planner.inputs.job.reading import inputs_taken, own_inputs_taken, simple_of, simple_stated
    from planner.inputs.scenario.files import read_toml

    if _base.own:
        tables = read_toml(_base.text, _base.name)
        return own_inputs_taken(tables), asdict(simple_stated(tables))
    with uploaded_job(_base.text, _base.name, dict(_base.files)) as job:
        return inputs_taken(job), asdict(simple_of(job))


@st.cache_data(show_spinner=False)
def _lists() -> dict[str, list[str]]:
    """The names that an input may take."""
    from planner.inputs.consistency import known_names
    from planner.inputs.loading import load_catalogue
    from planner.inputs.scenario.base import METHODS

    known = known_names(load_catalogue())
    held = {"model": sorted(known.models), "sku": sorted(known.skus), "grid": sorted(known.grids)}
    return held | {"method": list(METHODS)}


def _entered(name: str, was: Any, options: list[str] | None, *, own: bool) -> Any:
    """One input, as the job states it until something else is typed."""
    if options is not None:
        return _one_of(name, was, options, own=own)
    one, (least, most, whole) = _field(name), _limits(name)
    read = int if whole else float
    shown = None if was is None else read(was / one.scale)
    value = st.number_input(
        one.heading,
        read(least / one.scale),
        read(most / one.scale),
        shown,
        key=_key(name),
        help=_help(name),
        placeholder="catalogue" if name in _BY_FACTS else _blank(name),
        format="%d" if whole else "%.6g",
    )
    if value == shown:
        return was
    return None if value is None else read(value * one.scale)


def _field(name: str) -> QuestionField:
    return OF_FILES.get(name) or fields_of(JobQuestion)[name]


def _limits(name: str) -> tuple[float, float, bool]:
    """The ends of the range of an input, as its key in a job file has them, and whether it is whole."""
    from planner.inputs.job.reading import PLACES
    from planner.inputs.reference import rule_at
    from planner.inputs.scenario.fields import Count, Number, Quantity

    rule = rule_at("job", PLACES[name])
    assert isinstance(rule, Count | Number | Quantity), "inputs that are no names are numbers"
    return rule.range.least, rule.range.most, isinstance(rule, Count)


def _one_of(name: str, was: str | None, options: list[str], *, own: bool) -> str | None:
    """A name of a list; what the file says in another way, or nobody says, is one of the choices."""
    blank = _blank(name) if own else OWN
    held = [blank, *options] if own else options if was in options else [was or blank, *options]
    chosen = st.selectbox(
        _field(name).heading, held, held.index(was or blank), key=_key(name), help=_help(name)
    )
    if chosen == blank:
        return None if own else was
    return chosen


def _help(name: str) -> str:
    """What an input means, as the reference of keys says it."""
    from planner.inputs.job.reading import PLACES
    from planner.inputs.reference import meaning_of

    return f"{meaning_of('job', PLACES[name])}."


def _blank(name: str) -> str:
    """What an input shows that nobody has stated."""
    from planner.inputs.job.reading import DEFAULTS

    return f"not stated: {DEFAULTS[name]}" if name in DEFAULTS else "not stated"


def expert(text: str, base: Base) -> None:
    """The whole job file, to be changed by hand."""
    with st.expander("The whole job file", icon=":material/edit_document:"):
        st.markdown("Every phase and option of the job; what a phase needs is said when the text is used.")
        text = job_file(text, base)
        key = f"job.text.{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        typed = st.text_area("Job file (TOML)", text, height=380, key=key)
        if st.button("Use this text", key="job.use_text"):
            take_over(Base(typed, base.name, base.files))


# The digest alone is the key.
@st.cache_data(show_spinner=False, max_entries=32)
def _whole(digest: str, _text: str, _base: Base) -> str:
    """The job file of an own job, with the defaults that fill it."""
    from planner.answers.job.upload import whole_text

    return whole_text(_text, _base.name, dict(_base.files))


def job_file(text: str, base: Base) -> str:
    """A job file that gives the answer shown, by the command too."""
    return _whole(base.digest(text), text, base) if base.own else text


# Files


def incoming(base: Base, wanted: dict[str, Any]) -> None:
    """Files of your own: what was recognised in each, before it is used; `wanted` is what was typed."""
    with st.expander("Bring a job file or metered energy", icon=":material/upload_file:"):
        files = st.file_uploader(
            "A job file (TOML) with the files it names, or what CodeCarbon, nvidia-smi, DCGM or Slurm wrote",
            ["toml", "csv", "txt", "log", "json"],
            accept_multiple_files=True,
            key="job.files",
            max_upload_size=LARGEST_FILE_MB,
        )
        held = {PurePosixPath(file.name).name: file.getvalue() for file in files}
        job = next((name for name in held if name.lower().endswith(".toml")), None)
        others = tuple((name, content) for name, content in held.items() if name != job)
        if job is not None:
            recognised_job(Base(held[job].decode("utf-8", errors="replace"), job, others))
        elif others:
            recognised_meter(base, wanted, *others[0])


def recognised_job(brought: Base) -> None:
    """What a job file says, and a button that lets it stand."""
    from planner.answers.job.upload import job_rows, uploaded_job

    try:
        with uploaded_job(brought.text, brought.name, dict(brought.files)) as job:
            rows = job_rows(job)
    except InputError as error:
        refused("This job file cannot be used; nothing of it was taken.", error)
        return
    st.markdown(f"Recognised in {shared.plain(brought.name)}:")
    shared.sheet(table_of("", rows), "What was recognised")
    # Taken before the page is drawn anew: a press while it is drawn is not lost.
    st.button("Use this file", key="job.use_file", on_click=take, args=(brought,))


def recognised_meter(base: Base, wanted: dict[str, Any], name: str, content: bytes) -> None:
    """What a meter saw, what was left out and why, and a button that makes it the training run."""
    from planner.answers.job.upload import metered_rows, metered_seen

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
        take_over(metered_base(base, wanted, (name, content), known))


def metered_base(base: Base, wanted: dict[str, Any], file: tuple[str, bytes], known: dict[str, Any]) -> Base:
    """The job whose training run is what a meter saw: the user's own file, else one of what was stated."""
    from planner.inputs.job.reading import with_metered, with_simple
    from planner.inputs.scenario.files import read_toml, write_toml

    stated = {} if base.begun == "example" else read_toml(base.text, base.name)
    text = write_toml(with_metered(with_simple(stated, wanted), file[0], known))
    if base.begun == "example":
        return Base(text, OWN_NAME, (file,), "own")
    others = tuple(held for held in base.files if held[0] != file[0])
    return Base(text, base.name, (*others, file), base.begun)


def meter_questions() -> dict[str, Any]:
    """What only the owner of a metered file can say."""
    left, middle, right = st.columns(3)
    count = left.number_input(
        "Accelerators it saw", 1, 1_000_000, None, key="job.meter.count", placeholder="as the file says"
    )
    zone = middle.text_input("Time zone of its stamps", key="job.meter.zone", placeholder="Europe/Berlin")
    covers = right.selectbox(
        "What it covers",
        ("accelerators", "components", "node", "unstated"),
        None,
        key="job.meter.covers",
        placeholder="as the file says",
    )
    return {"accelerators": count, "zone": zone.strip() or None, "covers": covers}


def refused(said: str, error: InputError) -> None:
    """What is wrong with an input, in the library's own words."""
    st.error(said)
    st.code(str(error), language=None, wrap_lines=True)
