"""What execution traces say of a step: where time goes, what is sent, who is slowest, who stands for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from planner.inputs.execution_traces import ExecutionTrace, read_trace
from planner.performance.representatives import representatives
from planner.performance.timeline import busy_fraction, covered_s, exposed_s
from planner.report.columns import Column, aligned
from planner.trace.errors import InputError
from planner.trace.explain import Steps
from planner.trace.numbers import count_text, fixed_text, number_text, percent_text
from planner.trace.quantities import Traced, chosen
from planner.trace.records import Record, numbered, plain_rows

# Node types of Chakra's schema, in its order.
NODE_TYPES = (
    "invalid",
    "metadata",
    "memory load",
    "memory store",
    "compute",
    "send",
    "receive",
    "collective",
)
PICOSECOND_S = 1e-12  # below it sums of moments differ by their last digit
# By what ranks differ: where the time of each goes.
FEATURES = ("span_s", "compute_s", "exposed_communication_s", "hidden_communication_s")
NODE_FEATURES = ("compute_s", "communication_s")


def traces_document(paths: Sequence[Path], represent: int | None = None) -> Record:
    """Each rank's trace, how far the slowest is from their mean, and ranks that stand for all.

    Raises:
        InputError: a file cannot be read as a trace, or there are too few to be represented.
    """
    traces = [read_trace(path) for path in paths]
    ranks = [_rank(trace) for trace in traces]
    tables: dict[str, list[Record]] = {
        "ranks": ranks,
        "collectives": [row for trace in traces for row in _collectives(trace)],
        "node_times": [row for trace in traces for row in _node_times(trace)],
        "together": [row for row in [_together(ranks)] if row],
    }
    if represent is not None:
        tables["representatives"] = _representatives(ranks, represent)
    tables = {name: rows for name, rows in tables.items() if rows}
    plain = {name: plain_rows(rows) for name, rows in tables.items()}
    steps = Steps()
    return {
        "everfleet_traces": 1,
        "title": f"Execution traces of {len(ranks)} ranks"
        if len(ranks) > 1
        else f"Trace of {ranks[0]['name']}",
        "headline": list(_said(plain)),
        **plain,
        "cells": numbered(tables, steps),
        "steps": steps.packed(),
    }


def traces_text(document: Record) -> str:
    """The document as tables for a terminal."""
    lines = [document["title"], *document["headline"]]
    for name, columns in _TABLES.items():
        if rows := document.get(name):
            shown = [one for one in columns if any(one.show(row) for row in rows)]
            lines += ["", *aligned(shown, rows)]
    return "\n".join(lines)


def _rank(trace: ExecutionTrace) -> Record:
    """Where the time of a rank goes, as far as its format says it."""

    def read(name: str, value: float, how: str) -> Traced:
        return chosen(name, float(value), f"{how} of {trace.name}")

    row: Record = {"name": trace.name, "format": trace.form}
    if trace.nodes:
        row["operators"] = read("operators", trace.nodes, "nodes")
    if trace.step_s.size:
        row["step_s"] = read("step_s", trace.step_s.mean(), "mean of the steps that the profiler marks,")
    if trace.start_s.size:
        times = {"start_s": trace.start_s, "end_s": trace.end_s}
        sends = trace.is_collective
        busy_s, span_s = covered_s(**times), float(trace.end_s.max() - trace.start_s.min())
        sent_s = covered_s(start_s=trace.start_s[sends], end_s=trace.end_s[sends])
        alone_s = exposed_s(**times, is_communication=sends)
        hidden_s = sent_s - alone_s if sent_s - alone_s > PICOSECOND_S else 0.0
        union = "union of intervals of kernels"
        row |= {
            "kernels": read("kernels", trace.start_s.size, "kernels, copies and memsets"),
            "span_s": read("span_s", span_s, "from the first kernel to the last"),
            "compute_s": read("compute_s", busy_s - alone_s, f"{union} that do not communicate,"),
            "communication_s": read("communication_s", sent_s, f"{union} that communicate,"),
            "exposed_communication_s": read(
                "exposed_communication_s", alone_s, f"{union} less those that do not communicate,"
            ),
            "hidden_communication_s": read(
                "hidden_communication_s", hidden_s, "communication next to other kernels"
            ),
            "idle_s": read("idle_s", span_s - busy_s, "span less the union of all kernels"),
            "busy_fraction": read("busy_fraction", busy_fraction(**times), "union over span"),
        }
    elif trace.node_type.size:
        on_chip = ~trace.on_cpu
        for name, kind in (("compute_s", "compute"), ("communication_s", "collective")):
            times_s = trace.node_s[on_chip & (trace.node_type == NODE_TYPES.index(kind))]
            row[name] = read(name, times_s.sum(), f"{kind} nodes of the accelerator")
    return row


def _collectives(trace: ExecutionTrace) -> Iterator[Record]:
    for one in trace.collectives:
        row: Record = {"name": trace.name, "collective": one.name.replace("_", "-")}
        if one.count:
            row["calls"] = chosen("calls", one.count, f"of {trace.name}")
            row["given_gb"] = chosen("given_gb", one.given_bytes / 1e9, f"tensors given to it, {trace.name}")
        if one.kernel_s:
            row["kernel_s"] = chosen("kernel_s", one.kernel_s, f"kernels of {trace.name}; waiting is in it")
        yield row


def _node_times(trace: ExecutionTrace) -> Iterator[Record]:
    """Nodes of a Chakra graph by type and place, with their summed run times."""
    kinds = sorted({(int(kind), bool(cpu)) for kind, cpu in zip(trace.node_type, trace.on_cpu, strict=True)})
    for kind, cpu in kinds:
        held = (trace.node_type == kind) & (trace.on_cpu == cpu)
        yield {
            "name": trace.name,
            "type": NODE_TYPES[kind] if 0 <= kind < len(NODE_TYPES) else str(kind),
            "on": "host" if cpu else "accelerator",
            "operators": chosen("operators", int(held.sum()), f"nodes of {trace.name}"),
            "time_s": chosen("time_s", float(trace.node_s[held].sum()), f"run times of {trace.name}"),
        }


def _together(ranks: Sequence[Record]) -> Record:
    """What several ranks say of each other."""
    steps, waits = ([row[name] for row in ranks if name in row] for name in ("step_s", "communication_s"))
    found: Record = {}
    if len(steps) > 1:
        times = [float(one.value) for one in steps]
        found["slowest_over_mean_ratio"] = chosen(
            "slowest_over_mean_ratio", max(times) / float(np.mean(times)), "steps of all ranks"
        )
    if len(waits) > 1:
        least = min(float(one.value) for one in waits)
        found["least_communication_s"] = chosen("least_communication_s", least, "of all ranks")
    return found


def _representatives(ranks: Sequence[Record], count: int) -> list[Record]:
    """Ranks that stand for all, with their weights, and how close their weighted times come.

    Raises:
        InputError: there are fewer traces than that, or they are not of one kind.
    """
    if not 1 <= count <= len(ranks):
        raise InputError(f"--represent: {count} of {len(ranks)} traces: ask for 1 to {len(ranks)}")
    names = next(
        (one for one in (FEATURES, NODE_FEATURES) if all(set(one) <= row.keys() for row in ranks)), ()
    )
    if not names:
        raise InputError("--represent: traces have to say when kernels ran, or all be Chakra graphs")
    features = np.array([[float(row[name].value) for name in names] for row in ranks])
    places, weights = representatives(features=features, count=count)
    main = "span_s" if "span_s" in names else "compute_s"
    mean = float(features[:, names.index(main)].mean())
    stands = float(weights @ features[places, names.index(main)])
    rows: list[Record] = []
    for place, weight in zip(places.tolist(), weights.tolist(), strict=True):
        row = ranks[place]
        rows.append(
            {
                "name": row["name"],
                "weight_fraction": chosen("weight_fraction", weight, "share of the traces nearest to it"),
                main: row[main],
                "weighted_error_fraction": chosen(
                    "weighted_error_fraction", stands / mean - 1.0, f"weighted {main} of these over the mean"
                ),
            }
        )
    return rows


def _said(tables: Record) -> Iterator[str]:
    for row in tables["ranks"][:1]:
        if "exposed_communication_s" in row:
            yield (
                f"{row['name']}: busy {percent_text(row['busy_fraction'])} of the time from the first kernel "
                f"to the last; collectives {_ms(row['communication_s'])}, of which "
                f"{_ms(row['exposed_communication_s'])} with nothing else running."
            )
    for row in tables.get("together", []):
        if "slowest_over_mean_ratio" in row:
            yield f"The slowest step takes {fixed_text(row['slowest_over_mean_ratio'], 3)} times their mean."
        if "least_communication_s" in row:
            yield (
                f"Collectives take {_ms(row['least_communication_s'])} on the rank that has least of them: "
                "closest to the transfer alone, since the others also wait in theirs."
            )
    if rows := tables.get("representatives"):
        yield (
            f"{', '.join(row['name'] for row in rows)} stand for {len(tables['ranks'])} traces: their "
            f"weighted mean is {percent_text(rows[0]['weighted_error_fraction'], sign=True)} off."
        )


def _ms(seconds: float) -> str:
    return f"{number_text(1e3 * seconds)} ms"


def _time(heading: str, key: str) -> Column:
    return Column(heading, lambda row: number_text(1e3 * row[key]) if key in row else "")


def _count(heading: str, key: str) -> Column:
    return Column(heading, lambda row: count_text(row[key]) if key in row else "")


def _word(heading: str, key: str) -> Column:
    return Column(heading, lambda row: str(row.get(key, "")), right=False)


_TABLES = {
    "ranks": [
        _word("trace", "name"),
        _word("format", "format"),
        _count("nodes", "operators"),
        _count("kernels", "kernels"),
        _time("step ms", "step_s"),
        _time("span ms", "span_s"),
        _time("compute ms", "compute_s"),
        _time("exposed ms", "exposed_communication_s"),
        _time("hidden ms", "hidden_communication_s"),
        _time("communication ms", "communication_s"),
        _time("idle ms", "idle_s"),
    ],
    "collectives": [
        _word("trace", "name"),
        _word("collective", "collective"),
        _count("calls", "calls"),
        Column("given MB", lambda row: number_text(1e3 * row["given_gb"]) if "given_gb" in row else ""),
        _time("kernels ms", "kernel_s"),
    ],
    "node_times": [
        _word("trace", "name"),
        _count("nodes", "operators"),
        _word("type", "type"),
        _word("on", "on"),
        _time("ms", "time_s"),
    ],
    "representatives": [
        _word("stands for others", "name"),
        Column("weight", lambda row: percent_text(row["weight_fraction"])),
        _time("span ms", "span_s"),
        _time("compute ms", "compute_s"),
    ],
}
