"""Why a number is what it is, for whoever has a minute: two sentences and a small table of its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

from planner.report.tables import Table
from planner.report.text import text_table, wrapped
from planner.trace.arithmetic import SUM
from planner.trace.currency import showing
from planner.trace.explain import Explanation, Step
from planner.trace.numbers import count_text, number_text, percent_text, quantity_text, scale_of, share_of
from planner.trace.units import UnitError, unit_of

Labels = Mapping[str, str]
NO_LABELS: Labels = {}
NAMED = 3  # parts that a sentence names
MOST_PARTS = 8
_KINDS = ("yours", "measured", "published", "declared", "estimated", "assumed")
_NAMELESS = ("weighted total",)  # names of equations that say nothing of what is added up
_MADE = "worked out"
_HEADINGS = ("part", "value", "share", "range", "from")


class Part(NamedTuple):
    """A number that another one is worked out from: what it is called there, and its step."""

    name: str
    step: Step
    place: str


def why_said(explanation: Explanation, labels: Labels = NO_LABELS) -> list[str]:
    """How a number comes about, and what it rests on: a sentence each; `labels` name parts by their words."""
    with showing(explanation.currency):
        return [_made(explanation, labels), *_resting(explanation)]


def why_parts(explanation: Explanation, labels: Labels = NO_LABELS) -> Table | None:
    """What a number is worked out from, the largest part of a sum first; None of a fact or a decision."""
    with showing(explanation.currency):
        first, parts = explanation.steps[0], _parts(explanation)
        if not parts:
            return None
        shares = _shares(first, parts)
        rows = [
            (
                _called(part, labels),
                quantity_text(part.step.value, part.step.unit),
                _share(share),
                _range(part.step),
                _origin(part),
            )
            for part, share in list(zip(parts, shares, strict=True))[:MOST_PARTS]
        ]
        if (more := len(parts) - MOST_PARTS) > 0:
            rows.append((f"and {more} more", "", "", "", ""))
    filled = [set(column) - {"", _MADE} for column in zip(*rows, strict=True)]

    def kept(cells: Sequence[str]) -> tuple[str, ...]:
        return tuple(compress(cells, filled))

    cells = tuple(map(kept, rows))
    numeric = tuple(heading in ("value", "share") for heading in kept(_HEADINGS))
    return Table(kept(_HEADINGS), numeric, cells, cells)


def why_terminal(explanation: Explanation, labels: Labels = NO_LABELS) -> str:
    """Both for a terminal."""
    said, parts = "\n".join(map(wrapped, why_said(explanation, labels))), why_parts(explanation, labels)
    return said if parts is None else f"{said}\n\n{text_table(parts)}"


def labels_of(document: Mapping[str, Any], name: str) -> Labels:
    """What a plan calls the terms of its cost, carbon or energy, by the words of their names."""
    table = document.get("tables", {}).get(name) or []
    return {
        words_of(row["explain"]): row["label"] for row in table if row.get("label") and row.get("explain")
    }


def words_of(name: str) -> str:
    """A parameter as words, without its unit: `standing_capital_usd` is 'standing capital'."""
    last = name.rpartition(".")[2]
    head, *below = last.split("_per_")
    words = head.split("_")
    try:
        with_unit = len(words) > 1 and unit_of(words[-1]) != unit_of("x")
    except UnitError:
        with_unit = False
    if words[-1] == "fraction" or with_unit:
        words = words[:-1] or words
    return " ".join([*words, *(f"per {one.replace('_', ' ')}" for one in below)])


def _made(explanation: Explanation, labels: Labels) -> str:
    """What kind of number it is, and how it comes from others."""
    step, parts = explanation.steps[0], _parts(explanation)
    value = quantity_text(step.value, step.unit) or "The number"
    if step.source:
        return f"{value} is {_kind(step.kind)}: {step.source}."
    if not parts:
        return f"{value}: {step.about or 'stated'}."
    if _is_sum(step):
        if len(parts) == 1:
            return f"{value} has one part: {_called(parts[0], labels)}."
        shared = list(zip(parts, _shares(step, parts), strict=True))[:NAMED]
        largest = "; ".join(_with_share(part, share, labels) for part, share in shared)
        return f"{value} is the sum of {count_text(len(parts))} numbers. The largest: {largest}."
    said = "one number" if len(parts) == 1 else f"{count_text(len(parts))} numbers"
    equation = step.equation.rstrip(",.")
    return f"{value} is worked out from {said}" + (f" by {equation}." if " = " in equation else ".")


def _resting(explanation: Explanation) -> list[str]:
    """How many facts are behind it, by kind, those of the reader first."""
    facts = {step.name: step.kind for step in explanation.facts()}
    if not facts or explanation.steps[0].source:
        return []
    held = Counter(facts.values())
    known = [kind for kind in _KINDS if kind in held] + sorted(set(held) - set(_KINDS))
    kinds = ", ".join(f"{count_text(held[kind])} {kind}" for kind in known)
    return [f"It rests on {count_text(len(facts))} fact{'s' * (len(facts) > 1)}: {kinds}."]


def _parts(explanation: Explanation) -> list[Part]:
    """The inputs of the number itself; of a sum the largest first, without those that are nothing."""
    step = explanation.steps[0]
    parts = [
        Part(name, explanation.steps[at], step.places.get(name, "") or explanation.steps[at].place)
        for name, at in step.inputs.items()
    ]
    if not _is_sum(step):
        return parts
    held = [part for part in parts if part.step.value] or parts
    return sorted(held, key=lambda part: -abs(part.step.value or 0.0))


def _is_sum(step: Step) -> bool:
    return step.equation.endswith(SUM)


def _shares(step: Step, parts: Sequence[Part]) -> list[float | None]:
    """The part of a sum that each is; none where some take away from it."""
    one_sided = all(part.step.value >= 0 for part in parts)
    wanted = _is_sum(step) and one_sided and len(parts) > 1
    return [share_of(part.step.value, step.value) if wanted else None for part in parts]


def _with_share(part: Part, share: float | None, labels: Labels) -> str:
    value = quantity_text(part.step.value, part.step.unit)
    return f"{_called(part, labels)} ({value}{'' if share is None else f', {_share(share)}'})"


def _share(share: float | None) -> str:
    if share is None:
        return ""
    return "below 1 %" if 0 < share < 0.005 else percent_text(share, 0)


def _called(part: Part, labels: Labels) -> str:
    words = words_of(part.name)
    return f"{labels.get(words, words)}{part.place}"


def _range(step: Step) -> str:
    if step.low is None or step.high is None:
        return ""
    divisor, unit = scale_of(step.unit, [step.value])
    low, high = (number_text(end / divisor) for end in (step.low, step.high))
    return f"{low} to {high} {unit}".rstrip()


def _origin(part: Part) -> str:
    """Where a part comes from, in a few words."""
    step = part.step
    if step.source:
        return f"{step.kind}: {step.name}"
    if not step.inputs:
        return step.about or "stated"
    named = words_of(step.name)
    return _MADE if named in (*_NAMELESS, words_of(part.name)) else f"{_MADE}: {named}"


def _kind(kind: str) -> str:
    return "yours" if kind == "yours" else f"a fact ({kind})"
