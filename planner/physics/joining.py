"""One column from columns of several laws, each of which worked out some of its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.trace.quantities import Traced, pick


def interleaved(columns: Sequence[Traced], counts: Sequence[int], order: NDArray[np.intp]) -> Traced:
    """Row i is row `order[i]` of the columns one below the other, `counts` rows each; it opens to its own."""
    which = np.repeat(np.arange(len(columns)), counts)[order]
    at = np.concatenate([np.arange(count) for count in counts])[order]
    return pick([columns[w][int(k)] for w, k in zip(which, at, strict=True)], np.arange(len(order)))
