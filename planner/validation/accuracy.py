"""How close ours come to published values: by source, subject, kind of question and generation of chips."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

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


def accuracy_tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """For JSON: the accuracy by source in the order of the rows, by the others in that of the alphabet."""
    tables = {column: accuracies(rows, column) for column in COLUMNS}
    pairs = accuracies_of_pairs(rows)
    return {
        "by_source": [asdict(one) for one in tables.pop("source")],
        **{f"by_{_KIND.get(name, name)}": [asdict(one) for one in by_name(t)] for name, t in tables.items()},
        "by_generation_and_subject": [
            {"generation": generation, "subject": subject, **asdict(one)}
            for (generation, subject), one in pairs.items()
        ],
    }


def publication(source: str) -> str:
    """What comes before the first comma, semicolon or bracket of a source; of a repository its name."""
    repository = re.match(r"github ([\w.-]+/[\w.-]+)", source)
    return repository[1] if repository else re.split(r"[,;(]", source)[0].strip()


def counted(rows: Sequence[Row]) -> list[Row]:
    """Rows that say how good the models are: those that ran, without arithmetic on a row's own numbers."""
    return [row for row in rows if row["status"] != NOT_RUN and not row["plumbing"]]


def accuracies(rows: Sequence[Row], column: str) -> list[Accuracy]:
    """The accuracy for each value of a column that is said."""
    groups: dict[str, list[Row]] = {}
    for row in counted(rows):
        name = publication(row[column]) if column == "source" else str(row[column])
        if name or column == "source":
            groups.setdefault(name, []).append(row)
    return [accuracy(name, mine) for name, mine in groups.items()]


def accuracies_of_pairs(rows: Sequence[Row]) -> dict[tuple[str, str], Accuracy]:
    """The accuracy for each generation of accelerators and subject, in the order of the alphabet."""
    known = [row for row in counted(rows) if row["generation"]]
    pairs = sorted({(str(row["generation"]), str(row["subject"])) for row in known})
    return {
        (generation, subject): accuracy(
            f"{generation}, {subject}",
            [row for row in known if (row["generation"], row["subject"]) == (generation, subject)],
        )
        for generation, subject in pairs
    }


def by_name(found: Sequence[Accuracy]) -> list[Accuracy]:
    """In the order of the alphabet."""
    return sorted(found, key=lambda one: one.name)


def accuracy(name: str, rows: Sequence[Row]) -> Accuracy:
    """Counts and errors of some rows."""
    scored = [row for row in rows if is_scored(row)]
    errors = [abs(row["error"]) for row in scored]
    close = sum(error <= CLOSE_FRACTION for error in errors)
    return Accuracy(
        name=name,
        rows=len(rows),
        understood=sum(row["ours"] is not None for row in rows),
        inside=sum(row["status"] == INSIDE for row in rows),
        scored=len(errors),
        median_error=statistics.median(errors) if errors else None,
        mean_error=statistics.fmean(errors) if errors else None,
        within_10_percent_fraction=close / len(errors) if errors else None,
        worst_error=max(errors) if errors else None,
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
