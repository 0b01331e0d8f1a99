"""Hourly grid intensity, read from files (ours, Electricity Maps, NESO, generation by source) or shipped."""

from planner.inputs.series.reading import SeriesRead, average_signal, read_series, signal_in
from planner.inputs.series.shipped import (
    load_series,
    series_of_grid,
    series_of_grids,
    series_of_own_region,
    shipped_series,
)

__all__ = [
    "SeriesRead",
    "average_signal",
    "load_series",
    "read_series",
    "series_of_grid",
    "series_of_grids",
    "series_of_own_region",
    "shipped_series",
    "signal_in",
]
