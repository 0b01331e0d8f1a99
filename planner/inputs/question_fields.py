"""How the fields of a question are asked: options, arguments, page fields and checks, from one statement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from planner.trace.errors import InputError
from planner.trace.numbers import exact_text, written_text
from planner.trace.units import UnitError, parse_quantity, unit_of


@dataclass(frozen=True, slots=True)
class QuestionField:
    """How one field is asked.

    `reads` says what is written: text, names, counts, path, flag, time, day, parts, seed, quantity (text with
    a unit), percent (a share or text), excess (a share of any size), or a number: count, whole, number, rate,
    positive (all above zero), not_negative or share (from 0 to 1). `option` is that of the command line where
    it is not the name, `value` what stands for its value, `group` the heading that it stands under, `place`
    where a file says the same. A field that is of some `kinds` of question says nothing about others.

    `usual` is what is taken where nothing is said, `least` and `most` are the ends of its range. A page calls
    it `label` and shows it in `unit`, one of which is `scale` of the field's own unit.
    """

    about: str
    reads: str = "text"
    option: str = ""
    value: str | None = None
    group: str = ""
    place: str = ""
    kinds: tuple[str, ...] = ()
    usual: Any = None
    least: float | None = None
    most: float | None = None
    label: str = ""
    unit: str = ""
    scale: float = 1.0

    @property
    def above_zero(self) -> bool:
        """Whether it is a number that is above zero."""
        return self.reads in ("count", "number", "rate", "time") and self.least is None

    @property
    def said(self) -> str:
        """What it is, what is taken where nothing is said, and its range, for whoever asks."""
        is_number = isinstance(self.usual, int | float)
        usual = "" if not self.usual or self.usual is True else f"{self.usual:g}" if is_number else self.usual
        return "; ".join(part for part in (self.about, usual, self._ends()) if part)

    @property
    def heading(self) -> str:
        """What a page writes above it."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def range(self) -> str:
        """Its range in words; empty where any value does."""
        if ends := self._ends():
            return ends
        if self.reads == "share":
            return "a share between 0 and 1"
        return "above 0" if self.above_zero else ""

    def _ends(self) -> str:
        if self.least is None:
            return ""
        most = "below 1" if self.most is None else exact_text(self.most)
        return f"from {exact_text(self.least)} to {most}"

    def holds(self, value: float) -> bool:
        """Whether a number is in the range."""
        if self.least is not None:
            return self.least <= value <= self.most if self.most is not None else self.least <= value < 1
        if self.reads == "share":
            return 0 < value < 1
        return not self.above_zero or 0 < value < math.inf


def question_field(about: str, default: Any = None, **how: Any) -> Any:
    """A field of a frozen dataclass that is asked so."""
    one = QuestionField(about, **({"usual": default} | how))
    return field(default=default, metadata={"question": one})


def fields_of(question: type[Any]) -> Mapping[str, QuestionField]:
    """Each field that is asked, in the order of the question."""
    return {one.name: one.metadata["question"] for one in fields(question) if "question" in one.metadata}


def usual(question: type[Any], name: str) -> Any:
    """What is taken for a field of which nothing is said."""
    return fields_of(question)[name].usual


def out_of_range(question: type[Any], stated: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Options whose number is outside of the range, and what is wrong; what is None is not stated.

    Functions of Python tell the argument in the place of the option.
    """
    for name, one in fields_of(question).items():
        value = stated.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and not one.holds(value):
            yield flag(name, question), f"has to be {one.range}, got {written_text(value, 12)}"


def with_times(question: type[Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """What is stated by field, without what is None; a time that is text is a number of the field's unit.

    Raises:
        InputError: a time is not understood; the error holds every one.
    """
    values = {name: value for name, value in said.items() if value is not None}
    problems = []
    for name, one in fields_of(question).items():
        if one.reads == "time" and isinstance(values.get(name), str):
            try:
                values[name] = parse_quantity(values[name], unit_of(name))
            except UnitError as error:
                problems.append(f"{flag(name, question)}: {error}")
    if problems:
        raise InputError("\n".join(problems))
    return values


def flag(name: str, question: type[Any]) -> str:
    """The option of the command line behind a field."""
    held = fields_of(question).get(name)
    return held.option if held is not None and held.option else f"--{name.replace('_', '-')}"
