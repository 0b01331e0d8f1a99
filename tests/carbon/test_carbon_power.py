"""Power of parts and under a cap: sums at the plug, laws with their ends and shape, published cap studies."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmarks.studies.fit_caps import H200, fitted, missed
from carbon.power import (
    capped_clock_fraction,
    capped_throughput_fraction,
    clocked_dynamic_fraction,
    clocked_power_kw,
)
from planner.inputs.loading import load_catalogue
from planner.performance.power import node_power_kw

SHARE = st.floats(0.01, 1)
LINEAR, STEEP = (f"performance.power_cap.{name}" for name in ("linear_share", "steep_exponent"))


def shipped():
    fact = load_catalogue().fact
    return fact(LINEAR).value, fact(STEEP).value


def throughput(cap, *, uncapped=1.0, static=0.2, linear=0.32, steep=3.0, bound=1.0):
    clock = capped_clock_fraction(
        cap_kw=cap, uncapped_kw=uncapped, static_kw=static, linear_fraction=linear, steep_exponent=steep
    )
    return capped_throughput_fraction(clock_fraction=clock, clock_bound_fraction=bound)


def test_the_hosts_share_of_an_h100_node_lies_in_the_measured_range():
    """Parts of a DGX-class host at load, supplies of MLPerf's DC over AC, eight H100 at 600 W: 2 to 2.5 kW.

    An independent route to `server.hgx-h100.host_power`: fans take 0.12 of an air-cooled node of 7 kW, and
    none where it is immersed, as the logged nodes were.
    """
    fact = load_catalogue().fact
    cards = 8 * fact("performance.power.network_card").value
    parts = 0.7 + 0.2 + 0.05 + cards + 0.12 * 7  # processors, memory, drives, cards and fans
    host = (parts + 4.8) / fact("performance.power.supply_efficiency").value - 4.8
    measured = fact("server.hgx-h100.host_power")

    assert measured.low <= host <= measured.high


def test_an_h100_node_by_state_against_logs():
    """MLPerf v4.0: 8 x H100 nodes, immersed, drew 6.85 kW training GPT-3 and 2.15 kW between phases.

    The share of rated power while training was read off this log, so its row checks the sum over the node.
    """

    def fact(key):
        return load_catalogue().fact(key).value

    rated = fact("performance.power.training") * fact("accelerator.h100-sxm-80gb.tdp")
    host = fact("server.hgx-h100.host_power@immersion")
    training = node_power_kw(host_kw=host, accelerators=8, accelerator_kw=rated)
    idle = node_power_kw(
        host_kw=fact("server.hgx-h100.host_idle_power@immersion"),
        accelerators=8,
        accelerator_kw=fact("accelerator.h100-sxm-80gb.idle_power"),
    )

    assert training == pytest.approx(fact("node_power.h100-8-gpt3.measured"), rel=0.01)
    assert idle == pytest.approx(fact("node_power.h100-8-idle.measured"), rel=0.01)


def test_the_law_of_the_clock_is_that_of_h200_with_and_without_limits():
    """MLPerf Inference v4.1: eight benchmarks under 350 to 500 of 700 W; what ships is their fit."""
    law = fitted(H200)

    assert law == pytest.approx(shipped(), rel=0.02)
    assert np.mean(np.abs(missed(H200, *law))) < 0.04


@pytest.mark.parametrize(("chip", "within"), [("v100", 0.04), ("p100", 0.05), ("rtx6000", 0.06)])
def test_the_same_law_tells_the_speed_of_older_chips_under_caps(chip, within):
    """Epochs of BERT and ResNet-50 (Zeus): nothing was fitted on them; their own fit errs by 1 to 3 %."""
    assert np.mean(np.abs(missed(chip, *shipped()))) < within
    assert np.mean(np.abs(missed(chip, *fitted(chip)))) < 0.03


def test_capped_training_on_v100_by_another_study():
    """McDonald et al. (NAACL 2022): 150 of 250 W cost BERT 6.8 % more time and 13.7 % less energy.

    The energy says that the work drew 0.863 / 1.068 of what it draws at the cap: 186 W uncapped. The law of
    newer chips is careful here.
    """
    linear, steep = shipped()
    speed = throughput(0.150, uncapped=0.150 / (0.863 / 1.068), static=0.040, linear=linear, steep=steep)

    assert 1.05 < 1 / speed < 1.18


def test_decode_does_not_slow_down_under_a_cap():
    """Splitwise (ISCA 2024): the token phase keeps its latency at half the rated power."""
    bound = load_catalogue().fact("performance.power_cap.decode_clock_bound").value

    assert throughput(0.35, uncapped=0.385, static=0.14, bound=bound) == pytest.approx(1.0)


@given(
    static=st.floats(0, 0.5),
    linear=st.floats(0.05, 1),
    steep=st.floats(1, 20),
    bound=st.floats(0, 1),
    caps=st.tuples(SHARE, SHARE),
)
def test_throughput_rises_with_the_cap(static, linear, steep, bound, caps):
    """Never above 1, and 1 at what is drawn without a cap."""
    low, high = sorted(static + (1.2 - static) * cap for cap in caps)
    assume(low > static)
    law = {"static": static, "linear": linear, "steep": steep, "bound": bound}
    slow, fast = throughput(low, **law), throughput(high, **law)

    assert 0 < slow <= fast + 1e-12
    assert fast <= 1 + 1e-12
    assert throughput(1.0, **law) == pytest.approx(1.0)


@given(cap=st.floats(0.3, 2), linear=st.floats(0.05, 1), steep=st.floats(1, 20))
def test_the_clock_draws_what_the_cap_allows(cap, linear, steep):
    """There and back: the power at the clock is the cap, or the draw where the cap lies above it."""
    law = {"linear_fraction": linear, "steep_exponent": steep}
    clock = capped_clock_fraction(cap_kw=cap, uncapped_kw=1.0, static_kw=0.2, **law)
    power = clocked_power_kw(power_kw=1.0, static_kw=0.2, clock_fraction=clock, **law)

    assert power == pytest.approx(min(cap, 1.0))


@given(clock=st.floats(0.3, 1), linear=st.floats(0.05, 1), steep=st.floats(1, 20))
def test_work_at_a_lower_clock_takes_less_energy_and_never_more_power(clock, linear, steep):
    """Voltage falls with the clock, so that d(f) <= f; what draws less than what is static stays."""
    law = {"linear_fraction": linear, "steep_exponent": steep}

    assert clocked_dynamic_fraction(clock_fraction=clock, **law) <= clock + 1e-12
    assert clocked_power_kw(power_kw=0.1, static_kw=0.2, clock_fraction=clock, **law) == pytest.approx(0.1)
    assert clocked_power_kw(power_kw=1.0, static_kw=0.2, clock_fraction=1.0, **law) == pytest.approx(1.0)


def test_caps_as_a_column():
    """A sweep of caps is one call; those above the draw change nothing."""
    caps = np.array([0.5, 0.8, 1.0, 1.5])
    got = throughput(caps, linear=1.0)

    assert got == pytest.approx([0.375, 0.75, 1.0, 1.0])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"cap_kw": 0.2}, "cap_kw is above static_kw, got 0.2 and static 0.2"),
        ({"uncapped_kw": 0.1}, "uncapped_kw is above static_kw"),
        ({"steep_exponent": 0.5}, "steep_exponent is finite and at least 1"),
        ({"linear_fraction": 0.0}, "linear_fraction"),
        ({"cap_kw": -1.0}, "cap_kw is finite and above 0"),
    ],
)
def test_caps_that_cannot_be(values, words):
    wanted = {"cap_kw": 0.5, "uncapped_kw": 1.0, "static_kw": 0.2}
    wanted |= {"linear_fraction": 0.6, "steep_exponent": 12.0}

    with pytest.raises(ValueError, match=words):
        capped_clock_fraction(**wanted | values)
