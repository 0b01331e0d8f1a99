"""The store: scenarios, plans, fits, sweeps, futures, kept to be shown, compared and worked out again.

A SQLite file of your own, or a database that a team shares. What is saved is named by the SHA-256 of its
content: the same twice is one row. A save is one transaction: a kill leaves what was there before.
"""

from planner.store.errors import StoreError
from planner.store.labels import Labels, labels_of
from planner.store.store import Fit, Point, SavedFuturesPlan, SavedPlan, SavedSweep, Store, open_store

__all__ = [
    "Fit",
    "Labels",
    "Point",
    "SavedFuturesPlan",
    "SavedPlan",
    "SavedSweep",
    "Store",
    "StoreError",
    "labels_of",
    "open_store",
]
