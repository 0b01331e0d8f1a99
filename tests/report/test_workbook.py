"""The workbook: what a spreadsheet reads back is the document, and nothing in it runs."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.report.tables import tables
from planner.report.workbook import to_workbook

SAMPLE = json.loads((Path(__file__).parents[1] / "sample_plan.json").read_text(encoding="utf-8"))
HOSTILE = (
    '=HYPERLINK("http://example.org";"x")',
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "{=1}",
    "http://example.org",
    "mailto:a@b",
    "internal:'plan'!A1",
    "1e3",
    "\x1b[31m",
    "<script>",
    "",
)


@pytest.fixture
def document() -> dict[str, Any]:
    return copy.deepcopy(SAMPLE)


def read(document: dict[str, Any]) -> openpyxl.Workbook:
    return openpyxl.load_workbook(io.BytesIO(to_workbook(document)))


def test_each_table_is_a_sheet_whose_cells_are_its_values(document: dict[str, Any]) -> None:
    """Read back by another library: headings, then every value, a number as a number to its last digit."""
    book = read(document)
    for name, table in tables(document).items():
        sheet = book[name.replace("_", " ")]
        headings, *rows = sheet.iter_rows(values_only=True)

        assert headings == table.headings
        assert len(rows) == len(table.values)
        for cells, values in zip(rows, table.values, strict=True):
            for cell, value in zip(cells, values, strict=True):
                if isinstance(value, bool):
                    assert cell == ("yes" if value else "no")
                elif isinstance(value, int | float):
                    assert isinstance(cell, int | float)
                    assert cell == pytest.approx(value, rel=1e-15)
                else:
                    assert (cell or "") == (value or "")
        assert sheet.freeze_panes == "A2"


def test_the_first_sheet_tells_what_it_comes_to(document: dict[str, Any]) -> None:
    """Status, headline, and each total in its own unit with the range that the document states."""
    sheet = read(document)["plan"]
    rows = list(sheet.iter_rows(values_only=True))
    first = [row[0] for row in rows]

    assert first[0] == document["title"]
    assert any(document["status"]["text"] in str(text) for text in first)
    assert set(document["headline"]) <= set(first)
    for total in document["totals"]:
        row = next(row for row in rows if row[0] == total["label"] and row[1] == total["value"])
        assert row[2:6] == (total["unit"], total["p5"], total["p50"], total["p95"])
    assert any(document["scenario_digest"] in str(text) for text in first)


def test_headings_carry_units(document: dict[str, Any]) -> None:
    headings = [cell.value for cell in read(document)["purchases"][1]]

    assert "purchases (MUSD)" in headings


@pytest.mark.parametrize("text", HOSTILE)
def test_what_people_wrote_is_neither_formula_nor_link(document: dict[str, Any], text: str) -> None:
    """Cells with it are of the kind 'string', and the file holds no formula, link or outside reference."""
    document["title"] = document["headline"][0] = text
    for row in (document["tables"]["purchases"][0], document["tables"]["fleet"][0]):
        row |= {"site": text, "sku": text}
    content = to_workbook(document)
    sheet = openpyxl.load_workbook(io.BytesIO(content))["purchases"]
    column = [cell.value for cell in sheet[1]].index("site") + 1
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name).decode("utf-8") for name in archive.namelist()}

    assert sheet.cell(2, column).data_type == "s" or text == ""
    if text.isprintable() and text:
        assert sheet.cell(2, column).value == text
    sheets = "".join(part for name, part in parts.items() if name.startswith("xl/worksheets/"))
    assert "<f>" not in sheets
    assert "<hyperlink" not in sheets
    assert not [name for name in parts if "externalLink" in name or "/_rels/sheet" in name]


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=40))
@pytest.mark.nightly
def test_any_title_gives_a_file_that_opens(title: str) -> None:
    assert "plan" in read(SAMPLE | {"title": title}).sheetnames


def test_the_same_plan_gives_the_same_bytes(document: dict[str, Any]) -> None:
    backwards = dict(reversed(document.items()))

    assert to_workbook(document) == to_workbook(backwards)


def test_a_plan_that_does_not_exist_tells_the_ways_out(document: dict[str, Any]) -> None:
    give = {
        "limit": "power",
        "where": "oregon",
        "period": "2027 Q2",
        "by": 412.0,
        "unit": "kW",
        "share_fraction": 0.41,
    }
    document |= {"totals": [], "headline": [], "tornado": []}
    document["tables"] = {name: [] for name in document["tables"]}
    document["clash"] = {
        "text": "",
        "families": [{"family": "power", "alone_enough": True, "rows": [give], "cost_usd": 1e6}],
    }
    book = read(document)
    headings, row = book["way out 1"].iter_rows(values_only=True)

    assert book.sheetnames == ["plan", "way out 1"]
    assert dict(zip(headings, row, strict=True)) == {
        "limit": "power",
        "where": "oregon",
        "period": "2027 Q2",
        "by": 412,
        "unit": "kW",
        "share of limit (%)": 41,
    }
