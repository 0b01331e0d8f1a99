"""Futures: plans whose orders are right for several of them, and replays of how a plan would have fared."""

from planner.futures.changes import in_future, mean_future
from planner.futures.document import futures_document
from planner.futures.planning import FuturesPlan, plan_futures
from planner.futures.repeating import recompute_futures
from planner.futures.replay import Replay, replay
from planner.report.futures import futures_text

__all__ = [
    "FuturesPlan", "Replay", "futures_document", "futures_text", "in_future", "mean_future", "plan_futures",
    "recompute_futures", "replay",
]  # fmt: skip
