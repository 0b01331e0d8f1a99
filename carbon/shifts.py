"""What moving work in time or place does: what can be had, the bound, and what may be said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon.grid import weighted_kgco2e_per_kwh
from carbon.hourly import HourlyIntensity, stacked_kgco2e_per_kwh
from carbon.pausing import chosen_hours
from carbon.shifting import Starts, best_starts, forecast_kgco2e_per_kwh, forecast_starts, run_kgco2e_per_kwh
from carbon.signals import GridSignal, MixedSignals


@dataclass(frozen=True, slots=True)
class Shift:
    """Mean intensity that work meets: as it comes, moved by a forecast, and moved knowing the future.

    All three are over the same arrivals. The first minus the second can be had; the first minus the third is
    the bound that no forecast beats.
    """

    signal: GridSignal
    unmoved_kgco2e_per_kwh: float
    moved_kgco2e_per_kwh: float
    bound_kgco2e_per_kwh: float

    def __post_init__(self) -> None:
        if self.signal.accounting == "market":
            raise MixedSignals(
                f"a saving counts the grid as it is, got {self.signal}: moving work changes no contract"
            )

    @property
    def saving_fraction(self) -> float:
        """Share of the intensity that the forecast saves; negative where it misleads."""
        return _saved_fraction(self.unmoved_kgco2e_per_kwh, self.moved_kgco2e_per_kwh)

    @property
    def bound_fraction(self) -> float:
        """Share that knowing the future would save."""
        return _saved_fraction(self.unmoved_kgco2e_per_kwh, self.bound_kgco2e_per_kwh)

    @property
    def claim(self) -> str:
        """What the saving is: what the grid emits less needs a marginal signal."""
        if self.signal.weighting == "marginal":
            return f"emissions that the move avoids ({self.signal})"
        return f"share of the inventory that the move shifts ({self.signal}); not what the grid emits less"


def start_shift(*, series: HourlyIntensity, run_hours: int, slack_hours: int, forecast_days: int) -> Shift:
    """Waiting for a cleaner start, for a run that cannot be paused, averaged over every hour of arrival.

    CI = mean_a(CI_{a + w_a})        w_a by forecast (`forecast_starts`) or knowing the future (`best_starts`)

    Every hour is as likely an arrival as another. Capacity and queues are left out.

    Source: Wiesner et al., "Let's Wait Awhile", Middleware 2021.
    """
    moved, arrivals, grid = _moved([series], run_hours, slack_hours, forecast_days)
    bound = best_starts(grid_kgco2e_per_kwh=grid, run_hours=run_hours, slack_hours=slack_hours)
    unmoved = run_kgco2e_per_kwh(grid_kgco2e_per_kwh=grid, run_hours=run_hours)
    return Shift(
        series.signal,
        unmoved_kgco2e_per_kwh=float(unmoved[..., arrivals].mean()),
        moved_kgco2e_per_kwh=float(moved.grid_kgco2e_per_kwh.mean()),
        bound_kgco2e_per_kwh=float(bound.grid_kgco2e_per_kwh[..., arrivals].mean()),
    )


def pause_shift(
    *, series: HourlyIntensity, run_hours: int, window_hours: int, pauses: int, forecast_days: int
) -> Shift:
    """Running in the cleanest hours of each window, with a limit on pauses, rather than in any hour alike.

    CI = sum_h(x_h * CI_h) / sum_h(x_h)        x: the hours chosen (`chosen_hours`)

    Windows that the forecast knows nothing of, and a rest at the end, are left out of all three. Energy of
    stopping and starting is left out.

    Source: Sukprasert et al., "On the Limitations of Carbon-Aware ... Workload Shifting", EuroSys 2024.
    """
    grid = series.complete()
    whole = grid[: len(grid) // window_hours * window_hours]
    forecast = forecast_kgco2e_per_kwh(
        grid_kgco2e_per_kwh=whole, window_hours=window_hours, forecast_days=forecast_days
    )
    known = ~np.isnan(forecast.reshape(-1, window_hours)).any(axis=-1)
    real, expected = (hours.reshape(-1, window_hours)[known].ravel() for hours in (whole, forecast))

    def met(chosen_on: NDArray[np.float64]) -> float:
        hours = chosen_hours(
            grid_kgco2e_per_kwh=chosen_on, run_hours=run_hours, window_hours=window_hours, pauses=pauses
        )
        return float(weighted_kgco2e_per_kwh(grid_kgco2e_per_kwh=real, load_kwh=hours.astype(np.float64)))

    return Shift(series.signal, float(real.mean()), met(expected), met(real))


def place_shift(
    *,
    home: HourlyIntensity,
    others: Sequence[HourlyIntensity],
    run_hours: int,
    slack_hours: int,
    forecast_days: int,
) -> Shift:
    """Running each arrival at the site and hour that look cleanest, rather than at once at home.

    CI = mean_a(CI_{s_a, a + w_a}),  s_a = argmin_s over sites of what is known (forecast, or the future)

    The forecast picks the site whose last D days were cleanest on average, then the start within the slack.
    Moving data, embodied carbon, capacity, latency and differences in PUE are left out.

    Source: Sukprasert et al., "On the Limitations of Carbon-Aware ... Workload Shifting", EuroSys 2024.
    """
    moved, arrivals, grid = _moved([home, *others], run_hours, slack_hours, forecast_days)
    bound = best_starts(grid_kgco2e_per_kwh=grid, run_hours=run_hours, slack_hours=slack_hours)
    recent = run_kgco2e_per_kwh(grid_kgco2e_per_kwh=grid, run_hours=24 * forecast_days)
    site = np.argmin(recent[:, : moved.grid_kgco2e_per_kwh.shape[-1]], axis=0)
    unmoved = run_kgco2e_per_kwh(grid_kgco2e_per_kwh=grid[0], run_hours=run_hours)
    return Shift(
        home.signal,
        unmoved_kgco2e_per_kwh=float(unmoved[arrivals].mean()),
        moved_kgco2e_per_kwh=float(moved.grid_kgco2e_per_kwh[site, np.arange(len(site))].mean()),
        bound_kgco2e_per_kwh=float(bound.grid_kgco2e_per_kwh[:, arrivals].min(axis=0).mean()),
    )


def _moved(
    series: Sequence[HourlyIntensity], run_hours: int, slack_hours: int, forecast_days: int
) -> tuple[Starts, slice, NDArray[np.float64]]:
    """Starts by forecast; the arrivals that they are of; and the sites' hours."""
    grid = stacked_kgco2e_per_kwh(series=series)
    starts = forecast_starts(
        grid_kgco2e_per_kwh=grid,
        run_hours=run_hours,
        slack_hours=slack_hours,
        forecast_days=forecast_days,
    )
    first = starts.first_arrival
    return starts, slice(first, first + starts.grid_kgco2e_per_kwh.shape[-1]), grid


def _saved_fraction(unmoved: float, moved: float) -> float:
    """On a grid without emissions there is nothing to save."""
    return 1 - moved / unmoved if unmoved else 0.0
