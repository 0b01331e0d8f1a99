"""What really happened, month by month: a table of one's own, rows of FOCUS, and monitoring.

A table of one's own has `month, measure, of, value`: the value with its unit, the month as 2027-01. Of FOCUS
the cost of each month is read: `BilledCost` by `ChargePeriodStart`, in the currency that it names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from planner.inputs.catalogue import Catalogue
from planner.inputs.files import csv_rows, read_limited
from planner.inputs.metering.names import sku_of_driver
from planner.inputs.telemetry import TIMED_FROM_S, Telemetry, read_telemetry, seen_node_h
from planner.inputs.telemetry.reading import EXPECTED
from planner.trace.errors import InputError
from planner.trace.units import parse_quantity
from reliability.logs.shapes import XIDS

# Measure -> the unit that it is kept in, and what `of` names.
MEASURES: Mapping[str, tuple[str, str]] = {
    "nodes": ("count", "a SKU at a site, such as h100-8/oregon"),
    "used_fraction": ("1", "a SKU at a site, such as h100-8/oregon"),
    "energy": ("kWh", "nothing: all sites, at the meters"),
    "power": ("kW", "nothing: the mean of the month, at the meters"),
    "failures": ("count", "nothing: nodes that failed, of the fleet"),
    "demand": ("1/s", "a service: its peak"),
    "carbon": ("kgCO2e", "nothing"),
    "cost": ("", "nothing: what was paid, in the currency of the plan"),
    "done_fraction": ("1", "a training job: how far it is"),
}
HEADER = ["month", "measure", "of", "value"]
FOCUS = ("BilledCost", "ChargePeriodStart", "BillingCurrency")
MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
MOST_SAID = 40  # problems


@dataclass(frozen=True, slots=True)
class Actual:
    """One thing that happened: in the unit of its measure; `where` says which file says so."""

    month: str
    measure: str
    of: str
    value: float
    where: str
    node_h: float | None = None  # that were watched for it; None: all of the month


def read_actuals(
    paths: Sequence[Path], catalogue: Catalogue, currency: str, *, interval_s: float | None = None
) -> list[Actual]:
    """What files say of what happened.

    Raises:
        InputError: every problem of a file, or the money is in another currency than the plan.
    """
    found: dict[tuple[str, str, str], Actual] = {}
    for path in paths:
        for one in _read(path, catalogue, currency, interval_s):
            key = one.month, one.measure, one.of
            if key in found and found[key].value != one.value:
                raise InputError(
                    f"{one.where}: {one.measure} of {one.of or 'all'} in {one.month} is {one.value:g} "
                    f"{MEASURES[one.measure][0].replace('count', '')}".rstrip()
                    + ", and "
                    f"{found[key].where} says {found[key].value:g}: keep one, or write their sum as one"
                )
            found[key] = one
    if not found:
        raise InputError(f"nothing happened in these files: write a table of {','.join(HEADER)}")
    return sorted(found.values(), key=lambda one: (one.month, list(MEASURES).index(one.measure), one.of))


def _read(path: Path, catalogue: Catalogue, currency: str, interval_s: float | None) -> Iterable[Actual]:
    try:
        head = read_limited(path)[:100_000]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    first = head.decode("utf-8", errors="replace").lstrip("\ufeff").partition("\n")[0].strip()
    header = [cell.strip().strip('"') for cell in first[:20_000].split(",")]
    if [cell.lower() for cell in header] == HEADER:
        return _own_rows(path)
    if set(FOCUS) <= set(header):
        return _focus_rows(path, currency)
    try:
        found = read_telemetry([path], interval_s=interval_s)
    except InputError as error:
        if not str(error).endswith(EXPECTED):
            raise
        raise InputError(
            f"{path.name}: begins with '{first[:80]}': it is no table with the header {','.join(HEADER)}, "
            f"has no {', '.join(FOCUS)} as rows of FOCUS have, and {EXPECTED}"
        ) from None
    return _monitored(found, path.name, catalogue)


def _lines(path: Path) -> list[str]:
    try:
        return read_limited(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path.name}: is no UTF-8 text") from None


def _own_rows(path: Path) -> list[Actual]:
    """Rows of a table of one's own.

    Raises:
        InputError: every row that is wrong.
    """
    found, problems = list[Actual](), list[str]()
    for line, row in csv_rows(path.name, _lines(path)):
        if line == 1 or not any(cell.strip() for cell in row):
            continue
        try:
            found.append(_own_row(row, f"{path.name}:{line}"))
        except ValueError as error:
            problems.append(f"{path.name}:{line}: {error}")
    if problems:
        more = [f"and {len(problems) - MOST_SAID} more problems"] if len(problems) > MOST_SAID else []
        raise InputError("\n".join([*problems[:MOST_SAID], *more]))
    return found


def _own_row(row: Sequence[str], where: str) -> Actual:
    if len(row) != len(HEADER):
        raise ValueError(f"has {len(row)} cells, not {len(HEADER)}: {','.join(HEADER)}")
    month, measure, of, said = (cell.strip() for cell in row)
    if not MONTH.fullmatch(month):
        raise ValueError(f"'{month[:40]}' is no month: write for example 2027-01")
    if measure not in MEASURES:
        raise ValueError(f"'{measure[:40]}' is no measure: write one of {', '.join(MEASURES)}")
    unit, names = MEASURES[measure]
    if bool(of) == names.startswith("nothing"):
        raise ValueError(f"{measure} is of {names}")
    value = parse_quantity(said, unit) if unit not in ("", "count", "1") else _plain(said, measure)
    if not math.isfinite(value) or not 0 <= value < 1e18:
        raise ValueError(f"{measure} is a number from 0, got '{said[:40]}'")
    if measure.endswith("_fraction") and value > 1:
        raise ValueError(f"{measure} is a share from 0 to 1, or in percent as '71 %', got '{said[:40]}'")
    return Actual(month, measure, of, value, where)


def _plain(said: str, measure: str) -> float:
    text = said.strip()
    if text.endswith("%") and measure.endswith("_fraction"):
        return float(text[:-1]) / 100.0
    if not re.fullmatch(r"[0-9.]+([eE][-+]?[0-9]+)?", text):
        money = ": write the amount alone, in the currency of the plan" if measure == "cost" else ""
        raise ValueError(
            f"'{said[:40]}' is no number{money or ': write one from 0, without commas or a unit'}"
        )
    return float(text)


def _focus_rows(path: Path, currency: str) -> list[Actual]:
    """Cost by month of rows of FOCUS.

    Raises:
        InputError: a cost is no number, or in another currency.
    """
    sums: dict[str, float] = {}
    rows = csv_rows(path.name, _lines(path))
    _, header = next(rows, (1, list[str]()))
    if missing := [name for name in FOCUS if name not in header]:
        raise InputError(f"{path.name}:1: lacks {', '.join(missing)}: rows of FOCUS have them")
    at = [header.index(name) for name in FOCUS]
    for line, row in rows:
        if not row:
            continue
        if len(row) != len(header):
            raise InputError(f"{path.name}:{line}: has {len(row)} cells, and the header {len(header)}")
        cost, start, code = (row[column] for column in at)
        if code != currency:
            raise InputError(f"{path.name}:{line}: is in {code[:20]}, and the plan in {currency}")
        try:
            value = float(cost)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or abs(value) > 1e18 or not MONTH.fullmatch(start[:7]):
            raise InputError(
                f"{path.name}:{line}: BilledCost '{cost[:40]}' of '{start[:40]}' is no cost of a day"
            )
        sums[start[:7]] = sums.get(start[:7], 0.0) + value
    return [Actual(month, "cost", "", value, path.name) for month, value in sums.items()]


def _monitored(found: Telemetry, where: str, catalogue: Catalogue) -> list[Actual]:
    """Nodes and use by SKU of each month that was watched; Xids of hardware where there were any counters."""
    frame = found.frame
    if frame.empty:
        raise InputError(f"{where}: holds no samples of nodes: give jobs of Slurm to `everfleet telemetry`")
    if frame["time_s"].max() < TIMED_FROM_S:
        raise InputError(
            f"{where}: holds scrapes without times, which belong to no month: take query_range of Prometheus"
        )
    frame = frame.assign(
        month=[f"{datetime.fromtimestamp(one, UTC):%Y-%m}" for one in frame["time_s"]],
        sku=[sku_of_driver(model, catalogue) or "" for model in frame["model"]],
    )
    actuals = []
    for (month, sku), held in frame[frame["sku"] != ""].groupby(["month", "sku"]):
        actuals.append(Actual(str(month), "nodes", str(sku), float(held["node"].nunique()), where))
        busy = held[held["quantity"] == "busy_fraction"]
        if not busy.empty:
            used = busy.groupby(["node", "time_s"])["value"].max() > 0
            actuals.append(Actual(str(month), "used_fraction", str(sku), float(used.mean()), where))
    xids = frame[frame["quantity"] == "xid"].sort_values(["node", "device", "time_s"])
    before = xids.groupby(["node", "device"])["value"].shift()
    new = before.notna() & (xids["value"] != before)
    hardware = new & xids["value"].map(lambda value: XIDS.get(f"xid{int(value)}") == "hardware")
    for month, held in xids.groupby("month"):
        hours, _ = seen_node_h(held)
        count = float(hardware[held.index].sum())
        actuals.append(Actual(str(month), "failures", "", count, where, sum(hours.values())))
    return actuals
