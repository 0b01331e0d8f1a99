"""Counts that differ beyond chance: dispersion, groups drawn together, and nodes that fail too often."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reliability.fleet import rate_interval, updated_rate
from reliability.groups import dispersion, group_rates, true_spread_fraction
from reliability.lemons import find_lemons, removal_gain

# Llama 3, arXiv 2407.21783, table 5: unexpected interruptions by cause.
LLAMA_3_CAUSES = [148, 72, 54, 35, 32, 19, 17, 7, 7, 6, 6, 3, 3, 2, 2, 2, 2, 2]
LLAMA_3_NODE_H = 2048 * 54 * 24.0


@pytest.fixture(scope="module")
def faults(shared):
    """Day and server of each of the 584 faults that 400 servers had in 348 days."""
    events = json.loads((shared / "data/infinitehbd_trace/fault_trace.json").read_text(encoding="utf-8"))
    starts = [event for event in events if event["event_type"] == "fault_start"]
    servers = {name: place for place, name in enumerate(sorted({event["node_id"] for event in starts}))}
    return np.array([[event["event_time"], servers[event["node_id"]]] for event in starts])


def counts_by_server(faults, edges_d):
    """A row for each of 400 servers, 169 of them without a fault; a column between each two edges."""
    return np.histogram2d(faults[:, 1], faults[:, 0], bins=[np.arange(401) - 0.5, edges_d])[0]


# Dispersion


def test_dispersion_against_the_chi_square_test():
    """Pearson's statistic and its chance, from SciPy's test with the same expected counts."""
    count, hours = np.array([8, 31, 12, 9, 17]), np.array([1.0, 2.0, 1.5, 1.0, 2.5])
    known = stats.chisquare(count, count.sum() * hours / hours.sum())
    ours = dispersion(failures=count, node_h=hours, confidence_fraction=0.9)

    assert ours.variance_to_mean_ratio == pytest.approx(known.statistic / 4, rel=1e-12)
    assert ours.poisson_p_fraction == pytest.approx(known.pvalue, rel=1e-9)
    assert ours.low_ratio < ours.variance_to_mean_ratio < ours.high_ratio


@pytest.mark.parametrize(
    ("ratio", "mean", "periods"), [(1.0, 50, 8), (4.0, 30, 8), (4.0, 30, 20), (8.0, 20, 12)]
)
def test_interval_of_dispersion_holds_the_true_ratio(ratio, mean, periods):
    """Bursty counts of known ratio and unequal hours: nominal 90 % covers 86 to 96 % of 600 logs."""
    random = np.random.default_rng(11)
    held, found = 0, []
    for _ in range(600):
        hours = random.uniform(0.5, 1.5, periods)
        means = mean * hours
        draws = (
            random.poisson(means) if ratio == 1 else random.negative_binomial(means / (ratio - 1), 1 / ratio)
        )
        ours = dispersion(failures=draws, node_h=hours, confidence_fraction=0.9)
        held += ours.low_ratio <= ratio <= ours.high_ratio
        found.append(ours.variance_to_mean_ratio)

    assert 0.86 <= held / 600 <= 0.96
    assert np.mean(found) == pytest.approx(ratio, rel=0.07)


def test_months_of_a_real_trace_are_no_poisson_counts(faults):
    """InfiniteHBD, 29-day windows from 11 to 120 faults: the reference's figures, far beyond chance."""
    months = np.histogram(faults[:, 0], bins=np.arange(13) * 29.0)[0]
    ours = dispersion(failures=months, node_h=400 * 29 * 24.0, confidence_fraction=0.9)

    assert (months.min(), months.max()) == (11, 120)
    assert ours.variance_to_mean_ratio == pytest.approx(months.var(ddof=1) / months.mean(), rel=1e-12)
    assert ours.low_ratio > 5
    assert ours.poisson_p_fraction < 1e-20


def test_spread_of_true_rates_is_found_beneath_chance():
    """Rates of 30 groups vary by 50 %, their counts by more: c^2 = 0.25 on average over 400 fleets."""
    random = np.random.default_rng(12)
    squares = []
    for _ in range(400):
        hours = random.uniform(0.2, 3.0, 30)
        count = random.poisson(8 * hours * random.gamma(4, 1 / 4, 30))
        squares.append(true_spread_fraction(failures=count, node_h=hours) ** 2)

    assert np.mean(squares) == pytest.approx(0.25, rel=0.06)
    assert true_spread_fraction(failures=[10, 11, 9, 10], node_h=1.0) == 0.0


# Groups


def test_causes_of_llama_3_add_up():
    """Shares by count (faulty GPU 35.3 %) add up to 1, rates to 3.79 for each 1000 node-days, pooled too."""
    ours = group_rates(failures=LLAMA_3_CAUSES, node_h=LLAMA_3_NODE_H, confidence_fraction=0.9)
    whole = 419 / LLAMA_3_NODE_H

    assert ours.share_fraction[0] == pytest.approx(0.353, abs=5e-4)
    assert ours.share_fraction.sum() == pytest.approx(1, rel=1e-12)
    assert ours.own.rate_per_node_h.sum() == pytest.approx(whole, rel=1e-12)
    assert ours.pooled.rate_per_node_h.sum() == pytest.approx(whole, rel=1e-12)
    assert sum(ours.pooled.in_1000_node_days()[0]) == pytest.approx(3.789, abs=5e-4)


def test_drawing_together_is_bayes_rule_with_the_fleet_as_prior():
    """With the spread stated and hours enough to know the mean: the conjugate gamma update, to 0.1 %."""
    spread, ratio = 0.6, 2.0
    hours = np.array([3e3, 2e4, 1e9])
    count = np.array([0.0, 40.0, 1e6])
    ours = group_rates(
        failures=count,
        node_h=hours,
        confidence_fraction=0.9,
        variance_to_mean_ratio=ratio,
        spread_fraction=spread,
    )
    # The mean is that of the three groups' rates, each with the error of its count.
    errors = spread**2 + ratio / (count.sum() / hours.sum() * hours)
    mean = np.average(count / hours, weights=1 / errors)
    prior = {"prior_shape": spread**-2, "prior_node_h": spread**-2 / (count.sum() / hours.sum())}
    known = updated_rate(
        failures=count * (count.sum() / hours.sum()) / mean,
        node_h=hours,
        confidence_fraction=0.9,
        variance_to_mean_ratio=ratio,
        **prior,
    )

    assert ours.pooled.rate_per_node_h / mean == pytest.approx(
        known.mean_per_node_h / (count.sum() / hours.sum()), rel=1e-3
    )


@given(
    counts=st.lists(st.integers(0, 500), min_size=2, max_size=12).filter(any),
    ratio=st.floats(1, 6),
    spread=st.none() | st.floats(0, 3),
)
def test_no_group_leaves_the_range_of_its_own_and_the_others(counts, ratio, spread):
    """Drawing together weighs rates that were seen: none leaves their range, none is 0 unless apart."""
    ours = group_rates(
        failures=counts,
        node_h=np.linspace(1.0, 3.0, len(counts)),
        confidence_fraction=0.9,
        variance_to_mean_ratio=ratio,
        spread_fraction=spread,
    )
    own, pooled = ours.own.rate_per_node_h, ours.pooled.rate_per_node_h

    assert np.all((ours.own_weight_fraction >= 0) & (ours.own_weight_fraction < 1))
    assert np.all((own.min() * (1 - 1e-9) <= pooled) & (pooled <= own.max() * (1 + 1e-9)))
    assert np.all((pooled > 0) & (ours.pooled.low_per_node_h <= ours.pooled.high_per_node_h))


def test_without_spread_all_groups_are_one():
    """Spread 0: every group has the rate of all, and its gamma interval is near the exact one of the sum."""
    ours = group_rates(failures=[30, 5, 80], node_h=[4.0, 1, 9], confidence_fraction=0.9, spread_fraction=0.0)
    whole = rate_interval(failures=115, node_h=14.0, confidence_fraction=0.9)

    assert ours.pooled.rate_per_node_h == pytest.approx(np.full(3, whole.rate_per_node_h))
    assert ours.pooled.low_per_node_h == pytest.approx(np.full(3, whole.low_per_node_h), rel=0.01)
    assert ours.pooled.high_per_node_h == pytest.approx(np.full(3, whole.high_per_node_h), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "stated", "low"), [(20, None, 0.85), (5, None, 0.84), (20, 0.5, 0.88)])
def test_pooled_rates_err_less_and_cover(groups, stated, low):
    """Fleets of SKUs, some seen for hours and some for years: nearer the truth than either extreme.

    Squared error a fifth or more below that of each by itself and of one rate for all; 90 % intervals hold
    85 to 92 % of the true rates, at least 84 % of five groups', and 88 to 92 % where the spread is known.
    """
    random = np.random.default_rng(13)
    errors, held = np.zeros(3), []
    for _ in range(4000 // groups):
        hours = 10 ** random.uniform(-1, 1.3, groups)
        rates = 3.0 * random.gamma(4, 1 / 4, groups)
        count = random.poisson(rates * hours)
        if not count.any():
            continue
        ours = group_rates(failures=count, node_h=hours, confidence_fraction=0.9, spread_fraction=stated)
        guesses = (ours.pooled.rate_per_node_h, ours.own.rate_per_node_h, count.sum() / hours.sum())
        errors += [np.mean((guess - rates) ** 2) for guess in guesses]
        held.append((ours.pooled.low_per_node_h <= rates) & (rates <= ours.pooled.high_per_node_h))

    assert errors[0] < 0.8 * errors[1:].min()
    assert low <= np.mean(held) <= 0.92


# Lemons


def simulated_fleet(random, *, nodes, lemons, times, shape, burst):
    """Counts of four quarters, three failures a node and year on average; the first nodes are lemons."""
    rates = random.gamma(shape, 1 / shape, nodes) if np.isfinite(shape) else np.ones(nodes)
    rates[:lemons] *= times
    mean = 0.75 * rates[:, None] * np.ones(4)
    count = random.negative_binomial(mean / (burst - 1), 1 / burst) if burst > 1 else random.poisson(mean)
    return rates, count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lemons", "times", "shape", "burst"),
    [(20, 8, 4, 1), (20, 8, np.inf, 1), (20, 8, 4, 3), (20, 4, 4, 1), (0, 1, 4, 1), (0, 1, np.inf, 3)],
)
def test_few_of_the_nodes_found_are_found_falsely(lemons, times, shape, burst):
    """Of 40 fleets of 1000 nodes with known lemons at most a tenth of the found is false, as asked for.

    Alike or unlike nodes, single failures or bursts of three; without lemons finding any at all is false. A
    tenth plus two standard errors of 40 fleets for the fleets without lemons, where a fleet counts as 0 or 1.
    """
    random = np.random.default_rng(14)
    false = []
    for _ in range(40):
        _, count = simulated_fleet(random, nodes=1000, lemons=lemons, times=times, shape=shape, burst=burst)
        found = find_lemons(failures=count, node_h=2190.0, false_discovery_fraction=0.1).is_lemon
        false.append(found[lemons:].sum() / max(found.sum(), 1))

    assert np.mean(false) <= (0.1 if lemons else 0.195)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "recall", "least_gain"), [(np.inf, 0.99, 0.7), (4, 0.7, 0.75)])
def test_lemons_are_found_and_their_gain_is_not_overstated(shape, recall, least_gain):
    """20 of 1000 nodes fail 8 times as often: nearly all are found, 3 of 4 where nodes differ anyhow.

    The promised share of failures is 70 to 100 % of what does go; the past's share is more than that.
    """
    random = np.random.default_rng(15)
    totals = np.zeros(5)
    for _ in range(30):
        rates, count = simulated_fleet(random, nodes=1000, lemons=20, times=8, shape=shape, burst=1)
        ours = find_lemons(failures=count, node_h=2190.0, false_discovery_fraction=0.1)
        found = ours.is_lemon
        gain = removal_gain(expected_per_node_h=ours.expected_per_node_h, removed=found)
        past = count[found].sum() / count.sum()
        totals += [
            found[:20].mean(),
            gain.failures_fraction,
            rates[found].sum() / rates.sum(),
            past,
            gain.job_mttf_factor / (rates.mean() / rates[~found].mean()),
        ]
    found_fraction, promised, true, past, mttf = totals / 30

    assert found_fraction >= recall
    assert least_gain <= promised / true <= 1
    assert past > true
    assert 0.95 <= mttf <= 1


def test_chances_against_scipy_where_nobody_is_found():
    """Six like nodes: SciPy's negative binomial and Poisson tails with the ratio and spread that are told."""
    count = np.array([[3.0, 1], [0, 2], [1, 1], [4, 0], [2, 2], [0, 0]])
    hours = np.array([[10.0, 10], [10, 10], [5, 10], [10, 10], [10, 10], [10, 5]])
    ours = find_lemons(failures=count, node_h=hours, false_discovery_fraction=0.05)
    expected = (hours * count.sum(axis=0) / hours.sum(axis=0)).sum(axis=1)
    excess = ours.variance_to_mean_ratio - 1 + ours.spread_fraction**2 * expected
    total = count.sum(axis=1)

    assert not ours.is_lemon.any()
    assert ours.fleet_p_fraction == pytest.approx(
        stats.nbinom.sf(total - 1, expected / excess, 1 / (1 + excess)), rel=1e-9
    )
    assert ours.poisson_p_fraction == pytest.approx(stats.poisson.sf(total - 1, expected), rel=1e-9)


def test_worst_servers_of_a_real_trace_were_unlucky(faults):
    """InfiniteHBD: Poisson condemns 23 of 400 servers; by how counts of one server vary, none is a lemon.

    Rightly so: the 20 worst of the first half had 35 % of its faults and 2 % of the second half's, fewer than
    the 5 % of any 20. The lasting rates drawn from the first half say 5 %.
    """
    halves = counts_by_server(faults, [0, 174, 348.1])
    whole = find_lemons(failures=halves, node_h=174 * 24.0, false_discovery_fraction=0.1)
    condemned = stats.false_discovery_control(whole.poisson_p_fraction) <= 0.1
    first = find_lemons(
        failures=counts_by_server(faults, [0, 87, 174]), node_h=87 * 24.0, false_discovery_fraction=0.1
    )
    worst = np.zeros(400, dtype=bool)
    worst[np.argsort(-halves[:, 0], kind="stable")[:20]] = True
    gain = removal_gain(expected_per_node_h=first.expected_per_node_h, removed=worst)
    shares = halves[worst].sum(axis=0) / halves.sum(axis=0)

    assert condemned.sum() == 23
    assert not whole.is_lemon.any()
    assert whole.variance_to_mean_ratio == pytest.approx(2.7, abs=0.1)
    assert shares == pytest.approx([0.35, 0.022], abs=0.005)
    assert gain.failures_fraction == pytest.approx(0.05, abs=0.005)


def test_short_periods_take_repeats_for_a_lasting_rate(faults):
    """InfiniteHBD by months: repeats of a fault fill neighbouring months, and 11 % are promised for 20 nodes.

    They had 24 % of the past. Own weight by hand: c^2 m / (c^2 m + v) at m = 584 / 400.
    """
    months = counts_by_server(faults, np.arange(13) * 29.1)
    ours = find_lemons(failures=months, node_h=29.1 * 24, false_discovery_fraction=0.1)
    worst = np.zeros(400, dtype=bool)
    worst[np.argsort(-months.sum(axis=1), kind="stable")[:20]] = True
    gain = removal_gain(expected_per_node_h=ours.expected_per_node_h, removed=worst)
    lasting = ours.spread_fraction**2 * 584 / 400

    assert ours.variance_to_mean_ratio == pytest.approx(1.76, abs=0.02)
    assert ours.own_weight_fraction == pytest.approx(
        np.full(400, lasting / (lasting + ours.variance_to_mean_ratio))
    )
    assert months[worst].sum() / 584 == pytest.approx(0.245, abs=0.002)
    assert gain.failures_fraction == pytest.approx(0.112, abs=0.003)


def test_nodes_that_fail_alike_have_no_lemon():
    ours = find_lemons(failures=np.full((50, 4), 2.0), node_h=100.0, false_discovery_fraction=0.1)

    assert not ours.is_lemon.any()
    assert ours.spread_fraction == 0
    assert ours.expected_per_node_h == pytest.approx(np.full(50, 0.02))


def test_a_node_new_in_a_quiet_period_is_expected_to_fail_as_the_fleet():
    """Its hours held no failure of anybody: they tell nothing of it, and its expected rate is the fleet's."""
    count = np.array([[2.0, 1, 0], [0, 3, 0], [1, 1, 0], [0, 0, 0]])
    hours = np.array([[10.0, 10, 10], [10, 10, 10], [10, 10, 10], [0, 0, 10]])
    ours = find_lemons(failures=count, node_h=hours, false_discovery_fraction=0.1)

    assert ours.own_weight_fraction[3] == 0
    assert ours.fleet_p_fraction[3] == 1
    assert ours.expected_per_node_h[3] == pytest.approx(8 / 100)


def test_gain_of_removing_by_hand():
    """Rates 1, 1, 1 and 5: without the last 5/8 of the failures go, and the mean rate falls from 2 to 1."""
    gain = removal_gain(expected_per_node_h=[1.0, 1.0, 1.0, 5.0], removed=[False, False, False, True])

    assert (gain.nodes, gain.failures_fraction) == (1, 0.625)
    assert (gain.before_per_node_h, gain.after_per_node_h, gain.job_mttf_factor) == (2, 1, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: dispersion(failures=[0, 0, 0], node_h=1.0, confidence_fraction=0.9),
            "failures must not all be 0: no failure says nothing of how failures vary; use rate_interval",
        ),
        (
            lambda: dispersion(failures=[4], node_h=1.0, confidence_fraction=0.9),
            r"failures must be a column of at least two counts, got shape \(1,\)",
        ),
        (
            lambda: group_rates(failures=[4, 1], node_h=[1.0, 0.0], confidence_fraction=0.9),
            "node_h must be a finite number above 0, got 0 in row 1",
        ),
        (
            lambda: group_rates(failures=[4, 1], node_h=1.0, confidence_fraction=0.9, spread_fraction=-1),
            "spread_fraction must be a finite number from 0 up, got -1",
        ),
        (
            lambda: true_spread_fraction(failures=[4, 1], node_h=1.0, variance_to_mean_ratio=0.5),
            "variance_to_mean_ratio must be a finite number from 1 up, got 0.5",
        ),
        (
            lambda: lemons([[1, 2]]),
            r"failures must be a table with rows for two or more nodes, got shape \(1, 2\)",
        ),
        (lambda: lemons([[0, 0], [0, 0]]), "failures must not all be 0"),
        (
            lambda: lemons([[1, 0], [2, 0]]),
            "failures must fall in at least two periods, got 1: one cannot tell",
        ),
        (lambda: lemons([3, 5, 1]), "give counts by period, or state variance_to_mean_ratio"),
        (lambda: lemons([[1, -2], [2, 0]]), "failures must be a finite number from 0 up, got -2 in row 1"),
        (
            lambda: lemons([[1, 2], [2, 0]], node_h=[[5.0, 0.0], [5.0, 5.0]]),
            "node_h must be above 0 wherever failures are, got 0",
        ),
        (
            lambda: lemons([[1, 2], [0, 0]], node_h=[[5.0, 5.0], [0.0, 0.0]]),
            "node_h must be a finite number above 0, got 0 in row 1",
        ),
        (
            lambda: lemons([[1, 2], [0, 0]], false_discovery_fraction=1.0),
            "false_discovery_fraction must be a share between 0 and 1",
        ),
        (
            lambda: removal_gain(expected_per_node_h=[1.0, 2.0], removed=[True, True]),
            "removed must leave at least one node, got all 2",
        ),
        (
            lambda: removal_gain(expected_per_node_h=[1.0, 2.0], removed=[True]),
            r"removed must be a column as long as the rates, \(2,\), got \(1,\)",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def lemons(failures, **given):
    return find_lemons(**({"failures": failures, "node_h": 9.0, "false_discovery_fraction": 0.1} | given))
