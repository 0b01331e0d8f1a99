"""Whether arguments are of the kinds that their function takes; numbers of NumPy become Python's."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from numbers import Real
from pathlib import Path
from typing import Any

from planner.notebook.answer import Answer
from planner.trace.errors import InputError

# Names of unions in annotations, and what each part of one is called in a message.
_UNIONS = {
    "Named": "str | Path | Mapping | Answer",
    "Changes": "Mapping | None",
    "Files": "Mapping | None",
    "Watch": "Callable | None",
    "Quantity": "float | text with a unit",
}
LARGEST = 1e30  # of any number: above it equations that square and multiply have no end
MOST_COUNTED = 2**53  # beyond it a float no longer knows each whole number
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "str": "text",
    "text with a unit": "text with a unit",
    "Path": "a path",
    "Mapping": "a dict",
    "Answer": "an answer",
    "date": "a date",
    "Iterable": "a list",
    "Callable": "a function",
}
_CLASSES: dict[str, Any] = {
    "str": str,
    "text with a unit": str,
    "Path": Path,
    "Mapping": Mapping,
    "Answer": Answer,
    "date": date,
    "Callable": Callable,
}


def checked(arguments: inspect.BoundArguments) -> None:
    """See that each argument is of a kind that its annotation names, and make its numbers plain.

    Raises:
        InputError: naming every argument that is not.
    """
    problems = []
    for name, value in arguments.arguments.items():
        parameter = arguments.signature.parameters[name]
        kinds = _kinds(parameter.annotation)
        several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        try:
            plain = [_plain(one, kinds) for one in (value if several else [value])]
            arguments.arguments[name] = tuple(plain) if several else plain[0]
        except TypeError:
            wanted = " or ".join(dict.fromkeys(_WORDS[kind] for kind in kinds if kind != "None"))
            problems.append(f"{name}: {_shown(value)} is not {wanted}")
        except OverflowError:
            problems.append(f"{name}: {_shown(value)} is larger than anything that can be asked about")
    if problems:
        raise InputError("\n".join(problems))


def _kinds(annotation: str) -> list[str]:
    """The parts of an annotation, without what is inside of them."""
    whole = " | ".join(_UNIONS.get(part, part) for part in annotation.split(" | "))
    return [part.partition("[")[0] for part in whole.split(" | ")]


def _plain(value: Any, kinds: list[str]) -> Any:
    """A value of one of the kinds; a number of NumPy as Python's.

    Raises:
        TypeError: it is of none.
        OverflowError: it is a number that nothing in the world has.
    """
    if value is None and "None" in kinds:
        return None
    if type(value).__name__ in ("bool", "bool_") and "bool" in kinds:
        return bool(value)
    if isinstance(value, Real) and type(value).__name__ not in ("bool", "bool_"):
        if LARGEST < abs(float(value)) < math.inf:
            raise OverflowError
        if "float" in kinds:
            return int(value) if isinstance(value, int) else float(value)
        if "int" in kinds:
            return whole(value)
    if any(isinstance(value, _CLASSES[kind]) for kind in kinds if kind in _CLASSES):
        return value
    if "Iterable" in kinds and isinstance(value, Iterable) and not isinstance(value, str):
        return value
    raise TypeError


def whole(value: Any) -> int:
    """A whole number, of NumPy or without a fraction.

    Raises:
        TypeError: it is none, or too large to be counted.
    """
    if isinstance(value, bool | str):
        raise TypeError
    if isinstance(value, float) and not value.is_integer():
        raise TypeError
    number = int(value) if isinstance(value, float) else operator.index(value)
    if abs(number) > MOST_COUNTED:
        raise TypeError
    return number


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
