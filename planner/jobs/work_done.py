"""What is known of a phase of work once it is worked out, whichever way it was stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from planner.trace import Parts, Traced


@dataclass(frozen=True)
class States:
    """What a predicted run did: hours of one pass through its states, and IT energy of all of them."""

    hours: Parts
    energy: Parts
    renewal: Mapping[str, Traced]
    powers: Mapping[str, Traced]


@dataclass(frozen=True)
class Done:
    """Node-hours and IT energy of a phase; how long it took and what was useful, where that is known."""

    sku: str
    node_h: Traced
    it_kwh: Traced
    duration_h: Traced | None = None
    useful: Traced | None = None
    states: States | None = None
    said: str = ""
    notes: tuple[str, ...] = ()
    start: date | None = None
