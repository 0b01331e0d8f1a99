"""When a search has to end although it is not done."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(seconds: float, should_stop: Callable[[], bool] | None = None) -> Callable[[], bool]:
    """Stop when somebody asks for it, or when the time is up."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end or (should_stop is not None and should_stop())
