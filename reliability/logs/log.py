"""A failure log that was read, and the gaps between its failures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from reliability.columns import Floats
from reliability.logs.problems import BadRow


@dataclass(frozen=True, slots=True)
class FailureLog:
    """What a log says, in hours since `origin`, the start of the time that was watched.

    `units`: unit, entry_h, exit_h and covariates; a unit is watched between the two.
    `events`: unit, start_h, end_h (NaN where not known), cause, severity, planned.
    `lives`: unit, entry_h (age when watching began), duration_h (age at death or when last seen), died.
    `jobs`: nodes, jobs, node_h, failures, queue_mean_h, queue_median_h; a row for each size of job.
    `exposure`: time_h, node_h; node-hours up to a time, straight in between.

    `origin` is None where the log counts from a start that it does not name.
    """

    name: str
    kind: str
    origin: datetime | None
    window_h: float
    units: pd.DataFrame
    events: pd.DataFrame
    lives: pd.DataFrame
    jobs: pd.DataFrame
    exposure: pd.DataFrame
    node_h: float
    notes: tuple[str, ...]
    bad_rows: tuple[BadRow, ...]
    bad_row_count: int

    @property
    def names_no_node(self) -> bool:
        """Whether its failures are of a fleet, and of no node that it names."""
        return self.kind == "events" and self.lives.empty

    @property
    def failures(self) -> pd.DataFrame:
        """The events that nobody planned."""
        return self.events[~self.events["planned"]]


@dataclass(frozen=True, slots=True)
class Gaps:
    """Hours between failures, and how many gaps of zero were left out."""

    gap_h: Floats
    zero_gaps: int


def gaps_h(log: FailureLog, *, within_unit: bool = False) -> Gaps:
    """Hours between one failure and the next, of the whole fleet or within each unit.

        g_i = t_(i+1) - t_i

    Failures at the same instant are one: a gap of zero is left out, and counted. Planned stops, repair times,
    and the time before the first and after the last failure are left out.
    """
    failures = log.failures
    if within_unit:
        failures = failures[failures["unit"] != ""]
        gaps = failures.groupby("unit")["start_h"].diff().dropna().to_numpy(dtype=float)
    else:
        gaps = np.diff(failures["start_h"].to_numpy(dtype=float))
    return Gaps(gaps[gaps > 0], int(np.sum(gaps == 0)))


def joined_outages(outages: pd.DataFrame) -> pd.DataFrame:
    """Outages of one node that overlap as one: unit, start_h and end_h, in the order of the nodes.

    Every outage needs an end. A node that is reported twice is down once.
    """
    rows = outages.sort_values(["unit", "start_h"], kind="stable")
    latest = rows.groupby("unit")["end_h"].cummax().groupby(rows["unit"]).shift()
    part = (~(rows["start_h"] < latest)).cumsum()
    return rows.groupby(part).agg(unit=("unit", "first"), start_h=("start_h", "min"), end_h=("end_h", "max"))
