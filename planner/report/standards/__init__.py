"""Answers in the formats that others have published: `write_as` and the list of what there is."""

from planner.report.standards.formats import FORMATS, Format, StandardError, save_files, write_as

__all__ = ["FORMATS", "Format", "StandardError", "save_files", "write_as"]
