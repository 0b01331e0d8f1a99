"""Did such forecasts hold? Each period of a log is forecast from what lay before it alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reliability.domain import counts_of_periods
from reliability.forecast import Forecast, forecast_count

FloatArray = NDArray[np.float64]


class ForecastRule(Protocol):
    """What forecasts a count from past ones: `forecast_count`, `poisson_forecast` or one's own."""

    def __call__(
        self, *, counts: FloatArray, exposure: FloatArray, next_exposure: float, confidence_fraction: float
    ) -> Forecast:
        """Forecast the period after the last of `counts`, which are oldest first."""


@dataclass(frozen=True, slots=True)
class Backtest:
    """Forecasts from each period of a log, made from what lay before it, next to what came.

    Columns have a row for each forecast; `period` counts from 0 in its log.
    """

    confidence_fraction: float
    period: NDArray[np.int64]
    actual: FloatArray
    mean: FloatArray
    low: FloatArray
    median: FloatArray
    high: FloatArray

    @property
    def coverage_fraction(self) -> float:
        """Share of periods whose count lay in the interval."""
        return float(np.mean((self.actual >= self.low) & (self.actual <= self.high)))

    @property
    def mape_fraction(self) -> float:
        """Mean of |actual - median| / actual; periods without an event are left out."""
        return float(np.mean(self._relative_errors()))

    @property
    def median_ape_fraction(self) -> float:
        """Median of |actual - median| / actual; periods without an event are left out."""
        return float(np.median(self._relative_errors()))

    @property
    def pinball(self) -> float:
        """Mean loss of both ends, max(p * e, (p - 1) * e) of e = actual - quantile: lower is better."""
        tail = (1.0 - self.confidence_fraction) / 2.0
        below, above = self.actual - self.low, self.actual - self.high
        low = np.maximum(tail * below, (tail - 1.0) * below)
        return float(np.mean(low + np.maximum((1.0 - tail) * above, -tail * above)) / 2.0)

    @property
    def mean_width(self) -> float:
        """Mean width of the interval, in counts."""
        return float(np.mean(self.high - self.low))

    def _relative_errors(self) -> FloatArray:
        some = self.actual > 0
        errors: FloatArray = np.abs(self.actual - self.median)[some] / self.actual[some]
        return errors if errors.size else np.array([np.nan])


def backtest_forecasts(
    *,
    counts: ArrayLike,
    exposure: ArrayLike,
    confidence_fraction: float,
    first_periods: int,
    rule: ForecastRule = forecast_count,
) -> Backtest:
    """Forecast every period after the first ones from the periods before it alone.

    The exposure of the forecast period is taken as known, as a planner knows the fleet of next quarter.

    Source: rolling-origin evaluation (Tashman, International Journal of Forecasting 16(4), 2000).
    """
    seen, exposed = counts_of_periods(counts, exposure)
    if not 0 <= first_periods < seen.size:
        raise ValueError(f"first_periods must be from 0 to {seen.size - 1}, got {first_periods}")
    made = [
        rule(
            counts=seen[:origin],
            exposure=exposed[:origin],
            next_exposure=float(exposed[origin]),
            confidence_fraction=confidence_fraction,
        )
        for origin in range(first_periods, seen.size)
    ]
    mean, low, median, high = np.array([(f.mean, f.low, f.median, f.high) for f in made]).T
    period = np.arange(first_periods, seen.size)
    return Backtest(confidence_fraction, period, seen[first_periods:], mean, low, median, high)


def pooled_backtest(backtests: Sequence[Backtest]) -> Backtest:
    """The forecasts of several logs as one, each forecast with the same weight."""
    confidences = {backtest.confidence_fraction for backtest in backtests}
    if len(confidences) != 1:
        raise ValueError(f"backtests must share one confidence_fraction, got {sorted(confidences)}")
    columns = ("period", "actual", "mean", "low", "median", "high")
    joined = (np.concatenate([getattr(backtest, name) for backtest in backtests]) for name in columns)
    return Backtest(confidences.pop(), *joined)
