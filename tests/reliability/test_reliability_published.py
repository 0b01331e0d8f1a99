"""Values that others published, each with its source and the reason for its tolerance."""

import math

import numpy as np
import pytest

from reliability.checkpoint import (
    checkpoint_size_gb,
    checkpoint_write_h,
    daly_first_order_interval_h,
    daly_interval_h,
    optimal_interval_h,
    two_level_plan,
    young_interval_h,
)
from reliability.ettr import (
    asynchronous_ettr_fraction,
    ettr_fraction,
    linear_ettr_fraction,
    weibull_ettr_fraction,
)
from reliability.fleet import (
    at_least_one_failure_fraction,
    failure_rate_per_node_h,
    failures_in_1000_node_days,
    implied_node_mttf_h,
    job_mttf_h,
    rate_per_node_h,
)
from reliability.simulate import simulate_job
from reliability.spares import spares_for_confidence
from reliability.two_level_ettr import two_level_ettr_fraction

MINUTE_H = 1 / 60
SECOND_H = 1 / 3600
THIRTEEN_A_DAY_H = 24 / 13  # RSC-1 at 16,000 GPUs


def rsc_1_mttf_h(accelerators):
    """Kokolis et al., arXiv 2410.21680: 6.50 failures per 1000 node-days, 8 GPUs a node."""
    return job_mttf_h(
        nodes=accelerators / 8, failure_rate_per_node_h=rate_per_node_h(failures_in_1000_node_days=6.5)
    )


def at_hour_interval(model, accelerators):
    return model(interval_h=1.0, mttf_h=rsc_1_mttf_h(accelerators), write_h=0.0, restart_h=5 * MINUTE_H)


def test_job_mttf_of_the_rsc_1_projection():
    """The paper prints 1.8 h for 16,384 GPUs (two digits, so 2 %)."""
    assert rsc_1_mttf_h(16_384) == pytest.approx(1.8, rel=0.02)


def test_model_and_measurement_of_1024_accelerators_disagree_by_a_known_factor():
    """The paper's rate gives 28.85 h at 1024 GPUs, its text 7.9 h: 42.1 days a node, 3.65 times the rate."""
    implied_h = implied_node_mttf_h(job_mttf_h=7.9, nodes=128)

    assert rsc_1_mttf_h(1024) == pytest.approx(28.85, rel=0.005)
    assert implied_h / 24 == pytest.approx(42.1, rel=0.005)
    assert rsc_1_mttf_h(1024) / 7.9 == pytest.approx(3.65, rel=0.005)


@pytest.mark.parametrize(
    ("accelerators", "interval_min", "published", "tolerance"),
    [
        (16_000, 60, 0.70, 0.025),  # printed with one digit
        (16_000, 5, 0.93, 0.006),
        (100_000, 7, 0.50, 0.03),
    ],
)
def test_linear_ettr_of_the_paper(accelerators, interval_min, published, tolerance):
    """Kokolis et al., arXiv 2410.21680: restart 5 min, no write, no queue."""
    ours = linear_ettr_fraction(
        interval_h=interval_min * MINUTE_H,
        mttf_h=rsc_1_mttf_h(accelerators),
        write_h=0.0,
        restart_h=5 * MINUTE_H,
    )

    assert ours == pytest.approx(published, abs=tolerance)


@pytest.mark.parametrize("model", [linear_ettr_fraction, ettr_fraction])
@pytest.mark.parametrize("accelerators", [2048, 4096])
def test_one_day_runs_exceed_nine_tenths(model, accelerators):
    """Kokolis et al.: runs of 2048 to 4096 GPUs at an hour's interval stay above 0.9."""
    assert 0.9 < at_hour_interval(model, accelerators) < 0.97


def test_linear_form_is_within_five_percent_of_simulation_at_8000_accelerators():
    """The paper's own claim about its formula; the gap is 1.1 % by an independent calculation."""
    simulated = simulate_job(
        intervals=1000,
        interval_h=1.0,
        mttf_h=rsc_1_mttf_h(8000),
        write_h=0.0,
        restart_h=5 * MINUTE_H,
        replicas=400,
        seed=11,
    ).ettr_fraction.mean()
    gap = abs(at_hour_interval(linear_ettr_fraction, 8000) / simulated - 1)

    assert gap == pytest.approx(0.011, abs=0.002)
    assert gap < 0.05


@pytest.mark.parametrize("model", [linear_ettr_fraction, ettr_fraction])
def test_ten_second_writes_reach_nine_tenths_at_12000_accelerators(model):
    """Kokolis et al.: at 12,000 GPUs a write of about 10 s is needed for 0.9 (0.92 at 7.0 min)."""
    mttf_h = rsc_1_mttf_h(12_000)
    interval_h = young_interval_h(mttf_h=mttf_h, write_h=10 * SECOND_H)
    ours = model(interval_h=interval_h, mttf_h=mttf_h, write_h=10 * SECOND_H, restart_h=5 * MINUTE_H)

    assert interval_h / MINUTE_H == pytest.approx(7.0, rel=0.01)
    assert ours == pytest.approx(0.92, abs=0.005)


def test_young_interval_of_the_paper():
    """Kokolis et al.: 5 min writes at 12,000 GPUs give 38.4 min."""
    ours = young_interval_h(mttf_h=rsc_1_mttf_h(12_000), write_h=5 * MINUTE_H)

    assert ours / MINUTE_H == pytest.approx(38.4, rel=0.005)


def test_llama_3_time_between_interruptions():
    """Llama 3, arXiv 2407.21783, Table 5: 419 unexpected stops in 54 days are one in three hours."""
    rate = failure_rate_per_node_h(failures=419, nodes=2048, period_h=54 * 24)

    assert job_mttf_h(nodes=2048, failure_rate_per_node_h=rate) == pytest.approx(3.09, rel=0.003)
    assert failures_in_1000_node_days(failure_rate_per_node_h=rate) == pytest.approx(3.79, rel=0.003)


def test_llama_3_exceeds_nine_tenths_with_ten_minute_restarts_only():
    """The paper says above 90 %; 10 s writes and 10 min restarts give 0.906 to 0.909, 20 min miss it."""
    mttf_h = job_mttf_h(nodes=2048, failure_rate_per_node_h=rate_per_node_h(failures_in_1000_node_days=3.789))
    interval_h = optimal_interval_h(mttf_h=mttf_h, write_h=10 * SECOND_H)
    ten, twenty = ettr_fraction(
        interval_h=interval_h, mttf_h=mttf_h, write_h=10 * SECOND_H, restart_h=np.array([10, 20]) * MINUTE_H
    )

    assert ten == pytest.approx(0.9085, abs=0.001)
    assert twenty < 0.89


@pytest.mark.parametrize(
    ("failures", "nodes", "days", "published", "tolerance"),
    [
        (105, 992 / 8, 61, 13.9, 0.01),  # OPT-175B, arXiv 2205.01068, section 2.5: 35 + 70 restarts
        (584, 400, 348, 4.195, 0.002),  # InfiniteHBD trace, all faults
        (298, 400, 348, 2.141, 0.002),  # InfiniteHBD trace, hardware faults
    ],
)
def test_failure_rates_from_counts(failures, nodes, days, published, tolerance):
    rate = failure_rate_per_node_h(failures=failures, nodes=nodes, period_h=24 * days)

    assert failures_in_1000_node_days(failure_rate_per_node_h=rate) == pytest.approx(published, rel=tolerance)


def test_a_thousand_cards_fail_on_most_days():
    """Ant Group (dlrover): 0.27 % a card and day makes 93 % for a thousand cards."""
    ours = at_least_one_failure_fraction(nodes=1000, failure_rate_per_node_h=0.0027 / 24, period_h=24)

    assert ours == pytest.approx(0.93, abs=0.005)


def test_half_an_hour_between_failures_of_100000_accelerators():
    """Epoch AI: 50,000 h a GPU and 100,000 GPUs; a 'node' of one GPU."""
    assert job_mttf_h(nodes=100_000, failure_rate_per_node_h=1 / 50_000) == pytest.approx(0.5, rel=0.005)


def test_three_and_two_thirds_days_of_1024_accelerators():
    """CoreWeave: 3748 GPU-days a failure."""
    ours = job_mttf_h(nodes=1024, failure_rate_per_node_h=1 / (3748.25 * 24))

    assert ours / 24 == pytest.approx(3.66, rel=0.003)


def test_checkpoint_of_530_billion_parameters_takes_42_minutes():
    """Gemini, SOSP 2023, section 2.2: 12 bytes a parameter over 20 Gbit/s."""
    size_gb = checkpoint_size_gb(parameters=530e9, bytes_per_parameter=12)
    ours = checkpoint_write_h(size_gb=size_gb, bandwidth_gb_per_s=20 / 8)

    assert ours / MINUTE_H == pytest.approx(42, rel=0.015)


@pytest.mark.parametrize(("mttf_h", "published_min"), [(24, 117), (6, 57)])
def test_daly_higher_order_interval(mttf_h, published_min):
    """Daly, FGCS 22(3), 2006, figures 3 to 5, dump 5 min: whole minutes, his simulation agrees."""
    ours = daly_interval_h(mttf_h=mttf_h, write_h=5 * MINUTE_H)

    assert ours / MINUTE_H == pytest.approx(published_min, rel=0.006)


def test_young_interval_of_64_nodes():
    """GraphLab, PVLDB 2012: 64 machines, one failure a year each, 2 min writes: 3 h."""
    mttf_h = job_mttf_h(nodes=64, failure_rate_per_node_h=1 / 8766)

    assert young_interval_h(mttf_h=mttf_h, write_h=2 * MINUTE_H) == pytest.approx(3, rel=0.015)


@pytest.mark.parametrize(
    ("formula", "write_h", "percent", "tolerance"),
    [
        (young_interval_h, 0.001, 1.5, 0.05),
        (young_interval_h, 0.01, 4.88, 0.05),
        (young_interval_h, 0.1, 16.71, 0.05),
        (daly_first_order_interval_h, 0.001, -0.8, 0.05),
        (daly_first_order_interval_h, 0.01, -2.5, 0.05),
        (daly_first_order_interval_h, 0.1, -9.4, 0.05),
        (daly_interval_h, 0.01, -0.0011, 0.0003),
        (daly_interval_h, 0.1, -0.0396, 0.0003),
    ],
)
def test_error_of_the_approximate_intervals(formula, write_h, percent, tolerance):
    """Against Lambert's optimum (Daly 2006) with an MTTF of 1: the known errors in percent."""
    error = formula(mttf_h=1.0, write_h=write_h) / optimal_interval_h(mttf_h=1.0, write_h=write_h) - 1

    assert 100 * error == pytest.approx(percent, abs=tolerance)


@pytest.mark.parametrize(("interval_min", "write_min", "expected"), [(60, 0, 0.7210), (30, 1, 0.8024)])
def test_exact_ettr_at_thirteen_failures_a_day(interval_min, write_min, expected):
    """Closed form, restart 5 min; a Monte Carlo by others gives 0.7206 +- 0.0001 for the first."""
    ours = ettr_fraction(
        interval_h=interval_min * MINUTE_H,
        mttf_h=THIRTEEN_A_DAY_H,
        write_h=write_min * MINUTE_H,
        restart_h=5 * MINUTE_H,
    )

    assert ours == pytest.approx(expected, abs=0.0005)


def test_asynchronous_ettr_at_thirteen_failures_a_day():
    """Closed form: 0.8649 with 0.1 min blocking and 5 min to store, against 0.9 were storing free."""
    ours = asynchronous_ettr_fraction(
        interval_h=10 * MINUTE_H,
        mttf_h=THIRTEEN_A_DAY_H,
        blocking_h=0.1 * MINUTE_H,
        persist_h=5 * MINUTE_H,
        restart_h=5 * MINUTE_H,
    )

    assert ours == pytest.approx(0.8649, abs=0.0005)


def test_weibull_ettr_at_thirteen_failures_a_day():
    """Renewal sums for shapes 0.5, 0.7, 1 at the same mean: early failures waste less of an interval."""
    ours = weibull_ettr_fraction(
        interval_h=1.0,
        mttf_h=THIRTEEN_A_DAY_H,
        weibull_shape=np.array([0.5, 0.7, 1.0]),
        write_h=0.0,
        restart_h=5 * MINUTE_H,
    )

    assert ours == pytest.approx([0.789, 0.7507, 0.7210], abs=0.0005)


TWO_LEVELS = {
    "local_rate_per_h": 0.8 / THIRTEEN_A_DAY_H,
    "remote_rate_per_h": 0.2 / THIRTEEN_A_DAY_H,
    "local_write_h": 0.1 * MINUTE_H,
    "remote_write_h": 5 * MINUTE_H,
}
RESTARTS = {"local_restart_h": 2 * MINUTE_H, "remote_restart_h": 10 * MINUTE_H}


def test_two_level_pattern():
    """Benoit et al. 2016: sqrt(0.8 / 0.2 * 5 / 0.1) = 14.14, so 14 local saves 5.304 min apart."""
    plan = two_level_plan(**TWO_LEVELS)

    assert plan.local_saves == 14
    assert plan.interval_h / MINUTE_H == pytest.approx(5.30395, rel=1e-5)


def test_two_level_ettr():
    """Simulation by others: 0.8092 with standard error 0.00016 (three of them)."""
    pattern = {"interval_h": 5.30395 * MINUTE_H, "local_saves": 14, **TWO_LEVELS, **RESTARTS}

    assert two_level_ettr_fraction(**pattern) == pytest.approx(0.8092, abs=3 * 0.00016)


def test_one_level_is_far_behind_two():
    """The same failures with 5 min writes only: about 0.66 at its own best interval."""
    interval_h = optimal_interval_h(mttf_h=THIRTEEN_A_DAY_H, write_h=5 * MINUTE_H)
    ours = ettr_fraction(
        interval_h=interval_h, mttf_h=THIRTEEN_A_DAY_H, write_h=5 * MINUTE_H, restart_h=10 * MINUTE_H
    )

    assert ours == pytest.approx(0.66, abs=0.01)


def test_seventeen_spares_for_nine_nodes_down():
    """Textbook Poisson 99 % for a mean of 9.26 (InfiniteHBD); the trace itself shows it to be too few."""
    spares = spares_for_confidence(mean_down=9.26, confidence_fraction=0.99)
    chance = [math.exp(-9.26) * 9.26**k / math.factorial(k) for k in range(18)]

    assert spares == 17
    assert sum(chance[:17]) < 0.99 <= sum(chance)
