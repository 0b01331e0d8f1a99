"""One number of a job's tables, and what it is opened into."""

from __future__ import annotations

from dataclasses import dataclass

from planner.answers.job.equations import change_fraction, change_kgco2e
from planner.answers.job.footprint import Footprint
from planner.trace.explain import Explanation
from planner.trace.quantities import Traced, derive
from planner.trace.records import Record

# A number, and which row of a column it is; or what was made of it already.
Opened = Explanation | tuple[Traced] | tuple[Traced, int | None]

# All of a job together holds hardware of every kind.
WHOLE = "embodied=job"


@dataclass(frozen=True)
class Cell:
    """One number of a table: the job and the row that it stands in, and its column."""

    footprint: Footprint
    row: Record
    number: int
    key: str


def compared(then: Traced, cell: Cell) -> Traced:
    """Carbon otherwise, or what that differs by from the carbon of the job."""
    both = {"then_kgco2e": then, "now_kgco2e": cell.footprint.carbon}
    if cell.key.endswith("change_kgco2e"):
        return derive(change_kgco2e, WHOLE, **both)
    return derive(change_fraction, WHOLE, **both) if cell.key.endswith("change_fraction") else then
