"""What a person changes on the page Scenario: taken where the whole still checks, else kept on screen.

An edit that does not check waits where it was typed, on screen and with its message, until it is mended or
given up; it is tried again with each edit after it: two keys that only make sense together can be typed one
after the other.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from planner.answers.check import check, scenario_text
from planner.inputs.editing import Edited, Found, Input, cell_of, value_of, with_rows, with_values
from planner.inputs.editing.fields import shown_value
from planner.inputs.scenario import ScenarioError
from planner.trace.errors import InputError
from planner.ui import session, shared

_WAITING, _SAID, _TURN = "scenario.waiting", "scenario.said", "scenario.turn"
_SEEDS = "scenario.seeds"
TEXT, FILE = "text", "file"
REWRITTEN = "The text was written again, without its comments: this change could not be made line by line."


@dataclass(frozen=True, slots=True)
class Typed:
    """What stands in a field and is not taken yet."""

    path: str
    section: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Rows:
    """Cells, new rows and removed rows of a table, upon the rows of the draft; as its editor has them."""

    edited: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    added: tuple[Mapping[str, Any], ...] = ()
    removed: frozenset[int] = frozenset()

    def upon(self, held: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The rows of a table with these."""
        rows = [{**row, **self.edited.get(i, {})} for i, row in enumerate(held) if i not in self.removed]
        return rows + [dict(row) for row in self.added]

    def then(self, state: Mapping[str, Any], count: int) -> Rows:
        """These, and what an editor tells that was opened on them; the draft has `count` rows."""
        kept = [i for i in range(count) if i not in self.removed]
        edited = {i: dict(cells) for i, cells in self.edited.items()}
        added = [dict(row) for row in self.added]
        for number, cells in state["edited_rows"].items():
            at = int(number)
            row = edited.setdefault(kept[at], {}) if at < len(kept) else added[at - len(kept)]
            row.update(cells)
        gone = set(state["deleted_rows"])
        added = [row for i, row in enumerate(added) if i + len(kept) not in gone]
        removed = self.removed | {i for at, i in enumerate(kept) if at in gone}
        return Rows(edited, (*added, *state["added_rows"]), frozenset(removed))


@dataclass(frozen=True, slots=True)
class Waiting:
    """What was typed in one place and does not check: it is shown with its message until it does.

    `place` is the section of the table that it was typed in, `text` for the text, empty for the fields.
    """

    place: str = ""
    typed: tuple[Typed, ...] = ()
    rows: Rows | None = None
    problem: str = ""
    by_path: tuple[tuple[str, str], ...] = ()

    def text_at(self, path: str) -> str | None:
        """What was typed at a path, where that waits."""
        return next((one.text for one in self.typed if one.path == path), None)


def waiting(place: str = "") -> Waiting:
    """What waits in a place."""
    return _all().get(place, Waiting(place))


def _all() -> dict[str, Waiting]:
    """What waits, by place; another scenario begins without."""
    began = session.draft().origin
    held = st.session_state.get(_WAITING)
    if held is None or held[0] != began:
        held = st.session_state[_WAITING] = (began, {})
    found: dict[str, Waiting] = held[1]
    return found


def not_taken() -> list[str]:
    """What is typed somewhere and is not in the scenario, a line for each."""
    return [line for waits in _all().values() for line in lines_of(waits)]


def lines_of(waits: Waiting) -> list[str]:
    """What of it the scenario says otherwise."""
    lines = [f"{one.path}: '{one.text}'" for one in waits.typed]
    if waits.place == TEXT:
        lines.append("the text as it was edited")
    if waits.rows is None:
        return lines
    section, held = waits.place, rows_of(waits.place)
    for number, cells in waits.rows.edited.items():
        for key, value in cells.items():
            was, now = shown_value(held[number].get(key)), shown_value(cell_of(section, key, value))
            if was != now:
                lines.append(f"{section}, row {number + 1}, {key}: '{now}' instead of '{was}'")
    lines += [f"{section}, row {number + 1}: removed" for number in sorted(waits.rows.removed)]
    return lines + [f"{section}: a new row" for row in waits.rows.added if any(row.values())]


def rows_of(section: str) -> list[dict[str, Any]]:
    """The rows of a table as the scenario that stands has them."""
    held: list[dict[str, Any]] = tomllib.loads(session.draft().text).get(section) or []
    return held


def seed_of(section: str, key: str) -> Rows:
    """What the editor of a table is opened with: what waits there, or nothing.

    An editor keeps what is typed in it and tells all of that each time: what it was opened with stays the
    same for as long as it is on the page.
    """
    seeds: dict[str, tuple[str, Rows]] = st.session_state.setdefault(_SEEDS, {})
    if key not in st.session_state or seeds.get(section, ("",))[0] != key:
        seeds[section] = (key, waiting(section).rows or Rows())
    return seeds[section][1]


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
    """Take what was typed into a field: with all that waits in fields, or else alone."""
    others = tuple(held for held in waiting().typed if held.path != one.path)
    new = Typed(one.path, one.section, one.key, text)
    is_new = text != one.value or waiting().text_at(one.path) is not None
    whole = Waiting(typed=(*others, new) if is_new else others)
    if (
        not _taken(whole)
        and others
        and is_new
        and not isinstance(made := _made(Waiting(typed=(new,))), InputError)
    ):
        _all()[""] = Waiting(typed=others)
        _stand(made, one.path)


def take_rows(section: str, state: Mapping[str, Any], seed: Rows | None = None) -> None:
    """Take the edited, added and deleted rows of a table, as its editor tells them upon its seed."""
    rows = (seed or Rows()).then(state, len(rows_of(section)))
    _taken(Waiting(section, rows=rows))


def take_text(text: str) -> None:
    """Take the whole text as it was edited."""
    made = _checked(lambda: Edited(text, True))
    if isinstance(made, InputError):
        _keep(made, Waiting(TEXT))
    else:
        _all().pop(TEXT, None)
        _stand(made, "text")


def use(found: Found, note: str) -> None:
    """Take what a file holds: values of the scenario, and a file next to it."""
    held = session.draft()
    try:
        edited = with_values(held.text, held.name, found.changes)
        check(edited.text, held.name, {**dict(held.files), **dict(found.files)})
    except InputError as error:
        _keep(error, Waiting(FILE))
        return
    _all().pop(FILE, None)
    for name, content in found.files:
        session.attach(name, content, edited.text)
    session.edit(edited.text, note)
    _try_waiting()
    _say(f"In use now: {note}." + ("" if edited.comments_kept else f" {REWRITTEN}"))


def open_file(name: str, content: bytes, found: Found) -> None:
    """Begin with a scenario of the user's own."""
    session.put(scenario_text(name, content), name, found.files)
    _say(f"This is {name} now; the edits of the scenario before it are gone.")


def open_shipped(name: str) -> None:
    """Begin with a scenario that ships."""
    session.put(shared.scenario_text(name), f"{name}.toml")
    _say(f"This is {name} now; the edits of the scenario before it are gone.")


def drop(place: str | None = None) -> None:
    """Forget what waits in a place, or everywhere; fields and tables are then other ones."""
    for one in [*_all()] if place is None else [place]:
        _all().pop(one, None)
    st.session_state[_TURN] = turn() + 1


def forget_unseen(place: str, key: str) -> None:
    """Forget what was typed in the text that the reader has left: no widget holds it now."""
    if key not in st.session_state:
        _all().pop(place, None)


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


def _taken(waits: Waiting) -> bool:
    """Let an edit stand where the whole checks with it; else it waits, with its message."""
    made = _made(waits)
    if isinstance(made, InputError):
        _keep(made, waits)
        return False
    _all().pop(waits.place, None)
    paths = ", ".join(dict.fromkeys(one.path for one in waits.typed))
    _stand(made, f"table {waits.place}" if waits.rows else paths)
    return True


def _made(waits: Waiting) -> Edited | InputError:
    """The text with what waits in a place, or what is wrong with it."""
    held, rows, section = session.draft(), waits.rows, waits.place

    def cells(row: Mapping[str, Any]) -> dict[str, Any]:
        return {key: cell_of(section, key, value) for key, value in row.items() if not key.startswith("_")}

    if rows is None:
        return _checked(lambda: with_values(held.text, held.name, _changes(waits.typed)))
    added = [row for row in map(cells, rows.added) if any(row.values())]
    edited = {number: cells(row) for number, row in rows.edited.items()}
    return _checked(
        lambda: with_rows(held.text, held.name, section, edited=edited, added=added, removed=rows.removed)
    )


def _checked(make: Callable[[], Edited]) -> Edited | InputError:
    held = session.draft()
    try:
        edited = make()
        check(edited.text, held.name, dict(held.files))
    except InputError as error:
        return error
    return edited


def _stand(edited: Edited, note: str) -> None:
    """Let an edited text stand, and with it whatever waits and checks now."""
    had_comments = "#" in session.draft().text
    session.edit(edited.text, note)
    if not edited.comments_kept and had_comments:
        _say(REWRITTEN)
    _try_waiting()


def _try_waiting() -> None:
    """Try what waits upon the scenario that stands now; what does not check has its newest message."""
    for place, waits in [*_all().items()]:
        if waits.typed or waits.rows is not None:
            if _taken(waits):
                return  # it tried the others
        else:
            _all().pop(place)  # typed upon a text that stands no longer


def _keep(error: InputError, waits: Waiting) -> None:
    problems = error.problems if isinstance(error, ScenarioError) else ()
    by_path = tuple((one.path, one.message) for one in problems)
    _all()[waits.place] = replace(waits, problem=str(error), by_path=by_path)
