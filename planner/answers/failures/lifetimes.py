"""How long units live: the curve of the log, the models that fit it, and what makes some die sooner."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from planner.answers.failures.log_numbers import estimated, log_count, reported
from planner.answers.failures.rates import MOST_LEVELS, rate_columns
from planner.answers.failures.sections import DAY_H, Section, ends
from planner.inputs.log_question import FitQuestion
from planner.trace.columns import Column
from planner.trace.errors import InputError
from planner.trace.numbers import count_text, fixed_text, number_text
from planner.trace.quantities import Fact, Traced, chosen, derive
from planner.trace.records import Record
from reliability.competing import cumulative_incidence
from reliability.cox import fit_cox, proportional_hazards_test
from reliability.fitting import (
    Fit,
    RankedFits,
    fit_best,
    fit_exponential,
    fit_generalised_gamma,
    fit_log_logistic,
    fit_log_normal,
    fit_weibull,
    survival_band,
)
from reliability.goodness import fit_test
from reliability.lifetimes import Lifetime, mean_h, quantile_h, survival_fraction
from reliability.logs import FailureLog
from reliability.survival import goodness_of_fit, kaplan_meier, risk_table

TITLE = "How long a unit lasts"
POINTS, AGES = 60, 7
FEWEST_DEATHS, MOST_CAUSES = 3, 9
REFUSED_BELOW = 0.01
# Lifetime -> what fits it.
FAMILIES = {
    "exponential": fit_exponential,
    "Weibull": fit_weibull,
    "log-normal": fit_log_normal,
    "log-logistic": fit_log_logistic,
    "generalised gamma": fit_generalised_gamma,
}


def lives_section(log: FailureLog, question: FitQuestion) -> tuple[Section, Fit[Lifetime] | None]:
    """Survival, fits by AIC, hazard by age, causes and Cox's ratios, with the best fit; or why not."""
    lives, why_not = lives_of(log)
    if why_not:
        return Section(TITLE, [why_not]), None
    rows = life_columns(lives)
    ranked = fit_best(**rows)
    if not ranked.fits:
        return Section(
            TITLE, [f"No {name} lifetime fits: {why}." for name, why in ranked.failed.items()]
        ), None
    what = "until its death" if log.kind == "lives" else "from the start of watching to its first failure"
    deaths = int(lives["died"].sum())
    said = [
        f"{count_text(len(lives))} units, {count_text(deaths)} of them followed {what}; the others are "
        "censored.",
        _choice(ranked),
    ]
    said += [f"No {name} lifetime fits: {why}." for name, why in ranked.failed.items()]
    fits = [_fit_row(log, fit, rows, question) for fit in ranked.fits]
    said += _doubt(fits[0])
    tables = {
        "fits": fits,
        "survival": _curve(log, ranked.best, rows, question),
        "risk": _risk(log, rows),
        "hazard": _hazard(log, rows, question),
    }
    if incidence := _incidence(log, lives, rows, question):
        tables["causes_of_first_failure"] = incidence
    ratios, about = _ratios(log, lives, rows, question)
    if ratios:
        tables["hazard_ratios"] = ratios
    return Section(TITLE, [*said, *about], tables), ranked.best


def lives_of(log: FailureLog) -> tuple[pd.DataFrame, str]:
    """Lives that have a length, and why nothing can be fitted to them, if so."""
    lives = log.lives[(log.lives["duration_h"] > 0) & (log.lives["entry_h"] < log.lives["duration_h"])]
    if log.kind == "jobs":
        return lives, "A job log follows no node from its first day on: lifetimes need events or lives."
    if log.names_no_node:
        return lives, "The log names no node, so that none can be followed from one failure to the next."
    if (deaths := int(lives["died"].sum())) < FEWEST_DEATHS:
        return lives, f"{deaths} of {count_text(len(lives))} units failed: too few for a lifetime."
    return lives, ""


def life_columns(lives: pd.DataFrame) -> dict[str, Any]:
    """As the fits of `reliability` take them."""
    return {
        "duration_h": lives["duration_h"].to_numpy(dtype=float),
        "observed": lives["died"].to_numpy(dtype=bool),
        "entry_h": lives["entry_h"].to_numpy(dtype=float),
    }


def known_of(log: FailureLog, rows: dict[str, Any]) -> dict[str, Traced]:
    """What is known of the rows that lifetimes are fitted to."""
    note = "each once; the others are censored"
    return {
        "units": log_count(log, "units", rows["observed"].size),
        "failed": log_count(log, "units_failed", int(rows["observed"].sum()), note=note),
    }


def covariate_columns(lives: pd.DataFrame, question: FitQuestion) -> dict[str, Any]:
    """Those asked for, or all with few levels; each as text.

    Raises:
        InputError: the log does not have one of them.
    """
    held = [name for name in lives.columns if name not in ("unit", "entry_h", "duration_h", "died")]
    names = question.covariates
    if names is None:
        names = tuple(name for name in held if 2 <= lives[name].nunique() < MOST_LEVELS)
    if unknown := [name for name in names if name not in held]:
        raise InputError(
            f"no covariate {', '.join(unknown)} in the log; there is {', '.join(held) or 'none'}: name "
            "columns under covariates in the mapping"
        )
    return {name: lives[name].fillna("unknown").astype(str).to_numpy() for name in names}


def _choice(ranked: RankedFits) -> str:
    best, second = _name(ranked.best.model), ranked.runner_up
    if second is None:
        return f"Only one lifetime fits: {best}."
    near = "; the log hardly tells the two apart" if ranked.aic_difference < 2 else ""
    return (
        f"Lowest AIC: {best}; {_name(second.model)} is {fixed_text(ranked.aic_difference, 1)} above it{near}."
    )


def _doubt(best: Record) -> list[str]:
    """That the log refuses even the best lifetime, if it does."""
    if best["fit_p"] is None or best["fit_p"].value >= REFUSED_BELOW:
        return []
    return [
        f"The log refuses even the {best['lifetime']} (p = {number_text(best['fit_p'].value, 1)}): units "
        "fail in bursts, or "
        "are of several kinds. Read the steps of the curve rather than its line."
    ]


def _fit_row(log: FailureLog, fit: Fit[Lifetime], rows: dict[str, Any], question: FitQuestion) -> Record:
    checked = goodness_of_fit(fit.model, **rows, points=POINTS)
    tested = fit_test(fit, **rows)
    mean, median = mean_h(fit.model), float(quantile_h(fit.model, dead_fraction=0.5))
    parameters = parameters_of(log, fit, question)
    known = {**parameters, **known_of(log, rows)}
    name = _name(fit.model)
    likely = reported(FAMILIES[name], "log_likelihood", fit.log_likelihood, **known)
    half = chosen("dead_fraction", 0.5, "the age by which one half has failed")
    free = chosen("parameters", float(len(parameters)), f"of the {name}", "1")
    return {
        "lifetime": name,
        "parameters": ", ".join(
            f"{word.replace('_', ' ')} {number_text(one.value)}{' d' if one.unit == 'd' else ''} "
            f"({number_text(one.low)} to {number_text(one.high)})"
            for word, one in parameters.items()
        ),
        "aic": derive(aic, parameters=free, log_likelihood=likely),
        "log_likelihood": likely,
        "largest_gap_fraction": reported(
            goodness_of_fit, "distance_fraction", checked.distance_fraction, **known
        ),
        "fit_p": None if tested is None else reported(fit_test, "p_value", tested.p_value, **known),
        "median_d": reported(quantile_h, "", median / DAY_H, "d", dead_fraction=half, **parameters),
        "mean_d": reported(mean_h, "", mean / DAY_H, "d", **parameters) if np.isfinite(mean) else None,
    }


def aic(*, parameters: Column, log_likelihood: Column) -> Column:
    """How far a lifetime is from the log, its parameters counted against it; lower is better.

    AIC = 2 * parameters - 2 * ln L

    Source: Akaike, IEEE Transactions on Automatic Control 19, 1974.
    """
    return 2.0 * parameters - np.multiply(2.0, log_likelihood)


def _name(model: Lifetime) -> str:
    """`LogNormal` as `log-normal`."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in type(model).__name__)
    return words.strip().replace("weibull", "Weibull").replace("log ", "log-")


def parameters_of(log: FailureLog, fit: Fit[Lifetime], question: FitQuestion) -> dict[str, Fact]:
    """Each parameter with its interval; hours as days."""
    found = {}
    model: Any = fit.model
    for name in (field.name for field in fields(model)):
        low, high = fit.parameter_interval(name, confidence_fraction=question.interval_fraction)
        by, unit = (DAY_H, "d") if name.endswith("_h") else (1.0, "1")
        word = name.removesuffix("_h")
        found[word] = estimated(
            log,
            f"{_name(fit.model)}.{word.replace('_', ' ')}",
            getattr(model, name) / by,
            unit,
            (float(low) / by, float(high) / by),
            f"{ends(question.interval_fraction)} interval",
        )
    return found


def _curve(log: FailureLog, best: Fit[Lifetime], rows: dict[str, Any], question: FitQuestion) -> list[Record]:
    shown = goodness_of_fit(best.model, **rows, confidence_fraction=question.interval_fraction, points=POINTS)
    band = survival_band(best, age_h=shown.time_h, confidence_fraction=question.interval_fraction)
    known, parameters, name = known_of(log, rows), parameters_of(log, best, question), _name(best.model)
    found = []
    for i, time_h in enumerate(shown.time_h):
        age = log_count(log, "age", float(time_h) / DAY_H, "d", "an age at which a unit failed")
        row: Record = {"age_d": age}
        for key in ("survival_fraction", "low_fraction", "high_fraction"):
            row[key] = reported(kaplan_meier, key, float(getattr(shown, key)[i]), age_d=age, **known)
        modelled = float(shown.model_fraction[i])
        row["model_fraction"] = reported(survival_fraction, name, modelled, age_d=age, **parameters)
        for key in ("low_fraction", "high_fraction"):
            end = float(np.asarray(getattr(band, key))[i])
            row[f"model_{key}"] = reported(survival_band, key, end, age_d=age, **parameters)
        found.append(row)
    return found


def _risk(log: FailureLog, rows: dict[str, Any]) -> list[Record]:
    """Units that are watched at an age, and what became of the others by then."""
    ages = np.linspace(0.0, float(rows["duration_h"].max()), AGES)
    table = risk_table(**rows, time_h=ages)
    found: list[Record] = []
    for i in range(AGES):
        failed, censored = (
            log_count(log, f"risk.{key}", int(counts[i]), note=f"units that {became} by this age")
            for key, became, counts in (
                ("failed", "failed", table.deaths),
                ("censored", "were last seen unfailed", table.censored),
            )
        )
        # The highest age is that of units seen then for the last time: they are watched up to it.
        before = censored if i < AGES - 1 else found[-1]["censored"]
        watched = log_count(log, "units", int(table.at_risk[0]))
        at_risk: Traced = derive(at_risk_units, units=watched, failed=failed, censored=before)
        if int(table.at_risk[i]) != at_risk.value:
            late = "units watched at this age that have not failed before; some came later than new"
            at_risk = log_count(log, "risk.at_risk", int(table.at_risk[i]), note=late)
        age_d = float(ages[i]) / DAY_H
        found.append(
            {
                "age_d": log_count(
                    log, "risk.age_d", age_d, "d", "ages evenly from none to the highest one seen"
                ),
                "at_risk": at_risk,
                "failed": failed,
                "censored": censored,
            }
        )
    return found


def at_risk_units(*, units: Column, failed: Column, censored: Column) -> Column:
    """Units that are watched at an age and have not failed before.

    n = units - failed - censored

    Units that come under watch only later are left out.

    Source: counting.
    """
    return np.subtract(units, failed) - censored


def _hazard(log: FailureLog, rows: dict[str, Any], question: FitQuestion) -> list[Record]:
    """Failures over unit-hours in stretches of age that hold about as many failures each."""
    died = np.sort(rows["duration_h"][rows["observed"]])
    inner = np.quantile(died, np.linspace(0.0, 1.0, AGES)[1:-1])
    edges = np.unique([0.0, *inner, float(rows["duration_h"].max())])
    sure = chosen("confidence_fraction", question.interval_fraction, "as requested")
    stretch = "stretches of age that hold about as many failures each"
    found = []
    for low, high in pairwise(edges):
        hours = np.clip(rows["duration_h"], low, high) - np.clip(rows["entry_h"], low, high)
        deaths = int(np.sum((died > low) & (died <= high)))
        if not hours.sum() > 0:
            continue
        failed = log_count(log, "hazard.failed", deaths, note="units that failed in this stretch of age")
        lived = log_count(
            log, "node_hours", float(hours.sum()), "h", "that units lived in this stretch of age"
        )
        found.append(
            {
                "from_age_d": log_count(log, "hazard.from_age_d", float(low) / DAY_H, "d", stretch),
                "to_age_d": log_count(log, "hazard.to_age_d", float(high) / DAY_H, "d", stretch),
                "failed": failed,
                **rate_columns(failures=failed, node_h=lived, confidence_fraction=sure),
            }
        )
    return found


def _incidence(
    log: FailureLog, lives: pd.DataFrame, rows: dict[str, Any], question: FitQuestion
) -> list[Record]:
    """Share of units that failed first of each cause by the last age seen, the other causes at work."""
    first = log.failures.drop_duplicates("unit").set_index("unit")["cause"]
    cause = lives["unit"].map(first).fillna("unknown")
    common = cause[lives["died"]].value_counts()
    if len(common) < 2:
        return []
    named = cause.where(cause.isin(common.index[:MOST_CAUSES]), "other")
    found = cumulative_incidence(
        **rows, cause=named.to_numpy(dtype=str), confidence_fraction=question.interval_fraction
    )
    by_age = log_count(
        log, "by_age", float(found.time_h[-1]) / DAY_H, "d", "the last age at which a unit failed"
    )
    result = []
    for name, curve in sorted(found.causes.items(), key=lambda item: -item[1].incidence_fraction[-1]):
        died_first = log_count(log, "first_failures", int(curve.deaths.sum()), note=name)
        known: dict[str, Traced] = {"first_failures": died_first, **known_of(log, rows)}
        row: Record = {"cause": name, "first_failures": died_first, "by_age_d": by_age}
        for key, share in (
            ("failed_of_it_fraction", curve.incidence_fraction),
            ("low_fraction", curve.low_fraction),
            ("high_fraction", curve.high_fraction),
        ):
            row[key] = reported(cumulative_incidence, key, float(share[-1]), **known)
        result.append(row)
    return result


def _ratios(
    log: FailureLog, lives: pd.DataFrame, rows: dict[str, Any], question: FitQuestion
) -> tuple[list[Record], list[str]]:
    """Cox's hazard ratios of the covariates that can have some, and what is to be said of them."""
    columns = covariate_columns(lives, question)
    if not columns:
        return [], []
    try:
        fit = fit_cox(**rows, covariates=columns)
    except ValueError as error:
        return [], [f"No hazard ratios for {', '.join(columns)}: {error}."]
    found = fit.hazard_ratios(confidence_fraction=question.interval_fraction)
    test = proportional_hazards_test(fit)
    p_value = float(test.p_value[-1])
    doubt = "; the ratios change with age" if p_value < 0.05 else ""
    known, ratios = known_of(log, rows), []
    for i, name in enumerate(found.names):
        once = log_count(log, "hazard_ratio", float(found.ratio[i]))
        sure = {"low": found.low, "high": found.high, "p_value": found.p_value}
        ratios.append(
            {
                "covariate": name,
                "hazard_ratio": reported(fit_cox, "hazard_ratio", once.value, **known),
                **{
                    key: reported(fit_cox, key, float(value[i]), **known, hazard_ratio=once)
                    for key, value in sure.items()
                },
            }
        )
    return ratios, [
        f"Hazard ratios (Cox) to the first level of each covariate, {ends(question.interval_fraction)} "
        f"intervals; concordance {fixed_text(fit.concordance_fraction(), 3)}, proportional hazards p = "
        f"{number_text(p_value, 2)}{doubt}."
    ]
