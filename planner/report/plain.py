"""A document as JSON, without what its tables and charts need: what keeps documents starts sooner."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def to_json(document: Mapping[str, Any], *, sort_keys: bool = True) -> str:
    """The document itself: keys sorted unless their order says something, null for NaN and infinity."""
    found = plain(document)
    return json.dumps(found, indent=1, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """The same data without NumPy and without numbers that JSON does not know."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
