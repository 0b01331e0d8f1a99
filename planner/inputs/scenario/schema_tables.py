"""The embedding tables of a recommendation model, named by a run or a service that places them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from planner.inputs.placement_question import TIERS, WAYS
from planner.inputs.scenario.base import Part
from planner.inputs.scenario.fields import Choice, Text
from planner.inputs.scenario.fields_nested import Several


class Tables(Part):
    """Tables of a file, placed on the accelerators that share them, as `everfleet place` does it."""

    SHORT: ClassVar[str] = "file"  # what a text in place of the table is

    file: Annotated[str, Text('"tables.csv"', name=False)] = Field(
        description="CSV of the tables next to this file, or one that is shipped: table, rows, dim, pooling"
    )
    table_set: Annotated[str | None, Text('"mlperf_dlrm_dcnv2_multihot"', name=False)] = Field(
        None, alias="set", description="Which of its sets, where the file has several"
    )
    reuse: Annotated[str | None, Text('"reuse.csv"', name=False)] = Field(
        None, description="CSV of how often rows are read; default: each row alike"
    )
    reuse_set: Annotated[str | None, Text('"fbgemm_t856_bs65536.pt"', name=False)] = Field(
        None, description="Which histogram, where that file has several"
    )
    tiers: Annotated[tuple[str, ...] | None, Several(Choice('"hbm"', TIERS))] = Field(
        None, description="Memories that may hold tables; default: all"
    )
    ways: Annotated[tuple[str, ...] | None, Several(Choice('"whole"', WAYS))] = Field(
        None, description="How a table may be laid out; default: in every way"
    )
