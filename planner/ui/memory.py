"""What a run of a page costs besides its script."""

from __future__ import annotations

import gc
import sys
from functools import cache


def let_modules_rest() -> None:
    """Keep what modules hold out of the search for garbage that Streamlit makes after each run.

    Those are some hundred thousand objects that never go: to look through them takes longer than most pages.
    """
    _rest_with(len(sys.modules))


@cache  # pages bring in modules of their own when they are first opened, and then no more
def _rest_with(modules: int) -> None:
    gc.collect()
    gc.freeze()
