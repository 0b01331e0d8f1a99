"""The plan as a workbook: one sheet for each table, numbers as numbers, units in the headings.

What people wrote is written as text and never as a formula or a link, whatever it begins with. The same plan
gives the same bytes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import xlsxwriter  # type: ignore[import-untyped]  # it carries no types

from planner.report.tables import (
    Table,
    infeasibility_tables,
    provenance,
    table_of,
    tables,
    ways_table,
)
from planner.trace.currency import in_its_currency, shown_unit, shown_value
from planner.trace.records import Document

CREATED = datetime(1980, 1, 1)  # a workbook has to name a moment; the true one would change the bytes
FIRST = "plan"
WIDEST, NARROWEST = 60, 9  # letters
LONGEST_TEXT = 32_767  # letters that a cell can hold
_OPTIONS = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}


@in_its_currency
def to_workbook(document: Document) -> bytes:
    """The whole report as an XLSX file: what it comes to on the first sheet, each table on its own."""
    file = io.BytesIO()
    workbook = xlsxwriter.Workbook(file, _OPTIONS)
    workbook.set_properties({"title": _text(document["title"])[:255], "created": CREATED})
    formats = {
        "title": workbook.add_format({"bold": True, "font_size": 14}),
        "heading": workbook.add_format({"bold": True, "bottom": 1}),
        "number": workbook.add_format({"num_format": "#,##0.00"}),
        "whole": workbook.add_format({"num_format": "#,##0"}),
        "exact": workbook.add_format({"num_format": "General"}),
    }
    _front(workbook.add_worksheet(FIRST), document, formats)
    for name, table in _sheets(document):
        sheet = workbook.add_worksheet(name)
        _table(sheet, 0, table, formats, exact=name.startswith("facts"))
        sheet.freeze_panes(1, 0)
        if table.values:
            sheet.autofilter(0, 0, len(table.values), len(table.headings) - 1)
        for column, width in enumerate(_widths(table)):
            sheet.set_column(column, column, width)
    workbook.close()
    return file.getvalue()


def _sheets(document: Document) -> Iterator[tuple[str, Table]]:
    """Name and table of each sheet after the first."""
    for name, table in tables(document).items():
        yield name.replace("_", " "), table
    if document["tornado"]:
        yield "tornado", table_of("tornado", document["tornado"])
    if (ways := ways_table(document)) is not None:
        yield "what is enough", ways
    for number, (_, table) in enumerate(infeasibility_tables(document), start=1):
        yield f"way out {number}", table


def _front(sheet: Any, document: Document, formats: dict[str, Any]) -> None:
    """What a reader wants first: status, headline, totals with their ranges, and what it was made from."""
    status = document["status"]
    sheet.write_string(0, 0, _text(document["title"]), formats["title"])
    lines = [
        f"{status['name']}: {status['text']}",
        f"{document['horizon']['start']} to {document['horizon']['end']}; objective: "
        f"{document['objective']['text']}",
        *document["headline"],
        *(
            f"way out {number}: {title}"
            for number, (title, _) in enumerate(infeasibility_tables(document), start=1)
        ),
    ]
    row = _lines(sheet, 1, lines) + 1
    if document["totals"]:
        keys = ("label", "value", "unit", "p5", "p50", "p95")
        values = tuple(tuple(_shown(total, key) for key in keys) for total in document["totals"])
        headings = ("total", "value", "unit", "5 % lie below", "median", "95 % lie below")
        totals = Table(headings, (False, True, False, True, True, True), values, ())
        row = _table(sheet, row, totals, formats) + 1
    _lines(sheet, row, provenance(document))
    sheet.set_column(0, 0, WIDEST)
    sheet.set_column(1, 5, 16)


def _shown(total: dict[str, Any], key: str) -> Any:
    """A cell of the totals, money in the currency that is shown."""
    value = total.get(key)
    if key == "unit":
        return shown_unit(str(value))[1]
    return shown_value(float(value), total["unit"]) if value is not None and _is_number(value) else value


def _lines(sheet: Any, row: int, lines: Sequence[str]) -> int:
    """Text below text; gives the next row."""
    for line in lines:
        sheet.write_string(row, 0, _text(line))
        row += 1
    return row


def _table(sheet: Any, top: int, table: Table, formats: dict[str, Any], *, exact: bool = False) -> int:
    """Headings and rows from row `top` on; gives the next row."""
    for column, heading in enumerate(table.headings):
        sheet.write_string(top, column, heading, formats["heading"])
    for column in range(len(table.headings)):
        values = [row[column] for row in table.values]
        look = formats["exact" if exact else _look(values)]
        for row, value in enumerate(values, start=top + 1):
            _cell(sheet, row, column, value, look)
    return top + 1 + len(table.values)


def _look(values: Sequence[Any]) -> str:
    """How the numbers of a column are shown: the cells themselves hold every digit."""
    numbers = [abs(value) for value in values if _is_number(value)]
    if all(float(number).is_integer() for number in numbers):
        return "whole"
    return "number" if max(numbers) >= 1 else "exact"


def _cell(sheet: Any, row: int, column: int, value: Any, look: Any) -> None:
    match value:
        case None:
            return
        case bool():
            sheet.write_string(row, column, "yes" if value else "no")
        case int() | float():
            if math.isfinite(value):
                sheet.write_number(row, column, value, look)
        case _:
            sheet.write_string(row, column, _text(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: Any) -> str:
    return str(value)[:LONGEST_TEXT]


def _widths(table: Table) -> list[int]:
    """Letters that each column needs, within reason."""
    columns = zip(table.headings, *table.cells, strict=True)
    return [min(max(max(map(len, column)) + 2, NARROWEST), WIDEST) for column in columns]
