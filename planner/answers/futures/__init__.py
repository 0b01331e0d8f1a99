"""Futures: plans whose orders are right for several of them, and replays of how a plan would have fared."""

from planner.answers.futures.document import futures_document
from planner.answers.futures.page import futures_text
from planner.program.future_scenarios import in_future, mean_future
from planner.program.futures import FuturesPlan, plan_futures
from planner.program.replay import Replay, replay

__all__ = [
    "FuturesPlan",
    "Replay",
    "futures_document",
    "futures_text",
    "in_future",
    "mean_future",
    "plan_futures",
    "replay",
]
