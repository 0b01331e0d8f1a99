"""Money equations against annuity tables and against discounting by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.physics.equations.money import (
    capital_charge_usd,
    energy_usd,
    maintenance_usd,
    space_usd,
    uncharged_usd,
)

YEAR = {"hours_h": 8766.0, "year_h": 8766.0}


def test_five_year_annuity_at_eight_percent():
    """Capital recovery factor 0.25046 (annuity tables: A/P, 8 %, 5)."""
    charge = capital_charge_usd(
        price_usd=1.0, discount_fraction=0.08, life_y=5.0, residual_fraction=0.0, **YEAR
    )
    assert charge == pytest.approx(0.25046, abs=5e-6)


@given(st.floats(0, 0.3), st.integers(1, 15), st.floats(0, 0.9))
def test_charges_and_residual_repay_the_price(rate, years, residual):
    charge = capital_charge_usd(
        price_usd=1000.0, discount_fraction=rate, life_y=float(years), residual_fraction=residual, **YEAR
    )
    value = sum(charge / (1 + rate) ** t for t in range(1, years + 1)) + residual * 1000 / (1 + rate) ** years
    assert value == pytest.approx(1000, rel=1e-6)


@given(st.floats(0, 0.3), st.integers(1, 15), st.integers(0, 15))
def test_what_is_not_charged_yet_is_worth_the_charges_that_are_left(rate, years, age):
    """The balance of a loan: the price at first, 0 at the end of the life, and later."""
    price = {"price_usd": 1000.0, "discount_fraction": rate, "life_y": float(years)}
    charge = capital_charge_usd(**price, residual_fraction=0.0, **YEAR)
    left = sum(charge / (1 + rate) ** t for t in range(1, years - age + 1))
    assert uncharged_usd(**price, age_y=float(age)) == pytest.approx(left, rel=1e-6, abs=1e-9)
    assert uncharged_usd(**price, age_y=0.0) == pytest.approx(1000)


def test_what_is_not_charged_yet_by_columns():
    """Half of ten years at no interest are half of the price; at 8 % 3.9927 / 6.7101 of it (tables)."""
    got = uncharged_usd(
        price_usd=np.array([[100.0], [0.0]]),
        discount_fraction=0.08,
        life_y=np.array([[10.0], [1.0]]),
        age_y=np.array([[0.0, 5.0], [1.0, 1.0]]),
    )
    assert got == pytest.approx(np.array([[100.0, 59.503], [0.0, 0.0]]), abs=1e-2)
    assert uncharged_usd(price_usd=100.0, discount_fraction=0.0, life_y=10.0, age_y=5.0) == 50.0


def test_charges_add_up_over_periods():
    hours = np.array([2160.0, 2184.0, 2208.0, 2214.0])
    kwargs = {"price_usd": 300e3, "discount_fraction": 0.08, "life_y": 5.0, "residual_fraction": 0.1}
    parts = capital_charge_usd(hours_h=hours, year_h=8766.0, **kwargs)
    assert np.sum(parts) == pytest.approx(capital_charge_usd(**kwargs, **YEAR))


def test_negative_discount_is_refused():
    with pytest.raises(ValueError, match="discount_fraction is >= 0"):
        capital_charge_usd(price_usd=1.0, discount_fraction=-0.1, life_y=5.0, residual_fraction=0.0, **YEAR)


def test_running_costs_are_products():
    assert energy_usd(facility_energy_kwh=1000.0, electricity_usd_per_kwh=0.062) == pytest.approx(62.0)
    assert maintenance_usd(price_usd=300e3, maintenance_fraction=0.05, **YEAR) == pytest.approx(15e3)
    assert space_usd(provisioned_kw=10.2, space_usd_per_kw_h=0.2, hours_h=100.0) == pytest.approx(204.0)
