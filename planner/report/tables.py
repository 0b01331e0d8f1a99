"""The tables of a plan document: headings that carry units, numbers in the units that read best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner.report.shape import SCHEMA
from planner.report.table_columns import (
    BASELINES,
    COLUMNS,
    TITLES,
    UNIT_OF_ROW,
    heading_of,
    unit_of_row,
)
from planner.trace.currency import USD, currency_of, shown_unit, shown_value
from planner.trace.explain import kept_step, rate_line
from planner.trace.numbers import SPOKEN, exact_text, number_text, percent_text, quantity_text, scale_of
from planner.trace.records import Document, Record, first_and_evenly_taken

OF_ONE = ("usd_per_unit", "kgco2e_per_unit")  # of one run, one hour, a million tokens: in one column
READABLE, LONGEST = 1e-3, 1e7  # in the unit of a column: below it a number says little, above it too much


READ_ACROSS = ("views", "bridge")  # tables whose columns are set next to one another
MOST_PERIODS = 6  # of a table with a column for each


@dataclass(frozen=True, slots=True)
class Table:
    """Records with headings that carry their units; `values` are numbers where `cells` are their text.

    `keys` name the columns as the records do.
    """

    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    values: tuple[tuple[Any, ...], ...]
    cells: tuple[tuple[str, ...], ...]
    keys: tuple[str, ...] = ()

    def records(self) -> list[Record]:
        """Rows by heading, numbers kept as numbers, for tables that a reader can sort."""
        return [dict(zip(self.headings, row, strict=True)) for row in self.values]


def table_of(name: str, rows: Sequence[Record], keys: Sequence[str] = ()) -> Table:
    """Rows in the units that read best: one unit a column, or one a row where the row names its own.

    The columns of table `name` come in the order of reading; where there is no such table, in the rows' own.
    """
    wanted = keys or COLUMNS.get(name) or list(rows[0] if rows else ())
    said = {UNIT_OF_ROW[key] for key in wanted if key in UNIT_OF_ROW}
    keys = [key for key in wanted if key not in said and any(key in row for row in rows)]
    own_units = name in ("summary", "limits", "clash")
    rows = [money_in_rows(row) for row in rows]
    shown = [_in_its_unit(row) for row in rows] if own_units else rows
    drawn = {key: [row.get(key) for row in shown] for key in keys}
    # What is read across a row, as the views of one plan, is in one unit.
    across = [value for column in drawn.values() for value in column] if name in READ_ACROSS else []
    columns = [_column(key, drawn[key], unit_of_row(key, shown), across) for key in keys]
    values = tuple(zip(*(column for _, column in columns), strict=True))
    return Table(
        headings=tuple(heading for heading, _ in columns),
        numeric=tuple(any(_is_number(value) for value in column) for _, column in columns),
        values=values,
        cells=tuple(tuple(_cell(value, exact=name.startswith("facts")) for value in row) for row in values),
        keys=tuple(keys),
    )


def in_milliseconds(row: Record) -> Record:
    """A row whose times are those of a step: `step_s` as `step_ms`, and a total in s in ms."""
    if row.get("unit") == "s":
        return (
            row
            | {end: 1e3 * row[end] for end in ("value", "p5", "p95") if _is_number(row.get(end))}
            | {"unit": "ms"}
        )
    return {
        f"{key.removesuffix('_s')}_ms" if key.endswith("_s") else key: 1e3 * value
        if key.endswith("_s") and _is_number(value)
        else value
        for key, value in row.items()
    }


def why_text(document: Document, name: str | None) -> str | None:
    """The explanation of one number as an indented tree, or None where the plan holds none."""
    found = kept_step(document, name)
    return None if found is None else found.to_text()


def range_text(total: Record) -> str:
    """From the 5th to the 95th percentile, with the unit; empty where nothing is uncertain."""
    if total.get("p5") is None or total.get("p95") is None or total["p5"] == total["p95"]:
        return ""
    divisor, unit = scale_of(total["unit"], [total["value"]])
    low, high = (number_text(total[end] / divisor, SPOKEN) for end in ("p5", "p95"))
    return f"p5 {low} to p95 {high} {unit}".rstrip()


def infeasibility_tables(document: Document) -> list[tuple[str, Table]]:
    """One title and table for each way out of a conflict: which limits to move, by how much, at what cost."""
    found = []
    for family in (document["clash"] or {}).get("families", []):
        alone = "enough alone" if family["alone_enough"] else "not enough alone"
        cost = "" if family.get("cost_usd") is None else f", costs {quantity_text(family['cost_usd'], 'USD')}"
        found.append((f"{family['family']} ({alone}{cost})", table_of("clash", family["rows"])))
    return found


def ways_table(document: Document) -> Table | None:
    """What is enough where no plan exists, by the keys of the file; None where nothing is known to."""
    ways = (document["clash"] or {}).get("ways")  # plans that were saved earlier have none
    return table_of("ways", ways) if ways else None


def tables(document: Document) -> dict[str, Table]:
    """Every table of the plan that says something, in the order of reading."""
    held = {name: rows for name in TITLES if (rows := document["tables"].get(name))}
    if not compared(document):
        held.pop("summary", None)
    return {name: table_of(name, rows) for name, rows in held.items()}


def compared(document: Document) -> bool:
    """Whether there is a baseline next to the plan."""
    rows = document["tables"].get("summary", [])
    return any(row.get(reference) is not None for row in rows for reference in BASELINES)


def headline(document: Document) -> list[str]:
    """What is decided, in short; a conflict is shown in full by itself."""
    return [] if document["clash"] is not None else document["headline"]


def totals_table(document: Document) -> Table:
    """The totals with their ranges."""
    rows = [
        {
            "total": total["label"],
            "value": quantity_text(total["value"], total["unit"], SPOKEN),
            "range": range_text(total),
        }
        for total in document["totals"]
    ]
    return table_of("", rows)


def across_periods(
    rows: Sequence[Record], keys: Sequence[str], value: str, periods: list[str]
) -> list[Record]:
    """One row for each place, one column for each of at most six periods."""
    shown = first_and_evenly_taken(periods, MOST_PERIODS)
    places: dict[tuple[str, ...], Record] = {}
    for row in rows:
        place = tuple(row[key] for key in keys)
        wide = places.setdefault(place, dict(zip(keys, place, strict=True)) | dict.fromkeys(shown, 0))
        if row["period"] in wide:
            wide[row["period"]] += row[value]
    return list(places.values())


def of_periods(title: str, periods: Sequence[str]) -> str:
    """The title of such a table; where periods are left out, it says so."""
    shown = len(first_and_evenly_taken(list(periods), MOST_PERIODS))
    return (
        title if shown == len(periods) else f"{title} in {shown} of {len(periods)} periods (--json has all)"
    )


def provenance(document: Document) -> list[str]:
    """What the plan was made from, so that it can be made again."""
    status = document["status"]
    checked = "re-checked by plain sums" if status["verified"] else "not re-checked"
    gap = status["gap_fraction"]
    rate = currency_of(document)
    again = f" on {status['searched_on']} and found again" if "searched_on" in status else ""
    proved = f"gap {percent_text(gap, None)}, " if gap is not None and math.isfinite(gap) else ""
    return [
        f"everfleet {document['everfleet']}, document schema {SCHEMA}",
        f"scenario {document['scenario']}, sha256 {document['scenario_digest']}",
        f"facts, sha256 {document['facts_digest']}",
        f"solved in {number_text(status['seconds'])} s{again}, {proved}{checked}",
        *([] if rate is None else [rate_line(rate)]),
    ]


def found_again(document: Document) -> str:
    """Where a plan is that of an earlier search: the day, and how far it was proved; empty elsewhere."""
    status = document["status"]
    if "searched_on" not in status:
        return ""
    gap = status["gap_fraction"]
    proved = "" if gap is None else f", proved to within {percent_text(max(gap, 1e-4), 2)} of the best"
    longer = "; a longer solve.time_limit goes on from it" if status["name"] == "time limit" else ""
    return f"Found again from {status['searched_on']}{proved}{longer}; --anew searches again."


def _column(key: str, values: list[Any], row_unit: str, across: Sequence[Any] = ()) -> tuple[str, list[Any]]:
    """Heading with unit, and the values in that unit, `row_unit` where the name has none.

    `across` are the values of all columns that have to be in the same one; none where each has its own.
    """
    label, unit = heading_of(key)
    unit = unit or row_unit
    if not unit:
        return label, values
    if unit == "%":
        return f"{label} (%)", [100 * value if _is_number(value) else value for value in values]
    sizes = [abs(value) for value in across or values if _is_number(value) and value]
    divisor, shown = _scale(key, unit, sizes)
    scaled = [value / divisor if _is_number(value) and divisor != 1 else value for value in values]
    return f"{label} ({shown})", scaled


def _scale(key: str, unit: str, sizes: list[float]) -> tuple[float, str]:
    """Divisor and unit of a column: that of its largest number, or the next one where others vanish in it.

    What one of different works takes, a run or a million tokens, is in the plain unit: none fits them all.
    """
    if key in OF_ONE or not sizes:
        return scale_of(unit, ())
    divisor, shown = scale_of(unit, [max(sizes)])
    if min(sizes) >= READABLE * divisor:
        return divisor, shown
    lower, name = scale_of(unit, [0.999 * divisor])
    return (lower, name) if max(sizes) < LONGEST * lower else (divisor, shown)


def money_in_rows(row: Record) -> Record:
    """A row of prices or of flips, whose numbers have units of their own, in the currency that is shown."""
    if "saving_unit" in row:
        saved, unit = row["saving_unit"], row["unit"]
        units = {key: unit if key.endswith("_by") else saved for key in row if _is_number(row[key])}
        both = USD in saved and USD in unit  # money for money
        units |= {key: "" for key in units if both and key.endswith("_per_unit")}
        named = {"unit": unit, "saving_unit": saved}
    elif "changes_at" in row and "today" in row:
        unit = str(row["unit"])
        units = {
            key: unit for key in ("today", "looked_to", "holds_to", "changes_at") if _is_number(row.get(key))
        }
        named = {"unit": unit}
    else:
        return row
    return (
        row
        | {key: shown_value(row[key], unit) for key, unit in units.items()}
        | {key: shown_unit(unit)[1] for key, unit in named.items()}
    )


def _in_its_unit(row: Record) -> Record:
    """A row that names its unit, in the larger unit that reads best."""
    scaled = {
        key for key in ("plan", *BASELINES, "used", "allowed", "left", "by") if _is_number(row.get(key))
    }
    divisor, unit = scale_of(row["unit"], (row[key] for key in scaled))
    return row | {key: row[key] / divisor for key in scaled if divisor != 1} | {"unit": unit}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any, exact: bool = False) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return exact_text(value) if exact else number_text(value)
        case _:
            return str(value)
