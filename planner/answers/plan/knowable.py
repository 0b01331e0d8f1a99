"""What a firm could state of its own, and how much surer that would make the plan."""

from __future__ import annotations

from collections.abc import Sequence

from planner.inputs.ranges import Ranges
from planner.trace.numbers import money, percent_text
from planner.trace.quantities import chosen
from planner.trace.records import Record, plain_rows
from planner.trace.uncertainty import Swing, cause_of, narrowed

LEAST = 0.01  # share of the range below which a fact is not worth looking up
NAMED = 3
OFF = 0.01  # of the cost: a median that is further off is mentioned
NARROWS = "one less the root of what is left of the sum of squared widths, each fact alone at its ends"


def knowable_records(every: Sequence[Swing], ranges: Ranges) -> list[Record]:
    """Facts of the objective that a firm can look up, those that narrow its range most first."""
    shares = narrowed(every)
    found: dict[str, list[Swing]] = {}
    for swing in every:
        if swing.fact.kind != "yours" and ranges.use(swing.fact.key) == "knowable":
            found.setdefault(cause_of(swing.fact), []).append(swing)
    return [
        {
            "facts": ", ".join(sorted(swing.fact.key for swing in found[cause])),
            "kind": ", ".join(sorted({swing.fact.kind for swing in found[cause]})),
            "narrows_fraction": chosen("narrows_fraction", shares[cause], NARROWS),
            "how": f'facts = {{ "{found[cause][0].fact.key}" = "..." }}',
        }
        for cause in sorted(found, key=lambda cause: -shares[cause])
        if shares[cause] >= LEAST
    ]


def knowable_sentences(rows: Sequence[Record]) -> list[str]:
    """What to look up first."""
    if not rows:
        return []
    named = ", ".join(
        f"{row['facts']} (the range narrows by {percent_text(row['narrows_fraction'], 0)})"
        for row in plain_rows(rows)[:NAMED]
    )
    return [f"Your firm may know better than the catalogue, most of all: {named}. State it under [facts]."]


def median_sentences(totals: Sequence[Record]) -> list[str]:
    """By how much the cost is not the median of its own range."""
    cost = next((row for row in plain_rows(totals) if row["name"] == "cost"), None)
    if cost is None or not cost["value"] or abs(cost["p50"] / cost["value"] - 1.0) <= OFF:
        return []
    off = cost["p50"] / cost["value"] - 1.0
    return [
        f"The cost of {money(cost['value'])} takes each fact at its value; half of the draws of all facts "
        f"are above {money(cost['p50'])}, {percent_text(abs(off), 0)} {'more' if off > 0 else 'less'}."
    ]
