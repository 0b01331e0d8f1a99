"""Embedding tables that a plan placed: on which sizes they fit, and what their placement costs a step."""

from __future__ import annotations

from planner.program.plan import Plan
from planner.trace.numbers import number_text
from planner.trace.quantities import chosen
from planner.trace.records import Record, plain_rows


def placement_records(plan: Plan) -> list[Record]:
    """Each size on which the tables of a run or a service were placed."""
    found: list[Record] = []
    works = {
        f"{section}.{one.name}": one.tables
        for section, held in (
            ("training", plan.inputs.scenario.training),
            ("services", plan.inputs.scenario.services),
        )
        for one in held
        if one.tables is not None
    }
    for (work, sku, accelerators), imbalance in plan.inputs.placements.items():
        part = works[work]
        row: Record = {
            "work": work.partition(".")[2],
            "file": part.file,
            "sku": sku,
            "accelerators": chosen("accelerators", accelerators, "a size that was looked at"),
            "fits": imbalance is not None,
        }
        found.append(row if imbalance is None else row | {"imbalance_ratio": imbalance})
    return found


def placement_sentences(plan: Plan) -> list[str]:
    """For each work that names tables, the fewest accelerators of each SKU that hold them, and how evenly."""
    said: dict[tuple[str, str], list[str]] = {}
    skus: set[tuple[str, str]] = set()
    for row in plain_rows(placement_records(plan)):
        key = row["work"], row["file"]
        if not row["fits"] or (row["work"], row["sku"]) in skus:
            continue
        skus.add((row["work"], row["sku"]))
        imbalance = number_text(row["imbalance_ratio"], 3)
        said.setdefault(key, []).append(f"{row['accelerators']:g} of {row['sku']} (imbalance {imbalance})")
    return [
        f"The tables of {work} ({file}) need at least {', '.join(each)}."
        for (work, file), each in said.items()
    ]
