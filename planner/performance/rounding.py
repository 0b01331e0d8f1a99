"""Things that are counted whole: devices, nodes, replicas, workers, drives."""

import numpy as np

from planner.performance.columns import Column


def rounded_up(value: Column) -> Column:
    """The next whole number; a quotient within 1e-9 of a whole number is that number."""
    nearest = np.round(value)
    slack = 1e-9 + 4.0 * np.spacing(np.abs(nearest))
    whole: Column = np.where(np.abs(np.subtract(value, nearest)) <= slack, nearest, np.ceil(value))[()]
    return whole
