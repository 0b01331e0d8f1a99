"""Charts of one job's carbon."""

from __future__ import annotations

from collections.abc import Callable

from planner.charts.drawing import Document, Picture, waterfall


# Section of a fit -> its chart.
def phase_waterfall(document: Document) -> Picture | None:
    """Carbon of a job, phase by phase."""
    terms = [{"label": row["phase"], "kgco2e": row["kgco2e"]} for row in document["phases"]]
    return waterfall(terms, "kgco2e", "kgCO2e", "Carbon, phase by phase")


JOB_PICTURES: dict[str, Callable[[Document], Picture | None]] = {"phases": phase_waterfall}
