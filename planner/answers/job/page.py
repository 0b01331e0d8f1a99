"""A job in a folder: its document, a page, Markdown and tables, all of them or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from planner.answers.job import to_card
from planner.answers.job.model_card import assumed_said, boundary_said
from planner.report import findings
from planner.report.saving import FolderKind, write_folder
from planner.report.shape import answer_json
from planner.trace.records import Document, Record

JOB = FolderKind("a folder of a job", "job.json", "everfleet_job", ("job.json", "job.html", "job.md", "csv"))


def save_job(document: Document, folder: Path) -> list[Path]:
    """Write job.json, job.html, job.md (the model card) and csv/ into `folder`, all of them or nothing."""
    contents = {
        "job.json": answer_json(document),
        "job.html": to_html(document),
        "job.md": to_card(document) + "\n",
    }
    contents |= {f"csv/{name}": text for name, text in to_csv_files(document).items()}
    return write_folder(contents, folder, JOB)


def to_html(document: Document) -> str:
    """The job as one page that fetches nothing."""
    return findings.to_html(_sectioned(document))


def to_csv_files(document: Document) -> dict[str, str]:
    """One CSV for each table of the job."""
    return findings.to_csv_files(_sectioned(document))


def _sectioned(document: Document) -> Document:
    return {**document, "sections": dict(_sections(document))}


def _sections(document: Document) -> Iterator[tuple[str, Record]]:
    """The document as the page shows it: a heading, sentences, and tables."""
    first = [document["model_card"], f"Boundary: {boundary_said(document)}", assumed_said(document)]
    yield (
        "totals",
        _section(
            "Carbon, energy and water",
            [sentence for sentence in first if sentence],
            totals=_ranged(document["totals"]),
            scores=_ranged(document["scores"]),
        ),
    )
    yield (
        "phases",
        _section(
            "By phase",
            [],
            phases=document["phases"],
            training_by_state=document["failures"],
            metered=document["metered"],
        ),
    )
    yield (
        "scopes",
        _section(
            "By scope",
            [
                "A market-based figure is shown next to the total; it is no part of it and no saving.",
                document.get("scope_note", ""),
                *document.get("inventory_notes", []),
            ],
            scopes=document["scopes"],
        ),
    )
    if document["embodied"]:
        shown = "Each step changes one cause from ours to theirs; what is left over is the residual."
        yield "embodied", _section("Why others print other figures", [shown], embodied=document["embodied"])
    yield (
        "changes",
        _section(
            "What would change it",
            ["Each row is the same job worked out again with one thing different."],
            changes=document["changes"],
        ),
    )
    shown = "Carbon with each fact at its low and at its high end."
    yield "uncertainty", _section("What is least certain", [shown], tornado=tornado_rows(document))
    yield "facts", _section("Facts and their sources", [], facts=document["facts"])


def tornado_rows(document: Document) -> list[Record]:
    """Facts at their ends, and the carbon of the job at each."""
    return [
        {
            **{key: row[key] for key in ("fact", "unit", "low", "high")},
            "at_low_kgco2e": row["at_low"],
            "at_high_kgco2e": row["at_high"],
        }
        for row in document["tornado"]
    ]


def _section(title: str, said: list[str], **tables: list[Record]) -> Record:
    return {"title": title, "said": said, "tables": {name: rows for name, rows in tables.items() if rows}}


def _ranged(records: list[Record]) -> list[Record]:
    keys = ("label", "value", "unit", "p5", "p50", "p95")
    return [{key: record[key] for key in keys} for record in records]
