"""Another text from a text and what is to change in it; its comments stay wherever that can be done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

from planner.editing.lines import OddText, with_table, with_value, without_table
from planner.editing.typed import shown_value
from planner.scenario import Problem, ScenarioError
from planner.scenario.files import read_toml, write_toml
from planner.scenario.writing import at_path

Tables = dict[str, Any]
_Step = Callable[[list[str]], list[str]]


@dataclass(frozen=True, slots=True)
class Edited:
    """A text, and whether it still is its writer's own: else it was written anew, without comments."""

    text: str
    comments_kept: bool


def with_values(text: str, name: str, changes: Mapping[str, Any]) -> Edited:
    """The text with other values at some paths, as `--set` names them; None removes.

    Raises:
        ScenarioError: the text is no TOML, or a path leads nowhere.
    """
    wanted = read_toml(text, name)
    steps, problems = list[_Step](), list[Problem]()
    for path, value in changes.items():
        found = at_path(wanted, path)
        if isinstance(found, Problem):
            problems.append(found)
            continue
        table, key = found
        section, number = _place(wanted, table)
        steps.append(partial(with_value, section=section, number=number, key=key, value=value))
        _put(table, key, value)
    if problems:
        raise ScenarioError(name, problems)
    return _edited(text, steps, wanted)


def with_rows(
    text: str,
    name: str,
    section: str,
    *,
    edited: Mapping[int, Mapping[str, Any]],
    added: Sequence[Mapping[str, Any]] = (),
    removed: Collection[int] = (),
) -> Edited:
    """The text with other cells, more and fewer rows in a list of tables; None empties a cell.

    Raises:
        ScenarioError: the text is no TOML.
    """
    wanted = read_toml(text, name)
    rows: list[Tables] = wanted.setdefault(section, [])
    steps = list[_Step]()
    for number, cells in edited.items():
        for key, value in cells.items():
            _put(rows[number], key, value)
            steps.append(partial(with_value, section=section, number=number, key=key, value=value))
    for row in added:
        held = {key: value for key, value in row.items() if value is not None}
        rows.append(held)
        steps.append(partial(with_table, section=section, table=held))
    for number in sorted(removed, reverse=True):  # from the end, so that the numbers before it hold
        del rows[number]
        steps.append(partial(without_table, section=section, number=number))
    if not rows:
        del wanted[section]
    return _edited(text, steps, wanted)


def change_rows(text: str, name: str, changes: Mapping[str, Any]) -> list[dict[str, str]]:
    """What changes would do to a text, as a table: path, what stands, what would; what stays is left out.

    Raises:
        ScenarioError: the text is no TOML, or a path leads nowhere.
    """
    document, rows = read_toml(text, name), list[dict[str, str]]()
    for path, value in changes.items():
        found = at_path(document, path)
        if isinstance(found, Problem):
            raise ScenarioError(name, [found])
        table, key = found
        if table.get(key) != value:
            rows.append({"key": path, "now": shown_value(table.get(key)), "then": shown_value(value)})
    return rows


def _put(table: Tables, key: str, value: Any) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _place(document: Tables, table: Tables) -> tuple[str, int | None]:
    """Section and number of a table, by which one it is and not by what it says."""
    for section, held in document.items():
        if held is table:
            return section, None
        if isinstance(held, list):
            for number, entry in enumerate(held):
                if entry is table:
                    return section, number
    return "", None


def _edited(text: str, steps: Sequence[_Step], wanted: Tables) -> Edited:
    """The text edited line by line where that reads as what is wanted, else written anew."""
    wanted = {key: held for key, held in deepcopy(wanted).items() if held != {}}
    lines = text.replace("\r\n", "\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    try:
        for step in steps:
            lines = step(lines)
        by_line = "\n".join(lines) + "\n"
        if {key: held for key, held in read_toml(by_line, "").items() if held != {}} == wanted:
            return Edited(by_line, True)
    except (OddText, ScenarioError):
        pass  # a text that is odd but right is written anew
    return Edited(write_toml(wanted), "#" not in text)
