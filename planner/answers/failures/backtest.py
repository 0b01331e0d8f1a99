"""How forecasts and pools would have fared on the log itself, made from the past of each moment alone."""

from __future__ import annotations

import numpy as np

from planner.answers.failures.counts import Periods, periods_of, usual_periods
from planner.answers.failures.downtime import held_spares, outages_of
from planner.answers.failures.log_numbers import log_fact
from planner.answers.failures.sections import DAY_H, Section, ends
from planner.inputs.log_question import FitQuestion
from planner.trace.columns import Floats
from planner.trace.errors import InputError
from planner.trace.explain import Steps
from planner.trace.numbers import fixed_text, number_text
from planner.trace.quantities import Fact, Parts, Traced, chosen, derive_parts, pick
from planner.trace.records import Record, numbered
from reliability.backtest import ForecastRule, backtest_forecasts, interval_scores
from reliability.forecast import Forecast, forecast_count, poisson_forecast
from reliability.logs import FailureLog

RULES: dict[str, ForecastRule] = {"drifting": forecast_count, "Poisson of the last four": poisson_forecast}


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
    confidence = chosen("confidence_fraction", question.interval_fraction, "as requested")
    tested = {name: _tested(rule, log, past, first_periods, confidence) for name, rule in RULES.items()}
    counted = [
        log_fact(log, f"failures.{period + 1}", float(past.failures[period]), "1", f"in period {period + 1}")
        for period in range(first_periods, past.size)
    ]
    sections = {"forecasts": _forecasts(past, counted, tested, confidence, first_periods)}
    outages = outages_of(log)
    held = [] if outages is None else held_spares(log, outages, question)
    sections["pools"] = _held_spares(held, question)
    steps = Steps()
    tables = {table: rows for section in sections.values() for table, rows in section.tables.items()}
    return {
        "everfleet_backtest": 1,
        "title": f"Forecasts of {log.name}, tested on itself",
        "name": log.name,
        "period_d": past.length_h / DAY_H,
        "interval_fraction": question.interval_fraction,
        "sections": {name: section.to_dict() for name, section in sections.items()},
        "cells": numbered(tables, steps),
        "steps": steps.packed(),
    }


def _tested(
    rule: ForecastRule, log: FailureLog, past: Periods, first_periods: int, confidence: Traced
) -> list[Parts]:
    """The forecast of each period after the first ones, from those before it alone.

    The node-hours of the period are taken as known, as a planner knows the fleet of next quarter.
    """
    found: list[Parts] = []

    def traced(
        *, counts: Floats, exposure: Floats, next_exposure: float, confidence_fraction: float
    ) -> Forecast:
        period = len(counts) + 1
        made = derive_parts(
            rule,
            counts=chosen("counts", counts, "failures of the periods before, the newest last"),
            exposure=chosen("exposure", exposure, "node-hours of the periods before, the newest last"),
            next_exposure=log_fact(log, f"node_hours.{period}", next_exposure, "1", f"of period {period}"),
            confidence_fraction=confidence,
        )
        found.append(made)
        return Forecast(**{name: part.value for name, part in made.items()})

    backtest_forecasts(
        counts=past.failures,
        exposure=past.node_h,
        confidence_fraction=float(confidence.value),
        first_periods=first_periods,
        rule=traced,
    )
    return found


def _forecasts(
    past: Periods,
    counted: list[Fact],
    tested: dict[str, list[Parts]],
    confidence: Traced,
    first_periods: int,
) -> Section:
    said = [
        f"{len(counted)} forecasts of {fixed_text(past.length_h / DAY_H, 1)} d each, from the periods before "
        f"them alone. A good {ends(float(confidence.value))} interval holds about that share of counts; "
        "pinball loss is lower the better.",
        f"The {fixed_text(past.skipped_h / DAY_H, 1)} d before the first whole period are not counted.",
    ]
    every = np.arange(len(counted))
    scores = [
        {
            "forecast": name,
            **derive_parts(
                interval_scores,
                confidence_fraction=confidence,
                actual=pick(counted, every),
                **{end: pick([parts[end] for parts in found], every) for end in ("low", "median", "high")},
            ),
        }
        for name, found in tested.items()
    ]
    start, length = (
        chosen(name, hours / DAY_H, said, "d")
        for name, hours, said in (
            ("first_day", past.start_h[0], "start of the first whole period, from that of the log"),
            ("period_d", past.length_h, "length of a period"),
        )
    )
    rows = [
        {
            "from_day": start if not period else (start + period * length).named("from_day_d"),
            "failures": failures,
            **{end: ours[end] for end in ("low", "median", "high")},
            "poisson_low": poisson["low"],
            "poisson_high": poisson["high"],
        }
        for period, failures, ours, poisson in zip(
            range(first_periods, past.size), counted, *(tested[name] for name in RULES), strict=True
        )
    ]
    return Section("Failures of the next period", said, {"scores": scores, "forecasts": rows})


def _held_spares(held: list[Record], question: FitQuestion) -> Section:
    title = "Pools of spares"
    if not held:
        return Section(
            title, ["The log ends too few outages, or is too short, to size pools of spares from its past."]
        )
    said = [
        f"Pools for {number_text(question.spare_confidence_fraction)} of the time, each sized from the "
        "past alone and "
        f"held for {question.review_d:g} d."
    ]
    return Section(title, said, {"pools": held})
