"""Dies by two routes, with the wafer's edge: against ACT's tables, imec's rates and the wafer's balance."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.embodied import (
    die_kgco2e,
    good_die_kgco2e,
    processed_kgco2e_per_cm2,
    rerated_kgco2e_per_cm2,
    silicon_kgco2e_per_cm2,
)
from carbon.yields import murphy_yield_fraction, saleable_yield_fraction, wafer_dies

WAFER_CM2 = math.pi * 15.0**2
FIVE_NM = {"fab_kwh_per_cm2": 2.75, "gas_kgco2e_per_cm2": 0.3275, "material_kgco2e_per_cm2": 0.5}


def test_good_area_is_processed_area_over_yield():
    """ACT's 5 nm on Taiwan's grid: 2.431 kg for a processed cm2, 2.778 for a good one at yield 0.875."""
    processed = processed_kgco2e_per_cm2(fab_kgco2e_per_kwh=0.583, **FIVE_NM)

    assert processed == pytest.approx(2.4308, abs=1e-4)
    assert silicon_kgco2e_per_cm2(fab_kgco2e_per_kwh=0.583, yield_fraction=0.875, **FIVE_NM) == pytest.approx(
        2.778, abs=6e-4
    )


def test_a_die_carries_the_edge_of_its_wafer():
    """814 mm2 on 300 mm with 0.2 mm kerf: 62.4 dies of 706.9 cm2, so 1.391 cm2 of wafer for each of die.

    At Murphy's 0.468 for 0.1 defects/cm2 the die has 58.8 kg, 2.6 times ACT's 22.6 kg at a fixed 0.875.
    """
    processed = processed_kgco2e_per_cm2(fab_kgco2e_per_kwh=0.583, **FIVE_NM)
    good = murphy_yield_fraction(area_cm2=8.14, defects_per_cm2=0.1)
    dies = wafer_dies(die_cm2=8.14, wafer_cm2=WAFER_CM2, kerf_cm=0.02)

    got = good_die_kgco2e(
        processed_kgco2e_per_cm2=processed, wafer_cm2=WAFER_CM2, wafer_dies=dies, yield_fraction=good
    )

    fixed = die_kgco2e(area_cm2=8.14, fab_kgco2e_per_kwh=0.583, yield_fraction=0.875, **FIVE_NM)
    assert dies == pytest.approx(62.4, abs=0.05)
    assert got == pytest.approx(58.8, abs=0.05)
    assert got / fixed == pytest.approx(0.875 / good * 1.3908, rel=1e-4)


@given(area_cm2=st.floats(0.05, 8.5), yield_fraction=st.floats(0.05, 1.0))
def test_the_good_dies_of_a_wafer_carry_the_wafer(area_cm2, yield_fraction):
    """Conservation: good dies times their carbon is what the wafer took, whatever the yield."""
    dies = wafer_dies(die_cm2=area_cm2, wafer_cm2=WAFER_CM2, kerf_cm=0.02)

    each = good_die_kgco2e(
        processed_kgco2e_per_cm2=2.0, wafer_cm2=WAFER_CM2, wafer_dies=dies, yield_fraction=yield_fraction
    )

    assert each * dies * yield_fraction == pytest.approx(2.0 * WAFER_CM2)


def rerated(*, fab_kgco2e_per_kwh, yield_fraction):
    """Boakes et al. (imec, IEDM 2023): 2.42 kg per good cm2 at 5 nm."""
    return rerated_kgco2e_per_cm2(
        good_kgco2e_per_cm2=2.42,
        published_yield_fraction=0.875,
        published_kgco2e_per_kwh=0.583,
        fab_kwh_per_cm2=2.75,
        fab_kgco2e_per_kwh=fab_kgco2e_per_kwh,
        yield_fraction=yield_fraction,
    )


def test_a_published_rate_is_itself_at_its_own_grid_and_yield():
    assert rerated(fab_kgco2e_per_kwh=0.583, yield_fraction=0.875) == pytest.approx(2.42)


def test_moving_a_published_rate_is_what_act_does_with_its_own():
    """An independent route: re-rating ACT's result to Korea at yield 0.6 gives ACT run there."""
    published = silicon_kgco2e_per_cm2(fab_kgco2e_per_kwh=0.583, yield_fraction=0.875, **FIVE_NM)

    got = rerated_kgco2e_per_cm2(
        good_kgco2e_per_cm2=published,
        published_yield_fraction=0.875,
        published_kgco2e_per_kwh=0.583,
        fab_kwh_per_cm2=2.75,
        fab_kgco2e_per_kwh=np.array([0.583, 0.430]),
        yield_fraction=np.array([0.875, 0.6]),
    )

    korea = silicon_kgco2e_per_cm2(fab_kgco2e_per_kwh=0.430, yield_fraction=0.6, **FIVE_NM)
    assert got == pytest.approx([published, korea], rel=1e-12)


def test_a_rate_cannot_lose_more_electricity_than_it_holds():
    with pytest.raises(ValueError, match="processed_kgco2e_per_cm2 is finite and at least 0, got -"):
        rerated_kgco2e_per_cm2(
            good_kgco2e_per_cm2=1.0,
            published_yield_fraction=0.875,
            published_kgco2e_per_kwh=0.583,
            fab_kwh_per_cm2=2.75,
            fab_kgco2e_per_kwh=0.0,
            yield_fraction=0.875,
        )


@given(defect=st.floats(0.01, 1.0), salvage=st.floats(0.0, 1.0), line=st.floats(0.01, 1.0))
def test_salvage_lies_between_none_and_all(defect, salvage, line):
    """Without salvage the defect model's yield, with all of it every die; lost wafers scale either."""
    got = saleable_yield_fraction(
        defect_yield_fraction=defect, salvage_fraction=salvage, line_yield_fraction=line
    )

    assert line * defect * (1 - 1e-12) <= got <= line * (1 + 1e-12)
    assert got == pytest.approx(line * (1 - (1 - defect) * (1 - salvage)))
