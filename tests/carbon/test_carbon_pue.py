"""PUE by load and season, and losses on the way: ratios of sums, ends of laws, overhead never negative."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.pue import (
    facility_energy_kwh,
    fixed_overhead_fraction,
    generated_energy_kwh,
    load_pue,
    monthly_pue,
    seasonal_profile,
    weighted_pue,
)
from planner.inputs.catalogue import load_catalogue


def test_a_half_empty_facility():
    """10 % fixed and 15 % proportional: 1.25 full, 1.35 at half, 1.65 at a fifth of its load."""
    got = load_pue(
        load_fraction=np.array([1.0, 0.5, 0.2]),
        fixed_overhead_fraction=0.1,
        proportional_overhead_fraction=0.15,
    )

    assert got == pytest.approx([1.25, 1.35, 1.65])


def test_shipped_overheads_give_the_shipped_pue_at_two_thirds_of_the_load():
    """The defaults agree with each other: 1 + 0.15 + 0.1 / (2/3) is pue.default."""
    fact = load_catalogue().fact
    got = load_pue(
        load_fraction=2 / 3,
        fixed_overhead_fraction=fact("facility.default.fixed_overhead").value,
        proportional_overhead_fraction=fact("facility.default.proportional_overhead").value,
    )

    assert got == pytest.approx(fact("pue.default").value)


@given(fixed=st.floats(0, 0.5), proportional=st.floats(0, 0.5), load=st.floats(0.05, 0.95))
def test_overheads_are_found_again_from_two_readings(fixed, proportional, load):
    """`fixed_overhead_fraction` inverts `load_pue`, whatever the facility."""
    law = {"fixed_overhead_fraction": fixed, "proportional_overhead_fraction": proportional}
    full, part = load_pue(load_fraction=1.0, **law), load_pue(load_fraction=load, **law)

    # Rounding may leave a facility of fixed overhead alone a hair below none.
    got = fixed_overhead_fraction(full_pue=full + 1e-9, part_pue=part + 1e-9, part_load_fraction=load)

    assert got == pytest.approx(fixed, abs=1e-7)


@given(
    loads=st.lists(st.floats(0.05, 1), min_size=1, max_size=24),
    fixed=st.floats(0, 0.5),
    proportional=st.floats(0, 0.5),
)
def test_the_years_pue_is_that_of_the_mean_load(loads, fixed, proportional):
    """Overhead a + c l is linear in the load: the ratio of sums is the PUE at the mean load."""
    law = {"fixed_overhead_fraction": fixed, "proportional_overhead_fraction": proportional}
    load = np.array(loads)

    got = weighted_pue(it_energy_kwh=1000 * load, pue=load_pue(load_fraction=load, **law))

    assert got == pytest.approx(load_pue(load_fraction=float(load.mean()), **law))


@given(pue=st.floats(1, 2.5), amplitude=st.floats(0, 1), warmest=st.floats(1, 12.9))
def test_a_season_keeps_the_year_and_never_falls_below_one(pue, amplitude, warmest):
    """At an even load the mean of the months is the year; the overhead of no month is negative."""
    profile = seasonal_profile(amplitude_fraction=amplitude, warmest_month=warmest)
    months = monthly_pue(pue=pue, overhead_profile=profile)

    assert weighted_pue(it_energy_kwh=np.ones(12), pue=months) == pytest.approx(pue)
    assert months.min() >= 1


def test_july_is_warmest_and_january_coldest():
    """1.3 with an amplitude of a half: 1.45 in July, 1.15 in January, 1.3 in April and October."""
    profile = seasonal_profile(amplitude_fraction=0.5, warmest_month=7)
    months = monthly_pue(pue=1.3, overhead_profile=profile)

    assert months[[6, 0, 3, 9]] == pytest.approx([1.45, 1.15, 1.3, 1.3])


def test_a_load_that_runs_in_summer_pays_the_summers_pue():
    """All energy in July: the month's 1.45, not the year's 1.3."""
    july = np.eye(12)[6] * 500
    months = monthly_pue(pue=1.3, overhead_profile=seasonal_profile(amplitude_fraction=0.5, warmest_month=7))

    assert weighted_pue(it_energy_kwh=july, pue=months) == pytest.approx(1.45)
    assert np.sum(facility_energy_kwh(it_energy_kwh=july, pue=months)) == pytest.approx(725)


def test_losses_of_the_grid():
    """EIA: 5 % of what is fed in is lost, so 95 kWh at the meter took 100; without losses nothing changes."""
    losses = load_catalogue().fact("transmission.us.losses").value

    assert generated_energy_kwh(facility_energy_kwh=95.0, grid_loss_fraction=losses) == pytest.approx(100)
    assert generated_energy_kwh(facility_energy_kwh=95.0, grid_loss_fraction=0.0) == 95.0


def test_loads_that_cannot_be_are_refused():
    """No load has no PUE; 65 is a percent."""
    for load in (0.0, 65.0):
        with pytest.raises(ValueError, match="load_fraction is a share in"):
            load_pue(load_fraction=load, fixed_overhead_fraction=0.1, proportional_overhead_fraction=0.1)


@pytest.mark.parametrize(
    ("full", "part", "words"),
    [(1.4, 1.2, "not below full_pue"), (1.1, 1.9, "leaves room for the fixed overhead")],
)
def test_readings_that_contradict_each_other_are_refused(full, part, words):
    with pytest.raises(ValueError, match=words):
        fixed_overhead_fraction(full_pue=full, part_pue=part, part_load_fraction=0.5)


@pytest.mark.parametrize(
    ("profile", "words"),
    [(np.full(12, 1.1), "mean 1, got 12 with mean 1.1"), (np.ones(4), "12 months with mean 1, got 4")],
)
def test_profiles_that_would_change_the_year_are_refused(profile, words):
    with pytest.raises(ValueError, match=words):
        monthly_pue(pue=1.2, overhead_profile=profile)


def test_other_arguments_out_of_range():
    with pytest.raises(ValueError, match="warmest_month is in 1"):
        seasonal_profile(amplitude_fraction=0.2, warmest_month=0)
    with pytest.raises(ValueError, match="amplitude_fraction is a share"):
        seasonal_profile(amplitude_fraction=1.5, warmest_month=7)
    with pytest.raises(ValueError, match="is finite and above 0"):
        weighted_pue(it_energy_kwh=np.zeros(3), pue=np.ones(3))
    with pytest.raises(ValueError, match="nothing would arrive"):
        generated_energy_kwh(facility_energy_kwh=1.0, grid_loss_fraction=1.0)
    with pytest.raises(ValueError, match="grid_loss_fraction is a share"):
        generated_energy_kwh(facility_energy_kwh=1.0, grid_loss_fraction=5.0)
