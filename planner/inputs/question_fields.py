"""How the fields of a question are asked: options, arguments and checks are made from this one statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class QuestionField:
    """How one field is asked.

    `reads` says what is written: text, names, counts, path, flag, time, day, parts, seed, quantity (text with
    a unit), percent (a share or text), excess (a share of any size), or a number: count, whole, number, rate,
    positive (all above zero), not_negative or share (from 0 to 1). `option` is that of the command line where
    it is not the name, `value` what stands for its value, `group` the heading that it stands under, `place`
    where a file says the same. A field that is of some `kinds` of question says nothing about others.
    """

    about: str
    reads: str = "text"
    option: str = ""
    value: str | None = None
    group: str = ""
    place: str = ""
    kinds: tuple[str, ...] = ()

    @property
    def above_zero(self) -> bool:
        """Whether it is a number that is above zero."""
        return self.reads in ("count", "number", "rate", "time")


def question_field(about: str, default: Any = None, **how: Any) -> Any:
    """A field of a frozen dataclass that is asked so."""
    return field(default=default, metadata={"question": QuestionField(about, **how)})


def fields_of(question: type[Any]) -> Mapping[str, QuestionField]:
    """Each field that is asked, in the order of the question."""
    return {one.name: one.metadata["question"] for one in fields(question) if "question" in one.metadata}


def flag(name: str, question: type[Any]) -> str:
    """The option of the command line behind a field."""
    held = fields_of(question).get(name)
    return held.option if held is not None and held.option else f"--{name.replace('_', '-')}"
