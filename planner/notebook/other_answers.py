"""Answers about jobs, logs, hardware and facts out of their documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from planner.notebook.answer import Answer, Content, Kind
from planner.notebook.kinds import kept_steps, kept_totals, plain_kind, sectioned
from planner.report import charts, findings
from planner.report.cells import opened_at, opened_cell
from planner.report.shape import form_of, written
from planner.trace.explain import Explanation
from planner.trace.records import Record, tables_in

if TYPE_CHECKING:
    from planner.trace.quantities import Fact


def job_made(document: Record) -> Answer:
    """The carbon of a job."""
    from planner.answers.job import to_card, to_text
    from planner.answers.job.model_card import assumed_said, boundary_said
    from planner.answers.job.page import save_job

    said = [document["model_card"], f"Boundary: {boundary_said(document)}", assumed_said(document)]
    tables = {name: rows for name, rows in written(document)["tables"].items() if rows}

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        rows = document["totals"] if table == "totals" else tables[table]
        return opened_cell(document, table, rows[row], key)

    content = Content(
        document["title"],
        tuple(filter(None, [*said, *document["notes"]])),
        document["totals"],
        tables,
        kept_steps(document),
    )
    kind = Kind(
        "job", to_text, lambda found: to_card(found) + "\n", save_job, drawings=lambda: charts.JOB_PICTURES
    )
    return Answer(content, document, kind, open_cell=open_cell)


def checkpoints_made(document: Record) -> Answer:
    """Intervals and policies of one job, or of the jobs of a scenario."""
    from planner.answers.checkpoints import scenario_text, to_text
    from planner.answers.checkpoints.page import save_checkpoints

    jobs: list[Record] = document.get("jobs", [])
    whole = [job["document"] for job in jobs if "document" in job] if jobs else [document]
    one: Record = whole[0] if len(whole) == 1 else {}
    tables = {name: rows for name, rows in tables_in(one).items() if name != "inputs"}
    explanations = kept_steps(one)
    places: list[tuple[Record, int]] = []  # section and row of each size of a scenario
    for job in jobs:
        places += [(job, row) for row in range(len(job["sizes"]))]
        tables.setdefault("sizes", []).extend({"job": job["name"], **size} for size in job["sizes"])
        explanations |= {f"{job['name']}.{name}": steps for name, steps in kept_steps(job).items()}
    write = scenario_text if jobs else to_text

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        held, row = places[row] if jobs and table == "sizes" else (one, row)
        return opened_at(held, table, row, key)

    return Answer(
        Content(form_of(document).title(document), (), kept_totals(explanations), tables, explanations),
        document,
        plain_kind(
            "checkpoints",
            write,
            form_of(document).title(document),
            (),
            tables,
            save=save_checkpoints,
            drawings=dict if jobs else lambda: charts.CHECKPOINT_PICTURES,
        ),
        open_cell=open_cell,
    )


def fit_made(document: Record) -> Answer:
    """What a failure log tells."""
    kind = Kind(
        "fit",
        findings.to_terminal,
        findings.to_markdown,
        findings.save_fit,
        lambda: charts.FIT_PICTURES,
    )
    return Answer(sectioned(document), document, kind, open_cell=partial(opened_at, document))


def throughput_made(document: Record) -> Answer:
    """What hardware delivers, size by size."""
    from planner.answers.throughput import to_text

    tables, title = tables_in(document), f"{document['model']}: {document['kind'].replace('-', ' ')}"
    said = (*document["notes"], *(f"{key}: {value}" for key, value in document["about"].items()))
    tables = {name: rows for name, rows in tables.items() if name in ("best", "rows", "reached")}
    content = Content(title, said, [], tables, kept_steps(document))
    kind = plain_kind("throughput", to_text, title, said, tables)
    return Answer(content, document, kind, open_cell=partial(opened_at, document))


def traces_made(document: Record) -> Answer:
    """What execution traces say."""
    from planner.answers.traces import traces_text

    names = ("ranks", "collectives", "node_times", "together", "representatives")
    said, tables = tuple(document["headline"]), {name: document[name] for name in names if name in document}
    kind = plain_kind("traces", traces_text, document["title"], said, tables)
    content = Content(document["title"], said, [], tables)
    return Answer(content, document, kind, open_cell=partial(opened_at, document))


def across_made(document: Record) -> Answer:
    """What crosses between sites."""
    from planner.answers.throughput import across_text

    said, tables = tuple(document["headline"]), {name: document[name] for name in ("options", "sites")}
    kind = plain_kind("across", across_text, document["title"], said, tables)
    content = Content(document["title"], said, [], tables)
    return Answer(content, document, kind, open_cell=partial(opened_at, document))


def placement_made(document: Record) -> Answer:
    """Where embedding tables lie."""
    from planner.answers.placement import to_text

    names = ("sizes", "tiers", "devices", "placed", "rules")
    tables = {name: document[name] for name in names if document.get(name)}
    said = tuple(document["headline"])
    content = Content(document["title"], said, document["totals"], tables, kept_steps(document))
    kind = plain_kind(
        "placement",
        to_text,
        document["title"],
        said,
        tables,
        drawings=lambda: charts.PLACEMENT_PICTURES,
    )
    return Answer(content, document, kind, open_cell=partial(opened_at, document))


def calibration_made(document: Record) -> Answer:
    """What measurements change."""
    from planner.answers.calibration import probe_text, to_text

    probed = "everfleet_probe" in document
    tables = tables_in({name: held for name, held in document.items() if name != "facts"})
    if not probed:
        tables["facts"] = [{"key": key, "stated": stated} for key, stated in document["facts"].items()]
    title = "Measured on this machine" if probed else f"Calibrated on {document['file']}"
    kind = plain_kind("calibration", probe_text if probed else to_text, title, (), tables)
    content = Content(title, (), [], tables)
    return Answer(content, document, kind, open_cell=partial(opened_at, document))


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

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        if table == "totals":
            table, row, key = "summary", 0, totals[row]["name"]
        return opened_at(document, table, row, key)

    kind = plain_kind("validation", report_text, "Ours next to published values", said, tables)
    content = Content("Ours next to published values", said, totals, tables)
    return Answer(content, document, kind, open_cell=open_cell)


def facts_made(facts: Sequence[Fact], words: str) -> Answer:
    """Facts by words; each opens to its source."""
    from planner.answers.facts import fact_line, fact_records
    from planner.report.cells import explanation_of, fact_number

    records = fact_records(facts)
    title = f"Facts about {words}" if words else "Every fact"
    said = (f"{len(records)} facts",)

    def open_cell(table: str, row: int, key: str) -> Explanation | None:
        return opened_cell({"facts": records}, "facts", records[row], key)

    explanations = {record["key"]: explanation_of(fact_number(record)).to_dict() for record in records}
    rows = [{key: value for key, value in record.items() if key != "boundary"} for record in records]
    tables = {"facts": rows}
    kind = plain_kind("facts", lambda _: "\n".join(map(fact_line, facts)), title, said, tables)
    return Answer(Content(title, said, [], tables, explanations), records, kind, open_cell=open_cell)


def list_made(what: str, rows: Sequence[Record]) -> Answer:
    """A list of what there is by name."""
    from planner.answers.lists import list_text

    said = (f"{len(rows)} {what}",)
    tables = {what: list(rows)}
    kind = plain_kind("list", lambda _: list_text(rows), what.capitalize(), said, tables)
    return Answer(Content(what.capitalize(), said, [], tables), list(rows), kind)


def telemetry_made(document: Record) -> Answer:
    """What monitoring says."""
    from planner.answers.telemetry import telemetry_text

    tables = {name: rows for name, rows in document.items() if isinstance(rows, list) and name != "notes"}
    said = (*document["notes"], *(f"missing: {row['tells']}" for row in document["missing"]))
    kind = plain_kind("telemetry", telemetry_text, document["title"], said, tables)
    return Answer(Content(document["title"], said, [], tables), document, kind)


def track_made(document: Record, text: str | None, notes: Sequence[str]) -> Answer:
    """A plan next to what happened, and the scenario from here."""
    from planner.answers.track import track_text

    tables: dict[str, list[Record]] = {"rows": document["rows"], "left": document["left"]}
    if text is not None:
        tables["scenario"] = [{"text": text}]
    said = (*document["headline"], *notes)
    kind = plain_kind("track", track_text, document["title"], said, tables)
    return Answer(Content(document["title"], said, [], tables), document, kind)


def export_made(written_as: str, files: Mapping[str, str]) -> Answer:
    """An answer in a published format; saved, it is the files of that format."""
    from planner.report.standards import save_files

    rows = [{"file": name, "text": text} for name, text in files.items()]
    tables = {"files": rows}
    title = f"Written as {written_as}"
    kind = plain_kind(
        "export",
        lambda _: "\n".join(files.values()),
        title,
        tuple(files),
        tables,
        save=lambda _, folder: save_files(files, folder),
    )
    return Answer(Content(title, tuple(files), [], tables), rows, kind)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
