"""The document of a placement: sizes next to each other, and the one that is meant device by device."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.inputs.catalogue import Catalogue
from planner.inputs.embedding_tables import EmbeddingTable, read_reuse, read_tables, with_reuse
from planner.inputs.loading import load_catalogue
from planner.inputs.own.facts import own_notes
from planner.inputs.placement_question import HBM, NODES, TIERS, TIME, WAYS, PlacementQuestion
from planner.inputs.question_fields import out_of_range
from planner.inputs.scenario import Problem, ScenarioError
from planner.inputs.scenario.problems import near_or_own, shown
from planner.physics.requests import inputs_of
from planner.physics.table_tiers import Device, accelerators_of, device_of
from planner.program.table_placement import (
    Baseline,
    PlacedTables,
    baselines,
    placed_tables,
    placed_times,
)
from planner.trace.explain import Steps
from planner.trace.numbers import count_text, number_text, percent_text, quantity_text
from planner.trace.origins import facts_of
from planner.trace.quantities import Traced, chosen, ratio
from planner.trace.records import Record, numbered, plain_rows, total_records

DRAWS = 400
MOST_DEVICES = 1024
PLACED = "of the placement that was found"
IMBALANCE = "performance.recommendation.imbalance"


@dataclass(frozen=True)
class Size:
    """The tables on some nodes, with its times; nothing is placed where they do not fit."""

    nodes: int
    device: Device
    placed: PlacedTables | None
    times: dict[str, Traced]

    @property
    def step_s(self) -> float:
        """Time of the device that takes longest; infinite where the tables do not fit."""
        return float(self.times["step_s"].value) if self.placed else math.inf


def placement_document(
    tables: Path, question: PlacementQuestion, catalogue: Catalogue | None = None
) -> Record:
    """Where the tables of a file lie on nodes of a SKU, for every size asked for.

    Raises:
        InputError: the question or a file is wrong; the message has every problem.
    """
    catalogue, question = catalogue or load_catalogue(), question.in_full
    _refuse(question, catalogue)
    held = read_tables(tables, question.model)
    if question.reuse is not None:
        held = with_reuse(held, read_reuse(question.reuse, question.dataset))
    inputs = inputs_of(catalogue, (question.sku,))
    exchange_bytes = float(inputs.fact("performance.recommendation.value_bytes").value)
    sizes = []
    for nodes in sorted(set(question.nodes)):
        device = device_of(inputs, question.tiers, accelerators_of(inputs, nodes))
        placed = placed_tables(held, question, device, exchange_bytes)
        sizes.append(Size(nodes, device, placed, placed_times(placed, PLACED) if placed else {}))
        if question.aim == NODES and sizes[-1].step_s <= (question.within_s or math.inf):
            break
    return _document(tables, question, catalogue, held, sizes, _meant(question, sizes), exchange_bytes)


def _meant(question: PlacementQuestion, sizes: Sequence[Size]) -> Size | None:
    """The size that is shown in full: of least time, or the smallest that is in time."""
    fitting = [one for one in sizes if one.placed]
    if question.aim == TIME or not fitting:
        return min(fitting, key=lambda one: one.step_s, default=None)
    in_time = [one for one in fitting if one.step_s <= (question.within_s or math.inf)]
    return in_time[0] if in_time else None


def _document(
    path: Path,
    question: PlacementQuestion,
    catalogue: Catalogue,
    held: Sequence[EmbeddingTable],
    sizes: Sequence[Size],
    meant: Size | None,
    exchange_bytes: float,
) -> Record:
    tables: dict[str, list[Record]] = {"sizes": [_size_row(one) for one in sizes]}
    named: dict[str, tuple[str, Traced]] = {}
    if meant is not None and meant.placed is not None:
        rules = baselines(held, question, meant.device, exchange_bytes)
        tables |= {
            "tiers": _tier_rows(meant.placed),
            "devices": _device_rows(meant, question.sku),
            "placed": _table_rows(meant.placed, held),
            "rules": _rule_rows(rules, meant),
        }
        named = {
            "step": ("Look-up and exchange of a step", meant.times["step_s"]),
            "imbalance": ("Imbalance of the placement", meant.times["imbalance_ratio"]),
        }
    tables["totals"] = total_records(named, DRAWS)
    steps = Steps()
    facts = facts_of(*(node for _, node in named.values()))
    return {
        "everfleet_placement": 1,
        "title": f"{count_text(len(held))} embedding tables on {question.sku}",
        "headline": [*_said(question, held, sizes, meant), *own_notes(facts.keys(), catalogue)],
        "inputs": {
            "tables": path.name,
            "model": question.model,
            "reuse": question.reuse.name if question.reuse else "",
            "dataset": question.dataset,
            "sku": question.sku,
            "batch": question.batch,
            "train": question.train,
            "tiers": ", ".join(question.tiers),
            "ways": ", ".join(question.ways),
            "aim": question.aim,
        },
        **{name: plain_rows(rows) for name, rows in tables.items()},
        "explanations": {name: steps.add(node) for name, (_, node) in named.items()},
        "cells": numbered(tables, steps),
        "steps": steps.packed(),
    }


def _size_row(size: Size) -> Record:
    devices = int(size.device.accelerators.value)
    row: Record = {
        "nodes": chosen("nodes", size.nodes, "a size that was looked at"),
        "accelerators": chosen("accelerators", devices, "of a size that was looked at"),
        "fits": size.placed is not None,
    }
    if size.placed is None:
        return row | {"reason": "the tables are larger than what the tiers hold"}
    names = ("step_s", "bound_s", "gap_fraction", "imbalance_ratio")
    return row | {name: size.times[name] for name in names} | {"proven": size.placed.found.exact}


def _tier_rows(placed: PlacedTables) -> list[Record]:
    moved = chosen("moved_gb", float(placed.moved_gb.sum()), PLACED)
    rows = []
    for k, tier in enumerate(placed.device.tiers):
        held, read = (
            chosen(name, float(column[:, k].sum()), PLACED)
            for name, column in (("held_gb", placed.held_gb), ("moved_gb", placed.moved_gb))
        )
        room = (tier.capacity_gb * placed.device.accelerators).named("room_gb", "of all devices")
        rows.append(
            {
                "tier": tier.name,
                "held_gb": held,
                "room_gb": room,
                "full_fraction": ratio(held, room),
                "moved_gb": read,
                "moved_fraction": ratio(read, moved),
            }
        )
    return rows


def _device_rows(size: Size, sku: str) -> list[Record]:
    placed = size.placed
    assert placed is not None
    devices = int(placed.device.accelerators.value)
    each = devices // size.nodes
    mean = chosen("mean_s", float(np.mean(size.times["device_s"].value)), "mean of the devices")
    rows: list[Record] = []
    for d in range(devices):
        row: Record = {
            "device": f"{sku} {d // each + 1}.{d % each + 1}",
            "pieces": chosen("pieces", int(placed.pieces[:, d].sum()), PLACED),
        }
        for k, tier in enumerate(placed.device.tiers):
            row[f"{tier.name}_gb"] = chosen(f"{tier.name}_gb", float(placed.held_gb[d, k]), PLACED)
        row |= {
            "lookup_s": size.times["lookup_s"][d],
            "exchange_s": size.times["exchange_s"][d],
            "device_s": size.times["device_s"][d],
            "of_mean_ratio": ratio(size.times["device_s"][d], mean),
        }
        rows.append(row)
    return rows


def _table_rows(placed: PlacedTables, held: Sequence[EmbeddingTable]) -> list[Record]:
    tiers = [tier.name for tier in placed.device.tiers]
    rows: list[Record] = []
    for j, (table, way) in enumerate(zip(held, placed.ways, strict=True)):
        moved = placed.table_moved_gb[j]
        where = np.flatnonzero(placed.pieces[j])
        row: Record = {
            "table": table.name,
            "way": way.kind,
            "pieces": chosen("pieces", way.pieces, PLACED),
            "devices": _devices_said(where, way.common == way.gb.size),
            "size_gb": chosen("size_gb", table.size_gb, "rows, columns and bytes of the file"),
            "copied_gb": chosen("copied_gb", way.copied_gb, "held by every device, " + PLACED),
        }
        for k, name in enumerate(tiers):
            row[f"{name}_gb"] = chosen(f"{name}_gb", float(placed.table_held_gb[j, k]), PLACED)
        row["slow_reads_fraction"] = chosen(
            "slow_reads_fraction",
            float(1.0 - moved[0] / moved.sum()) if moved.sum() else 0.0,
            f"bytes that are not read from {tiers[0]}, {PLACED}",
        )
        rows.append(row)
    return rows


def _devices_said(where: np.ndarray, everywhere: bool) -> str:
    """Numbers of devices from 1 on, in order, runs as such."""
    if everywhere:
        return "all"
    runs: list[list[int]] = []
    for at in (where + 1).tolist():
        if runs and at == runs[-1][-1] + 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _rule_rows(rules: Sequence[Baseline], meant: Size) -> list[Record]:
    starts_s = meant.device.sends_s(0.0)
    rows: list[Record] = []
    for one in rules:
        row: Record = {"rule": one.rule, "fits": math.isfinite(one.longest_s)}
        if math.isfinite(one.longest_s):
            taken = chosen("step_s", one.longest_s + starts_s, "whole tables, the heaviest first")
            row |= {"step_s": taken, "over_ours_ratio": ratio(taken, meant.times["step_s"])}
        rows.append(row)
    return rows


def _said(
    question: PlacementQuestion, held: Sequence[EmbeddingTable], sizes: Sequence[Size], meant: Size | None
) -> Iterator[str]:
    size_gb = sum(one.size_gb for one in held)
    reads = sum(one.pooling for one in held)
    yield (
        f"{count_text(len(held))} tables of {quantity_text(size_gb, 'GB')} together, of which a sample reads "
        f"{count_text(reads)} rows; {count_text(question.batch)} samples in a step"
        f"{', rows updated' if question.train else ''}."
    )
    if meant is None or meant.placed is None:
        tried = ", ".join(str(one.nodes) for one in sizes)
        limit = f" within {quantity_text(question.within_s, 's')}" if question.within_s else ""
        yield f"No placement{limit} on {tried} nodes of {question.sku}: more nodes, or another tier."
        return
    placed, times = meant.placed, meant.times
    gap = float(times["gap_fraction"].value)
    bound = (
        "proven the least" if placed.found.exact or gap < 1e-4 else f"{percent_text(gap)} of it open at most"
    )
    nodes = (
        f"{meant.nodes} node{'s' * (meant.nodes != 1)}, {count_text(placed.device.accelerators.value)} chips"
    )
    step_ms, bound_ms = (number_text(1e3 * float(times[name].value)) for name in ("step_s", "bound_s"))
    yield (
        f"{'Least time' if question.aim == TIME else 'Fewest nodes'}: {nodes}; look-up and exchange take "
        f"{step_ms} ms, {bound} (bound {bound_ms} ms)."
    )
    if question.within_s and meant.step_s > question.within_s:
        yield f"That is longer than {quantity_text(question.within_s, 's')}, and so is every size looked at."
    slow = 1.0 - float(placed.moved_gb[:, 0].sum() / placed.moved_gb.sum())
    kinds = Counter(way.kind for way in placed.ways)
    yield (
        f"{', '.join(f'{count} {kind}' for kind, count in kinds.most_common())}; "
        f"{percent_text(slow)} of the bytes are read from slower memory than {placed.device.tiers[0].name}."
    )
    copied = sum(way.copied_gb for way in placed.ways)
    if copied:
        yield (
            f"Copies take {quantity_text(copied, 'GB')} on every device and save "
            f"{percent_text(placed.saved_fraction)} of the vectors that are sent."
        )
    ratio_text = number_text(float(times["imbalance_ratio"].value))
    yield (
        f"`throughput` and plans assume whole tables in {HBM}, spread evenly. Your own fact {IMBALANCE} = "
        f"{ratio_text} gives them the step of this placement."
    )


def _refuse(question: PlacementQuestion, catalogue: Catalogue) -> None:
    """Refuse a question that is wrong, with every problem of it."""
    problems = [
        Problem(option, text)
        for option, text in out_of_range(
            PlacementQuestion,
            {name: getattr(question, name) for name in ("batch", "within_s", "time_limit_s")},
        )
    ]
    if question.sku not in catalogue.skus:
        remedy = near_or_own("SKU", question.sku, catalogue.skus)
        problems.append(Problem("--sku", f"the catalogue has no SKU {shown(question.sku)}; {remedy}"))
    elif not catalogue.has(f"accelerator.{catalogue.skus[question.sku].accelerator}.link_bandwidth"):
        problems.append(Problem("--sku", f"{question.sku} has no accelerators that exchange vectors"))
    for name, stated, known in (
        ("--tiers", question.tiers, TIERS),
        ("--ways", question.ways, WAYS),
        ("--aim", (question.aim,), (TIME, NODES)),
    ):
        wrong = [one for one in stated if one not in known]
        if wrong:
            problems.append(Problem(name, f"{shown(', '.join(wrong))} is none of {', '.join(known)}"))
    if min(question.nodes) < 1:
        problems.append(Problem("--nodes", "are sizes of 1 or more, such as 1..4"))
    elif question.sku in catalogue.skus:
        server = catalogue.skus[question.sku].server
        each = catalogue.fact(f"server.{server}.accelerators").value
        if max(question.nodes) * each > MOST_DEVICES:
            most = int(MOST_DEVICES // each)
            problems.append(
                Problem("--nodes", f"{question.sku}: at most {most} nodes, {MOST_DEVICES} devices")
            )
    if question.dataset and question.reuse is None:
        problems.append(Problem("--dataset", "is of --reuse, which names no file"))
    if problems:
        raise ScenarioError("", problems)
