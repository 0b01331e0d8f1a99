"""Adapters of reliability on real records: lifetimes, outages, repairs, and a fleet played node by node."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from planner.validation.aliases import alias_of
from planner.validation.datasets import dataset_path
from planner.validation.forms import Book, NotUnderstood, Spellings
from planner.validation.stated import StatedRepairs, StatedStops
from reliability.cox import fit_cox
from reliability.fitting import (
    Fit,
    fit_exponential,
    fit_generalised_gamma,
    fit_log_logistic,
    fit_log_normal,
    fit_weibull,
)
from reliability.fleet import failure_rate_per_node_h
from reliability.fleet_setting import FleetNodes, NodeFailures, RepairShop, StopHours
from reliability.fleet_simulation import simulate_fleet
from reliability.lemons import worst_nodes_fraction
from reliability.logs import FailureLog, joined_outages, propose_mapping, read_log, read_mapping
from reliability.outages import down_history, nodes_down_quantile
from reliability.restart import retried_restart_h
from reliability.survival import kaplan_meier

LIVES, OUTAGES, PLAYED = "lifetimes of hardware", "outages and repair", "MTTF and ETTR"

_MINUTE, _DAY, _YEAR = 1 / 60, 24.0, 8760.0  # Titan's lives count years of 365 days
_REPLICAS = 10

SPELLINGS: Spellings = {
    "years": ("age_h", _YEAR),
    "days": ("period_h", _DAY),
    "failures_per_server_day": ("rate_per_h", 1 / _DAY),
    "recovery_min": ("recovery_h", _MINUTE),
    "host_selection_min": ("selection_h", _MINUTE),
    "preempt_wait_min": ("preempt_h", _MINUTE),
    "auto_repair_min": ("automatic_h", _MINUTE),
    "manual_repair_min": ("manual_h", _MINUTE),
    "job_days": ("job_h", _DAY),
    "servers": ("job_nodes", 1.0),
    "working_pool": ("working_nodes", 1.0),
    "spare_pool": ("spare_nodes", 1.0),
    "p_auto_to_manual": ("manual_fraction", 1.0),
    "auto_repair_fail": ("automatic_fails_fraction", 1.0),
    "manual_repair_fail": ("manual_fails_fraction", 1.0),
    "from": ("first_day", 1.0),
    "to": ("last_day", 1.0),
    "nodes": ("servers", 1.0),
}

BOOK = Book(SPELLINGS)


FAMILIES: dict[str, Callable[..., Fit[Any]]] = {
    "exponential": fit_exponential,
    "weibull": fit_weibull,
    "lognormal": fit_log_normal,
    "loglogistic": fit_log_logistic,
    "generalisedgamma": fit_generalised_gamma,
    "generalizedgamma": fit_generalised_gamma,
    "gengamma": fit_generalised_gamma,
}

# Lives: Titan's GPUs


@BOOK.takes("rows", unit="1", subject=LIVES)
def rows(*, batch: str = "any") -> float:
    """Lives on record."""
    return float(len(_lives(batch)))


@BOOK.takes("dead", unit="1", subject=LIVES)
def dead(*, batch: str = "any") -> float:
    """Lives that ended in a failure."""
    return float(_lives(batch)["died"].sum())


@BOOK.takes("known_alive", unit="1", subject=LIVES)
def known_alive(*, batch: str = "any") -> float:
    """GPUs that were still in service at the end."""
    return float((_lives(batch)["out"].astype(str).str.upper() == "FALSE").sum())


@BOOK.takes("with_any_event", unit="1", subject=LIVES)
def with_any_event(*, batch: str = "any") -> float:
    """GPUs that had an error of either kind, dead or not."""
    lives = _lives(batch)
    return float(((lives["dbe"].astype(float) > 0) | (lives["otb"].astype(float) > 0)).sum())


@BOOK.takes("with_more_than_one_event", unit="1", subject=LIVES)
def with_more_than_one_event(*, batch: str = "any") -> float:
    """GPUs that had more than one error, of either kind together."""
    lives = _lives(batch)
    return float((lives["dbe"].astype(float) + lives["otb"].astype(float) > 1).sum())


@BOOK.takes("best_aic_of", unit="1", subject=LIVES)
def best_aic_of(*, candidates: Any, batch: str = "any") -> float:
    """Place in the list, from 0, of the family that loses least information."""
    names = candidates if isinstance(candidates, list) else []
    known = {name: FAMILIES.get(re.sub("[^a-z]", "", str(name).lower())) for name in names}
    if not names or None in known.values():
        wrong = [str(name) for name, fit in known.items() if fit is None] or [str(candidates)]
        raise NotUnderstood(f"no family {', '.join(wrong)[:60]}: candidates are of {', '.join(FAMILIES)}")
    fits = [fit(**_columns(batch)) for fit in known.values() if fit is not None]
    return float(np.argmin([fit.aic for fit in fits]))


@BOOK.takes("exposure_years", unit="y", subject=LIVES)
def exposure_y(*, batch: str = "any") -> dict[str, float]:
    """Time in service, all units together."""
    return _years(float(_lives(batch)["duration_h"].sum()))


@BOOK.takes("exponential_mtbf", unit="y", subject=LIVES)
def exponential_mttf(*, batch: str = "any") -> dict[str, float]:
    """Mean life at a constant rate."""
    return _years(float(fit_exponential(**_columns(batch)).model.mean_h))


@BOOK.takes("cox_hazard_ratio", unit="1", subject=LIVES, only={"ties": ("efron",)})
def cox_hazard_ratio(*, covariates: Any, level: str, batch: str = "any") -> float:
    """Hazard of a level over that of the first level, all covariates as categories."""
    names = covariates if isinstance(covariates, list) else []
    name = next((one for one in names if level.startswith(str(one))), None)
    if name is None:
        raise NotUnderstood(f"the level '{level}' is of none of the covariates {covariates}")
    ratios = _ratios(tuple(map(str, names)), batch)
    wanted = f"{name}={level.removeprefix(name).lstrip('=')}"
    if wanted not in ratios:
        raise NotUnderstood(f"no level '{level}'; there are {', '.join(ratios)}")
    return ratios[wanted]


@BOOK.takes("km_survival", unit="1", subject=LIVES)
def km_survival(
    *, age_h: float, batch: str = "any", cage: int | None = None, node: int | None = None
) -> float:
    """Share alive at an age, without a model; of the place in the machine where one is given."""
    return float(kaplan_meier(**_columns(batch, cage=cage, node=node)).survival_at(time_h=age_h))


@BOOK.takes("weibull_fit", unit="1", subject=LIVES, only={"time": ("years",)})
def weibull_fit(*, batch: str = "any", estimate: str = "shape") -> dict[str, float]:
    """Shape or scale of the Weibull of highest likelihood, or the logarithm of that, of lives in years."""
    fit = fit_weibull(**_columns(batch))
    if estimate.replace("-", " ").replace("_", " ") == "log likelihood":
        return {"1": float(fit.log_likelihood + fit.failures * np.log(_YEAR))}
    return _weibull(fit.model, estimate)


@BOOK.takes("weibull_fit_weighted", unit="1", subject=LIVES)
def weibull_fit_weighted(*, data: str, estimate: str) -> float:
    """The same from units that are counted by age."""
    if not data.startswith("1588 units"):
        raise NotUnderstood(f"no such data here: '{data[:40]}'")
    table = pd.read_csv(dataset_path("reliasoft"))
    model = fit_weibull(duration_h=table["age"], observed=table["failed"], weight=table["units"]).model
    answers = {"scale": model.scale_h, "shape": model.shape}
    if estimate not in answers:
        raise NotUnderstood(f"estimate must be scale or shape, got '{estimate}'")
    return answers[estimate]


# Outages: InfiniteHBD's servers, and repairs: Los Alamos


@BOOK.takes("fault_rate", unit="1/h", subject=OUTAGES)
def fault_rate(*, servers: float, period_h: float, classes: str = "all") -> float:
    """Starts of faults for each server and hour that was watched."""
    found = _outages(classes)
    return float(failure_rate_per_node_h(failures=float(len(found)), nodes=servers, period_h=period_h))


@BOOK.takes("mean_outage", unit="h", subject=OUTAGES)
def mean_outage_h(*, classes: str = "all") -> float:
    """Mean time out of service."""
    found = _outages(classes)
    return float((found["end_h"] - found["start_h"]).mean())


@BOOK.takes("median_outage", unit="h", subject=OUTAGES)
def median_outage_h(*, classes: str = "all") -> float:
    """Time out of service that half of the outages exceed."""
    found = _outages(classes)
    return float((found["end_h"] - found["start_h"]).median())


@BOOK.takes("unavailability", unit="1", subject=OUTAGES)
def unavailability(*, servers: float, period_h: float) -> float:
    """Share of server-hours out of service."""
    found = _outages("all")
    return float((found["end_h"] - found["start_h"]).sum()) / (servers * period_h)


@BOOK.takes("share_of_faults_on_worst_nodes", unit="1", subject=OUTAGES)
def faults_on_worst_nodes(*, servers: int, worst: int, classes: str = "all") -> float:
    """Share of the faults on record that fell on the nodes which had most."""
    counts = _outages(classes)["unit"].value_counts().to_numpy(dtype=float)
    if counts.size > servers:
        raise NotUnderstood(f"{counts.size} nodes have faults on record, more than the {servers} stated")
    return worst_nodes_fraction(failures=np.pad(counts, (0, servers - counts.size)), worst=worst)


@BOOK.takes("concurrent_down_nodes", unit="1", subject=OUTAGES)
def concurrent_down_nodes(*, percentile: float) -> float:
    """Nodes down at once, not exceeded for that part of the time on record."""
    log = _log("infinitehbd")
    down = joined_outages(log.events.dropna(subset=["end_h"]))
    history = down_history(
        start_h=down["start_h"].to_numpy(float),
        end_h=down["end_h"].to_numpy(float),
        window_end_h=log.window_h,
    )
    return nodes_down_quantile(history, time_fraction=percentile / 100.0)


@BOOK.takes("mean_repair", unit="h", subject=OUTAGES)
def mean_repair_h(*, cause: str = "all") -> float:
    """Mean time to repair on record."""
    return float(_repairs_h(cause).mean())


@BOOK.takes("median_repair", unit="h", subject=OUTAGES)
def median_repair_h(*, cause: str = "all") -> float:
    """Repair time that half of the repairs exceed."""
    return float(_repairs_h(cause).median())


@BOOK.takes("weibull_shape_tbf", unit="1", subject=OUTAGES)
def weibull_shape_of_gaps(
    *,
    system_in_file: int,
    node_zero_based: int | None = None,
    first_day: str,
    last_day: str,
    drop_zero_gaps: bool = True,
) -> float:
    """Weibull shape of the times between failures: of one node, or of all of the system."""
    log = _log("lanl")
    if log.origin is None:
        raise NotUnderstood("the records carry no dates")
    days = (pd.Timestamp(day, tz="UTC") for day in (first_day, last_day))
    first, last = ((day - log.origin) / pd.Timedelta(hours=1) for day in days)
    unit = log.events["unit"]
    if node_zero_based is None:
        own = log.events[unit.str.startswith(f"{system_in_file}/")]["start_h"].sort_values()
    else:
        own = log.events[unit == f"{system_in_file}/{node_zero_based}"]["start_h"]
    gaps = np.diff(own[own.between(first, last)].to_numpy(dtype=float))
    if gaps.size < 2:
        raise NotUnderstood(f"system {system_in_file} has {gaps.size + 1} failures in that time at most")
    kept = gaps[gaps > 0] if drop_zero_gaps else gaps
    return float(fit_weibull(duration_h=kept, observed=True).model.shape)


# A fleet, played


@BOOK.takes("ettr", unit="1", subject=PLAYED)
def ettr_of_played_fleet(
    *,
    job_nodes: int,
    warm_standbys: int,
    working_nodes: int,
    spare_nodes: int,
    rate_per_h: float,
    bad_fraction: float,
    bad_rate_multiplier: float,
    stops: StatedStops,
    repairs: StatedRepairs,
    job_h: float,
    lost_work_modelled: bool,
    failures_during_restart: bool = False,
) -> float:
    """ETTR of a job with standbys, spares and a repair shop; a weak server has its extra rate on top.

    A recovery that can fail is as long as its attempts take on average, at the rate of the job's own nodes.
    """
    recovery_h = stops.recovery_h
    if lost_work_modelled:
        raise NotUnderstood("lost work needs the interval between checkpoints")
    if failures_during_restart:
        job_rate_per_h = job_nodes * rate_per_h * (1.0 + bad_fraction * bad_rate_multiplier)
        recovery_h = float(retried_restart_h(restart_h=recovery_h, mttf_h=1.0 / job_rate_per_h))
    played = simulate_fleet(
        nodes=FleetNodes(job_nodes, warm_standbys, working_nodes, spare_nodes),
        failures=NodeFailures(
            1.0 / rate_per_h, bad_fraction=bad_fraction, bad_rate_multiplier=1.0 + bad_rate_multiplier
        ),
        repair=RepairShop(
            repairs.automatic_h,
            repairs.manual_h,
            manual_fraction=repairs.manual_fraction,
            automatic_helps_fraction=1.0 - repairs.automatic_fails_fraction,
            manual_helps_fraction=1.0 - repairs.manual_fails_fraction,
        ),
        stops=StopHours(recovery_h, stops.selection_h, stops.preempt_h),
        job_h=job_h,
        replicas=_REPLICAS,
        seed=0,
    )
    return float(played.ettr_fraction.mean())


def _lives(batch: str) -> pd.DataFrame:
    lives = _log("titan").lives
    if batch == "any":
        return lives
    if batch not in set(lives["batch"]):
        raise NotUnderstood(f"no batch '{batch}'; there are {', '.join(sorted(set(lives['batch'])))}")
    return lives[lives["batch"] == batch]


def _columns(batch: str, **place: int | None) -> dict[str, Any]:
    lives = _lives(batch)
    for name, wanted in place.items():
        if wanted is not None:
            places = lives[name].astype(float)
            if not (places == wanted).any():
                there = ", ".join(f"{one:g}" for one in sorted(set(places.dropna())))
                raise NotUnderstood(f"no {name} {wanted}; there are {there}")
            lives = lives[places == wanted]
    return {"duration_h": lives["duration_h"].to_numpy(float), "observed": lives["died"].to_numpy(bool)}


def _years(hours: float) -> dict[str, float]:
    """In years as Titan's publishers count them, and as a number for units that name none."""
    return {"y": hours / _YEAR, "1": hours / _YEAR}


def _weibull(model: Any, estimate: str) -> dict[str, float]:
    if estimate == "scale":
        return _years(float(model.scale_h))
    if estimate != "shape":
        raise NotUnderstood(f"estimate must be scale, shape or log-likelihood, got '{estimate}'")
    return {"1": float(model.shape)}


@cache
def _ratios(names: tuple[str, ...], batch: str) -> dict[str, float]:
    lives = _lives(batch)
    if missing := [name for name in names if name not in lives]:
        raise NotUnderstood(f"the lives have no {', '.join(missing)}")
    columns = {name: lives[name].to_numpy() for name in names}
    fitted = fit_cox(**_columns(batch), covariates=columns, categorical=names)
    return dict(zip(fitted.names, map(float, np.exp(fitted.coefficients)), strict=True))


def _outages(classes: str) -> pd.DataFrame:
    events = _log("infinitehbd").events
    if classes == "all":
        return events
    word = classes.lower().removesuffix(" failure")
    found = events[(events["severity"].str.lower() == word) | (events["cause"] == classes)]
    if found.empty:
        raise NotUnderstood(f"no outage of the class '{classes}'")
    return found


def _repairs_h(cause: str) -> pd.Series:
    events = _log("lanl").events
    known = events[events["end_h"].notna()]
    if cause.lower() != "all":
        named = alias_of("repair_cause", cause) or [cause]
        known = known[known["cause"].str.lower().isin([one.lower() for one in named])]
    if known.empty:
        raise NotUnderstood(f"no repair of the cause '{cause}'")
    return known["end_h"] - known["start_h"]


def _log(name: str) -> FailureLog:
    return _read(name, dataset_path(name))


@cache
def _read(name: str, path: Path) -> FailureLog:
    """The log of a data set, as its publisher counted: no outage is merged with another."""
    mapping_path = path.with_suffix(".toml")
    mapping = read_mapping(mapping_path) if mapping_path.is_file() else propose_mapping(path)
    if name == "titan":
        mapping = replace(mapping, covariates=(*mapping.covariates, "out", "dbe", "otb"))
    return read_log(path, replace(mapping, every_row_counts=True))
