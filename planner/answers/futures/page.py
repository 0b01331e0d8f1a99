"""A plan for several futures in words, and in a folder: its document, a page, Markdown and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from planner.report import findings
from planner.report.columns import aligned, words
from planner.report.saving import FolderKind, write_folder
from planner.report.shape import answer_json
from planner.trace.currency import in_its_currency
from planner.trace.numbers import amount_text, mass, money, percent_text
from planner.trace.records import Document, Record

FUTURES = FolderKind(
    "a folder of futures",
    "futures.json",
    "everfleet_futures",
    ("futures.json", "futures.html", "futures.md", "csv"),
)
# What a value of `worth` is called where it stands alone.
WORTH = {
    "hedging": "planning for all futures and not for their mean (value of the stochastic solution)",
    "knowing": "knowing the future before ordering (expected value of perfect information)",
}
# Column of a future's row -> what a table calls it; objectives end in the unit of the objective.
COLUMNS = {
    "future": "future",
    "probability_fraction": "probability_fraction",
    "objective_value": "objective",
    "known_value": "had_it_been_known",
    "regret_value": "regret",
    "regret_fraction": "regret_fraction",
    "mean_plan_value": "plan_for_the_mean_future",
    "cost_usd": "cost_usd",
    "carbon_kgco2e": "carbon_kgco2e",
    "nodes_ordered": "nodes_ordered",
}
_OBJECTIVES = ("objective_value", "known_value", "regret_value", "mean_plan_value")


def save_futures(document: Document, folder: Path) -> list[Path]:
    """Write futures.json, futures.html, futures.md and csv/ into `folder`, all of them or nothing."""
    shown = sheets(document)
    contents: dict[str, str | bytes] = {
        "futures.json": answer_json(document),
        "futures.html": findings.to_html(shown),
        "futures.md": findings.to_markdown(shown),
    }
    contents |= {f"csv/{name}": text for name, text in findings.to_csv_files(shown).items()}
    return write_folder(contents, folder, FUTURES)


def sheets(document: Document) -> Document:
    """The document with its headings, sentences and tables as the page shows them."""
    return {**document, "sections": dict(_sections(document))}


@in_its_currency
def futures_text(document: Mapping[str, Any]) -> str:
    """The document in words: what is decided now, then a table of the futures."""
    lines = list(document["headline"])
    if not document["futures"]:
        return "\n".join(lines)
    shown = partial(amount_text, unit=document["objective"]["unit"])
    columns = words(
        ("future", lambda row: row["future"]),
        ("chance", lambda row: percent_text(row["probability_fraction"])),
        ("objective", lambda row: shown(row["objective_value"])),
        ("if known", lambda row: shown(row["known_value"])),
        ("regret", lambda row: _regret(row, shown)),
        (
            "mean plan",
            lambda row: "no plan" if row["mean_plan_value"] is None else shown(row["mean_plan_value"]),
        ),
        ("cost", lambda row: money(row["cost_usd"])),
        ("carbon", lambda row: mass(row["carbon_kgco2e"])),
    )
    return "\n".join([*lines, "", *aligned(columns, document["futures"])])


def _regret(row: Record, shown: Callable[[float], str]) -> str:
    if row["regret_fraction"] is None:
        return shown(row["regret_value"])
    return percent_text(max(row["regret_fraction"], 0.0))


def _sections(document: Document) -> Iterator[tuple[str, Record]]:
    """The document as the page shows it: a heading, sentences, and tables."""
    said, found = document["headline"], document["futures"]
    now = max(len(document["first_stage"]), 1)  # a sentence each, or one that says that there is nothing
    yield (
        "first_stage",
        _section(
            "What is decided now, whatever comes",
            said[:now] + [document["status"]["text"]] * bool(found),
            first_stage=_filled(document["first_stage"]),
        ),
    )
    if not found:
        return
    unit = document["objective"]["unit"].lower()
    worth = document["worth"]
    yield (
        "futures",
        _section(
            "What each future takes",
            said[now:],
            futures=[_future_row(row, unit) for row in found],
        ),
    )
    yield (
        "worth",
        _section(
            "What planning for several futures is worth",
            [],
            worth=[{"worth_of": WORTH[row["name"]], f"mean_saving_{unit}": row["value"]} for row in worth],
        ),
    )


def _section(title: str, said: list[str], **tables: list[Record]) -> Record:
    return {"title": title, "said": said, "tables": {name: rows for name, rows in tables.items() if rows}}


def _filled(rows: Sequence[Record]) -> list[Record]:
    """Rows that all have the same columns: only a move goes to another site."""
    keys = dict.fromkeys(key for row in rows for key in row)
    return [{key: row.get(key, "") for key in keys} for row in rows]


def _future_row(row: Record, unit: str) -> Record:
    """A row of a future as the page shows it."""
    return {f"{name}_{unit}" if key in _OBJECTIVES else name: row[key] for key, name in COLUMNS.items()}
