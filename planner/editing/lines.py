"""Edits of a TOML text line by line, so that the comments of its writer stay.

No TOML is understood here beyond headers, keys and where a value ends: what comes out counts only where it
reads as what was wanted, which `changing` sees to.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.scenario.files import write_toml

MOST_LINES = 200  # of one value; each line more is parsed anew with those before it
_HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_-]+)\s*\]\]?\s*(?:#.*)?")
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

    `end` is behind its last value: the comments before the next header are about the next table.
    """

    section: str
    number: int | None
    first: int
    end: int
    values: tuple[Value, ...]


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
    same = [block for block in blocks(lines) if block.section == section]
    at = same[-1].end if same else len(lines)
    return [*lines[:at], *added, *lines[at:]]


def without_table(lines: list[str], section: str, number: int) -> list[str]:
    """The lines without one table of a list."""
    block = _block(lines, section, number)
    if block is None:
        raise OddText(f"no table {section}[{number}]")
    end = block.end
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
