"""Time stamps as seconds on one clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pandas as pd

from planner.inputs.metering.table import Table
from planner.trace.columns import Floats
from planner.trace.errors import InputError

EPOCH = datetime(1970, 1, 1)
# No meter is older; the last second is that of Python's calendar.
_FIRST_S, _LAST_S = -2_208_988_800.0, 253_402_300_799.0  # 1900-01-01, 9999-12-31T23:59:59

_WITH_ZONE = r"(?:Z|[+-]\d\d(?::?\d\d)?)\Z"
_UNIX_DIGITS = {10: 1.0, 13: 1e-3, 16: 1e-6, 19: 1e-9}  # seconds, milli-, micro-, nanoseconds since 1970
_HALF_HOUR_S = 1800.0  # clocks go back by an hour, in one zone by half of one


def find_zone(name: str | None) -> ZoneInfo | None:
    """A zone by its IANA name.

    Raises:
        InputError: there is none.
    """
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise InputError(f"'{name}' is no time zone; write one such as 'Europe/Berlin' or 'UTC'") from None


def seconds_of(table: Table, column: str, zone: ZoneInfo | None) -> tuple[Floats, bool]:
    """Seconds since 1970 of a column of stamps, NaN where a row was left out, and whether they are UTC.

    Stamps begin with the year (2024/05/01 10:00:00.123, ISO 8601) or count seconds since 1970. Those that
    name no zone are of `zone`; without one they are read as a clock that was never changed.
    """
    text = table.text(column)
    unix = text.str.fullmatch(r"\d{10}(?:\.\d+)?|\d{13}|\d{16}|\d{19}").to_numpy(dtype=bool)
    zoned = text.str.contains(r"\d" + _WITH_ZONE).to_numpy(dtype=bool) & ~unix & text.str.contains(":")
    seconds = np.full(len(text), np.nan)
    if unix.any():
        digits = text[unix].str.partition(".")[0].str.len().map(_UNIX_DIGITS)
        seconds[unix] = text[unix].astype(float) * digits
    if zoned.any():
        read = pd.to_datetime(text[zoned], format="ISO8601", errors="coerce", utc=True)
        seconds[zoned] = _since_epoch(read.dt.tz_localize(None))
    local = ~unix & ~zoned
    if local.any() and (zone is not None or local.all()):
        dates = text[local].str.replace("/", "-", regex=False)
        read = pd.to_datetime(dates, format="ISO8601", errors="coerce")
        seconds[local] = _since_epoch(read if zone is None else _in_utc(read, zone, table))
    outside = (seconds < _FIRST_S) | (seconds > _LAST_S)
    seconds[outside] = np.nan
    wrong = np.isnan(seconds)
    reasons = np.select(
        [outside, local & ~local.all()],
        ["is not a date of the years 1900 to 9999", "names no zone, while others do"],
        "is no time that is written year first",
    )
    table.drop(
        wrong,
        (f"{column} '{cell}' {reason}" for cell, reason in zip(text[wrong], reasons[wrong], strict=True)),
    )
    if local.all() and zone is None:
        table.notes.append("stamps name no zone: read as one clock that was never changed")
    return seconds, bool(zone is not None or not local.all())


def moment(seconds: float, in_utc: bool) -> datetime:
    """The date of seconds since 1970; without a zone where the file names none."""
    date = EPOCH + timedelta(seconds=seconds)
    return date.replace(tzinfo=UTC) if in_utc else date


def _since_epoch(dates: pd.Series[pd.Timestamp]) -> Floats:
    since = (dates - pd.Timestamp(EPOCH)) / pd.Timedelta(seconds=1)
    return np.asarray(since, dtype=np.float64)


def _in_utc(dates: pd.Series[pd.Timestamp], zone: ZoneInfo, table: Table) -> pd.Series[pd.Timestamp]:
    """Local times in UTC; of the hour that occurs twice in autumn, the first until the clock steps back."""
    back = dates.diff() < pd.Timedelta(seconds=-_HALF_HOUR_S)
    after = back.groupby(dates.dt.date).cummax().reindex(dates.index, fill_value=False).astype(bool)
    local = dates.dt.tz_localize(zone, ambiguous=~after.to_numpy(), nonexistent="NaT")
    twice = dates.dt.tz_localize(zone, ambiguous="NaT", nonexistent="shift_forward").isna() & dates.notna()
    if twice.any() and not (after & twice).any():
        table.notes.append(
            f"{int(twice.sum())} stamps lie in the hour that the clock showed twice: read as its first pass"
        )
    return local.dt.tz_convert("UTC").dt.tz_localize(None)
