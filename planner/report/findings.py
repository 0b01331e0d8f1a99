"""What a failure log tells, a fit or a test of forecasts, as text, Markdown, HTML, CSV and a folder.

The page and the tables serve any document of sections, such as a job's carbon.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from planner.report import charts, page
from planner.report.charts import Picture
from planner.report.data import csv_text
from planner.report.page import template
from planner.report.saving import FolderKind, write_folder
from planner.report.shape import answer_json
from planner.report.tables import Table, table_of
from planner.report.text import markdown_escaped, markdown_table, text_table, wrapped
from planner.trace.currency import in_its_currency
from planner.trace.explain import kept_step
from planner.trace.records import Document, Record

FIT = FolderKind("a folder of a fit", "fit.json", "everfleet_fit", ("fit.json", "fit.html", "fit.md", "csv"))

# Tables that are drawn rather than read, and the columns of others that a terminal has room for.
_DRAWN = ("survival", "nodes_down", "periods", "next_period")
_NARROW = {
    "causes": ("cause", "failures", "of_all_fraction", "per_1000_node_d", "low", "high", "drawn_together"),
    "mttf": ("accelerators", "nodes", "mttf_h", "low_mttf_h", "high_mttf_h", "interval_min", "ettr_fraction"),
    "measured": (
        "nodes",
        "jobs",
        "failures",
        "measured_mttf_h",
        "measured_low_h",
        "measured_high_h",
        "model_mttf_h",
        "disagrees",
    ),
    "published_fleets": ("fleet", "per_1000_node_d", "low", "high", "counts", "this_log_to_it_ratio"),
    "points": ("point", "cost_usd", "carbon_kgco2e", "usd_per_tonne_saved", "mark", "nodes_bought"),
    "flips": ("what", "unit", "today", "side", "holds_to", "changes_at", "regret_at_the_end_fraction"),
    "fits": ("lifetime", "parameters", "aic", "median_d"),
}
TERMINAL_ROWS, TERMINAL_BAD_ROWS = 10, 20
# Key of a kind of document -> section -> its chart.
_PICTURES = {
    "everfleet_checkpoints": charts.CHECKPOINT_PICTURES,
    "everfleet_pareto": page.PICTURES,
    "everfleet_job": charts.JOB_PICTURES,
    "everfleet_fit": charts.FIT_PICTURES,
    "everfleet_futures": charts.FUTURES_PICTURES,
}


@in_its_currency
def to_terminal(document: Document) -> str:
    """Sections with their sentences and tables, long tables cut; rows that were left out last."""
    blocks = [document["title"]]
    for _, section in _sections(document):
        lines = [section["title"], *(wrapped(f"- {sentence}", "  ") for sentence in section["said"])]
        blocks.append("\n".join(lines))
        for name, rows in section["tables"].items():
            if name not in _DRAWN:
                more = f"\n({len(rows) - TERMINAL_ROWS} more rows)" if len(rows) > TERMINAL_ROWS else ""
                blocks.append(text_table(table_of("", rows[:TERMINAL_ROWS], _NARROW.get(name, ()))) + more)
    if bad := document.get("bad_rows"):
        shown = [f"{row['file']}:{row['line']}: {row['reason']}" for row in bad[:TERMINAL_BAD_ROWS]]
        hidden = document["bad_row_count"] - len(shown)
        shown += [f"({hidden} more)"] if hidden else []
        blocks.append("\n".join(["Rows left out", *(wrapped(f"- {line}", "  ") for line in shown)]))
    return "\n\n".join(blocks)


@in_its_currency
def to_markdown(document: Document) -> str:
    """The whole document as Markdown that reads well without being drawn."""
    parts = [f"# {markdown_escaped(document['title'])}"]
    for _, section in _sections(document):
        parts.append(f"## {markdown_escaped(section['title'])}")
        if section["said"]:
            parts.append("\n".join(f"- {markdown_escaped(sentence)}" for sentence in section["said"]))
        for name, table in _tables(section):
            parts.append(f"### {markdown_escaped(name)}\n\n{markdown_table(table)}")
    return "\n\n".join(parts) + "\n"


@in_its_currency
def to_html(document: Document) -> str:
    """The document as one file: charts drawn in place with their tables below, nothing is fetched."""
    return template("findings.html").render(
        document=document,
        sections=[
            {**section, "name": name, "tables": _tables(section), "picture": _picture(document, name)}
            for name, section in _sections(document)
        ],
        svg=charts.to_svg,
        explained=[
            (name, found.to_text())
            for name in document.get("explanations", {})
            if (found := kept_step(document, name)) is not None
        ],
    )


@in_its_currency
def to_csv_files(document: Document) -> dict[str, str]:
    """One CSV for each table, and one for the rows that were left out."""
    named = {
        f"{name}.csv": rows for _, section in _sections(document) for name, rows in section["tables"].items()
    }
    named |= {"bad_rows.csv": document["bad_rows"]} if document.get("bad_rows") else {}
    return {name: csv_text("", rows) for name, rows in named.items()}


def save_fit(document: Document, folder: Path) -> list[Path]:
    """Write fit.json, fit.html, fit.md and csv/ into `folder`, all of them or nothing."""
    contents = {
        "fit.json": answer_json(document),
        "fit.html": to_html(document),
        "fit.md": to_markdown(document),
    }
    contents |= {f"csv/{name}": text for name, text in to_csv_files(document).items()}
    return write_folder(contents, folder, FIT)


def _sections(document: Document) -> Iterator[tuple[str, Record]]:
    yield from document["sections"].items()


def _tables(section: Record) -> list[tuple[str, Table]]:
    return [(name.replace("_", " "), table_of("", rows)) for name, rows in section["tables"].items()]


def _picture(document: Document, section: str) -> Picture | None:
    drawings = next((drawn for key, drawn in _PICTURES.items() if key in document), {})
    draw = drawings.get(section)
    return None if draw is None else draw(document)
