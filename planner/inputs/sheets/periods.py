"""Months and quarters of tables: the horizon that they name, and needs that are stated period by period."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from planner.inputs.scenario.schema_pools import WAYS
from planner.inputs.sheets.cells import COUNTED
from planner.inputs.sheets.defaults import Making
from planner.inputs.sheets.demand import (
    held_accelerator_h,
    peak_requests_per_s,
    people_accelerator_h,
    requests_per_day,
)
from planner.inputs.sheets.reading import Sheet
from planner.trace.numbers import count_text, number_text, written_text
from planner.trace.quantities import Fact

DIGITS = 6  # of a rate that is worked out
MOST_PERIODS = 40
MONTHS = {"month": 1, "quarter": 3}
# Keys by period, each a way to state a need; the first of a table is what counts of people become.
BY_PERIOD: Mapping[str, tuple[str, ...]] = {
    "services": ("peak_rate", "audio_rate"),
    "pools": tuple(way.key for way in WAYS if way.key not in COUNTED),
}
_FEEDS = "feeds"  # of a pool whose need follows from the run that it writes for


def add_period(
    table: str,
    by_name: dict[str, dict[str, Any]],
    entry: dict[str, Any],
    where: str,
    making: Making,
    labels: Sequence[str],
) -> None:
    """Put a row of a month to the others of its name; columns that repeat may be stated once."""
    name = str(entry.get("name", ""))
    if not name:
        making.wrong(where, "name: is empty")
        return
    known = _demand(table, name, entry, where, making)
    period = entry.pop("period", None)
    held = by_name.setdefault(name, {"name": name, "rates": {}})
    label = label_of(str(period), where, making) if period is not None else labels[0]
    for way in BY_PERIOD[table]:
        if way not in entry:
            continue
        if held.setdefault("way", way) != way:
            making.wrong(where, f"{way}: {name} is stated by {held['way']} in the rows before: keep one")
            return
    stated = str(held.get("way", BY_PERIOD[table][0]))
    rate = entry.pop(stated, None)
    if rate is None:
        if not known:
            making.wrong(where, f"{stated}: is empty")
    elif label in held["rates"]:
        making.wrong(where, f"{name} is stated twice for {label}")
    else:
        held["rates"][label] = rate
    for key, value in entry.items():
        if held.setdefault(key, value) != value:
            making.wrong(where, f"{key}: is {value} here, and {held[key]} in the rows before")


def put_together(table: str, entry: dict[str, Any], making: Making, labels: Sequence[str]) -> None:
    """The need of an entry as the scenario has it: one value, or one for each period."""
    rates, way = entry.pop("rates"), entry.pop("way", None)
    if len(rates) > 1 and (missing := [label for label in labels if label not in rates]):
        making.wrong(f"{table}.{entry['name']}", f"says nothing of {', '.join(missing)}: add these rows")
    values = [rates[label] for label in labels if label in rates] or list(rates.values())
    if way is not None:
        entry[way] = values[0] if len(set(values)) == 1 else values


def _demand(table: str, name: str, entry: dict[str, Any], where: str, making: Making) -> bool:
    """The rate or the hours of a row that states users, requests of a day or people.

    Returns:
        Whether it is known; what is wrong with it is reported.
    """
    ways = [key for key in (*BY_PERIOD[table], *COUNTED) if key in entry]
    if len(ways) > 1:
        making.wrong(where, f"{', '.join(ways)}: state one of them")
    counted = {key: entry.pop(key) for key in ways if key in COUNTED}
    if len(ways) != 1 or not all(isinstance(value, int | float) for value in counted.values()):
        return bool(ways) or _FEEDS in entry  # a text is reported already
    if "people" in counted:
        fact = making.catalogue.fact("planning.person_time")
        hours = people_accelerator_h(
            people=counted["people"], person_h_per_month=fact.value, months=making.months
        )
        entry["gpu_time"] = f"{written_text(hours, DIGITS)} h"
        each = f"each uses {number_text(fact.value)} accelerator-hours a month"
        making.notes.append(f"{name}: {count_text(counted['people'])} people, {each} {guess(fact, 1.0)}")
    if "accelerators" in counted:
        hours = held_accelerator_h(accelerators=counted["accelerators"], months=making.months)
        entry["gpu_time"] = f"{written_text(hours, DIGITS)} h"
        making.notes.append(f"{name}: {count_text(counted['accelerators'])} accelerators, held in every hour")
    if "users" in counted:
        fact = making.catalogue.fact("planning.user_requests")
        counted["requests_per_day"] = requests_per_day(users=counted["users"], requests_per_user_h=fact.value)
        each = f"each asks {number_text(24.0 * fact.value)} times a day"
        making.notes.append(f"{name}: {count_text(counted['users'])} users, {each} {guess(fact, 24.0)}")
    if "requests_per_day" in counted:
        making.default("services", "mean_to_peak", entry, name)
        share = entry["mean_to_peak"]
        if isinstance(share, int | float) and share > 0:
            rate = peak_requests_per_s(
                requests_per_day=counted["requests_per_day"], mean_to_peak_fraction=share
            )
            entry["peak_rate"] = f"{written_text(rate, DIGITS)} /s"
        else:
            making.wrong(where, "mean_to_peak: is no share above 0")
    return True


def guess(fact: Fact, scale: float) -> str:
    """A fact behind a number that nobody stated, with its range in the words of the number."""
    low, high = (number_text(scale * end) for end in (fact.low, fact.high) if end is not None)
    return f"({fact.key}, {fact.kind}: {low} to {high})"


def horizon_of(
    sheets: Iterable[Sheet], making: Making, today: date, known: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The months or quarters that tables name, with their labels; else the default, from the next quarter."""
    named = [
        (f"{sheet.where}, line {line}", row["period"])
        for sheet in sheets
        for line, row in sheet.rows
        if "period" in row
    ]
    labels = sorted({label for where, text in named if (label := label_of(text, where, making))})
    if not labels:
        stated = {"start": next_quarter(today), **making.defaults["horizon"], **known}
        start = stated["start"]
        if not known:
            making.notes.append(
                f"no table names months: {stated['periods']} {stated['period']}s from {start}"
            )
        return stated, [f"{start.year} Q{(start.month + 2) // 3}"]
    quarters = [" Q" in label for label in labels]
    if any(quarters) and not all(quarters):
        making.wrong("period", f"months and quarters are mixed: {labels[0]}, {labels[-1]}")
        return {"start": today.replace(day=1), **making.defaults["horizon"]}, labels
    period = "quarter" if all(quarters) else "month"
    first, last = _first_day(labels[0]), _first_day(labels[-1])
    step = MONTHS[period]
    count = ((last.year - first.year) * 12 + last.month - first.month) // step + 1
    if count > MOST_PERIODS:
        making.wrong("period", f"{count} {period}s from {labels[0]} to {labels[-1]}: {MOST_PERIODS} at most")
    months = ((first.month - 1 + step * i + 12 * first.year) for i in range(min(count, MOST_PERIODS)))
    every = [date(month // 12, month % 12 + 1, 1) for month in months]
    named_so = [f"{day.year} Q{(day.month + 2) // 3}" if step == 3 else f"{day:%Y-%m}" for day in every]
    return {"start": first, "periods": len(every), "period": period}, named_so


def label_of(text: str, where: str, making: Making) -> str:
    """2027-01 or 2027 Q1, of the ways in which people write months and quarters."""
    if found := re.fullmatch(r"(\d{4})[\s-]*[Qq]([1-4])|[Qq]([1-4])[\s/-]*(\d{4})", text.strip()):
        return f"{found[1] or found[4]} Q{found[2] or found[3]}"
    found = re.match(r"(\d{4})-(\d{1,2})(?:-\d{1,2})?$", text.strip())
    if found and 1 <= int(found[2]) <= 12:
        return f"{found[1]}-{int(found[2]):02d}"
    making.wrong(where, f"period: '{text[:40]}' is no month or quarter: write 2027-01 or 2027 Q1")
    return ""


def _first_day(label: str) -> date:
    year, rest = int(label[:4]), label[5:]
    return date(year, 3 * int(rest[1:]) - 2 if rest.startswith("Q") else int(rest), 1)


def next_quarter(today: date) -> date:
    """The first day of the quarter after that of a day."""
    month = (today.month - 1) // 3 * 3 + 3
    return date(today.year + month // 12, month % 12 + 1, 1)
