"""A failure log of the user, once it is fitted: what was read of it, and the fit next to the scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.inputs.editing.found import MOST_DROPPED, Found
from planner.report.shape import answer_json
from planner.trace.numbers import number_text

LONGEST_STEM = 60  # characters of the name; with its ending it still is a name of one file


def log_found(name: str, document: dict[str, Any]) -> Found:
    """What a log holds, from the document of its fit, which would lie next to the scenario."""
    read = document["sections"]["read"]
    file = f"{Path(name).name.partition('.')[0][:LONGEST_STEM] or 'log'}-fit.json"
    section, rate = document["sections"]["rate"], document["rate"]
    shown = (
        f"{number_text(rate['value'], 3)} {rate['unit']}, 95 % interval {number_text(rate['low'], 3)} "
        f"to {number_text(rate['high'], 3)}"
    )
    return Found(
        what="a failure log",
        facts=(*((row["read"], row["value"]) for row in read["tables"]["read"]), ("failure rate", shown)),
        notes=(*read["said"], *section["said"]),
        dropped=tuple((row["line"], row["reason"]) for row in document["bad_rows"][:MOST_DROPPED]),
        dropped_count=document["bad_row_count"],
        changes={"reliability.log": file, "reliability.failures": None, "reliability.failure_rate": None},
        files=((file, answer_json(document).encode()),),
    )
