"""What may be asked of a log, and how a section of the answer looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.trace.errors import InputError
from planner.trace.records import Record

DAY_H = 24.0
NO_PRIOR = "none"


@dataclass(frozen=True)
class FitQuestion:
    """Options of a fit; what is None comes from the catalogue and is named in the answer."""

    name: str = ""
    accelerators_per_node: int | None = None
    interval_fraction: float = 0.90
    spare_confidence_fraction: float = 0.99
    period_d: float = 91.0
    review_d: float = 7.0
    covariates: tuple[str, ...] | None = None
    cross_check: bool = False
    with_planned: bool = False
    prior: str = "prior"
    write_min: float | None = None
    restart_min: float | None = None

    def __post_init__(self) -> None:
        wrong = [
            f"{name} has to be a share between 0 and 1, got {getattr(self, name)}"
            for name in ("interval_fraction", "spare_confidence_fraction")
            if not 0 < getattr(self, name) < 1
        ]
        wrong += [
            f"{name} has to be above 0, got {value}"
            for name in ("accelerators_per_node", "period_d", "review_d", "write_min", "restart_min")
            if (value := getattr(self, name)) is not None and not 0 < value < float("inf")
        ]
        if wrong:
            raise InputError("\n".join(wrong))


@dataclass(frozen=True, slots=True)
class Section:
    """One subject of the answer: sentences, and tables of rows; without tables the sentences say why not."""

    title: str
    said: Sequence[str]
    tables: dict[str, list[Record]] = field(default_factory=dict)

    def to_dict(self) -> Record:
        """Plain data."""
        return {"title": self.title, "said": list(self.said), "tables": self.tables}


def ends(interval_fraction: float) -> str:
    """An interval in words: `90 %`."""
    return f"{100 * interval_fraction:g} %"
