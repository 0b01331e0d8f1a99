"""Models that answer as a whole (scores, images, films, classes): what nodes make in a second, and draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.answers.throughput.setting import Row, Setting, Table
from planner.answers.throughput.single_device import alone_table
from planner.inputs.model_kinds import RECOMMENDATION, VISION, item_of, kind_of_model, models_of
from planner.physics.replica_kinds import replica_kinds
from planner.physics.requests import SERVICE_OF_ITEMS, inputs_of, peak_demand_per_s
from planner.physics.serving import serving_candidates

CAPACITY = {"requests_per_s": "requests_per_s", "limit_requests_per_s": "limit_per_s", "ttft_s": "response_s"}


def scoring_table(setting: Setting, sizes: Sequence[int]) -> Table:
    """Every SKU at every size whose accelerators each hold all tables, or what they lack."""
    notes = [
        "At full load, in batches: a latency limit takes its share. Rows cached near the chip are left out."
    ]
    table = alone_table(setting, sizes, unit="samples", error="the worst of the MLPerf rows", notes=notes)
    return _with_units(setting, table)


def generation_table(setting: Setting, sizes: Sequence[int]) -> Table:
    """Every SKU at every size whose accelerators hold the denoiser."""
    if setting.question.model in models_of(setting.catalogue, [VISION]):
        notes = ["The classes of one pass: reading and resizing images is left out."]
        table = alone_table(setting, sizes, unit="images", error="the worst engine", notes=notes)
        return _with_units(setting, table)
    notes = [
        "An engine that starts each operator alone is slower: the low end is what such engines were measured "
        "at. Text encoder and, where it is not counted, decoder are left out."
    ]
    unit = item_of(setting.catalogue, setting.question.model)
    table = alone_table(setting, sizes, unit=unit, error="the worst engine", notes=notes)
    return _with_units(setting, table)


def _with_units(setting: Setting, table: Table) -> Table:
    """The table with what one unit of each SKU takes within the response time, where one is requested."""
    question = setting.question
    if question.response_s is None:
        return table
    catalogue = setting.catalogue
    scores = kind_of_model(catalogue, question.model) == RECOMMENDATION
    text = SERVICE_OF_ITEMS.format(
        model=question.model,
        precision=question.precision,
        key="candidates" if scores else "images",
        items=float(question.items or 1.0),
        rate=float(peak_demand_per_s(None, setting.fact)),
        response_s=float(question.response_s),
    )
    inputs = inputs_of(catalogue, question.skus, text)
    candidates, dropped = serving_candidates(inputs)
    rows: list[Row] = [
        {
            "sku": one.sku,
            "accelerators": int(one.what.rpartition(" ")[2]),
            "fits": False,
            "reason": one.reason,
        }
        for one in dropped
    ]
    if len(candidates):
        kinds, _ = replica_kinds(inputs, candidates)
        kw = np.asarray((kinds.busy_kw * kinds.nodes).named("shared_node_kw", "Power of a replica").value)
        for at, k in enumerate(kinds.sku):
            row: dict[str, Any] = {
                "sku": inputs.skus[k].name,
                "accelerators": int(np.asarray(kinds.accelerators.value)[at]),
                "fits": bool(np.asarray(kinds.capacity["requests_per_s"].value)[at] > 0),
                "replica_kw": float(kw[at]),
            }
            for name, shown in CAPACITY.items():
                row[shown] = float(np.asarray(kinds.capacity[name].value)[at])
            rows.append(row if row["fits"] else {**row, "reason": "one request alone takes longer"})
    place = {sku.name: k for k, sku in enumerate(inputs.skus)}
    rows.sort(key=lambda row: (place[str(row["sku"])], row["accelerators"]))
    more = {"response_s": float(question.response_s), "items": float(question.items or 1.0), "units": rows}
    return replace(table, about={**table.about, **more})
