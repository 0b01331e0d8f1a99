"""One row of an event log, as SQL: its texts, what they mean, and what is wrong with them."""

from __future__ import annotations

from reliability.logs.columns import NO, YES, not_durations, not_times, selected, unit_of
from reliability.logs.fleet import Fleet, unknown_unit
from reliability.logs.mapping import Mapping
from reliability.logs.records import first_problem, listed, not_a, number, words
from reliability.logs.roles import DURATIONS, SECONDS
from reliability.logs.source import Source, literal
from reliability.logs.times import seconds, zone_marks

TIMES = ("start", "end", "entry", "exit")
TEXTS = (*TIMES, *DURATIONS, "severity", "planned", "transition", "group", "group_size")
RECORD = (
    *("unit", "start_s", "end_s", "cause", "severity", "planned", "moved", "entry_s", "exit_s"),
    *("group_name", "group_size", "zones"),
)


def event_rows(source: Source, mapping: Mapping, fleet: Fleet, table: str) -> str:
    """SQL for the records of a source's table, with their `problem`."""
    texts = {f"{role}_text": source.cell(mapping.column(role)) for role in TEXTS}
    texts |= {"unit": unit_of(source, mapping), "cause_text": _cause(source, mapping)}
    texts |= {f"covariate_{i}": source.cell(column) for i, column in enumerate(mapping.covariates)}
    times = {f"{role}_time": seconds(f"{role}_text", mapping) for role in TIMES}
    lasted = ", ".join(f"{number(f'duration_{unit}_text')} * {factor}" for unit, factor in SECONDS.items())
    values = {
        "start_s": "start_time",
        "end_s": f"coalesce(end_time, start_time + coalesce({lasted}))",
        "entry_s": "entry_time",
        "exit_s": "exit_time",
        "cause": words("cause_text", mapping.causes, "cause_text"),
        "moved": words("transition_text", {v: k for k, v in mapping.transitions.items()}, "NULL::VARCHAR"),
        "group_name": "group_text",
        "group_size": number("group_size_text"),
        "zones": f"{zone_marks('start_text', mapping)} | {zone_marks('end_text', mapping)}",
    }
    judged = f"SELECT *, {_severity(mapping)} AS severity FROM (SELECT *, {selected(values)} FROM times)"
    return f"""
        (WITH texts AS (SELECT *, {selected(texts)} FROM {table}),
            times AS (SELECT *, {selected(times)} FROM texts)
         SELECT *, {_planned(mapping)} AS planned, {_problem(source, mapping, fleet)} AS problem
         FROM ({judged}))"""


def _cause(source: Source, mapping: Mapping) -> str:
    names = mapping.columns.get("cause")
    if isinstance(names, tuple):
        filled = [f"CASE WHEN {source.cell(name)} IS NOT NULL THEN {literal(name)} END" for name in names]
        return f"nullif(concat_ws('+', {', '.join(filled)}), '')"
    if names is None and "xid" in mapping.columns:
        return f"'xid' || {source.cell(mapping.column('xid'))}"
    return source.cell(names)


def _severity(mapping: Mapping) -> str:
    """The log's severity by the mapping's words, else its cause by them, else the log's severity as it is."""
    by_cause = words("cause_text", mapping.severity, words("cause", mapping.severity, "severity_text"))
    return words("severity_text", mapping.severity, by_cause)


def _planned(mapping: Mapping) -> str:
    named = listed(mapping.planned)
    texts = ("severity_text", "severity", "cause_text", "cause")
    known = " OR ".join(f"coalesce({text} IN ({named}), false)" for text in texts)
    return f"(coalesce(lower(planned_text) IN ({listed(YES)}), false) OR {known})"


def _problem(source: Source, mapping: Mapping, fleet: Fleet) -> str:
    planned, size = (mapping.column(role) or role for role in ("planned", "group_size"))
    moved = mapping.column("transition") or "transition"
    no_start = "start_s IS NULL AND cause IS NOT NULL" if mapping.needs_cause else "start_s IS NULL"
    return first_problem(
        (f"({source.wrong}) IS NOT NULL", source.wrong),
        ("unit IS NULL", "'names no unit'"),
        unknown_unit(fleet),
        *not_times(mapping, TIMES),
        *not_durations(mapping, DURATIONS),
        (no_start, "'has no start'"),
        ("end_s < start_s", "concat('ends ', end_text, ', before its start ', start_text)"),
        ("exit_s < entry_s", "concat('leaves service ', exit_text, ', before it enters ', entry_text)"),
        (f"lower(planned_text) NOT IN ({listed((*YES, *NO))})", not_a("yes or no", planned, "planned_text")),
        (
            f"moved IS NULL AND {'true' if mapping.transitions else 'false'}",
            not_a("the start or the end of an outage", moved, "coalesce(transition_text, '')"),
        ),
        ("group_size_text IS NOT NULL AND group_size IS NULL", not_a("a number", size, "group_size_text")),
    )
