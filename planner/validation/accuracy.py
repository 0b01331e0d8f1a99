"""How close ours come to published values: the errors of each source and of each subject."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from planner.validation.tolerance import is_two_sided, parse_tolerance

Row = Mapping[str, Any]

INSIDE, OUTSIDE, NOT_UNDERSTOOD, NOT_RUN = "inside", "outside", "not understood", "not run"

CLOSE_FRACTION = 0.10
# A row that leaves less room states an identity, an equation met by its own other form: no error of a model.
_IDENTITY_FRACTION = 1e-6


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Rows of one source or subject, and the errors of those that tell how good a model is.

    `scored` rows state a value and leave room around it. Rows that state a bound, a count or an identity
    are inside or not: their errors would only dilute or swell the others. Errors are shares of the published
    value, and absent where no row is scored.
    """

    name: str
    rows: int
    inside: int
    scored: int
    median_error: float | None
    mean_error: float | None
    within_10_percent_fraction: float | None
    worst_error: float | None


def accuracy_tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """For JSON: the accuracy by source in the order of the rows, by subject in that of the alphabet."""
    return {
        "by_source": [asdict(one) for one in accuracies(rows, "source")],
        "by_subject": [asdict(one) for one in sorted(accuracies(rows, "subject"), key=lambda one: one.name)],
    }


def accuracies(rows: Sequence[Row], column: str) -> list[Accuracy]:
    """The accuracy for each value of a column; rows that were not understood or not run are left out."""
    judged = [row for row in rows if row["ours"] is not None]
    names = dict.fromkeys(str(row[column]) for row in judged)
    return [accuracy(name, [row for row in judged if row[column] == name]) for name in names]


def accuracy(name: str, rows: Sequence[Row]) -> Accuracy:
    """Counts and errors of some judged rows."""
    errors = [abs(row["error"]) for row in rows if is_scored(row)]
    close = sum(error <= CLOSE_FRACTION for error in errors)
    return Accuracy(
        name=name,
        rows=len(rows),
        inside=sum(row["status"] == INSIDE for row in rows),
        scored=len(errors),
        median_error=statistics.median(errors) if errors else None,
        mean_error=statistics.fmean(errors) if errors else None,
        within_10_percent_fraction=close / len(errors) if errors else None,
        worst_error=max(errors) if errors else None,
    )


def is_scored(row: Row) -> bool:
    """Whether the error of a row tells how good a model is: it states a value, with room around it."""
    text: str = row["tolerance"]
    expected: float | None = row["expected"]
    if row["error"] is None or not expected or not is_two_sided(text):
        return False
    tolerance = parse_tolerance(text, expected=expected, unit=row["unit"])
    return tolerance.high - tolerance.low > 2.0 * _IDENTITY_FRACTION * abs(expected)
