"""Shares of embodied carbon: published ones, and that a life and a fleet always sum to the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.attribution import (
    calendar_share_kgco2e,
    embodied_share_kgco2e,
    fleet_shares,
    lifetime_h,
    remaining_fraction,
    scheduled_kgco2e,
    straight_line_kgco2e,
)
from carbon.fleets import job_share_kgco2e, life_shares, replaced_parts_kgco2e, unrecovered_kgco2e
from carbon.second_life import extended_kgco2e, past_life, payback_h, second_life
from carbon.sharing import sent_data_kgco2e, stored_data_kgco2e

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


# ---- fleets


@given(jobs=st.lists(st.floats(0.1, 1e5), min_size=1, max_size=30), charged=EMBODIED)
def test_jobs_carry_the_whole_fleet_idle_nodes_included(jobs, charged):
    """However few hours are used, the jobs of a period sum to what the fleet was charged."""
    shares = job_share_kgco2e(charged_kgco2e=charged, job_node_h=np.array(jobs), used_node_h=sum(jobs))

    assert shares.sum() == pytest.approx(charged, rel=1e-12)


@given(used=st.floats(0.01, 1), planned=st.floats(0.01, 1), charged=EMBODIED)
def test_planned_utilisation_and_its_error_are_the_whole(used, planned, charged):
    """Jobs charged at the planned rate and the line of the difference sum to the calendar share."""
    jobs = embodied_share_kgco2e(
        embodied_kgco2e=charged, used_h=used, lifetime_h=1.0, utilisation_fraction=planned
    )
    difference = unrecovered_kgco2e(
        charged_kgco2e=charged, used_fraction=used, planned_utilisation_fraction=planned
    )

    assert jobs + difference == pytest.approx(charged, rel=1e-9)
    assert (difference > 1e-9 * charged) == (used < planned * (1 - 1e-9))


@given(
    ages=st.lists(st.floats(0, 2), min_size=1, max_size=30),
    used=st.floats(0, 1),
    spare=st.floats(0, 1),
    factor=st.floats(1, 8),
)
def test_a_fleet_over_its_life_is_a_hundred_percent(ages, used, spare, factor):
    """Nodes that leave early, on time and late, some of them spare: their shares are what it took."""
    embodied = np.linspace(1000.0, 9000.0, len(ages))
    shares = life_shares(
        embodied_kgco2e=embodied,
        used_fraction=used,
        spare_fraction=spare * (1 - used),
        retirement_age_h=np.array(ages) * 40_000.0,
        lifetime_h=40_000.0,
        decline_factor=factor,
    )

    assert shares.total_kgco2e == pytest.approx(embodied, rel=1e-12)
    assert shares.total_kgco2e.sum() / embodied.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(shares.written_off_kgco2e[np.array(ages) >= 1] == 0.0)


def test_a_life_hour_by_hour_agrees_with_the_life_at_once():
    """An independent route: a ledger kept month by month over four years of a fleet of 100, 3 of them spare.

    Use grows from 50 to 90 % of the fleet; one node in ten leaves after 30 of the 48 months.
    """
    months, nodes, embodied = 48, 100, 1500.0
    used = idle = spare = 0.0
    for month in range(months):
        there = nodes if month < 30 else 0.9 * nodes
        charged = there * straight_line_kgco2e(
            embodied_kgco2e=embodied,
            start_age_h=730.0 * month,
            end_age_h=730.0 * (month + 1),
            lifetime_h=730.0 * months,
        )
        busy = there * (0.5 + 0.4 * month / (months - 1))
        shares = fleet_shares(
            charged_kgco2e=charged,
            in_service_node_h=730 * there,
            used_node_h=730 * busy,
            spare_node_h=730 * 3,
        )
        used, idle, spare = used + shares.used_kgco2e, idle + shares.idle_kgco2e, spare + shares.spare_kgco2e
    written_off = 0.1 * nodes * embodied * (months - 30) / months

    assert used + idle + spare + written_off == pytest.approx(nodes * embodied, rel=1e-12)
    assert spare == pytest.approx(3 * embodied)


def test_a_failure_is_not_a_replacement():
    """Llama 3 (arXiv 2407.21783, table 5): 148 of 419 interruptions were faulty GPUs, the rest took no board.

    At 164 kg each that is 24.3 t of boards, not 68.7 t.
    """
    got = replaced_parts_kgco2e(failures=419.0, replacement_fraction=148 / 419, part_kgco2e=164.0)

    assert got == pytest.approx(148 * 164.0)


# ---- storage and network


@given(held=st.lists(st.floats(1, 1e5), min_size=1, max_size=20), empty=st.floats(0, 10))
def test_data_carry_the_whole_store(held, empty):
    """All data kept for a whole life sum to the embodied carbon of the store, its empty part included."""
    capacity = (1 + empty) * sum(held)
    shares = stored_data_kgco2e(
        embodied_kgco2e=4000.0,
        held_gb=np.array(held),
        capacity_gb=capacity,
        filled_fraction=sum(held) / capacity,
        held_h=1000.0,
        lifetime_h=1000.0,
    )

    assert shares.sum() == pytest.approx(4000.0, rel=1e-12)


@given(traffic=st.lists(st.floats(0.1, 1e6), min_size=1, max_size=20))
def test_traffic_carries_the_whole_network(traffic):
    """All bytes of a period sum to what the network was charged."""
    shares = sent_data_kgco2e(charged_kgco2e=70.0, job_gb=np.array(traffic), carried_gb=sum(traffic))

    assert shares.sum() == pytest.approx(70.0, rel=1e-12)


# ---- second life


@given(decided=st.floats(0, 0.99), longer=st.floats(1, 3), factor=st.floats(1, 4))
def test_a_longer_life_charges_what_was_left_and_no_more(decided, longer, factor):
    """What was charged before the decision and what follows it sum to the whole."""
    life, age = 40_000.0, decided * 40_000.0
    left = remaining_fraction(age_h=age, lifetime_h=life, decline_factor=factor)
    before = scheduled_kgco2e(
        embodied_kgco2e=1312.0, start_age_h=0.0, end_age_h=age, lifetime_h=life, decline_factor=factor
    )
    after = extended_kgco2e(
        embodied_kgco2e=1312.0,
        remaining_fraction=left,
        age_h=age,
        extended_lifetime_h=longer * life,
        used_h=longer * life - age,
    )

    assert before + after == pytest.approx(1312.0, rel=1e-9)


def test_from_four_to_six_years_halfway():
    """Half is left for four more years instead of two: each hour then carries half as much."""
    hour = calendar_share_kgco2e(embodied_kgco2e=164.0, used_h=1.0, lifetime_h=4 * 8766.0)
    later = extended_kgco2e(
        embodied_kgco2e=164.0,
        remaining_fraction=0.5,
        age_h=2 * 8766.0,
        extended_lifetime_h=6 * 8766.0,
        used_h=1.0,
    )

    assert later == pytest.approx(hour / 2)


def test_old_hardware_by_both_conventions():
    """Five years of a four-year life: 100 % where the past is free, 125 % where the rate goes on."""
    whole = past_life(embodied_kgco2e=164.0, start_age_h=0.0, end_age_h=5 * 8766.0, lifetime_h=4 * 8766.0)
    fifth = past_life(
        embodied_kgco2e=164.0, start_age_h=4 * 8766.0, end_age_h=5 * 8766.0, lifetime_h=4 * 8766.0
    )

    assert (whole.zero_kgco2e, whole.continued_kgco2e) == (pytest.approx(164.0), pytest.approx(205.0))
    assert (fifth.zero_kgco2e, fifth.continued_kgco2e) == (0.0, pytest.approx(41.0))
    assert whole.above_whole_kgco2e == pytest.approx(41.0)


@given(first=st.floats(1, 1e5), second=st.floats(0, 1e5), work=st.floats(0, 100))
def test_two_owners_carry_the_whole_by_either_convention(first, second, work):
    """What one convention gives to the first owner it takes from the second."""
    got = second_life(
        embodied_kgco2e=164.0, refurbishment_kgco2e=work, first_life_h=first, second_life_h=second
    )

    assert got.cut_off_first_kgco2e + got.cut_off_second_kgco2e == pytest.approx(164.0 + work)
    assert got.by_hours_first_kgco2e + got.by_hours_second_kgco2e == pytest.approx(164.0 + work)


def test_new_hardware_pays_back_late_on_a_clean_grid():
    """164 kg against 0.1 kW saved at PUE 1.2: 0.46 years at 0.34 kg/kWh, 5.2 years at 0.03."""
    years = [
        payback_h(new_embodied_kgco2e=164.0, saved_it_kw=0.1, pue=1.2, grid_kgco2e_per_kwh=grid) / 8766.0
        for grid in (0.34, 0.03)
    ]

    assert years == pytest.approx([0.4585, 5.197], rel=1e-3)


def test_a_life_that_ends_before_its_hours_is_refused():
    with pytest.raises(
        ValueError, match=r"extended_lifetime_h holds age_h .* got 10\.0 for an age of 8\.0 and 3\.0"
    ):
        extended_kgco2e(
            embodied_kgco2e=1.0, remaining_fraction=0.5, age_h=8.0, extended_lifetime_h=10.0, used_h=3.0
        )


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
