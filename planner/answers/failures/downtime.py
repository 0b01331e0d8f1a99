"""How long nodes are away, how many at once, and the spares that this asks for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from planner.answers.failures.counts import failure_count
from planner.answers.failures.log_numbers import in_days, log_count, log_fact, reported, whole
from planner.answers.failures.rates import Rate
from planner.answers.failures.sections import DAY_H, Section
from planner.inputs.log_question import FitQuestion
from planner.trace.numbers import count_text, fixed_text, number_text, percent_text
from planner.trace.quantities import Traced, chosen, convert, derive
from planner.trace.records import Record
from reliability.logs import FailureLog, joined_outages
from reliability.outages import (
    DownHistory,
    backtest_spares,
    down_history,
    down_statistics,
    nodes_down_quantile,
    spares_by_history,
)
from reliability.spares import mean_nodes_down, spares_for_confidence

FEWEST_OUTAGES = 5
STEPS_SHOWN, MOST_REVIEWS = 200, 100
# Periods that all pools of a test look back on together, some seconds: 100 pools of ten years of weeks.
MOST_LOOKED_BACK = 35_000


@dataclass(frozen=True)
class Outages:
    """Outages with a known end: each node's own, those that overlap joined."""

    down: pd.DataFrame
    history: DownHistory
    ended: pd.Series
    without_end: int


def outages_of(log: FailureLog) -> Outages | None:
    """The outages of a log; None where it holds too few with an end."""
    failures = log.failures
    ended = failures.dropna(subset=["end_h"])
    if log.kind != "events" or len(ended) < FEWEST_OUTAGES:
        return None
    down = joined_outages(ended)
    history = down_history(
        start_h=down["start_h"].to_numpy(dtype=float),
        end_h=down["end_h"].to_numpy(dtype=float),
        window_end_h=log.window_h,
    )
    return Outages(down, history, ended["end_h"] - ended["start_h"], len(failures) - len(ended))


def contract_of(outages: Outages | None) -> Record | None:
    """Mean and median outage as other commands read them."""
    if outages is None or not outages.ended.mean() > 0:
        return None
    return {"mean_h": float(outages.ended.mean()), "median_h": float(outages.ended.median())}


def downtime_section(
    log: FailureLog, outages: Outages | None, question: FitQuestion, rate: Rate
) -> tuple[Section, dict[str, Traced]]:
    """Outage lengths, unavailability, nodes down over time, and pools of spares."""
    title = "Outages and spares"
    if outages is None:
        return Section(
            title, ["The log ends too few outages: give an end or a duration for repair times and spares."]
        ), {}
    lasted, seen = outages.ended, down_statistics(outages.history)
    service_h = float((log.units["exit_h"] - log.units["entry_h"]).sum())
    away = float((outages.down["end_h"].clip(upper=log.window_h) - outages.down["start_h"]).sum()) / service_h
    lengths = {
        "mean": lasted.mean(),
        "median": lasted.median(),
        "90 % are shorter than": lasted.quantile(0.9),
        "longest": lasted.max(),
    }
    sizes, explained, spares = _spares_by_rule(log, outages, question, rate, seen.variance_to_mean_ratio)
    kept = number_text(question.spare_confidence_fraction)
    most = nodes_down_quantile(outages.history, time_fraction=question.spare_confidence_fraction)
    said = [
        f"{count_text(len(lasted))} outages; nodes are away {percent_text(away, 2)} of the time, "
        f"{fixed_text(seen.mean_down, 1)} at once on average. The count of nodes down has "
        f"{fixed_text(seen.variance_to_mean_ratio, 2)} times the variance of a Poisson count.",
        f"For {kept} of the time on record at most {count_text(most)} were down at once.",
        f"Hold {spares} spares for {kept} of the time until a review in {question.review_d:g} d.",
    ]
    if outages.without_end:
        said.append(f"{outages.without_end} outages without an end are left out here.")
    tables = {
        "outage_lengths": [_length(log, name, float(hours)) for name, hours in lengths.items()],
        "spares": sizes,
        "pool_backtest": held_spares(log, outages, question),
        "nodes_down": _steps(log, outages.history),
    }
    return Section(title, said, {name: rows for name, rows in tables.items() if rows}), explained


def _spares_by_rule(
    log: FailureLog, outages: Outages, question: FitQuestion, rate: Rate, ratio: float
) -> tuple[list[Record], dict[str, Traced], int]:
    """The pool by the log's own history, next to those by a mean and a formula."""
    confidence = chosen("confidence_fraction", question.spare_confidence_fraction, "as requested")
    mean = derive(
        mean_nodes_down,
        nodes=log_fact(log, "nodes", log.units["unit"].nunique(), "1"),
        failure_rate_per_node_h=rate.value,
        repair_h=log_fact(log, "outage_mean", float(outages.ended.mean()), "h"),
    )
    bursts = log_fact(log, "nodes_down.variance_to_mean", max(ratio, 1.0), "1")
    formula = {
        "Poisson": derive(spares_for_confidence, mean_down=mean, confidence_fraction=confidence),
        "as wide as the history": derive(
            spares_for_confidence,
            mean_down=mean,
            confidence_fraction=confidence,
            variance_to_mean_ratio=bursts,
        ),
    }
    kept = spares_by_history(
        history=outages.history,
        confidence_fraction=question.spare_confidence_fraction,
        review_h=DAY_H * question.review_d,
    )
    most = "the most nodes that were ever down at once"
    rows: list[Record] = [
        {
            "pool": "by the history, drifting",
            **{
                key: reported(spares_by_history, key, getattr(kept, key), confidence_fraction=confidence)
                for key in ("spares", "mean_down")
            },
        },
        *(
            {"pool": f"{name}, constant mean", "spares": whole(found), "mean_down": mean}
            for name, found in formula.items()
        ),
        {
            "pool": "most ever down at once",
            "spares": log_count(log, "spares.spares", int(outages.history.nodes_down.max()), note=most),
            "mean_down": None,
        },
    ]
    return (
        rows,
        {"spares": formula["as wide as the history"], "spares.poisson": formula["Poisson"]},
        kept.spares,
    )


def _length(log: FailureLog, name: str, hours: float) -> Record:
    """How long an outage lasted."""
    note = f"of {count_text(failure_count(log))} failures, those with a known end; {name}"
    lasted = log_count(log, "outage", hours, "h", note)
    return {"outage": name, "length_h": lasted, "length_d": in_days(lasted)}


def held_spares(log: FailureLog, outages: Outages, question: FitQuestion) -> list[Record]:
    """How each rule for spares would have fared; the history of outages itself is not kept."""
    confidence = chosen("confidence_fraction", question.spare_confidence_fraction, "as requested")
    note = "times that a pool was sized from the past alone and then held"
    rows = []
    for row in spares_scores(outages.history, question.spare_confidence_fraction, DAY_H * question.review_d):
        known = {
            "reviews": log_count(log, "reviews", row["reviews"], note=note),
            "confidence_fraction": confidence,
        }
        scores = {
            key: reported(backtest_spares, key, row[key], **known)
            for key in ("covered_fraction", "mean_spares", "pinball")
        }
        rows.append({**row, "reviews": known["reviews"], **scores})
    return rows


def spares_scores(history: DownHistory, confidence_fraction: float, review_h: float) -> list[Record]:
    """Pools that are sized anew from a quarter of the history on; none where it is too short."""
    first_h = max(review_h, (history.end_h - history.from_h[0]) / 4.0)
    if history.end_h - history.from_h[0] < first_h + 2.0 * review_h:
        return []

    def drifting(past: DownHistory) -> float:
        return spares_by_history(
            history=past, confidence_fraction=confidence_fraction, review_h=review_h
        ).spares

    def poisson(past: DownHistory) -> float:
        mean = down_statistics(past).mean_down
        return float(spares_for_confidence(mean_down=mean, confidence_fraction=confidence_fraction))

    rules = {
        "by the history, drifting": drifting,
        "Poisson of the past mean": poisson,
        "most ever down at once": lambda past: float(past.nodes_down.max()),
    }
    # A pool looks back from its origin to the start, so that a longer history tests fewer pools.
    looked_back = (first_h + history.end_h - history.from_h[0]) / 2.0 / review_h
    reviews = min(MOST_REVIEWS, max(2.0, MOST_LOOKED_BACK / looked_back))
    step_h = max(review_h / 2.0, (history.end_h - first_h) / reviews)
    tested = {
        name: backtest_spares(
            history=history,
            rule=rule,
            confidence_fraction=confidence_fraction,
            first_h=first_h,
            step_h=step_h,
            hold_h=review_h,
        )
        for name, rule in rules.items()
    }
    return [
        {
            "pool": name,
            "reviews": int(found.spares.size),
            "covered_fraction": float(found.covered_fraction.mean()),
            "mean_spares": float(found.spares.mean()),
            "pinball": float(found.pinball.mean()),
        }
        for name, found in tested.items()
    ]


def _steps(log: FailureLog, history: DownHistory) -> list[Record]:
    """Nodes down over time: the most in each of at most so many stretches."""
    edges = np.linspace(history.from_h[0], history.end_h, STEPS_SHOWN + 1)
    at = np.unique(np.concatenate([edges[:-1], history.from_h]))
    down = history.nodes_down[np.searchsorted(history.from_h, at, side="right") - 1]
    stretch = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, STEPS_SHOWN - 1)
    most = np.zeros(STEPS_SHOWN)
    np.maximum.at(most, stretch, down)
    note = "start of a stretch, from the start of the log"
    days = [log_count(log, "day", float(edge) / DAY_H, "d", note) for edge in edges[:-1]]
    return [
        {
            "day": day,
            "most_down": reported(down_history, "nodes_down", int(count), from_day=convert(day, "h")),
        }
        for day, count in zip(days, most, strict=True)
    ]
