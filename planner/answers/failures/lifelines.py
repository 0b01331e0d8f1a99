"""The lifetimes and ratios of a log next to those of lifelines, a package of its own."""

from __future__ import annotations

import numpy as np

from planner.answers.failures.lifetimes import covariate_columns, known_of, life_columns, lives_of
from planner.answers.failures.log_numbers import log_count, reported
from planner.answers.failures.sections import Section
from planner.inputs.log_question import FitQuestion
from planner.trace.columns import Column
from planner.trace.numbers import number_text
from planner.trace.quantities import Traced, chosen, derive
from planner.trace.records import Record
from reliability.crosscheck import Comparison, cross_check
from reliability.fitting import fit_best
from reliability.logs import FailureLog

TITLE = "Compared with lifelines"
MOST_AGES = 10


def cross_check_section(log: FailureLog, question: FitQuestion) -> Section:
    """Each estimate by both, how far apart they are, and what one of them did not give."""
    lives, why_not = lives_of(log)
    if why_not:
        return Section(TITLE, [why_not])
    known = known_of(log, life_columns(lives))
    found = cross_check(**life_columns(lives), covariates=covariate_columns(lives, question))
    furthest = max(found.compared, key=lambda one: one.largest_relative_difference)
    said = [
        f"{len(found.compared)} estimates fitted by lifelines to the same rows; the furthest apart is "
        f"{furthest.estimate}, by {number_text(furthest.largest_relative_difference, 1)} of the value."
    ]
    said += [f"{name} is not compared: {why}." for name, why in found.failed.items()]
    curves_last = sorted(found.compared, key=_is_curve)
    tables = {
        "agreement": [_agreement(log, one, known) for one in found.compared],
        "values_compared": [row for one in curves_last for row in _values(one, known)],
    }
    return Section(TITLE, said, tables)


def _is_curve(one: Comparison) -> bool:
    return one.our_log_likelihood is None


def _agreement(log: FailureLog, one: Comparison, known: dict[str, Traced]) -> Record:
    ours, theirs = one.our_log_likelihood, one.lifelines_log_likelihood
    apart, key = one.largest_relative_difference, "largest_relative_difference"
    note = f"numbers of {one.estimate} that were compared"
    return {
        "estimate": one.estimate,
        "values": log_count(log, "agreement.values", len(one.names), note=note),
        key: reported(cross_check, key, apart, **known),
        "log_likelihood": None if ours is None else reported(fit_best, "log_likelihood", ours, **known),
        "above_lifelines": None
        if ours is None or theirs is None
        else reported(cross_check, "above_lifelines", ours - theirs, **known),
    }


def relative_difference_fraction(*, ours: Column, theirs: Column) -> Column:
    """How far apart two estimates are.

    d = |ours - theirs| / max(|ours|, |theirs|)

    Source: definition.
    """
    largest = np.maximum(np.abs(ours), np.abs(theirs))
    return np.abs(np.subtract(ours, theirs)) / np.where(largest > 0, largest, 1.0)


def _values(one: Comparison, known: dict[str, Traced]) -> list[Record]:
    """Every parameter and ratio; of a curve some ages, evenly over its deaths."""
    shown = np.arange(len(one.names))
    if _is_curve(one):
        shown = np.unique(np.linspace(0, shown[-1], MOST_AGES).round().astype(int))
    rows = []
    for place in shown:
        ours, theirs = float(one.ours[place]), float(one.lifelines[place])
        said = f"{one.estimate}, {one.names[place]}"
        rows.append(
            {
                "estimate": one.estimate,
                "value": one.names[place],
                "everfleet": reported(cross_check, "everfleet", ours, **known),
                "lifelines": reported(cross_check, "lifelines", theirs, **known),
                "relative_difference": derive(
                    relative_difference_fraction,
                    ours=chosen("ours", ours, said, "1"),
                    theirs=chosen("theirs", theirs, "by lifelines", "1"),
                ),
            }
        )
    return rows
