"""What a metered file says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from planner.trace.errors import shortened

Covers = Literal["accelerators", "components", "node", "unstated"]
COVERS = get_args(Covers)

_SEEN = {
    "accelerators": "accelerator boards alone: add the host, its network cards, fans and supply losses",
    "components": "processors, memory and accelerators: add drives, network cards, fans and supply losses",
    "node": "whole nodes",
    "unstated": "what the cluster's plugin saw (ipmi: nodes; rapl: processors and memory; gpu: boards)",
}


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was left out: its line in the file, from 1, and why."""

    line: int
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", shortened(self.reason))

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class MeteredEnergy:
    """Energy that a meter saw, never with PUE; what it did not see is for the reader to add.

    `duration_h` is from the first to the last sample, or the sum over runs or jobs; `gaps_h` of it, in the
    mean over accelerators, were not metered. `accelerator_h` are the hours that were, summed over
    accelerators: times the host's power per accelerator, they give what `covers` says is missing.
    """

    tool: str
    it_kwh: float
    accelerators_kwh: float | None
    duration_h: float
    accelerators: int | None
    accelerator_h: float | None
    covers: Covers
    first: datetime | None
    last: datetime | None
    gaps_h: float
    places: tuple[str, ...]
    notes: tuple[str, ...]
    bad_rows: tuple[BadRow, ...]
    countries: tuple[str, ...] = ()  # ISO codes of three letters
    models: tuple[str, ...] = ()  # of accelerators, as the file names them
    own_kgco2e: float | None = None  # what the tool itself makes of it
    regions: tuple[str, ...] = ()  # parts of a country, as the file names them

    @property
    def seen(self) -> str:
        """What the meter saw, in words, and what has to be added. PUE is never in it."""
        return _SEEN[self.covers]
