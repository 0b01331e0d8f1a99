"""Values of your own for facts: read from a scenario's text, checked, put in and taken out again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import doubled_figures, known_names
from planner.inputs.editing.edits import Edited, with_values
from planner.inputs.scenario.files import read_toml
from planner.inputs.scenario.known_names import own_fact_problems
from planner.inputs.scenario.problems import shown_key
from planner.trace.errors import InputError
from planner.trace.quantities import Fact
from planner.trace.units import parse_quantity


@dataclass(frozen=True, slots=True)
class Override:
    """A value of your own next to the shipped fact; `value` is in the fact's unit."""

    fact: Fact
    text: str
    value: float

    @property
    def within(self) -> bool | None:
        """Whether it lies in the fact's range; None where the fact has none."""
        low, high = self.fact.low, self.fact.high
        if low is None and high is None:
            return None
        return (low is None or low <= self.value) and (high is None or self.value <= high)

    def record(self) -> dict[str, Any]:
        """The value next to the shipped one, for a table."""
        within = {True: "yes", False: "no", None: "no range is given"}[self.within]
        return {
            "fact": self.fact.key,
            "yours": self.text,
            "value": self.value,
            "shipped": self.fact.value,
            "unit": "" if self.fact.unit == "1" else self.fact.unit,
            "within its range": within,
        }


def override_of(key: str, text: str, catalogue: Catalogue) -> Override:
    """A value of your own for a fact, checked as a scenario's is.

    Raises:
        UnknownFact: there is no such fact.
        InputError: the text is no quantity of the fact's unit, a value that its family does not allow, or a
            figure that counts sparse operations.
    """
    fact, stated = catalogue.fact(key), text.strip()
    problems = list(own_fact_problems({key: stated}, known_names(catalogue)))
    if problems := problems or list(doubled_figures({key: stated}, catalogue)):
        raise InputError("\n".join(f"{key}: {problem.message}" for problem in problems))
    return Override(fact, stated, parse_quantity(stated, fact.unit))


def overrides_in(text: str, name: str, catalogue: Catalogue) -> list[Override]:
    """Your own values that a scenario's text states and that hold.

    Raises:
        ScenarioError: the text is no TOML.
    """
    held = read_toml(text, name).get("facts")
    found = []
    for key, stated in held.items() if isinstance(held, dict) else ():
        try:
            found.append(override_of(key, str(stated), catalogue))
        except InputError:
            continue  # the scenario's own check names it
    return found


def idle_notes(keys: Iterable[str], what: str) -> list[str]:
    """That values of one's own change nothing, as nothing asked for their facts."""
    return [f"[facts] {shown_key(key)} changes nothing: nothing in {what} asks for it" for key in keys]


def with_override(text: str, name: str, key: str, stated: str, catalogue: Catalogue) -> Edited:
    """The scenario's text with a value of your own for a fact.

    Raises:
        InputError: the value does not fit the fact, or the text is no TOML.
    """
    return with_values(text, name, {f"facts.{key}": override_of(key, stated, catalogue).text})


def without_override(text: str, name: str, key: str) -> Edited:
    """The scenario's text with the shipped fact again.

    Raises:
        ScenarioError: the text is no TOML.
    """
    return with_values(text, name, {f"facts.{key}": None})
