"""What is wrong with a log: single rows that were left out, and errors that stop the reading."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass

# Of one problem: longer ones quote a value of the file, whose middle says nothing that its ends do not.
LONGEST_CHARACTERS = 1_000
_HEAD, _TAIL = 600, 300


@dataclass(frozen=True, slots=True)
class BadRow:
    """One row that was left out; nothing in it was guessed. Lines count from 1, in JSON entries do."""

    file: str
    line: int
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", _shortened(self.reason))

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class LogError(ValueError):
    """A log or its mapping cannot be used: `problems` holds everything that is wrong, each with a remedy."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(map(_shortened, problems))
        super().__init__("\n".join(self.problems))


def near(name: str, known: Collection[str]) -> str:
    """A remedy for an unknown name: the nearest known ones, else what there is."""
    lower = {word.lower(): word for word in known}
    found = difflib.get_close_matches(name.lower()[:64], lower, n=3, cutoff=0.6)
    if found:
        return "did you mean " + " or ".join(f"'{lower[match]}'" for match in found) + "?"
    few = list(known)[:12]
    more = f" and {len(known) - len(few)} more" if len(known) > len(few) else ""
    return "there is " + ", ".join(few) + more


def count_of(number: int, thing: str) -> str:
    """`1 row`, `2 rows`, `4,000,000 rows`: the last word takes the s."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _shortened(text: str) -> str:
    """A problem, without the middle of a very long one."""
    return text if len(text) <= LONGEST_CHARACTERS else f"{text[:_HEAD]} … {text[-_TAIL:]}"
