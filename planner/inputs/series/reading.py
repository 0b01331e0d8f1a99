"""Reads a file of grid intensities as one hourly series in UTC, and counts what was wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from carbon.hourly import HourlyIntensity
from carbon.signals import GridSignal
from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import load_catalogue
from planner.inputs.series.formats import by_source, intensities, of_zone, stated_signal
from planner.inputs.series.table import Table, read_table
from planner.inputs.series.times import TIME_COLUMNS, utc_times
from planner.trace.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Repeats = Literal["refuse", "first", "mean"]

# Above what any power station emits, and further off than any zone is from its own yearly mean: either is
# a mistake of unit, grams for kilograms nearly always.
LARGEST_KGCO2E_PER_KWH = 5.0
LARGEST_RATIO_TO_YEAR = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class SeriesRead:
    """A series, and what was found on the way: hours without a value, and rows that repeat a time."""

    series: HourlyIntensity
    missing_hours: int
    repeated_rows: int


def read_series(
    path: Path,
    *,
    signal: GridSignal,
    zone: str = "",
    column: str = "",
    unit: str = "",
    time_zone: str = "",
    repeats: Repeats = "refuse",
    yearly_kgco2e_per_kwh: float | None = None,
    catalogue: Catalogue | None = None,
) -> SeriesRead:
    """An hourly series from our own CSV (time, value), Electricity Maps, NESO, or generation by source.

    Times are starts of periods. Shorter periods are averaged to hours; an hour without any is missing and
    stays a gap. A time that occurs twice is refused, or by rule the first or the mean is taken, and counted.

    Args:
        path: the file.
        signal: what its values mean; a file that says it holds something else is refused.
        zone: the zone to read from a file of several, and the name of the series.
        column: the column to read, where the header does not tell.
        unit: unit of the values, where the header does not tell (`g/kWh`).
        time_zone: IANA name, where times name no offset.
        repeats: what to do with a time that occurs twice.
        yearly_kgco2e_per_kwh: the zone's yearly factor, to notice a mistake of unit.
        catalogue: factors of the sources of energy; the shipped one.

    Raises:
        InputError: naming file, line, value and what to do instead.
    """
    import pandas as pd

    table = of_zone(read_table(path), zone)
    time_column = table.column(*TIME_COLUMNS)
    if time_column is None:
        raise InputError(f"{table.name}: no column of times among {', '.join(table.header)}: name it 'time'")
    table = by_source(table, time_column)
    values = intensities(table, signal, column, unit, catalogue or load_catalogue())
    _refuse_other_units(table, values)
    frame = pd.DataFrame({"time": utc_times(table, time_column, time_zone), "value": values})
    frame, repeated = _without_repeats(table, frame, repeats)
    hourly = _hourly(table, frame)
    series = HourlyIntensity(
        zone=zone or path.stem,
        signal=signal,
        first_hour=np.datetime64(hourly.index[0].tz_localize(None).to_datetime64()),
        grid_kgco2e_per_kwh=np.asarray(hourly, dtype=np.float64),
    )
    if yearly_kgco2e_per_kwh is not None:
        _refuse_other_scale(table, series, yearly_kgco2e_per_kwh)
    return SeriesRead(series, series.missing_hours, repeated)


def signal_in(path: Path) -> GridSignal | None:
    """What the values of a file mean, where the file says so.

    Raises:
        InputError: it cannot be read, or says several things.
    """
    return stated_signal(read_table(path))


def average_signal(path: Path, otherwise: str) -> GridSignal:
    """What the values of a file mean, for a plan: what the file says, else `otherwise`.

    Raises:
        InputError: it cannot be read, or is marginal, which says something else than the carbon of a plan.
    """
    signal = signal_in(path) or GridSignal.parse(otherwise)
    if signal.weighting != "average":
        raise InputError(
            f"{path.name}: is {signal}, and the carbon of a plan is an average: name a file of average hours"
        )
    return signal


def _refuse_other_units(table: Table, values: NDArray[np.float64]) -> None:
    if np.isnan(values).all():
        raise InputError(f"{table.name}: no row holds a value")
    bad = (values < 0) | (values > LARGEST_KGCO2E_PER_KWH) | np.isinf(values)
    if bad.any():
        row = int(bad.argmax())
        if values[row] < 0:
            raise InputError(
                f"{table.where(row)}: {values[row]:g} kgCO2e/kWh is below 0: leave the cell empty where the "
                "value is not known"
            )
        raise InputError(
            f"{table.where(row)}: {values[row]:g} kgCO2e/kWh is outside 0 to {LARGEST_KGCO2E_PER_KWH:g}: "
            "are these grams? State the unit in the header (gco2e_per_kwh); a job may state hourly_unit"
        )


def _without_repeats(table: Table, frame: pd.DataFrame, repeats: Repeats) -> tuple[pd.DataFrame, int]:
    again = frame["time"].duplicated()
    if not again.any():
        return frame, 0
    if repeats == "refuse":
        row = int(again.to_numpy().argmax())
        raise InputError(
            f"{table.where(row)}: {frame['time'][row].isoformat()} occurs twice ({int(again.sum())} such "
            "rows): keep one, or let a job state hourly_repeats, 'first' or 'mean'; where clocks went back, "
            "write offsets"
        )
    if repeats == "first":
        return frame[~again], int(again.sum())
    return frame.groupby("time")["value"].mean().reset_index(), int(again.sum())


def _hourly(table: Table, frame: pd.DataFrame) -> pd.Series[float]:
    """Means of the hours between the first and the last, gaps as not a number."""
    import pandas as pd

    hour = frame["time"].dt.floor("h")
    means = frame["value"].groupby(hour).mean()
    first, last = means.index.min(), means.index.max()
    hours = int((last - first) / pd.Timedelta(hours=1)) + 1
    if len(means) < hours / 2:
        raise InputError(
            f"{table.name}: {len(means)} of the {hours} hours from {first.isoformat()} to {last.isoformat()} "
            "are there: an hourly series is wanted"
        )
    return means.reindex(pd.date_range(first, last, freq="h"))


def _refuse_other_scale(table: Table, series: HourlyIntensity, yearly: float) -> None:
    mean = series.mean_kgco2e_per_kwh
    if not yearly / LARGEST_RATIO_TO_YEAR < mean < yearly * LARGEST_RATIO_TO_YEAR:
        raise InputError(
            f"{table.name}: its mean is {mean:g} kgCO2e/kWh, the yearly factor of {series.zone} {yearly:g}: "
            "one of them is in another unit (grams, kilograms)"
        )
