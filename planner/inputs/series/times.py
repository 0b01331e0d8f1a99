"""Times of a file as UTC: offsets written out, or wall clocks of one named zone."""

from __future__ import annotations

import difflib
import re
import zoneinfo
from typing import TYPE_CHECKING

from planner.inputs.series.table import Table
from planner.trace.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

END_OF_HOUR = "utc time at end of hour"  # of form EIA-930
TIME_COLUMNS = (
    END_OF_HOUR,
    r"datetime \(utc\)",
    r"time_utc",
    r"time",
    r"datetime",
    r"from",
    r"timestamp",
    r"date_?time.*",
    r"point_time",
    r"time ?[\[(].*",
    r"mtu.*",
    r"(?:period|interval|valid)?[ _]?start(?:[ _].*)?",
    r"hour",
    r"date(?: ?[\[(].*)?",
    r"datum.*",
)
_OFFSET = r"(?:Z|[+-]\d\d:?\d\d)$"
_DAY_FIRST = r"^\d{1,2}[./]\d{1,2}[./]\d{4}"
# Wall clocks that ENTSO-E writes; all places with this one have changed it on the same days since 1981.
_CENTRAL = r"\bCES?T\b"
CENTRAL_ZONE = "Europe/Brussels"
# Seconds since 1970 that lie after 1973, and milliseconds.
_UNIX = r"\d{9,10}(?:\.\d+)?|\d{12,13}"


def utc_times(table: Table, column: str, time_zone: str) -> pd.DatetimeIndex:
    """Start of each row's period, in UTC.

    On a day of 25 hours the second of two equal wall-clock hours is the later one; on a day of 23 an hour
    that did not exist is refused.

    Raises:
        InputError: a cell is no time, or which zone it is of cannot be known.
    """
    import pandas as pd

    if column.casefold() == END_OF_HOUR:
        return pd.DatetimeIndex(_american(table, pd.Series(table.texts(column)))) - pd.Timedelta(hours=1)
    # ENTSO-E writes a period as "start - end".
    whole = pd.Series(table.texts(column))
    if whole.str.fullmatch(_UNIX).all():
        return pd.DatetimeIndex(read_times(whole, utc=True))
    central = bool(re.search(_CENTRAL, column)) or whole.str.contains(_CENTRAL, regex=True).all()
    texts = whole.str.split(" - ").str[0].str.strip()
    texts = texts.str.replace(r"\s*\((?:UTC|CET|CEST|CET/CEST)\)$", "", regex=True)
    texts = texts.str.replace(r" ?(?:UTC|GMT)$", "Z", regex=True)
    offset = texts.str.contains(_OFFSET, regex=True) & texts.str.contains(":|T", regex=True)
    if offset.any() and not offset.all():
        without = int((~offset).to_numpy().argmax())
        raise InputError(
            f"{table.where(without)}: '{texts[without]}' names no offset from UTC and other rows do: write "
            "all times in one way"
        )
    if offset.all():
        return pd.DatetimeIndex(_parsed(table, texts, utc=True))
    zone = _zone(table, column, time_zone or (CENTRAL_ZONE if central else ""))
    naive = pd.DatetimeIndex(_parsed(table, texts, utc=False))
    try:
        return naive.tz_localize(zone, ambiguous="infer", nonexistent="raise").tz_convert("UTC")
    except Exception as error:  # pandas 2 raises errors of pytz here, which are no ValueError
        raise InputError(
            f"{table.name}: the wall clock of {zone} does not tell when '{column}' is ({error}): write "
            "offsets such as 2024-10-27T02:00+01:00"
        ) from error


def _since_1970(texts: pd.Series[str]) -> pd.DatetimeIndex:
    """Times written as seconds, or as milliseconds, since 1970."""
    import pandas as pd

    numbers = texts.astype(float)
    return pd.DatetimeIndex(pd.to_datetime(numbers, unit="ms" if numbers.min() > 1e11 else "s", utc=True))


def read_times(texts: pd.Series[str], *, utc: bool) -> pd.Series[pd.Timestamp]:
    """Times as files have them: ISO, days or months first, or since 1970; not a time where it is none."""
    import pandas as pd

    if texts.str.fullmatch(_UNIX).all():
        return pd.Series(_since_1970(texts), index=texts.index)
    if not texts.str.contains(_DAY_FIRST, regex=True).all():
        return pd.to_datetime(texts, format="ISO8601", errors="coerce", utc=utc)
    plain = texts.str.replace("/", ".")
    # The month comes first where no day fits otherwise, and only between slashes.
    days = ("%d.%m.%Y", "%m.%d.%Y") if texts.str.contains("/").all() else ("%d.%m.%Y",)
    forms = [f"{day}{clock}" for day in days for clock in (" %H:%M", " %H:%M:%S", "")]
    read = (pd.to_datetime(plain, format=form, errors="coerce", utc=utc) for form in forms)
    return min(read, key=lambda found: int(found.isna().sum()))


def _parsed(table: Table, texts: pd.Series[str], *, utc: bool) -> pd.Series[pd.Timestamp]:
    return _all_times(table, texts, read_times(texts, utc=utc))


def _american(table: Table, texts: pd.Series[str]) -> pd.Series[pd.Timestamp]:
    """Months first and twelve hours, as EIA writes them, in UTC."""
    import pandas as pd

    times = pd.to_datetime(texts, format="%m/%d/%Y %I:%M:%S %p", errors="coerce", utc=True)
    if times.isna().all():  # as programs write the same file again
        return _parsed(table, texts, utc=True)
    return _all_times(table, texts, times)


def _all_times(
    table: Table, texts: pd.Series[str], times: pd.Series[pd.Timestamp]
) -> pd.Series[pd.Timestamp]:
    if times.isna().any():
        bad = int(times.isna().to_numpy().argmax())
        raise InputError(f"{table.where(bad)}: '{texts[bad][:40]}' is no time: write 2023-01-31T13:00Z")
    return times


def _zone(table: Table, column: str, time_zone: str) -> str:
    if not time_zone and "utc" in column.casefold():
        return "UTC"
    if not time_zone:
        raise InputError(
            f"{table.name}: the times of '{column}' name no zone: end them with Z or with an offset such as "
            "+01:00, or call the column time_utc; a job may state hourly_time_zone, for example 'UTC' or "
            "'Europe/Berlin'"
        )
    known = zoneinfo.available_timezones()
    if time_zone not in known:
        near = difflib.get_close_matches(time_zone, known, n=3)
        raise InputError(
            f"{table.name}: no time zone '{time_zone}'" + (f"; near: {', '.join(near)}" if near else "")
        )
    return time_zone
