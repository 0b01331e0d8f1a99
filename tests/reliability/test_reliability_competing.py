"""Cumulative incidence: by hand, its sum with survival, and against lifelines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reliability.competing import cumulative_incidence
from reliability.survival import kaplan_meier


def test_two_causes_by_hand():
    """Four units: one dead at 1 of a, two at 2 of b, one cut off at 3: F_a = 1/4, F_b = 3/4 * 2/3."""
    found = cumulative_incidence(
        duration_h=[1, 2, 2, 3], observed=[True, True, True, False], cause=["a", "b", "b", "never looked at"]
    )

    assert set(found.causes) == {"a", "b"}
    assert found.causes["a"].incidence_fraction == pytest.approx([0.25, 0.25])
    assert found.causes["b"].incidence_fraction == pytest.approx([0, 0.5])
    assert found.survival_fraction == pytest.approx([0.75, 0.25])
    assert found.at_risk.tolist() == [4, 3]
    assert found.causes["b"].deaths.tolist() == [0, 2]


logs = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 3), st.integers(0, 8), st.integers(1, 3)),
    min_size=1,
    max_size=25,
)


@given(log=logs)
def test_incidences_and_survival_add_up_to_one(log):
    """At each time, whatever the ties, late entries and weights; each in its band, each band in [0, 1]."""
    rows = [(t, cause, min(e, t - 1), w) for t, cause, e, w in log] + [(5, 1, 0, 1)]
    time, cause, entry, weight = (np.array(column) for column in zip(*rows, strict=True))
    given_rows = {"duration_h": time, "observed": cause > 0, "entry_h": entry, "weight": weight}
    found = cumulative_incidence(**given_rows, cause=cause)
    total = sum(curve.incidence_fraction for curve in found.causes.values())

    assert total + found.survival_fraction == pytest.approx(1, abs=1e-12)
    assert found.survival_fraction == pytest.approx(kaplan_meier(**given_rows).survival_fraction, abs=1e-12)
    for curve in found.causes.values():
        share = curve.incidence_fraction
        assert np.all(np.diff(share) >= 0)
        assert np.all((curve.low_fraction >= 0) & (curve.low_fraction <= share + 1e-15))
        assert np.all((curve.high_fraction <= 1) & (curve.high_fraction >= share - 1e-15))


def test_one_cause_is_one_minus_survival():
    """With its band: F's interval on ln(-ln F) is not that of S, but the variance is Greenwood's."""
    random = np.random.default_rng(4)
    time, observed = random.integers(1, 40, 300), random.random(300) < 0.7
    found = cumulative_incidence(duration_h=time, observed=observed, cause=1).causes[1]
    curve = kaplan_meier(duration_h=time, observed=observed)
    alive = curve.survival_fraction
    greenwood = alive**2 * np.cumsum(
        curve.deaths / (curve.at_risk * np.maximum(curve.at_risk - curve.deaths, 1))
    )

    assert found.incidence_fraction == pytest.approx(1 - alive, abs=1e-12)
    assert found.variance[:-1] == pytest.approx(greenwood[:-1], rel=1e-9)


@pytest.mark.parametrize("late", [False, True])
def test_incidence_against_lifelines(late):
    """Without ties, which lifelines shakes apart: curve, variance and interval of both causes."""
    from lifelines import AalenJohansenFitter

    random = np.random.default_rng(0)
    lives, end = random.weibull(1.2, (400, 2)) * [50, 80], random.uniform(10, 100, 400)
    time, cause = np.minimum(lives.min(axis=1), end), lives.argmin(axis=1) + 1
    observed = lives.min(axis=1) <= end
    entry = time * random.random(400) * 0.5 if late else np.zeros(400)
    weight = random.integers(1, 3, 400) if late else np.ones(400)
    found = cumulative_incidence(
        duration_h=time, observed=observed, cause=cause, entry_h=entry, weight=weight, confidence_fraction=0.9
    )
    for name, curve in found.causes.items():
        options = {"entry": entry, "weights": weight} if late else {}
        other = AalenJohansenFitter(alpha=0.1).fit(
            time, np.where(observed, cause, 0), event_of_interest=name, **options
        )
        died = np.isin(other.cumulative_density_.index, found.time_h)
        low, high = other.confidence_interval_.to_numpy()[died].T
        seen = curve.incidence_fraction > 0

        assert curve.incidence_fraction == pytest.approx(
            other.cumulative_density_.to_numpy()[died, 0], abs=1e-12
        )
        assert curve.variance == pytest.approx(other.variance_.to_numpy()[died], abs=1e-14)
        assert curve.low_fraction[seen] == pytest.approx(low[seen], abs=1e-10)
        assert curve.high_fraction[seen] == pytest.approx(high[seen], abs=1e-10)


def test_no_death_is_refused():
    with pytest.raises(ValueError, match="observed must hold at least one death, got none in 2 rows"):
        cumulative_incidence(duration_h=[1, 2], observed=[False, False], cause=["a", "b"])
