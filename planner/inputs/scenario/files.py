"""From a file to TOML tables and back; whatever is no scenario file is refused before it costs time."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from planner.inputs.files import NO_FILE, may_never_end
from planner.inputs.scenario.problems import Problem, ScenarioError

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
_PART = r"""(?:"[^"\n]*"|'[^'\n]*'|[A-Za-z0-9_-]++)"""
# A key begins where no letter is before it: looked for at each letter of a long word, it would take hours.
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MAX_DEPTH}}}")
_TOO_DEEP = Problem("", f"is nested deeper than {MAX_DEPTH} levels, and a scenario needs three")


def read_text(path: Path) -> str:
    """Text of a scenario file.

    Raises:
        ScenarioError: no such file, a folder, a pipe, too large, or not UTF-8.
    """
    if path.is_dir():
        raise ScenarioError(str(path), [Problem("", "is a folder: name a scenario file in it")])
    if not path.exists():
        others = [other.name for other in path.parent.glob("*.toml")]
        close = difflib.get_close_matches(path.name, others, n=1)
        hint = f"; did you mean '{path.with_name(close[0])}'?" if close else ""
        raise ScenarioError(str(path), [Problem("", f"no such file{hint}")])
    if may_never_end(path):
        raise ScenarioError(str(path), [Problem("", NO_FILE)])
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ScenarioError(str(path), [Problem("", f"cannot be read: {error.strerror}")]) from None
    if len(content) > MAX_BYTES:
        raise ScenarioError(path.name, [_too_large(max(path.stat().st_size, len(content)))])
    try:
        return content.decode("utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1} is 0x{content[error.start]:02x}"
        problem = Problem("", f"is not UTF-8 text ({where}): save it as UTF-8")
        raise ScenarioError(path.name, [problem]) from None


def read_toml(text: str, name: str) -> dict[str, Any]:
    """Tables of a TOML text.

    Raises:
        ScenarioError: too large, not TOML (with line and column), or nested too deep.
    """
    if len(text) > MAX_BYTES:
        raise ScenarioError(name, [_too_large(len(text))])
    if _LONG_KEY.search(text):  # before parsing: tomllib's time grows with the square of a key's parts
        raise ScenarioError(name, [_TOO_DEEP])
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(name, [_not_toml(str(error))]) from None
    except RecursionError:
        raise ScenarioError(name, [_TOO_DEEP]) from None
    except ValueError:  # Python refuses to read an integer of thousands of digits
        problem = Problem("", "holds a number of more than 4,000 digits, or a date that does not exist")
        raise ScenarioError(name, [problem]) from None
    if _deeper_than(document, MAX_DEPTH):
        raise ScenarioError(name, [_TOO_DEEP])
    return document


def write_toml(document: Mapping[str, Any]) -> str:
    """TOML text of scenario tables: plain values first, then each table, then each list of tables."""
    lines = [f"{_key(key)} = {_value(entry)}" for key, entry in document.items() if not _is_section(entry)]
    for key, entry in document.items():
        tables = [entry] if isinstance(entry, dict) else entry if _is_section(entry) else []
        header = f"[{_key(key)}]" if isinstance(entry, dict) else f"[[{_key(key)}]]"
        for table in tables:
            lines += ["", header, *(f"{_key(name)} = {_value(value)}" for name, value in table.items())]
    return "\n".join(lines) + "\n"


def _is_section(entry: object) -> bool:
    return isinstance(entry, dict) or (isinstance(entry, list) and any(isinstance(e, dict) for e in entry))


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(name)} = {_value(entry)}' for name, entry in value.items())} }}"
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)


def _too_large(size: int) -> Problem:
    return Problem("", f"has {size / 1e6:.1f} MB, and a scenario has at most {MAX_BYTES / 1e6:.0f} MB")


def _not_toml(text: str) -> Problem:
    said, _, where = text.rpartition(" (at ")
    where = where.rstrip(")") if said else ""
    said = said or text
    return Problem(where, f"this is not TOML: {said[:1].lower()}{said[1:160]}")


def _deeper_than(document: object, limit: int) -> bool:
    """Whether tables and lists lie deeper in each other; level by level: recursion is what is feared."""
    level: list[Any] = [document]
    for _ in range(limit + 1):
        level = [e for held in level for e in (held.values() if isinstance(held, dict) else held)]
        level = [e for e in level if isinstance(e, dict | list)]
    return bool(level)
