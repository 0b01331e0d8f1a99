"""Cells of lifetimes, gaps, weak nodes, outages and comparisons: told with what is known of the log."""

from __future__ import annotations

import re

import numpy as np

from planner.answers.failures.cell import IN_1000_NODE_DAYS_H, Cell, in_papers_unit
from planner.trace.columns import Column
from planner.trace.numbers import count_text
from planner.trace.quantities import Fact, Source, Traced, chosen, convert, derive
from reliability.cohorts import cohort_forecast
from reliability.competing import cumulative_incidence
from reliability.cox import fit_cox
from reliability.crosscheck import cross_check
from reliability.fitting import (
    fit_best,
    fit_exponential,
    fit_generalised_gamma,
    fit_log_logistic,
    fit_log_normal,
    fit_weibull,
    survival_band,
)
from reliability.goodness import fit_test
from reliability.lemons import find_lemons
from reliability.lifetimes import mean_h, quantile_h
from reliability.lifetimes import survival_fraction as model_survival_fraction
from reliability.outages import backtest_spares, down_history, spares_by_history
from reliability.survival import goodness_of_fit, kaplan_meier

# Lifetime -> what fits it.
_FAMILIES = {
    "exponential": fit_exponential,
    "Weibull": fit_weibull,
    "log-normal": fit_log_normal,
    "log-logistic": fit_log_logistic,
    "generalised gamma": fit_generalised_gamma,
}
_PARAMETER = re.compile(r"([a-z ]+?) (\S+?)( d)? \((\S+) to (\S+)\)")
_NUMBER = re.compile(r"([\d,]+(?:\.\d+)?)( d)?(?= |$)")


def at_risk_units(*, units: Column, failed: Column, censored: Column) -> Column:
    """Units that are watched at an age and have not failed before.

    n = units - failed - censored

    Units that come under watch only later are left out.

    Source: counting.
    """
    return np.subtract(units, failed) - censored


def aic(*, parameters: Column, log_likelihood: Column) -> Column:
    """How far a lifetime is from the log, its parameters counted against it; lower is better.

    AIC = 2 * parameters - 2 * ln L

    Source: Akaike, IEEE Transactions on Automatic Control 19, 1974.
    """
    return 2.0 * parameters - np.multiply(2.0, log_likelihood)


def relative_difference_fraction(*, ours: Column, theirs: Column) -> Column:
    """How far apart two estimates are.

    d = |ours - theirs| / max(|ours|, |theirs|)

    Source: definition.
    """
    largest = np.maximum(np.abs(ours), np.abs(theirs))
    return np.abs(np.subtract(ours, theirs)) / np.where(largest > 0, largest, 1.0)


def fit_cell(cell: Cell) -> Traced:
    """A lifetime: parameters of highest likelihood, how well it fits, and what it says."""
    row, key = cell.row, cell.key
    parameters = _parameters(cell, row)
    if key == "aic":
        likelihood = _likelihood(cell, parameters)
        count = chosen("parameters", float(len(parameters)), f"of the {row['lifetime']}", "1")
        return derive(aic, parameters=count, log_likelihood=likelihood)
    if key in ("parameters", "log_likelihood"):
        return _likelihood(cell, parameters)
    if key == "largest_gap_fraction":
        return cell.reported(goodness_of_fit, "distance_fraction", **parameters, **_lives(cell))
    if key == "fit_p":
        return cell.reported(fit_test, "p_value", **parameters, **_lives(cell))
    if key == "median_d":
        half = chosen("dead_fraction", 0.5, "the age by which one half has failed")
        return cell.reported(quantile_h, "", "d", dead_fraction=half, **parameters)
    return cell.reported(mean_h, "", "d", **parameters)


def curve_cell(cell: Cell) -> Traced:
    """A point of the survival curve of the log, or of the best lifetime's."""
    age = cell.counted("age", cell.row["age_d"], "d", "an age at which a unit failed")
    if cell.key == "age_d":
        return age
    if not cell.key.startswith("model_"):
        return cell.reported(kaplan_meier, cell.key, age_d=age, **_lives(cell))
    best = cell.table_of("lives", "fits")[0]
    parameters = _parameters(cell, best)
    if cell.key == "model_fraction":
        return cell.reported(model_survival_fraction, best["lifetime"], age_d=age, **parameters)
    return cell.reported(survival_band, cell.key.removeprefix("model_"), age_d=age, **parameters)


def risk_cell(cell: Cell) -> Traced:
    """Units that are watched at an age, and what became of the others by then."""
    if cell.key == "age_d":
        return cell.here("ages evenly from none to the highest one seen", "d")
    if cell.key != "at_risk":
        return cell.here(f"units that {cell.key.replace('censored', 'were last seen unfailed')} by this age")
    before = {key: cell.row[key] for key in ("failed", "censored")}
    # The highest age is that of units seen then for the last time: they are watched up to it.
    if cell.number == len(cell.rows) - 1:
        before["censored"] = cell.rows[cell.number - 1]["censored"]
    units = cell.rows[0]["at_risk"]
    if units - before["failed"] - before["censored"] != cell.value:
        return cell.here("units watched at this age that have not failed before; some came later than new")
    return derive(
        at_risk_units,
        units=cell.counted("units", units),
        failed=cell.counted("failed", before["failed"]),
        censored=cell.counted("censored", before["censored"]),
    )


def incidence_cell(cell: Cell) -> Traced:
    """Units that failed first of one cause."""
    first = cell.counted("first_failures", cell.row["first_failures"], note=str(cell.row["cause"]))
    if cell.key == "first_failures":
        return first
    if cell.key == "by_age_d":
        return cell.here("the last age at which a unit failed", "d")
    return cell.reported(cumulative_incidence, cell.key, first_failures=first, **_lives(cell))


def covariate_cell(cell: Cell) -> Traced:
    """How many times the hazard of the first level one has, and how sure that is."""
    known = _lives(cell)
    if cell.key != "hazard_ratio":
        known["hazard_ratio"] = cell.counted("hazard_ratio", cell.row["hazard_ratio"])
    return cell.reported(fit_cox, cell.key, **known)


def shape_cell(cell: Cell) -> Traced:
    """Weibull's shape and scale of gaps, or of times to a first failure."""
    count = cell.counted("times", cell.row["count"], note=cell.row["times"])
    if cell.key == "count":
        return count
    unit = "h" if cell.key == "scale_h" else "1"
    part = cell.key if cell.key in ("shape", "scale_h") else f"shape_{cell.key}"
    return cell.reported(fit_weibull, part, unit, times=count)


def node_cell(cell: Cell) -> Traced:
    """What one node had, what is to be expected of it, and how likely chance would do that."""
    row = cell.row
    if cell.key == "failures":
        return cell.here(f"of node {row['node']}")
    hours = IN_1000_NODE_DAYS_H * row["failures"] / row["per_1000_node_d"]
    had = cell.rate_of(row["failures"], hours, f"that {row['node']} was watched")
    if cell.key == "per_1000_node_d":
        return in_papers_unit(had)
    known: dict[str, Traced] = {"rate_per_node_h": had, "fleet_failures": cell.kept("rate", "failures")}
    if cell.key != "expected_per_1000_node_d":
        key = "expected_per_1000_node_d"
        known["expected"] = cell.counted(key, row[key], note="its rate, drawn to the fleet's")
    return cell.reported(find_lemons, cell.key, **known)


def outage_cell(cell: Cell) -> Traced:
    """How long outages lasted."""
    failures = (
        f"of {count_text(cell.document['failures'])} failures, those with a known end; {cell.row['outage']}"
    )
    hours = cell.counted("outage", cell.row["length_h"], "h", failures)
    return hours if cell.key == "length_h" else convert(hours, "d")


def spares_cell(cell: Cell) -> Traced:
    """A pool of spares by one rule."""
    name = cell.row["pool"]
    if name == "most ever down at once":
        return cell.here("the most nodes that were ever down at once")
    if name.startswith("by the history"):
        return cell.reported(
            spares_by_history, cell.key, confidence_fraction=cell.kept("spares", "confidence_fraction")
        )
    kept = "spares.poisson" if name.startswith("Poisson") else "spares"
    if cell.key == "spares":
        return cell.kept(kept)
    return cell.kept(kept, "mean_down")


def tested_spares_cell(cell: Cell) -> Traced:
    """How a rule for spares would have fared on the log."""
    if cell.key == "reviews":
        return cell.here("times that a pool was sized from the past alone and then held")
    return cell.reported(
        backtest_spares,
        cell.key,
        reviews=cell.counted("reviews", cell.row["reviews"]),
        confidence_fraction=cell.kept("spares", "confidence_fraction"),
    )


def down_cell(cell: Cell) -> Traced:
    """The most nodes down in a stretch of time."""
    day = cell.counted("day", cell.row["day"], "d", "start of a stretch, from the start of the log")
    return day if cell.key == "day" else cell.reported(down_history, "nodes_down", from_day=convert(day, "h"))


def age_forecast_cell(cell: Cell) -> Traced:
    """Deaths to come of the units still alive."""
    alive = cell.counted("alive", cell.row["alive"], note="units still watched at the end of the log")
    age = cell.counted("mean_age", cell.row["mean_age_d"], "d", "of the units alive")
    if cell.key in ("alive", "mean_age_d"):
        return alive if cell.key == "alive" else age
    parameters = _parameters(cell, cell.table_of("lives", "fits")[0])
    return cell.reported(cohort_forecast, cell.key, units=alive, mean_age=age, **parameters)


def cross_checked_cell(cell: Cell) -> Traced:
    """An estimate by us and by lifelines."""
    row, key = cell.row, cell.key
    if key == "relative_difference":
        ours = chosen("ours", row["everfleet"], f"{row['estimate']}, {row['value']}", "1")
        theirs = chosen("theirs", row["lifelines"], "by lifelines", "1")
        return derive(relative_difference_fraction, ours=ours, theirs=theirs)
    if key == "values":
        return cell.here(f"numbers of {row['estimate']} that were compared")
    if key == "log_likelihood":
        return cell.reported(fit_best, key, **_lives(cell))
    return cell.reported(cross_check, key, **_lives(cell))


def read_cell(cell: Cell) -> Traced | None:
    """What was counted while the log was read."""
    found = _NUMBER.match(str(cell.row["value"]))
    if cell.key != "value" or found is None:
        return None
    unit = "d" if found[2] else "1"
    return cell.counted(cell.row["read"], float(found[1].replace(",", "")), unit, str(cell.row["value"]))


def _lives(cell: Cell) -> dict[str, Traced]:
    """What is known of the rows that lifetimes are fitted to."""
    last = cell.table_of("lives", "risk")[-1]
    failed, censored = last["failed"], last["censored"]
    return {
        "units": cell.counted("units", failed + censored),
        "failed": cell.counted("units_failed", failed, note="each once; the others are censored"),
    }


def _parameters(cell: Cell, fit: dict[str, str]) -> dict[str, Traced]:
    """Parameters of a fit with their intervals, to the digits that its table has."""
    source = Source("log", f"the log '{cell.document['source']}', by highest likelihood")
    return {
        name.strip().replace(" ", "_"): Fact(
            float(value.replace(",", "")),
            "d" if days else "1",
            key=f"{fit['lifetime']}.{name.strip()}",
            source=source,
            locator="",
            kind="estimated",
            low=float(low.replace(",", "")),
            high=float(high.replace(",", "")),
            note=f"to four digits; {100 * cell.kept('rate', 'confidence_fraction').value:g} % interval",
        )
        for name, value, days, low, high in _PARAMETER.findall(fit["parameters"])
    }


def _likelihood(cell: Cell, parameters: dict[str, Traced]) -> Traced:
    """How likely the fit makes the log: highest at its parameters."""
    row = cell.row
    there = Cell(cell.document, cell.section, cell.table, cell.number, "log_likelihood")
    return there.reported(_FAMILIES[row["lifetime"]], "log_likelihood", **parameters, **_lives(cell))
