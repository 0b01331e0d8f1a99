"""Finish and lost hours against played jobs: queues, restarts that spread, several kinds of failure."""

import numpy as np
import pytest

from reliability import finish
from reliability.ettr import ettr_fraction
from reliability.finish import finish_quantile_h
from reliability.simulate import simulate_job

PERCENTILES = np.array([0.05, 0.5, 0.95])
JOB = {"interval_h": 0.2, "mttf_h": 24 / 13, "write_h": 0.02, "restart_h": 0.1}
SHARES, WEIGHTS = np.polynomial.legendre.leggauss(400)


def moments(quantile, **job):
    """Mean and deviation from the quantiles, averaged over their shares."""
    values = quantile(quantile_fraction=(SHARES + 1) / 2, **job)
    mean = np.average(values, weights=WEIGHTS)
    return mean, np.sqrt(np.average((values - mean) ** 2, weights=WEIGHTS))


def lost_quantile_node_h(*, nodes, useful_h, **job):
    """Node-hours beyond the useful ones: a job's hours are useful, written, lost or in restarts."""
    return nodes * (finish_quantile_h(useful_h=useful_h, **job) - useful_h)


def lost_node_h(played, nodes):
    return nodes * (played.checkpoint_h + played.lost_h + played.restart_h)


@pytest.mark.parametrize("persist_h", [0.0, 0.15])
def test_mean_and_spread_of_lost_node_hours(persist_h):
    """Lost work, stalls and restarts of 5,000 jobs of 64 nodes: both moments in three standard errors."""
    played = simulate_job(intervals=500, replicas=5000, seed=21, persist_h=persist_h, **JOB)
    lost = lost_node_h(played, 64)
    mean, deviation = moments(lost_quantile_node_h, nodes=64, useful_h=100.0, persist_h=persist_h, **JOB)

    assert abs(lost.mean() - mean) < 3 * lost.std() / np.sqrt(5000)
    assert deviation == pytest.approx(lost.std(), rel=3 / np.sqrt(2 * 5000))


@pytest.mark.parametrize("failures", [1, 3, 10, 100])
def test_percentiles_of_lost_node_hours(failures):
    """From one expected failure on p50 and p95 are within 2.5 % of 30,000 played jobs, p5 within 4.3 %."""
    job = {"interval_h": 1.0, "mttf_h": 10.0, "write_h": 0.05, "restart_h": 0.3}
    played = simulate_job(intervals=10 * failures, replicas=30_000, seed=22, **job)
    ours = lost_quantile_node_h(nodes=8, useful_h=10.0 * failures, quantile_fraction=PERCENTILES, **job)
    theirs = np.quantile(lost_node_h(played, 8), PERCENTILES)

    assert ours[0] == pytest.approx(theirs[0], rel=0.043)
    assert ours[1:] == pytest.approx(theirs[1:], rel=0.025)


def test_doubt_about_the_rate_widens_the_lost_hours():
    """Each of 20,000 runs with its own rate from Gamma(6): p5, p50 and p95 within 2 %."""
    rates = np.random.default_rng(5).gamma(6.0, 1 / 6.0, 20_000)
    played = simulate_job(
        intervals=1000, replicas=20_000, seed=23, **(JOB | {"mttf_h": JOB["mttf_h"] / rates})
    )
    job = {"nodes": 8, "useful_h": 200.0, "quantile_fraction": PERCENTILES, **JOB}
    ours, sure = lost_quantile_node_h(rate_shape=6.0, **job), lost_quantile_node_h(**job)

    assert ours == pytest.approx(np.quantile(lost_node_h(played, 8), PERCENTILES), rel=0.02)
    assert ours[2] - ours[0] > 4 * (sure[2] - sure[0])


def test_a_run_that_most_often_meets_no_failure():
    """A week of 16 nodes at one failure in five weeks: 82 % of such runs lose their 84 writes and no more."""
    job = {"interval_h": 2.0, "mttf_h": 840.0, "write_h": 0.01, "restart_h": 0.5}
    lost = lost_quantile_node_h(nodes=16, useful_h=168.0, quantile_fraction=np.array([0.5, 0.8, 0.83]), **job)

    assert lost[:2] == pytest.approx(16 * 84 * 0.01, rel=1e-12)
    assert lost[2] > 1.05 * lost[0]


def test_a_queue_delays_the_finish_and_holds_no_nodes():
    """After each failure, like a longer restart; the mean is useful / ETTR with the queue in it."""
    mean_h, _ = moments(finish_quantile_h, useful_h=100.0, queue_h=0.4, **JOB)
    longer = JOB | {"restart_h": 0.5}
    job = {"useful_h": 100.0, "quantile_fraction": PERCENTILES}

    assert mean_h == pytest.approx(100.0 / ettr_fraction(queue_h=0.4, **JOB), rel=1e-4)
    assert finish_quantile_h(queue_h=0.4, **job, **JOB) == pytest.approx(finish_quantile_h(**job, **longer))


def play_spread_restarts(
    *, intervals, interval_h, mttf_h, write_h, persist_h, draw_restarts_h, replicas, seed
):
    """Finish of each job, failure by failure, each with a restart time of its own."""
    random = np.random.default_rng(seed)
    left, finish_h, running = np.full(replicas, float(intervals)), np.zeros(replicas), np.arange(replicas)
    while running.size:
        up_h = random.exponential(mttf_h, running.size)
        needed_h = left[running] * (interval_h + write_h) + persist_h
        fails = up_h < needed_h
        finish_h[running[~fails]] += needed_h[~fails]
        running, up_h = running[fails], up_h[fails]
        left[running] -= np.maximum(np.floor((up_h - persist_h) / (interval_h + write_h)), 0.0)
        finish_h[running] += up_h + draw_restarts_h(random, running.size)
    return finish_h


@pytest.mark.parametrize("persist_h", [0.0, 0.12])
def test_restarts_that_spread_widen_the_finish(persist_h):
    """A spare in 80 % (0.1 h), else the scheduler (2 h): mean 0.48 h, deviation 0.76 h, 20,000 jobs."""
    job = {"interval_h": 0.2, "mttf_h": 3.0, "write_h": 0.02}
    finish_h = play_spread_restarts(
        intervals=500,
        replicas=20_000,
        seed=31,
        persist_h=persist_h,
        draw_restarts_h=lambda random, size: np.where(random.random(size) < 0.8, 0.1, 2.0),
        **job,
    )
    ours = {"useful_h": 100.0, "restart_h": 0.48, "restart_deviation_h": 0.76, "persist_h": persist_h, **job}
    mean_h, deviation_h = moments(finish_quantile_h, **ours)
    quantiles_h = finish_quantile_h(quantile_fraction=PERCENTILES, **ours)

    assert abs(finish_h.mean() - mean_h) < 3 * finish_h.std() / np.sqrt(20_000)
    assert deviation_h == pytest.approx(finish_h.std(), rel=3 / np.sqrt(2 * 20_000))
    assert quantiles_h == pytest.approx(np.quantile(finish_h, PERCENTILES), rel=0.004)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queue_h": -1.0}, "queue_h must be a finite number from 0 up, got -1"),
        ({"restart_deviation_h": np.nan}, "restart_deviation_h must be a finite number from 0 up, got nan"),
        ({"quantile_fraction": 1.0}, "quantile_fraction must be a share between 0 and 1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        finish_quantile_h(**({"useful_h": 9.0, "quantile_fraction": 0.5} | JOB | change))


def test_equal_jobs_are_worked_out_once(monkeypatch):
    """A thousand sites with one kind of node are one job; what differs in one column is another."""
    worked_out = []
    whole = finish._quantile_h
    monkeypatch.setattr(finish, "_quantile_h", lambda *job: worked_out.append(job[0].size) or whole(*job))
    mttf_h = np.tile([20.0, 40.0], 500)
    done = finish_quantile_h(
        **JOB | {"mttf_h": mttf_h}, useful_h=100.0, quantile_fraction=0.9, rate_shape=np.full(1000, 3.0)
    )

    assert worked_out == [2]
    assert done.shape == (1000,)
    each = [
        finish_quantile_h(**JOB | {"mttf_h": m}, useful_h=100.0, quantile_fraction=0.9, rate_shape=3.0)
        for m in (20.0, 40.0)
    ]
    assert done.tolist() == each * 500
