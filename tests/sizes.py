"""How much a test draws, plays or tries: enough for its claim usually, more with `pytest --nightly`."""

from __future__ import annotations

import os

NIGHTLY = "EVERFLEET_TESTS_NIGHTLY"  # set by the option before any test is read, here and in each worker


def at_night() -> bool:
    return bool(os.environ.get(NIGHTLY))


def size(usual: int, *, nightly: int) -> int:
    """The usual number, or the larger one of a night, which finds what is rarer and no other thing."""
    return nightly if at_night() else usual
