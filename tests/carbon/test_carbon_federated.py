"""Federated jobs: published numbers, sessions and time, levers, and who takes part."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.attribution import embodied_share_kgco2e, lifetime_h
from carbon.edge import array_operations_per_s, life_use_kgco2e
from carbon.federated import (
    device_grid_kgco2e_per_kwh,
    federated_carbon,
    server_facility_kw,
    session_energy,
    session_kwh,
)
from carbon.ledger import Ledger, embodied_fraction
from carbon.levers import (
    composed_ratio,
    implied_growth_ratio,
    lowered_energy_kwh,
    total_reduction_ratio,
    utilisation_reduction_ratio,
)
from carbon.lines import Line
from carbon.participation import Participation
from carbon.rounds import (
    asynchronous_h,
    asynchronous_sessions,
    concurrency_growth_ratio,
    ensemble_sessions,
    synchronous_h,
    synchronous_sessions,
)
from carbon.scopes import Category
from carbon.signals import GridSignal
from planner.inputs.loading import load_catalogue

AVERAGE = GridSignal("average", "life-cycle", "production")


def fact(key):
    return load_catalogue().fact(f"federated.{key}").value


def session(**changes):
    """Ten minutes of work and two of transfer, at the powers of the logged phones."""
    plain = {
        "compute_h": 600 / 3600,
        "upload_h": 60 / 3600,
        "download_h": 60 / 3600,
        "compute_kw": fact("device.compute_power"),
        "upload_kw": 0.0,
        "download_kw": 0.0,
        "network_kw": fact("network.router_power"),
    }
    return {**plain, **changes}


def job(**changes):
    """A job whose parts at one kWh of each kind are easy to see."""
    plain = {
        "sessions": 1000.0,
        "session_compute_kwh": 0.0005,
        "session_upload_kwh": 0.0002,
        "session_download_kwh": 0.0002,
        "session_network_kwh": 0.0001,
        "device_grid_kgco2e_per_kwh": 0.4,
        "server_facility_kw": 0.0981,
        "server_h": 24.0,
        "server_grid_kgco2e_per_kwh": 0.1,
    }
    return federated_carbon(**{**plain, **changes})


# ---- published


def test_energy_of_a_logged_session():
    """Wu et al., arXiv 2111.00364: 600 s at 3 W and 120 s of a router of 7.5 W are 0.5 + 0.25 Wh."""
    parts = session_energy(**session())

    assert parts.compute_kwh == pytest.approx(0.5e-3)
    assert parts.network_kwh == pytest.approx(0.25e-3)
    assert session_kwh(**session()) == pytest.approx(0.75e-3)


def test_servers_of_a_federated_job():
    """Yousefpour et al., arXiv 2303.14604: 45 W, the selector taken equal, PUE 1.09: 98.1 W."""
    got = server_facility_kw(
        aggregator_it_kw=fact("server.aggregator_power"),
        selector_it_kw=fact("server.selector_power"),
        pue=fact("server.pue"),
    )

    assert got == pytest.approx(0.0981)


def test_devices_emit_nearly_everything():
    """Yousefpour et al.: all but 1 to 2 % is outside the server; the printed middles give 98.5 %."""
    got = job(
        sessions=1.0,
        session_compute_kwh=fact("share.compute"),
        session_upload_kwh=fact("share.upload"),
        session_download_kwh=fact("share.download"),
        session_network_kwh=0.0,
        device_grid_kgco2e_per_kwh=1.0,
        server_facility_kw=fact("share.server"),
        server_h=1.0,
        server_grid_kgco2e_per_kwh=1.0,
    )

    assert got.total_kgco2e == pytest.approx(1.0, abs=0.01)
    assert got.outside_server_fraction == pytest.approx(0.98, abs=0.01)


def test_compressed_updates():
    """Yousefpour et al. print 1.82: communication is 60 % and becomes a quarter. The job agrees."""
    ratio = total_reduction_ratio(
        affected_fraction=fact("share.communication"), lever_ratio=fact("compression.int8")
    )
    parts = {"session_upload_kwh": 0.3, "session_download_kwh": 0.2, "session_network_kwh": 0.1}
    before = job(session_compute_kwh=0.4, server_h=0.0, **parts)
    after = job(session_compute_kwh=0.4, server_h=0.0, **{name: kwh / 4 for name, kwh in parts.items()})

    assert ratio == pytest.approx(1.82, abs=0.005)
    assert before.total_kgco2e / after.total_kgco2e == pytest.approx(ratio)


def test_more_devices_at_once_cost_more_than_they_speed_up():
    """Yousefpour et al.: ten times the concurrency buys 1.5 to 2 times the time: 5 to 6.67 times carbon."""
    low, middle, high = (
        concurrency_growth_ratio(concurrency_ratio=10.0, speedup_ratio=speedup)
        for speedup in (2.0, 1.75, 1.5)
    )
    hundred = job(sessions=synchronous_sessions(rounds=300.0, concurrency=100.0), server_h=0.0)
    thousand = job(sessions=synchronous_sessions(rounds=200.0, concurrency=1000.0), server_h=0.0)

    assert (low, high) == (5.0, pytest.approx(6.67, rel=1e-3))
    assert low < middle < high
    assert thousand.total_kgco2e / hundred.total_kgco2e == pytest.approx(high)


def test_levers_of_a_language_model_compose():
    """Wu et al., arXiv 2111.00364: caching 6.7, GPUs 10.1, algorithms 12 = 2.4 * 5; printed as 810."""
    algorithms = composed_ratio(lever_ratios=np.array([2.4, 5.0]))

    assert algorithms == pytest.approx(12.0)
    assert composed_ratio(lever_ratios=np.array([6.7, 10.1, algorithms])) == pytest.approx(812, abs=0.5)


def test_demand_ate_a_part_of_the_gain():
    """Wu et al.: -20 % each half-year for two years, -28.5 % net: 1.746 times the work."""
    got = implied_growth_ratio(saved_fraction=0.2, steps=4.0, net_saved_fraction=0.285)

    assert got == pytest.approx(1.746, abs=5e-4)


def test_better_used_hardware():
    """Wu et al., figure 9: about three times less when utilisation goes from 30 to 80 %.

    The most that utilisation alone can give is 0.8 / 0.3 = 2.67, where an idle machine draws full power;
    at an idle draw of a third it is 1.87, by hand: (0.3 + 0.7 * 0.8667 / 0.5333) = 1.4375.
    """
    most, third = (
        utilisation_reduction_ratio(
            before_utilisation_fraction=0.3,
            after_utilisation_fraction=0.8,
            embodied_fraction=0.3,
            idle_power_fraction=idle,
        )
        for idle in (1.0, 1 / 3)
    )

    assert most == pytest.approx(3.0, rel=0.2)
    assert most == pytest.approx(8 / 3)
    assert third == pytest.approx(8 / 3 / 1.4375)


def test_embodied_share_of_large_tasks():
    """Wu et al. say 30 : 70, and that making is about half of using, which is 33 : 67."""
    got = embodied_fraction(operational_kgco2e=1.0, embodied_kgco2e=0.5)

    assert got == pytest.approx(0.3, abs=0.05)


def test_tuned_parameters():
    """FedGPO: 3.6 times the energy efficiency leave 27.8 of 100 kWh."""
    assert lowered_energy_kwh(baseline_energy_kwh=100.0, reduction_ratio=3.6) == pytest.approx(27.8, rel=1e-3)


def test_a_life_of_inferences():
    """CATransformers (arXiv 2505.01386): 3e7 inferences of 0.1 J at 224 g/kWh are 0.1867 kg."""
    got = life_use_kgco2e(
        energy_kwh_per_request=0.1 / 3.6e6, requests=3e7, pue=1.0, grid_kgco2e_per_kwh=0.224
    )

    assert got == pytest.approx(0.1867, rel=1e-3)


def test_peak_of_an_edge_accelerator():
    """CATransformers: one core of 256 x 64 at 625 MHz, two operations each, is 20.48 TOPS."""
    got = array_operations_per_s(cores=1.0, rows=256.0, columns=64.0, clock_per_s=625e6, operations=2.0)

    assert got == 20.48e12


# ---- rounds and time


def simulated(sessions_h, concurrency, per_round):
    """Hours until all sessions ended: round by round, or each end replaced at once."""
    if per_round:
        return sum(max(sessions_h[i : i + concurrency]) for i in range(0, len(sessions_h), concurrency))
    free = np.zeros(concurrency)
    for length in sessions_h:
        free[free.argmin()] += length
    return free.mean()


def test_time_in_rounds_and_without_agrees_with_playing_it_through():
    """An independent route: 20,000 sessions, one in ten at the time-out, handed out one by one."""
    random = np.random.default_rng(7)
    lengths = np.where(random.random(20_000) < 0.1, 4.0, random.uniform(0.5, 2.0, 20_000)) / 60
    rounds = synchronous_h(rounds=200.0, slowest_session_h=lengths.max())
    buffered = asynchronous_h(sessions=20_000.0, mean_session_h=lengths.mean(), concurrency=100.0)

    assert rounds == pytest.approx(simulated(lengths, 100, per_round=True), rel=0.001)
    assert buffered == pytest.approx(simulated(lengths, 100, per_round=False), rel=0.001)
    assert rounds / buffered == pytest.approx(4 / (0.9 * 1.25 + 0.1 * 4), rel=0.01)


def test_without_rounds_time_is_gained_and_carbon_is_not():
    """Faster, and every session that drops out is replaced: the same updates take 1 / (1 - d) sessions."""
    sessions = asynchronous_sessions(server_updates=1000.0, buffer_sessions=10.0, dropped_fraction=0.2)
    half, whole = (
        asynchronous_h(sessions=sessions, mean_session_h=0.05, concurrency=devices)
        for devices in (100.0, 50.0)
    )

    assert sessions == pytest.approx(12_500.0)
    assert half == pytest.approx(whole / 2)
    assert (
        job(sessions=sessions, server_h=half).server_kgco2e
        < job(sessions=sessions, server_h=whole).server_kgco2e
    )
    assert (
        job(sessions=sessions, server_h=half).compute_kgco2e
        == job(sessions=sessions, server_h=whole).compute_kgco2e
    )


def test_an_ensemble_is_the_sum_of_its_clusters():
    """Four models, each on a quarter of the devices: the sessions of one job. On as many each: four times."""
    one = synchronous_sessions(rounds=100.0, concurrency=800.0)
    quarter = synchronous_sessions(rounds=100.0, concurrency=200.0)

    assert ensemble_sessions(models=4.0, member_sessions=quarter) == one
    assert ensemble_sessions(models=4.0, member_sessions=one) == 4 * one


@given(rounds=st.floats(1, 1e4), tuned=st.floats(1, 5))
def test_fewer_rounds_lower_device_carbon_in_step(rounds, tuned):
    """Carbon is linear in sessions, and sessions in rounds."""
    plain, better = (
        job(sessions=synchronous_sessions(rounds=n, concurrency=100.0), server_h=0.0)
        for n in (rounds, rounds / tuned)
    )

    assert plain.total_kgco2e / better.total_kgco2e == pytest.approx(tuned)


# ---- energy and grids


def test_devices_meet_the_grid_of_their_country():
    """By hand: 600 sessions at 40 g and 200 at 640 g are 190 g/kWh; the first country alone 40."""
    grids = np.array([0.040, 0.640])

    got = [
        device_grid_kgco2e_per_kwh(grid_kgco2e_per_kwh=grids, sessions=np.array(sessions))
        for sessions in ([600.0, 200.0], [600.0, 0.0])
    ]

    assert got == pytest.approx([0.190, 0.040])


@given(
    sessions=st.lists(st.floats(1, 1e6), min_size=2, max_size=6),
    grids=st.lists(st.floats(0.01, 1), min_size=6, max_size=6),
)
def test_countries_one_by_one_or_mixed(sessions, grids):
    """A job split by country is the job at the mixed grid."""
    counts, intensities = np.array(sessions), np.array(grids[: len(sessions)])
    apart = job(sessions=counts, device_grid_kgco2e_per_kwh=intensities, server_h=0.0)
    mixed = device_grid_kgco2e_per_kwh(grid_kgco2e_per_kwh=intensities, sessions=counts)
    together = job(sessions=counts.sum(), device_grid_kgco2e_per_kwh=mixed, server_h=0.0)

    assert apart.total_kgco2e.sum() == pytest.approx(together.total_kgco2e)


# ---- one ledger


def test_federated_and_central_in_one_form():
    """The same model, by phones or by a server hall: both are ledgers, so one can be taken from the other.

    Phones: 1e6 sessions of 1 Wh on the mixed grid are 400 kg, and servers 0.235 kg more. The hall: 500 kWh
    at the meter on 0.1 kg/kWh, and 30 kg of servers and 20 kg of moved data.
    """
    phones = Ledger(job(sessions=1e6).lines(AVERAGE))
    hall = Ledger(
        (
            Line("servers", "training", 2, 50.0, "facility", electricity=AVERAGE),
            Line("server hardware", "training", 3, 30.0, "server", Category.CAPITAL_GOODS),
            Line(
                "collected data", "data", 3, 20.0, "network", Category.PURCHASED_GOODS_AND_SERVICES, AVERAGE
            ),
        )
    )

    assert phones.total_kgco2e("location") == pytest.approx(400.0 + 0.0981 * 24 * 0.1)
    assert phones.scopes().scope_2_location_kgco2e == pytest.approx(0.23544)
    assert phones.scopes().scope_3_kgco2e[Category.USE_OF_SOLD_PRODUCTS] == pytest.approx(360.0)
    assert phones.total_kgco2e("location") - hall.total_kgco2e("location") == pytest.approx(300.23544)


def test_the_making_of_phones_is_a_line_of_its_own():
    """A phone of 60 kg, three years, used 3 h a day: 12 minutes carry 3.65 g, its 0.75 Wh 0.3 g."""
    share = embodied_share_kgco2e(
        embodied_kgco2e=60.0, used_h=0.2, lifetime_h=lifetime_h(lifetime_y=3.0), utilisation_fraction=0.125
    )

    assert 1000 * share == pytest.approx(3.65, abs=0.005)
    assert 1000 * session_kwh(**session()) * 0.4 == pytest.approx(0.3)


@given(ratio=st.floats(1, 10))
def test_a_lever_on_energy_leaves_embodied_carbon(ratio):
    """AutoFL's lever pair acts on energy; one without effect changes nothing, exactly."""
    used, made = lowered_energy_kwh(baseline_energy_kwh=100.0, reduction_ratio=ratio), 30.0

    assert used + made == pytest.approx(100.0 / ratio + 30.0)
    assert lowered_energy_kwh(baseline_energy_kwh=100.0, reduction_ratio=1.0) == 100.0


# ---- who takes part


POPULATION = {"hydro": 100.0, "coal": 700.0, "mixed": 200.0}


def test_picking_only_green_devices_saves_carbon_and_warns():
    """The mixed grid falls from 0.69 to 0.02 kg/kWh, and nine in ten people are left out."""
    grids = np.array([0.02, 0.9, 0.29])
    everyone = device_grid_kgco2e_per_kwh(
        grid_kgco2e_per_kwh=grids, sessions=np.array(list(POPULATION.values()))
    )
    green = device_grid_kgco2e_per_kwh(grid_kgco2e_per_kwh=grids, sessions=np.array([100.0, 0.0, 0.0]))
    got = Participation.of(
        picked={"hydro": 100.0}, population=POPULATION, least_parity_ratio=fact("participation.least_parity")
    )

    assert (everyone, green) == (pytest.approx(0.69), pytest.approx(0.02))
    assert [warning.group for warning in got.warnings] == ["coal", "mixed"]
    assert str(got.warnings[0]) == "coal is 70.0% of the devices and 0.0% of those picked"


@given(rate=st.floats(0.001, 1))
def test_the_same_rate_in_every_group_is_parity(rate):
    """However many are picked, equal rates give equal shares and no warning."""
    got = Participation.of(
        picked={group: rate * count for group, count in POPULATION.items()},
        population=POPULATION,
        least_parity_ratio=0.999,
    )

    assert got.warnings == ()
    assert sum(got.picked_fraction.values()) == pytest.approx(1.0)


def test_slow_devices_fall_below_four_fifths():
    """Half the devices are slow: 30 of 100 picked are 0.6 of their share; 40 are 0.8 and pass."""
    population = {"fast": 500.0, "slow": 500.0}
    few, enough = (
        Participation.of(
            picked={"fast": 100.0 - slow, "slow": slow}, population=population, least_parity_ratio=0.8
        )
        for slow in (30.0, 40.0)
    )

    assert str(few.warnings[0]) == "slow is 50.0% of the devices and 30.0% of those picked"
    assert enough.warnings == ()


@pytest.mark.parametrize(
    ("picked", "message"),
    [
        ({"nuclear": 1.0}, "picked holds groups of the population, got also nuclear"),
        ({}, "sum_of_picked is finite and above 0, got 0"),
        ({"coal": -1.0}, r"picked\[coal\] is finite and at least 0, got -1"),
    ],
)
def test_a_selection_that_makes_no_sense_is_refused(picked, message):
    with pytest.raises(ValueError, match=message):
        Participation.of(picked=picked, population=POPULATION, least_parity_ratio=0.8)


def test_a_job_in_which_everybody_drops_out_is_refused():
    with pytest.raises(ValueError, match="one_minus_dropped_fraction is finite and above 0"):
        asynchronous_sessions(server_updates=1.0, buffer_sessions=10.0, dropped_fraction=1.0)
