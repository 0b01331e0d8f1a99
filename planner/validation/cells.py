"""Where the numbers of a validation come from: a row from its inputs, a group from its rows."""

from __future__ import annotations

import json
from typing import Any

from planner.report.cells import Number, explanation_of
from planner.trace.explain import Explanation
from planner.trace.records import Record, is_number

PUBLISHED, OURS, ERROR = "expected", "ours", "error"
# Column of a group -> what it counts or measures of its rows.
GROUPED = {
    "rows": "rows that ran and are no arithmetic on their own numbers",
    "understood": "rows with a value of ours",
    "inside": "rows whose value of ours is within the tolerance",
    "scored": "rows that state a value and leave room around it",
    "median_error": "median of |ours / published - 1| of the scored rows",
    "mean_error": "mean of |ours / published - 1| of the scored rows",
    "within_10_percent_fraction": "share of the scored rows that are off by 10 % or less",
    "worst_error": "largest |ours / published - 1| of the scored rows",
}


def row_explanation(row: Record, key: str) -> Explanation | None:
    """A number of a row, down to its inputs and its source."""
    if row.get(key) is None or key not in (PUBLISHED, OURS, ERROR):
        return None
    published = Number("published", row[PUBLISHED], row["unit"], "published", source=row["source"])
    if key == PUBLISHED:
        return explanation_of(published)
    ours = Number(
        "ours",
        row[OURS],
        row["unit"],
        equation=f"the model of '{row['quantity']}' of the inputs below",
        about=f"{row['subject']}; row {row['id']}",
        inputs=_inputs(row),
    )
    if key == OURS:
        return explanation_of(ours)
    return explanation_of(
        Number(
            "error",
            row[ERROR],
            equation="ours / published - 1",
            about=f"allowed: {row['tolerance']}",
            inputs={"ours": ours, "published": published},
        )
    )


def group_explanation(group: Record, key: str) -> Explanation | None:
    """A number of a group of rows."""
    if key not in GROUPED or group.get(key) is None:
        return None
    worst = f"; the worst is {group['worst_id']}" if key == "worst_error" else ""
    scored = {
        name: Number(name, float(group[name]), about=GROUPED[name])
        for name in ("rows", "scored")
        if key not in ("rows", "understood", "inside", "scored")
    }
    return explanation_of(
        Number(
            key,
            float(group[key]),
            equation=GROUPED[key],
            about=f"{group['name'] or 'unnamed'}{worst}",
            inputs=scored,
        )
    )


def _inputs(row: Record) -> dict[str, Number]:
    """The numbers that the row states; texts are told by their name."""
    stated: dict[str, Any] = json.loads(row["inputs"])
    return {
        name: Number(name, float(value), kind="published", source=row["source"])
        for name, value in stated.items()
        if is_number(value)
    }
