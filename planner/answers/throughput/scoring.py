"""Recommendation models that score: samples a second of nodes whose accelerators each hold every table."""

from __future__ import annotations

from collections.abc import Sequence

from planner.answers.throughput.setting import Setting, Table
from planner.answers.throughput.single_device import alone_table
from planner.answers.throughput.within import with_units


def scoring_table(setting: Setting, sizes: Sequence[int]) -> Table:
    """Every SKU at every size whose accelerators each hold all tables, or what they lack."""
    notes = [
        "At full load, in batches: a latency limit takes its share. Rows cached near the chip are left out."
    ]
    table = alone_table(setting, sizes, unit="samples", error="the worst of the MLPerf rows", notes=notes)
    return with_units(setting, table)
