"""Adapters of demand: hours that work asks for, growth, feeding of trainers, and where tables lie."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

import numpy as np

from planner.performance.demand import agent_experiments_per_d, growth_ratio, lognormal_mean_h, pass_h
from planner.performance.ingestion import drives_for_reads, hot_tier_gb, preprocessing_workers
from planner.program.table_placement import Parts, fewest_devices, least_largest_cost
from planner.validation.aliases import constant
from planner.validation.datasets import named_path
from planner.validation.forms import Book, NotUnderstood

DEMAND, FEEDING, TABLES = "demand", "data ingestion", "embedding tables"

_DAY = 24.0
_HIGH_QUANTILE = 0.99

BOOK = Book({"p50_gpu_d": ("median_h", _DAY), "p99_gpu_d": ("high_h", _DAY)})


@BOOK.takes("demand_hours", unit="h", subject=DEMAND, only={"family": ("lognormal",), "measure": ("mean",)})
def mean_job_h(*, median_h: float, high_h: float) -> float:
    """Accelerator time of a job on average, from two quantiles of a log-normal law."""
    return float(lognormal_mean_h(median_h=median_h, high_h=high_h, high_fraction=_HIGH_QUANTILE))


@BOOK.takes("demand_hours", unit="h", subject=DEMAND)
def evaluation_h(*, items: float, tokens_per_item: float, tokens_per_s: float) -> float:
    """Accelerator time to go through all items."""
    return float(pass_h(items=items, tokens_per_item=tokens_per_item, tokens_per_s=tokens_per_s))


@BOOK.takes("agent_throughput", unit="1/d", subject=DEMAND)
def agents(*, workers: float, experiments_per_d: float, mode: str) -> float:
    """Experiments of all workers."""
    if mode not in ("asynchronous", "synchronous"):
        raise NotUnderstood(f"mode must be asynchronous or synchronous, got '{mode}'")
    return float(
        agent_experiments_per_d(
            workers=workers, experiments_per_d=experiments_per_d, asynchronous=mode == "asynchronous"
        )
    )


@BOOK.takes("demand_growth", unit="1", subject=DEMAND)
def yearly_growth(*, growth_ratio: float, period_y: float) -> float:
    """Growth in one year."""
    return _grown(growth_ratio, period_y, 1.0)


@BOOK.takes("demand_growth", unit="GB/s", subject=DEMAND)
def grown_rate(*, growth_ratio: float, period_y: float, baseline_gb_per_s: float, horizon_y: float) -> float:
    """The baseline after the horizon."""
    return baseline_gb_per_s * _grown(growth_ratio, period_y, horizon_y)


def _grown(ratio: float, period_y: float, horizon_y: float) -> float:
    return float(growth_ratio(ratio=ratio, period_y=period_y, horizon_y=horizon_y))


@BOOK.takes("ingestion", unit="1", subject=FEEDING, only={"measure": ("workers",)})
def workers(*, trainers: float, workers_per_trainer: float | None = None) -> float:
    """Preprocessing workers of some trainer nodes; how many each needs may be left to the catalogue."""
    each = workers_per_trainer
    if each is None:
        each = constant("ingestion.workers_per_trainer", "workers")
    return float(preprocessing_workers(trainers=trainers, workers_per_trainer=each))


@BOOK.takes("ingestion", unit="1", subject=FEEDING, only={"measure": ("drives",)})
def drives(*, capacity_drives: float, iops_demand_ratio: float) -> float:
    """Drives that hold the data and serve its reads."""
    return float(drives_for_reads(capacity_drives=capacity_drives, iops_demand_ratio=iops_demand_ratio))


@BOOK.takes("ingestion", unit="GB", subject=FEEDING, only={"measure": ("cache_gb",)})
def cache(*, stored_gb: float, hot_fraction: float, hot_reads_fraction: float, hit_fraction: float) -> float:
    """Size of a cache for a wanted share of hits."""
    return float(
        hot_tier_gb(
            stored_gb=stored_gb,
            hot_fraction=hot_fraction,
            hot_reads_fraction=hot_reads_fraction,
            hit_fraction=hit_fraction,
        )
    )


@BOOK.takes("reuse_fraction", unit="1", subject=TABLES)
def reuse_fraction(*, histogram: str, year: int, dataset: str, reuse_above: float) -> float:
    """Share of the accesses that go to rows which are read more often than so many times."""
    bins = [row for row in _table(histogram) if row["year"] == str(year) and row["dataset"] == dataset]
    if not bins:
        raise NotUnderstood(f"{histogram} has no '{dataset}' of {year}")
    edges = np.array([float(row["reuse_gt"]) for row in bins])
    if reuse_above not in edges:
        known = ", ".join(f"{edge:g}" for edge in edges)
        raise NotUnderstood(f"reuse_above is an edge of the histogram ({known}), got {reuse_above:g}")
    accesses = np.array([float(row["share_of_accesses"]) for row in bins])
    return float(accesses[edges >= reuse_above].sum() / accesses.sum())


@BOOK.takes("table_placement", unit="GB", subject=TABLES, only={"measure": ("table_gb",)})
def table_gb(*, tables: str, model: str) -> float:
    """Bytes of all tables."""
    return float(_sizes_gb(_of_model(tables, model)).sum())


@BOOK.takes("table_placement", unit="1", subject=TABLES, only={"measure": ("fewest_devices",)})
def devices_of_tables(
    *,
    tables: str,
    model: str,
    memory_gb: float,
    cost: str | None = None,
    split_columns: int | None = None,
    split_above_gb: float | None = None,
    split_cost_at_least: float | None = None,
) -> float:
    """Fewest devices that hold every table or part whole."""
    parts = _parts(tables, model, cost, split_columns, split_above_gb, split_cost_at_least)
    return float(fewest_devices(parts, memory_gb))


@BOOK.takes("table_placement", unit="1", subject=TABLES, only={"measure": ("largest_device_cost",)})
def fullest_device(
    *,
    tables: str,
    model: str,
    memory_gb: float,
    devices: int,
    cost: str,
    split_columns: int | None = None,
    split_above_gb: float | None = None,
    split_cost_at_least: float | None = None,
) -> float:
    """Least possible sum of a cost on the device that has most of it."""
    parts = _parts(tables, model, cost, split_columns, split_above_gb, split_cost_at_least)
    return least_largest_cost(parts, devices, memory_gb)


def _parts(
    tables: str,
    model: str,
    cost: str | None,
    split_columns: int | None,
    split_above_gb: float | None,
    split_cost_at_least: float | None,
) -> Parts:
    """Tables whole, or those above a size or from a cost on in so many parts."""
    rows = _of_model(tables, model)
    size_gb = _sizes_gb(rows)
    if (split_columns is None) != (split_above_gb is None and split_cost_at_least is None):
        raise NotUnderstood("split_columns goes with split_above_gb or split_cost_at_least, and they with it")
    if split_cost_at_least is not None and cost is None:
        raise NotUnderstood("split_cost_at_least needs the cost that it is about")
    work = np.zeros(len(rows)) if cost is None else _column(rows, cost, tables)
    cut = np.zeros(len(rows), dtype=bool)
    if split_above_gb is not None:
        cut |= size_gb > split_above_gb
    if split_cost_at_least is not None:
        cut |= work >= split_cost_at_least
    return Parts(size_gb, work, np.where(cut, split_columns or 1, 1))


def _of_model(tables: str, model: str) -> list[dict[str, str]]:
    rows = [row for row in _table(tables) if row["model"] == model]
    if not rows:
        raise NotUnderstood(f"{tables} has no model '{model}'")
    return rows


def _sizes_gb(rows: Sequence[Mapping[str, str]]) -> np.ndarray:
    return np.array(
        [float(row["rows"]) * float(row["dim"]) * float(row["bytes_per_param"]) / 1e9 for row in rows]
    )


def _column(rows: Sequence[Mapping[str, str]], name: str, tables: str) -> np.ndarray:
    if name not in rows[0]:
        raise NotUnderstood(f"{tables} has no column '{name}': it has {', '.join(rows[0])}")
    return np.array([float(row[name]) for row in rows])


def _table(name: str) -> list[dict[str, str]]:
    with named_path(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
