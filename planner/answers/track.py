"""A plan next to what happened: month by month, what has left its band, and how to plan again from here.

The band of energy, power, carbon and cost is the plan's own range (p5 to p95 of the total, as a share of it);
that of demand is the error of its forecast, which grows with the time ahead; that of failures is a Poisson
count over the range of the plan's rate; nodes have none, since the plan orders them. Use has no stated range.
A run goes evenly from its start to the day by which it is done with even chance; it is late below the line to
the day of 95 %, and to be ahead is in the band.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from scipy.special import ndtri, pdtrik

from planner.inputs.actuals import MEASURES, Actual
from planner.inputs.catalogue import Catalogue
from planner.report.columns import aligned, words
from planner.report.standards.periods import Period, periods_of
from planner.trace.currency import currency_of
from planner.trace.errors import InputError
from planner.trace.numbers import SPOKEN, number_text, percent_text
from planner.trace.records import Record

TAIL = 0.05  # of each end of a band
SIDES = float(ndtri(1 - TAIL))
DAYS_PER_QUARTER = 365.25 / 4
RELATIVE = 1e-9  # closer than this two numbers are one


@dataclass(frozen=True, slots=True)
class Expected:
    """What the plan says of a month, and its band; None where it states none."""

    value: float
    low: float | None
    high: float | None


def track_document(plan: Record, actuals: Sequence[Actual], catalogue: Catalogue) -> Record:
    """Each month's figures against the plan.

    Args:
        plan: a plan in the one shape.
        actuals: what happened.
        catalogue: whose error of demand counts where the plan does not show it.

    Raises:
        InputError: nothing of it lies within the plan's horizon, or it names what the plan does not have.
    """
    periods = {month: period for period in periods_of(plan) for month in _months(period)}
    outside = sorted({one.month for one in actuals} - periods.keys())
    inside = [one for one in actuals if one.month in periods]
    if not inside:
        first, last = min(periods), max(periods)
        raise InputError(f"{', '.join(outside[:5])}: the plan is of {first} to {last}")
    rows, unknown = [], []
    for one in inside:
        if one.measure == "done_fraction" and one.of in _named(plan, one) and not _runs(plan, one.of):
            continue  # work that fits in hours has no days of its own
        expected = _expected(plan, one, periods[one.month], catalogue)
        if expected is None:
            known = ", ".join(_named(plan, one)[:12])
            unknown.append(
                f"{one.where}: the plan says nothing of {one.measure} of {one.of or 'all'} in {one.month}"
                + (f": it has {known}" if known else "")
            )
        else:
            rows.append(_row(one, expected, plan))
    if unknown:
        raise InputError("\n".join(unknown))
    left = [row for row in rows if row["within"] == "no"]
    return {
        "title": f"{plan['title']}: what happened",
        "scenario_digest": plan["scenario_digest"],
        "months": sorted({one.month for one in inside}),
        "rows": rows,
        "left": left,
        "outside": outside,
        "headline": list(_sentences(rows, left, outside)),
    }


def track_text(document: Record) -> str:
    """The document as lines for a terminal."""
    lines = [document["title"], "", *aligned(_COLUMNS, document["rows"]), ""]
    return "\n".join([*lines, *document["headline"]])


def _named(plan: Record, one: Actual) -> list[str]:
    """What a plan has of the things that a measure is of."""
    tables = plan["tables"]
    match one.measure:
        case "nodes" | "used_fraction":
            groups = tables["fleet" if one.measure == "nodes" else "use"]
            return list(dict.fromkeys(f"{row['sku']}/{row['site']}" for row in groups))
        case "demand":
            return list(dict.fromkeys(row["service"] for row in tables["services"]))
        case "done_fraction":
            return list(dict.fromkeys(row["job"] for row in (*tables["jobs"], *tables.get("pausable", []))))
        case _:
            return []


def _expected(plan: Record, one: Actual, period: Period, catalogue: Catalogue) -> Expected | None:
    """What the plan says of a measure in a month."""
    share = _days(one.month) / ((period.after - period.first).days)
    match one.measure:
        case "nodes":
            nodes = _of_groups(plan["tables"]["fleet"], one.of, period.label, "in_service_nodes")
            if not nodes and not any(
                one.of in (group, group.partition("/")[0]) for group in _named(plan, one)
            ):
                return None
            return Expected(sum(nodes), sum(nodes), sum(nodes))
        case "used_fraction":
            used = _of_groups(plan["tables"]["use"], one.of, period.label, "used_node_h")
            every = _of_groups(plan["tables"]["use"], one.of, period.label, "node_h")
            return Expected(sum(used) / sum(every), None, None) if sum(every) else None
        case "energy" | "carbon":
            column = {"energy": "energy_kwh", "carbon": "carbon_kgco2e"}[one.measure]
            return _ranged(plan, one.measure, _by_period(plan, period.label, column) * share)
        case "power":
            energy = _by_period(plan, period.label, "energy_kwh")
            return _ranged(plan, "energy", energy / period.hours)
        case "cost":
            return _cost(plan, one.month)
        case "failures":
            return _failures(plan, period, 24.0 * _days(one.month), one.node_h)
        case "done_fraction":
            return _done(plan, one) if _runs(plan, one.of) else None
        case _:
            return _demand(plan, one.of, period, catalogue)


def _of_groups(rows: Sequence[Record], of: str, label: str, column: str) -> list[float]:
    """A column of the node groups that are meant: a SKU at a site, or a SKU wherever it stands."""
    return [
        float(row[column])
        for row in rows
        if row["period"] == label and of in (f"{row['sku']}/{row['site']}", row["sku"])
    ]


def _by_period(plan: Record, label: str, column: str) -> float:
    return sum(float(row[column]) for row in plan["tables"]["by_period"] if row["period"] == label)


def _ranged(plan: Record, total: str, value: float) -> Expected:
    """A part of a total, with the total's range as a share of it."""
    whole = next(row for row in plan["totals"] if row["name"] == total)
    if whole.get("p5") is None or not whole["value"]:
        return Expected(value, None, None)
    ends = sorted(value * whole[end] / whole["value"] for end in ("p5", "p95"))
    return Expected(value, *ends)


def _cost(plan: Record, month: str) -> Expected | None:
    """Cash of a month; what comes in and what goes out are each as unsure as the total."""
    row = next((row for row in plan["tables"]["cash"] if row["month"] == month), None)
    if row is None:
        return None
    currency = currency_of(plan)
    rate = 1.0 if currency is None else currency.usd
    moved = sum(abs(row[f"{part}_usd"]) for part in ("deposits", "deliveries", "bills", "sales")) / rate
    band, paid = _ranged(plan, "cost", moved), row["cash_usd"] / rate
    if band.low is None or band.high is None:
        return Expected(paid, None, None)
    return Expected(paid, paid - (moved - band.low), paid + (band.high - moved))


def _runs(plan: Record, job: str) -> list[Record]:
    """Rows of the runs of a job, which have a first and a last day."""
    return [row for row in plan["tables"]["jobs"] if row["job"] == job and row.get("finish_p50")]


def _done(plan: Record, one: Actual) -> Expected:
    """How far a run is at the end of a month; of several, the one that is least far."""
    end = date.fromisoformat(f"{one.month}-01") + timedelta(days=_days(one.month))

    def done(row: Record, finish: str) -> float:
        start, last = (date.fromisoformat(row[key]) for key in ("start", finish))
        return min(1.0, max(0, (end - start).days) / max(1, (last - start).days))

    rows = _runs(plan, one.of)
    likely, late = (min(done(row, finish) for row in rows) for finish in ("finish_p50", "finish_p95"))
    return Expected(likely, late, 1.0)


def _failures(plan: Record, period: Period, hours: float, watched_h: float | None) -> Expected | None:
    """Failures that the plan's rate gives in a month, from the 5th percentile at its low end to the 95th.

    They are those of all nodes, or of the node-hours that were watched.
    """
    rates = [
        row
        for name in ("facts", "facts_weighed")
        for row in plan["tables"].get(name, [])
        if row["key"].endswith("failure_rate") and row["unit"] in ("1/h", "/h")
    ]
    nodes = sum(row["in_service_nodes"] for row in plan["tables"]["fleet"] if row["period"] == period.label)
    if not rates or not nodes:
        return None
    rate, hours = rates[0], hours * nodes if watched_h is None else watched_h
    low, high = (rate["value"] if rate[end] is None else rate[end] for end in ("low", "high"))
    least = _count_at(low * hours, TAIL)
    return Expected(rate["value"] * hours, least, _count_at(high * hours, 1 - TAIL))


def _count_at(mean: float, share: float) -> float:
    """The least count that a Poisson variable of this mean does not exceed with this chance.

    Source: Johnson, Kemp and Kotz, Univariate Discrete Distributions, 2005, section 4.5.
    """
    found = float(pdtrik(share, mean)) if mean > 0 else 0.0
    return float(max(0, math.ceil(found))) if math.isfinite(found) else 0.0


def _demand(plan: Record, service: str, period: Period, catalogue: Catalogue) -> Expected | None:
    """Peak of a service, within the error of its forecast at that time ahead."""
    rows = [
        row
        for row in plan["tables"]["services"]
        if row["service"] == service and row["period"] == period.label
    ]
    if not rows:
        return None
    every = {row["key"]: row["value"] for name in ("facts", "facts_weighed") for row in plan["tables"][name]}

    def fact(key: str) -> float:
        return float(every.get(key, catalogue.fact(key).value))

    middle = period.first + (period.after - period.first) / 2
    quarters = (middle - date.fromisoformat(plan["horizon"]["start"])).days / DAYS_PER_QUARTER
    sigma = fact("planning.demand_error") * quarters ** fact("planning.demand_error_growth")
    value = float(rows[0]["demand_per_s"])
    return Expected(value, value * math.exp(-SIDES * sigma), value * math.exp(SIDES * sigma))


def _row(one: Actual, expected: Expected, plan: Record) -> Record:
    low, high = expected.low, expected.high
    if low is None or high is None:
        within = "no range"
    else:
        slack = RELATIVE * max(abs(low), abs(high), 1e-12)
        within = "yes" if low - slack <= one.value <= high + slack else "no"
    unit = MEASURES[one.measure][0] or (getattr(currency_of(plan), "code", None) or "USD")
    return {
        "month": one.month,
        "measure": one.measure,
        "of": one.of,
        "unit": unit,
        "plan": expected.value,
        "low": low,
        "high": high,
        "actual": one.value,
        "off_fraction": one.value / expected.value - 1.0 if expected.value else None,
        "within": within,
        "where": one.where,
        "node_h": one.node_h,
    }


def _sentences(rows: Sequence[Record], left: Sequence[Record], outside: Sequence[str]) -> Iterator[str]:
    if not left:
        yield "Everything that was reported is within its band."
    for row in left:
        of = f" of {row['of']}" if row["of"] else ""
        share = row["measure"].endswith("_fraction")
        text = percent_text if share else partial(number_text, digits=SPOKEN)
        low, high = text(row["low"]), text(row["high"])
        planned = f"planned {low}" if low == high else f"planned {low} to {high}"
        what = row["measure"].removesuffix("_fraction").replace("_", " ")
        yield f"{row['month']}: {what}{of} is {text(row['actual'])}{_unit(row)}, {planned}"
    for row in rows:
        if row["node_h"] is not None:
            hours = number_text(row["node_h"], digits=SPOKEN)
            yield f"{row['month']}: failures are those of the {hours} node-hours that were watched"
    if outside:
        yield f"Outside of the horizon, and left out: {', '.join(outside)}"


def _unit(row: Record) -> str:
    return "" if row["unit"] in ("count", "1") else f" {row['unit'].removeprefix('1')}"


def _months(period: Period) -> Iterator[str]:
    day = period.first
    while day < period.after:
        yield f"{day:%Y-%m}"
        day += timedelta(days=calendar.monthrange(day.year, day.month)[1])


def _days(month: str) -> int:
    year, number = map(int, month.split("-"))
    return calendar.monthrange(year, number)[1]


def _shown(key: str, row: Mapping[str, object]) -> str:
    value = row[key]
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    number = float(str(value))
    return percent_text(number, sign=True) if key == "off_fraction" else number_text(number)


_COLUMNS = words(
    *(
        (heading, lambda row, key=key: _shown(key, row))
        for heading, key in (
            ("month", "month"),
            ("measure", "measure"),
            ("of", "of"),
            ("plan", "plan"),
            ("from", "low"),
            ("to", "high"),
            ("actual", "actual"),
            ("unit", "unit"),
            ("off", "off_fraction"),
            ("within", "within"),
        )
    )
)
