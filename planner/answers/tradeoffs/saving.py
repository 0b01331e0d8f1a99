"""What a plan trades and where it would change, in a folder."""

from __future__ import annotations

from pathlib import Path

from planner.report.findings import to_csv_files, to_html, to_markdown
from planner.report.saving import FolderKind, write_folder
from planner.report.shape import answer_json
from planner.trace.records import Document


def _kind(name: str, said: str) -> FolderKind:
    files = (f"{name}.json", f"{name}.html", f"{name}.md", "csv")
    return FolderKind(said, f"{name}.json", f"everfleet_{name}", files)


KINDS = {
    "pareto": _kind("pareto", "a folder of a front"),
    "sensitivity": _kind("sensitivity", "a folder of a sensitivity"),
}


def save_findings(document: Document, folder: Path) -> list[Path]:
    """Write NAME.json, NAME.html, NAME.md and csv/ into `folder`, all of them or nothing."""
    name, kind = next(pair for pair in KINDS.items() if pair[1].key in document)
    contents: dict[str, str | bytes] = {
        f"{name}.json": answer_json(document),
        f"{name}.html": to_html(document),
        f"{name}.md": to_markdown(document),
    }
    contents |= {f"csv/{file}": text for file, text in to_csv_files(document).items()}
    return write_folder(contents, folder, kind)
