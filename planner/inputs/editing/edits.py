"""Another text from a text and what is to change in it; its comments stay wherever that can be done."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from itertools import takewhile
from typing import Any

from planner.inputs.editing.fields import shown_value
from planner.inputs.scenario import Problem, Scenario, ScenarioError
from planner.inputs.scenario.base import SiteRef, part_in, rule_of
from planner.inputs.scenario.files import read_toml, write_toml
from planner.inputs.scenario.writing import at_path

MOST_LINES = 200  # of one value; each line more is parsed anew with those before it
_HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""\s*(?:"([^"\\]+)"|'([^']+)'|([A-Za-z0-9_-]+))\s*=""")


class OddText(ValueError):
    """The text is written in a way that is not edited line by line."""


@dataclass(frozen=True, slots=True)
class Value:
    """Where a value stands: its lines from `first` to before `end`, and the comment behind it."""

    key: str
    first: int
    end: int
    comment: str


@dataclass(frozen=True, slots=True)
class Block:
    """A table of the text: its section, its number where that is a list, and its lines.

    `end` is behind its last value: the comments before the next header are about the next table. A table
    within an entry (`[[services.regions]]`) is a block of its own, whose section has a point.
    """

    section: str
    number: int | None
    first: int
    end: int
    values: tuple[Value, ...]

    def within(self, section: str) -> bool:
        """Whether it is a table within an entry of a section."""
        return self.section.startswith(f"{section}.")


def with_value(lines: list[str], section: str, number: int | None, key: str, value: Any) -> list[str]:
    """The lines with one value set, or without it where it is None."""
    block = _block(lines, section, number)
    if block is None:
        return lines if value is None else [*lines, "", f"[{section}]", _written(key, value)]
    held = next((one for one in block.values if one.key == key), None)
    if held is None:
        added = [] if value is None else [_written(key, value)]
        return [*lines[: block.end], *added, *lines[block.end :]]
    changed = [] if value is None else [_written(key, value) + held.comment]
    return [*lines[: held.first], *changed, *lines[held.end :]]


def with_table(lines: list[str], section: str, table: Mapping[str, Any]) -> list[str]:
    """The lines with one more table in a list of them, behind the last one."""
    added = ["", f"[[{section}]]", *(_written(key, value) for key, value in table.items())]
    same = [block for block in blocks(lines) if block.section == section or block.within(section)]
    at = same[-1].end if same else len(lines)
    return [*lines[:at], *added, *lines[at:]]


def without_table(lines: list[str], section: str, number: int) -> list[str]:
    """The lines without one table of a list."""
    held = blocks(lines)
    at = next((at for at, one in enumerate(held) if (one.section, one.number) == (section, number)), None)
    if at is None:
        raise OddText(f"no table {section}[{number}]")
    block = held[at]
    inner = takewhile(lambda one: one.within(section), held[at + 1 :])
    end = max((one.end for one in inner), default=block.end)
    while end < len(lines) and not lines[end].strip():
        end += 1
    return [*lines[: block.first], *lines[end:]]


def blocks(lines: list[str]) -> list[Block]:
    """The tables of a text; the first is what stands before any header."""
    found: list[Block] = []
    section, number, first, values = "", None, 0, list[Value]()
    counts: dict[str, int] = {}
    at = 0

    def close() -> None:
        end = values[-1].end if values else min(first + (section != ""), len(lines))
        found.append(Block(section, number, first, end, tuple(values)))

    while at < len(lines):
        if header := _HEADER.fullmatch(lines[at]):
            close()
            section, first, values = header[2], at, []
            number = counts.get(section, -1) + 1 if header[1] == "[[" else None
            counts[section] = number or 0
        elif key := _KEY.match(lines[at]):
            values.append(_value(lines, at, key))
            at = values[-1].end - 1
        elif lines[at].strip() and not lines[at].lstrip().startswith("#"):
            raise OddText(f"line {at + 1}")
        at += 1
    close()
    return found


def _block(lines: list[str], section: str, number: int | None) -> Block | None:
    return next((one for one in blocks(lines) if (one.section, one.number) == (section, number)), None)


def _value(lines: list[str], at: int, key: re.Match[str]) -> Value:
    """The value that begins on a line: it ends where what was read so far is a whole one."""
    name = key[1] or key[2] or key[3]
    rest = lines[at][key.end() :]
    for place in (i for i, sign in enumerate(rest) if sign == "#"):
        if _whole(rest[:place]):
            return Value(name, at, at + 1, rest[len(rest[:place].rstrip()) :])
    for end in range(at + 1, min(at + MOST_LINES, len(lines)) + 1):
        if _whole("\n".join([rest, *lines[at + 1 : end]])):
            return Value(name, at, end, "")
    raise OddText(f"line {at + 1}")


def _whole(text: str) -> bool:
    try:
        return tomllib.loads(f"value ={text}").keys() == {"value"}
    except (ValueError, RecursionError):
        return False


def _written(key: str, value: Any) -> str:
    """A line of a file; a table inside a table stands on the line, too."""
    return write_toml({"section": {key: value}}).splitlines()[-1]


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
