"""How long units live: the curve of the log, the models that fit it, and what makes some die sooner."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from planner.answers.failures.options import DAY_H, FitQuestion, Section, ends
from planner.answers.failures.rates import MOST_LEVELS
from planner.trace.errors import InputError
from planner.trace.numbers import count_text, fixed_text, number_text
from planner.trace.records import Record
from reliability.competing import cumulative_incidence
from reliability.cox import fit_cox, proportional_hazards_test
from reliability.fitting import Fit, RankedFits, fit_best, survival_band
from reliability.fleet import rate_interval
from reliability.goodness import fit_test
from reliability.lifetimes import Lifetime, mean_h, quantile_h
from reliability.logs import FailureLog
from reliability.survival import goodness_of_fit, risk_table

TITLE = "How long a unit lasts"
POINTS, AGES = 60, 7
FEWEST_DEATHS, MOST_CAUSES = 3, 9
REFUSED_BELOW = 0.01


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
    fits = [_fit_row(fit, rows, question) for fit in ranked.fits]
    said += _doubt(fits[0])
    tables = {
        "fits": fits,
        "survival": _curve(ranked.best, rows, question),
        "risk": _risk(rows),
        "hazard": _hazard(rows, question),
    }
    if incidence := _incidence(log, lives, rows, question):
        tables["causes_of_first_failure"] = incidence
    ratios, about = _ratios(lives, rows, question)
    if ratios:
        tables["hazard_ratios"] = ratios
    return Section(TITLE, [*said, *about], tables), ranked.best


def lives_of(log: FailureLog) -> tuple[pd.DataFrame, str]:
    """Lives that have a length, and why nothing can be fitted to them, if so."""
    lives = log.lives[(log.lives["duration_h"] > 0) & (log.lives["entry_h"] < log.lives["duration_h"])]
    if log.kind == "jobs":
        return lives, "A job log follows no node from its first day on: lifetimes need events or lives."
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
    if best["fit_p"] is None or best["fit_p"] >= REFUSED_BELOW:
        return []
    return [
        f"The log refuses even the {best['lifetime']} (p = {number_text(best['fit_p'], 1)}): units fail in "
        "bursts, or "
        "are of several kinds. Read the steps of the curve rather than its line."
    ]


def _fit_row(fit: Fit[Lifetime], rows: dict[str, Any], question: FitQuestion) -> Record:
    checked = goodness_of_fit(fit.model, **rows, points=POINTS)
    tested = fit_test(fit, **rows)
    mean = mean_h(fit.model)
    return {
        "lifetime": _name(fit.model),
        "parameters": _parameters(fit, question),
        "aic": fit.aic,
        "log_likelihood": fit.log_likelihood,
        "largest_gap_fraction": checked.distance_fraction,
        "fit_p": None if tested is None else tested.p_value,
        "median_d": float(quantile_h(fit.model, dead_fraction=0.5)) / DAY_H,
        "mean_d": mean / DAY_H if np.isfinite(mean) else None,
    }


def _name(model: Lifetime) -> str:
    """`LogNormal` as `log-normal`."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in type(model).__name__)
    return words.strip().replace("weibull", "Weibull").replace("log ", "log-")


def _parameters(fit: Fit[Lifetime], question: FitQuestion) -> str:
    """Each parameter with its interval; hours as days."""
    texts = []
    model: Any = fit.model
    for name in (field.name for field in fields(model)):
        low, high = fit.parameter_interval(name, confidence_fraction=question.interval_fraction)
        by, unit = (DAY_H, " d") if name.endswith("_h") else (1.0, "")
        word = name.removesuffix("_h").replace("_", " ")
        texts.append(
            f"{word} {number_text(getattr(model, name) / by)}{unit} ({number_text(float(low) / by)} to "
            f"{number_text(float(high) / by)})"
        )
    return ", ".join(texts)


def _curve(best: Fit[Lifetime], rows: dict[str, Any], question: FitQuestion) -> list[Record]:
    shown = goodness_of_fit(best.model, **rows, confidence_fraction=question.interval_fraction, points=POINTS)
    band = survival_band(best, age_h=shown.time_h, confidence_fraction=question.interval_fraction)
    return [
        {
            "age_d": float(shown.time_h[i]) / DAY_H,
            "survival_fraction": float(shown.survival_fraction[i]),
            "low_fraction": float(shown.low_fraction[i]),
            "high_fraction": float(shown.high_fraction[i]),
            "model_fraction": float(shown.model_fraction[i]),
            "model_low_fraction": float(np.asarray(band.low_fraction)[i]),
            "model_high_fraction": float(np.asarray(band.high_fraction)[i]),
        }
        for i in range(shown.time_h.size)
    ]


def _risk(rows: dict[str, Any]) -> list[Record]:
    ages = np.linspace(0.0, float(rows["duration_h"].max()), AGES)
    table = risk_table(**rows, time_h=ages)
    return [
        {
            "age_d": float(ages[i]) / DAY_H,
            "at_risk": int(table.at_risk[i]),
            "failed": int(table.deaths[i]),
            "censored": int(table.censored[i]),
        }
        for i in range(AGES)
    ]


def _hazard(rows: dict[str, Any], question: FitQuestion) -> list[Record]:
    """Failures over unit-hours in stretches of age that hold about as many failures each."""
    died = np.sort(rows["duration_h"][rows["observed"]])
    inner = np.quantile(died, np.linspace(0.0, 1.0, AGES)[1:-1])
    edges = np.unique([0.0, *inner, float(rows["duration_h"].max())])
    found = []
    for low, high in pairwise(edges):
        hours = np.clip(rows["duration_h"], low, high) - np.clip(rows["entry_h"], low, high)
        deaths = float(np.sum((died > low) & (died <= high)))
        if not hours.sum() > 0:
            continue
        rate = rate_interval(
            failures=deaths, node_h=float(hours.sum()), confidence_fraction=question.interval_fraction
        )
        value, least, most = rate.in_1000_node_days()
        found.append(
            {
                "from_age_d": float(low) / DAY_H,
                "to_age_d": float(high) / DAY_H,
                "failed": int(deaths),
                "per_1000_node_d": float(value),
                "low": float(least),
                "high": float(most),
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
    return [
        {
            "cause": name,
            "first_failures": int(curve.deaths.sum()),
            "by_age_d": float(found.time_h[-1]) / DAY_H,
            "failed_of_it_fraction": float(curve.incidence_fraction[-1]),
            "low_fraction": float(curve.low_fraction[-1]),
            "high_fraction": float(curve.high_fraction[-1]),
        }
        for name, curve in sorted(found.causes.items(), key=lambda item: -item[1].incidence_fraction[-1])
    ]


def _ratios(
    lives: pd.DataFrame, rows: dict[str, Any], question: FitQuestion
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
    ratios = [
        {
            "covariate": found.names[i],
            "hazard_ratio": float(found.ratio[i]),
            "low": float(found.low[i]),
            "high": float(found.high[i]),
            "p_value": float(found.p_value[i]),
        }
        for i in range(len(found.names))
    ]
    return ratios, [
        f"Hazard ratios (Cox) to the first level of each covariate, {ends(question.interval_fraction)} "
        f"intervals; concordance {fixed_text(fit.concordance_fraction(), 3)}, proportional hazards p = "
        f"{number_text(p_value, 2)}{doubt}."
    ]
