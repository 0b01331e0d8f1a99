"""Ranges come from the facts' own ranges, jointly, and never from nowhere."""

import numpy as np
import pytest

from planner.trace.quantities import Fact, Source, derive
from planner.trace.uncertainty import cause_of, draw_facts, spread, tornado

PAPER = Source("paper", "A paper")


def fact(key, value, low, high, kind="published", unit="kWh"):
    return Fact(value, unit, key=key, source=PAPER, locator="", kind=kind, low=low, high=high)


def sum_kwh(*, first_kwh, second_kwh):
    """Sum.

    E = a + b
    """
    return first_kwh + second_kwh


def test_tornado_goes_to_both_ends_and_sorts_by_width():
    a, b = fact("x.a.energy", 10.0, 9.0, 11.0), fact("x.b.power", 100.0, 50.0, 250.0)
    swings = tornado(derive(sum_kwh, first_kwh=a, second_kwh=b))
    assert [(s.fact.key, s.at_low, s.at_high) for s in swings] == [
        ("x.b.power", 60.0, 260.0),
        ("x.a.energy", 109.0, 111.0),
    ]


def test_half_of_the_draws_lie_below_the_value_and_none_outside():
    skewed = fact("x.a.energy", 10.0, 9.0, 50.0)
    (draws,) = draw_facts([skewed], 20_000, seed=1)
    assert np.mean(draws < 10.0) == pytest.approx(0.5, abs=0.015)
    assert draws.min() >= 9.0
    assert draws.max() <= 50.0


def test_a_uniform_range_has_the_quantiles_of_a_uniform():
    """Assumed 0..100 around 50: p5 = 5; an estimated one is triangular: p5 = 15.8 = 100 sqrt(0.05 / 2)."""
    (assumed,) = spread(
        [
            derive(
                sum_kwh,
                first_kwh=fact("x.a.e", 50.0, 0.0, 100.0, "assumed"),
                second_kwh=fact("x.b.f", 0.0, 0.0, 0.0),
            )
        ],
        draws=4000,
    )
    (estimated,) = spread(
        [
            derive(
                sum_kwh,
                first_kwh=fact("x.a.e", 50.0, 0.0, 100.0, "estimated"),
                second_kwh=fact("x.b.f", 0.0, 0.0, 0.0),
            )
        ],
        draws=4000,
    )
    assert (assumed.p5, assumed.p50, assumed.p95) == pytest.approx((5, 50, 95), abs=2)
    assert (estimated.p5, estimated.p95) == pytest.approx((15.8, 84.2), abs=2)


def test_facts_of_one_cause_err_together():
    one, two = fact("grid.fr.intensity", 10.0, 5.0, 15.0), fact("grid.de.intensity", 10.0, 5.0, 15.0)
    other = fact("site.a.pue", 10.0, 5.0, 15.0)
    assert cause_of(one) == cause_of(two) == "grid.intensity"
    a, b, c = draw_facts([one, two, other], 500, seed=3)
    assert np.array_equal(a, b)
    assert abs(np.corrcoef(a, c)[0, 1]) < 0.2


def test_same_seed_same_answer_and_no_range_no_spread():
    total = derive(sum_kwh, first_kwh=fact("x.a.e", 10.0, 5.0, 15.0), second_kwh=fact("x.b.f", 1.0, 1.0, 1.0))
    assert spread([total], seed=7) == spread([total], seed=7)
    fixed = derive(sum_kwh, first_kwh=fact("x.b.f", 1.0, 1.0, 1.0), second_kwh=fact("x.b.f", 1.0, 1.0, 1.0))
    assert (spread([fixed])[0].p5, spread([fixed])[0].p95) == (2.0, 2.0)
