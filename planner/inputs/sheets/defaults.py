"""What a scenario made from tables states where nobody says otherwise, by kind of work and of model."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import data_folder
from planner.inputs.model_kinds import LANGUAGE, VISION, kind_of_model
from planner.inputs.scenario import Problem
from planner.inputs.scenario.schema_pools import WAYS
from planner.inputs.sheets.cells import value_in

READING = "reading"  # of a language model whose answers have no tokens
# What is assumed alike for all kinds; the rest is of each kind, or of language models that write.
_OF_ALL = {
    "services": ("precision", "mean_to_peak", "availability"),
    "training": ("precision", "nodes", "checkpoint_storage"),
    "pools": ("model",),
}
# Keys that say what a request is, so that nothing is assumed of its tokens.
_SAYS_LENGTHS = ("traffic", "classes")
_LENGTHS = ("tokens_in", "tokens_out")
_OF_STEPS = ("step_prompts", "longest_tokens")  # of rollouts that training waits for


@dataclass
class Making:
    """What is known while tables are put together."""

    catalogue: Catalogue
    defaults: Mapping[str, Any]
    months: int = 3
    problems: list[Problem] = field(default_factory=list)
    assumed: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def wrong(self, where: str, message: str) -> None:
        """One more problem."""
        self.problems.append(Problem(where, message))

    def read(self, table: str, key: str, text: str, where: str) -> Any:
        """The value of a cell; of one that cannot be read the text, once that is told."""
        try:
            return value_in(table, key, text)
        except ValueError as error:
            self.wrong(where, str(error))
            return text

    def default(self, table: str, key: str, entry: dict[str, Any], name: str) -> None:
        """State the default of a key that an entry lacks."""
        found = defaults_of(self.defaults, table, entry, self.catalogue).get(key)
        if key not in entry and found is not None:
            value, spread = found
            entry[key] = value
            self.assumed.setdefault(f"{table}.*.{key} = {shown(value)}{spread}", []).append(name)


@cache
def start_defaults() -> Mapping[str, Any]:
    """`data/start.toml`: what is stated where nobody says otherwise."""
    with (data_folder() / "start.toml").open("rb") as file:
        return tomllib.load(file)


def kind_of_work(table: str, entry: Mapping[str, Any], catalogue: Catalogue) -> str:
    """Which defaults an entry takes: of its kind of model, its way to state a need; empty: of its table."""
    if table == "pools":
        way = next((way.key for way in WAYS if way.key in entry), "items" if "feeds" in entry else "")
        return way if f"{table}.{way}" in start_defaults() else ""
    if table not in _OF_ALL:
        return ""
    kind = kind_of_model(catalogue, str(entry.get("model")))
    if kind == LANGUAGE:
        return READING if table == "services" and str(entry.get("tokens_out")) == "0" else ""
    if table == "training" and kind == VISION and "samples" not in entry:
        return ""  # stated by tokens
    return kind if f"{table}.{kind}" in start_defaults() else ""


def defaults_of(
    defaults: Mapping[str, Any], table: str, entry: Mapping[str, Any], catalogue: Catalogue
) -> dict[str, tuple[Any, str]]:
    """What holds for the keys of an entry where nothing is said, each with its range in brackets."""
    stated = defaults.get(table, {})
    kind = kind_of_work(table, entry, catalogue)
    own = f"{table}.{kind}"
    of_table = [key for key in stated if not kind or key in _OF_ALL[table]]
    found = {key: (stated[key], range_said(defaults, table, key)) for key in of_table}
    if kind:
        found |= {key: (value, range_said(defaults, own, key)) for key, value in defaults[own].items()}
    says_lengths = any(entry.get(key) for key in _SAYS_LENGTHS)
    without = (*(_LENGTHS if says_lengths else ()), *(_OF_STEPS if _goes_on(entry) else ()))
    return {key: value for key, value in found.items() if key not in without}


def _goes_on(entry: Mapping[str, Any]) -> bool:
    return entry.get("mode") == "asynchronous"


def range_said(defaults: Mapping[str, Any], table: str, key: str) -> str:
    """The range of a default in brackets; empty where none is known."""
    known = defaults["ranges"].get(table, {}).get(key)
    return f" ({known})" if known else ""


def shown(value: object) -> str:
    """A value as a file has it."""
    return f'"{value}"' if isinstance(value, str) else str(value)
