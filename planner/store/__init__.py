"""The store: scenarios, plans, fits, sweeps, futures, kept to be shown, compared and worked out again.

A SQLite file of one's own, or a database that a team shares. What is saved is named by the SHA-256 of its
content: the same twice is one row. A save is one transaction: a kill leaves what was there before.
"""

from planner.store.comparing import compare_plans
from planner.store.errors import StoreError
from planner.store.exporting import export_futures, export_plan
from planner.store.futures import SavedFuturesPlan
from planner.store.kept import KeptScenario, keep, restored
from planner.store.plans import Fit, SavedPlan, Store, open_store
from planner.store.repeating import Repeat, recompute
from planner.store.sweeps import Point, SavedSweep

__all__ = [
    "Fit", "KeptScenario", "Point", "Repeat", "SavedFuturesPlan", "SavedPlan", "SavedSweep", "Store",
    "StoreError", "compare_plans", "export_futures", "export_plan", "keep", "open_store", "recompute",
    "restored",
]  # fmt: skip
