"""What a document keeps of a number, for tests that know that it does."""

from __future__ import annotations

from typing import Any

from planner.trace.explain import Explanation, opened


def explained(document: dict[str, Any], name: str | int) -> Explanation:
    """The explanation that a document keeps under a name."""
    found = opened(document, name)
    assert found is not None, name
    return found


def as_before(document: dict[str, Any]) -> dict[str, Any]:
    """A document as it was saved when each explanation had steps of its own, and cells had none."""
    own = {name: explained(document, name).to_dict() for name in document["explanations"]}
    kept = {name: held for name, held in document.items() if name not in ("cells", "steps")}
    return kept | {"explanations": own}
