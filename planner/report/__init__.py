"""A plan document as Markdown, terminal text, one HTML file, a workbook, CSV and JSON.

Every number comes from the document; only the way of writing it is decided here. Names that people wrote
are escaped for the format that they end up in.
"""
