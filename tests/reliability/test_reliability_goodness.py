"""The test of a fitted lifetime: p is even where the model is right, and small where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from reliability.fitting import fit_exponential, fit_weibull
from reliability.goodness import fit_test


def lives(random: np.random.Generator, shape: float, units: int = 300) -> dict[str, np.ndarray]:
    """Weibull lives of mean scale 1,000 h, a third of them censored, a quarter watched from 100 h on."""
    entry = np.where(random.random(units) < 0.25, 100.0, 0.0)
    hazard = (entry / 1000.0) ** shape + random.exponential(size=units)
    death = 1000.0 * hazard ** (1.0 / shape)
    end = entry + random.uniform(200.0, 3000.0, units)
    return {"duration_h": np.minimum(death, end), "observed": death <= end, "entry_h": entry}


@pytest.mark.slow
def test_p_is_even_where_the_model_is_right() -> None:
    """Of 200 logs of the fitted family a tenth has p below 0.1, and the mean is a half.

    Standard errors: 0.021 of the tenth, 0.020 of the mean; each is allowed three.
    """
    random = np.random.default_rng(3)
    tested = []
    for _ in range(200):
        rows = lives(random, 0.8)
        found = fit_test(fit_weibull(**rows), **rows)
        assert found is not None
        tested.append(found)
    p = np.array([one.p_value for one in tested])

    assert np.mean(p < 0.1) == pytest.approx(0.1, abs=0.064)
    assert p.mean() == pytest.approx(0.5, abs=0.061)


def test_p_is_small_where_the_model_is_wrong() -> None:
    """Wear-out of shape 2.5 is no constant rate; the Weibull that made it is not refused."""
    rows = lives(np.random.default_rng(5), 2.5)
    constant, right = fit_test(fit_exponential(**rows), **rows), fit_test(fit_weibull(**rows), **rows)

    assert constant is not None
    assert right is not None
    assert constant.p_value < 1e-6
    assert right.p_value > 0.01


def test_an_exponential_fit_uses_up_one_degree() -> None:
    """Its deaths add up to those expected: of ten stretches nine are free (the score equation)."""
    rows = lives(np.random.default_rng(7), 1.0)
    found = fit_test(fit_exponential(**rows), **rows)

    assert found is not None
    assert found.degrees == 9


def test_too_few_deaths_are_not_tested() -> None:
    """Nine deaths fill one stretch of five: nothing is left over to judge by."""
    rows = lives(np.random.default_rng(9), 1.0, units=14)
    rows["observed"] &= np.cumsum(rows["observed"]) <= 9

    assert fit_test(fit_exponential(**rows), **rows) is None
