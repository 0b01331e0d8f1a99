"""Nothing is lost and nothing is counted twice, however a job is cut and whoever asks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.attribution import embodied_share_kgco2e
from carbon.ledger import Ledger, footprint_kgco2e
from carbon.lines import Line, WaterLine
from carbon.operational import operational_kgco2e
from carbon.pue import facility_energy_kwh
from carbon.scopes import Category
from carbon.signals import GridSignal
from carbon.states import WorkHours, work_carbon
from carbon.water import offsite_water_l, onsite_water_l
from planner.performance.bundles import bundled
from planner.trace.quantities import BoundaryError, Chosen, TraceError, chosen, derive

SHARES = st.lists(st.floats(0.01, 1), min_size=1, max_size=12).map(lambda parts: np.array(parts) / sum(parts))
PUE = st.floats(1, 3)
GRID = st.floats(0, 1)
KWH = st.floats(0, 1e7)
AVERAGE, MARGINAL = (
    GridSignal("average", "life-cycle", "production"),
    GridSignal("marginal", "life-cycle", "production"),
)


def carbon_of(it_kwh, node_h, pue, grid):
    """Operational and embodied carbon of some work on nodes of 1,300 kg, four years, 80 % used."""
    used = operational_kgco2e(
        facility_energy_kwh=facility_energy_kwh(it_energy_kwh=it_kwh, pue=pue), grid_kgco2e_per_kwh=grid
    )
    made = embodied_share_kgco2e(
        embodied_kgco2e=1300.0, used_h=node_h, lifetime_h=35_064.0, utilisation_fraction=0.8
    )
    return footprint_kgco2e(operational_kgco2e=used, embodied_kgco2e=made)


def book(kgco2e, *, market=None, kind=AVERAGE, made=10.0, boundary="server"):
    return Ledger(
        (
            Line("electricity", "training", 2, kgco2e, "facility", electricity=kind, market_kgco2e=market),
            Line("servers", "training", 3, made, boundary, Category.CAPITAL_GOODS),
        )
    )


# ---- cutting a job


@given(shares=SHARES, kwh=KWH, pue=PUE, grid=GRID)
def test_a_job_cut_in_time_is_the_job(shares, kwh, pue, grid):
    """Each part takes its energy and its node-hours; on one grid the parts are the whole."""
    parts = carbon_of(kwh * shares, 1000 * shares, pue, grid)

    assert parts.sum() == pytest.approx(carbon_of(kwh, 1000.0, pue, grid), rel=1e-9)


@given(shares=SHARES, kwh=KWH, pue=PUE, grids=st.lists(GRID, min_size=12, max_size=12))
def test_a_job_cut_in_space_is_the_job_at_the_mixed_grid(shares, kwh, pue, grids):
    """Sites of one PUE: carbon by site sums to the carbon at the energy-weighted grid."""
    at_sites = np.array(grids[: len(shares)])
    parts = carbon_of(kwh * shares, 1000 * shares, pue, at_sites)

    assert parts.sum() == pytest.approx(carbon_of(kwh, 1000.0, pue, shares @ at_sites), rel=1e-9)


@given(shares=SHARES, pue=PUE, grid=GRID)
def test_states_cut_in_time_are_the_states(shares, pue, grid):
    """Also what failures cost, where every part of the job has its own failures."""
    hours = {"useful_h": 900.0, "lost_h": 50.0, "checkpoint_h": 30.0, "restart_h": 15.0, "idle_h": 5.0}
    kwh = {name.replace("_h", "_it_kwh"): 7.0 * value for name, value in hours.items()}
    cut = {name: value * shares for name, value in (hours | kwh).items()}
    site = {"pue": pue, "grid_kgco2e_per_kwh": grid}
    whole = work_carbon(**bundled({**hours, **kwh, **site, "embodied_kgco2e": 80.0}, hours=WorkHours))
    parts = work_carbon(**bundled({**cut, **site, "embodied_kgco2e": 80.0 * shares}, hours=WorkHours))

    assert parts.total_kgco2e.sum() == pytest.approx(whole.total_kgco2e, rel=1e-9)
    assert parts.failed_kgco2e.sum() == pytest.approx(whole.failed_kgco2e, rel=1e-9)


@given(amounts=st.lists(st.floats(0, 1e9), min_size=1, max_size=30), cut=st.integers(0, 30))
def test_two_ledgers_joined_are_the_one(amounts, cut):
    """Line by line, however they are divided, to 1e-9 of the exact sum."""
    lines = tuple(
        Line(f"servers {i}", "training", 3, amount, "server", Category.CAPITAL_GOODS)
        for i, amount in enumerate(amounts)
    )
    joined = Ledger(lines[:cut]).joined(Ledger(lines[cut:]))

    assert joined.total_kgco2e("location") == pytest.approx(math.fsum(amounts), rel=1e-9)
    assert Ledger(lines[::-1]).total_kgco2e("location") == pytest.approx(math.fsum(amounts), rel=1e-9)


# ---- PUE once, water once


@given(kwh=KWH, pue=PUE, grid=GRID)
def test_pue_is_in_once_and_on_it_energy_only(kwh, pue, grid):
    """The step from PUE 1 is (PUE - 1) * E * CI: not squared, and nothing of it on the 1,300 kg."""
    step = carbon_of(kwh, 1000.0, pue, grid) - carbon_of(kwh, 1000.0, 1.0, grid)

    assert step == pytest.approx((pue - 1) * kwh * grid, rel=1e-6, abs=1e-6)


@given(kwh=KWH, pue=PUE, onsite=st.floats(0, 3), offsite=st.floats(0, 8))
def test_water_is_in_once(kwh, pue, onsite, offsite):
    """Cooling goes by IT energy, power stations by the meter; in a ledger the two are the whole."""
    site = onsite_water_l(it_energy_kwh=kwh, onsite_l_per_kwh=onsite)
    stations = offsite_water_l(
        facility_energy_kwh=facility_energy_kwh(it_energy_kwh=kwh, pue=pue), offsite_l_per_kwh=offsite
    )
    ledger = Ledger(
        (), (WaterLine("cooling", "training", site, 0.0), WaterLine("power", "training", 0.0, stations))
    )

    assert ledger.onsite_l == pytest.approx(kwh * onsite)
    assert ledger.offsite_l == pytest.approx(kwh * pue * offsite)
    assert ledger.onsite_l + ledger.offsite_l == pytest.approx(kwh * (onsite + pue * offsite))


# ---- a fleet is a hundred percent


# ---- the seam refuses wrong units and mixed boundaries


def quantity(name, value):
    return chosen(name, value, "test")


@pytest.mark.parametrize(
    ("function", "inputs", "wanted"),
    [
        (facility_energy_kwh, {"it_energy_kwh": "power_kw", "pue": "pue"}, "wants kWh"),
        (
            operational_kgco2e,
            {"facility_energy_kwh": "energy_kwh", "grid_kgco2e_per_kwh": "made_kgco2e"},
            "wants kgCO2e/kWh",
        ),
        (
            footprint_kgco2e,
            {"operational_kgco2e": "x_kgco2e", "embodied_kgco2e": "energy_kwh"},
            "wants kgCO2e",
        ),
        (
            embodied_share_kgco2e,
            {
                "embodied_kgco2e": "x_kgco2e",
                "used_h": "t_h",
                "lifetime_h": "life_y",
                "utilisation_fraction": "u_fraction",
            },
            "wants h, but life_y is in y",
        ),
    ],
)
def test_a_quantity_of_another_unit_is_refused(function, inputs, wanted):
    with pytest.raises(TraceError, match=wanted):
        derive(function, **{parameter: quantity(name, 1.0) for parameter, name in inputs.items()})


def test_two_boundaries_do_not_meet_in_one_sum():
    """Electricity counted as average against one counted as marginal, through the seam."""
    average, marginal = (
        Chosen(1.0, "kgCO2e", boundary={"grid": tag}, name="x_kgco2e", reason="test")
        for tag in ("average", "marginal")
    )

    with pytest.raises(BoundaryError, match="must not be mixed"):
        derive(footprint_kgco2e, operational_kgco2e=average, embodied_kgco2e=marginal)
