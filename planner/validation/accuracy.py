"""How close ours come to published values: by source, subject, kind of question and generation of chips."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.performance.calibrate import median_error, worst_error
from planner.validation.tolerance import is_two_sided, parse_tolerance

Row = Mapping[str, Any]

INSIDE, OUTSIDE, NOT_UNDERSTOOD, NOT_RUN = "inside", "outside", "not understood", "not run"
_KIND = {"quantity": "kind"}  # as rows and users call it
COLUMNS = ("source", "subject", "quantity", "generation")

CLOSE_FRACTION = 0.10
# A row that leaves less room states an identity, an equation met by its own other form: no error of a model.
_IDENTITY_FRACTION = 1e-6


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Rows of one source, subject, kind or generation, and the errors of those that tell how good a model is.

    `understood` rows have a value of ours. `scored` rows state a value and leave room around it. Rows that
    state a bound, a count or an identity are inside or not: their errors would only dilute or swell the
    others. Errors are shares of the published value, and absent where no row is scored.
    """

    name: str
    rows: int
    understood: int
    inside: int
    scored: int
    median_error: float | None
    mean_error: float | None
    within_10_percent_fraction: float | None
    worst_error: float | None
    worst_id: str | None


def _plain(one: Accuracy, _: Sequence[Row]) -> dict[str, Any]:
    return asdict(one)


def accuracy_tables(
    rows: Sequence[Row], record: Callable[[Accuracy, Sequence[Row]], dict[str, Any]] = _plain
) -> dict[str, list[dict[str, Any]]]:
    """The accuracy by source in the order of the rows, by the others in that of the alphabet.

    Args:
        rows: as documents have them.
        record: of an accuracy and its rows: the row of a table.
    """
    tables: dict[str, list[dict[str, Any]]] = {}
    for column in COLUMNS:
        groups = _groups(rows, column)
        names = groups if column == "source" else sorted(groups)
        tables[f"by_{_KIND.get(column, column)}"] = [
            record(accuracy(name, groups[name]), groups[name]) for name in names
        ]
    tables["by_generation_and_subject"] = [
        {
            "generation": generation,
            "subject": subject,
            **record(accuracy(_pair(generation, subject), mine), mine),
        }
        for (generation, subject), mine in _pairs(rows).items()
    ]
    return tables


def publication(source: str) -> str:
    """What comes before the first comma, semicolon or bracket of a source; of a repository its name."""
    repository = re.match(r"github ([\w.-]+/[\w.-]+)", source)
    return repository[1] if repository else re.split(r"[,;(]", source)[0].strip()


def judged_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows that say how good the models are: those that ran, without arithmetic on a row's own numbers."""
    return [row for row in rows if row["status"] != NOT_RUN and not row["plumbing"]]


def accuracies(rows: Sequence[Row], column: str) -> list[Accuracy]:
    """The accuracy for each value of a column that is said."""
    return [accuracy(name, mine) for name, mine in _groups(rows, column).items()]


def _groups(rows: Sequence[Row], column: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in judged_rows(rows):
        name = publication(row[column]) if column == "source" else str(row[column])
        if name or column == "source":
            groups.setdefault(name, []).append(row)
    return groups


def accuracies_of_pairs(rows: Sequence[Row]) -> dict[tuple[str, str], Accuracy]:
    """The accuracy for each generation of accelerators and subject, in the order of the alphabet."""
    return {pair: accuracy(_pair(*pair), mine) for pair, mine in _pairs(rows).items()}


def _pairs(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    known = [row for row in judged_rows(rows) if row["generation"]]
    pairs = sorted({(str(row["generation"]), str(row["subject"])) for row in known})
    return {
        pair: [row for row in known if (str(row["generation"]), str(row["subject"])) == pair]
        for pair in pairs
    }


def _pair(generation: str, subject: str) -> str:
    return f"{generation}, {subject}"


def by_name(found: Sequence[Accuracy]) -> list[Accuracy]:
    """In the order of the alphabet."""
    return sorted(found, key=lambda one: one.name)


def mean_error(*, error_fraction: NDArray[np.float64]) -> float:
    """How far off the points are on average.

    e = mean |e_i|

    Source: definition.
    """
    return float(np.mean(np.abs(error_fraction)))


def within_10_percent_fraction(*, error_fraction: NDArray[np.float64]) -> float:
    """Share of the points that are off by 10 % or less.

    f = mean (|e_i| <= 0.1)

    Source: definition.
    """
    return float(np.mean(np.abs(error_fraction) <= CLOSE_FRACTION))


def accuracy(name: str, rows: Sequence[Row]) -> Accuracy:
    """Counts and errors of some rows."""
    scored = [row for row in rows if is_scored(row)]
    errors = np.array([row["error"] for row in scored])
    return Accuracy(
        name=name,
        rows=len(rows),
        understood=sum(row["ours"] is not None for row in rows),
        inside=sum(row["status"] == INSIDE for row in rows),
        scored=len(errors),
        median_error=median_error(error_fraction=errors) if scored else None,
        mean_error=mean_error(error_fraction=errors) if scored else None,
        within_10_percent_fraction=within_10_percent_fraction(error_fraction=errors) if scored else None,
        worst_error=worst_error(error_fraction=errors) if scored else None,
        worst_id=max(scored, key=lambda row: abs(row["error"]))["id"] if scored else None,
    )


def is_scored(row: Row) -> bool:
    """Whether the error of a row tells how good a model is: it states a value, with room around it."""
    text: str = row["tolerance"]
    expected: float | None = row["expected"]
    if row["error"] is None or not expected or not is_two_sided(text):
        return False
    tolerance = parse_tolerance(text, expected=expected, unit=row["unit"])
    return tolerance.high - tolerance.low > 2.0 * _IDENTITY_FRACTION * abs(expected)
