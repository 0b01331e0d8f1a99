"""Cells of rates, sizes and forecasts: worked out again from the counts that the document holds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from planner.answers.failures.cell import IN_1000_NODE_DAYS_H, Cell, in_papers_unit
from planner.answers.failures.rates import prior_of
from planner.inputs.catalogue import load_catalogue
from planner.trace.columns import Column
from planner.trace.numbers import count_text
from planner.trace.quantities import Fact, Traced, chosen, convert, derive, derive_parts, ratio
from reliability.checkpoint import optimal_interval_h
from reliability.ettr import ettr_fraction
from reliability.fleet import job_mttf_h, nodes_of_job, rate_interval, updated_rate
from reliability.forecast import forecast_count, poisson_forecast
from reliability.groups import group_rates

_ENDS = {"per_1000_node_d": "rate_per_node_h", "low": "low_per_node_h", "high": "high_per_node_h"}
_UP = "hours in service without those that nodes were away"


def group_variance_to_mean_ratio(*, share_fraction: Column, fleet_variance_to_mean_ratio: Column) -> Column:
    """Variance to mean of a group's counts, where bursts fall on groups by their shares.

    v_group = 1 + s * (v - 1)

    s is the share of the group that a failure is of on average.

    Source: a burst of v failures of the fleet, shared out at random.
    """
    return 1.0 + share_fraction * (fleet_variance_to_mean_ratio - 1.0)


def rate_cell(cell: Cell) -> Traced:
    """The rate by own counts, with a prior, or for hours up."""
    name, end = cell.row["rate"], _ENDS[cell.key]
    if name.startswith("with the prior"):
        return in_papers_unit(_with_prior(cell, name.split("'")[1], end))
    counts = cell.rate_counts()
    if name.endswith("hours up only"):
        counts.pop("node_h")
        if not cell.row["per_1000_node_d"]:
            return cell.reported(rate_interval, cell.key, **counts)
        counts["node_h"] = _hours(cell, cell.document["failures"], _UP)
    return in_papers_unit(derive_parts(rate_interval, **counts)[end])


def cause_cell(cell: Cell) -> Traced:
    """One group of failures: its count, its share, its rate, and the rate drawn towards the others'."""
    row, key = cell.row, cell.key
    failures = cell.counted("failures", row["failures"], note=f"{cell.table}: {next(iter(row.values()))}")
    if key == "failures":
        return failures
    if key == "of_all_fraction":
        return ratio(failures, _of_all(cell))
    counts = _group_counts(cell) | {"failures": failures}
    whole = math.isclose(math.fsum(one["of_all_fraction"] for one in cell.rows), 1.0)
    if key in _ENDS and whole and (cell.table == "causes" or row["failures"]):
        return in_papers_unit(derive_parts(rate_interval, **counts)[_ENDS[key]])
    return cell.reported(group_rates, key, **counts)


def published_cell(cell: Cell) -> Traced:
    """What a fleet published, and this log's rate next to it."""
    catalogue, name = load_catalogue(), f"reliability.{cell.row['fleet']}"
    fact = catalogue.fact(f"{name}.failure_rate")
    if cell.key == "accelerators_per_node":
        return catalogue.fact(f"{name}.accelerators_per_node")
    if cell.key == "this_log_to_it_ratio":
        return ratio(cell.kept("rate"), fact)
    if cell.key in ("low", "high"):
        end = fact.low if cell.key == "low" else fact.high
        note = f"the {cell.key} end of its range. {fact.note}".strip()
        fact = Fact(
            end,
            fact.unit,
            boundary=fact.boundary,
            key=fact.key,
            source=fact.source,
            locator=fact.locator,
            kind=fact.kind,
            note=note,
        )
    return in_papers_unit(fact)


def size_cell(cell: Cell) -> Traced:
    """How often a job of one size stops, and what is left of its hours."""
    kept = ("ettr", "mttf_h", "nodes", "accelerators_per_node")
    accelerators = chosen("accelerators", float(cell.row["accelerators"]), "sizes of the table")
    if cell.key == "accelerators":
        return accelerators
    nodes = derive(nodes_of_job, accelerators=accelerators, accelerators_per_node=cell.kept(*kept))
    end, _, what = cell.key.partition("_")
    if end not in ("low", "high"):
        end, what = "", cell.key
    # Failures are dear: the rate's high end is the low one of time between failures and of ETTR.
    rate = {"": _rate(cell, "rate"), "low": _rate(cell, "high"), "high": _rate(cell, "low")}[end]
    mttf = derive(job_mttf_h, nodes=nodes, failure_rate_per_node_h=rate)
    write, restart = cell.kept("ettr", "write_h"), cell.kept("ettr", "restart_h")
    interval = derive(optimal_interval_h, mttf_h=mttf, write_h=write)
    found: dict[str, Callable[[], Traced]] = {
        "nodes": lambda: nodes,
        "mttf_h": lambda: mttf,
        "interval_min": lambda: convert(interval, "min"),
        "ettr_fraction": lambda: derive(
            ettr_fraction, interval_h=interval, mttf_h=mttf, write_h=write, restart_h=restart
        ),
    }
    return found[what]()


def measured_cell(cell: Cell) -> Traced:
    """What jobs of one size met, next to the model."""
    row, key = cell.row, cell.key
    if key in ("nodes", "jobs", "failures"):
        return cell.here("of the jobs of this size")
    if key == "node_h":
        return cell.here("of the jobs of this size", "h")
    if key.startswith("queue_"):
        return cell.here(
            f"{key.split('_')[1]} wait of the {count_text(row['jobs'])} runs of this size", "min"
        )
    size = cell.counted("nodes", row["nodes"])
    model = derive(job_mttf_h, nodes=size, failure_rate_per_node_h=cell.kept("rate"))
    if key == "model_mttf_h":
        return model
    job_h = cell.counted("job_hours", row["node_h"] / row["nodes"], "h", "node-hours over nodes")
    failures = cell.counted("failures", row["failures"])
    if key.startswith("measured_mttf") or key == "measured_to_model_ratio":
        seen = (job_h / failures).named("mean_h", "Mean time between failures")
        return seen if key == "measured_mttf_h" else ratio(seen, model)
    ends = derive_parts(
        rate_interval,
        failures=failures,
        node_h=job_h,
        confidence_fraction=cell.kept("rate", "confidence_fraction"),
    )
    one = chosen("nodes", 1.0, "the job is the unit", "1")
    end = ends["high_per_node_h" if key == "measured_low_h" else "low_per_node_h"]
    return derive(job_mttf_h, nodes=one, failure_rate_per_node_h=end)


def forecast_cell(cell: Cell) -> Traced:
    """What the next period of a length may bring."""
    key, name = cell.key, f"forecast.{cell.row['next']}"
    if key == "past_periods":
        return cell.here(f"whole periods of a {cell.row['next']}, back from the end of the log")
    if key == "node_h":
        return cell.here(f"of the last {cell.row['next']}", "h")
    rule = poisson_forecast if key.startswith("poisson_") else forecast_count
    return cell.reported(rule, key.removeprefix("poisson_"), **cell.inputs_of(name))


def period_cell(cell: Cell) -> Traced:
    """One past period."""
    if cell.key == "per_1000_node_d":
        return in_papers_unit(cell.rate_of(cell.row["failures"], cell.row["node_h"], "of this period"))
    return _period(cell)


def next_period_cell(cell: Cell) -> Traced:
    """The period after those of the chart, forecast from them."""
    if cell.key in ("from_day", "length_d"):
        return _period(cell)
    past = cell.table_of("ahead", "periods")
    hours = np.array([row["node_h"] for row in past])
    found = derive_parts(
        forecast_count,
        counts=chosen("counts", np.array([float(row["failures"]) for row in past]), "of the past periods"),
        exposure=chosen("exposure", hours, "node-hours of the past periods"),
        next_exposure=cell.counted("last_period.node_hours", hours[-1]),
        confidence_fraction=cell.kept("rate", "confidence_fraction"),
    )
    return found[cell.key]


def hazard_cell(cell: Cell) -> Traced:
    """Failures over unit-hours in a stretch of age."""
    if cell.key not in _ENDS:
        days = cell.key.endswith("_d")
        note = "stretches of age that hold about as many failures each"
        return cell.here(note if days else "units that failed in this stretch of age", "d" if days else "1")
    counts = {
        "failures": cell.counted("failures", cell.row["failed"]),
        "confidence_fraction": cell.kept("rate", "confidence_fraction"),
    }
    if not cell.row["failed"]:
        return cell.reported(rate_interval, cell.key, **counts)
    hours = _hours(cell, cell.row["failed"], "that units lived in this stretch of age")
    return in_papers_unit(derive_parts(rate_interval, node_h=hours, **counts)[_ENDS[cell.key]])


def _of_all(cell: Cell) -> Fact:
    """Failures of all groups, also of those that the table has no room for."""
    first = cell.rows[0]
    return cell.counted(f"{cell.table}.failures", round(first["failures"] / first["of_all_fraction"]))


def _group_counts(cell: Cell) -> dict[str, Traced]:
    """What a group's rate is worked out from, its failures apart."""
    counts = cell.rate_counts()
    share = math.fsum(one["of_all_fraction"] ** 2 for one in cell.rows)
    counts["variance_to_mean_ratio"] = derive(
        group_variance_to_mean_ratio,
        share_fraction=chosen("share_fraction", share, "sum of the squared shares of all groups"),
        fleet_variance_to_mean_ratio=counts["variance_to_mean_ratio"],
    )
    if cell.table != "causes":
        counts.pop("node_h")
        if cell.row["failures"]:
            counts["node_h"] = _hours(cell, cell.row["failures"], "of the units of this group")
    return counts


def _period(cell: Cell) -> Traced:
    what = {
        "from_day": ("from the start of the log", "d"),
        "length_d": ("of a period", "d"),
        "failures": ("in this period", "1"),
        "node_h": ("in this period", "h"),
    }
    return cell.here(*what[cell.key])


def _rate(cell: Cell, end: str) -> Traced:
    """The log's rate or an end of its interval; that with the prior where no failure was seen."""
    if cell.document["failures"]:
        return derive_parts(rate_interval, **cell.rate_counts())[f"{end}_per_node_h"]
    name = next(row["rate"] for row in cell.table_of("rate", "rate") if row["rate"].startswith("with"))
    return _with_prior(cell, name.split("'")[1], f"{end}_per_node_h")


def _with_prior(cell: Cell, name: str, end: str) -> Traced:
    """The rate when what is believed of other fleets is taken in."""
    prior = prior_of(name, load_catalogue())
    assert prior is not None
    found = derive_parts(
        updated_rate, prior_shape=prior["shape"], prior_node_h=prior["node_h"], **cell.rate_counts()
    )
    return found["mean_per_node_h" if end == "rate_per_node_h" else end]


def _hours(cell: Cell, failures: float, what: str) -> Traced:
    """Hours behind the rate of a row, which tells them by its failures."""
    hours = IN_1000_NODE_DAYS_H * failures / cell.row["per_1000_node_d"]
    return cell.counted("node_hours", hours, "h", what)
