"""Documents as they are kept: packed, named by their content, with what they were made by."""

from __future__ import annotations

import hashlib
import json
import platform
import zlib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from planner.report.editions import up_to_date
from planner.report.plain import to_json
from planner.trace.records import Record

OF_A_RUN = ("seconds", "searched_on")  # of a status
LIBRARIES = ("everfleet", "highspy", "pulp", "numpy", "scipy")


def packed(document: Mapping[str, Any]) -> bytes:
    """A document in few bytes, sections and columns in their order; the same always gives the same."""
    return zlib.compress(to_json(dict(document), sort_keys=False).encode())


def unpacked(content: bytes) -> Record:
    """The document that was packed, as this everfleet writes it."""
    return up_to_date(json.loads(zlib.decompress(content)))


def content_digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of all in a document that another run gives again."""
    return hashlib.sha256(to_json(repeatable(document)).encode()).hexdigest()


def repeatable(document: Mapping[str, Any]) -> Record:
    """A document without what no two runs share: the seconds that the solver took, the day if not today."""
    status = document.get("status")
    if not isinstance(status, dict):
        return dict(document)
    return {**document, "status": {key: value for key, value in status.items() if key not in OF_A_RUN}}


def versions_here() -> dict[str, str]:
    """Versions of everfleet, of what it computes with, and of Python."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
