"""Every way to lay one model over a number of accelerators, and the fastest that fits in memory."""

from planner.performance.layouts.candidates import layout_candidates
from planner.performance.layouts.search import Layout, NoLayout, best_layout, recompute_says
from planner.performance.layouts.stated import require_layout

__all__ = [
    "Layout",
    "NoLayout",
    "best_layout",
    "layout_candidates",
    "recompute_says",
    "require_layout",
]
