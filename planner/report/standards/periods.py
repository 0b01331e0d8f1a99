"""The days of a plan's periods, by its horizon."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from planner.trace.records import Record


@dataclass(frozen=True, slots=True)
class Period:
    """A period: its label, its first day, and the day after its last one."""

    label: str
    first: date
    after: date

    @property
    def hours(self) -> float:
        """Hours of all of its days."""
        return 24.0 * (self.after - self.first).days

    @property
    def name(self) -> str:
        """The label as part of the name of a file."""
        return self.label.lower().replace(" ", "-")

    def overlaps(self, first: str, last: str) -> bool:
        """Whether some day from the first to the last, both in ISO 8601, is one of its own."""
        return date.fromisoformat(first[:10]) < self.after and date.fromisoformat(last[:10]) >= self.first


def periods_of(document: Record) -> list[Period]:
    """The periods of a plan, all of as many months."""
    horizon = document["horizon"]
    start, end = date.fromisoformat(horizon["start"]), date.fromisoformat(horizon["end"]) + timedelta(days=1)
    labels = horizon["periods"]
    months = 12 * (end.year - start.year) + end.month - start.month
    days = [_later(start, months * number // len(labels)) for number in range(len(labels) + 1)]
    return [Period(label, first, after) for label, first, after in zip(labels, days, days[1:], strict=False)]


def utc(day: date) -> str:
    """The begin of a day as ISO 8601 has it, in UTC."""
    return datetime(day.year, day.month, day.day).strftime("%Y-%m-%dT%H:%M:%SZ")


def next_month(day: date) -> date:
    """The first day of the month after."""
    return _later(day.replace(day=1), 1)


def _later(day: date, months: int) -> date:
    years, month = divmod(day.month - 1 + months, 12)
    return day.replace(year=day.year + years, month=month + 1)
