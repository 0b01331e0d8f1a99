"""What a grid intensity means: intensities of different signals never meet in one equation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Weighting = Literal["average", "marginal"]
Scope = Literal["direct", "life-cycle"]
Basis = Literal["production", "consumption"]
Accounting = Literal["location", "market"]


@dataclass(frozen=True, slots=True)
class GridSignal:
    """The four choices behind a grid intensity.

    `weighting`: of all plants, or of those that answer a change; `scope`: combustion alone, or the plants'
    lives too; `basis`: what the zone makes, or what it uses after imports and exports; `accounting`: the grid
    as it is, or as contracts say.
    """

    weighting: Weighting
    scope: Scope
    basis: Basis
    accounting: Accounting = "location"

    def __post_init__(self) -> None:
        choices = (
            ("weighting", Weighting),
            ("scope", Scope),
            ("basis", Basis),
            ("accounting", Accounting),
        )
        for name, kind in choices:
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"{name} is {' or '.join(get_args(kind))}, got '{getattr(self, name)}'")

    def __str__(self) -> str:
        tags = (self.weighting, self.scope, self.basis)
        return "/".join(tags if self.accounting == "location" else (*tags, self.accounting))

    @classmethod
    def parse(cls, tag: str) -> GridSignal:
        """The signal of a tag such as `average/direct/production`, as facts carry it.

        Raises:
            ValueError: the tag has another number of words, or a word is unknown.
        """
        words = tag.split("/")
        if len(words) not in (3, 4):
            raise ValueError(f"a grid signal is written like average/direct/production, got '{tag}'")
        return cls(*words)  # type: ignore[arg-type]  # __post_init__ checks the words
