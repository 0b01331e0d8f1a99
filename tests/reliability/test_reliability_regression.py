"""Cox and Weibull regression: published ratios, lifelines, plain loops over every pair, and Titan."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reliability.cox import fit_cox, proportional_hazards_test
from reliability.fitting import fit_weibull
from reliability.weibull_regression import fit_weibull_regression

# Survival after ovarian cancer, 26 women (Edmunson et al., 1979): data set `ovarian` of R's survival.
OVARIAN_DAYS = [
    59,
    115,
    156,
    421,
    431,
    448,
    464,
    475,
    477,
    563,
    638,
    744,
    769,
    770,
    803,
    855,
    1040,
    1106,
    1129,
    1206,
    1227,
    268,
    329,
    353,
    365,
    377,
]
OVARIAN_DIED = [1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, *[0] * 10, 1, 1, 1, 1, 0]
OVARIAN = {
    "age": [
        72.3315,
        74.4932,
        66.4658,
        53.3644,
        50.3397,
        56.4301,
        56.9370,
        59.8548,
        64.1753,
        55.1781,
        56.7562,
        50.1096,
        59.6301,
        57.0521,
        39.2712,
        43.1233,
        38.8932,
        44.6000,
        53.9068,
        44.2055,
        59.5890,
        74.5041,
        43.1370,
        63.2192,
        64.4247,
        58.3096,
    ],
    "ecog.ps": [1, 1, 2, 1, 1, 2, 2, 2, 1, 2, 2, 1, 2, 1, 1, 2, 2, 1, 1, 1, 2, 2, 1, 2, 1, 1],
}


@pytest.fixture(scope="module")
def rossi():
    """Rearrest of 432 released prisoners, from lifelines; weeks are whole, so ties abound."""
    from lifelines.datasets import load_rossi

    return load_rossi()


def columns(frame, *without):
    return {name: frame[name] for name in frame.columns if name not in without}


def test_rossi_as_published(rossi):
    """Fox and Weisberg, appendix on Cox regression, R's coxph with Efron ties; concordance 0.64."""
    fit = fit_cox(
        duration_h=rossi["week"], observed=rossi["arrest"], covariates=columns(rossi, "week", "arrest")
    )
    ratios = fit.hazard_ratios(confidence_fraction=0.95)

    assert fit.names == ("fin", "age", "race", "wexp", "mar", "paro", "prio")
    assert fit.coefficients == pytest.approx(
        [-0.37942, -0.05744, 0.31390, -0.14980, -0.43370, -0.08487, 0.09150], abs=5e-6
    )
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(
        [0.19138, 0.02200, 0.30799, 0.21222, 0.38187, 0.19576, 0.02865], abs=5e-6
    )
    assert ratios.ratio[:2] == pytest.approx([0.6843, 0.9442], abs=5e-5)
    assert ratios.p_value[-1] == pytest.approx(0.0014, abs=5e-5)
    assert ratios.low[0] < 0.684 < ratios.high[0] < 1
    assert 2 * (fit.log_partial_likelihood - fit.null_log_partial_likelihood) == pytest.approx(
        33.27, abs=0.005
    )
    assert fit.concordance_fraction() == pytest.approx(0.640, abs=0.0005)


@pytest.mark.slow
def test_rossi_against_lifelines(rossi):
    from lifelines import CoxPHFitter, WeibullAFTFitter

    rows = {"duration_h": rossi["week"], "observed": rossi["arrest"]}
    covariates = columns(rossi, "week", "arrest")
    cox, theirs = fit_cox(**rows, covariates=covariates), CoxPHFitter().fit(rossi, "week", "arrest")
    stretch = fit_weibull_regression(**rows, covariates=covariates)
    aft = WeibullAFTFitter().fit(rossi, "week", "arrest")
    order = [("lambda_", name) for name in stretch.names]

    assert cox.coefficients == pytest.approx(theirs.params_.to_numpy(), abs=1e-5)
    assert cox.covariance == pytest.approx(theirs.variance_matrix_.to_numpy(), abs=1e-6)
    assert cox.log_partial_likelihood == pytest.approx(theirs.log_likelihood_, rel=1e-9)
    assert stretch.coefficients == pytest.approx(aft.params_[order].to_numpy(), abs=3e-5)
    assert np.log(stretch.baseline.scale_h) == pytest.approx(aft.params_["lambda_", "Intercept"], abs=1e-4)
    assert np.log(stretch.baseline.shape) == pytest.approx(aft.params_["rho_", "Intercept"], abs=1e-5)
    assert np.sqrt(np.diag(stretch.covariance))[:-2] == pytest.approx(
        aft.standard_errors_[order].to_numpy(), rel=1e-3
    )
    assert stretch.log_likelihood == pytest.approx(aft.log_likelihood_, abs=1e-6)


def test_proportionality_as_r_prints_it():
    """R's manual of cox.zph (survival 3): age 0.698 (p 0.40), ecog.ps 2.371 (0.12), GLOBAL 3.633 (0.16)."""
    fit = fit_cox(duration_h=OVARIAN_DAYS, observed=OVARIAN_DIED, covariates=OVARIAN)
    test = proportional_hazards_test(fit)

    assert test.names == ("age", "ecog.ps", "all")
    assert test.chi_square == pytest.approx([0.698, 2.371, 3.633], abs=0.0005)
    assert test.p_value == pytest.approx([0.40, 0.12, 0.16], abs=0.005)
    assert test.degrees_of_freedom.tolist() == [1, 1, 2]


def log_partial_likelihood(time, died, entry, weight, x, beta, clock=lambda t: 1.0):
    """Efron's, by its definition, on units one by one; the effect of x times `clock`."""
    rows = np.repeat(np.arange(time.size), weight)
    time, died, entry, x = time[rows], died[rows], entry[rows], x[rows]
    total = 0.0
    for t in np.unique(time[died]):
        score = x @ (np.asarray(beta) * clock(t))
        risk, dying = np.exp(score)[(entry < t) & (t <= time)].sum(), died & (time == t)
        d, tied = dying.sum(), np.exp(score)[dying].sum()
        total += score[dying].sum() - sum(np.log(risk - k / d * tied) for k in range(d))
    return total


logs = st.lists(
    st.tuples(
        st.integers(1, 7),
        st.booleans(),
        st.integers(0, 6),
        st.integers(1, 3),
        st.integers(0, 2),
        st.integers(0, 1),
    ),
    max_size=20,
)
# Every combination early and late, so that no ratio is without end.
PLAIN = [(t, t < 4, 0, 1, x, z) for (x, z), t in product(product((0, 1, 2), (0, 1)), (1, 3, 5))]


@pytest.mark.slow
@given(log=logs)
@settings(max_examples=30)
def test_weights_ties_and_late_entry_by_definition(log):
    """The likelihood, its slope (zero) and its curvature (inverse covariance) from Efron's own sum."""
    rows = [(t, d, min(e, t - 1), w, x, z) for t, d, e, w, x, z in log] + PLAIN
    time, died, entry, weight, *covariates = (np.array(column) for column in zip(*rows, strict=True))
    x = np.column_stack(covariates).astype(float)
    fit = fit_cox(
        duration_h=time,
        observed=died,
        entry_h=entry,
        weight=weight,
        covariates={"x": covariates[0], "z": covariates[1]},
    )

    def at(first, second):
        move = 1e-3 * np.array([first, second])
        return log_partial_likelihood(time, died, entry, weight, x, fit.coefficients + move)

    slope = np.array([at(1, 0) - at(-1, 0), at(0, 1) - at(0, -1)]) / 2e-3
    mixed = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / 4e-6
    bend = [(at(*step) - 2 * at(0, 0) + at(-step[0], -step[1])) / 1e-6 for step in ((1, 0), (0, 1))]

    assert fit.log_partial_likelihood == pytest.approx(at(0, 0), rel=1e-10)
    assert slope == pytest.approx([0, 0], abs=1e-3)
    assert np.linalg.inv(fit.covariance) == pytest.approx(
        -np.array([[bend[0], mixed], [mixed, bend[1]]]), rel=1e-3, abs=1e-3
    )


@pytest.mark.parametrize("clock", ["age", "log_age", "rank"])
def test_proportionality_by_definition(clock):
    """Score test of b(t) = b + c * g(t) with slope and curvature in (b, c) from Efron's own sum."""
    random = np.random.default_rng(5)
    x = random.integers(0, 2, (60, 2)).astype(float)
    life = np.ceil(8 * random.weibull(1.5, 60) * np.exp(-0.5 * x[:, 0]))
    time, died = np.minimum(life, 12), life <= 12
    entry, weight = np.where(random.random(60) < 0.3, np.minimum(2, time - 1), 0), random.integers(1, 3, 60)
    fit = fit_cox(
        duration_h=time, observed=died, entry_h=entry, weight=weight, covariates={"a": x[:, 0], "b": x[:, 1]}
    )
    deaths = np.repeat(time[died], weight[died])
    ranks = {t: np.mean(np.flatnonzero(np.sort(deaths) == t)) + 1 for t in np.unique(deaths)}
    g = {"age": lambda t: t, "log_age": np.log, "rank": ranks.get}[clock]
    middle = np.mean([g(t) for t in deaths])

    def at(move):
        def clocked(t):
            return fit.coefficients + 1e-3 * (move[:2] + move[2:] * (g(t) - middle))

        return log_partial_likelihood(time, died, entry, weight, x, np.ones(2), clocked)

    unit = np.eye(4)
    score = np.array([at(e) - at(-e) for e in unit]) / 2e-3
    information = (
        -np.array([[at(e + f) - at(e - f) - at(f - e) + at(-e - f) for f in unit] for e in unit]) / 4e-6
    )
    variance = information[2:, 2:] - information[2:, :2] @ np.linalg.solve(
        information[:2, :2], information[:2, 2:]
    )
    alone, together = score[2:] ** 2 / np.diag(variance), score[2:] @ np.linalg.solve(variance, score[2:])
    test = proportional_hazards_test(fit, clock=clock)

    assert test.chi_square == pytest.approx([*alone, together], rel=0.005, abs=1e-4)


def fleet(units, seed=0):
    random = np.random.default_rng(seed)
    x = random.integers(0, 3, (units, 2))
    life = 30 * random.weibull(1.3, units) * np.exp(-x @ [0.5, -0.3])
    end = random.uniform(5, 60, units)
    days = np.ceil(np.minimum(life, end))
    entry = np.clip(np.floor(random.uniform(-0.5, 1, units) * days), 0, days - 1)
    return {"duration_h": days, "observed": life <= end, "entry_h": entry}, {"heat": x[:, 0], "age": x[:, 1]}


@pytest.mark.slow
def test_late_entry_against_lifelines():
    import pandas as pd
    from lifelines import CoxPHFitter, WeibullAFTFitter

    rows, covariates = fleet(2000)
    frame = pd.DataFrame(rows | covariates)
    cox, aft = fit_cox(**rows, covariates=covariates), fit_weibull_regression(**rows, covariates=covariates)
    theirs = CoxPHFitter().fit(frame, "duration_h", "observed", entry_col="entry_h")
    other = WeibullAFTFitter().fit(frame, "duration_h", "observed", entry_col="entry_h")

    assert cox.coefficients == pytest.approx(theirs.params_.to_numpy(), abs=1e-5)
    assert cox.log_partial_likelihood == pytest.approx(theirs.log_likelihood_, rel=1e-9)
    assert aft.coefficients == pytest.approx(
        other.params_[[("lambda_", "heat"), ("lambda_", "age")]].to_numpy(), abs=1e-4
    )
    assert aft.log_likelihood == pytest.approx(other.log_likelihood_, rel=1e-8)


def test_weights_are_copies():
    """Cox, its test and its concordance, and Weibull, on 500 units of weight 1 to 3 or their 1000 copies."""
    rows, covariates = fleet(500)
    weight = np.random.default_rng(3).integers(1, 4, 500)
    copies = np.repeat(np.arange(500), weight)
    copied = {name: column[copies] for name, column in rows.items()}
    others = {name: column[copies] for name, column in covariates.items()}
    one, two = fit_cox(**rows, covariates=covariates, weight=weight), fit_cox(**copied, covariates=others)
    stretch = [
        fit_weibull_regression(**rows, covariates=covariates, weight=weight),
        fit_weibull_regression(**copied, covariates=others),
    ]

    assert one.coefficients == pytest.approx(two.coefficients, rel=1e-10)
    assert one.covariance == pytest.approx(two.covariance, rel=1e-10)
    assert one.concordance_fraction() == pytest.approx(two.concordance_fraction(), rel=1e-12)
    assert proportional_hazards_test(one).chi_square == pytest.approx(
        proportional_hazards_test(two).chi_square, rel=1e-8
    )
    assert stretch[0].coefficients == pytest.approx(stretch[1].coefficients, rel=1e-9)


def test_levels_are_columns_against_the_lowest():
    """Levels by name or as columns of 0 and 1: the same fit; text needs no word, numbers do."""
    rows, covariates = fleet(800)
    names = np.array(["low", "mid", "top"])[covariates["heat"]]
    by_level = fit_cox(**rows, covariates={"heat": covariates["heat"]}, categorical=["heat"])
    by_text = fit_cox(**rows, covariates={"heat": names})
    by_hand = fit_cox(**rows, covariates={"one": names == "mid", "two": names == "top"})

    assert by_level.names == ("heat=1", "heat=2")
    assert by_text.names == ("heat=mid", "heat=top")
    assert by_level.coefficients == pytest.approx(by_hand.coefficients, rel=1e-9)
    assert by_text.coefficients == pytest.approx(by_hand.coefficients, rel=1e-9)
    assert proportional_hazards_test(by_text).degrees_of_freedom.tolist() == [2, 2]


def test_a_weibull_fleet_is_recovered():
    """30,000 units of shape 1.3: log time ratios -0.5 and 0.3 within three errors; hazard is time^-shape."""
    rows, covariates = fleet(30_000, seed=9)
    rows = {name: rows[name] for name in ("duration_h", "observed")}
    rows["duration_h"] = rows["duration_h"] - 0.5  # whole days, rounded up
    fit, cox = fit_weibull_regression(**rows, covariates=covariates), fit_cox(**rows, covariates=covariates)
    errors = np.sqrt(np.diag(fit.covariance))
    found = [*fit.coefficients, np.log(fit.baseline.scale_h), fit.baseline.shape]
    cold = fit.lifetime(covariates={"heat": 0, "age": 1})

    assert np.all(np.abs(np.array(found) - [-0.5, 0.3, np.log(30), 1.3]) < 3.5 * errors)
    assert cold.scale_h == pytest.approx(fit.baseline.scale_h * np.exp(fit.coefficients[1]), rel=1e-12)
    assert cox.coefficients == pytest.approx(-fit.baseline.shape * fit.coefficients, abs=0.02)


def test_a_covariate_of_no_effect_leaves_the_plain_weibull():
    """The same 40 units once with 0 and once with 1: the time ratio is 1, the rest is the fit without it."""
    random = np.random.default_rng(1)
    time, died = np.tile(random.weibull(2.0, 40), 2), np.tile(random.random(40) < 0.8, 2)
    fit = fit_weibull_regression(duration_h=time, observed=died, covariates={"copy": np.repeat([0, 1], 40)})
    plain = fit_weibull(duration_h=time, observed=died)

    assert fit.coefficients == pytest.approx([0], abs=1e-9)
    assert fit.baseline.scale_h == pytest.approx(plain.model.scale_h, rel=1e-9)
    assert fit.baseline.shape == pytest.approx(plain.model.shape, rel=1e-9)
    assert fit.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-12)
    assert fit.covariance[-1, -1] == pytest.approx(plain.covariance[1, 1], rel=1e-6)


@pytest.fixture(scope="module")
def titan(shared):
    import pandas as pd

    accelerators = pd.read_csv(shared / "data/titan_gpu_life/gc_summary_loc.csv")
    return accelerators[accelerators["batch"] == "old"]


PLACE = ["col", "row", "cage", "slot", "node"]


@pytest.mark.slow
def test_titan_hazard_ratios(titan):
    """Ostrouchov et al., SC'20, figure of 43 ratios: four of them within 0.1 %; lifelines to 1e-6 of ln L."""
    fit = fit_cox(
        duration_h=titan["years"],
        observed=titan["dead"],
        covariates={name: titan[name] for name in PLACE},
        categorical=PLACE,
    )
    ratio = dict(zip(fit.names, fit.hazard_ratios(confidence_fraction=0.95).ratio, strict=True))

    assert len(ratio) == 43
    assert ratio["cage=1"] == pytest.approx(6.105, rel=0.001)
    assert ratio["cage=2"] == pytest.approx(22.51, rel=0.001)
    assert ratio["node=2"] == pytest.approx(0.349, rel=0.001)
    assert ratio["node=3"] == pytest.approx(0.258, rel=0.001)
    assert fit.log_partial_likelihood == pytest.approx(-43789.5899, abs=5e-5)
    assert fit.concordance_fraction() == pytest.approx(0.8152, abs=5e-5)
    # The paper's caveat: hazards are only roughly proportional.
    assert proportional_hazards_test(fit).p_value[-1] < 1e-6


@pytest.mark.nightly
@pytest.mark.slow
def test_titan_against_lifelines(titan):
    """All 43 coefficients and errors to 1e-5 of lifelines."""
    import pandas as pd
    from lifelines import CoxPHFitter

    fit = fit_cox(
        duration_h=titan["years"],
        observed=titan["dead"],
        covariates={name: titan[name] for name in PLACE},
        categorical=PLACE,
    )
    frame = pd.get_dummies(titan[[*PLACE, "years", "dead"]], columns=PLACE, drop_first=True, dtype=float)
    theirs = CoxPHFitter().fit(frame, "years", "dead")

    assert fit.names == tuple("=".join(name.rsplit("_", 1)) for name in theirs.params_.index)
    assert fit.coefficients == pytest.approx(theirs.params_.to_numpy(), abs=1e-5)
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(theirs.standard_errors_.to_numpy(), abs=1e-5)


@pytest.mark.parametrize("fit", [fit_cox, fit_weibull_regression])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"covariates": {}}, "covariates must hold at least one column, got none"),
        ({"covariates": {"x": [1] * 8}}, "covariates: x is 1 in every row, .*: leave it out"),
        ({"covariates": {"x": [1, 2]}}, "covariates: x must have 8 rows, got 2"),
        ({"covariates": {"x": [1, np.nan] * 4}}, "covariates: x must be finite numbers, got nan in row 1"),
        ({"categorical": ["y"]}, "categorical names y, which covariates do not hold"),
        (
            {"covariates": {"x": [0, 1, 2, 3] * 2, "y": [1, 3, 5, 7] * 2}},
            "covariates: x, y say the same .* leave one out",
        ),
        (
            {"covariates": {"x": [1, 0] * 4}, "observed": [True, False] * 4},
            "covariates: x alone tells who dies first or never, so its ratio has no finite value",
        ),
        (
            {"covariates": {"cage": ["a", "a", "b", "b"] * 2}, "observed": [True, True, False, False] * 2},
            "covariates: cage=b alone tells who dies first or never",
        ),
        ({"observed": [False] * 8}, "observed must hold at least one death, got none in 8 rows"),
        ({"duration_h": [-1.0] * 8}, "duration_h must be above 0"),
        ({"weight": [0.0] * 8}, "weight must be above 0, got 0 in row 0"),
    ],
)
def test_what_tells_nothing_is_named(fit, change, message):
    rows = {
        "duration_h": [1, 2, 3, 4, 5, 6, 7, 8],
        "observed": [True] * 8,
        "covariates": {"x": [0, 1, 2, 3] * 2},
    }
    with pytest.raises(ValueError, match=message):
        fit(**(rows | change))


def test_cox_counts_units_and_knows_its_clocks():
    rows = {"duration_h": [1, 2, 3, 4], "observed": [True] * 4, "covariates": {"x": [0, 1, 1, 0]}}

    with pytest.raises(ValueError, match="weight must be whole numbers"):
        fit_cox(**rows, weight=0.5)
    with pytest.raises(ValueError, match="clock must be one of km, rank, age, log_age, got 'week'"):
        proportional_hazards_test(fit_cox(**rows), clock="week")


def test_new_units_need_every_covariate_and_known_levels():
    rows, covariates = fleet(300)
    fit = fit_weibull_regression(**rows, covariates=covariates, categorical=["heat"])

    with pytest.raises(ValueError, match="covariates must hold heat, age; age is missing"):
        fit.lifetime(covariates={"heat": [1]})
    with pytest.raises(ValueError, match=r"covariates: heat has no level 7; it has \[0, 1, 2\]"):
        fit.lifetime(covariates={"heat": [7], "age": [1]})
