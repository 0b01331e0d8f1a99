"""Properties of ETTR, of checkpoint intervals and of hours by state, and an evaluation in 50 digits."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from reliability.checkpoint import (
    hours_by_state,
    objective_optimal_interval_h,
    optimal_interval_h,
    two_level_plan,
    weighted_hours_ratio,
)
from reliability.ettr import (
    asynchronous_ettr_fraction,
    ettr_fraction,
    linear_ettr,
    linear_ettr_fraction,
    linear_loss_fraction,
    weibull_ettr_fraction,
)
from reliability.restart import retried_restart_h
from reliability.simulate import simulate_job
from reliability.two_level_ettr import two_level_ettr_fraction

mttfs_h = st.floats(0.05, 1e5)
intervals_h = st.floats(1e-3, 100)
delays_h = st.floats(0, 10)
writes_h = st.floats(1e-4, 5)
weights = st.floats(0.05, 20)


@given(interval_h=intervals_h, mttf_h=mttfs_h, write_h=delays_h, restart_h=delays_h, queue_h=delays_h)
def test_ettr_is_a_share_and_falls_with_the_failure_rate(interval_h, mttf_h, write_h, restart_h, queue_h):
    rarer, oftener = ettr_fraction(
        interval_h=interval_h,
        mttf_h=np.array([mttf_h, mttf_h / 2]),
        write_h=write_h,
        restart_h=restart_h,
        queue_h=queue_h,
    )

    assert 0 <= oftener <= rarer <= 1


def test_a_job_without_failures_loses_its_writes_only():
    """Infinite MTTF: W / (W + C), in every form."""
    given_h = {"interval_h": 0.9, "mttf_h": np.inf, "restart_h": 0.5}

    assert ettr_fraction(write_h=0.1, **given_h) == pytest.approx(0.9, rel=1e-15)
    assert linear_ettr_fraction(write_h=0.1, **given_h) == pytest.approx(0.9, rel=1e-15)
    assert asynchronous_ettr_fraction(blocking_h=0.1, persist_h=0.3, **given_h) == pytest.approx(
        0.9, rel=1e-15
    )
    assert hours_by_state(write_h=0.1, **given_h).lost_h == pytest.approx(0, abs=1e-15)


def test_a_hopeless_job_has_an_ettr_of_zero_and_no_warning():
    """5000 MTTFs between checkpoints: exp(-5000) underflows to zero, as it should."""
    assert ettr_fraction(interval_h=5000.0, mttf_h=1.0, write_h=0.0, restart_h=1.0) == 0


def test_linear_form_is_the_first_order_of_the_exact_one():
    """Halving all times against the MTTF must quarter the difference."""
    gaps = []
    for mttf_h in (50.0, 100.0, 200.0):
        job = {"interval_h": 1.0, "mttf_h": mttf_h, "write_h": 0.0, "restart_h": 0.2, "queue_h": 0.3}
        gaps.append(ettr_fraction(**job) - linear_ettr_fraction(**job))

    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.05)
    assert gaps[1] / gaps[2] == pytest.approx(4, rel=0.03)


@given(interval_h=intervals_h, mttf_h=st.floats(1, 1e5), restart_h=delays_h)
def test_the_line_is_at_most_its_loss_squared_below_the_exact_form(interval_h, mttf_h, restart_h):
    """The exact form lies between 1 - z and 1 / (1 + z), z the loss: it is what `in_range` rests on."""
    job = {"interval_h": interval_h, "mttf_h": mttf_h, "restart_h": restart_h}
    loss = linear_loss_fraction(**job)
    line, exact = linear_ettr_fraction(write_h=0.0, **job), ettr_fraction(write_h=0.0, **job)

    assert line <= exact * (1 + 1e-12)
    assert exact <= (1 + 1e-12) / (1 + loss)


def test_the_line_says_when_it_is_out_of_its_range():
    """RSC-1's rate, an hour: 4096 GPUs are in, 16,000 (0.684, exact 0.721) and 100,000 (below 0) are out."""
    accelerators = np.array([4096, 16_000, 100_000])
    job = {
        "interval_h": 1.0,
        "mttf_h": 24_000 / 6.5 / (accelerators / 8),
        "write_h": 0.0,
        "restart_h": 5 / 60,
    }
    read = linear_ettr(**job)

    assert read.in_range.tolist() == [True, False, False]
    assert read.ettr_fraction == pytest.approx([0.9191, 0.6840, -0.9748], abs=5e-5)
    assert read.loss_fraction == pytest.approx(1 - read.ettr_fraction, rel=1e-12)
    assert linear_ettr(largest_loss_fraction=0.32, **job).in_range.tolist() == [True, True, False]


QUEUED = {
    "exact": (ettr_fraction, {"write_h": 0.02}),
    "asynchronous": (asynchronous_ettr_fraction, {"blocking_h": 0.02, "persist_h": 0.3}),
    "weibull": (weibull_ettr_fraction, {"write_h": 0.02, "weibull_shape": 0.7, "persist_h": 0.2}),
}


@pytest.mark.parametrize("form", QUEUED)
def test_a_queue_after_each_failure_is_a_longer_restart(form):
    """Nothing fails and nothing is done in either, so only their sum can matter."""
    ettr, costs = QUEUED[form]
    job = {"interval_h": 0.5, "mttf_h": 9.0, **costs}

    assert ettr(restart_h=0.2, queue_h=0.7, **job) == pytest.approx(ettr(restart_h=0.9, **job), rel=1e-14)


def test_a_queue_in_the_other_forms():
    """Two-level: q on both restarts."""
    rates = {"interval_h": 0.5, "local_saves": 4, "local_rate_per_h": 0.2, "remote_rate_per_h": 0.05}
    costs = {"local_write_h": 0.01, "remote_write_h": 0.1}
    restarts = {"local_restart_h": 0.1, "remote_restart_h": 0.4}
    longer = {"local_restart_h": 0.8, "remote_restart_h": 1.1}

    assert two_level_ettr_fraction(queue_h=0.7, **rates, **costs, **restarts) == pytest.approx(
        two_level_ettr_fraction(**rates, **costs, **longer), rel=1e-14
    )


def test_queue_counts_after_each_failure_and_once_at_the_start():
    """By hand, lambda 0.01: (1 - 0.01 * 0.7) / ((1 + 0.003 + 0.5 / 1000) * 1.1)."""
    ours = linear_ettr_fraction(
        interval_h=1.0, mttf_h=100.0, write_h=0.1, restart_h=0.2, queue_h=0.3, productive_h=1000.0
    )

    assert ours == pytest.approx(0.993 / (1.0035 * 1.1), rel=1e-14)


@given(interval_h=intervals_h, mttf_h=st.floats(1, 1e5), write_h=delays_h, restart_h=delays_h)
def test_weibull_of_shape_one_is_the_exact_form(interval_h, mttf_h, write_h, restart_h):
    """The sum is then geometric; it is added term by term and by Euler and Maclaurin."""
    job = {"interval_h": interval_h, "mttf_h": mttf_h, "write_h": write_h, "restart_h": restart_h}

    assert weibull_ettr_fraction(weibull_shape=1.0, **job) == pytest.approx(
        ettr_fraction(**job), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("shape", [0.4, 0.7, 1.5, 4.0])
@pytest.mark.parametrize("interval_h", [0.001, 0.03, 0.5])
def test_weibull_sum_against_adding_every_term(shape, interval_h):
    """Two million terms, far past the last that counts at this interval."""
    from math import gamma

    terms = np.arange(1, 2_000_001) * interval_h * gamma(1 + 1 / shape)
    expected = interval_h * np.exp(-(terms**shape)).sum() / 1.1
    ours = weibull_ettr_fraction(
        interval_h=interval_h, mttf_h=1.0, weibull_shape=shape, write_h=0.0, restart_h=0.1
    )

    assert ours == pytest.approx(expected, rel=1e-9)


def test_asynchronous_without_a_background_write_is_blocking():
    job = {"interval_h": 0.7, "mttf_h": 9.0, "restart_h": 0.2}

    assert asynchronous_ettr_fraction(blocking_h=0.05, persist_h=0.0, **job) == ettr_fraction(
        write_h=0.05, **job
    )


def test_asynchronous_loses_half_the_interval_and_the_time_to_store():
    """To first order 1 / ETTR - 1 = (u0 + W/2 + P) / M; at an MTTF of 1e6 h the rest is below 1e-5 of it."""
    ours = asynchronous_ettr_fraction(
        interval_h=2.0, mttf_h=1e6, blocking_h=0.0, persist_h=1.5, restart_h=0.25
    )

    assert (1 / ours - 1) * 1e6 == pytest.approx(0.25 + 1.0 + 1.5, rel=1e-5)


@given(interval_h=intervals_h, mttf_h=st.floats(1, 1e5), write_h=delays_h, restart_h=delays_h)
def test_asynchronous_weibull_of_shape_one_is_the_asynchronous_form(interval_h, mttf_h, write_h, restart_h):
    job = {"interval_h": interval_h, "mttf_h": mttf_h, "restart_h": restart_h}
    persist_h = (interval_h + write_h) / 2

    assert weibull_ettr_fraction(weibull_shape=1.0, write_h=write_h, persist_h=persist_h, **job) == (
        pytest.approx(
            asynchronous_ettr_fraction(blocking_h=write_h, persist_h=persist_h, **job), rel=1e-9, abs=1e-12
        )
    )


@pytest.mark.parametrize("shape", [0.6, 1.7])
def test_asynchronous_weibull_against_played_jobs(shape):
    """Renewal theory holds in the long run: the played ETTR of 4000 h is within 0.4 %."""
    job = {
        "interval_h": 1.0,
        "mttf_h": 3.0,
        "write_h": 0.05,
        "restart_h": 0.2,
        "weibull_shape": shape,
        "persist_h": 0.6,
    }
    played = simulate_job(intervals=4000, replicas=300, seed=15, **job)

    assert 4000 / played.finish_h.mean() == pytest.approx(weibull_ettr_fraction(**job), rel=0.004)


def exact_by_decimals(interval, mttf, write, restart):
    with localcontext() as context:
        context.prec = 50
        w, m, c, u = (Decimal(x) for x in (interval, mttf, write, restart))
        return float(w / ((m + u) * (((w + c) / m).exp() - 1)))


def best_by_decimals(mttf, write):
    """Halve 1 - x = exp(-c - x), the condition for the largest ETTR, in 50 digits."""
    with localcontext() as context:
        context.prec = 50
        ratio, low, high = Decimal(write) / Decimal(mttf), Decimal(0), Decimal(1)
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (middle, high) if 1 - middle > (-ratio - middle).exp() else (low, middle)
        return float(high * Decimal(mttf))


@pytest.mark.slow
@pytest.mark.nightly
def test_fifty_digits_agree_on_a_thousand_random_jobs():
    """Decimal arithmetic from the plain formulas; ours is rearranged to survive extreme ratios."""
    random = np.random.default_rng(4)
    ratio, write_h = 10 ** random.uniform(-12, 0.3, 1000), 10 ** random.uniform(-3, 0, 1000)
    mttf_h, restart_h = write_h / ratio, 10 ** random.uniform(-3, 1, 1000)
    best_h = optimal_interval_h(mttf_h=mttf_h, write_h=write_h)
    ours = ettr_fraction(interval_h=best_h, mttf_h=mttf_h, write_h=write_h, restart_h=restart_h)
    jobs = list(zip(best_h, mttf_h, write_h, restart_h, strict=True))

    assert best_h == pytest.approx([best_by_decimals(m, c) for _, m, c, _ in jobs], rel=1e-9)
    assert ours == pytest.approx([exact_by_decimals(*job) for job in jobs], rel=1e-11)


def digits(*values):
    return [Decimal(float(value)) for value in values]


def two_level_by_decimals(interval, saves, rate1, rate2, write1, write2, restart1, restart2):
    """Each E_i = a_i + b_i * E_0, from the last stage back to the first."""
    w, l1, l2, c1, c2, r1, r2 = digits(interval, rate1, rate2, write1, write2, restart1, restart2)
    a, b = Decimal(0), Decimal(0)
    for stage in range(saves):
        passed = (-(l1 + l2) * (w + c1 + (c2 if stage == 0 else 0))).exp()
        attempt = (1 - passed) / (l1 + l2)
        stays = 1 - attempt * l1
        a = (attempt * (1 + l1 * r1 + l2 * r2) + passed * a) / stays
        b = (attempt * l2 + passed * b) / stays
    return float(saves * w * (1 - b) / a)


def test_fifty_digits_agree_on_the_other_forms():
    """Asynchronous, restarts that can fail, two levels and Weibull, a hundred random jobs each."""
    random = np.random.default_rng(8)
    for _ in range(100):
        interval, mttf, write, restart, share = 10 ** random.uniform([-2, 0, -4, -3, -2], [0, 3, -1, 0, 0])
        job = {"interval_h": interval, "mttf_h": mttf}
        persist, saves = share * interval, int(random.integers(1, 30))
        with localcontext() as context:
            context.prec = 50
            w, m, c, u, p = digits(interval, mttf, write, restart, persist)
            grown = ((w + c) / m).exp() - 1
            asynchronous = float(w * (-p / m).exp() / ((m + u) * grown))
            can_fail = float(w / (m * (u / m).exp() * grown))
            levels = two_level_by_decimals(
                interval, saves, share / mttf, 1 / mttf, write / 9, write, restart / 4, restart
            )

        assert asynchronous_ettr_fraction(
            blocking_h=write, persist_h=persist, restart_h=restart, **job
        ) == pytest.approx(asynchronous, rel=1e-11)
        retried = retried_restart_h(restart_h=restart, mttf_h=mttf)
        assert ettr_fraction(write_h=write, restart_h=retried, **job) == pytest.approx(can_fail, rel=1e-11)
        assert two_level_ettr_fraction(
            interval_h=interval,
            local_saves=saves,
            local_rate_per_h=share / mttf,
            remote_rate_per_h=1 / mttf,
            local_write_h=write / 9,
            remote_write_h=write,
            local_restart_h=restart / 4,
            remote_restart_h=restart,
        ) == pytest.approx(levels, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [0.6, 0.9, 2.5])
@pytest.mark.parametrize("persist_h", [0.0, 0.25])
def test_fifty_digits_agree_on_weibull(shape, persist_h):
    """The sum term by term until a term is below 1e-30."""
    with localcontext() as context:
        context.prec = 50
        cycle, persist, k = digits(0.45, persist_h, shape)
        scale = Decimal(5.0 / math.gamma(1 + 1 / shape))
        total, term, n = Decimal(0), Decimal(1), 0
        while term > Decimal("1e-30"):
            n += 1
            term = (-(((n * cycle + persist) / scale) ** k)).exp()
            total += term
        expected = float(Decimal("0.4") * total / Decimal("5.3"))
    ours = weibull_ettr_fraction(
        interval_h=0.4, mttf_h=5.0, weibull_shape=shape, write_h=0.05, restart_h=0.3, persist_h=persist_h
    )

    assert ours == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("ratio", np.geomspace(1e-5, 2, 40))
def test_ettr_at_the_recommended_interval_is_the_best(ratio):
    """SciPy's search on the exact form written out again, for C/M from 1e-5 to 2: within 1e-12."""

    def per_useful_hour(log_interval):
        interval = np.exp(np.longdouble(log_interval))
        return np.expm1(interval + np.longdouble(ratio)) * np.longdouble(1.2) / interval

    found = minimize_scalar(
        per_useful_hour, bounds=(np.log(ratio) - 3, 3), method="bounded", options={"xatol": 1e-9}
    )
    ours = ettr_fraction(
        interval_h=optimal_interval_h(mttf_h=1.0, write_h=ratio), mttf_h=1.0, write_h=ratio, restart_h=0.2
    )

    assert ours == pytest.approx(1 / float(found.fun), abs=1e-12)


@given(mttf_h=mttfs_h, write_h=writes_h, restart_h=delays_h, factor=st.floats(0.05, 20))
def test_no_interval_beats_the_optimum(mttf_h, write_h, restart_h, factor):
    best_h = optimal_interval_h(mttf_h=mttf_h, write_h=write_h)
    best, other = ettr_fraction(
        interval_h=best_h * np.array([1, factor]), mttf_h=mttf_h, write_h=write_h, restart_h=restart_h
    )

    assert other <= best * (1 + 1e-12)


@given(interval_h=st.floats(0.1, 50), mttf_h=st.floats(1, 1e5), write_h=delays_h, restart_h=delays_h)
def test_states_add_up_to_one_over_ettr(interval_h, mttf_h, write_h, restart_h):
    """Blocking and, where it fits, with half of the interval to store."""
    job = {"interval_h": interval_h, "mttf_h": mttf_h, "restart_h": restart_h}
    for persist_h in (0.0, interval_h / 2):
        hours = hours_by_state(write_h=write_h, persist_h=persist_h, **job)
        total = hours.useful_h + hours.checkpoint_h + hours.lost_h + hours.restart_h
        ettr = asynchronous_ettr_fraction(blocking_h=write_h, persist_h=persist_h, **job)

        assert total * ettr == pytest.approx(1, rel=1e-12)
        assert min(hours.checkpoint_h, hours.lost_h, hours.restart_h) >= -1e-15


@given(
    mttf_h=st.floats(1, 1e4),
    write_h=st.floats(0.005, 1),
    restart_h=st.floats(0, 2),
    work=weights,
    write=weights,
    restart=weights,
    factor=st.floats(0.1, 10),
)
def test_no_interval_beats_the_weighted_optimum(mttf_h, write_h, restart_h, work, write, restart, factor):
    job = {
        "mttf_h": mttf_h,
        "write_h": write_h,
        "restart_h": restart_h,
        "work_weight_factor": work,
        "write_weight_factor": write,
        "restart_weight_factor": restart,
    }
    best_h = objective_optimal_interval_h(**job)
    best, other = weighted_hours_ratio(interval_h=best_h * np.array([1, factor]), **job)

    assert best <= other * (1 + 1e-12)


def test_equal_weights_make_the_optimum_of_time():
    """And cheap stalls (idle power while writing) pay for more frequent checkpoints, dear ones for fewer."""
    job = {
        "mttf_h": 3.0,
        "write_h": 0.1,
        "restart_h": 0.2,
        "work_weight_factor": 10.0,
        "restart_weight_factor": 10.0,
    }
    cheap, equal, dear = objective_optimal_interval_h(write_weight_factor=np.array([3.0, 10.0, 30.0]), **job)

    assert equal == pytest.approx(optimal_interval_h(mttf_h=3.0, write_h=0.1), rel=1e-12)
    assert cheap < 0.7 * equal < 1.3 * equal < dear


def test_two_level_without_the_second_kind_of_failure_or_save_is_one_level():
    """One save a pattern, all failures remote: the exact one-level form with C1 + C2 as its write."""
    one = ettr_fraction(interval_h=0.5, mttf_h=4.0, write_h=0.15, restart_h=0.3)
    two = two_level_ettr_fraction(
        interval_h=0.5,
        local_saves=1,
        local_rate_per_h=0.0,
        remote_rate_per_h=0.25,
        local_write_h=0.05,
        remote_write_h=0.1,
        local_restart_h=9.0,
        remote_restart_h=0.3,
    )
    local_only = two_level_ettr_fraction(
        interval_h=0.5,
        local_saves=7,
        local_rate_per_h=0.25,
        remote_rate_per_h=0.0,
        local_write_h=0.15,
        remote_write_h=0.0,
        local_restart_h=0.3,
        remote_restart_h=9.0,
    )

    assert two == pytest.approx(one, rel=1e-14)
    assert local_only == pytest.approx(one, rel=1e-14)


@settings(max_examples=25, deadline=None)
@given(
    per_day=st.floats(0.5, 20),
    local=st.floats(0.5, 0.95),
    local_min=st.floats(0.02, 0.5),
    remote_min=st.floats(1, 6),
)
def test_two_level_plan_is_near_the_best_of_all_patterns(per_day, local, local_min, remote_min):
    """Every n up to 80 and 120 intervals, by the exact form: the first-order plan loses under 0.2 points."""
    costs = {
        "local_rate_per_h": per_day * local / 24,
        "remote_rate_per_h": per_day * (1 - local) / 24,
        "local_write_h": local_min / 60,
        "remote_write_h": remote_min / 60,
    }
    restarts = {"local_restart_h": 2 / 60, "remote_restart_h": 10 / 60}
    plan = two_level_plan(**costs)
    ours = two_level_ettr_fraction(
        interval_h=plan.interval_h, local_saves=plan.local_saves, **costs, **restarts
    )
    saves, interval_h = np.arange(1.0, 81)[:, None], np.geomspace(0.005, 10, 120)
    every = two_level_ettr_fraction(interval_h=interval_h, local_saves=saves, **costs, **restarts)

    assert ours > every.max() - 0.002


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"interval_h": 0.0}, "interval_h must be a finite number above 0, got 0"),
        ({"mttf_h": np.array([1.0, -2.0])}, "mttf_h must be above 0 (infinite for never), got -2 in row 1"),
        ({"write_h": float("nan")}, "write_h must be a finite number from 0 up, got nan"),
        ({"restart_h": -0.5}, "restart_h must be a finite number from 0 up, got -0.5"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(change, message):
    with pytest.raises(ValueError, match="must be") as refusal:
        ettr_fraction(**({"interval_h": 1.0, "mttf_h": 5.0, "write_h": 0.1, "restart_h": 0.1} | change))

    assert str(refusal.value) == message


def test_two_snapshots_in_flight_are_refused():
    with pytest.raises(ValueError, match="persist_h must not exceed interval_h"):
        asynchronous_ettr_fraction(interval_h=0.1, mttf_h=5.0, blocking_h=0.0, persist_h=0.2, restart_h=0.1)


def test_free_checkpoints_have_no_best_interval():
    with pytest.raises(ValueError, match="write_h must be a finite number above 0"):
        optimal_interval_h(mttf_h=5.0, write_h=0.0)
