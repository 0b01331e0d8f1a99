"""A restart from its parts, restarts that can fail, and several kinds of failure as one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reliability.ettr import ettr_fraction
from reliability.restart import (
    initialise_h,
    replace_h,
    restart_h,
    retried_restart_h,
)

hours = st.floats(0, 20)


def test_the_mean_against_drawn_restarts():
    """A million restarts: exponential waits for the scheduler, checks every half hour, a spare in 70 %."""
    random = np.random.default_rng(3)
    spare = random.random(1_000_000) < 0.7
    waits_h = np.where(spare, random.uniform(0.1, 0.3, spare.size), random.exponential(1.2, spare.size))
    drawn_h = random.uniform(0, 0.5, spare.size) + waits_h + 0.4
    replacing = {"spare_fraction": 0.7, "swap_h": 0.2, "reschedule_h": 1.2}
    mean_h = restart_h(
        detect_h=0.25, replace_h=replace_h(**replacing), initialise_h=0.1, load_h=0.1, warm_up_h=0.2
    )

    assert mean_h == pytest.approx(drawn_h.mean(), abs=3 * drawn_h.std() / 1000)


@given(spare=st.floats(0, 1), swap=hours, reschedule=hours)
def test_luck_between_two_sure_times(spare, swap, reschedule):
    """The mean lies between them."""
    job = {"spare_fraction": spare, "swap_h": swap, "reschedule_h": reschedule}

    assert min(swap, reschedule) * (1 - 1e-12) <= replace_h(**job) <= max(swap, reschedule) * (1 + 1e-12)


def test_initialisation_grows_with_doublings_and_nodes():
    """MegaScale's 256 nodes: 8 doublings of 0.5 s stay below 5 s, 4.09 s for each node are 1047 s."""
    tree, store = (
        initialise_h(nodes=np.array([256.0, 512.0]), base_h=0.0, per_doubling_h=doubling, per_node_h=node)
        for doubling, node in ((0.5 / 3600, 0.0), (0.0, 1047 / 256 / 3600))
    )

    assert tree * 3600 == pytest.approx([4.0, 4.5], rel=1e-14)
    assert store * 3600 == pytest.approx([1047, 2094], rel=1e-14)


def test_start_up_time_at_the_mtbf_of_llama_3():
    """ETTR goes as 1 / (M + u0): 5 s in place of 1047 s is worth 0.2894 h of 3.09 + 0.0814 h, 9.1 %."""
    rest = {"detect_h": 0.01, "replace_h": 0.03, "load_h": 0.02, "warm_up_h": 0.02}
    slow, quick = (restart_h(initialise_h=s / 3600, **rest) for s in (1047.0, 5.0))
    job = {"interval_h": 0.14, "mttf_h": 3.09, "write_h": 10 / 3600}

    gained = ettr_fraction(restart_h=quick, **job) / ettr_fraction(restart_h=slow, **job)

    assert gained == pytest.approx(1.0913, abs=1e-4)


@given(mttf=st.floats(0.5, 1e4), restart=st.floats(0, 5), downtime=st.floats(0, 5))
def test_a_retried_restart_makes_the_form_of_restarts_that_can_fail(mttf, restart, downtime):
    job = {"interval_h": 0.4, "mttf_h": mttf, "write_h": 0.02}
    retried_h = retried_restart_h(restart_h=restart, mttf_h=mttf, downtime_h=downtime)

    assert retried_h >= (restart + downtime) * (1 - 1e-12)
    # Daly's form: W / ((M + D) * e^(R/M) * (e^((W + C)/M) - 1)).
    daly = ettr_fraction(restart_h=downtime, **job) * np.exp(-restart / mttf)
    assert ettr_fraction(restart_h=retried_h, **job) == pytest.approx(daly, rel=1e-11)


def test_a_retried_restart_against_drawn_ones():
    """Downtime, then a restart of 0.6 h at an MTTF of 1 h, again until none fails: three standard errors."""
    random = np.random.default_rng(6)
    spent_h, trying = np.zeros(100_000), np.arange(100_000)
    while trying.size:
        up_h = random.exponential(1.0, trying.size)
        spent_h[trying] += 0.2 + np.minimum(up_h, 0.6)
        trying = trying[up_h < 0.6]
    ours_h = retried_restart_h(restart_h=0.6, mttf_h=1.0, downtime_h=0.2)

    assert abs(spent_h.mean() - ours_h) < 3 * spent_h.std() / np.sqrt(100_000)
    assert retried_restart_h(restart_h=0.6, mttf_h=np.inf, downtime_h=0.2) == pytest.approx(0.8, rel=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: replace_h(spare_fraction=1.2, swap_h=0, reschedule_h=0), "spare_fraction must be a share"),
        (
            lambda: replace_h(spare_fraction=np.array([0.5, np.nan]), swap_h=0.0, reschedule_h=0.0),
            "from 0 to 1, got nan in row 1",
        ),
        (lambda: initialise_h(nodes=0, base_h=1.0), "nodes must be a finite number above 0, got 0"),
        (
            lambda: restart_h(detect_h=0, replace_h=0, initialise_h=0, load_h=-1.0, warm_up_h=0),
            "load_h must be a finite number",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
