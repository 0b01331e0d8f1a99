"""What the data of a job costs: its amount by hand, its currency, and what is refused."""

from __future__ import annotations

import pytest

from planner.answers.job.data_price import data_usd
from planner.answers.job.setting import setting_of
from planner.inputs.job.reading import read_job
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import ScenarioError
from planner.inputs.scenario.files import read_toml
from planner.trace.origins import facts_of

CATALOGUE = load_catalogue()
JOB = """
title = "bought"
[site]
grid = "us"
[hardware]
sku = "h100-8"
"""
RUN = """
[training]
model = "llama-3.1-8b"
tokens = 1e12
nodes = 16
"""


def usd(said: str) -> float | None:
    found = data_usd(setting_of(read_job(read_toml(JOB + said, "job"), "job.toml", CATALOGUE), CATALOGUE))
    return None if found is None else float(found.value)


def test_a_job_pays_for_different_tokens_of_each_phase_once() -> None:
    """A trillion tokens seen twice, 40 % of them bought at 0.5 USD a million: 100 kUSD; tuning adds 20."""
    bought = RUN + 'data_price = "0.5 USD / 1e6 tokens"\nbought = 0.4\npasses = 2\n'
    tuned = RUN.replace("training", "fine_tuning").replace("1e12", "1e6").replace("16", "1")

    assert usd(RUN) is None
    assert usd(bought) == pytest.approx(100e3)
    assert usd(bought + tuned + 'data_price = "20 USD / million"\n') == pytest.approx(100e3 + 20)


def test_another_currency_is_a_fact_of_the_amount() -> None:
    job = read_job(read_toml(JOB + RUN + 'data_price = "1 EUR / 1e6"\n', "job"), "job.toml", CATALOGUE)
    found = data_usd(setting_of(job, CATALOGUE))
    rate = CATALOGUE.fact("exchange.eur.rate")
    assert found is not None
    assert found.value == pytest.approx(1e6 * rate.value)
    assert rate.key in facts_of(found)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (RUN + "bought = 0.4\n", "training.bought: has no effect without data_price"),
        (RUN + "passes = 2\n", "training.passes: has no effect without data_price"),
        (
            '[training]\naccelerator_hours = 1e5\ndata_price = "1 USD / 1e6"\n',
            "training.data_price: has no eff",
        ),
        (
            RUN.replace("training", "data") + 'data_price = "1 USD / 1e6"\n',
            "data.data_price: is of what train",
        ),
    ],
)
def test_a_price_of_nothing_is_refused(said: str, wanted: str) -> None:
    with pytest.raises(ScenarioError) as error:
        read_job(read_toml(JOB + said, "job"), "job.toml", CATALOGUE)
    assert wanted in str(error.value)
