"""PUE by load: ratios of sums and ends of the law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.pue import (
    facility_energy_kwh,
    fixed_overhead_fraction,
    load_pue,
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

    metered = facility_energy_kwh(it_energy_kwh=1000 * load, pue=load_pue(load_fraction=load, **law))

    assert metered.sum() / (1000 * load).sum() == pytest.approx(
        load_pue(load_fraction=float(load.mean()), **law)
    )


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
