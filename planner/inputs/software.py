"""Training software: the stacks of `data/software.toml`, and which one a chip runs where nobody says."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from planner.inputs.loading import data_folder
from planner.trace.errors import InputError


class UnknownStack(InputError):
    """No training software has this name; the message names those that there are."""


@dataclass(frozen=True, slots=True)
class Stack:
    """One training software of one time: constants that it replaces, and what it can do.

    `runs_on` are the chips that it is taken for where nobody says, and `otherwise` those that no stack
    names; a stack without either is for published rows, on the chips of `ran_on` where it names any.
    `facts` replace arguments of the step by other facts, `facts_on` those on a chip and precision that a
    pattern such as `gb200-*` or `*@fp4` matches; what stands later wins.
    """

    name: str
    says: str
    year: int
    sources: tuple[str, ...] = ()
    runs_on: tuple[str, ...] = ()
    ran_on: tuple[str, ...] = ()
    otherwise: bool = False
    dated: bool = False
    fused_attention: bool = True
    sequence_parallel: bool | str = True
    hides_gradients: bool = True
    shards_optimizer: bool = True
    shards_weights: bool = True
    facts: Mapping[str, str] = field(default_factory=dict)
    facts_on: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def runs(self, chip: str) -> bool:
        """Whether it is what one would run on a chip."""
        return any(fnmatchcase(chip, pattern) for pattern in self.runs_on)

    def could_run(self, chip: str) -> bool:
        """Whether a published row on a chip may be of it."""
        known = self.runs_on + self.ran_on
        return not known or any(fnmatchcase(chip, pattern) for pattern in known)

    def replaced(self, chip: str, width: str) -> dict[str, str]:
        """Argument of the step -> fact that replaces its own, on a chip at a width such as fp8."""
        found = dict(self.facts)
        for pattern, facts in self.facts_on.items():
            found |= facts if fnmatchcase(f"{chip}@{width}", pattern) else {}
        return found


@cache
def stacks() -> Mapping[str, Stack]:
    """The stacks of `data/software.toml`, by name."""
    with (data_folder() / "software.toml").open("rb") as file:
        entries: Mapping[str, Mapping[str, Any]] = tomllib.load(file)["stack"]
    return {name: _stack(name, entry) for name, entry in entries.items()}


def _stack(name: str, entry: Mapping[str, Any]) -> Stack:
    lists = {part: tuple(entry.get(part, ())) for part in ("sources", "runs_on", "ran_on")}
    return Stack(name=name, **{**entry, **lists})


def stack_named(name: str) -> Stack:
    """One stack.

    Raises:
        UnknownStack: no such stack.
    """
    if name not in stacks():
        raise UnknownStack(f"software must be one of {', '.join(stacks())}, got '{name[:60]}'")
    return stacks()[name]


def default_stack(chip: str) -> Stack:
    """The newest stack that a chip runs, or that of chips which no stack names."""
    known = [stack for stack in stacks().values() if stack.runs(chip)]
    others = [stack for stack in stacks().values() if stack.otherwise]
    return newest(known or others)


def newest(known: Sequence[Stack]) -> Stack:
    """The newest of some stacks; of one year that which stands later in data/software.toml."""
    return max(reversed(known), key=lambda stack: stack.year)
