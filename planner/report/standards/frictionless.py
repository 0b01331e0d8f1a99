"""The tables of a plan as a data package: every column with its type, unit and meaning.

Source: Frictionless Data, Data Package v1 and Table Schema v1.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from planner.report.data import to_csv_files
from planner.report.plain import to_json
from planner.report.shape import read_back
from planner.report.standards.formats import Files
from planner.trace.records import Record

FOLDER = "csv"


def write(document: Record) -> Files:
    """`datapackage.json` and the CSV of each table that it describes, in `csv/`."""
    tables = to_csv_files(read_back(document))
    said = {(row["table"], row["column"]): row for row in _rows(tables["columns.csv"])}
    package = {
        "profile": "tabular-data-package",
        "name": "everfleet-plan",
        "title": document["title"],
        "version": document["everfleet"],
        "resources": [_resource(name, text, said) for name, text in tables.items()],
    }
    files = {"datapackage.json": to_json(package, sort_keys=False)}
    return files | {f"{FOLDER}/{name}": text for name, text in tables.items()}


def _resource(file: str, text: str, said: Mapping[tuple[str, str], Mapping[str, str]]) -> Record:
    table = file.removesuffix(".csv")
    rows = _rows(text)
    fields = []
    for column in next(csv.reader(io.StringIO(text))):
        about = said.get((table, column), {})
        described = {"description": about.get("meaning"), "unit": about.get("unit")}
        fields.append(
            {"name": column, "type": _type(row[column] for row in rows)}
            | {name: value for name, value in described.items() if value}
        )
    return {
        "profile": "tabular-data-resource",
        "name": table.replace("_", "-"),
        "path": f"{FOLDER}/{file}",
        "encoding": "utf-8",
        "schema": {"fields": fields, "missingValues": [""]},
    }


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def _type(cells: Iterable[str]) -> str:
    """The narrowest type that every cell of a column has."""
    held = [cell for cell in cells if cell]
    if held and all(cell in ("True", "False") for cell in held):
        return "boolean"
    if not held or not all(map(_is_number, held)):
        return "string"
    return "integer" if all(cell.lstrip("-").isdigit() for cell in held) else "number"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
