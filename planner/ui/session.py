"""The scenario of a session: one value that never changes, with the edits that led to it.

Pages read `draft()` and hand in a whole new text; nothing of a scenario lives in widgets.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

import streamlit as st

from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import load_catalogue
from planner.trace.errors import InputError
from planner.ui import shared

KEPT_EDITS = 50
LONGEST_NAME = 80  # characters; what a file system and a heading can carry
_KEY = "scenario.history"

Files = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A scenario as content: its text, the name of its file, and the files that it may name.

    `origin` is the text that it started from. The digest tells drafts apart: SHA-256 of name and text, and of
    the files where there are some.
    """

    text: str
    name: str
    origin: str
    files: Files = ()
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", _digest(self.name, self.text, self.files))


@dataclass(frozen=True, slots=True)
class Edit:
    """A draft, and what the edit that it came by, or was left by, is called."""

    draft: Draft
    note: str


@dataclass(frozen=True, slots=True)
class History:
    """The draft that stands, the ones before it and the ones taken back, nearest last."""

    now: Draft
    past: tuple[Edit, ...] = ()
    taken_back: tuple[Edit, ...] = ()

    def edited(self, draft: Draft, note: str) -> History:
        """With another draft standing; the same one again is no edit."""
        if draft == self.now:
            return self
        return History(draft, (*self.past, Edit(self.now, note))[-KEPT_EDITS:])

    def undone(self) -> History:
        """One edit back, where there is one."""
        if not self.past:
            return self
        last = self.past[-1]
        return History(last.draft, self.past[:-1], (*self.taken_back, Edit(self.now, last.note)))

    def redone(self) -> History:
        """One edit forward again, where one was taken back."""
        if not self.taken_back:
            return self
        next_one = self.taken_back[-1]
        return History(next_one.draft, (*self.past, Edit(self.now, next_one.note)), self.taken_back[:-1])


def history() -> History:
    """What this session has done to its scenario; a shipped one stands at first."""
    if _KEY not in st.session_state:
        put(shared.scenario_text(shared.FIRST), f"{shared.FIRST}.toml")
    held: History = st.session_state[_KEY]
    return held


def draft() -> Draft:
    """The scenario that stands in this session."""
    return history().now


def put(text: str, name: str, files: Files = ()) -> None:
    """Begin with another scenario; the edits of the one before are forgotten."""
    st.session_state[_KEY] = History(Draft(text, file_name(name), text, files))


def edit(text: str, note: str) -> None:
    """Let another text stand, as an edit that can be undone."""
    st.session_state[_KEY] = history().edited(replace(draft(), text=text), note)


def attach(name: str, content: bytes, text: str | None = None) -> str:
    """Lay a file next to the scenario and let the text that names it stand; gives the name it lies by."""
    name = file_name(name, PurePosixPath(name).suffix)
    others = tuple(held for held in draft().files if held[0] != name)
    changed = replace(draft(), text=draft().text if text is None else text, files=(*others, (name, content)))
    st.session_state[_KEY] = history().edited(changed, f"file {name}")
    return name


def lay(files: dict[str, bytes], text: str, note: str) -> None:
    """Let another text and other files next to it stand, as an edit that can be undone."""
    changed = replace(draft(), text=text, files=tuple(sorted(files.items())))
    st.session_state[_KEY] = history().edited(changed, note)


def undo() -> None:
    """Take the last edit back."""
    st.session_state[_KEY] = history().undone()


def redo() -> None:
    """Make the edit again that was taken back last."""
    st.session_state[_KEY] = history().redone()


def own_files() -> tuple[str | None, Files]:
    """What `data` of the scenario that stands names, and the files of it: facts of the visitor's own."""
    held = draft()
    try:
        data = tomllib.loads(held.text).get("data")
    except ValueError:  # a text that somebody brought, and pages say what is wrong with it
        data = None
    if not isinstance(data, str):
        return None, ()
    return data, tuple(file for file in held.files if file[0] == data or file[0].startswith(f"{data}/"))


def catalogue() -> Catalogue:
    """The facts that pages offer: ours, with the visitor's own where the scenario that stands brings some."""
    data, files = own_files()
    if data is None:
        return load_catalogue()
    return _with_own(_digest(data, "", files), data, files)


def file_name(name: str, suffix: str = ".toml") -> str:
    """A name of one file, whatever path or signs it came with: it is written into folders."""
    stem = PurePosixPath(name.replace("\\", "/")).name.removesuffix(suffix)
    words = re.sub(r"[^A-Za-z0-9 _-]+", "-", stem).strip(" -")[:LONGEST_NAME]
    return (words or "scenario") + re.sub(r"[^A-Za-z0-9.]+", "", suffix)[:8]


# The digest alone is the key: arguments with a leading underscore are no part of it.
@st.cache_resource(show_spinner=False, max_entries=16)
def _with_own(digest: str, _data: str, _files: Files) -> Catalogue:
    from planner.inputs.own.uploads import own_among

    try:
        return load_catalogue().with_own(own_among(_data, dict(_files)))
    except InputError:  # as the check of the scenario says in full
        return load_catalogue()


def _digest(name: str, text: str, files: Files) -> str:
    others = "".join(f"\0{file}\0{hashlib.sha256(content).hexdigest()}" for file, content in files)
    return hashlib.sha256(f"{name}\0{text}{others}".encode()).hexdigest()
