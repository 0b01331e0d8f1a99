"""What the short questions (job carbon, checkpoint table) share: values from the asker."""

from __future__ import annotations

from planner.trace import Fact, Source

ASKER = Source("question", "the question that was asked")


def given(name: str, value: float, unit: str) -> Fact:
    """A value that the question states."""
    return Fact(value, unit, key=f"question.{name}", source=ASKER, locator=name, kind="yours")
