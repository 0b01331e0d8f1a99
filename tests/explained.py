"""What a document keeps of a number, for tests that know that it does."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from planner.trace.explain import Explanation, kept_step

EQUATION = re.compile(r"(\w+) = (.*)")


def explained(document: dict[str, Any], name: str | int) -> Explanation:
    """The explanation that a document keeps under a name."""
    found = kept_step(document, name)
    assert found is not None, name
    return found


def as_before(document: dict[str, Any]) -> dict[str, Any]:
    """A document as it was saved when each explanation had steps of its own, and cells had none."""
    own = {name: explained(document, name).to_dict() for name in document["explanations"]}
    kept = {name: held for name, held in document.items() if name not in ("cells", "steps")}
    return kept | {"explanations": own}


def made_by(equation: str, values: dict[str, float]) -> float:
    """What an equation gives for the numbers below it."""
    if equation.startswith("sum of the"):
        return math.fsum(values.values())
    return float(eval(equation, {"__builtins__": {"abs": abs}}, values))


def equations_hold(explanation: Explanation) -> int:
    """Check the equations that are written in the names of the inputs; how many there are.

    Those of kept explanations are in the letters of their papers.
    """
    checked = 0
    for step in explanation.steps:
        found = EQUATION.fullmatch(step.equation)
        if found is None or found[1] != step.name:
            continue
        values = {name: explanation.steps[below].value for name, below in step.inputs.items()}
        if not found[2].startswith("sum of the") and not set(values) & set(re.findall(r"\w+", found[2])):
            continue
        assert made_by(found[2], values) == pytest.approx(step.value, rel=1e-6, abs=1e-6), step
        checked += 1
    return checked
