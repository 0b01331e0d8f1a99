"""Hourly grid intensity, read from files (ours, Electricity Maps, NESO, generation by source) or shipped."""

from planner.series.reading import SeriesRead, read_series
from planner.series.shipped import load_series, shipped_series

__all__ = ["SeriesRead", "load_series", "read_series", "shipped_series"]
