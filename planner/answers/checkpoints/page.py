"""A checkpoint document in a folder: its curve, its tables and itself, all of them or nothing."""

from __future__ import annotations

import html
from pathlib import Path

from planner.report.charts import MEASURES, Document, Picture, checkpoint_curve, to_svg
from planner.report.data import csv_text
from planner.report.saving import FolderKind, write_folder
from planner.report.shape import answer_json
from planner.report.tables import Table, table_of
from planner.trace.currency import in_its_currency

_TABLES = {
    "rows": "checkpoints",
    "marks": "marks",
    "policies": "policies",
    "best": "best",
    "finish": "finish",
    "simulation": "simulation",
    "sizes": "by_nodes",
    "map": "map",
    "curves": "curves",
}
_HTML = "checkpoints.html"
CHECKPOINTS = FolderKind(
    "a folder of checkpoints",
    "checkpoints.json",
    "everfleet_checkpoints",
    ("checkpoints.json", "checkpoints.html", "checkpoints.svg", "csv"),
)


def save_checkpoints(document: Document, text: str, folder: Path) -> list[Path]:
    """Write a document of checkpoints as checkpoints.json, .svg, .html and csv/ into `folder`.

    `text` is the document for a terminal, which the page shows below the curve. A scenario has a curve where
    one size of one job was requested, else a table of sizes. A folder that holds anything else is not
    touched.
    """
    return write_folder(_contents(document, text), folder, CHECKPOINTS)


@in_its_currency
def csv_files(document: Document) -> dict[str, str]:
    """One CSV for each table of a document of one job of one size."""
    held = {name: document[key] for key, name in _TABLES.items() if document.get(key)}
    return {f"{name}.csv": csv_text(name, rows) for name, rows in held.items()}


@in_its_currency
def _contents(document: Document, text: str) -> dict[str, str]:
    jobs = document.get("jobs", [])
    whole = [job["document"] for job in jobs if "document" in job]
    one = whole[0] if len(whole) == 1 else document
    contents = {"checkpoints.json": answer_json(document)}
    picture = checkpoint_curve(one) if "rows" in one else None
    if picture is not None:
        contents["checkpoints.svg"] = to_svg(picture)
    contents[_HTML] = _page(one, text)
    contents |= {f"csv/{name}": text for name, text in csv_files(one).items()}
    if sizes := [{"job": job["name"], **size} for job in jobs for size in job["sizes"]]:
        contents["csv/sizes.csv"] = csv_text("sizes", sizes)
    return contents


def _page(document: Document, text: str) -> str:
    """One file: a curve for each measure, the optima, and the text of the terminal."""
    parts = []
    if "rows" in document:
        pictures = {measure: checkpoint_curve(document, measure) for measure in MEASURES}
        parts += [_figure(picture, MEASURES[name]) for name, picture in pictures.items() if picture]
        parts.append(_table(table_of("marks", document["marks"])))
    parts.append(f"<pre>{html.escape(text)}</pre>")
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>Checkpoint intervals</title>"
        "<style>body{font:15px sans-serif;margin:2rem;color-scheme:light dark}pre{overflow:auto}"
        "td,th{padding:.2rem .8rem;text-align:right}</style></head><body><h1>Checkpoint intervals</h1>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _figure(picture: Picture, caption: str) -> str:
    return (
        f"<figure role='img' aria-label='{html.escape(picture.alt)}'>{to_svg(picture, 640)}"
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in table.headings)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>" for cells in table.cells
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
