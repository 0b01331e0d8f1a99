"""Repeated failures: published examples, a count over every unit, and the servers of a training cluster."""

import json
from collections import defaultdict

import numpy as np
import pytest

from reliability.fitting import fit_weibull
from reliability.lifetimes import expected_failures
from reliability.recurrent import fit_power_law, gaps_between_failures, trend_test

# NIST/SEMATECH e-Handbook 8.2.3.4 and 8.4.5: one system, ten failures, watched for 1500 h.
NIST = {
    "event_unit": [1] * 10,
    "event_h": [5, 40, 43, 175, 389, 712, 747, 795, 1299, 1478],
    "unit": [1],
    "end_h": 1500,
}
# Crow, "Reliability analysis for complex, repairable systems", 1974: three systems watched for 200 h.
CROW = [
    [4.3, 4.4, 10.2, 23.5, 23.8, 26.4, 74.0, 77.1, 92.1, 197.2],
    [0.1, 5.6, 18.6, 19.5, 24.2, 26.7, 45.1, 45.8, 75.7, 79.7, 98.6, 120.1, 161.8, 180.6, 190.8],
    [8.4, 32.5, 44.7, 48.4, 50.6, 73.6, 98.7, 112.2, 129.8, 136.0, 195.8],
]


def test_trend_of_the_nist_system():
    """NIST: MIL-HDBK chi-square 37.23 of 20 degrees. Laplace by hand, the ages add up to 5683."""
    test = trend_test(**NIST)

    assert test.military_chi_square == pytest.approx(37.23, abs=0.005)
    assert test.military_p_value / 2 == pytest.approx(0.011, abs=0.0005)
    assert test.laplace_z == pytest.approx(-1817 / 1500 / np.sqrt(10 / 12), rel=1e-12)
    assert test.laplace_p_value / 2 == pytest.approx(0.092, abs=0.001)
    assert test.failures == 10


def test_power_law_of_the_nist_system():
    """NIST: b = 0.4835, a = 0.2913 with b corrected by (n - 1) / n; ours is of highest likelihood."""
    model = fit_power_law(**NIST).model
    corrected = model.shape * 9 / 10

    assert corrected == pytest.approx(0.4835, abs=0.0001)
    assert 10 / 1500**corrected == pytest.approx(0.2913, abs=0.0001)
    assert model.cumulative_hazard(age_h=1500) == pytest.approx(10, rel=1e-12)


def test_power_law_of_crows_three_systems():
    """Crow 1974: shape 0.615, lambda 0.461 failures for each system and h^shape."""
    fit = fit_power_law(
        event_unit=np.repeat([1, 2, 3], [10, 15, 11]),
        event_h=np.concatenate(CROW),
        unit=[1, 2, 3],
        end_h=200.0,
    )

    assert fit.model.shape == pytest.approx(0.615, abs=0.0005)
    assert fit.model.scale_h**-fit.model.shape == pytest.approx(0.461, abs=0.0005)
    assert np.sqrt(fit.covariance[1, 1]) == pytest.approx(fit.model.shape / 6, rel=1e-6)


def test_power_law_of_units_that_start_and_end_apart():
    """Drawn as scale * (unit Poisson arrivals)^(1 / shape): within three errors; adds up to the count."""
    random = np.random.default_rng(6)
    start, end = random.uniform(0, 300, 300), random.uniform(400, 900, 300)
    arrivals = 200 * np.cumsum(random.exponential(size=(300, 60)), axis=1) ** (1 / 1.6)
    owner, place = np.nonzero((arrivals > start[:, None]) & (arrivals <= end[:, None]))
    fit = fit_power_law(
        event_unit=owner, event_h=arrivals[owner, place], unit=np.arange(300), end_h=end, start_h=start
    )
    errors = np.sqrt(np.diag(fit.covariance))

    assert abs(fit.model.scale_h - 200) < 3 * errors[0]
    assert abs(fit.model.shape - 1.6) < 3 * errors[1]
    assert expected_failures(fit.model, age_h=start, window_h=end - start).sum() == pytest.approx(
        owner.size, rel=1e-9
    )


def test_trend_tests_reject_as_often_as_they_say():
    """200 fleets, each unit with its constant rate: 5 % rejected by each, so 3 to 19 (binomial, 99.9 %)."""
    random = np.random.default_rng(17)
    laplace = military = 0
    for _ in range(200):
        counts = random.poisson([1, 3, 10, 2], 4)
        end = np.array([50.0, 100.0, 80.0, 200.0])
        owner = np.repeat(np.arange(4), counts)
        test = trend_test(
            event_unit=owner,
            event_h=10 + random.random(owner.size) * end[owner],
            unit=np.arange(4),
            end_h=end + 10,
            start_h=10,
        )
        laplace += test.laplace_p_value < 0.05
        military += test.military_p_value < 0.05

    assert 3 <= laplace <= 19
    assert 3 <= military <= 19


def test_gaps_of_two_units_by_hand():
    """Unit a fails at 2 (back at 3) and 7 (back at 9), cut off at 10; b never; c is down at its end."""
    found = gaps_between_failures(
        event_unit=["a", "c", "a"], event_h=[7, 4, 2], back_h=[9, np.inf, 3], unit=["b", "a", "c"], end_h=10
    )

    assert found.unit.tolist() == ["a", "a", "a", "b", "c"]
    assert found.entry_h.tolist() == [0, 3, 9, 0, 0]
    assert found.end_h.tolist() == [2, 7, 10, 10, 4]
    assert found.observed.tolist() == [True, True, False, False, True]
    assert found.gap.tolist() == [0, 1, 2, 0, 0]
    assert found.duration_h.tolist() == [2, 4, 1, 10, 4]


def test_a_fleet_without_failures_is_all_gap_and_no_trend():
    found = gaps_between_failures(event_unit=[], event_h=[], unit=[1, 2], end_h=[5, 7])

    assert found.duration_h.tolist() == [5, 7]
    assert not found.observed.any()
    with pytest.raises(ValueError, match="event_h must hold at least one failure, got none"):
        trend_test(event_unit=[], event_h=[], unit=[1, 2], end_h=[5, 7])


@pytest.fixture(scope="module")
def faults(shared):
    """Starts of faults by server, in days; 169 of the 400 servers had none."""
    events = json.loads((shared / "data/infinitehbd_trace/fault_trace.json").read_text(encoding="utf-8"))
    starts = defaultdict(list)
    for event in events:
        if event["event_type"] == "fault_start":
            starts[event["node_id"]].append(event["event_time"])
    return starts


def gaps_of(faults):
    servers = [*faults, *(f"never failed {number}" for number in range(400 - len(faults)))]
    return gaps_between_failures(
        event_unit=[name for name, times in faults.items() for _ in times],
        event_h=[time for times in faults.values() for time in times],
        unit=servers,
        end_h=348.98,
    )


def test_faults_repeat_soon_after_repair(faults):
    """Reference: first faults wear out (shape 1.13), all gaps of a server do the opposite (0.49)."""
    gaps = gaps_of(faults)
    first = gaps.gap == 0
    whole = fit_weibull(duration_h=gaps.duration_h, observed=gaps.observed).model
    fresh = fit_weibull(duration_h=gaps.duration_h[first], observed=gaps.observed[first]).model
    again = fit_weibull(duration_h=gaps.duration_h[~first], observed=gaps.observed[~first]).model

    assert gaps.observed.sum() == 584
    assert first.sum() == 400
    assert whole.shape == pytest.approx(0.49, abs=0.005)
    assert fresh.shape == pytest.approx(1.13, abs=0.01)
    assert again.shape < 0.45


def test_faults_of_the_cluster_come_in_bursts(faults):
    """Reference: gaps of the whole cluster, those that coincide joined, have shape 0.62."""
    times = np.unique(np.concatenate(list(faults.values())))
    gaps = gaps_between_failures(
        event_unit=["cluster"] * times.size, event_h=times, unit=["cluster"], end_h=times[-1]
    )
    later = gaps.gap > 0

    shape = fit_weibull(duration_h=gaps.duration_h[later], observed=gaps.observed[later]).model.shape
    assert shape == pytest.approx(0.62, abs=0.005)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"event_unit": ["x", "a"]}, "event_unit holds x, which unit does not name"),
        ({"unit": ["a", "a"]}, "unit must name each unit once, got 2 rows for 1 units"),
        ({"event_h": [2.0, 11.0]}, "event_h must be after start_h and not after end_h .*, got 11 for unit a"),
        ({"event_h": [np.nan, 5.0]}, "event_h must be after start_h .*, got nan for unit a"),
        ({"event_h": [5.0, 5.0]}, "event_h: unit a fails twice at 5; join events that coincide"),
        ({"start_h": 10.0}, "end_h must be a finite number above start_h.*: unit a has 10 to 10"),
        ({"start_h": -1.0}, "end_h must be .* start_h, which is from 0 up: unit a has -1 to 10"),
        (
            {"back_h": [6.0, 7.0]},
            "back_h: unit a fails at 5 and is back at 7, but was down until 6; join outages",
        ),
        ({"back_h": [1.0, 7.0]}, "back_h: unit a fails at 2 and is back at 1"),
        ({"back_h": [np.nan, 7.0]}, "back_h: unit a fails at 2 and is back at nan"),
    ],
)
def test_histories_that_make_no_sense_are_refused(change, message):
    log = {"event_unit": ["a", "a"], "event_h": [2.0, 5.0], "unit": ["a", "b"], "end_h": 10.0} | change

    with pytest.raises(ValueError, match=message):
        gaps_between_failures(**log)
