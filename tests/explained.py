"""What a document keeps of a number, for tests that know that it does."""

from __future__ import annotations

from typing import Any

from planner.trace.explain import Explanation, opened


def explained(document: dict[str, Any], name: str | int) -> Explanation:
    """The explanation that a document keeps under a name."""
    found = opened(document, name)
    assert found is not None, name
    return found
