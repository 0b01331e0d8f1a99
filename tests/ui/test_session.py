"""The scenario of a session: edits that can be undone, and nothing that two sessions share."""

from __future__ import annotations

import hashlib

import pytest
import streamlit as st

from planner.inputs.scenario import ScenarioError, digest, parse_scenario
from planner.inputs.scenario.bundle import keep, restored, unsaved
from planner.ui import session, shared


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """A session's own state, as a page has it."""
    held: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", held)
    return held


def test_a_session_opens_with_a_shipped_scenario() -> None:
    """The first view is never an empty form: a scenario that solves stands from the start, unedited."""
    first = session.draft()

    assert first.text == first.origin == shared.scenario_text("next-quarter")
    assert first.name == "next-quarter.toml"
    assert not session.history().past


def test_the_digest_is_that_of_name_and_text() -> None:
    """Pages cache by it, with the recipe that `shared.load_plan` has: name, a zero, text; files change it."""
    one = session.Draft("a = 1", "x.toml", "a = 1")

    assert one.digest == hashlib.sha256(b"x.toml\0a = 1").hexdigest()
    assert one.digest != session.Draft("a = 2", "x.toml", "a = 1").digest
    assert one.digest != session.Draft("a = 1", "x.toml", "a = 1", (("fit.json", b"{}"),)).digest


def test_edits_are_undone_and_redone_in_turn() -> None:
    """Undo goes back one by one to what was put in, redo forward to the last; at the ends they do nothing."""
    session.put("0", "own.toml")
    for text in "123":
        session.edit(text, f"to {text}")
    seen = [session.draft().text]
    for _ in range(4):
        session.undo()
        seen.append(session.draft().text)
    for _ in range(4):
        session.redo()
        seen.append(session.draft().text)

    assert "".join(seen) == "321001233"
    assert [edit.note for edit in session.history().past] == ["to 1", "to 2", "to 3"]
    assert session.draft().origin == "0"


def test_an_edit_after_an_undo_leaves_nothing_to_redo() -> None:
    """A redo would bring back a text that knows nothing of the newer edit."""
    session.put("0", "own.toml")
    session.edit("1", "one")
    session.undo()
    session.edit("2", "two")
    session.redo()

    assert session.draft().text == "2"
    assert session.history().taken_back == ()


def test_the_same_text_again_is_no_edit() -> None:
    """An undo that changed nothing on the screen would look broken."""
    session.put("0", "own.toml")
    session.edit("0", "nothing")

    assert session.history().past == ()


def test_fifty_edits_are_kept() -> None:
    """Of 60 edits the last 50 can be undone: text 10 is as far back as it goes."""
    session.put("0", "own.toml")
    for number in range(1, 61):
        session.edit(str(number), "")
    for _ in range(60):
        session.undo()

    assert session.draft().text == "10"
    assert len(session.history().taken_back) == session.KEPT_EDITS == 50


def test_a_file_laid_beside_is_an_edit_too() -> None:
    """Undoing it takes the file away with the text that names it; the same name again replaces the file."""
    session.put("0", "own.toml")
    name = session.attach("C:\\logs\\my fit.json", b"1", "1")
    session.attach("my fit.json", b"2", "2")

    assert name == "my fit.json"
    assert session.draft().files == (("my fit.json", b"2"),)
    session.undo()
    session.undo()
    assert session.draft().files == ()
    assert session.draft().text == "0"


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ("../../etc/passwd", "passwd.toml"),
        ("fleet.toml", "fleet.toml"),
        ("", "scenario.toml"),
        ("..", "scenario.toml"),
        ("a\0b<c>.toml", "a-b-c.toml"),
        ("x" * 300 + ".toml", "x" * 80 + ".toml"),
    ],
)
def test_a_name_is_that_of_one_file(given: str, held: str) -> None:
    """The text is written into a folder under this name: no path, no sign that a file system trips over."""
    assert session.file_name(given) == held


def test_what_the_store_keeps_is_what_the_command_line_would() -> None:
    """The identity is that of the scenario, so a plan saved here is the row that the command makes."""
    first = session.draft()

    with restored(unsaved(first.name, first.text, first.files)) as scenario:
        found = keep(scenario)

    assert found.digest == digest(parse_scenario(first.text))
    assert (found.name, found.text, dict(found.files)) == (first.name, first.text, {})


def test_a_wrong_scenario_is_refused_by_name() -> None:
    """The message begins with the file's own name, as everywhere."""
    wrong = session.Draft("title = 1", "own.toml", "")

    with pytest.raises(ScenarioError, match=r"^own\.toml: "), restored(unsaved(wrong.name, wrong.text)):
        pass
