"""Curves without a model: by hand, against lifelines, and on the GPUs of Titan."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reliability.fitting import fit_exponential, fit_weibull
from reliability.lifetimes import Exponential, Weibull, quantile_h
from reliability.survival import (
    concordance_fraction,
    goodness_of_fit,
    kaplan_meier,
    risk_table,
)


def test_kaplan_meier_by_hand():
    """Deaths at 2 (of 5), 4 (of 3), 7 (of 1): 4/5, then 2/3 of that, then 0; the band never leaves [0, 1]."""
    curve = kaplan_meier(duration_h=[2, 3, 4, 5, 7], observed=[True, False, True, False, True])

    assert curve.time_h.tolist() == [2, 4, 7]
    assert curve.at_risk.tolist() == [5, 3, 1]
    assert curve.survival_fraction == pytest.approx([0.8, 0.8 * 2 / 3, 0.0])
    assert curve.survival_at(time_h=np.array([0.0, 1.9, 2.0, 6.9, 99.0])) == pytest.approx(
        [1, 1, 0.8, 0.8 * 2 / 3, 0]
    )
    assert curve.low_fraction[-1] == 0
    assert curve.high_fraction[-1] == 1


def test_a_unit_is_not_at_risk_at_the_age_of_its_entry():
    """A unit that enters at 3 was not watched when another died at 3: one of two died, not one of three.

    R counts so too, (start, stop]; lifelines 0.30 lists it as at risk but leaves it out of the curve.
    """
    rows = {"duration_h": [3, 5, 8], "observed": [True, True, False], "entry_h": [0, 0, 3]}
    curve = kaplan_meier(**rows)

    assert curve.at_risk.tolist() == [2, 2]
    assert curve.survival_fraction == pytest.approx([0.5, 0.25])


def fleet(units=3000, seed=1):
    """Weibull lives in whole days or exact, some entered late (never at an age of death), weights 1 to 4."""
    random = np.random.default_rng(seed)
    life, end = 100 * random.weibull(1.5, units), random.uniform(20, 150, units)
    exact = np.minimum(life, end)
    days = np.ceil(exact)
    entry = np.floor(random.uniform(0, 0.8, units) * days) + 0.25
    return {
        "exact": exact,
        "days": days,
        "observed": life <= end,
        "entry_h": np.where(entry < exact, entry, 0.0),
        "weight": random.integers(1, 5, units),
    }


@pytest.mark.parametrize("time", ["exact", "days"])
@pytest.mark.parametrize("more", [(), ("weight",), ("entry_h",), ("entry_h", "weight")])
def test_curves_against_lifelines(time, more):
    """Curve and band of Kaplan-Meier, to rounding."""
    from lifelines import KaplanMeierFitter

    log = fleet()
    rows = {"duration_h": log[time], "observed": log["observed"], **{name: log[name] for name in more}}
    options = {"entry": rows.get("entry_h"), "weights": rows.get("weight")}
    survival = kaplan_meier(**rows, confidence_fraction=0.9)
    km = KaplanMeierFitter(alpha=0.1).fit(log[time], log["observed"], **options)
    died = km.event_table["observed"].to_numpy() > 0
    low, high = km.confidence_interval_.to_numpy()[died].T

    assert survival.time_h.tolist() == km.event_table.index[died].tolist()
    assert survival.at_risk.tolist() == km.event_table["at_risk"].to_numpy()[died].tolist()
    assert survival.survival_fraction == pytest.approx(km.survival_function_.to_numpy()[died, 0], abs=1e-10)
    assert survival.low_fraction == pytest.approx(np.nan_to_num(low, nan=0.0), abs=1e-10)
    assert survival.high_fraction == pytest.approx(np.nan_to_num(high, nan=1.0), abs=1e-10)


units = st.lists(
    st.tuples(st.integers(1, 9), st.booleans(), st.integers(0, 8), st.integers(1, 3)), min_size=1, max_size=25
)


@given(log=units)
def test_any_log_gives_a_falling_curve_inside_its_band(log):
    """And weights are copies, and counting is exact: those at risk by looking at every row."""
    rows = [(t, d, min(e, t - 1), w) for t, d, e, w in log] + [(5, True, 0, 1)]
    time, died, entry, weight = (np.array(column) for column in zip(*rows, strict=True))
    curve = kaplan_meier(duration_h=time, observed=died, entry_h=entry, weight=weight)
    copies = [np.repeat(column, weight) for column in (time, died, entry)]
    copied = kaplan_meier(duration_h=copies[0] * 0.1, observed=copies[1], entry_h=copies[2] * 0.1)

    assert curve.at_risk.tolist() == [weight[(entry < t) & (t <= time)].sum() for t in np.unique(time[died])]
    assert curve.survival_fraction == pytest.approx(copied.survival_fraction, abs=1e-12)
    assert np.all(np.diff(curve.survival_fraction) <= 0)
    assert np.all((curve.low_fraction >= 0) & (curve.low_fraction <= curve.survival_fraction))
    assert np.all((curve.high_fraction <= 1) & (curve.high_fraction >= curve.survival_fraction))


def test_risk_table_by_hand():
    """At risk just before, and dead and censored up to and including; at age 0 all that are new."""
    table = risk_table(
        duration_h=[2, 3, 4, 9],
        observed=[True, False, True, False],
        entry_h=[0, 0, 1, 0],
        weight=[1, 1, 2, 1],
        time_h=[0, 1, 2, 4, 10],
    )

    assert table.at_risk.tolist() == [3, 3, 5, 3, 0]
    assert table.deaths.tolist() == [0, 0, 1, 3, 3]
    assert table.censored.tolist() == [0, 0, 0, 1, 2]


def test_a_right_model_lies_on_the_diagonal_and_a_wrong_one_does_not():
    """20,000 units of a Weibull: its own fit within 0.01, a constant rate as far as on paper, 0.17."""
    random = np.random.default_rng(3)
    life = quantile_h(Weibull(1000.0, 2.0), dead_fraction=random.random(20_000))
    rows = {"duration_h": np.minimum(life, 1200.0), "observed": life <= 1200}
    right = goodness_of_fit(fit_weibull(**rows).model, **rows, points=50)
    wrong = goodness_of_fit(fit_exponential(**rows).model, **rows)

    assert right.time_h.size == 50
    assert right.distance_fraction < 0.01
    assert right.model_hazard == pytest.approx(right.log_hazard, rel=0.1, abs=0.005)
    assert (
        np.mean((right.low_fraction < right.model_fraction) & (right.model_fraction < right.high_fraction))
        > 0.8
    )
    ages = np.linspace(0, 1200, 2000)
    alive = np.exp(-((ages / 1000) ** 2))
    mean = np.trapezoid(alive, ages) / (1 - alive[-1])
    assert wrong.distance_fraction == pytest.approx(np.abs(alive - np.exp(-ages / mean)).max(), abs=0.01)


def test_distance_looks_before_and_after_each_step():
    """One death of one at 2, S(2) = exp(-0.2): the curve is 1 before and 0 after, so 0.8187, not 0.1813."""
    fit = goodness_of_fit(Exponential(10.0), duration_h=[2.0], observed=[True])

    assert fit.distance_fraction == pytest.approx(np.exp(-0.2))
    assert fit.model_hazard.tolist() == pytest.approx([0.2])


def test_goodness_of_fit_starts_at_the_first_entry():
    """All watched from 500 on: the curve starts at 1 there, and so does the model."""
    random = np.random.default_rng(8)
    life = quantile_h(Weibull(1000.0, 2.0), dead_fraction=random.random(20_000))
    seen = life > 500
    fit = goodness_of_fit(
        Weibull(1000.0, 2.0), duration_h=life[seen], observed=np.ones(seen.sum(), bool), entry_h=500.0
    )

    assert fit.distance_fraction < 0.012


@given(log=units)
def test_concordance_by_looking_at_every_pair(log):
    """A pair counts where one dies while the other is alive; equal risks count half."""
    rows = [*log, (1, True, 3, 1), (9, False, 2, 2)]
    time, died, risk, weight = (np.array(column) for column in zip(*rows, strict=True))
    right = pairs = 0.0
    for i in np.flatnonzero(died):
        later = (time > time[i]) | ((time == time[i]) & ~died)
        score = np.where(risk < risk[i], 1.0, np.where(risk == risk[i], 0.5, 0.0))
        right += weight[i] * (weight * score)[later].sum()
        pairs += weight[i] * weight[later].sum()

    ours = concordance_fraction(duration_h=time, observed=died, risk=risk, weight=weight)
    assert ours == pytest.approx(right / pairs, rel=1e-12)


def test_concordance_against_lifelines():
    from lifelines.utils import concordance_index

    log = fleet()
    risk = np.round(np.random.default_rng(2).normal(size=3000) - log["exact"] / 50, 1)

    assert concordance_fraction(duration_h=log["days"], observed=log["observed"], risk=risk) == pytest.approx(
        concordance_index(log["days"], -risk, log["observed"]), rel=1e-12
    )


@pytest.fixture(scope="module")
def titan(shared):
    import pandas as pd

    return pd.read_csv(shared / "data/titan_gpu_life/gc_summary_loc.csv", usecols=["years", "dead", "batch"])


def test_titan_deaths(titan):
    """Ostrouchov et al., SC'20: 30,207 lifetimes, 5,089 dead, over 100,000 GPU-years."""
    table = risk_table(duration_h=titan["years"], observed=titan["dead"], time_h=[0.0, 99.0])

    assert table.at_risk[0] == 30_207
    assert table.deaths[1] == 5_089
    assert table.censored[1] == 25_118
    assert titan["years"].sum() == pytest.approx(100_889.5, rel=1e-6)


def test_titan_survival_curve(titan):
    """Old batch after 1 to 5 years, by lifelines 0.30.3 on the plain rows."""
    old = titan[titan["batch"] == "old"]
    curve = kaplan_meier(duration_h=old["years"] * 8760, observed=old["dead"])

    ours = curve.survival_at(time_h=np.arange(1, 6) * 8760.0)
    assert ours == pytest.approx([0.9991, 0.9909, 0.8766, 0.7675, 0.6768], abs=0.0001)


def test_titan_is_no_constant_rate(titan):
    """Old batch: the curve leaves a constant rate by 0.12 of all GPUs, a Weibull by a third of that."""
    old = titan[titan["batch"] == "old"]
    rows = {"duration_h": old["years"], "observed": old["dead"]}
    constant = goodness_of_fit(fit_exponential(**rows).model, **rows)
    weibull = goodness_of_fit(fit_weibull(**rows).model, **rows)

    assert constant.distance_fraction > 0.1
    assert weibull.distance_fraction < 0.5 * constant.distance_fraction


@pytest.mark.parametrize(
    ("function", "change", "message"),
    [
        (kaplan_meier, {"duration_h": [5.0, np.nan]}, "duration_h must be above 0 .*, got nan in row 1"),
        (kaplan_meier, {"observed": [False, False]}, "observed must hold at least one death, got none"),
        (kaplan_meier, {"confidence_fraction": 1.0}, "confidence_fraction must be a share between 0 and 1"),
        (kaplan_meier, {"entry_h": [0.0, 8.0]}, "entry_h must be from 0 up and below duration_h, got 8"),
        (kaplan_meier, {"weight": [1.0, 0.0]}, "weight must be above 0, got 0 in row 1"),
        (risk_table, {"time_h": [-1.0]}, "time_h must be a finite number from 0 up, got -1"),
        (
            concordance_fraction,
            {"risk": [1.0, 2.0], "duration_h": [8.0, 8.0], "observed": [True, True]},
            "duration_h must hold a unit that outlives a death, got none",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(function, change, message):
    with pytest.raises(ValueError, match=message):
        function(**({"duration_h": [5.0, 8.0], "observed": [True, False]} | change))
