"""Starts of work against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from carbon.shifting import best_starts

TWO_DAYS = arrays(float, 48, elements=st.floats(0, 1.2))


def random_grid(*shape, seed=0):
    return np.random.default_rng(seed).random(shape)


@given(grid=TWO_DAYS, run=st.integers(1, 12), slack=st.integers(0, 30))
def test_the_best_start_is_that_of_trying_each(grid, run, slack):
    """Independent route: a Python loop over every arrival and every wait."""
    got = best_starts(grid_kgco2e_per_kwh=grid, run_hours=run, slack_hours=slack)
    tried = [
        min(grid[a + w : a + w + run].mean() for w in range(slack + 1)) for a in range(48 - run - slack + 1)
    ]

    assert got.grid_kgco2e_per_kwh == pytest.approx(tried, abs=1e-12)
    assert (got.wait_hours >= 0).all()
    assert (got.wait_hours <= slack).all()


def test_of_equal_starts_the_earliest_is_taken():
    """On a flat grid nothing is gained by waiting, so nobody waits."""
    got = best_starts(grid_kgco2e_per_kwh=np.full(100, 0.25), run_hours=4, slack_hours=40)

    assert not got.wait_hours.any()


def test_fifty_sites_give_what_each_gives_alone():
    """A year of 50 sites at once; three of them again by themselves."""
    grid = random_grid(50, 8760)
    all_sites = best_starts(grid_kgco2e_per_kwh=grid, run_hours=6, slack_hours=168)

    assert all_sites.grid_kgco2e_per_kwh.shape == (50, 8760 - 6 - 168 + 1)
    for site in (0, 21, 49):
        alone = best_starts(grid_kgco2e_per_kwh=grid[site], run_hours=6, slack_hours=168)
        assert (all_sites.wait_hours[site] == alone.wait_hours).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda: best_starts(grid_kgco2e_per_kwh=np.ones(9), run_hours=6, slack_hours=-1),
            "slack_hours at least 0, .* got 6 and -1",
        ),
        (
            lambda: best_starts(grid_kgco2e_per_kwh=np.full(9, np.nan), run_hours=2, slack_hours=1),
            "grid_kgco2e_per_kwh is finite and at least 0, got nan",
        ),
    ],
)
def test_moves_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
