"""Tables of plans and other answers: titles, columns in the order of reading, headings, units and meanings.

`data/tables.toml` says them, a line for each column of each table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from planner.inputs.loading import data_folder
from planner.trace.records import Record

# Documents of before called one `as_today`.
BASELINES = ("cost_only", "no_purchases", "keep_everything", "usual_practice", "as_today")
WAYS = "What is enough, by the keys of the file"


def _said() -> dict[str, Any]:
    with (data_folder() / "tables.toml").open("rb") as file:
        return tomllib.load(file)


_SAID = _said()
# A JSON object keeps no order of its own: these have that of reading.
TITLES: dict[str, str] = {name: table["title"] for name, table in _SAID["tables"].items() if "title" in table}
COLUMNS = {name: tuple(table["columns"]) for name, table in _SAID["tables"].items()}
# Column -> the column of its row that says its unit, the same in all rows of a table.
UNIT_OF_ROW = {"at_low": "at_unit", "at_high": "at_unit"}
_SUFFIXES = {
    "kgco2e": "kgCO2e",
    "kwh": "kWh",
    "usd": "USD",
    "fraction": "%",
    "h": "h",
    "s": "s",
    "ms": "ms",
    "min": "min",
    "d": "d",
    "gb": "GB",
}


def meaning_of(table: str, column: str) -> str:
    """What a column means; empty where nothing is said of it."""
    own = _SAID["tables"].get(table, {"columns": {}})["columns"].get(column)
    return str(own or _SAID["everywhere"].get(column, ""))


def column_unit(key: str, rows: Sequence[Record] = ()) -> str:
    """The unit in which a column of this name is kept: shares as they are, not in percent; empty for none.

    Some columns have it from their `rows`.
    """
    _, unit = heading_of(key)
    return "1" if unit == "%" else unit or unit_of_row(key, rows)


def unit_of_row(key: str, rows: Sequence[Record]) -> str:
    """The unit of a column as its rows say it; empty where they do not."""
    return next((row[UNIT_OF_ROW[key]] for row in rows), "") if key in UNIT_OF_ROW else ""


def heading_of(key: str) -> tuple[str, str]:
    """Heading of a column, and its unit as shown: shares in percent; empty where the name says none."""
    if key in _SAID["headings"]:
        heading, unit = _SAID["headings"][key]
        return heading, unit
    name, _, last = key.rpartition("_")
    if name and last in _SUFFIXES:
        return name.replace("_", " "), _SUFFIXES[last]
    return key.replace("_", " "), ""
