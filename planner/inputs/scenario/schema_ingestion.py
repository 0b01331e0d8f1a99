"""What feeds a training run: workers that read, decode and transform its data next to its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from planner.inputs.scenario.base import Part
from planner.inputs.scenario.fields import Count, Number, Range, Text
from planner.inputs.scenario.problems import Problem


class Ingestion(Part):
    """Preprocessing workers of a run: nodes at its site for as long as it works, counted by their hours."""

    workers_per_node: Annotated[float | None, Number("22", Range(0, 10_000, open=True))] = Field(
        None,
        alias="workers_per_node",
        description="Workers that keep one node of the run supplied; default: the fact "
        "ingestion.workers_per_trainer",
    )
    workers: Annotated[int | None, Count("60", Range(1, 1_000_000))] = Field(
        None,
        description="The most workers that the run can have: where its nodes need more, they wait for data; "
        "default: as many as they need",
    )
    sku: Annotated[str | None, Text('"xeon-6980p-2"')] = Field(
        None, description="SKU of a worker; default: xeon-6980p-2"
    )


def pausable_fed(job: Any, at: str) -> Iterator[Problem]:
    """Workers stand by a run that holds its nodes in one piece."""
    if job.has("ingestion") and job.pausable:
        yield Problem(
            f"{at}.ingestion",
            "is of runs in one piece, and this job may pause: remove one of them",
        )
