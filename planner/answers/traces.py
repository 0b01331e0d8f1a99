"""What an execution trace says of a step: how busy, how long it only communicates, who is slowest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from planner.inputs.execution_traces import ExecutionTrace, read_trace
from planner.performance.timeline import busy_fraction, covered_s, exposed_s
from planner.trace.numbers import count_text, fixed_text, number_text, percent_text
from planner.trace.records import Record

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


def traces_document(paths: Sequence[Path]) -> Record:
    """Each rank's trace, and how far the slowest is from their mean.

    Raises:
        InputError: a file cannot be read as a trace.
    """
    ranks = [_rank(read_trace(path)) for path in paths]
    steps = [rank["step_s"] for rank in ranks if rank["step_s"] is not None]
    waits = [rank["communication_s"] for rank in ranks if rank["communication_s"] is not None]
    return {
        "title": "Execution traces",
        "ranks": ranks,
        "slowest_over_mean_step": max(steps) / float(np.mean(steps)) if len(steps) > 1 else None,
        "least_communication_s": min(waits) if len(waits) > 1 else None,
    }


def traces_text(document: Record) -> str:
    """The document as lines for a terminal."""
    lines = [line for rank in document["ranks"] for line in _rank_lines(rank)]
    if document["slowest_over_mean_step"] is not None:
        lines.append(
            f"The slowest step takes {fixed_text(document['slowest_over_mean_step'], 3)} times their mean."
        )
    if document["least_communication_s"] is not None:
        lines.append(
            f"Collectives take {_ms(document['least_communication_s'])} on the rank that has least of them: "
            "closest to the transfer alone, since the others also wait in theirs."
        )
    return "\n".join(lines)


def _rank(trace: ExecutionTrace) -> Record:
    found: Record = {
        "name": trace.name,
        "format": trace.form,
        "nodes": trace.nodes or None,
        "kernels": int(trace.start_s.size) or None,
        "step_s": float(trace.step_s.mean()) if trace.step_s.size else None,
        "busy_fraction": None,
        "communication_s": None,
        "exposed_communication_s": None,
        "node_times": _node_times(trace),
    }
    if trace.start_s.size:
        sends = trace.is_collective
        found |= {
            "busy_fraction": busy_fraction(start_s=trace.start_s, end_s=trace.end_s),
            "communication_s": covered_s(start_s=trace.start_s[sends], end_s=trace.end_s[sends]),
            "exposed_communication_s": exposed_s(
                start_s=trace.start_s, end_s=trace.end_s, is_communication=sends
            ),
        }
    return found


def _node_times(trace: ExecutionTrace) -> list[Record]:
    """Nodes of a Chakra graph by type and place, with their summed run times."""
    kinds = sorted({(int(kind), bool(cpu)) for kind, cpu in zip(trace.node_type, trace.on_cpu, strict=True)})
    return [
        {
            "type": NODE_TYPES[kind] if kind < len(NODE_TYPES) else str(kind),
            "on": "host" if cpu else "accelerator",
            "nodes": int(chosen.sum()),
            "time_s": float(trace.node_s[chosen].sum()),
        }
        for kind, cpu in kinds
        for chosen in [(trace.node_type == kind) & (trace.on_cpu == cpu)]
    ]


def _rank_lines(rank: Record) -> Iterator[str]:
    size = ", ".join(f"{count_text(rank[name])} {name}" for name in ("nodes", "kernels") if rank[name])
    yield f"{rank['name']}: {rank['format']}, {size or 'nothing on an accelerator'}"
    if rank["step_s"] is not None:
        yield f"  step {_ms(rank['step_s'])}"
    if rank["busy_fraction"] is not None:
        yield (
            f"  busy {percent_text(rank['busy_fraction'])} of the time from the first kernel to the last; "
            "collectives "
            f"{_ms(rank['communication_s'])}, of which {_ms(rank['exposed_communication_s'])} with nothing "
            "else running"
        )
    for row in rank["node_times"]:
        yield f"  {count_text(row['nodes']):>7} {row['type']} nodes on the {row['on']}: {_ms(row['time_s'])}"


def _ms(seconds: float) -> str:
    return f"{number_text(1e3 * seconds)} ms"
