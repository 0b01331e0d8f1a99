"""One row of a job log, as SQL: its texts, what they mean, and what is wrong with them."""

from __future__ import annotations

from reliability.logs.columns import not_times, selected
from reliability.logs.fleet import MOST_UNITS
from reliability.logs.mapping import Mapping
from reliability.logs.records import first_problem, listed, not_a, number, words
from reliability.logs.source import Source, literal
from reliability.logs.times import plain_seconds, seconds, zone_marks

ENDED = (
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"),
    *("REQUEUED", "RESIZING", "REVOKED", "TIMEOUT"),
)
HELD = ("PENDING", "REQUEUE_FED", "REQUEUE_HOLD")
OPEN = ("COMPLETING", "CONFIGURING", "RUNNING", "STOPPED", "SUSPENDED", *HELD)
# A job may be in these without ever having run.
NEVER_RUN = ("BOOT_FAIL", "CANCELLED", "DEADLINE", "REQUEUED", "REVOKED", *HELD)
# `CANCELLED by 1000`, and `CANCELLED+` where a column was too narrow.
STATE = "rtrim(upper(split_part(state_text, ' ', 1)), '+')"
TIMES = ("submit", "eligible", "start", "end")
RECORD = (
    *("step", "job", "state", "nodes", "start_s", "end_s", "wait_h", "node_list", "failed_node", "severity"),
    *("planned", "zones"),
)


def job_rows(source: Source, mapping: Mapping, table: str) -> str:
    """SQL for the records of a source's table, with their `problem`."""
    texts = {f"{role}_text": source.cell(mapping.column(role)) for role in ("job", "state", "nodes", *TIMES)}
    texts |= {role: source.cell(mapping.column(role)) for role in ("node_list", "failed_node")}
    plain = {f"{role}_plain": plain_seconds(f"{role}_text") for role in ("submit", "start", "end")}
    # Most jobs are eligible when they are submitted.
    again = (
        f"CASE WHEN eligible_text = submit_text THEN submit_plain ELSE {plain_seconds('eligible_text')} END"
    )
    values = {f"{role}_time": seconds(f"{role}_text", mapping, f"{role}_plain") for role in TIMES}
    zones = " | ".join(zone_marks(f"{role}_text", mapping, f"{role}_plain") for role in ("start", "end"))
    values |= {
        "step": "coalesce(contains(job_text, '.'), false)",
        "job": "hash(job_text)",
        "state": f"(CASE WHEN state_text IN ({listed((*ENDED, *OPEN))}) THEN state_text ELSE {STATE} END)",
        "nodes": number("nodes_text"),
        "zones": zones,
    }
    judged = f"SELECT *, {words('state', mapping.severity, 'NULL::VARCHAR')} AS severity FROM values_read"
    return f"""
        (WITH texts AS (SELECT *, {selected(texts)} FROM {table}),
            read AS (SELECT *, {selected(plain)} FROM texts),
            plain AS (SELECT *, {again} AS eligible_plain FROM read),
            values_read AS (SELECT *, {selected(values)} FROM plain)
         SELECT *, start_time AS start_s, end_time AS end_s,
             (start_time - coalesce(eligible_time, submit_time)) / 3600 AS wait_h,
             {_planned(mapping)} AS planned, {_problem(source, mapping)} AS problem FROM ({judged}))"""


def _planned(mapping: Mapping) -> str:
    named = listed(mapping.planned)
    return f"(coalesce(state IN ({named}), false) OR coalesce(severity IN ({named}), false))"


def _problem(source: Source, mapping: Mapping) -> str:
    job, state, nodes = (mapping.column(role) or role for role in ("job", "state", "nodes"))
    known = listed((*ENDED, *OPEN, *mapping.severity))
    return first_problem(
        (f"({source.wrong}) IS NOT NULL", source.wrong),
        ("step", "NULL"),
        ("job_text IS NULL", literal(f"{job} is empty")),
        ("state IS NULL", literal(f"{state} is empty")),
        (f"state NOT IN ({known})", not_a("a state of Slurm", state, "state_text")),
        *not_times(mapping, TIMES),
        (f"start_time IS NULL AND state IN ({listed(NEVER_RUN)})", "NULL"),
        ("start_time IS NULL", "concat(state, ' without a start')"),
        (f"end_time IS NULL AND state NOT IN ({listed(OPEN)})", "concat(state, ' without an end')"),
        ("end_time < start_time", "concat('ends ', end_text, ', before its start ', start_text)"),
        ("nodes_text IS NULL", literal(f"{nodes} is empty")),
        (
            "nodes IS NULL OR nodes < 1 OR nodes <> floor(nodes)",
            not_a("a whole number from 1 up", nodes, "nodes_text"),
        ),
        (
            f"nodes > {MOST_UNITS}",
            not_a(f"a number of nodes: {MOST_UNITS:,} are the most", nodes, "nodes_text"),
        ),
    )
