"""How answers are written: Markdown, a folder, tables out of plain data, and the content of sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from planner.notebook.answer import Content, Drawings, Kind, Steps
from planner.report.data import csv_text
from planner.report.saving import FolderKind, write_folder
from planner.report.shape import answer_json, is_answer
from planner.report.tables import table_of
from planner.report.text import markdown_escaped, markdown_table
from planner.trace.explain import kept_step
from planner.trace.records import Record

# Sections of a fit in the order of reading.
_OF_A_FIT = ("read", "rate", "sizes", "lives", "beside", "repeats", "lemons", "downtime", "ahead")
FOLDER = FolderKind(
    "a folder of an answer", "answer.json", "everfleet_answer", ("answer.json", "answer.md", "csv")
)


def markdown(title: str, said: Sequence[str], tables: Mapping[str, list[Record]]) -> str:
    """Title, sentences and tables as Markdown."""
    parts = [f"# {markdown_escaped(title)}"]
    parts += ["\n".join(f"- {markdown_escaped(sentence)}" for sentence in said)] if said else []
    for name, rows in tables.items():
        if rows:
            keys = tuple(dict.fromkeys(key for row in rows for key in row))
            table = markdown_table(table_of("", rows, keys))
            parts.append(f"## {markdown_escaped(name.replace('_', ' '))}\n\n{table}")
    return "\n\n".join(parts) + "\n"


def save_plainly(
    document: Any, folder: Path, *, kind: str, text: str, tables: Mapping[str, list[Record]]
) -> list[Path]:
    """Write answer.json, answer.md and csv/ into `folder`, all of them or nothing."""
    kept = document if is_answer(document) else {"everfleet_answer": kind, "document": document}
    contents = {
        "answer.json": answer_json(kept),
        "answer.md": text,
    }
    contents |= {f"csv/{name}.csv": csv_text("", rows) for name, rows in tables.items() if rows}
    return write_folder(contents, folder, FOLDER)


def in_order(tables: Mapping[str, list[Record]], names: Iterable[str]) -> dict[str, list[Record]]:
    """Tables in the order of reading, for a file may hold them in that of the alphabet; others after them."""
    return {name: tables[name] for name in dict.fromkeys((*names, *sorted(tables))) if name in tables}


def sectioned(document: Record) -> Content:
    """The sentences and tables of a document of sections."""
    held = document["sections"]
    sections = [held[name] for name in dict.fromkeys((*_OF_A_FIT, *sorted(held))) if name in held]
    explanations = kept_steps(document)
    return Content(
        document["title"],
        tuple(sentence for section in sections for sentence in section["said"]),
        kept_totals(explanations),
        {name: rows for section in sections for name, rows in section["tables"].items()},
        explanations,
    )


def kept_steps(document: Record) -> dict[str, Steps]:
    """The explanations that a document keeps by name."""
    names = document.get("explanations", {})
    return {name: found.to_dict() for name in names if (found := kept_step(document, name))}


def kept_totals(explanations: Mapping[str, Steps]) -> list[Record]:
    """The numbers whose origin is kept, as totals."""
    return [
        {"name": name, "value": steps[0]["value"], "unit": steps[0]["unit"]}
        for name, steps in explanations.items()
    ]


def plain_kind(
    name: str,
    text: Callable[[Any], str],
    title: str,
    said: tuple[str, ...],
    tables: Mapping[str, list[Record]],
    *,
    save: Callable[[Any, Path], list[Path]] | None = None,
    drawings: Callable[[], Drawings] = dict,
) -> Kind:
    """A kind of answer that has no page of its own."""

    def to_markdown(_: Any) -> str:
        return markdown(title, said, tables)

    def plainly(document: Any, folder: Path) -> list[Path]:
        return save_plainly(document, folder, kind=name, text=to_markdown(document), tables=tables)

    return Kind(name, text, to_markdown, save or plainly, drawings)
