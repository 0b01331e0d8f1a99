"""How often nodes fail: by own counts, by what others saw, by cause and by kind of node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from planner.answers.failures.counts import Periods, exposure_h, failure_count, scatter, usual_periods
from planner.answers.failures.log_numbers import in_papers_unit, log_count, log_fact, reported
from planner.answers.failures.sections import NO_PRIOR, Section, ends
from planner.inputs.catalogue import Catalogue
from planner.inputs.log_question import FitQuestion
from planner.trace.columns import Column
from planner.trace.errors import InputError
from planner.trace.numbers import fixed_text, number_text
from planner.trace.quantities import Derived, Traced, chosen, derive, derive_parts, end_of, ratio
from planner.trace.records import Record
from reliability.definitions import FailureDefinition, FailureScope
from reliability.fleet import failures_in_1000_node_days, gamma_prior, rate_interval, updated_rate
from reliability.groups import Dispersion, group_rates
from reliability.logs import FailureLog

UP = "hours in service without those that nodes were away"
MOST_GROUPS, MOST_LEVELS = 50, 30
RANGE_FRACTION = 0.95  # what the range of a failure rate is meant to hold where it is used as a fact


@dataclass(frozen=True)
class Rate:
    """The rate of a log as traced quantities; `belief_shape` is what it is known by, in failures.

    `counts` is what it is made from, `posterior` what it is with a prior. `low` to `high` is the interval
    asked for, `range_low` to `range_high` the one that others read.
    """

    value: Traced
    low: Traced
    high: Traced
    range_low: Traced
    range_high: Traced
    variance_to_mean_ratio: float
    belief_shape: float | None
    counts: dict[str, Traced]
    posterior: dict[str, Derived] | None
    periods: Periods
    scatter: Dispersion | None
    failures: int

    @property
    def contract(self) -> Record:
        """The rate as other commands read it."""
        return {
            "value": in_1000_node_days(self.value),
            "low": in_1000_node_days(self.range_low),
            "high": in_1000_node_days(self.range_high),
            "unit": "1/(1000 node d)",
        }


def in_1000_node_days(rate: Traced | float) -> float:
    """A rate of one node and hour in the unit that papers print."""
    value = rate.value if isinstance(rate, Traced) else rate
    return float(failures_in_1000_node_days(failure_rate_per_node_h=value))


def group_variance_to_mean_ratio(*, share_fraction: Column, fleet_variance_to_mean_ratio: Column) -> Column:
    """Variance to mean of a group's counts, where bursts fall on groups by their shares.

    v_group = 1 + s * (v - 1)

    s is the share of the group that a failure is of on average.

    Source: a burst of v failures of the fleet, shared out at random.
    """
    return 1.0 + share_fraction * (fleet_variance_to_mean_ratio - 1.0)


def rate_of(log: FailureLog, question: FitQuestion, catalogue: Catalogue) -> Rate:
    """The log's rate by its own counts; by the prior alone where it holds no failure.

    Raises:
        InputError: there is no failure and no prior, or no fleet has the prior's name.
    """
    failures = failure_count(log)
    periods = usual_periods(log, 24.0 * question.period_d)
    found = scatter(periods, question.interval_fraction)
    scattered = 1.0 if found is None else max(1.0, found.variance_to_mean_ratio)
    counts: dict[str, Traced] = {
        "failures": log_fact(log, "failures", failures, "1"),
        "node_h": log_fact(log, "node_hours", exposure_h(log), "h"),
        "confidence_fraction": chosen("confidence_fraction", question.interval_fraction, "as requested"),
        "variance_to_mean_ratio": log_fact(
            log,
            "variance_to_mean",
            scattered,
            "1",
            f"between {periods.size} periods of {fixed_text(periods.length_h / 24, 1)} d",
        ),
    }
    wide = counts | {"confidence_fraction": chosen("confidence_fraction", RANGE_FRACTION, "range of a fact")}
    own, own_wide = derive_parts(rate_interval, **counts), derive_parts(rate_interval, **wide)
    prior = prior_of(question.prior, catalogue)
    if prior is None and not failures:
        raise InputError(
            f"{log.name}: no failure at all: a rate needs a prior, so leave out --prior {NO_PRIOR}"
        )
    posterior = None if prior is None else _posterior(prior, counts)
    parts: dict[str, Traced] = {
        "value": own["rate_per_node_h"],
        "low": own["low_per_node_h"],
        "high": own["high_per_node_h"],
        "range_low": own_wide["low_per_node_h"],
        "range_high": own_wide["high_per_node_h"],
    }
    if prior is not None and posterior is not None and not failures:
        posterior_wide = _posterior(prior, wide)
        parts = {
            "value": posterior["mean_per_node_h"],
            "low": posterior["low_per_node_h"],
            "high": posterior["high_per_node_h"],
            "range_low": posterior_wide["low_per_node_h"],
            "range_high": posterior_wide["high_per_node_h"],
        }
    shape = float(posterior["shape"].value) if posterior is not None else failures / scattered
    return Rate(
        **parts,
        variance_to_mean_ratio=scattered,
        belief_shape=shape,
        failures=failures,
        periods=periods,
        scatter=found,
        counts=counts,
        posterior=posterior,
    )


def prior_of(name: str, catalogue: Catalogue) -> dict[str, Derived] | None:
    """What is believed before the log is read: the catalogue's prior, or one of its fleets; None for none.

    Raises:
        InputError: no fleet has that name.
    """
    if name == NO_PRIOR:
        return None
    if not catalogue.has(f"reliability.{name}.failure_rate"):
        raise InputError(
            f"no prior '{name}'; there is {NO_PRIOR}, "
            f"{', '.join(catalogue.names('reliability', 'failure_rate'))}"
        )
    believed = derive_parts(
        gamma_prior,
        median_per_node_h=catalogue.fact(f"reliability.{name}.failure_rate"),
        log_sigma=catalogue.fact("reliability.prior.sigma"),
    )
    return dict(believed)


def rate_section(log: FailureLog, question: FitQuestion, rate: Rate, catalogue: Catalogue) -> Section:
    """The rate with its interval, with what others saw, by group, and next to published fleets."""
    how = ends(question.interval_fraction)
    rows: list[Record] = []
    if rate.failures:
        rows.append({"rate": f"this log, {how} interval", **_columns(rate.value, rate.low, rate.high)})
    if (found := rate.posterior) is not None:
        spread = (found[f"{end}_per_node_h"] for end in ("mean", "low", "high"))
        rows.append({"rate": f"with the prior '{question.prior}'", **_columns(*spread)})
    if log.kind == "events" and log.node_h > 0:
        up_h = log_fact(log, "node_hours", log.node_h, "h", UP)
        rows.append({"rate": "this log, for hours up only", **rate_columns(**rate.counts | {"node_h": up_h})})
    tables = {"rate": rows, "causes": _causes(log, rate)}
    for name in _levels(log):
        tables[f"by_{name}"] = _groups(log, name, rate)
    tables["published_fleets"] = _published(rate, catalogue)
    said = [f"Counted: {definition_of(log, question)}.", _scatter(rate), *_doubt(rate)]
    return Section("How often nodes fail", said, {name: found for name, found in tables.items() if found})


def definition_of(log: FailureLog, question: FitQuestion) -> str:
    """What was counted as a failure."""
    if log.kind == "lives":
        return "deaths of units, once each"
    severities = frozenset(log.failures["severity"]) or frozenset({"unknown"})
    scope = FailureScope.JOB if log.kind == "jobs" else FailureScope.NODE
    return str(FailureDefinition(planned_stops=question.with_planned, severities=severities, scope=scope))


def _posterior(prior: dict[str, Derived], counts: dict[str, Traced]) -> dict[str, Derived]:
    return dict(
        derive_parts(updated_rate, prior_shape=prior["shape"], prior_node_h=prior["node_h"], **counts)
    )


def rate_columns(**counts: Traced) -> Record:
    """The rate of some counts with its interval, as papers print it."""
    found = derive_parts(rate_interval, **counts)
    return _columns(*(found[f"{end}_per_node_h"] for end in ("rate", "low", "high")))


def _columns(value: Traced, low: Traced, high: Traced) -> Record:
    ends = {"per_1000_node_d": value, "low": low, "high": high}
    return {key: in_papers_unit(end) for key, end in ends.items()}


def _scatter(rate: Rate) -> str:
    if rate.scatter is None:
        return "The log is too short to tell whether failures come in bursts: counts are taken as Poisson."
    found, periods = rate.scatter, rate.periods
    used = "" if rate.variance_to_mean_ratio > 1 else "; counts are taken as Poisson"
    return (
        f"Counts of periods of {fixed_text(periods.length_h / 24, 1)} d have "
        f"{number_text(found.variance_to_mean_ratio, 3)} "
        f"times the variance of Poisson counts ({number_text(found.low_ratio, 3)} to "
        f"{number_text(found.high_ratio, 3)}){used}."
    )


def _doubt(rate: Rate) -> list[str]:
    if not rate.failures:
        return ["No failure was seen: the rate is that of the prior after so many quiet node-hours."]
    if rate.failures < 10:
        few = "1 failure says" if rate.failures == 1 else f"{rate.failures} failures say"
        return [f"{few} little: see how far the prior moves the rate."]
    return []


def _causes(log: FailureLog, rate: Rate) -> list[Record]:
    counts = log.failures["cause"].value_counts()
    if len(counts) < 2:
        return []
    hours = [rate.counts["node_h"]] * len(counts)
    return _rows(log, "causes", "cause", counts, hours, rate)


def _levels(log: FailureLog) -> list[str]:
    """Covariates of units with so few levels that each can have a rate."""
    others = [name for name in log.units.columns if name not in ("unit", "entry_h", "exit_h")]
    return [name for name in others if 2 <= log.units[name].nunique() < MOST_LEVELS]


def _groups(log: FailureLog, name: str, rate: Rate) -> list[Record]:
    units = log.units.dropna(subset=[name])
    hours = (units["exit_h"] - units["entry_h"]).groupby(units[name]).sum()
    level = dict(zip(units["unit"], units[name], strict=True))
    if log.kind == "lives":
        counts = log.lives[log.lives["died"]].groupby(name).size()
        hours = (log.lives["duration_h"] - log.lives["entry_h"]).groupby(log.lives[name]).sum()
    else:
        counts = log.failures["unit"].map(level).value_counts()
    hours = hours[hours > 0]
    counts = counts.reindex(hours.index, fill_value=0)
    if len(hours) < 2 or not counts.any():
        return []
    each = [log_count(log, "node_hours", one, "h", "of the units of this group") for one in hours.to_list()]
    return _rows(log, f"by_{name}", name, counts, each, rate)


def _rows(
    log: FailureLog, table: str, what: str, failures: pd.Series, hours: Sequence[Traced], rate: Rate
) -> list[Record]:
    """Each group by itself and drawn towards the others, most failures first.

    A burst of the fleet falls on its groups by their shares: of an excess v - 1 a share s keeps s * (v - 1),
    taken at the share of the group that a failure is of on average.
    """
    counts = np.asarray(failures, dtype=float)
    share = float(np.sum(np.square(counts / counts.sum())))
    known = {
        "confidence_fraction": rate.counts["confidence_fraction"],
        "variance_to_mean_ratio": derive(
            group_variance_to_mean_ratio,
            share_fraction=chosen("share_fraction", share, "sum of the squared shares of all groups"),
            fleet_variance_to_mean_ratio=rate.counts["variance_to_mean_ratio"],
        ),
    }
    found = group_rates(
        failures=counts,
        node_h=np.array([float(one.value) for one in hours]),
        **{name: float(one.value) for name, one in known.items()},
    )
    drawn = np.asarray(found.pooled.in_1000_node_days()[0])
    every, rows = log_count(log, f"{table}.failures", int(counts.sum())), []
    for i in np.argsort(-counts, kind="stable")[:MOST_GROUPS]:
        group = str(failures.index[i])
        held = log_count(log, "failures", int(counts[i]), note=f"{table}: {group}")
        inputs = {"failures": held, "node_h": hours[i], **known}
        rows.append(
            {
                what: group,
                "failures": held,
                "of_all_fraction": ratio(held, every),
                **rate_columns(**inputs),
                "drawn_together": reported(group_rates, "drawn_together", float(drawn[i]), **inputs),
                "own_weight_fraction": reported(
                    group_rates, "own_weight_fraction", float(found.own_weight_fraction[i]), **inputs
                ),
            }
        )
    return rows


def _published(rate: Rate, catalogue: Catalogue) -> list[Record]:
    """Fleets that published a rate, the lowest first; each counts what it counts."""
    names = [name for name in catalogue.names("reliability", "failure_rate") if name != "prior"]
    facts = {name: catalogue.fact(f"reliability.{name}.failure_rate") for name in names}
    return [
        {
            "fleet": name,
            "per_1000_node_d": in_papers_unit(fact),
            "low": None if fact.low is None else in_papers_unit(end_of(fact, "low")),
            "high": None if fact.high is None else in_papers_unit(end_of(fact, "high")),
            "counts": fact.boundary.get("failures", ""),
            "accelerators_per_node": catalogue.fact(f"reliability.{name}.accelerators_per_node"),
            "this_log_to_it_ratio": ratio(rate.value, fact),
        }
        for name, fact in sorted(facts.items(), key=lambda item: float(item[1].value))
    ]
