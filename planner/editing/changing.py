"""Another text from a text and what is to change in it; its comments stay wherever that can be done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from planner.editing.lines import OddText, with_table, with_value, without_table
from planner.editing.typed import shown_value
from planner.scenario import Problem, Scenario, ScenarioError
from planner.scenario.files import read_toml, write_toml
from planner.scenario.models import rule_of
from planner.scenario.part import SiteRef, part_in
from planner.scenario.writing import at_path

Tables = dict[str, Any]
_PLACES = ("sites", "rental")  # what a key that names a site may name
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
    began = deepcopy(wanted)
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
    return _edited(text, [*steps, *_following(began, wanted)], wanted)


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
    began = deepcopy(wanted)
    rows: list[Tables] = wanted.setdefault(section, [])
    steps = list[_Step]()
    for number, cells in edited.items():
        for key, value in cells.items():
            _put(rows[number], key, value)
            steps.append(partial(with_value, section=section, number=number, key=key, value=value))
    steps += _following(began, wanted)
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


def _following(began: Tables, wanted: Tables) -> list[_Step]:
    """The steps by which whatever names an entry follows its new name; they are made in the tables, too.

    Call it while the entries stand in the order in which they began.
    """
    steps = list[_Step]()
    for section, entries in began.items():
        now = wanted.get(section)
        if not (isinstance(entries, list) and isinstance(now, list)):
            continue
        for entry, changed in zip(entries, now, strict=False):
            old, new = _name_of(entry), _name_of(changed)
            alone = sum(_name_of(other) == old for other in entries) == 1
            if old and new and old != new and alone:
                steps += _renamed(wanted, section, old, new)
    return steps


def _name_of(entry: Any) -> str:
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return name if isinstance(name, str) else ""


def _renamed(wanted: Tables, section: str, old: str, new: str) -> Iterator[_Step]:
    """Whatever names a site or rented nodes follows, and paths of futures that lead to any entry."""

    def follow(value: Any) -> Any:
        return [new if one == old else one for one in value] if isinstance(value, list) else new

    for holder, keys in _site_keys().items() if section in _PLACES else ():
        held = wanted.get(holder)
        for number, entry in enumerate(held if isinstance(held, list) else ()):
            for key in keys & entry.keys() if isinstance(entry, dict) else ():
                if entry[key] == old or (isinstance(entry[key], list) and old in entry[key]):
                    entry[key] = follow(entry[key])
                    yield partial(with_value, section=holder, number=number, key=key, value=entry[key])
    futures = wanted.get("futures")
    for number, future in enumerate(futures if isinstance(futures, list) else ()):
        values = future.get("set") if isinstance(future, dict) else None
        if not isinstance(values, dict):
            continue
        moved = {_path_after(path, section, old, new): value for path, value in values.items()}
        if section in _PLACES:
            for path, value in moved.items():
                holder, _, rest = path.partition(".")
                named = value == old or (isinstance(value, list) and old in value)
                if named and rest.rpartition(".")[2] in _site_keys().get(holder.partition("[")[0], ()):
                    moved[path] = follow(value)
        if moved != values:
            future["set"] = moved
            yield partial(with_value, section="futures", number=number, key="set", value=moved)


def _path_after(path: str, section: str, old: str, new: str) -> str:
    """A path to an entry that has another name now; one to an entry by number stays."""
    begin = f"{section}.{old}."
    return f"{section}.{new}.{path.removeprefix(begin)}" if path.startswith(begin) else path


@cache
def _site_keys() -> dict[str, frozenset[str]]:
    """The keys that name a site or a rental, by section, as the schema has them."""
    found = {}
    for section, field in Scenario.model_fields.items():
        if rule_of(Scenario, section) is not None:
            continue
        part = part_in(field)
        rules = {one.alias or name: rule_of(part, name) for name, one in part.model_fields.items()}
        keys = {key for key, rule in rules.items() if isinstance(getattr(rule, "rule", rule), SiteRef)}
        if keys:
            found[section] = frozenset(keys)
    return found


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
