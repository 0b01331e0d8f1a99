"""Results of costly pure functions, kept by the values of their arguments for plans that are made again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])
_FORGET: list[Callable[[], None]] = []


def forget() -> None:
    """Drop all results that are kept: what worked them out has changed."""
    for each in _FORGET:
        each()


def remembered(most: int) -> Callable[[Function], Function]:
    """Keep the `most` last results of a function of keywords that are numbers, columns and bundles of them.

    Results are shared, so that their columns cannot be written to. The function answers each row alone, and
    says so by `by_rows`: many questions may be asked as one, with their rows one below the other.
    """

    def of(function: Function) -> Function:
        @lru_cache(maxsize=most)
        def found(question: _Question) -> Any:
            given, question.given = question.given, {}
            result = function(**given)
            _protect(result)
            return result

        @wraps(function)
        def recalled(**given: Any) -> Any:
            return found(_Question(given))

        vars(recalled)["by_rows"] = True
        _FORGET.append(found.cache_clear)
        return cast(Function, recalled)

    return of


def digest_of(value: Any) -> bytes:
    """32 bytes that stand for a value of numbers, texts, columns and bundles of them, and for no other.

    Raises:
        TypeError: something in it is neither.
    """
    said = hashlib.sha256()
    _say(value, said)
    return said.digest()


class _Question:
    """Arguments, equal where all their values are; once answered, it holds them no more."""

    __slots__ = ("digest", "given")

    def __init__(self, given: dict[str, Any]) -> None:
        self.given, self.digest = given, digest_of(given)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Question) and self.digest == other.digest


def _say(value: Any, said: Any) -> None:
    """Add a value to a digest, with its kind and shape: no two that differ add the same."""
    if isinstance(value, dict):
        said.update(b"{%d" % len(value))
        for name, part in sorted(value.items()):
            said.update(name.encode() + b"=")
            _say(part, said)
    elif is_dataclass(value):
        said.update(type(value).__qualname__.encode())
        _say({one.name: getattr(value, one.name) for one in fields(value)}, said)
    elif value is None:
        said.update(b"none")
    else:
        column = np.asarray(value)
        if column.dtype.hasobject:
            raise TypeError(f"{value!r} is no number and no column of numbers")
        said.update(f"{column.dtype.str}{column.shape}".encode())
        said.update(column.tobytes())


def _protect(value: Any) -> None:
    """Make the columns of a result, and of its parts, refuse to be written to."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif is_dataclass(value):
        for one in fields(value):
            _protect(getattr(value, one.name))
