"""What the next month, quarter and year bring."""

from __future__ import annotations

import numpy as np

from planner.answers.failures.counts import Periods, periods_of, usual_periods
from planner.answers.failures.lifetimes import parameters_of
from planner.answers.failures.log_numbers import failure_rate, in_papers_unit, log_count, log_fact, reported
from planner.answers.failures.sections import DAY_H, Section, ends
from planner.inputs.log_question import FitQuestion
from planner.trace.quantities import Derived, Traced, children, chosen, derive_parts
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
        poisson = derive_parts(poisson_forecast, **children(found["median"]))
        held = f"whole periods of a {name}, back from the end of the log"
        rows.append(
            {
                "next": name,
                "past_periods": log_count(log, "forecast.past_periods", past.size, note=held),
                "node_h": log_count(
                    log, "forecast.node_h", float(past.node_h[-1]), "h", f"of the last {name}"
                ),
                **{end: found[end] for end in ("low", "median", "high", "mean")},
                "poisson_low": poisson["low"],
                "poisson_high": poisson["high"],
                "drift_fraction": found["drift_fraction"],
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
    tables |= {"forecast": rows, "periods": _past(log, shown)}
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
    alive = log_count(log, "alive", int(units.sum()), note="units still watched at the end of the log")
    age = log_count(
        log, "mean_age", float(np.average(ages, weights=units)) / DAY_H, "d", "of the units alive"
    )
    known = {"units": alive, "mean_age": age, **parameters_of(log, best, question)}
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
            "alive": alive,
            "mean_age_d": age,
            "low": reported(cohort_forecast, "low", one.low_failures, **known),
            "mean": reported(cohort_forecast, "mean", one.failures, **known),
            "high": reported(cohort_forecast, "high", one.high_failures, **known),
        }
        for name, one in found.items()
    ]


def _past(log: FailureLog, past: Periods) -> list[Record]:
    rows = []
    for i in range(past.size):
        failures = log_count(log, "periods.failures", int(past.failures[i]), note="in this period")
        hours = log_count(log, "periods.node_h", float(past.node_h[i]), "h", "in this period")
        rate = failure_rate(log, int(past.failures[i]), float(past.node_h[i]), "of this period")
        rows.append(
            {
                **_dates(log, past, past.start_h[i]),
                "failures": failures,
                "node_h": hours,
                "per_1000_node_d": in_papers_unit(rate),
            }
        )
    return rows


def _dates(log: FailureLog, past: Periods, from_h: float) -> Record:
    """Start and length of a period."""
    return {
        "from_day": log_count(
            log, "periods.from_day", float(from_h) / DAY_H, "d", "from the start of the log"
        ),
        "length_d": log_count(log, "periods.length_d", past.length_h / DAY_H, "d", "of a period"),
    }


def _next(log: FailureLog, past: Periods, question: FitQuestion) -> Record:
    """The period after those of the chart."""
    found = _forecast(log, past, question, "period")
    return {**_dates(log, past, log.window_h), **{end: found[end] for end in ("low", "median", "high")}}
