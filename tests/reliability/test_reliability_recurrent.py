"""Repeated failures: published examples, a count over every unit, and the servers of a training cluster."""

import numpy as np
import pytest

from reliability.recurrent import trend_test

# NIST/SEMATECH e-Handbook 8.2.3.4 and 8.4.5: one system, ten failures, watched for 1500 h.
NIST = {
    "event_unit": [1] * 10,
    "event_h": [5, 40, 43, 175, 389, 712, 747, 795, 1299, 1478],
    "unit": [1],
    "end_h": 1500,
}


def test_trend_of_the_nist_system():
    """NIST: MIL-HDBK chi-square 37.23 of 20 degrees. Laplace by hand, the ages add up to 5683."""
    test = trend_test(**NIST)

    assert test.military_chi_square == pytest.approx(37.23, abs=0.005)
    assert test.military_p_value / 2 == pytest.approx(0.011, abs=0.0005)
    assert test.laplace_z == pytest.approx(-1817 / 1500 / np.sqrt(10 / 12), rel=1e-12)
    assert test.laplace_p_value / 2 == pytest.approx(0.092, abs=0.001)
    assert test.failures == 10


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


def test_a_fleet_without_failures_has_no_trend():
    with pytest.raises(ValueError, match="event_h must hold at least one failure, got none"):
        trend_test(event_unit=[], event_h=[], unit=[1, 2], end_h=[5, 7])


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
    ],
)
def test_histories_that_make_no_sense_are_refused(change, message):
    log = {"event_unit": ["a", "a"], "event_h": [2.0, 5.0], "unit": ["a", "b"], "end_h": 10.0} | change

    with pytest.raises(ValueError, match=message):
        trend_test(**log)
