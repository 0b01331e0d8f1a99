"""Make data/series/eia-930-2022.csv: hourly carbon of six US grids from what EIA publishes on form 930.

    python -m benchmarks.studies.eia_hours EIA930_BALANCE_2022_Jan_Jun.csv EIA930_BALANCE_2022_Jul_Dec.csv

Both files are at https://www.eia.gov/electricity/gridmonitor/ (Six-Month Files). `data/series/README.md` says
what is done to them. The means of the hours, which are facts of the catalogue, are printed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from planner.inputs.loading import load_catalogue
from planner.inputs.series.formats import generation_columns

SERIES = Path(__file__).resolve().parents[2] / "data" / "series" / "eia-930-2022.csv"
YEAR = 2022
ZONES = ("CISO", "ERCO", "MISO", "NYIS", "PJM", "SOCO")
HOUR = pd.Timedelta(hours=1)
# The form names the end of an hour; by the sun PJM names its start.
STARTS = ("PJM",)
ZONE, END = "Balancing Authority", "UTC Time at End of Hour"
SUM_OFF, SUM_HOURS = 0.25, 5  # of the median of so many hours
# Sources that do not come and go within a day where they give so much of all.
STEADY, LARGE, LOW, LOW_HOURS = ("nuclear", "hydropower", "gas", "coal"), 0.01, 0.05, 25
# Longer than a day no such source of a whole grid gives nothing: it was not reported.
UNREPORTED_HOURS, UNREPORTED = 24, 0.1


def read_generation(paths: Sequence[Path], zone: str) -> pd.DataFrame:
    """Generation of an authority in MW: a column for each source, a row for the start of each hour, UTC."""
    rows = pd.concat([pd.read_csv(path, thousands=",", low_memory=False) for path in paths])
    rows = rows[rows[ZONE] == zone]
    kinds = generation_columns(list(rows.columns))
    end = pd.to_datetime(rows[END], format="%m/%d/%Y %I:%M:%S %p", utc=True)
    rows.index = pd.DatetimeIndex(end if zone in STARTS else end - HOUR)
    # A plant that draws more than it makes makes none; a kind that the authority has nowhere is no gap.
    by_kind = rows[list(kinds)].astype(float).clip(lower=0.0).dropna(axis=1, how="all")
    source = by_kind.columns.map(kinds)
    by_source = by_kind.T.groupby(source).sum(min_count=1).T
    missing = by_kind.isna().T.groupby(source).any().T
    hours = pd.date_range(f"{YEAR}-01-01", f"{YEAR}-12-31T23", freq="h", tz="UTC")
    return by_source.mask(missing).reindex(hours)


def with_unreported(generation: pd.DataFrame) -> pd.DataFrame:
    """A line where a large steady source stands at nothing for longer than a day."""
    filled = generation.copy()
    for name in _steady(generation, UNREPORTED):
        low = generation[name] < LOW * generation[name].median()
        stretch = (low != low.shift()).cumsum()
        long = low & (low.groupby(stretch).transform("size") > UNREPORTED_HOURS)
        line = generation[name].mask(long).interpolate(limit_area="inside")
        filled[name] = generation[name].where(~long, line)
    return filled


def gaps(generation: pd.DataFrame) -> pd.Series[bool]:
    """Hours that are not believed: a value is missing, the sum jumps, or a steady source drops out."""
    total = generation.sum(axis=1)
    usual = total.rolling(SUM_HOURS, center=True, min_periods=1).median()
    gap = generation.isna().any(axis=1) | ((total - usual).abs() > SUM_OFF * usual)
    for name in _steady(generation, LARGE):
        day = generation[name].rolling(LOW_HOURS, center=True, min_periods=1).median()
        gap |= generation[name] < LOW * day
    return gap


def _steady(generation: pd.DataFrame, share: float) -> list[str]:
    mean = generation.mean()
    return [name for name in STEADY if name in mean and mean[name] > share * mean.sum()]


def intensity_g_per_kwh(generation: pd.DataFrame) -> pd.Series[float]:
    """Generation times the direct factors of `energy_source.*`, over generation; a gap is not a number."""
    catalogue = load_catalogue()
    factors = {
        name: 1000.0 * catalogue.fact(f"energy_source.{name}.direct").value for name in generation.columns
    }
    mixed = (generation * pd.Series(factors)).sum(axis=1) / generation.sum(axis=1)
    return mixed.where(~gaps(generation))


def series_of(paths: Sequence[Path], zones: Sequence[str] = ZONES) -> pd.DataFrame:
    """A column for each authority, rounded as the file is."""
    return pd.DataFrame(
        {
            f"{zone.lower()}_gco2e_per_kwh": intensity_g_per_kwh(
                with_unreported(read_generation(paths, zone))
            )
            for zone in zones
        }
    ).round(1)


def csv_text(series: pd.DataFrame) -> str:
    """The file: `time` is the start of an hour, empty cells are gaps."""
    named = series.set_axis(pd.DatetimeIndex(series.index).strftime("%Y-%m-%dT%HZ"))
    return named.dropna(how="all").to_csv(index_label="time", float_format="%.1f", lineterminator="\n")


def main(paths: Sequence[str]) -> None:
    """Write the file, and print what the facts of the catalogue say of it."""
    series = series_of([Path(path) for path in paths])
    SERIES.write_text(csv_text(series), encoding="utf-8")
    for column in series:
        known = series[column].dropna()
        print(f"{column}: {len(known):,} hours, mean {np.mean(known):.3f} g/kWh")


if __name__ == "__main__":
    main(sys.argv[1:])
