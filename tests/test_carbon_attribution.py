"""Shares of embodied carbon: published ones, and that a life and a fleet always sum to the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon import (
    calendar_share_kgco2e,
    embodied_share_kgco2e,
    fleet_shares,
    lifetime_h,
    remaining_fraction,
    scheduled_kgco2e,
    straight_line_kgco2e,
)

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


@given(
    embodied=EMBODIED,
    life_y=LIFE_Y,
    factor=st.floats(1, 8),
    cuts=st.lists(st.floats(0, 1), max_size=30),
)
def test_a_schedule_sums_to_the_whole_however_it_is_cut(embodied, life_y, factor, cuts):
    """Periods telescope; the last one ends past the life, where nothing is left."""
    life = lifetime_h(lifetime_y=life_y)
    ages = np.array([0.0, *sorted(cuts), 1.0, 1.5]) * life

    charged = scheduled_kgco2e(
        embodied_kgco2e=embodied,
        start_age_h=ages[:-1],
        end_age_h=ages[1:],
        lifetime_h=life,
        decline_factor=factor,
    )

    assert np.all(charged >= -1e-12 * embodied)
    assert charged[-1] == 0.0
    assert charged.sum() == pytest.approx(embodied, rel=1e-12)


@given(embodied=EMBODIED, life_y=LIFE_Y, cuts=st.lists(st.floats(0, 1.4), min_size=2, max_size=2))
def test_the_straight_line_is_the_calendar_share_within_the_life(embodied, life_y, cuts):
    """TE * t / L, for the part of t that lies within the life."""
    life = lifetime_h(lifetime_y=life_y)
    start, end = sorted(cuts)
    within = min(end, 1.0) - min(start, 1.0)

    got = straight_line_kgco2e(
        embodied_kgco2e=embodied, start_age_h=start * life, end_age_h=end * life, lifetime_h=life
    )

    expected = calendar_share_kgco2e(embodied_kgco2e=embodied, used_h=within * life, lifetime_h=life)
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-9 * embodied)


def test_double_declining_balance():
    """Twice the straight-line rate for half the life, then a line to nothing.

    exp(-2a/L) leaves 1/e at half the life; half of that is left at three quarters.
    """
    got = remaining_fraction(
        age_h=np.array([0.0, 0.25, 0.5, 0.75, 1.0, 2.0]) * 1000.0, lifetime_h=1000.0, decline_factor=2.0
    )

    assert got == pytest.approx([1.0, np.exp(-0.5), np.exp(-1), np.exp(-1) / 2, 0.0, 0.0])


@given(factor=st.floats(1, 8), age=st.floats(0, 1))
def test_declining_balance_solves_its_own_rule(factor, age):
    """An independent route: small steps of the rule that bookkeepers use.

    Each step charges the larger of f / L of the balance and a straight line over the rest of the life.
    """
    steps = 4000
    balance = 1.0
    for step in range(round(age * steps)):
        balance -= balance * min(max(factor / steps, 1 / (steps - step)), 1.0)

    got = remaining_fraction(age_h=round(age * steps), lifetime_h=float(steps), decline_factor=factor)

    assert got == pytest.approx(balance, abs=2e-3)


@given(
    charged=EMBODIED,
    in_service=st.floats(1, 1e6),
    used=st.floats(0, 1),
    spare=st.floats(0, 1),
)
def test_used_idle_and_spare_are_the_whole_fleet(charged, in_service, used, spare):
    """Idle is what remains; the three sum to 100 % of what the fleet is charged."""
    spare *= 1 - used
    shares = fleet_shares(
        charged_kgco2e=charged,
        in_service_node_h=in_service,
        used_node_h=used * in_service,
        spare_node_h=spare * in_service,
    )

    assert shares.total_kgco2e == pytest.approx(charged, rel=1e-12)
    assert min(shares.used_kgco2e, shares.idle_kgco2e, shares.spare_kgco2e) >= 0
    assert shares.used_kgco2e == pytest.approx(used * charged)


def test_charging_idle_to_users_gives_the_same_fleet():
    """Two routes, one total: used, idle and spare lines, or the used hours at the utilised rate."""
    life = lifetime_h(lifetime_y=5.0)
    period_h, nodes = 2190.0, 100
    by_line = fleet_shares(
        charged_kgco2e=calendar_share_kgco2e(
            embodied_kgco2e=nodes * 7000.0, used_h=period_h, lifetime_h=life
        ),
        in_service_node_h=nodes * period_h,
        used_node_h=70 * period_h,
        spare_node_h=4 * period_h,
    )

    by_user = embodied_share_kgco2e(
        embodied_kgco2e=7000.0, used_h=70 * period_h, lifetime_h=life, utilisation_fraction=0.70
    )

    assert by_line.total_kgco2e == pytest.approx(by_user)


def test_rounding_does_not_make_a_full_fleet_overfull():
    """Sums of many hours end a little above their limit; a fleet used to its last hour is not refused."""
    shares = fleet_shares(
        charged_kgco2e=1.0, in_service_node_h=0.3e6, used_node_h=0.2e6, spare_node_h=0.1e6 + 1e-6
    )

    assert shares.idle_kgco2e == 0.0
    assert shares.total_kgco2e == pytest.approx(1.0)


def test_more_use_than_service_is_refused():
    with pytest.raises(
        ValueError, match=r"in_service_node_h .* got 100.0 in service, 90.0 used and 20.0 spare"
    ):
        fleet_shares(charged_kgco2e=1.0, in_service_node_h=100.0, used_node_h=90.0, spare_node_h=20.0)


def test_a_period_that_ends_before_it_starts_is_refused():
    with pytest.raises(ValueError, match=r"end_age_h is at least start_age_h, got end 1\.0 and start 2\.0"):
        straight_line_kgco2e(embodied_kgco2e=1.0, start_age_h=2.0, end_age_h=1.0, lifetime_h=10.0)
