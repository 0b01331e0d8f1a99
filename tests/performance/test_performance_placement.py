"""Tables on devices: against trying every placement, and the published Criteo tables."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.performance.recommendation.placement import (
    Parts,
    fewest_devices,
    least_largest_cost,
    split_tables,
)

tables = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 12)), min_size=1, max_size=5)


def tried(rows, devices, memory):
    """Largest cost of each placement that fits, by trying all."""
    for places in product(range(devices), repeat=len(rows)):
        held = [
            sum(size for (size, _), at in zip(rows, places, strict=True) if at == d) for d in range(devices)
        ]
        if max(held) <= memory:
            yield max(
                sum(cost for (_, cost), at in zip(rows, places, strict=True) if at == d)
                for d in range(devices)
            )


@pytest.mark.slow
@settings(max_examples=25)
@given(rows=tables, devices=st.integers(1, 3), memory=st.integers(9, 20))
def test_placement_is_the_best_of_all(rows, devices, memory):
    parts = Parts(np.array([float(r[0]) for r in rows]), np.array([float(r[1]) for r in rows]))
    costs = list(tried(rows, devices, memory))

    if costs:
        found = least_largest_cost(parts=parts, devices=devices, memory_gb=memory)
        assert found == pytest.approx(min(costs))
        assert fewest_devices(parts=parts, memory_gb=memory) <= devices
    else:
        assert fewest_devices(parts=parts, memory_gb=memory) > devices
        with pytest.raises(ValueError, match="do not hold"):
            least_largest_cost(parts=parts, devices=devices, memory_gb=memory)


def test_split_tables_weigh_and_cost_the_same_together():
    parts = split_tables(size_gb=[20.0, 6.0], cost=[100.0, 3.0], pieces=[4, 1])

    assert list(parts.size_gb) == [5.0, 5.0, 5.0, 5.0, 6.0]
    assert list(parts.cost) == [25.0, 25.0, 25.0, 25.0, 3.0]
    assert least_largest_cost(parts=parts, devices=5, memory_gb=8.0) == 25.0


def test_a_table_that_no_device_holds_is_named():
    with pytest.raises(ValueError, match=r"25 GB exceeds the 24 GB of a device: split it"):
        fewest_devices(parts=Parts(np.array([25.0]), np.array([1.0])), memory_gb=24.0)
