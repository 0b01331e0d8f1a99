"""Scenarios out of spreadsheets, lists of nodes and answers of a guide: one road, defaults written down."""

from planner.inputs.sheets.making import Made, scenario_from
from planner.inputs.sheets.reading import Sheet, read_sheet_contents, read_sheet_files, read_sheets
from planner.inputs.sheets.templates import TEMPLATES

__all__ = [
    "TEMPLATES",
    "Made",
    "Sheet",
    "read_sheet_contents",
    "read_sheet_files",
    "read_sheets",
    "scenario_from",
]
