"""The document of a fit: what other commands read at the top, then a section for each question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from planner.answers.failures.counts import exposure_h, failure_count
from planner.answers.failures.downtime import contract_of, downtime_section, outages_of
from planner.answers.failures.forecast import ahead_section
from planner.answers.failures.job_sizes import sizes_section
from planner.answers.failures.lifelines import cross_check_section
from planner.answers.failures.lifetimes import lives_section
from planner.answers.failures.log_numbers import log_count
from planner.answers.failures.rates import Rate, definition_of, rate_of, rate_section
from planner.answers.failures.recurrence import lemons_section, repeats_section
from planner.answers.failures.sections import DAY_H, Section
from planner.inputs.loading import load_catalogue
from planner.inputs.log_question import FitQuestion
from planner.trace.explain import Steps
from planner.trace.numbers import count_text, fixed_text
from planner.trace.quantities import Traced
from planner.trace.records import Record, numbered
from reliability.logs import FailureLog, Mapping, mapping_text
from reliability.outages import down_statistics

EDITION = 1
READ_BY_OTHERS = (
    "everfleet_fit",
    "name",
    "rate",
    "nodes",
    "accelerators_per_node",
    "definition",
    "source",
    "rate_shape",
    "outage",
    "variance_to_mean",
)


def fit_document(
    log: FailureLog, question: FitQuestion, watch: Callable[[str], None] | None = None
) -> Record:
    """Everything that the log tells, as plain data; `watch` hears which subject is being worked on.

    Raises:
        InputError: an option names what the log or the catalogue does not have.
    """
    catalogue, say = load_catalogue(), watch or (lambda text: None)
    rate, outages = rate_of(log, question, catalogue), outages_of(log)
    explained: dict[str, Traced] = {"rate": rate.value}
    sections: dict[str, Section] = {"read": read_section(log)}
    say("rates")
    sections["rate"] = rate_section(log, question, rate, catalogue)
    sections["sizes"], more = sizes_section(log, question, rate, catalogue)
    explained |= more
    say("lifetimes")
    sections["lives"], best = lives_section(log, question)
    if question.cross_check:
        say("lifetimes by lifelines")
        sections["beside"] = cross_check_section(log, question)
    say("repeats and weak nodes")
    sections["repeats"] = repeats_section(log, question)
    sections["lemons"] = lemons_section(log, rate)
    say("outages and spares")
    sections["downtime"], more = downtime_section(log, outages, question, rate)
    explained |= more
    say("forecast")
    sections["ahead"], more = ahead_section(log, question, best)
    explained |= more
    steps = Steps()
    kept = {name: steps.add(node) for name, node in explained.items()}
    cells = numbered({name: rows for one in sections.values() for name, rows in one.tables.items()}, steps)
    # Texts that hold numbers: what was read, and parameters, which are as likely as their fit.
    cells["read"] = [{"value": steps.add(one)} if one else {} for _, _, one in _facts_of(log)]
    for row in cells.get("fits", []):
        row["parameters"] = row["log_likelihood"]
    return {
        **_contract(log, question, rate),
        "outage": contract_of(outages),
        "variance_to_mean": None
        if outages is None
        else max(1.0, down_statistics(outages.history).variance_to_mean_ratio),
        "title": f"Failures in {log.name}",
        "sections": {name: section.to_dict() for name, section in sections.items()},
        **_left_out(log),
        "explanations": kept,
        "cells": cells,
        "steps": steps.packed(),
    }


def as_failures(document: Record) -> Record:
    """What other questions read of the document of a fit: a few numbers, without what they were made from."""
    return {name: document[name] for name in READ_BY_OTHERS}


def read_document(log: FailureLog, mapping: Mapping) -> Record:
    """What a log holds before anything is fitted to it, the mapping that says so, and the rows left out."""
    section = read_section(log)
    section.tables["read"].append({"read": "times are taken", "value": _clock(mapping)})
    return {
        "title": f"What {log.name} holds",
        "mapping": mapping_text(mapping),
        "failures": failure_count(log),
        "sections": {"read": section.to_dict()},
        **_left_out(log),
    }


def read_section(log: FailureLog) -> Section:
    """What was read, and everything the reader had to say."""
    rows = [{"read": what, "value": value} for what, value, _ in _facts_of(log)]
    return Section("What was read", log.notes, {"read": rows})


def _clock(mapping: Mapping) -> str:
    if mapping.timezone:
        return f"as {mapping.timezone}"
    since = any(form.startswith("since_start") for form in mapping.time_format)
    return "from the start of the log" if since else "by the zone that they carry"


def _left_out(log: FailureLog) -> Record:
    rows = [{"file": row.file, "line": row.line, "reason": row.reason} for row in log.bad_rows]
    return {"bad_rows": rows, "bad_row_count": log.bad_row_count}


def _facts_of(log: FailureLog) -> Iterator[tuple[str, str, Traced | None]]:
    """What was read, as a text, and the number that it starts with."""
    yield "kind", log.kind, None
    start = "an unnamed day" if log.origin is None else f"{log.origin:%Y-%m-%d %H:%M} UTC"
    watched = f"{fixed_text(log.window_h / DAY_H, 1)} d from {start}"
    yield "watched", watched, log_count(log, "watched", log.window_h / DAY_H, "d", watched)
    counts: dict[str, float] = {}
    if not log.units.empty:
        counts["units"] = log.units["unit"].nunique()
    if not log.jobs.empty:
        counts["runs of jobs"] = int(log.jobs["jobs"].sum())
    counts |= {"node-days": exposure_h(log) / DAY_H, "failures": failure_count(log)}
    if planned := int(log.events["planned"].sum()):
        counts["planned stops, not counted"] = planned
    for severity, count in log.failures["severity"].value_counts().items():
        counts[f"severity {severity}"] = int(count)
    counts["rows left out"] = log.bad_row_count
    for what, number in counts.items():
        yield what, count_text(number), log_count(log, what, number, note=count_text(number))


def _contract(log: FailureLog, question: FitQuestion, rate: Rate) -> Record:
    """What `everfleet checkpoint --failures` and a scenario's `log` read."""
    return {
        "everfleet_fit": EDITION,
        "name": question.name or Path(log.name).name.partition(".")[0],
        "rate": rate.contract,
        "failures": rate.failures,
        "nodes": None if log.units.empty else int(log.units["unit"].nunique()),
        "accelerators_per_node": question.accelerators_per_node,
        "definition": definition_of(log, question),
        "source": log.name,
        "rate_shape": rate.belief_shape,
    }
