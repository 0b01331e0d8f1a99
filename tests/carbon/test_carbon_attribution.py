"""Shares of embodied carbon: published ones, and that a life and a fleet always sum to the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.attribution import calendar_share_kgco2e, embodied_share_kgco2e, lifetime_h

EMBODIED = st.floats(0.1, 1e6)
LIFE_Y = st.floats(0.5, 20)


def test_servers_of_bloom():
    """BLOOM (JMLR 24:253), section 4.1: 2,500 kg per 8 GPUs, six years at 85 % use, 7.57 t in all."""
    got = embodied_share_kgco2e(
        embodied_kgco2e=2500 / 8,
        used_h=1_082_990,
        lifetime_h=lifetime_h(lifetime_y=6.0),
        utilisation_fraction=0.85,
    )

    assert got / 1000 == pytest.approx(7.57, rel=0.005)


def test_servers_of_olmo():
    """Morrison et al. (arXiv 2503.05804): 3,700 kg per 8 GPUs over four calendar years, 22 t."""
    got = calendar_share_kgco2e(
        embodied_kgco2e=3700 / 8, used_h=1.65e6, lifetime_h=lifetime_h(lifetime_y=4.0)
    )

    assert got / 1000 == pytest.approx(22, rel=0.02)


def test_an_hour_of_an_h100():
    """164 kg over four years of 8,766 h: 4.677 g an hour, printed as about 4.7 g in a public SCI report."""
    got = calendar_share_kgco2e(embodied_kgco2e=164.0, used_h=1.0, lifetime_h=lifetime_h(lifetime_y=4.0))

    assert 1000 * got == pytest.approx(4.677, rel=1e-3)


def test_an_hour_of_a_training_system_of_2021():
    """Wu et al. (arXiv 2111.00364): 2,000 kg, 3-5 years, used 30-60 %; the middle gives 0.1268 kg."""
    got = embodied_share_kgco2e(
        embodied_kgco2e=2000.0, used_h=1.0, lifetime_h=lifetime_h(lifetime_y=4.0), utilisation_fraction=0.45
    )

    assert got == pytest.approx(0.1268, rel=0.01)


def test_two_more_years_lower_the_hour_by_a_third():
    """Lengthening a life from four to six years, as in "Beyond Efficiency" (2024)."""
    four, six = calendar_share_kgco2e(
        embodied_kgco2e=164.0, used_h=1.0, lifetime_h=lifetime_h(lifetime_y=np.array([4.0, 6.0]))
    )

    assert six == pytest.approx(four * 2 / 3)


@given(embodied=EMBODIED, life_y=LIFE_Y, used=st.floats(0.01, 1))
def test_used_hours_carry_the_whole_life(embodied, life_y, used):
    """Every used hour of a life together bears 100 %, whatever share of the life was used."""
    life = lifetime_h(lifetime_y=life_y)

    got = embodied_share_kgco2e(
        embodied_kgco2e=embodied, used_h=used * life, lifetime_h=life, utilisation_fraction=used
    )

    assert got == pytest.approx(embodied, rel=1e-12)


@pytest.mark.parametrize("utilisation", [120.0, 0.0, -0.1])
def test_a_utilisation_that_is_no_share_is_refused(utilisation):
    """120 may be percent or a fraction: nothing is guessed."""
    with pytest.raises(ValueError, match=r"utilisation_fraction is a share in \(0, 1\], got"):
        embodied_share_kgco2e(
            embodied_kgco2e=1.0, used_h=1.0, lifetime_h=10.0, utilisation_fraction=utilisation
        )


def test_a_lifetime_of_nothing_is_refused():
    with pytest.raises(ValueError, match="lifetime_h is finite and above 0, got 0"):
        calendar_share_kgco2e(embodied_kgco2e=1.0, used_h=1.0, lifetime_h=0.0)
