"""How forecasts and pools would have fared on the log itself, made from the past of each moment alone."""

from __future__ import annotations

from typing import Any

from planner.answers.failures.counts import Periods, periods_of, usual_periods
from planner.answers.failures.downtime import outages_of, spares_scores
from planner.answers.failures.options import DAY_H, FitQuestion, Section, ends
from planner.trace.errors import InputError
from planner.trace.numbers import fixed_text, number_text
from planner.trace.records import Record
from reliability.backtest import Backtest, backtest_forecasts
from reliability.forecast import forecast_count, poisson_forecast
from reliability.logs import FailureLog

RULES: dict[str, Any] = {"drifting": forecast_count, "Poisson of the last four": poisson_forecast}


def backtest_document(
    log: FailureLog, question: FitQuestion, *, first_periods: int = 2, exact_period: bool = False
) -> Record:
    """Each period after the first ones forecast from those before it, and pools of spares held likewise.

    Without `exact_period` a log of few periods is cut into shorter ones.

    Raises:
        InputError: the log dates no failures, or holds too few periods.
    """
    if log.exposure.empty:
        raise InputError(f"{log.name}: ages without dates cannot be forecast: give an entry and an exit")
    length_h = DAY_H * question.period_d
    past = periods_of(log, length_h) if exact_period else usual_periods(log, length_h)
    if past.size <= first_periods:
        raise InputError(
            f"{log.name}: {past.size} whole periods of {past.length_h / DAY_H:g} d; a test of forecasts "
            f"after the first {first_periods} needs more: make --period-days shorter"
        )
    tested = {
        name: backtest_forecasts(
            counts=past.failures,
            exposure=past.node_h,
            confidence_fraction=question.interval_fraction,
            first_periods=first_periods,
            rule=rule,
        )
        for name, rule in RULES.items()
    }
    sections = {"forecasts": _forecasts(past, tested, question)}
    outages = outages_of(log)
    scores = (
        []
        if outages is None
        else spares_scores(outages.history, question.spare_confidence_fraction, DAY_H * question.review_d)
    )
    sections["pools"] = _held_spares(scores, question)
    return {
        "everfleet_backtest": 1,
        "title": f"Forecasts of {log.name}, tested on itself",
        "name": log.name,
        "period_d": past.length_h / DAY_H,
        "interval_fraction": question.interval_fraction,
        "sections": {name: section.to_dict() for name, section in sections.items()},
    }


def _forecasts(past: Periods, tested: dict[str, Backtest], question: FitQuestion) -> Section:
    ours = tested["drifting"]
    said = [
        f"{ours.actual.size} forecasts of {fixed_text(past.length_h / DAY_H, 1)} d each, from the periods "
        "before "
        f"them alone. A good {ends(question.interval_fraction)} interval holds about that share of counts; "
        "pinball loss is lower the better.",
        f"The {fixed_text(past.skipped_h / DAY_H, 1)} d before the first whole period are not counted.",
    ]
    scores = [
        {
            "forecast": name,
            "held_fraction": found.coverage_fraction,
            "mape_fraction": found.mape_fraction,
            "median_ape_fraction": found.median_ape_fraction,
            "pinball": found.pinball,
            "mean_width": found.mean_width,
        }
        for name, found in tested.items()
    ]
    poisson = tested["Poisson of the last four"]
    rows = [
        {
            "from_day": float(past.start_h[period]) / DAY_H,
            "failures": int(ours.actual[i]),
            "low": float(ours.low[i]),
            "median": float(ours.median[i]),
            "high": float(ours.high[i]),
            "poisson_low": float(poisson.low[i]),
            "poisson_high": float(poisson.high[i]),
        }
        for i, period in enumerate(ours.period)
    ]
    return Section("Failures of the next period", said, {"scores": scores, "forecasts": rows})


def _held_spares(scores: list[Record], question: FitQuestion) -> Section:
    title = "Pools of spares"
    if not scores:
        return Section(
            title, ["The log ends too few outages, or is too short, to size pools of spares from its past."]
        )
    said = [
        f"Pools for {number_text(question.spare_confidence_fraction)} of the time, each sized from the "
        "past alone and "
        f"held for {question.review_d:g} d."
    ]
    return Section(title, said, {"pools": scores})
