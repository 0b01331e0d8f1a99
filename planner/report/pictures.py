"""Charts of what a plan trades, by the section that they stand in."""

from __future__ import annotations

from collections.abc import Callable

from planner.charts import Document, Picture
from planner.charts.fronts import money_front

PICTURES: dict[str, Callable[[Document], Picture | None]] = {"front": money_front}
