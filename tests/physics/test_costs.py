"""Money equations against annuity tables and against discounting by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.physics.equations.money import capital_charge_usd, energy_usd, maintenance_usd, space_usd

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
