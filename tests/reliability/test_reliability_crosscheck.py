"""Our estimates beside lifelines': a shipped log, a simulated one, Titan's GPUs, and what has no answer."""

from pathlib import Path

import numpy as np
import pytest
from sizes import at_night

from reliability.crosscheck import Comparison, cross_check
from reliability.logs import read_log, read_mapping

FAMILIES = ["Kaplan-Meier", "exponential", "Weibull", "log-normal", "log-logistic", "generalised gamma"]
REGRESSIONS = ["Cox", "Weibull regression"]
# Both search for the same maximum. Our derivative by the generalised gamma's shape is a difference, which
# moves Titan's by 9e-6, far less than a thousandth of its standard error.
SAME = dict.fromkeys([*FAMILIES, *REGRESSIONS], 1e-6) | {"generalised gamma": 1e-5}


def agree(found, estimates):
    """All of these estimates were compared, value by value, and ln L, which is flat there, to 1e-7."""
    assert [one.estimate for one in found.compared] == estimates
    assert found.failed == {}
    for one in found.compared:
        assert one.largest_relative_difference < SAME[one.estimate], one.estimate
        if one.our_log_likelihood is not None:
            assert one.our_log_likelihood == pytest.approx(one.lifelines_log_likelihood, abs=1e-7)


@pytest.mark.slow
@pytest.mark.nightly
def test_shipped_outages(root):
    """InfiniteHBD: 400 servers until the first outage of each, half of them censored."""
    path = root / "data" / "samples" / "infinitehbd-outages.csv"
    lives = read_log(path, read_mapping(path.with_suffix(".toml"))).lives
    found = cross_check(duration_h=lives["duration_h"], observed=lives["died"], entry_h=lives["entry_h"])
    weibull = found.compared[2]

    agree(found, FAMILIES)
    assert weibull.names == ("scale, h", "shape")
    assert weibull.lifelines[1] == pytest.approx(1.12, abs=0.02)  # the published shape of first failures


@pytest.fixture(scope="module")
def simulated():
    """Whole days with ties, late entries at ages of death, weights, and two covariates."""
    random = np.random.default_rng(4)
    heat, age = random.integers(0, 3, 1200), random.normal(size=1200)
    life, end = 900 * np.exp(-0.3 * heat) * random.weibull(1.4, 1200), random.uniform(100, 1500, 1200)
    days = np.ceil(np.minimum(life, end) / 24)
    entry = np.clip(np.floor(random.uniform(-0.5, 1, 1200) * days), 0, days - 1)
    return {
        "duration_h": 24 * days,
        "observed": life <= end,
        "entry_h": 24 * entry,
        "weight": random.integers(1, 4, 1200),
        "covariates": {"heat": heat, "age": age},
        "categorical": ["heat"],
    }


@pytest.mark.nightly
@pytest.mark.slow
def test_simulated_log(simulated):
    """Everything at once, among it ties that lifelines would share out by rows if it got weights."""
    found = cross_check(**simulated)
    cox, stretch = found.compared[-2:]

    agree(found, FAMILIES + REGRESSIONS)
    assert cox.names == ("hazard ratio of heat=1", "hazard ratio of heat=2", "hazard ratio of age")
    assert stretch.names[-2:] == ("scale, h", "shape")
    # Weibull lives: the hazard ratio is the time ratio to the power of minus the shape, 1.4.
    assert cox.lifelines[1] == pytest.approx(stretch.lifelines[1] ** -stretch.lifelines[-1], rel=0.05)


@pytest.mark.nightly
@pytest.mark.slow
def test_titan(shared: Path):
    """The old batch: 18,837 GPUs, the families and the ratios of Ostrouchov et al., SC'20.

    By day those of cage and node, 5 of 43: lifelines needs a quarter of a minute for the Weibull regression
    on all. The Cox regression on all is beside lifelines, and has its 22.51, in test_reliability_regression.
    """
    import pandas as pd

    accelerators = pd.read_csv(shared / "data/titan_gpu_life/gc_summary_loc.csv").query("batch == 'old'")
    place = ["col", "row", "cage", "slot", "node"] if at_night() else ["cage", "node"]
    found = cross_check(
        duration_h=8760 * accelerators["years"],
        observed=accelerators["dead"],
        covariates={name: accelerators[name] for name in place},
        categorical=place,
    )
    cox = dict(zip(found.compared[-2].names, found.compared[-2].lifelines, strict=True))

    agree(found, FAMILIES + REGRESSIONS)
    assert len(cox) == (43 if at_night() else 5)
    if at_night():
        assert cox["hazard ratio of cage=2"] == pytest.approx(22.51, rel=0.001)


def test_difference_is_relative_to_the_larger_value():
    """|2 - 1| / 2, and two noughts, of a curve that has ended, are the same."""
    reference = Comparison("curve", ("a", "b"), ours=np.array([2.0, 0.0]), lifelines=np.array([1.0, 0.0]))

    assert reference.relative_differences.tolist() == [0.5, 0.0]
    assert reference.largest_relative_difference == 0.5


def test_what_we_do_not_fit_is_named():
    """One death tells a rate and no shape; a covariate that tells who dies has no ratio."""
    rows = {"duration_h": [5.0, 8.0, 9.0], "observed": [True, False, False]}
    found = cross_check(**rows, covariates={"hot": [1, 0, 0]})

    assert [one.estimate for one in found.compared] == ["Kaplan-Meier", "exponential"]
    assert "observed holds one death" in found.failed["Weibull"]
    assert "covariates: hot alone tells who dies" in found.failed["Cox"]


@pytest.mark.slow
def test_what_lifelines_does_not_fit_is_named(monkeypatch, simulated):
    """Its search may end nowhere, as of the generalised gamma: the first line is kept, and whose it is."""
    import lifelines
    from lifelines.exceptions import ConvergenceError

    def give_up(*_, **__):
        raise ConvergenceError("\nFitting did not converge. This is mostly a lifelines problem.\n\n1. Scale.")

    monkeypatch.setattr(lifelines.GeneralizedGammaFitter, "fit", give_up)
    found = cross_check(duration_h=simulated["duration_h"], observed=simulated["observed"])

    assert found.failed == {
        "generalised gamma": "lifelines: Fitting did not converge. This is mostly a lifelines problem."
    }


def test_rows_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="observed must hold at least one death, got none in 2 rows"):
        cross_check(duration_h=[1.0, 2.0], observed=[False, False])
