"""Did such forecasts hold? Each period of a log is forecast from what lay before it alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reliability.columns import Floats
from reliability.domain import counts_of_periods
from reliability.forecast import Forecast, forecast_count


class ForecastRule(Protocol):
    """What forecasts a count from past ones: `forecast_count`, `poisson_forecast` or one's own."""

    def __call__(
        self, *, counts: Floats, exposure: Floats, next_exposure: float, confidence_fraction: float
    ) -> Forecast:
        """Forecast the period after the last of `counts`, which are oldest first."""


@dataclass(frozen=True, slots=True)
class Scores:
    """How good forecasts with intervals were; errors leave out periods without an event.

    `held_fraction` is the share of periods whose count lay in the interval, `mape_fraction` and
    `median_ape_fraction` mean and median of |actual - median| / actual, `pinball` the mean loss of both ends,
    `mean_width` the mean width of the interval, in counts.
    """

    held_fraction: float
    mape_fraction: float
    median_ape_fraction: float
    pinball: float
    mean_width: float


def interval_scores(
    *,
    confidence_fraction: float,
    actual: Floats,
    low: Floats,
    median: Floats,
    high: Floats,
) -> Scores:
    """Scores of forecasts of as many periods as the columns have rows.

    L = max(p e, (p - 1) e) of each end,  e = actual - quantile; lower is better

    Source: pinball loss as in Gneiting and Raftery, Journal of the American Statistical Association 102(477),
    2007.
    """
    tail, below, above = (1.0 - confidence_fraction) / 2.0, actual - low, actual - high
    losses = np.maximum(tail * below, (tail - 1.0) * below)
    losses += np.maximum((1.0 - tail) * above, -tail * above)
    some = actual > 0
    errors = np.abs(actual - median)[some] / actual[some] if some.any() else np.array([np.nan])
    return Scores(
        held_fraction=float(np.mean((actual >= low) & (actual <= high))),
        mape_fraction=float(np.mean(errors)),
        median_ape_fraction=float(np.median(errors)),
        pinball=float(np.mean(losses) / 2.0),
        mean_width=float(np.mean(high - low)),
    )


@dataclass(frozen=True, slots=True)
class Backtest:
    """Forecasts from each period of a log, made from what lay before it, next to what came.

    Columns have a row for each forecast; `period` counts from 0 in its log.
    """

    confidence_fraction: float
    period: NDArray[np.int64]
    actual: Floats
    mean: Floats
    low: Floats
    median: Floats
    high: Floats

    @property
    def scores(self) -> Scores:
        """How good the forecasts were."""
        return interval_scores(
            confidence_fraction=self.confidence_fraction,
            actual=self.actual,
            low=self.low,
            median=self.median,
            high=self.high,
        )


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
