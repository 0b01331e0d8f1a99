"""How often a job of any size is interrupted, and which share of its hours is then useful."""

from __future__ import annotations

from typing import cast

import numpy as np

from planner.answers.failures.log_numbers import log_count, whole
from planner.answers.failures.rates import Rate
from planner.answers.failures.sections import Section, ends
from planner.inputs.catalogue import Catalogue
from planner.inputs.log_question import FitQuestion
from planner.physics.requests import given
from planner.trace.numbers import count_text
from planner.trace.quantities import Traced, chosen, convert, derive, derive_parts, ratio
from planner.trace.records import Record
from reliability.checkpoint import optimal_interval_h
from reliability.ettr import ettr_fraction
from reliability.fleet import job_mttf_h, mttf_gap, nodes_of_job, rate_interval
from reliability.logs import FailureLog

SIZES = (8, 64, 256, 1_024, 4_096, 16_384, 65_536, 100_000)


def sizes_section(
    log: FailureLog, question: FitQuestion, rate: Rate, catalogue: Catalogue
) -> tuple[Section, dict[str, Traced]]:
    """MTTF and ETTR from 8 to 100,000 accelerators; next to it what the jobs of a job log met."""
    per_node: Traced = catalogue.fact("reliability.reference_accelerators")
    if question.accelerators_per_node is not None:
        per_node = given("accelerators_per_node", float(question.accelerators_per_node), "1")
    restart = _minutes("restart", question.restart_min) or catalogue.fact("reliability.restart_time")
    write = _minutes("write", question.write_min) or catalogue.fact("checkpoint.glm-65b-before.blocking_time")
    write_h, restart_h = convert(write, "h"), convert(restart, "h")
    accelerators = chosen("accelerators", np.array(SIZES, dtype=float), "sizes of the table")
    nodes = derive(nodes_of_job, accelerators=accelerators, accelerators_per_node=per_node)
    spread = {
        end: _ettr(nodes, one, write_h, restart_h)
        for end, one in (("", rate.value), ("low_", rate.high), ("high_", rate.low))
    }
    mttf, interval, useful = spread[""]
    rows = [
        {
            "accelerators": whole(accelerators[i]),
            "nodes": whole(nodes[i]),
            "mttf_h": mttf[i],
            "low_mttf_h": spread["low_"][0][i],
            "high_mttf_h": _finite(spread["high_"][0][i]),
            "interval_min": _finite(convert(interval[i], "min")),
            "ettr_fraction": useful[i],
            "low_ettr_fraction": spread["low_"][2][i],
            "high_ettr_fraction": spread["high_"][2][i],
        }
        for i in range(len(SIZES))
    ]
    taken = (
        ""
        if question.accelerators_per_node
        else " (taken: state --accelerators-per-node, 1 if the log's units are accelerators)"
    )
    said = [
        f"A node has {per_node.value:g} accelerators{taken}; a job stops when any of its nodes fails.",
        f"ETTR at the interval of highest ETTR, with a blocking write of {60 * write_h.value:g} min and a "
        f"restart of {60 * restart_h.value:g} min ({_whence(question)}); the command everfleet "
        "checkpoint computes yours.",
    ]
    tables = {"mttf": rows}
    if log.kind == "jobs":
        tables["measured"] = _measured(log, rate)
        said += _gap_words(tables["measured"], question)
    explained: dict[str, Traced] = {"mttf": mttf, "ettr": useful}
    return Section("How often a job stops, and what that costs", said, tables), explained


def _ettr(nodes: Traced, rate: Traced, write_h: Traced, restart_h: Traced) -> tuple[Traced, Traced, Traced]:
    """MTTF, interval and ETTR of each size at one rate; at rate 0 jobs never stop."""
    tiny = (
        rate if float(rate.value) > 0 else chosen("least_rate_per_node_h", 1e-15, "a rate of 0, but for this")
    )
    mttf = derive(job_mttf_h, nodes=nodes, failure_rate_per_node_h=tiny)
    interval = derive(optimal_interval_h, mttf_h=mttf, write_h=write_h)
    useful = derive(ettr_fraction, interval_h=interval, mttf_h=mttf, write_h=write_h, restart_h=restart_h)
    return mttf, interval, useful


def _measured(log: FailureLog, rate: Rate) -> list[Record]:
    """Jobs of each size next to the model; sizes without a failure have a lower limit only."""
    rows = []
    sizes = cast(list[Record], log.jobs.fillna({"failures": 0}).to_dict("records"))
    for size in sizes:
        if not size["node_h"] / size["nodes"] > 0:
            continue
        nodes = log_count(log, "nodes", int(size["nodes"]))
        jobs, failures = (
            log_count(log, f"measured.{key}", int(size[key]), note="of the jobs of this size")
            for key in ("jobs", "failures")
        )
        job_h = log_count(log, "job_hours", size["node_h"] / size["nodes"], "h", "node-hours over nodes")
        # The job is the unit: its own failures an hour, whatever its nodes.
        seen = derive_parts(
            rate_interval,
            failures=failures,
            node_h=job_h,
            confidence_fraction=rate.counts["confidence_fraction"],
        )
        model = derive(job_mttf_h, nodes=nodes, failure_rate_per_node_h=rate.value)
        row: Record = {
            "nodes": nodes,
            "jobs": jobs,
            "node_h": log_count(log, "measured.node_h", size["node_h"], "h", "of the jobs of this size"),
            "failures": failures,
            "measured_mttf_h": None,
            "measured_low_h": _mean_h(seen["high_per_node_h"]),
            "measured_high_h": None,
            "model_mttf_h": model,
            "measured_to_model_ratio": None,
            "disagrees": None,
            **{f"queue_{which}_min": _waited(log, size, which) for which in ("mean", "median")},
        }
        if failures.value:
            mean = (job_h / failures).named("mean_h", "Mean time between failures")
            row |= {
                "measured_mttf_h": mean,
                "measured_high_h": _mean_h(seen["low_per_node_h"]),
                "measured_to_model_ratio": ratio(mean, model),
            }
            row["disagrees"] = _disagree(row, rate)
        rows.append(row)
    return rows


def _mean_h(rate: Traced) -> Traced:
    """Mean time between failures of one job, at an end of its rate."""
    one = chosen("nodes", 1.0, "the job is the unit", "1")
    return derive(job_mttf_h, nodes=one, failure_rate_per_node_h=rate)


def _waited(log: FailureLog, size: Record, which: str) -> Traced | None:
    """How long jobs of a size stood in the queue; None where the log does not say it."""
    hours = size[f"queue_{which}_h"]
    if not np.isfinite(hours):
        return None
    note = f"{which} wait of the {count_text(int(size['jobs']))} runs of this size"
    return log_count(log, f"measured.queue_{which}_min", 60.0 * float(hours), "min", note)


def _disagree(row: Record, rate: Rate) -> bool:
    """Whether the intervals of what was measured and of the model do not meet."""
    gap = mttf_gap(
        nodes=float(row["nodes"].value),
        failure_rate_per_node_h=float(rate.value.value),
        low_per_node_h=float(rate.low.value),
        high_per_node_h=float(rate.high.value),
        **{f"measured_{end}_h": float(row[f"measured_{end}_h"].value) for end in ("mttf", "low", "high")},
    )
    return bool(gap.disagrees)


def _gap_words(rows: list[Record], question: FitQuestion) -> list[str]:
    apart = [str(row["nodes"].value) for row in rows if row["disagrees"]]
    if not apart:
        return ["The measured times between failures and the model's agree at every size that failed."]
    return [
        "Measured and modelled time between failures disagree beyond their "
        f"{ends(question.interval_fraction)} intervals for jobs of {', '.join(apart)} nodes: such jobs do "
        "not run on average nodes, or fail for other causes."
    ]


def _minutes(name: str, minutes: float | None) -> Traced | None:
    return None if minutes is None else given(name, minutes / 60.0, "h")


def _whence(question: FitQuestion) -> str:
    taken = [name for name in ("write_min", "restart_min") if getattr(question, name) is None]
    if not taken:
        return "as requested"
    facts = {
        "write_min": "checkpoint.glm-65b-before.blocking_time",
        "restart_min": "reliability.restart_time",
    }
    return "the catalogue's " + " and ".join(facts[name] for name in taken)


def _finite(value: Traced) -> Traced | None:
    return value if np.isfinite(value.value) else None
