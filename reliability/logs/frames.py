"""The window that a log covers, and the frames of a `FailureLog` with their columns and types."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from reliability.logs.mapping import Mapping
from reliability.logs.problems import LogError

# One time that is centuries off makes a window of millions of hours that nobody watched.
LONGEST_WINDOW_Y = 100.0
_HOURS_PER_YEAR = 8_766.0

# What our own columns of units and lives are called.
OWN_COLUMNS = ("unit", "entry_h", "exit_h", "duration_h", "died", "age_h", "age_known")
JOB_COLUMNS = ("nodes", "jobs", "node_h", "failures", "queue_mean_h", "queue_median_h")


@dataclass(frozen=True, slots=True)
class Window:
    """The time that was watched, from `start_s` on, in seconds as the log's times are read."""

    start_s: float
    hours: float
    origin: datetime | None

    @classmethod
    def of(
        cls,
        start_s: float | None,
        end_s: float | None,
        seen_s: tuple[float, float],
        *,
        dated: bool,
        name: str,
    ) -> Window:
        """The window that a mapping states; where it does not, what the log holds."""
        first = seen_s[0] if dated else min(0.0, seen_s[0])
        start = first if start_s is None else start_s
        end = seen_s[1] if end_s is None else end_s
        if end <= start:
            raise LogError(
                [
                    f"{name}: the window ends where it starts or before, after {(end - start) / 3600:g} h: "
                    "write [window] with a start and a later end into the mapping"
                ]
            )
        if (end - start) / 3600.0 > LONGEST_WINDOW_Y * _HOURS_PER_YEAR:
            years = (end - start) / 3600.0 / _HOURS_PER_YEAR
            raise LogError(
                [
                    f"{name}: its times span {years:,.0f} years, and {LONGEST_WINDOW_Y:g} are the most: "
                    "correct the first or the last, or write a start and an end into [window] of the mapping"
                ]
            )
        origin = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=start) if dated else None
        return cls(start, (end - start) / 3600.0, origin)


def covariate_names(mapping: Mapping) -> dict[str, str]:
    """What a covariate is called in a frame, by its name in SQL: as its column, unless we call ours so."""
    taken = {*OWN_COLUMNS, *mapping.covariates}
    names = {}
    for i, column in enumerate(mapping.covariates):
        name = column
        while name in OWN_COLUMNS or (name != column and name in taken):
            name += " of the log"
        names[f"covariate_{i}"] = name
    return names


def event_frame(events: pd.DataFrame) -> pd.DataFrame:
    """Events in order of their start."""
    frame = pd.DataFrame(
        {
            "unit": events["unit"].astype(object),
            "start_h": events["start_h"].astype(float),
            "end_h": events["end_h"].astype(float),
            "cause": events["cause"].fillna("unknown").astype(object),
            "severity": events["severity"].fillna("unknown").astype(object),
            "planned": events["planned"].fillna(False).astype(bool),
        }
    )
    return frame.sort_values(["start_h", "unit", "cause"], kind="stable", ignore_index=True)


def unit_frame(units: pd.DataFrame) -> pd.DataFrame:
    """Units in order of their name."""
    frame = units.astype({"unit": object, "entry_h": float, "exit_h": float})
    return frame.sort_values("unit", kind="stable", ignore_index=True)


def no_lives() -> pd.DataFrame:
    """Lives of a log that tells none."""
    return pd.DataFrame(
        {
            "unit": pd.Series(dtype=object),
            "entry_h": pd.Series(dtype=float),
            "duration_h": pd.Series(dtype=float),
            "died": pd.Series(dtype=bool),
        }
    )


def no_jobs() -> pd.DataFrame:
    """Jobs of a log that tells none."""
    return pd.DataFrame({name: pd.Series(dtype=float) for name in JOB_COLUMNS})


def exposure_of(stays: pd.DataFrame, down: pd.DataFrame, window_h: float) -> pd.DataFrame:
    """Unit-hours up to each time at which a unit comes, goes, fails or is repaired.

    E(T) = sum_(came < T) (T - came)  -  sum_(went < T) (T - went)
    """
    came_h = np.concatenate([stays["entry_h"], down["end_h"]])
    went_h = np.concatenate([stays["exit_h"], down["start_h"]])
    change = np.concatenate([np.ones(came_h.size), -np.ones(went_h.size), [0.0, 0.0]])
    time_h, place = np.unique(np.concatenate([came_h, went_h, [0.0, window_h]]), return_inverse=True)
    up = np.cumsum(np.bincount(place, weights=change, minlength=time_h.size))
    node_h = np.append(0.0, np.cumsum(up[:-1] * np.diff(time_h)))
    return pd.DataFrame({"time_h": time_h, "node_h": node_h})
