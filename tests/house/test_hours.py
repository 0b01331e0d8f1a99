"""The study of slots: a fleet operated hour by hour takes what its slots say."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.studies import hours
from planner.inputs.scenario import parse_scenario, with_changes
from planner.inputs.series import load_series

MONTH = {
    "horizon.periods": 1,
    "horizon.period": "month",
    "pools.search.gpu_time": "37000 h",
    "solve.gap": "1 %",
}


def test_slots_are_within_a_percent_of_all_hours() -> None:
    """Measured hours of Great Britain: the plan's totals, and the part of them that operation decides."""
    row = hours.compared("measured", with_changes(parse_scenario(hours.FAMILIES["measured"]), MONTH))
    assert abs(row.money_error) < 0.001
    assert abs(row.carbon_error) < 0.01
    assert row.operation_kgco2e == pytest.approx(row.hourly_operation_kgco2e, rel=0.03)


def test_hours_are_those_of_the_months() -> None:
    """April to June, over their mean; the year that ships begins with the first of January."""
    series = load_series("synthetic-us-camx").complete()
    found = hours.hours_of("synthetic-us-camx", 4, 3)
    assert found * series[90 * 24 : 181 * 24].mean() == pytest.approx(series[90 * 24 : 181 * 24])
    assert found.mean() == pytest.approx(1.0)
    assert np.size(hours.hours_of("gb-2021", 2, 1)) == 28 * 24
