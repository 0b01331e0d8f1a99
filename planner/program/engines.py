"""What is said where an engine of the solver cannot be believed: one refusal, whichever question met it.

A search may ask HiGHS next to the engine that a scenario names: fronts, other plans, prices of limits, and
why there is no plan.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from planner.inputs.scenario import Solve
from planner.trace.errors import InputError
from solver.backend import trust
from solver.selftest import UntrustedEngine

Given = ParamSpec("Given")
Found = TypeVar("Found")


def refusing(search: Callable[Given, Found]) -> Callable[Given, Found]:
    """The search, where an engine that answers wrongly what is known is an InputError."""

    @wraps(search)
    def refused(*given: Given.args, **named: Given.kwargs) -> Found:
        try:
            return search(*given, **named)
        except UntrustedEngine as error:
            raise InputError(f"solve.engine: {error}") from error

    return refused


@refusing
def require_trusted(settings: Solve) -> None:
    """Refuse an engine that answers wrongly what is known.

    Raises:
        InputError: with its version, and what to do instead.
    """
    trust(settings.engine)
