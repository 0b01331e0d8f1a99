"""An answer out of the document that a question gave: its sentences, its tables, and how its numbers open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.notebook.answer import Answer, Content, Drawings, Kind, Steps
from planner.notebook.kinds import markdown, save_plainly, tables_in
from planner.report import charts, findings, page
from planner.report.saving import save
from planner.report.tables import TITLES, headline
from planner.report.text import to_markdown, to_terminal
from planner.trace.explain import Explanation, explanation_from
from planner.trace.records import Record

if TYPE_CHECKING:
    from planner.answers import checkpoints
    from planner.answers.throughput import Question
    from planner.inputs.job.schema import Job
    from planner.inputs.scenario import Scenario
    from planner.trace.quantities import Fact


# Tables of a job and sections of a fit in the order of reading.
_OF_A_JOB = (
    "scores",
    "phases",
    "scopes",
    "failures",
    "changes",
    "tornado",
    "predicted",
    "assumed",
    "metered",
)
_OF_A_FIT = ("read", "rate", "sizes", "lives", "beside", "repeats", "lemons", "downtime", "ahead")


def made(document: Record) -> Answer:
    """The answer of a document that was kept."""
    known = {"everfleet_job": job_made, "everfleet_fit": fit_made, "everfleet_futures": futures_made}
    make = next((make for key, make in known.items() if key in document), plan_made)
    return make(document)


def plan_made(document: Record, scenario: Scenario | None = None) -> Answer:
    """A plan; its cells open as those of its page do."""
    from planner.answers.plan.cells import cell_explanation

    clash = document["clash"]
    said = [document["status"]["text"], *headline(document), *document["why"]]
    tables = _in_order(document["tables"] | {"tornado": document["tornado"]}, TITLES)
    opened = None if scenario is None else (lambda: nullcontext(scenario))

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        rows = document["totals"] if table == "totals" else tables[table]
        return cell_explanation(document, table, rows[row], key, opened)

    content = Content(
        document["title"],
        tuple(said if clash is None else [*said, clash["text"]]),
        document["totals"],
        tables,
        document["explanations"],
    )
    kind = Kind("plan", to_terminal, to_markdown, save, True, lambda: charts.PLAN_PICTURES)
    return Answer(content, document, kind, open_cell=open_cell, scenario=scenario)


def job_made(document: Record, job: Job | None = None) -> Answer:
    """The carbon of a job; its cells are worked out again when they are opened, where the job is at hand."""
    from planner.answers.job import to_card, to_text
    from planner.answers.job.cells import named_explanation
    from planner.answers.job.model_card import assumed_said, boundary_said
    from planner.answers.job.page import save_job

    said = [document["model_card"], f"Boundary: {boundary_said(document)}", assumed_said(document)]
    tables = _in_order(tables_in(document), _OF_A_JOB)

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        return None if job is None else named_explanation(job, document, f"{table}.{row + 1}.{key}")

    content = Content(
        document["title"],
        tuple(filter(None, [*said, *document["notes"]])),
        document["totals"],
        {name: rows for name, rows in tables.items() if name not in ("totals", "inputs", "boundary")},
        document["explanations"],
    )
    kind = Kind(
        "job", to_text, lambda found: to_card(found) + "\n", save_job, drawings=lambda: charts.JOB_PICTURES
    )
    return Answer(content, document, kind, open_cell=open_cell)


def checkpoints_made(document: Record, question: checkpoints.Question | None = None) -> Answer:
    """Intervals and policies of one job, which its question opens, or of the jobs of a scenario."""
    from planner.answers.checkpoints import cell_explanation, scenario_text, to_text
    from planner.answers.checkpoints.page import save_checkpoints

    of_scenario = "jobs" in document
    whole = [job["document"] for job in document["jobs"] if "document" in job] if of_scenario else [document]
    one: Record = whole[0] if len(whole) == 1 else {}
    tables = {name: rows for name, rows in tables_in(one).items() if name != "inputs"}
    explanations: dict[str, Steps] = one.get("explanations", {}) | one.get("policy_explanations", {})
    for job in document.get("jobs", ()):
        tables.setdefault("sizes", []).extend({"job": job["name"], **size} for size in job["sizes"])
        explanations |= {f"{job['name']}.{name}": steps for name, steps in job["explanations"].items()}
    write = scenario_text if of_scenario else to_text

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        if question is None or table not in ("rows", "marks", "policies"):
            return None
        return cell_explanation(document["inputs"] | question.stated(), table, tables[table][row], key)

    return Answer(
        Content(_checkpoint_title(document), (), _kept(explanations), tables, explanations),
        document,
        _plain_kind(
            "checkpoints",
            write,
            _checkpoint_title(document),
            (),
            tables,
            save=lambda found, folder: save_checkpoints(found, write(found), folder),
            drawings=dict if of_scenario else _checkpoint_drawings,
        ),
        open_cell=open_cell,
    )


def _checkpoint_drawings() -> Drawings:
    """A curve for each measure."""
    return {name: partial(charts.checkpoint_curve, measure=name) for name in charts.MEASURES}


def _checkpoint_title(document: Record) -> str:
    if "jobs" in document:
        return f"Checkpoints of {document['scenario']}"
    inputs = document["inputs"]
    return f"Checkpoints of {inputs['model']} on {inputs['nodes']} nodes of {inputs['sku']}"


def fit_made(document: Record) -> Answer:
    """What a failure log tells; its cells are worked out from the log again when they are opened."""
    from planner.answers.failures import cell_explanation

    places = {name: section for section, held in document["sections"].items() for name in held["tables"]}

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        return cell_explanation(document, places[table], table, row, key) if table in places else None

    kind = Kind(
        "fit",
        findings.to_terminal,
        findings.to_markdown,
        findings.save_fit,
        True,
        lambda: charts.FIT_PICTURES,
    )
    return Answer(_sectioned(document), document, kind, open_cell=open_cell)


def front_made(document: Record) -> Answer:
    """Money against carbon."""
    from planner.answers.tradeoffs.page import save_findings

    kind = Kind(
        "front", findings.to_terminal, findings.to_markdown, save_findings, True, lambda: page.PICTURES
    )
    return Answer(_sectioned(document), document, kind)


def futures_made(document: Record, scenario: Scenario | None = None) -> Answer:
    """One plan for several futures."""
    from planner.answers.futures.page import futures_text, save_futures, sheets

    explanations = document["explanations"]
    content = Content(
        document["title"],
        tuple(document["headline"]),
        _kept(explanations),
        tables_in({name: document[name] for name in ("first_stage", "futures", "worth")}),
        explanations,
    )
    kind = Kind(
        "futures",
        futures_text,
        lambda found: findings.to_markdown(sheets(found)),
        save_futures,
        True,
        lambda: charts.FUTURES_PICTURES,
    )
    return Answer(content, document, kind, scenario=scenario)


def throughput_made(document: Record, question: Question | None = None) -> Answer:
    """What hardware delivers; a row that works is asked again with its reasons when one of it is opened."""
    from planner.answers.throughput import to_text

    tables, title = tables_in(document), f"{document['model']}: {document['kind'].replace('-', ' ')}"
    said = (*document["notes"], *(f"{key}: {value}" for key, value in document["about"].items()))
    tables = {name: rows for name, rows in tables.items() if name in ("rows", "reached")}

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        record = tables[table][row]
        if question is None or not record["fits"]:
            return None
        steps = _throughput_reasons(question, record).get(key)
        return None if steps is None else explanation_from(steps)

    content = Content(title, said, [], tables, document.get("explanations", {}))
    kind = _plain_kind("throughput", to_text, title, said, tables)
    return Answer(content, document, kind, open_cell=open_cell)


def _throughput_reasons(question: Question, record: Record) -> Mapping[str, Steps]:
    """The explanations of one row, as `--why` has them."""
    from dataclasses import replace

    from planner.answers.throughput import throughput_document

    size = record.get("nodes", record["accelerators"])
    asks = replace(question, skus=(record["sku"],), why=f"{record['sku']}:{size}")
    found: Mapping[str, Steps] = throughput_document(asks)["explanations"]
    return found


def calibration_made(document: Record) -> Answer:
    """What measurements change."""
    from planner.answers.calibration import probe_text, to_text

    probed = "everfleet_calibration" not in document
    tables = tables_in({name: held for name, held in document.items() if name != "facts"})
    if not probed:
        tables["facts"] = [{"key": key, "stated": stated} for key, stated in document["facts"].items()]
    title = "Measured on this machine" if probed else f"Calibrated on {document['file']}"
    kind = _plain_kind("calibration", probe_text if probed else to_text, title, (), tables)
    return Answer(Content(title, (), [], tables), document, kind)


def validation_made(document: Record) -> Answer:
    """Our values next to published ones."""
    from planner.validation import report_text

    summary = document["summary"]
    said = (
        f"{summary['rows']} rows: {summary['inside']} inside, {summary['outside']} outside, "
        f"{summary['not understood']} not understood, {summary['not run']} not run",
    )
    totals = [{"name": name, "value": value} for name, value in summary.items() if _is_number(value)]
    tables = {"rows": [dict(row) for row in document["rows"]]}
    kind = _plain_kind("validation", report_text, "Ours next to published values", said, tables)
    return Answer(Content("Ours next to published values", said, totals, tables), document, kind)


def facts_made(facts: Sequence[Fact], words: str) -> Answer:
    """Facts by words; each opens to its source."""
    from planner.answers.facts import fact_line, fact_records
    from planner.report.cells import explanation_of, fact_number

    records = fact_records(facts)
    title = f"Facts about {words}" if words else "Every fact"
    said = (f"{len(records)} facts",)

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        return explanation_of(fact_number(records[row])) if key == "value" else None

    explanations = {record["key"]: explanation_of(fact_number(record)).to_dict() for record in records}
    rows = [{key: value for key, value in record.items() if key != "boundary"} for record in records]
    tables = {"facts": rows}
    kind = _plain_kind("facts", lambda _: "\n".join(map(fact_line, facts)), title, said, tables)
    return Answer(Content(title, said, [], tables, explanations), records, kind, open_cell=open_cell)


def comparison_made(document: Record, *, inputs_known: bool = True) -> Answer:
    """Two plans: what was put in differently, where that is known, and what came out differently."""
    from planner.answers.saved.commands import compared_text

    title = " and ".join(plan["title"] for plan in document["plans"])
    said = tuple(f"only {row['only']}: {row['text']}" for row in document["decisions"])
    if not inputs_known:
        said = ("a plan out of a file keeps no scenario: inputs are not compared", *said)
    tables = {name: document[name] for name in ("plans", "inputs", "facts", "versions", "decisions")}
    kind = _plain_kind("comparison", compared_text, title, said, tables, sort_keys=True)
    return Answer(Content(title, said, document["totals"], tables), document, kind)


def scenario_made(records: list[Record], scenario: Scenario) -> Answer:
    """A scenario that is right: its tables in the units that everfleet computes in."""
    from planner.inputs.scenario import canonical_text
    from planner.inputs.scenario.writing import tables as written

    tables = tables_in(written(scenario))
    said = tuple(records[0]["notes"])
    kind = _plain_kind("scenario", lambda _: canonical_text(scenario), scenario.title, said, tables)
    return Answer(Content(scenario.title, said, [], tables), records, kind, scenario=scenario)


def _in_order(tables: Mapping[str, list[Record]], names: Iterable[str]) -> dict[str, list[Record]]:
    """Tables in the order of reading, for a file may hold them in that of the alphabet; others after them."""
    return {name: tables[name] for name in dict.fromkeys((*names, *sorted(tables))) if name in tables}


def _sectioned(document: Record) -> Content:
    """The sentences and tables of a document of sections."""
    held = document["sections"]
    sections = [held[name] for name in dict.fromkeys((*_OF_A_FIT, *sorted(held))) if name in held]
    explanations = document.get("explanations", {})
    return Content(
        document["title"],
        tuple(sentence for section in sections for sentence in section["said"]),
        _kept(explanations),
        {name: rows for section in sections for name, rows in section["tables"].items()},
        explanations,
    )


def _kept(explanations: Mapping[str, Steps]) -> list[Record]:
    """The numbers whose origin is kept, as totals."""
    return [
        {"name": name, "value": steps[0]["value"], "unit": steps[0]["unit"]}
        for name, steps in explanations.items()
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain_kind(
    name: str,
    text: Callable[[Any], str],
    title: str,
    said: tuple[str, ...],
    tables: Mapping[str, list[Record]],
    *,
    sort_keys: bool = False,
    save: Callable[[Any, Path], list[Path]] | None = None,
    drawings: Callable[[], Drawings] = dict,
) -> Kind:
    """A kind of answer that has no page of its own."""

    def to_markdown(_: Any) -> str:
        return markdown(title, said, tables)

    def plainly(document: Any, folder: Path) -> list[Path]:
        return save_plainly(document, folder, kind=name, text=to_markdown(document), tables=tables)

    return Kind(name, text, to_markdown, save or plainly, sort_keys, drawings)
