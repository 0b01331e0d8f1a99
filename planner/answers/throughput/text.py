"""The document as tables for a terminal, and as CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from planner.answers.throughput.question import WORDS
from planner.inputs.hardware_question import DRAW, HEAR, RECOMMEND, TEXT, WHOLE, WRITTEN
from planner.report.columns import Column, aligned
from planner.report.spreadsheets import csv_of
from planner.trace.explain import kept_step
from planner.trace.numbers import NONE, count_text, fixed_text, number_text, percent_text
from planner.trace.records import Record


def to_text(document: Record) -> str:
    """The document as tables; what is explained is opened below them."""
    lines = [_title(document), ""]
    if "explanations" in document:
        lines += _why(document)
    elif "reached" in document:
        lines += _target(document)
    else:
        lines += _tables(document)
        lines += _apart(document)
        lines += _units(document)
    lines += [f"Note: {note}" for note in document["notes"]]
    return "\n".join(lines).rstrip()


def to_csv(document: Record) -> str:
    """The rows, or the sizes that reach the target, as CSV."""
    rows: list[Record] = document["reached" if "reached" in document else "rows"]
    return csv_of(rows, line_end="\n").rstrip("\n")


def _counted(number: float, thing: str) -> str:
    return f"{count_text(number)} {thing}{'' if number == 1 else 's'}"


def _title(document: Record) -> str:
    about = document["about"]
    head = f"{document['model']}, {WORDS[document['kind']]} in {document['precision']}"
    if document["kind"] == TEXT:
        tokens = about["batch"] * about["sequence_tokens"]
        return (
            f"{head}: {_counted(about['batch'], 'sequence')} of "
            f"{_counted(about['sequence_tokens'], 'token')} in a step, {_counted(tokens, 'token')}"
        )
    if document["kind"] in WRITTEN:
        requests = (
            f"{about['audio_s']:g} s of sound, heard in {about['windows']:g} of {about['input_tokens']:g} "
            f"frames, of which {number_text(about['output_tokens'])} tokens are written each"
            if document["kind"] == HEAR
            else f"{about['mix']}, {count_text(about['input_tokens'])} tokens in and "
            f"{count_text(about['output_tokens'])} out on average"
        )
        return (
            f"{head}: {requests}; "
            f"{percent_text(about['quantile_fraction'], 0)} within "
            f"{about['ttft_s']:g} s to the first token and {1000 * about['tpot_s']:g} ms a token; "
            f"one of the replicas that share {number_text(about['demand_per_s'])} requests/s"
        )
    if document["kind"] in WHOLE:
        return f"{head}: {count_text(about['batch'])} {document['unit']} at once on each accelerator"
    return f"{head}: {count_text(about['batch'])} {document['unit']} in a step"


def _tables(document: Record) -> Iterator[str]:
    """A table for each SKU; sizes that fail for one reason share a line."""
    cells = _answer_cells(document) if document["kind"] in WRITTEN else _cells(document)
    for sku, group in groupby(document["rows"], key=lambda row: row["sku"]):
        rows = list(group)
        works = [row for row in rows if row["fits"]]
        least_sure = max(works, key=lambda row: float(row["error_fraction"]), default=None)
        sure = f": range {_range(least_sure)}" if least_sure else ""
        measured = ", calibrated" if works and _calibrated(document, works[0]) else ""
        yield f"{sku}  {document['titles'][sku]}{sure}{measured}"
        if works:
            yield from aligned(cells, works, indent="  ")
        yield from _reasons([row for row in rows if not row["fits"]])
        yield ""


def _calibrated(document: Record, row: Record) -> bool:
    return row["sku"] in document.get("calibrated_skus", ())


def _range(row: Record) -> str:
    error = float(row["error_fraction"])
    return f"-{percent_text(1.0 - 1.0 / (1.0 + error), 0)} .. +{percent_text(error, 0)}"


def _reasons(rows: Sequence[Record]) -> Iterator[str]:
    """Sizes that fail alike share a line, with the reason of the one that comes nearest."""
    for _, group in groupby(rows, key=lambda row: re.sub(r"[\d.,]+", "", row["reason"])):
        alike = list(group)
        sizes = [str(row.get("nodes", row["accelerators"])) for row in alike]
        what = "node" if "nodes" in alike[0] else "accelerator"
        last = f"on {sizes[-1]} " if len(sizes) > 1 and re.search(r"\d", alike[-1]["reason"]) else ""
        plural = "" if sizes == ["1"] else "s"
        yield f"  not on {', '.join(sizes)} {what}{plural}: {last}{alike[-1]['reason']}"


def _cells(document: Record) -> list[Column]:
    """Columns of a table of sizes."""
    rows = [row for row in document["rows"] if row["fits"]]
    unit, turn = document["unit"], "batch" if document["kind"] in WHOLE else "step"
    cells = [
        Column("nodes", lambda row: count_text(row["nodes"]), 6),
        Column("chips", lambda row: count_text(row["accelerators"]), 6),
        Column(f"{unit}/s", lambda row: number_text(row["rate_per_s"]), 11),
        Column("low .. high", _span, 23),
        Column("per chip", lambda row: number_text(row["rate_per_s"] / row["accelerators"]), 9),
    ]
    optional = {
        "mfu_fraction": Column("MFU", lambda row: percent_text(row["mfu_fraction"]), 6),
        "exposed_fraction": Column("waits", lambda row: percent_text(row["exposed_fraction"]), 6),
        "step_s": Column(f"{turn} s", lambda row: number_text(row["step_s"]), 8),
        "node_kw": Column("node kW", lambda row: fixed_text(row["node_kw"], 2), 7),
        "per_kwh": Column(f"{unit}/kWh", lambda row: number_text(row["per_kwh"]), 11),
        "million_usd": Column("USD/M", lambda row: number_text(row["million_usd"], 3), 8),
        "million_kgco2e": Column("kg/M", lambda row: number_text(row["million_kgco2e"], 3), 8),
        "layout": Column("layout", lambda row: _layout(row, document), right=False),
    }
    return cells + [cell for name, cell in optional.items() if rows and name in rows[0]]


def _span(row: Record) -> str:
    return f"{number_text(row['low_per_s'])} .. {number_text(row['high_per_s'])}"


def _layout(row: Record, document: Record) -> str:
    other = f"; batch {count_text(row['batch'])}" if row["batch"] != document["about"]["batch"] else ""
    return f"{row['layout']}{other}"


def _answer_cells(document: Record) -> list[Column]:
    """Columns of a table of replicas."""
    cells = [
        Column("chips", lambda row: count_text(row["accelerators"]), 5),
        Column("batch", lambda row: count_text(row["batch"]), 5),
        Column("requests/s", lambda row: number_text(row["rate_per_s"]), 10),
        Column("low .. high", _span, 16),
        Column("at most", lambda row: number_text(row["limit_per_s"]), 7),
        Column("TTFT s", lambda row: fixed_text(row["ttft_s"], 3), 6),
        Column("TPOT ms", lambda row: fixed_text(1000 * row["tpot_s"], 1), 7),
        Column("running", lambda row: fixed_text(row["running"], 1), 7),
        Column("tokens/s", lambda row: number_text(row["tokens_per_s"]), 9),
        Column("kW", lambda row: fixed_text(row["replica_kw"], 2), 6),
        Column("J/token", lambda row: number_text(row["each_j"], 3), 8),
        Column("USD/M", lambda row: number_text(row["million_usd"], 3), 8),
        Column("kg/M", lambda row: number_text(row["million_kgco2e"], 3), 8),
    ]
    if document["kind"] == HEAR:
        cells.insert(5, Column("x real time", lambda row: number_text(row["audio_ratio"]), 11))
    if any(row.get("layout", "").partition(" ")[2] for row in document["rows"]):
        cells.insert(1, Column("layout", lambda row: f" {row['layout']}", 10, right=False))
    if any("replicas" in row for row in document["rows"]):
        cells += [
            Column("replicas", lambda row: f"{count_text(row['replicas'])}+{count_text(row['spares'])}", 8),
            Column("all chips", lambda row: count_text(row["pool_accelerators"]), 9),
            Column("all kW", lambda row: fixed_text(row["pool_kw"], 1), 7),
        ]
    return cells


def _apart(document: Record) -> Iterator[str]:
    """Replicas that read and write apart, the best ratio of replicas for each pair of SKUs."""
    rows = document["about"].get("apart")
    if rows is None:
        return
    yield "Prompts read by some replicas, answers written by others; accelerators without standby"
    joint = "joint_accelerators"
    yield from aligned(
        [
            Column("reads", lambda row: row["prefill_sku"], 12, right=False),
            Column("replicas", lambda row: _replicas(row, "prefill"), 10),
            Column("writes", lambda row: row["decode_sku"], 12, right=False),
            Column("replicas", lambda row: _replicas(row, "decode"), 10),
            Column("chips", lambda row: count_text(row["accelerators"]) if row["fits"] else NONE, 6),
            Column("together", lambda row: NONE if row[joint] is None else count_text(row[joint]), 8),
            Column("TTFT s", lambda row: fixed_text(row["ttft_s"], 3) if row["fits"] else NONE, 7),
            Column("", lambda row: "" if row["fits"] else "a target is out of reach", right=False),
        ],
        rows,
        gap=" ",
    )
    yield ""


def _units(document: Record) -> Iterator[str]:
    """What one unit takes within a response time."""
    about = document["about"]
    if "units" not in about:
        return
    yield (
        f"One unit, {number_text(about['items'])} {document['unit']} a request, answered within "
        f"{number_text(about['response_s'])} s"
    )

    def known(key: str) -> Callable[[Record], str]:
        return lambda row: number_text(row[key]) if row["fits"] else NONE

    yield from aligned(
        [
            Column("SKU", lambda row: row["sku"], 12, right=False),
            Column("chips", lambda row: count_text(row["accelerators"]), 6),
            Column("requests/s", known("requests_per_s"), 11),
            Column("at most", known("limit_per_s"), 9),
            Column("mean s", known("response_s"), 9),
            Column("kW", known("replica_kw"), 6),
            Column("", lambda row: "" if row["fits"] else row["reason"], right=False),
        ],
        about["units"],
        gap=" ",
    )
    yield ""


def _replicas(row: Record, which: str) -> str:
    return f"{row[f'{which}_replicas']} x {row[f'{which}_tp']}" if row["fits"] else NONE


def _target(document: Record) -> Iterator[str]:
    unit = document["unit"]
    yield (
        f"Smallest size that delivers {number_text(document['target_per_s'])} {unit}/s; sure: at its low "
        "end too"
    )

    def known(show: Callable[[Record], str]) -> Callable[[Record], str]:
        return lambda row: show(row) if row["fits"] else NONE

    yield from aligned(
        [
            Column("SKU", lambda row: row["sku"], 12, right=False),
            Column("nodes", known(lambda row: count_text(row["nodes"])), 6),
            Column("sure", known(lambda row: str(row["sure_nodes"] or NONE)), 6),
            Column("chips", known(lambda row: count_text(row["accelerators"])), 7),
            Column(f"{unit}/s", known(lambda row: number_text(row["rate_per_s"])), 12),
            Column("low .. high", known(_span), 25),
            Column("all kW", known(lambda row: fixed_text(_drawn(row), 1)), 9),
            Column(f"{unit}/kWh", known(lambda row: number_text(row["per_kwh"])), 12),
            Column("", lambda row: "" if row["fits"] else row["reason"], right=False),
        ],
        sorted(document["reached"], key=_drawn),
        gap=" ",
    )
    if document["kind"] in (TEXT, RECOMMEND, DRAW):
        yield ""
        yield "Rates are of training itself: failures, checkpoints and spares come on top (`everfleet plan`)."


def _drawn(row: Record) -> float:
    return float(row["nodes"] * row["node_kw"]) if row["fits"] else float("inf")


def _why(document: Record) -> Iterator[str]:
    for name in ("rate_per_s", "low_per_s", "node_kw", "replica_kw", "replicas"):
        if found := kept_step(document, name):
            yield f"{document['why']}, {name}"
            yield found.to_text(1 if name == "low_per_s" else None)
            yield ""
