"""A checkpoint document in a folder: its curves, its tables and itself, all of them or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from planner.answers.checkpoints.text import sentences, sizes_said, title_of
from planner.report import findings
from planner.report.charts import MEASURES, checkpoint_curve, to_svg
from planner.report.data import csv_text
from planner.report.saving import FolderKind, write_folder
from planner.report.shape import answer_json
from planner.report.table_columns import COLUMNS
from planner.trace.currency import in_its_currency
from planner.trace.records import Document, Record

_TABLES = {
    "rows": "checkpoints",
    "marks": "marks",
    "policies": "policies",
    "best": "best",
    "stops": "stops",
    "waiting": "waiting",
    "recovery": "recovery",
    "detection": "detection",
    "finish": "finish",
    "simulation": "simulation",
    "sizes": "by_nodes",
    "map": "map",
    "curves": "curves",
}
CHECKPOINTS = FolderKind(
    "a folder of checkpoints",
    "checkpoints.json",
    "everfleet_checkpoints",
    ("checkpoints.json", "checkpoints.html", "checkpoints.svg", "csv"),
)


def save_checkpoints(document: Document, folder: Path) -> list[Path]:
    """Write a document of checkpoints as checkpoints.json, .svg, .html and csv/ into `folder`.

    A scenario has curves where one size of a job was requested, else a table of sizes. A folder that holds
    anything else is not touched.
    """
    return write_folder(_contents(document), folder, CHECKPOINTS)


@in_its_currency
def csv_files(document: Document) -> dict[str, str]:
    """One CSV for each table of a document of one job of one size."""
    held = {name: document[key] for key, name in _TABLES.items() if document.get(key)}
    return {f"{name}.csv": csv_text(name, rows) for name, rows in held.items()}


@in_its_currency
def _contents(document: Document) -> dict[str, str]:
    jobs = document.get("jobs", [])
    whole = [job["document"] for job in jobs if "document" in job]
    one = whole[0] if len(whole) == 1 else document
    contents = {"checkpoints.json": answer_json(document)}
    picture = checkpoint_curve(one) if "rows" in one else None
    if picture is not None:
        contents["checkpoints.svg"] = to_svg(picture)
    sections = dict(_of_one(one) if "rows" in one else _of_jobs(jobs))
    contents["checkpoints.html"] = findings.to_html(one | {"title": title_of(one), "sections": sections})
    contents |= {f"csv/{name}": text for name, text in csv_files(one).items()}
    if sizes := [{"job": job["name"], **size} for job in jobs for size in job["sizes"]]:
        contents["csv/sizes.csv"] = csv_text("sizes", sizes)
    return contents


def _of_one(document: Document) -> Iterator[tuple[str, Record]]:
    """Of one job of one size: sentences and optima, a curve for each measure, then every interval."""
    tables = {name: _narrowed(name, document[key]) for key, name in _TABLES.items() if document.get(key)} | {
        "today": document.get("today", [])
    }
    first = ("marks", "policies")
    shown = {name: rows for name, rows in tables.items() if rows}
    yield "best", _section("The best intervals", list(sentences(document)), shown, first)
    for measure, title in MEASURES.items():
        yield measure, _section(title[0].upper() + title[1:], [], {}, ())
    rest = [name for name in shown if name not in first]
    yield "intervals", _section("Every interval", [], shown, rest)


def _of_jobs(jobs: list[Record]) -> Iterator[tuple[str, Record]]:
    for job in jobs:
        yield job["name"], _section(sizes_said(job), [], {"sizes": job["sizes"]}, ("sizes",))


def _section(title: str, said: list[str], tables: Record, names: tuple[str, ...] | list[str]) -> Record:
    return {"title": title, "said": said, "tables": {name: tables[name] for name in names if name in tables}}


def _narrowed(name: str, rows: list[Record]) -> list[Record]:
    """Rows with the columns of reading alone, where their table has such."""
    keys = COLUMNS.get(name)
    return [{key: row[key] for key in keys if key in row} for row in rows] if keys else rows
