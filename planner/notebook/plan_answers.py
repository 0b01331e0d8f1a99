"""Answers about plans out of their documents: sentences, tables, and how their numbers open."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from planner.notebook.answer import Answer, Content, Kind
from planner.notebook.kinds import in_order, kept_steps, kept_totals, plain_kind, sectioned
from planner.report import charts, findings, page
from planner.report.cells import opened_at, opened_cell
from planner.report.saving import save
from planner.report.table_columns import TITLES
from planner.report.tables import headline
from planner.report.text import to_markdown, to_terminal
from planner.trace.explain import Explanation
from planner.trace.records import Record, tables_in

if TYPE_CHECKING:
    from planner.inputs.scenario import Scenario


def plan_made(document: Record, scenario: Scenario | None = None) -> Answer:
    """A plan; its cells open as those of its page do."""
    from planner.answers.plan.cells import cell_explanation

    clash = document["clash"]
    said = [document["status"]["text"], *headline(document), *document["why"]]
    tables = in_order(document["tables"] | {"tornado": document["tornado"]}, TITLES)

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        rows = document["totals"] if table == "totals" else tables[table]
        return cell_explanation(document, table, rows[row], key)

    content = Content(
        document["title"],
        tuple(said if clash is None else [*said, clash["text"]]),
        document["totals"],
        tables,
        kept_steps(document),
    )
    kind = Kind("plan", to_terminal, to_markdown, save, lambda: charts.PLAN_PICTURES)
    return Answer(content, document, kind, open_cell=open_cell, scenario=scenario)


def front_made(document: Record) -> Answer:
    """Money against carbon."""
    from planner.answers.tradeoffs.saving import save_findings

    kind = Kind("front", findings.to_terminal, findings.to_markdown, save_findings, lambda: page.PICTURES)
    return Answer(sectioned(document), document, kind, open_cell=partial(opened_at, document))


def futures_made(document: Record, scenario: Scenario | None = None) -> Answer:
    """One plan for several futures."""
    from planner.answers.futures.page import futures_text, save_futures, sheets

    explanations = kept_steps(document)
    content = Content(
        document["title"],
        tuple(document["headline"]),
        kept_totals(explanations),
        tables_in({name: document[name] for name in ("first_stage", "futures", "worth")}),
        explanations,
    )
    kind = Kind(
        "futures",
        futures_text,
        lambda found: findings.to_markdown(sheets(found)),
        save_futures,
        lambda: charts.FUTURES_PICTURES,
    )

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        return opened_cell(document, table, document[table][row], key) if table in document else None

    return Answer(content, document, kind, open_cell=open_cell, scenario=scenario)


def comparison_made(document: Record, *, inputs_known: bool = True) -> Answer:
    """Two plans: what was put in differently, where that is known, and what came out differently."""
    from planner.answers.saved.commands import compared_text
    from planner.answers.saved.compare import NO_INPUTS
    from planner.report.shape import decision_lines

    title = " and ".join(plan["title"] for plan in document["plans"])
    said = tuple(decision_lines(document))
    if not inputs_known:
        said = (NO_INPUTS, *said)
    tables = {name: document[name] for name in ("plans", "inputs", "facts", "versions", "decisions")}
    kind = plain_kind("comparison", compared_text, title, said, tables)
    return Answer(
        Content(title, said, document["totals"], tables),
        document,
        kind,
        open_cell=partial(opened_at, document),
    )


def scenario_made(records: list[Record], scenario: Scenario) -> Answer:
    """A scenario that is right: its tables in the units that everfleet computes in."""
    from planner.inputs.scenario import canonical_text
    from planner.inputs.scenario.writing import tables as written

    tables = tables_in(written(scenario))
    said = tuple(records[0]["notes"])
    kind = plain_kind("scenario", lambda _: canonical_text(scenario), scenario.title, said, tables)
    return Answer(Content(scenario.title, said, [], tables), records, kind, scenario=scenario)
