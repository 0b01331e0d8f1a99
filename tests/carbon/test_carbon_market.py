"""Contracts: limited volumes, in order of quality, the residual mix for the rest; location beside market."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from carbon.market import Contract, scope_two

LOAD = np.array([10.0, 10.0, 10.0, 10.0])
GRID = np.array([0.2, 0.4, 0.4, 0.2])
SUN = Contract("sun", "contract", np.array([0.0, 30.0, 10.0, 0.0]), 0.0, carbon_free=True)
HOURS = arrays(float, 6, elements=st.floats(0, 50))


def account(contracts=(SUN,), residual=0.5, matching="yearly", load=LOAD):
    return scope_two(
        load_kwh=load,
        grid_kgco2e_per_kwh=GRID[: len(load)],
        residual_kgco2e_per_kwh=residual,
        contracts=contracts,
        matching=matching,
    )


def test_yearly_matching_hides_what_hourly_matching_shows():
    """40 kWh of sun for 40 kWh of load: all covered in the sum, half of it in the same hour.

    Hour by hour 20 kWh stay open at 0.5 kg: 10 kg. Location-based it is 12 kg both times.
    """
    yearly, hourly = account(), account(matching="hourly")

    assert yearly.location_kgco2e == hourly.location_kgco2e == pytest.approx(12.0)
    assert (yearly.market_kgco2e, yearly.cfe_fraction, yearly.uncovered_kwh) == (0.0, 1.0, 0.0)
    assert hourly.market_kgco2e == pytest.approx(10.0)
    assert hourly.cfe_fraction == pytest.approx(0.5)
    assert hourly.unused_kwh == {"sun": pytest.approx(20.0)}


def test_instruments_cover_in_order_of_quality_whatever_the_order_given():
    """GHG Protocol: certificates, then contracts, then the supplier's rate, then the residual mix.

    25 kWh of certificates at 0, then 15 of the supplier's 30 kWh at 0.3: 4.5 kg, nothing left for the mix.
    """
    certificate = Contract("certificate", "certificate", np.array([25.0, 0, 0, 0]), 0.0, carbon_free=True)
    supplier = Contract("supplier", "supplier", np.full(4, 7.5), 0.3, carbon_free=False)
    got = account(contracts=(supplier, certificate))

    assert got.covered_kwh == {"certificate": pytest.approx(25.0), "supplier": pytest.approx(15.0)}
    assert got.market_kgco2e == pytest.approx(4.5)
    assert got.cfe_fraction == pytest.approx(25 / 40)


def test_without_a_residual_mix_the_grid_average_stands_in_and_says_so():
    """Without contracts both figures are then the same."""
    got = account(contracts=(), residual=None)

    assert got.grid_average_stands_in
    assert got.market_kgco2e == pytest.approx(got.location_kgco2e)
    assert not account(contracts=()).grid_average_stands_in


@pytest.mark.slow
@given(load=HOURS, first=HOURS, second=HOURS)
def test_energy_is_covered_once(load, first, second):
    """Covered and uncovered make the load; hourly matching never covers more than yearly."""
    load = load + 0.1
    contracts = (
        Contract("a", "certificate", first, 0.0, carbon_free=True),
        Contract("b", "supplier", second, 0.1, carbon_free=True),
    )
    by = {
        matching: scope_two(
            load_kwh=load,
            grid_kgco2e_per_kwh=np.full(6, 0.3),
            residual_kgco2e_per_kwh=0.6,
            contracts=contracts,
            matching=matching,
        )
        for matching in ("yearly", "hourly")
    }

    for got in by.values():
        assert sum(got.covered_kwh.values()) + got.uncovered_kwh == pytest.approx(load.sum())
        assert min(got.unused_kwh.values()) >= -1e-9
    assert by["hourly"].cfe_fraction <= by["yearly"].cfe_fraction + 1e-12


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: account(matching="monthly"), "matching is 'yearly' or 'hourly', got 'monthly'"),
        (lambda: account(contracts=(SUN, SUN)), "different names: energy may be claimed once"),
        (lambda: account(load=LOAD[:2]), r"contract 'sun': energy_kwh is of the load's \(2,\) hours"),
        (lambda: account(residual=-0.1), "residual_kgco2e_per_kwh is finite and at least 0, got -0.1"),
        (lambda: account(load=np.zeros(4)), "sum_of_load_kwh is finite and above 0"),
        (
            lambda: Contract("x", "promise", LOAD, 0.0, carbon_free=True),
            "instrument is one of certificate, contract, supplier, got 'promise'",
        ),
    ],
)
def test_contracts_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
