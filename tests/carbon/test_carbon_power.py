"""Power of parts and under a cap: sums at the plug, laws with their ends and shape, published cap studies."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from carbon.power import (
    capped_clock_fraction,
    capped_throughput_fraction,
)
from planner.inputs.loading import load_catalogue
from planner.performance.power import node_power_kw

SHARE = st.floats(0.01, 1)


def throughput(cap, *, uncapped=1.0, static=0.2, exponent=3.0, bound=1.0):
    clock = capped_clock_fraction(cap_kw=cap, uncapped_kw=uncapped, static_kw=static, clock_exponent=exponent)
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


def test_capped_training_on_v100():
    """McDonald et al. (NAACL 2022): 150 of 250 W cost BERT 6.8 % more time and 13.7 % less energy.

    The energy says that the work drew 0.863 / 1.068 of what it draws at the cap: 186 W uncapped. With the
    shipped law the time follows; its share of clock-bound time was solved from this one study, to 2 digits.
    """
    fact = load_catalogue().fact
    uncapped_kw = 0.150 / (0.863 / 1.068)
    speed = throughput(
        0.150,
        uncapped=uncapped_kw,
        static=fact("performance.power.idle").value * 0.250,
        exponent=fact("performance.power_cap.clock_exponent").value,
        bound=fact("performance.power_cap.training_clock_bound").value,
    )

    assert 1 / speed == pytest.approx(1.068, abs=0.001)


def test_decode_does_not_slow_down_under_a_cap():
    """Splitwise (ISCA 2024): the token phase keeps its latency at half the rated power."""
    bound = load_catalogue().fact("performance.power_cap.decode_clock_bound").value

    assert throughput(0.35, uncapped=0.385, static=0.14, bound=bound) == pytest.approx(1.0)


@given(
    static=st.floats(0, 0.5),
    exponent=st.floats(1, 3),
    bound=st.floats(0, 1),
    caps=st.tuples(SHARE, SHARE),
    weight=st.floats(0, 1),
)
def test_throughput_rises_and_is_concave_in_the_cap(static, exponent, bound, caps, weight):
    """A mean of two caps gives at least the mean of their throughputs, never above 1."""
    low, high = sorted(static + (1.2 - static) * cap for cap in caps)
    assume(low > static)
    law = {"static": static, "exponent": exponent, "bound": bound}
    slow, fast = throughput(low, **law), throughput(high, **law)
    between = throughput(weight * low + (1 - weight) * high, **law)

    assert 0 < slow <= fast + 1e-12
    assert fast <= 1 + 1e-12
    assert between >= weight * slow + (1 - weight) * fast - 1e-9
    assert throughput(1.0, **law) == pytest.approx(1.0)


@given(cap=st.floats(0.3, 2))
def test_the_clock_draws_what_the_cap_allows(cap):
    """Independent route: P_s + (P_0 - P_s) f^3 is the cap, or the draw where the cap lies above it."""
    clock = capped_clock_fraction(cap_kw=cap, uncapped_kw=1.0, static_kw=0.2, clock_exponent=3.0)
    power = 0.2 + 0.8 * clock**3

    assert power == pytest.approx(min(cap, 1.0))


def test_caps_as_a_column():
    """A sweep of caps is one call; those above the draw change nothing."""
    caps = np.array([0.5, 0.8, 1.0, 1.5])
    got = throughput(caps, exponent=1.0)

    assert got == pytest.approx([0.375, 0.75, 1.0, 1.0])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"cap_kw": 0.2}, "cap_kw is above static_kw, got 0.2 and static 0.2"),
        ({"uncapped_kw": 0.1}, "uncapped_kw is above static_kw"),
        ({"clock_exponent": 0.5}, "clock_exponent is finite and at least 1"),
        ({"cap_kw": -1.0}, "cap_kw is finite and above 0"),
    ],
)
def test_caps_that_cannot_be(values, words):
    wanted = {"cap_kw": 0.5, "uncapped_kw": 1.0, "static_kw": 0.2, "clock_exponent": 3.0}

    with pytest.raises(ValueError, match=words):
        capped_clock_fraction(**wanted | values)
