"""What a person changes on the page Scenario: taken where the whole still checks, else kept on screen.

An edit that does not check waits with those typed after it: two keys that only make sense together can be
typed one after the other.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from planner.editing import (
    Edited,
    Found,
    Input,
    cell_of,
    check,
    scenario_text,
    value_of,
    with_rows,
    with_values,
)
from planner.errors import InputError
from planner.scenario import ScenarioError
from planner.ui import session, shared

_WAITING, _SAID, _TURN = "scenario.waiting", "scenario.said", "scenario.turn"
TEXT = "text"
REWRITTEN = "The text was written anew, without its comments: this change could not be made line by line."


@dataclass(frozen=True, slots=True)
class Typed:
    """What stands in a field and is not taken yet."""

    path: str
    section: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """What was typed upon one draft and does not check; gone as soon as another draft stands.

    `place` is the section of the table that it was typed in, `text` for the text, empty for a field.
    """

    digest: str
    typed: tuple[Typed, ...] = ()
    problem: str = ""
    by_path: tuple[tuple[str, str], ...] = ()
    place: str = ""

    def text_at(self, path: str) -> str | None:
        """What was typed at a path, where that waits."""
        return next((one.text for one in self.typed if one.path == path), None)


def waiting() -> Waiting:
    """What waits upon the draft that stands."""
    held = st.session_state.get(_WAITING)
    digest = session.draft().digest
    return held if isinstance(held, Waiting) and held.digest == digest else Waiting(digest)


def shown_document() -> dict[str, Any]:
    """The tables as a reader sees them: those of the draft, with what was typed and waits."""
    held = session.draft()
    if not waiting().typed:
        return tomllib.loads(held.text)
    try:
        return tomllib.loads(with_values(held.text, held.name, _changes(waiting().typed)).text)
    except InputError:
        return tomllib.loads(held.text)


def take_typed(one: Input, text: str) -> None:
    """Take what was typed into a field, with all that waits."""
    typed = [held for held in waiting().typed if held.path != one.path]
    new = Typed(one.path, one.section, one.key, text)
    typed += [new] if text != one.value or waiting().text_at(one.path) is not None else []
    held = session.draft()
    _taken(
        lambda: with_values(held.text, held.name, _changes(typed)),
        ", ".join(dict.fromkeys(entry.path for entry in typed)),
        tuple(typed),
    )


def take_rows(section: str, state: Mapping[str, Any]) -> None:
    """Take the edited, added and deleted rows of a table, as its editor tells them."""

    def cells(row: Mapping[str, Any]) -> dict[str, Any]:
        return {key: cell_of(section, key, value) for key, value in row.items() if not key.startswith("_")}

    added = [row for row in map(cells, state["added_rows"]) if any(row.values())]
    held = session.draft()
    _taken(
        lambda: with_rows(
            held.text, held.name, section,
            edited={int(number): cells(row) for number, row in state["edited_rows"].items()},
            added=added,
            removed=state["deleted_rows"],
        ),
        f"table {section}",
        place=section,
    )  # fmt: skip


def take_text(text: str) -> None:
    """Take the whole text as it was edited."""
    _taken(lambda: Edited(text, True), "text", place=TEXT)


def use(found: Found, note: str) -> None:
    """Take what a file holds: values of the scenario, and a file beside it."""
    held = session.draft()
    try:
        edited = with_values(held.text, held.name, found.changes)
        check(edited.text, held.name, {**dict(held.files), **dict(found.files)})
    except InputError as error:
        _keep(error)
        return
    for name, content in found.files:
        session.attach(name, content, edited.text)
    session.edit(edited.text, note)
    _say(f"In use now: {note}." + ("" if edited.comments_kept else f" {REWRITTEN}"))


def open_file(name: str, content: bytes, found: Found) -> None:
    """Begin with a scenario of the user's own."""
    session.put(scenario_text(name, content), name, found.files)
    _say(f"This is {name} now; the edits of the scenario before it are gone.")


def open_shipped(name: str) -> None:
    """Begin with a scenario that ships."""
    session.put(shared.scenario_text(name), f"{name}.toml")
    _say(f"This is {name} now; the edits of the scenario before it are gone.")


def drop() -> None:
    """Forget what waits, in fields and tables too."""
    st.session_state.pop(_WAITING, None)
    st.session_state[_TURN] = turn() + 1


def forget_unseen(place: str, key: str) -> None:
    """Forget what was typed in a table or the text that the reader has left: no widget holds it now."""
    if waiting().place == place and key not in st.session_state:
        st.session_state.pop(_WAITING, None)


def undo() -> None:
    """Take the last edit back, and what waits."""
    drop()
    session.undo()


def redo() -> None:
    """Make the edit again that was taken back last."""
    drop()
    session.redo()


def reset(one: Input) -> None:
    """Let an input say what it said at first."""
    st.session_state[_TURN] = turn() + 1
    take_typed(one, one.origin or "")


def turn() -> int:
    """How often something was taken back, for the keys and callbacks of fields and tables.

    A browser that has not heard of it yet tells once more what stood before, and a run that is cut short has
    its callbacks called again: what comes from an earlier turn changes nothing.
    """
    return int(st.session_state.get(_TURN, 0))


def said() -> str:
    """What is to be told once of the last change."""
    return str(st.session_state.pop(_SAID, ""))


def _say(text: str) -> None:
    st.session_state[_SAID] = text


def _changes(typed: tuple[Typed, ...] | list[Typed]) -> dict[str, Any]:
    return {one.path: value_of(one.section, one.key, one.text) for one in typed}


def _taken(make: Callable[[], Edited], note: str, typed: tuple[Typed, ...] = (), place: str = "") -> None:
    """Let an edited text stand where it checks."""
    held = session.draft()
    try:
        edited = make()
        check(edited.text, held.name, dict(held.files))
    except InputError as error:
        _keep(error, typed, place)
        return
    st.session_state.pop(_WAITING, None)
    session.edit(edited.text, note)
    if not edited.comments_kept and "#" in held.text:
        _say(REWRITTEN)


def _keep(error: InputError, typed: tuple[Typed, ...] = (), place: str = "") -> None:
    problems = error.problems if isinstance(error, ScenarioError) else ()
    by_path = tuple((one.path, one.message) for one in problems)
    st.session_state[_WAITING] = Waiting(session.draft().digest, typed, str(error), by_path, place)
