"""A function is not worked out twice for the same values, and never mixes up two that differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from planner.performance.capacity import replica_capacity
from planner.performance.remembered import remembered


@dataclass(frozen=True)
class Pair:
    first: Any
    second: Any


@pytest.fixture
def calls() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def asked(calls: list[dict[str, Any]]) -> Any:
    @remembered(2)
    def asked(**given: Any) -> Pair:
        """Both."""
        calls.append(given)
        return Pair(np.array([1.0, 2.0]), given)

    return asked


def test_equal_values_are_asked_once(asked: Any, calls: list[dict[str, Any]]) -> None:
    first = asked(a=np.array([1.0, 2.0]), b=Pair(3.0, None))
    again = asked(b=Pair(3.0, None), a=np.array([1.0, 2.0]))

    assert again is first
    assert len(calls) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"a": np.array([1.0, 2.0 + 2**-51]), "b": Pair(3.0, None)},
        {"a": np.array([[1.0, 2.0]]), "b": Pair(3.0, None)},
        {"a": np.array([1.0, 2.0], dtype=np.float32), "b": Pair(3.0, None)},
        {"a": np.array([1.0, 2.0]), "b": Pair(None, 3.0)},
        {"a": np.array([1.0, 2.0]), "b": Pair(3.0, False)},
        {"a": np.array([1.0, 2.0]), "b": None},
        {"a": np.array([1.0, 2.0])},
        {"b": np.array([1.0, 2.0]), "a": Pair(3.0, None)},
    ],
)
def test_any_difference_is_another_question(
    asked: Any, calls: list[dict[str, Any]], other: dict[str, Any]
) -> None:
    asked(a=np.array([1.0, 2.0]), b=Pair(3.0, None))
    asked(**other)

    assert len(calls) == 2


def test_the_oldest_is_forgotten(asked: Any, calls: list[dict[str, Any]]) -> None:
    for number in (1, 2, 3, 1):
        asked(a=number)

    assert [each["a"] for each in calls] == [1, 2, 3, 1]


def test_what_is_shared_cannot_be_changed(asked: Any) -> None:
    with pytest.raises(ValueError, match="read-only"):
        asked(a=1.0).first[0] = 5.0


def test_an_error_is_raised_each_time() -> None:
    @remembered(2)
    def refuses(**given: Any) -> None:
        raise ValueError(f"not {given['a']}")

    for _ in range(2):
        with pytest.raises(ValueError, match="not 1"):
            refuses(a=1)


def test_the_equation_stays_that_of_the_function() -> None:
    assert "lambda = u lambda*" in (replica_capacity.__doc__ or "")
