"""The document as tables for a terminal, and as CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from planner.answers.throughput.question import ANSWERS, GENERATE, RECOMMEND, SCORE, TEXT, WORDS
from planner.report.spreadsheets import csv_of
from planner.trace.explain import opened
from planner.trace.numbers import count_text, fixed_text, number_text, percent_text
from planner.trace.records import Record

Cell = tuple[str, int, Callable[[Record], str]]


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
    lines += [f"Note: {note}" for note in document["notes"]]
    return "\n".join(lines).rstrip()


def to_csv(document: Record) -> str:
    """The rows, or the sizes that reach the target, as CSV."""
    rows: list[Record] = document["reached" if "reached" in document else "rows"]
    return csv_of(rows, line_end="\n").rstrip("\n")


def _title(document: Record) -> str:
    about = document["about"]
    head = f"{document['model']}, {WORDS[document['kind']]} in {document['precision']}"
    if document["kind"] == TEXT:
        tokens = about["batch"] * about["sequence_tokens"]
        return (
            f"{head}: {count_text(about['batch'])} sequences of {count_text(about['sequence_tokens'])} "
            "tokens in a step, "
            f"{count_text(tokens)} tokens"
        )
    if document["kind"] == ANSWERS:
        return (
            f"{head}: {about['mix']}, {count_text(about['input_tokens'])} tokens in and "
            f"{count_text(about['output_tokens'])} out on average; "
            f"{percent_text(about['quantile_fraction'], 0)} within "
            f"{about['ttft_s']:g} s to the first token and {1000 * about['tpot_s']:g} ms a token; "
            f"one of the replicas that share {number_text(about['demand_per_s'])} requests/s"
        )
    if document["kind"] in (SCORE, GENERATE):
        return f"{head}: {count_text(about['batch'])} {document['unit']} at once on each accelerator"
    return f"{head}: {count_text(about['batch'])} {document['unit']} in a step"


def _tables(document: Record) -> Iterator[str]:
    """A table for each SKU; sizes that fail for one reason share a line."""
    cells = _answer_cells(document) if document["kind"] == ANSWERS else _cells(document)
    for sku, group in groupby(document["rows"], key=lambda row: row["sku"]):
        rows = list(group)
        works = [row for row in rows if row["fits"]]
        least_sure = max(works, key=lambda row: float(row["error_fraction"]), default=None)
        sure = f": range {_range(least_sure)}" if least_sure else ""
        measured = ", calibrated" if works and _calibrated(document, works[0]) else ""
        yield f"{sku}  {document['titles'][sku]}{sure}{measured}"
        if works:
            yield "  " + "  ".join(f"{name:>{width}}" if width else name for name, width, _ in cells)
        for row in works:
            yield "  " + "  ".join(
                f"{show(row):>{width}}" if width else show(row) for _, width, show in cells
            )
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


def _cells(document: Record) -> list[Cell]:
    """Columns of a table of sizes; a width of 0 is the last column."""
    rows = [row for row in document["rows"] if row["fits"]]
    unit, turn = document["unit"], "batch" if document["kind"] in (SCORE, GENERATE) else "step"
    cells: list[Cell] = [
        ("nodes", 6, lambda row: count_text(row["nodes"])),
        ("chips", 6, lambda row: count_text(row["accelerators"])),
        (f"{unit}/s", 11, lambda row: number_text(row["rate_per_s"])),
        (
            "low .. high",
            23,
            lambda row: f"{number_text(row['low_per_s'])} .. {number_text(row['high_per_s'])}",
        ),
        ("per chip", 9, lambda row: number_text(row["rate_per_s"] / row["accelerators"])),
    ]
    optional: list[tuple[str, Cell]] = [
        ("mfu_fraction", ("MFU", 6, lambda row: percent_text(row["mfu_fraction"]))),
        ("exposed_fraction", ("waits", 6, lambda row: percent_text(row["exposed_fraction"]))),
        ("step_s", (f"{turn} s", 8, lambda row: number_text(row["step_s"]))),
        ("node_kw", ("node kW", 7, lambda row: fixed_text(row["node_kw"], 2))),
        ("per_kwh", (f"{unit}/kWh", 11, lambda row: number_text(row["per_kwh"]))),
        ("million_usd", ("USD/M", 8, lambda row: number_text(row["million_usd"], 3))),
        ("million_kgco2e", ("kg/M", 8, lambda row: number_text(row["million_kgco2e"], 3))),
        ("layout", ("layout", 0, lambda row: _layout(row, document))),
    ]
    return cells + [cell for name, cell in optional if rows and name in rows[0]]


def _layout(row: Record, document: Record) -> str:
    other = f"; batch {count_text(row['batch'])}" if row["batch"] != document["about"]["batch"] else ""
    return f"{row['layout']}{other}"


def _answer_cells(document: Record) -> list[Cell]:
    """Columns of a table of replicas."""
    cells: list[Cell] = [
        ("chips", 5, lambda row: count_text(row["accelerators"])),
        ("batch", 5, lambda row: count_text(row["batch"])),
        ("requests/s", 10, lambda row: number_text(row["rate_per_s"])),
        (
            "low .. high",
            16,
            lambda row: f"{number_text(row['low_per_s'])} .. {number_text(row['high_per_s'])}",
        ),
        ("at most", 7, lambda row: number_text(row["limit_per_s"])),
        ("TTFT s", 6, lambda row: fixed_text(row["ttft_s"], 3)),
        ("TPOT ms", 7, lambda row: fixed_text(1000 * row["tpot_s"], 1)),
        ("running", 7, lambda row: fixed_text(row["running"], 1)),
        ("tokens/s", 9, lambda row: number_text(row["tokens_per_s"])),
        ("kW", 6, lambda row: fixed_text(row["replica_kw"], 2)),
        ("J/token", 8, lambda row: number_text(row["each_j"], 3)),
        ("USD/M", 8, lambda row: number_text(row["million_usd"], 3)),
        ("kg/M", 8, lambda row: number_text(row["million_kgco2e"], 3)),
    ]
    if any("replicas" in row for row in document["rows"]):
        cells += [
            ("replicas", 8, lambda row: f"{count_text(row['replicas'])}+{count_text(row['spares'])}"),
            ("all chips", 9, lambda row: count_text(row["pool_accelerators"])),
            ("all kW", 7, lambda row: fixed_text(row["pool_kw"], 1)),
        ]
    return cells


def _apart(document: Record) -> Iterator[str]:
    """Replicas that read and write apart, the best ratio of replicas for each pair of SKUs."""
    rows = document["about"].get("apart")
    if rows is None:
        return
    yield "Prompts read by some replicas, answers written by others; accelerators without standby"
    yield (
        f"{'reads':<12} {'replicas':>10} {'writes':<12} {'replicas':>10} {'chips':>6} {'together':>8} "
        f"{'TTFT s':>7}"
    )
    for row in rows:
        names = f"{row['prefill_sku']:<12} {{:>10}} {row['decode_sku']:<12} {{:>10}}"
        together = "-" if row["joint_accelerators"] is None else count_text(row["joint_accelerators"])
        if row["fits"]:
            counts = [f"{row[f'{one}_replicas']} x {row[f'{one}_tp']}" for one in ("prefill", "decode")]
            yield (
                f"{names.format(*counts)} {count_text(row['accelerators']):>6} {together:>8} "
                f"{fixed_text(row['ttft_s'], 3):>7}"
            )
        else:
            yield f"{names.format('-', '-')} {'-':>6} {together:>8}  a target is out of reach"
    yield ""


def _target(document: Record) -> Iterator[str]:
    unit = document["unit"]
    yield (
        f"Smallest size that delivers {number_text(document['target_per_s'])} {unit}/s; sure: at its low "
        "end too"
    )
    yield (
        f"{'SKU':<12} {'nodes':>6} {'sure':>6} {'chips':>7} {unit + '/s':>12} {'low .. high':>25} "
        f"{'all kW':>9} {unit + '/kWh':>12}"
    )
    for row in sorted(document["reached"], key=_drawn):
        if not row["fits"]:
            yield f"{row['sku']:<12} {'-':>6} {row['reason']}"
            continue
        span = f"{number_text(row['low_per_s'])} .. {number_text(row['high_per_s'])}"
        yield (
            f"{row['sku']:<12} {count_text(row['nodes']):>6} {row['sure_nodes'] or '-':>6} "
            f"{count_text(row['accelerators']):>7} "
            f"{number_text(row['rate_per_s']):>12} {span:>25} {fixed_text(_drawn(row), 1):>9} "
            f"{number_text(row['per_kwh']):>12}"
        )
    if document["kind"] in (TEXT, RECOMMEND):
        yield ""
        yield "Rates are of training itself: failures, checkpoints and spares come on top (`everfleet plan`)."


def _drawn(row: Record) -> float:
    return float(row["nodes"] * row["node_kw"]) if row["fits"] else float("inf")


def _why(document: Record) -> Iterator[str]:
    for name in ("rate_per_s", "low_per_s", "node_kw", "replica_kw", "replicas"):
        if found := opened(document, name):
            yield f"{document['why']}, {name}"
            yield found.to_text(1 if name == "low_per_s" else None)
            yield ""
