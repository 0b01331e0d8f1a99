"""A plan document as Markdown, terminal text, one HTML file, a workbook, CSV and JSON.

Every number comes from the document; only the way of writing it is decided here. Names that people wrote
are escaped for the format that they end up in.
"""

from planner.report.data import csv_text, to_csv_files, to_json
from planner.report.page import to_html
from planner.report.saving import ReportError, save
from planner.report.text import to_markdown, to_terminal
from planner.report.workbook import to_workbook

__all__ = [
    "ReportError",
    "csv_text",
    "save",
    "to_csv_files",
    "to_html",
    "to_json",
    "to_markdown",
    "to_terminal",
    "to_workbook",
]
