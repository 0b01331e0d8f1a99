"""The study of slots: a fleet operated hour by hour takes what its slots say."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.studies import hours
from planner.inputs.scenario import Scenario, parse_scenario, with_changes
from planner.inputs.series import load_series
from planner.program.plan import plan_fleet

MONTH = {
    "horizon.periods": 1,
    "horizon.period": "month",
    "pools.search.gpu_time": "37000 h",
    "solve.gap": "1 %",
}


@pytest.mark.slow
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


def with_more(*, ramp: str | None) -> Scenario:
    """Two sites whose work ramps, moves data, adopts and stops when the one that is cleaner is called on."""
    pool = {
        "data_site": "berlin",
        "data_moved": "2 GB",
        "techniques": ["candidate-prediction"],
        "ramp": ramp,
    }
    called = {
        "curtailment": "5 kW",
        "curtailment_hours": "1500 h",
        "curtailment_event": "4 h",
        "curtailment_notice": "30 min",
        "curtailment_payment": "600 USD/kW/month",
    }
    changes = {f"pools.search.{key}": value for key, value in pool.items() if value is not None}
    changes |= {f"sites.zaragoza.{key}": value for key, value in called.items()}
    known = {f"planning.slots.known_in_{window}": "1" for window in ("day", "period")}
    changes["facts"] = known | {"planning.person_hour": "0.1 USD/h"}  # else a month is too short to adopt in
    return with_changes(parse_scenario(hours.FAMILIES["two sites"]), MONTH | changes)


@pytest.mark.solve
@pytest.mark.parametrize("ramp", [None, "5 %/h"])
def test_ramps_techniques_data_and_calls_are_known_hour_by_hour(ramp: str | None) -> None:
    """Operation of the hours is as near to that of the slots as without them, and a ramp costs in both."""
    scenario = with_more(ramp=ramp)
    solution = plan_fleet(scenario, baselines=False).answer.solution
    assert solution is not None
    assert (solution.adopted.tolist(), solution.signed.tolist()) == ([1], [1, 0])
    row = hours.compared("two sites", scenario)
    assert abs(row.money_error) < 0.001
    assert abs(row.carbon_error) < 0.01
    assert row.operation_kgco2e == pytest.approx(row.hourly_operation_kgco2e, rel=0.03)


@pytest.mark.slow
def test_what_is_not_known_hour_by_hour_is_refused_by_name() -> None:
    sun = {"solar": "20 kW", "solar_yield": 0.2, "solar_latitude": 36.8, "solar_longitude": -119.8}
    changes = {f"sites.fresno.{key}": value for key, value in sun.items()}
    charge = {"sites.fresno.demand_charge": "10 USD/kW/month", "sites.fresno.electricity_price": "60 USD/MWh"}
    with pytest.raises(ValueError, match="of demand charges, batteries and the sun: leave them out"):
        hours.compared(
            "sunny", with_changes(parse_scenario(hours.FAMILIES["sunny"]), MONTH | changes | charge)
        )
