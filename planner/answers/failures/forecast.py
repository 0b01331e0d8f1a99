"""What the next month, quarter and year bring."""

from __future__ import annotations

import numpy as np

from planner.answers.failures.counts import Periods, periods_of, usual_periods
from planner.answers.failures.options import DAY_H, FitQuestion, Section, ends
from planner.answers.failures.rates import log_fact
from planner.trace.quantities import Derived, Traced, chosen, derive_parts
from planner.trace.records import Record
from reliability.cohorts import AfterFailure, cohort_forecast
from reliability.fitting import Fit
from reliability.forecast import forecast_count, poisson_forecast
from reliability.lifetimes import Lifetime
from reliability.logs import FailureLog

HORIZONS_D = {"month": 30.4375, "quarter": 91.3125, "year": 365.25}
FEWEST_PERIODS = 2
SAME_H = 1e-6


def ahead_section(
    log: FailureLog, question: FitQuestion, best: Fit[Lifetime] | None
) -> tuple[Section, dict[str, Traced]]:
    """Failures of the next month, quarter and year: by past periods of that length, of lives by ages."""
    title = "Failures to expect"
    tables: dict[str, list[Record]] = {}
    said: list[str] = []
    if log.kind == "lives" and best is not None:
        tables["by_age"] = _by_age(log, question, best)
        said.append(
            "By age: deaths of the units still alive, none replaced, if the best lifetime holds at "
            "higher ages."
        )
    if log.exposure.empty:
        said.append("The log has ages without dates: there are no past periods to go by.")
        return Section(title, said, tables), {}
    rows = []
    explained: dict[str, Traced] = {}
    for name, length_d in HORIZONS_D.items():
        past = periods_of(log, DAY_H * length_d)
        if past.size < FEWEST_PERIODS:
            said.append(f"No forecast for a {name}: the log does not hold two whole ones.")
            continue
        found = _forecast(log, past, question, name)
        explained[f"forecast.{name}"] = found["median"]
        poisson = poisson_forecast(
            counts=past.failures,
            exposure=past.node_h,
            next_exposure=float(past.node_h[-1]),
            confidence_fraction=question.interval_fraction,
        )
        rows.append(
            {
                "next": name,
                "past_periods": past.size,
                "node_h": float(past.node_h[-1]),
                **{end: float(found[end].value) for end in ("low", "median", "high", "mean")},
                "poisson_low": poisson.low,
                "poisson_high": poisson.high,
                "drift_fraction": float(found["drift_fraction"].value),
            }
        )
    said.append(
        f"Low to high is the {ends(question.interval_fraction)} interval, for as many node-hours as the last "
        "such period had."
    )
    if rows:
        said.append(
            "Few past periods leave a wide interval; Poisson's, with the mean of the last four, is shown "
            "next to it."
        )
    shown = usual_periods(log, DAY_H * question.period_d)
    tables |= {"forecast": rows, "periods": _past(shown)}
    if shown.size >= FEWEST_PERIODS:
        tables["next_period"] = [_next(log, shown, question)]
    return Section(title, said, {name: found for name, found in tables.items() if found}), explained


def _forecast(log: FailureLog, past: Periods, question: FitQuestion, name: str) -> dict[str, Derived]:
    about = f"of past periods of a {name}, the newest last"
    return dict(
        derive_parts(
            forecast_count,
            counts=chosen("counts", past.failures, f"failures {about}"),
            exposure=chosen("exposure", past.node_h, f"node-hours {about}"),
            next_exposure=log_fact(log, f"last_{name}.node_hours", float(past.node_h[-1]), "1"),
            confidence_fraction=chosen("confidence_fraction", question.interval_fraction, "as requested"),
        )
    )


def _by_age(log: FailureLog, question: FitQuestion, best: Fit[Lifetime]) -> list[Record]:
    """Deaths to come by the hazard at the age of each survivor."""
    lives = log.lives[~log.lives["died"] & (log.lives["duration_h"] > 0)]
    if not log.exposure.empty:
        there = log.units.loc[log.units["exit_h"] >= log.window_h - SAME_H, "unit"]
        lives = lives[lives["unit"].isin(there)]
    if lives.empty:
        return []
    ages, units = np.unique(lives["duration_h"].to_numpy(dtype=float), return_counts=True)
    found = {
        name: cohort_forecast(
            best.model,
            covariance=best.covariance,
            age_h=ages,
            units=units,
            window_h=DAY_H * length_d,
            after_failure=AfterFailure.GONE,
            confidence_fraction=question.interval_fraction,
        )
        for name, length_d in HORIZONS_D.items()
    }
    return [
        {
            "next": name,
            "alive": int(units.sum()),
            "mean_age_d": float(np.average(ages, weights=units)) / DAY_H,
            "low": one.low_failures,
            "mean": one.failures,
            "high": one.high_failures,
        }
        for name, one in found.items()
    ]


def _past(past: Periods) -> list[Record]:
    return [
        {
            "from_day": float(past.start_h[i]) / DAY_H,
            "length_d": past.length_h / DAY_H,
            "failures": int(past.failures[i]),
            "node_h": float(past.node_h[i]),
            "per_1000_node_d": 24_000.0 * float(past.failures[i] / past.node_h[i]),
        }
        for i in range(past.size)
    ]


def _next(log: FailureLog, past: Periods, question: FitQuestion) -> Record:
    """The period after those of the chart."""
    found = forecast_count(
        counts=past.failures,
        exposure=past.node_h,
        next_exposure=float(past.node_h[-1]),
        confidence_fraction=question.interval_fraction,
    )
    return {
        "from_day": log.window_h / DAY_H,
        "length_d": past.length_h / DAY_H,
        "low": found.low,
        "median": found.median,
        "high": found.high,
    }
