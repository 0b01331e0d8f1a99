"""What the columns of a log mean: a small TOML that a person can write, and that `propose_mapping` drafts.

kind = "events"                     # jobs, events or lives
timezone = "Europe/Berlin"          # of times that carry no zone
coalesce_s = 5                      # alarms of a node this close to the one before are one event
planned = ["maintenance"]           # causes, severities or states that somebody intended

[columns]
unit = "host"
start = "opened"

[severity]                          # by severity, cause or state as in the log; "ignore" drops a row
"xid79" = "hardware"
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from pathlib import Path
from typing import Any

from reliability.logs.mapping_checks import wrong_roles, wrong_values
from reliability.logs.problems import LogError
from reliability.logs.roles import Columns

LARGEST_CHARACTERS = 1_000_000
_WORD = r"[A-Za-z0-9_\"'-]"
_LONG_KEY = re.compile(rf"(?<!{_WORD}){_WORD}++(?:[ \t]*+\.[ \t]*+{_WORD}++){{32}}")
TABLES = ("columns", "only", "severity", "causes", "transitions")


@dataclass(frozen=True, slots=True)
class Mapping:
    """How to read one log.

    `columns` gives the column of each role. Of several columns for `unit` the texts are joined by '/'; of
    several for `cause` the one that is filled gives its name.

    `layout` is `table` (text with a header), `json` (objects; dots lead into nested ones) or `kernel` (lines
    with `NVRM: Xid`). `time_format` is `iso`, `unix_s`, `unix_ms`, `since_start_d` (or `_h`, `_s`) or forms
    of strptime, tried in turn; `year` is for forms that have none. `missing` are words for no value.
    `transitions` are the words for the start and the end of an outage, where these are rows of their own;
    with `states` they say which state a unit is in, and a row that repeats it is left out.
    `every_row_counts` joins neither alarms nor outages that overlap. `needs_cause` takes rows without a
    cause as stays, not as events.
    `only` are the words that a column must hold for its row to be read.
    `units` are all names of a fleet, as `node[001-400]`.
    """

    kind: str
    columns: Columns
    about: str = ""
    layout: str = "table"
    separator: str = ","
    timezone: str | None = None
    time_format: tuple[str, ...] = ("iso",)
    year: int | None = None
    missing: tuple[str, ...] = ()
    window_start: str | None = None
    window_end: str | None = None
    fleet_size: int | None = None
    units: tuple[str, ...] = ()
    coalesce_s: float = 0.0
    every_row_counts: bool = False
    needs_cause: bool = False
    states: bool = False
    covariates: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()
    transitions: dict[str, str] = field(default_factory=dict)
    severity: dict[str, str] = field(default_factory=dict)
    causes: dict[str, str] = field(default_factory=dict)
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_nameless(self) -> bool:
        """Whether no row says which unit it is of; the kernel's log of one machine is of that machine."""
        return self.kind == "events" and self.layout != "kernel" and "unit" not in self.columns

    def column(self, role: str) -> str | None:
        """The one column of a role, if it has any."""
        name = self.columns.get(role)
        return name if isinstance(name, str) else None


def read_mapping(path: Path) -> Mapping:
    """Mapping in a TOML file.

    Raises:
        LogError: the file cannot be read or is wrong; the error holds every problem.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise LogError([f"{path.name}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise LogError([f"{path.name}: is not a text file in UTF-8 (byte {error.start})"]) from error
    return parse_mapping(text, path.name)


def parse_mapping(text: str, name: str = "mapping") -> Mapping:
    """Mapping in a TOML text; `name` begins each message.

    Raises:
        LogError: the text is wrong; the error holds every problem.
    """
    # Before parsing: the time of tomllib grows with the square of the parts of a key.
    if len(text) > LARGEST_CHARACTERS or _LONG_KEY.search(text):
        raise LogError([f"{name}: is no mapping: a mapping has some lines, its keys have one part or two"])
    try:
        document = tomllib.loads(text)
    except ValueError as error:  # of TOML, or of an integer with thousands of digits
        raise LogError([f"{name}: is not TOML: {error}"]) from error
    except RecursionError:
        raise LogError([f"{name}: is nested too deep: a mapping is a table of tables"]) from None
    window = document.pop("window", {})
    if isinstance(window, dict):
        document |= {f"window_{edge}": value for edge, value in window.items()}
    values = {key: _plain(key, value) for key, value in document.items()}
    wrong = list(wrong_values(values))
    if not wrong:
        mapping = Mapping(**values)
        wrong = list(wrong_roles(mapping.kind, mapping.layout, mapping.columns, mapping.transitions))
    if wrong:
        raise LogError(f"{name}: {problem}" for problem in wrong)
    return mapping


def mapping_text(mapping: Mapping) -> str:
    """The TOML that `parse_mapping` reads back as the same mapping."""
    lines, tables = [], []
    window = {}
    for each in fields(mapping):
        value = getattr(mapping, each.name)
        if each.name in TABLES:
            tables += _table_lines(each.name, value)
        elif value in (None, (), "") or (each.name not in ("kind", "timezone") and value == each.default):
            continue
        elif each.name.startswith("window_"):
            window[each.name.removeprefix("window_")] = value
        else:
            lines.append(f"{each.name} = {_toml(value)}")
    return "\n".join([*lines, *_table_lines("window", window), *tables]) + "\n"


def _table_lines(name: str, table: dict[str, Any]) -> list[str]:
    rows = [
        f"{key if key.isidentifier() and key.isascii() else _toml(key)} = {_toml(value)}"
        for key, value in table.items()
    ]
    return ["", f"[{name}]", *rows] if rows else []


def _toml(value: Any) -> str:
    # JSON's strings, numbers, booleans and lists are TOML's too, but for the DEL character.
    text = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")


def _plain(key: str, value: Any) -> Any:
    """Lists as tuples, dates as text, and one word where several are allowed as a tuple of one."""
    if key in ("time_format", "missing", "units", "covariates", "planned") and isinstance(value, str):
        return (value,)
    if key == "only" and isinstance(value, dict):
        return {
            name: (words,) if isinstance(words, str) else _plain("", words) for name, words in value.items()
        }
    if key == "columns" and isinstance(value, dict):
        return {role: tuple(name) if isinstance(name, list) else name for role, name in value.items()}
    if key.startswith("window_") and isinstance(value, datetime | date):
        return value.isoformat()
    if key.startswith("window_") and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if key == "covariates" and isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(dict.fromkeys(value))
    return tuple(value) if isinstance(value, list) else value
