"""One shape for the documents of all commands: what `--json` prints and files keep, and the way back.

    kind, schema, title      what it is
    headline, why            sentences
    totals, tables           rows of plain cells, the latter by table
    cells, explanations      the step that each number is, by table, row and column, and by name
    steps                    every step once; inputs are numbers of this list
    answers                  where there are such: documents of this shape, one for each job or point
    sections                 where there are such: which sentences and tables belong together

Further keys are of the kind. Within the program each kind keeps its own keys: `written` and `read_back` are
the only way between the two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from planner.report.plain import to_json
from planner.trace.explain import pooled
from planner.trace.nesting import laid_out, layout_of
from planner.trace.numbers import how_many, number_text, percent_text
from planner.trace.records import Record, tables_in

SCHEMA = 4
PLAN_SCHEMA = 3  # of a plan within the program, as the store keeps it; no reader sees it
ONE_INSIDE = "document"  # key of a document that holds one other
KEYS = (
    *("kind", "schema", "title", "headline", "why", "totals", "tables"),
    *("cells", "explanations", "steps"),
)


_OF_FACTS = ("facts", "facts_weighed")
_RECOMPUTED = ("plan", "futures")  # and compared bit for bit, their facts too


@dataclass(frozen=True, slots=True)
class Form:
    """Where documents of a kind keep within the program what the one shape has under its own keys.

    `rows` and `single` are tables that stand at the top there, the latter of one row each; rows of `nested`
    ones hold further rows. `title` and `headline` make what is not kept, `kept` names what is. `answers` is
    the key of documents inside of one, `renamed` has keys that mean something else in the one shape.
    """

    kind: str
    rows: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    kept: tuple[str, ...] = ("title",)
    title: Callable[[Record], str] = itemgetter("title")
    headline: Callable[[Record], list[str]] = lambda document: document.get("headline", [])
    answers: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)


def _of_job(document: Record) -> list[str]:
    return [document["model_card"], *document["notes"]]


def _of_throughput(document: Record) -> list[str]:
    return [*document["notes"], *(f"{key}: {value}" for key, value in document["about"].items())]


def _of_sections(document: Record) -> list[str]:
    return [sentence for section in document["sections"].values() for sentence in section["said"]]


def _of_marks(document: Record) -> list[str]:
    return [
        f"{row['name']}: every {number_text(row['interval_min'])} min, "
        f"ETTR {percent_text(row['ettr_fraction'])}"
        for row in document.get("marks", [])
    ]


def _of_validation(document: Record) -> list[str]:
    summary = document["summary"]
    return [
        f"{summary['rows']} rows: {summary['inside']} inside, {summary['outside']} outside, "
        f"{summary['not understood']} not understood, {summary['not run']} not run"
    ]


def decision_lines(document: Record) -> list[str]:
    """What two plans decide differently, a line each."""
    return [
        f"{row['path']}: {row['before'] or 'none'} -> {row['after'] or 'none'}"
        for row in document["decisions"]
    ]


def _checkpoint_title(document: Record) -> str:
    if "jobs" in document:
        return f"Checkpoints of {document['scenario']}"
    inputs = document["inputs"]
    return f"Checkpoints of {inputs['model']} on {how_many(inputs['nodes'], 'node')} of {inputs['sku']}"


# Key by which a document is known within the program -> how it is written.
FORMS: Mapping[str, Form] = {
    "everfleet_job": Form(
        "job",
        (
            *("scores", "phases", "scopes", "failures", "changes", "tornado"),
            *("facts", "assumed", "metered", "embodied"),
        ),
        single=("predicted",),
        kept=("title", "totals"),
        headline=_of_job,
    ),
    "everfleet_checkpoints": Form(
        "checkpoints",
        (
            *("marks", "policies", "best", "rows", "today", "finish", "simulation"),
            *("stops", "waiting", "recovery", "detection", "sizes", "map", "curves"),
        ),
        single=("flat", "worth"),
        kept=(),
        title=_checkpoint_title,
        headline=_of_marks,
        answers="jobs",
    ),
    "everfleet_fit": Form("fit", ("bad_rows",), headline=_of_sections),
    "everfleet_backtest": Form("backtest", headline=_of_sections),
    "everfleet_throughput": Form(
        "throughput",
        ("best", "reached", "rows"),
        kept=(),
        title=lambda document: f"{document['model']}: {document['kind'].replace('-', ' ')}",
        headline=_of_throughput,
        renamed={"kind": "work", "why": "opened"},
    ),
    "everfleet_traces": Form(
        "traces",
        ("ranks", "collectives", "node_times", "together", "representatives"),
        kept=("title", "headline"),
    ),
    "everfleet_across": Form("across", ("options", "sites"), kept=("title", "headline")),
    "everfleet_placement": Form(
        "placement",
        ("sizes", "tiers", "devices", "placed", "rules"),
        kept=("title", "headline", "totals"),
    ),
    "everfleet_calibration": Form(
        "calibration",
        ("files",),
        nested=("hardware",),
        kept=(),
        title=lambda document: f"Calibrated on {document['file']}",
        headline=lambda document: [f"{key} = {stated}" for key, stated in document["facts"].items()],
    ),
    "everfleet_probe": Form(
        "calibration",
        ("facts",),
        kept=(),
        title=lambda _: "Measured on this machine",
        headline=lambda document: [f"{document['device']}, driver {document['driver']}"],
    ),
    "everfleet_scaling": Form("scaling", ("fits",), kept=("title", "headline")),
    "everfleet_validation": Form(
        "validation",
        ("rows",),
        nested=("summary",),
        kept=(),
        title=lambda _: "Ours next to published values",
        headline=_of_validation,
    ),
    "everfleet_futures": Form("futures", ("first_stage", "futures", "worth"), kept=("title", "headline")),
    "everfleet_replay": Form("replay", ("periods", "ways"), kept=("title", "headline")),
    "everfleet_pareto": Form("front", ("tornado",), headline=_of_sections, answers="plans"),
    "everfleet_times": Form("front", headline=_of_sections, answers="plans"),
    "everfleet_sensitivity": Form("sensitivity", headline=_of_sections),
    "everfleet_sweep": Form("sweep", ("points",), renamed={"kind": "grid"}),
    "everfleet_comparison": Form(
        "comparison",
        ("plans", "inputs", "facts", "versions", "decisions"),
        kept=("totals",),
        title=lambda document: " and ".join(plan["title"] for plan in document["plans"]),
        headline=decision_lines,
    ),
    "horizon": Form("plan", ("tornado",), kept=("title", "headline", "why", "totals")),
    "stated": Form(
        "checkpoints",
        ("sizes",),
        kept=(),
        title=lambda document: f"Checkpoints of {document['name']}, by size",
        answers=ONE_INSIDE,
    ),
    "point": Form("plan", kept=("headline", "totals"), title=lambda document: f"Point {document['point']}"),
}


def answer_json(document: Any) -> str:
    """The document of an answer in the one shape, as JSON; other data as they are."""
    return to_json(written(document) if is_answer(document) else document, sort_keys=False)


def is_answer(document: Any) -> bool:
    """Whether this is the document of an answer, and no list or schema."""
    return isinstance(document, dict) and any(key in document for key in FORMS)


def form_of(document: Record) -> Form:
    """How a document is written.

    Raises:
        ValueError: it is of no kind that is known.
    """
    found = next((form for key, form in FORMS.items() if key in document), None)
    if found is None:
        raise ValueError(f"no answer has the keys {', '.join(document)}")
    return found


def written(document: Record) -> Record:
    """A document in the one shape.

    Raises:
        ValueError: it is of no kind that is known.
    """
    form = form_of(document)
    own = {form.renamed.get(key, key): held for key, held in document.items()}
    own = {key: held for key, held in own.items() if key not in ("kind", "schema", "title")}
    nested = {name: own.pop(name) for name in form.nested}
    sections = own.pop("sections", {})
    tables: dict[str, list[Record]] = {name: own.pop(name) for name in form.rows if name in own}
    tables |= {name: [row] if (row := own.pop(name)) else [] for name in form.single if name in own}
    tables |= own.pop("tables", {}) | tables_in(nested)
    for section in sections.values():
        tables |= section["tables"]
    found = {
        "kind": form.kind,
        "schema": SCHEMA,
        "title": form.title(document),
        "headline": form.headline(document),
        "why": own.pop("why", []),
        "totals": own.pop("totals", []),
        "tables": {name: list(map(_flat, rows)) for name, rows in tables.items()},
        "explanations": own.pop("explanations", {}),
        "cells": own.pop("cells", {}),
        "steps": own.pop("steps", []),
    }
    if any(isinstance(kept, list) for kept in found["explanations"].values()):  # each with steps of its own
        found["steps"], found["explanations"] = pooled(found["explanations"])
    if sections:
        own["sections"] = _pointing(sections)
    if nested:
        own["layout"] = {name: layout_of(held) for name, held in nested.items()}
    if form.answers in own:
        inside = own.pop(form.answers)
        own["answers"] = [written(one) for one in (inside if isinstance(inside, list) else [inside])]
    first = {key: found[key] for key in KEYS[: KEYS.index("cells")]}
    return first | {key: held for key, held in own.items() if key not in found} | found


def is_written(document: Any) -> bool:
    """Whether a document is of the one shape."""
    return isinstance(document, dict) and document.get("schema") == SCHEMA and "kind" in document


def read_back(document: Any) -> Any:
    """A document of the one shape as the program keeps it; anything else as it is.

    Raises:
        ValueError: it is of no kind that is known.
        LookupError, TypeError, AttributeError: it is damaged.
    """
    if not is_written(document):
        return document
    form = form_of(document)
    left_out = {"kind", "schema", "title", "headline", "why", "totals", "sections", "layout", "answers"}
    tables, headline = dict(document["tables"]), document["headline"]
    if form.kind in _RECOMPUTED:
        tables |= {name: list(map(_bounded, tables[name])) for name in _OF_FACTS if name in tables}
    own = {key: document[key] for key in document if key not in left_out - set(form.kept)}
    if form.kind != "plan":
        own = {
            key: held for key, held in own.items() if held or key not in ("cells", "explanations", "steps")
        }
    for name, layout in document.get("layout", {}).items():
        own[name] = laid_out(layout, name, document["tables"])
        tables = {table: held for table, held in tables.items() if not f"{table}_".startswith(f"{name}_")}
    own |= {name: tables.pop(name) for name in form.rows if name in tables}
    own |= {name: (tables.pop(name) or [{}])[0] for name in form.single if name in tables}
    if "sections" in document:
        own["sections"] = {
            name: {
                "title": section["title"],
                "said": [headline[at] for at in section["said"]],
                "tables": {table: tables.pop(table) for table in section["tables"]},
            }
            for name, section in document["sections"].items()
        }
    if "answers" in document:
        inside = list(map(read_back, document["answers"]))
        own[form.answers] = inside[0] if form.answers == ONE_INSIDE else inside
    former = {new: old for old, new in form.renamed.items()}
    own = {former.get(key, key): held for key, held in own.items()}
    if form.kind == "plan":
        own |= {"schema": PLAN_SCHEMA} if "horizon" in own else {}
    elif not tables:
        return {key: held for key, held in own.items() if key != "tables"}
    return own | {"tables": tables}


def _pointing(sections: Record) -> Record:
    """Sections that say which sentences of the headline and which tables are theirs."""
    found, said = {}, 0
    for name, section in sections.items():
        sentences = list(range(said, said + len(section["said"])))
        found[name] = {"title": section["title"], "said": sentences, "tables": list(section["tables"])}
        said += len(sentences)
    return found


def _flat(row: Record) -> Record:
    """A row whose lists and parts are text."""
    return {key: _text(held) if isinstance(held, list | dict) else held for key, held in row.items()}


def _bounded(row: Record) -> Record:
    """A fact with its boundary as parts, which `_text` made a text of."""
    said = row.get("boundary")
    if not isinstance(said, str):
        return row
    parts = [part.partition(": ") for part in said.split("; ") if part]
    return row | {"boundary": {family: tag for family, _, tag in parts}}


def _text(held: Any) -> str:
    if isinstance(held, dict) and all(isinstance(one, str) for one in held.values()):
        return "; ".join(f"{key}: {one}" for key, one in held.items())
    if isinstance(held, list) and all(isinstance(one, str) for one in held):
        return ", ".join(held)
    return json.dumps(held, ensure_ascii=False)
