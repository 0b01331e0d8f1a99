"""Fits of logs: that the document says what the log says, whatever the log, and that others can use it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explained import explained
from sizes import size

from planner.answers.checkpoints import checkpoint_document
from planner.answers.failures import FitQuestion, backtest_document, fit_document, mapping_for, read_failures
from planner.answers.failures.counts import periods_of
from planner.inputs.fits import read_fit
from planner.inputs.job_question import CheckpointQuestion
from planner.inputs.loading import load_catalogue
from planner.report.charts import FIT_PICTURES, to_svg
from planner.report.data import to_json
from planner.report.findings import save_fit, to_html, to_markdown, to_terminal
from planner.report.saving import ReportError
from planner.trace.errors import InputError
from reliability.logs import FailureLog, Mapping, parse_mapping

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "data" / "samples"
OUTAGES = SAMPLES / "infinitehbd-outages.csv"
DAY_H = 24.0
REFERENCE_D = 348.0  # what the published rates divide by

Record = dict[str, Any]


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    """As shipped, but for outages that overlap: the published figures count each of them."""
    shipped = mapping_for(OUTAGES, OUTAGES.with_suffix(".toml"))
    return replace(shipped, every_row_counts=True)


@pytest.fixture(scope="module")
def log(mapping: Mapping) -> FailureLog:
    return read_failures(OUTAGES, mapping)


@pytest.fixture(scope="module")
def fit(log: FailureLog) -> Record:
    return fit_document(log, FitQuestion(accelerators_per_node=8))


@pytest.fixture(scope="module")
def jobs_log() -> FailureLog:
    path = SAMPLES / "slurm-simulated.txt"
    return read_failures(path, mapping_for(path, None))


@pytest.fixture(scope="module")
def jobs(jobs_log: FailureLog) -> Record:
    return fit_document(jobs_log, FitQuestion())


def rows(document: Record, section: str, table: str) -> list[Record]:
    found: list[Record] = document["sections"][section]["tables"][table]
    return found


def said(document: Record, section: str) -> str:
    return " ".join(document["sections"][section]["said"])


def written(folder: Path, text: str, mapping: str) -> FailureLog:
    """A log of a text, by a mapping."""
    path = folder / "log.csv"
    path.write_text(text, encoding="utf-8")
    return read_failures(path, parse_mapping(mapping))


EVENTS = """
kind = "events"
time_format = "since_start_d"
fleet_size = 10
window_start = "0"
window_end = "400"
[columns]
unit = "node"
start = "day"
"""
LIVES = """
kind = "lives"
[columns]
unit = "gpu"
duration_d = "days"
died = "dead"
"""


# What the log says


@pytest.mark.slow
def test_rate_of_the_outages_is_the_published_one(fit: Record, log: FailureLog) -> None:
    """584 starts on 400 servers in 348 d: 4.195 for each 1000 node-days; the log itself runs for 348.98 d."""
    window_d = log.window_h / DAY_H

    assert fit["rate"]["value"] * window_d / REFERENCE_D == pytest.approx(4.195, rel=1e-3)
    assert fit["rate"]["low"] < 4.195 < fit["rate"]["high"]


@pytest.mark.slow
@pytest.mark.nightly
def test_rate_of_hardware_alone_is_the_published_one(mapping: Mapping) -> None:
    """298 of the starts are hardware: 2.141."""
    log = read_failures(OUTAGES, mapping, severities=("hardware",))
    found = fit_document(log, FitQuestion())

    assert len(log.failures) == 298
    assert found["rate"]["value"] * log.window_h / DAY_H / REFERENCE_D == pytest.approx(2.141, rel=1e-3)
    assert found["definition"] == "node failures without planned stops (hardware)"


def test_outages_are_the_published_ones(fit: Record) -> None:
    """Facts of the catalogue that were computed from the same trace: mean, median, unavailability, bursts."""
    fact = load_catalogue().fact

    mean, median, bursts = (
        fact(f"reliability.{key}").value
        for key in (
            "repair_time.infinitehbd_mean",
            "repair_time.infinitehbd_median",
            "spares.variance_to_mean",
        )
    )

    assert fit["outage"]["mean_h"] == pytest.approx(mean, rel=1e-3)
    assert fit["outage"]["median_h"] == pytest.approx(median, rel=5e-3)
    assert fit["variance_to_mean"] == pytest.approx(bursts, rel=5e-3)
    assert "away 2.31 % of the time" in said(fit, "downtime")


def test_shapes_are_the_published_ones(fit: Record) -> None:
    """Weibull shapes of the trace: 0.62 between failures of the fleet, 1.13 until the first of a node."""
    shape = {row["times"]: row["shape"] for row in rows(fit, "repeats", "shapes")}

    assert shape["gaps between failures of the fleet"] == pytest.approx(0.62, abs=0.01)
    assert shape["until the first failure of a node"] == pytest.approx(1.13, abs=0.01)
    assert shape["gaps between failures of one node"] < 0.6  # faults repeat soon after repair


def test_interval_is_wider_than_that_of_poisson_counts(fit: Record) -> None:
    """584 Poisson failures would be known to about 7 % at 90 %: these came in bursts."""
    poisson_reach = 1.645 / math.sqrt(584)

    assert (fit["rate"]["high"] / fit["rate"]["value"] - 1) > 3 * poisson_reach


def test_causes_add_up_to_the_rate(fit: Record) -> None:
    """Causes share the node-hours, so their rates and failures add up."""
    causes = rows(fit, "rate", "causes")

    assert len(causes) == 21
    assert sum(row["failures"] for row in causes) == 584
    assert sum(row["per_1000_node_d"] for row in causes) == pytest.approx(fit["rate"]["value"], rel=1e-9)
    assert sum(row["of_all_fraction"] for row in causes) == pytest.approx(1.0)


def test_mttf_and_ettr_follow_from_the_rate(fit: Record) -> None:
    """MTTF = 1 / (N r), and the exact ETTR of Daly's renewal at the interval that the table gives."""
    rate_per_h = fit["rate"]["value"] / 24_000
    for row in rows(fit, "sizes", "mttf"):
        assert row["nodes"] == math.ceil(row["accelerators"] / 8)
        mttf_h = 1 / (row["nodes"] * rate_per_h)
        interval_h, write_h, restart_h = row["interval_min"] / 60, 2 / 60, 10 / 60
        ettr = interval_h / ((mttf_h + restart_h) * math.expm1((interval_h + write_h) / mttf_h))
        assert row["mttf_h"] == pytest.approx(mttf_h)
        assert row["ettr_fraction"] == pytest.approx(ettr)
        assert row["low_ettr_fraction"] < row["ettr_fraction"] < row["high_ettr_fraction"]


@pytest.mark.slow
def test_prior_of_a_fleet_moves_a_short_log_more(tmp_path: Path) -> None:
    """One failure in 4,000 node-days against RSC-1's 6.5: the posterior lies between the two."""
    log = written(tmp_path, "node,day\na,3\n", EVENTS)
    found = fit_document(log, FitQuestion(prior="meta-rsc-1"))
    own, posterior = (row["per_1000_node_d"] for row in rows(found, "rate", "rate")[:2])

    assert own == pytest.approx(0.25)
    assert 0.25 < posterior < 6.5
    assert "One failure only" in said(found, "read")
    assert found["rate"]["value"] == pytest.approx(0.25)


@pytest.mark.slow
@pytest.mark.nightly
def test_simulated_jobs_give_back_their_rate(jobs: Record) -> None:
    """The log was played at 5.742 for each 1000 node-days on average: the 90 % interval holds it."""
    measured = rows(jobs, "sizes", "measured")

    assert jobs["rate"]["low"] < 5.742 < jobs["rate"]["high"]
    assert sum(row["failures"] for row in measured) == 183
    # The model's rate is all failures over all node-hours, whatever the size.
    assert jobs["rate"]["value"] == pytest.approx(24_000 * 183 / sum(row["node_h"] for row in measured))
    assert not any(row["disagrees"] for row in measured)


@pytest.mark.slow
def test_weak_nodes_of_the_simulated_jobs_are_found(jobs: Record) -> None:
    """The two nodes that fail twenty times as often, and no other."""
    found = {row["node"] for row in rows(jobs, "lemons", "nodes") if row["beyond_chance"]}

    assert found == {"node017", "node201"}


@pytest.mark.slow
def test_jobs_that_fail_alike_at_any_size_are_flagged(tmp_path: Path) -> None:
    """Jobs of 1 and of 64 nodes fail alike: the model of independent nodes is far off, and says so."""
    lines = ["JobID|State|Start|End|NNodes"]
    for job in range(3_000):
        nodes, state = (1, 64)[job % 2], "NODE_FAIL" if job % 100 < 2 else "COMPLETED"
        day, hour = divmod(job, 24)
        start = np.datetime64("2025-01-01T00:00:00") + np.timedelta64(24 * day + hour, "h")
        lines.append(f"{job}|{state}|{start}|{start + np.timedelta64(10, 'h')}|{nodes}")
    path = tmp_path / "jobs.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = fit_document(read_failures(path, mapping_for(path, None)), FitQuestion())

    assert all(row["disagrees"] for row in rows(found, "sizes", "measured"))
    assert "disagree" in said(found, "sizes")


@pytest.mark.slow
def test_hazard_ratio_of_a_covariate_is_recovered(tmp_path: Path) -> None:
    """Lives at a rate three times as high in cage 2: ln 3 lies in the interval of Cox's ratio."""
    random = np.random.default_rng(5)
    cage = random.integers(1, 3, 600)
    life_d = random.exponential(np.where(cage == 2, 300.0, 900.0))
    lines = ["gpu,days,dead,cage"] + [
        f"g{i},{min(life_d[i], 500.0):.3f},{int(life_d[i] < 500.0)},c{cage[i]}" for i in range(600)
    ]
    log = written(tmp_path, "\n".join(lines), 'covariates = "cage"' + LIVES)
    found = fit_document(log, FitQuestion())
    (ratio,) = rows(found, "lives", "hazard_ratios")

    assert ratio["covariate"] == "cage=c2"
    assert ratio["low"] < 3.0 < ratio["high"]
    groups = {row["cage"]: row["per_1000_node_d"] for row in rows(found, "rate", "by_cage")}
    assert groups["c2"] / groups["c1"] == pytest.approx(ratio["hazard_ratio"], rel=0.1)  # constant hazards


@pytest.mark.slow
def test_lives_without_dates_are_forecast_by_age(tmp_path: Path) -> None:
    """A constant hazard of mean M: of n alive, n * (1 - exp(-w / M)) die in w, whatever their ages."""
    random = np.random.default_rng(2)
    life_d = random.exponential(400.0, 2_000)
    lines = ["gpu,days,dead"] + [
        f"g{i},{min(life, 600.0):.4f},{int(life < 600.0)}" for i, life in enumerate(life_d)
    ]
    found = fit_document(written(tmp_path, "\n".join(lines), LIVES), FitQuestion())
    (quarter,) = (row for row in rows(found, "ahead", "by_age") if row["next"] == "quarter")
    alive = int(np.sum(life_d >= 600.0))

    assert quarter["alive"] == alive
    assert quarter["mean"] == pytest.approx(alive * -math.expm1(-91.3125 / 400.0), rel=0.15)
    assert quarter["low"] < quarter["mean"] < quarter["high"]
    assert "ages without dates" in said(found, "ahead")


@pytest.mark.nightly
@pytest.mark.slow
def test_lifelines_stands_beside_where_asked(fit: Record, log: FailureLog, tmp_path: Path) -> None:
    """The fits of the document to 1e-5 of lifelines', in every form of it; without the option no word."""
    found = fit_document(log, FitQuestion(cross_check=True))
    agreement = {row["estimate"]: row for row in rows(found, "beside", "agreement")}
    likelihood = {row["lifetime"]: row["log_likelihood"] for row in rows(found, "lives", "fits")}
    folder = tmp_path / "fleet"
    save_fit(found, folder)

    assert set(likelihood) == set(agreement) - {"Kaplan-Meier"}
    assert all(row["largest_relative_difference"] < 1e-5 for row in agreement.values())
    for name, value in likelihood.items():
        assert agreement[name]["log_likelihood"] == pytest.approx(value)
        assert abs(agreement[name]["above_lifelines"]) < 1e-7
    pages = [(folder / name).read_text(encoding="utf-8") for name in ("fit.html", "fit.md")]
    assert all("Compared with lifelines" in page for page in (to_terminal(found), *pages))
    assert (folder / "csv" / "agreement.csv").exists()
    assert "beside" not in fit["sections"]


def test_jobs_have_nothing_beside_lifelines(jobs_log: FailureLog) -> None:
    """A job log has no lifetimes: the section says so as that of lifetimes does."""
    found = fit_document(jobs_log, FitQuestion(cross_check=True))

    assert "A job log follows no node" in said(found, "beside")


# What the log does not say


@pytest.mark.slow
def test_no_failure_leaves_the_prior_after_quiet_hours(tmp_path: Path) -> None:
    """Gamma(a, b) after t quiet node-hours has mean a / (b + t); the sections say why they are empty."""
    log = written(tmp_path, "node,day\na,3\nb,4\n", EVENTS)
    quiet = replace(log, events=log.events.iloc[:0], lives=log.lives.assign(died=False))
    found = fit_document(quiet, FitQuestion())
    catalogue = load_catalogue()
    median = catalogue.fact("reliability.prior.failure_rate").value
    steps = explained(found, "rate").steps
    shape, prior_h = (step.value for step in steps if step.name.startswith("gamma_prior."))

    assert found["rate"]["value"] == pytest.approx(24_000 * shape / (prior_h + 4_000 * 24))
    assert found["rate"]["value"] < 24_000 * median
    assert "too few for a lifetime" in said(found, "lives")
    with pytest.raises(InputError, match="no failure at all: a rate needs a prior"):
        fit_document(quiet, FitQuestion(prior="none"))


def test_sections_without_answer_say_why(jobs: Record) -> None:
    for section, why in (("lives", "A job log follows no node"), ("downtime", "ends too few outages")):
        assert why in said(jobs, section)
        assert not jobs["sections"][section]["tables"]
    assert jobs["outage"] is None
    assert jobs["variance_to_mean"] is None


@pytest.mark.slow
def test_planned_stops_count_where_asked(tmp_path: Path) -> None:
    """One of three rows is planned: out of the failures by default, in with `with_planned`."""
    text = "node,day,kind\na,3,fault\nb,40,maintenance\nc,90,fault\n"
    mapping = EVENTS.replace("[columns]", 'planned = "maintenance"\n[columns]\ncause = "kind"')
    path = tmp_path / "log.csv"
    without = written(tmp_path, text, mapping)
    counted = read_failures(path, parse_mapping(mapping), with_planned=True)

    assert (len(without.failures), len(counted.failures)) == (2, 3)
    assert {row["read"]: row["value"] for row in rows(fit_document(without, FitQuestion()), "read", "read")}[
        "planned stops, not counted"
    ] == "1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prior": "meta-rsc-9"}, "no prior 'meta-rsc-9'; there is none, "),
        ({"covariates": ("cage",)}, "no covariate cage in the log; there is none"),
    ],
)
def test_what_the_log_or_the_catalogue_lacks_is_named(log: FailureLog, change: Record, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        fit_document(log, FitQuestion(**change))


def test_options_out_of_range_are_named_together() -> None:
    with pytest.raises(InputError) as error:
        FitQuestion(interval_fraction=1.5, period_d=-1.0, accelerators_per_node=0)
    assert str(error.value).splitlines() == [
        "--accelerators-per-node: has to be from 1 to 1,024, got 0",
        "--interval: has to be a share between 0 and 1, got 1.5",
        "--period-days: has to be above 0, got -1",
    ]


def test_unknown_severity_names_those_there_are(mapping: Mapping) -> None:
    with pytest.raises(InputError, match="no failure has severity hard; there is hardware, other, software"):
        read_failures(OUTAGES, mapping, severities=("hard",))


# Periods, forecasts, pools


def test_periods_end_with_the_log(log: FailureLog) -> None:
    """The newest failures are never those left out: what is skipped lies before the first period."""
    periods = periods_of(log, 91 * DAY_H)
    skipped = int(np.sum(log.failures["start_h"] < periods.skipped_h))

    assert periods.size == 3
    assert periods.start_h[-1] + 91 * DAY_H == pytest.approx(log.window_h)
    assert periods.failures.sum() + skipped == 584


@pytest.mark.slow
def test_backtest_holds_what_poisson_does_not(log: FailureLog) -> None:
    """Scores are those of the rows beside them; of this trace 90 % intervals of Poisson hold few months."""
    document = backtest_document(log, FitQuestion())
    scores = {row["forecast"]: row for row in rows(document, "forecasts", "scores")}
    months = rows(document, "forecasts", "forecasts")
    held = np.mean([row["low"] <= row["failures"] <= row["high"] for row in months])
    poisson = np.mean([row["poisson_low"] <= row["failures"] <= row["poisson_high"] for row in months])

    assert len(months) == 10
    assert scores["drifting"]["held_fraction"] == pytest.approx(held)
    assert scores["Poisson of the last four"]["held_fraction"] == pytest.approx(poisson)
    assert held >= 0.8 > 0.4 > poisson


@pytest.mark.slow
def test_pool_of_the_history_holds_with_fewer_nodes(log: FailureLog) -> None:
    """Sized weekly for 99 % from the past alone: held, with less than the most ever down."""
    document = backtest_document(log, FitQuestion())
    pools = {row["pool"]: row for row in rows(document, "pools", "pools")}
    ours, poisson = pools["by the history, drifting"], pools["Poisson of the past mean"]

    assert ours["covered_fraction"] > 0.98 > poisson["covered_fraction"]
    assert ours["mean_spares"] < pools["most ever down at once"]["mean_spares"]
    assert ours["pinball"] < min(poisson["pinball"], pools["most ever down at once"]["pinball"])


def test_backtest_of_a_short_log_says_what_would_do(tmp_path: Path) -> None:
    log = written(tmp_path, "node,day\na,3\nb,4\n", EVENTS)
    with pytest.raises(InputError, match=r"4 whole periods of 91 d; .* first 8 needs more: make"):
        backtest_document(log, FitQuestion(), first_periods=8, exact_period=True)


# The document for others


@pytest.mark.slow
def test_fit_is_what_other_commands_read(fit: Record, tmp_path: Path) -> None:
    """`checkpoint` on the written file has the MTTF of the table for the same nodes."""
    save_fit(fit, tmp_path / "fleet")
    path = tmp_path / "fleet" / "fit.json"
    fleet = read_fit(path)
    checkpoint = checkpoint_document(CheckpointQuestion(failures=str(path), nodes=128))
    mttf_h = {row["nodes"]: row["mttf_h"] for row in rows(fit, "sizes", "mttf")}

    assert fleet.failure_rate.value == pytest.approx(fit["rate"]["value"] / 24_000)
    assert fleet.failure_rate.low == pytest.approx(fit["rate"]["low"] / 24_000)
    assert fleet.repair is not None
    assert fleet.repair.value == pytest.approx(fit["outage"]["mean_h"])
    assert checkpoint["inputs"]["mttf_h"] == pytest.approx(mttf_h[128])


@pytest.mark.slow
def test_folder_holds_everything_and_replaces_itself(fit: Record, tmp_path: Path) -> None:
    """At night the same document gives the same files; a folder with anything else in it is not touched."""
    paths = save_fit(fit, tmp_path / "fleet")
    before = {path: path.read_bytes() for path in paths}
    for _ in range(size(0, nightly=1)):
        save_fit(fit, tmp_path / "fleet")

    assert {"fit.json", "fit.html", "fit.md"} <= {path.name for path in paths}
    assert {path: path.read_bytes() for path in paths} == before
    assert json.loads((tmp_path / "fleet" / "fit.json").read_text(encoding="utf-8"))["everfleet_fit"] == 1
    (tmp_path / "fleet" / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ReportError, match=r"this is not a folder of a fit \(it holds 'thesis.txt'\)"):
        save_fit(fit, tmp_path / "fleet")


@pytest.mark.slow
@pytest.mark.nightly
def test_names_of_people_cannot_reach_the_page(tmp_path: Path) -> None:
    """A node named as a script is text in the page and in Markdown."""
    evil = "<script>alert(1)</script>"
    lines = [f"{evil if i % 3 else 'b'},{3 + 7 * i},{evil}{i % 2}\n" for i in range(40)]
    text = "node,day,cause\n" + "".join(lines)
    mapping = EVENTS.replace("[columns]", '[columns]\ncause = "cause"')
    found = fit_document(written(tmp_path, text, mapping), FitQuestion())

    assert evil in to_json(found)
    assert evil not in to_html(found)
    assert evil not in to_markdown(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIT_PICTURES)
def test_each_chart_has_its_words_and_draws(fit: Record, name: str) -> None:
    """A picture says in words what it shows, with a number at least; the drawing is one SVG."""
    picture = FIT_PICTURES[name](fit)

    assert picture is not None
    assert re.search(r"\d", picture.alt)
    assert to_svg(picture).startswith("<svg")


@pytest.mark.slow
def test_bad_rows_are_all_in_the_folder_and_some_in_the_terminal(tmp_path: Path) -> None:
    """30 rows without a time among 100: 20 in the terminal and how many more, all 30 in csv/bad_rows.csv."""
    text = "node,day\n" + "".join(f"n{i % 9},{'' if i % 10 < 3 else 3 + i}\n" for i in range(100))
    found = fit_document(written(tmp_path, text, EVENTS), FitQuestion())
    save_fit(found, tmp_path / "fleet")
    kept = (tmp_path / "fleet" / "csv" / "bad_rows.csv").read_text(encoding="utf-8").splitlines()
    shown = to_terminal(found)

    assert found["bad_row_count"] == 30
    assert len(kept) == 31
    assert shown.count("log.csv:") >= 20
    assert "(10 more)" in shown


def test_every_explanation_ends_in_the_log_or_the_catalogue(fit: Record) -> None:
    """Each step without inputs is a fact with its source, or a choice with its reason."""
    assert {"rate", "mttf", "ettr", "spares", "forecast.quarter"} <= set(fit["explanations"])
    for name in fit["explanations"]:
        steps = explained(fit, name).steps
        assert all(step.inputs or step.kind != "derived" for step in steps)
        assert any("the log 'infinitehbd-outages.csv'" in step.source for step in steps)


# Real logs


@pytest.mark.nightly
@pytest.mark.slow
def test_titan_lives_give_the_published_deaths(shared: Path) -> None:
    """The life table of Titan's GPUs: 30,207 rows, 5,089 dead, all by a lifetime that wears out."""
    path = shared / "data" / "titan_gpu_life" / "gc_summary_loc.csv"
    log = read_failures(path, mapping_for(path, None))
    found = fit_document(log, FitQuestion(accelerators_per_node=1, covariates=("cage",)))
    weibull = next(row for row in rows(found, "lives", "fits") if row["lifetime"] == "Weibull")
    ratios = {row["covariate"]: row["hazard_ratio"] for row in rows(found, "lives", "hazard_ratios")}

    assert "30,207 units, 5,089 of them" in said(found, "lives")
    assert float(re.search(r"shape ([\d.]+)", weibull["parameters"])[1]) > 2  # type: ignore[index]
    assert 1 < ratios["cage=1"] < ratios["cage=2"]  # published: the upper the hotter


@pytest.mark.nightly
@pytest.mark.slow
def test_lanl_records_give_the_published_repairs(shared: Path) -> None:
    """23,739 failures with a mean repair of 352.4 min and a median of 59 min."""
    (path,) = (shared / "data" / "lanl_failures").glob("*.csv.xz")
    log = read_failures(path, mapping_for(path, None))
    document = backtest_document(log, FitQuestion())
    quarters = rows(document, "forecasts", "scores")[0]

    assert len(log.failures) == 23_739
    lasted_h = (log.failures["end_h"] - log.failures["start_h"]).dropna()
    assert 60 * lasted_h.mean() == pytest.approx(352.4, abs=0.5)
    assert 60 * lasted_h.median() == pytest.approx(59.0)
    assert quarters["held_fraction"] > 0.8
