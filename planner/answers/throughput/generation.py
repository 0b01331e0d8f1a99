"""Images and films by denoising steps: what nodes make in a second, and what they draw."""

from __future__ import annotations

from collections.abc import Sequence

from planner.answers.throughput.setting import Setting, Table
from planner.answers.throughput.single_device import alone_table
from planner.answers.throughput.within import with_units
from planner.inputs.model_kinds import VISION, item_of, models_of


def generation_table(setting: Setting, sizes: Sequence[int]) -> Table:
    """Every SKU at every size whose accelerators hold the denoiser."""
    if setting.question.model in models_of(setting.catalogue, [VISION]):
        notes = ["The classes of one pass: reading and resizing images is left out."]
        table = alone_table(setting, sizes, unit="images", error="the worst engine", notes=notes)
        return with_units(setting, table)
    notes = [
        "An engine that starts each operator alone is slower: the low end is what such engines were measured "
        "at. Text encoder and, where it is not counted, decoder are left out."
    ]
    unit = item_of(setting.catalogue, setting.question.model)
    table = alone_table(setting, sizes, unit=unit, error="the worst engine", notes=notes)
    return with_units(setting, table)
