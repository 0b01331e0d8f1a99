"""The lifetimes and ratios of a log next to those of lifelines, a package of its own."""

from __future__ import annotations

import numpy as np

from planner.answers.failures.lifetimes import covariate_columns, life_columns, lives_of
from planner.answers.failures.options import FitQuestion, Section
from planner.trace.numbers import number_text
from planner.trace.records import Record
from reliability.crosscheck import Comparison, cross_check
from reliability.logs import FailureLog

TITLE = "Compared with lifelines"
MOST_AGES = 10


def cross_check_section(log: FailureLog, question: FitQuestion) -> Section:
    """Each estimate by both, how far apart they are, and what one of them did not give."""
    lives, why_not = lives_of(log)
    if why_not:
        return Section(TITLE, [why_not])
    found = cross_check(**life_columns(lives), covariates=covariate_columns(lives, question))
    furthest = max(found.compared, key=lambda one: one.largest_relative_difference)
    said = [
        f"{len(found.compared)} estimates fitted by lifelines to the same rows; the furthest apart is "
        f"{furthest.estimate}, by {number_text(furthest.largest_relative_difference, 1)} of the value."
    ]
    said += [f"{name} is not compared: {why}." for name, why in found.failed.items()]
    curves_last = sorted(found.compared, key=_is_curve)
    tables = {
        "agreement": [_agreement(one) for one in found.compared],
        "values_compared": [row for one in curves_last for row in _values(one)],
    }
    return Section(TITLE, said, tables)


def _is_curve(one: Comparison) -> bool:
    return one.our_log_likelihood is None


def _agreement(one: Comparison) -> Record:
    ours, theirs = one.our_log_likelihood, one.lifelines_log_likelihood
    return {
        "estimate": one.estimate,
        "values": len(one.names),
        "largest_relative_difference": one.largest_relative_difference,
        "log_likelihood": ours,
        "above_lifelines": None if ours is None or theirs is None else ours - theirs,
    }


def _values(one: Comparison) -> list[Record]:
    """Every parameter and ratio; of a curve some ages, evenly over its deaths."""
    shown = np.arange(len(one.names))
    if _is_curve(one):
        shown = np.unique(np.linspace(0, shown[-1], MOST_AGES).round().astype(int))
    return [
        {
            "estimate": one.estimate,
            "value": one.names[place],
            "everfleet": float(one.ours[place]),
            "lifelines": float(one.lifelines[place]),
            "relative_difference": float(one.relative_differences[place]),
        }
        for place in shown
    ]
