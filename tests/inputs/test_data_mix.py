"""Data of training runs in a scenario: prices by amount, shares, and the pool that writes one of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from planner.inputs.loading import data_folder
from planner.inputs.scenario import ScenarioError, canonical_text, load_scenario, parse_scenario, with_changes
from planner.inputs.scenario.fields import Frame, PricePerMillion, Range
from planner.trace.currency import Stated

PRICE = PricePerMillion('"0.5 USD / 1e6 tokens"', Range(0, 1e9))
POOL = """
[[pools]]
name = "rephrasing"
model = "llama-3.1-8b"
reference = "h100-8"
feeds = "train-8b"
tokens_in = 1000
tokens_out = 600
"""
MIX = {
    "tokens = 300e9": "tokens = 300e9\npasses = 2\nbought = 0.5\ngenerated = 0.3",
    "precision =": 'data_price = "0.4 EUR / 1e6 tokens"\nprecision =',
    "earliest = 2027-01-01": "earliest = 2027-04-01",
}


def text(**changes: str) -> str:
    """The smallest scenario with a mix of data, some of its lines written otherwise."""
    found = (data_folder() / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")
    for old, new in MIX.items():
        found = found.replace(old, new)
    found += POOL
    for new in changes.values():
        old, _, line = new.partition(" -> ")
        assert old in found, old
        found = found.replace(old, line)
    return found


@pytest.mark.parametrize(
    ("written", "usd"),
    [
        ("0.5 USD / 1e6 tokens", 0.5),
        ("500 USD/1e9 tokens", 0.5),
        ("500 USD / billion tokens", 0.5),
        ("2 USD / 1 million samples", 2.0),
        ("3e-6 USD / 1", 3.0),
    ],
)
def test_a_price_is_read_as_that_of_a_million(written: str, usd: float) -> None:
    assert PRICE.read(written, Frame()) == pytest.approx(usd, rel=1e-12)


def test_a_price_in_another_currency_is_kept_as_it_was_written() -> None:
    read = PRICE.read("400 EUR / 1e9 tokens", Frame(rates={"EUR": 1.25}))
    assert isinstance(read, Stated)
    assert [float(read), read.amount] == pytest.approx([0.5, 0.4])
    assert read.code == "EUR"
    assert PRICE.read(PRICE.write(read), Frame(rates={"EUR": 1.25})) == read


@pytest.mark.parametrize(
    "wrong", ["0.5 USD", "0.5 / 1e6", "0.5 USD / 0", "1 USD / 1e6 words", "USD / 1e6", 3]
)
def test_what_is_no_price_by_amount_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"price|number|USD"):
        PRICE.read(wrong, Frame())


def test_a_pool_that_feeds_a_run_writes_its_share_before_it_begins() -> None:
    """0.3 of 300e9 tokens, each seen twice, are 45e9: 75e6 answers of 600 tokens in 90 days before April."""
    scenario = parse_scenario(text(), "mix")
    (pool,) = scenario.pools
    assert pool.need == pytest.approx((45e9 / 600 / 90, 0.0))
    assert scenario.training[0].data_shares == {"bought": 0.5, "generated": 0.3, "own": pytest.approx(0.2)}


def test_what_is_written_follows_its_run_where_that_changes() -> None:
    """Half the tokens, half the items; and a scenario that is written and read again is the same."""
    scenario = parse_scenario(text(), "mix")
    half = with_changes(scenario, {"training.train-8b.tokens": 150e9})
    assert half.pools[0].need == pytest.approx((scenario.pools[0].need[0] / 2, 0.0))
    written = canonical_text(scenario)
    assert "items" not in written
    assert parse_scenario(written, "mix") == scenario


def test_a_run_to_a_loss_needs_the_data_of_the_tokens_that_this_takes(tmp_path: Path) -> None:
    """The curve says the tokens; the pool writes its share of them."""
    shutil.copy(data_folder() / "samples" / "scaling-runs.csv", tmp_path)
    path = tmp_path / "mix.toml"
    path.write_text(
        text(change='tokens = 300e9 -> curve = "scaling-runs.csv"\ntarget = 2.3'), encoding="utf-8"
    )
    scenario = load_scenario(path)
    tokens = scenario.training[0].amount

    assert tokens == pytest.approx(172.79e9, rel=1e-3)
    assert scenario.pools[0].need[0] == pytest.approx(0.3 * tokens / 2 / 600 / 90)


@pytest.mark.parametrize(
    ("change", "at", "says"),
    [
        ("bought = 0.5 -> bought = 0.8", "training.train-8b.bought", "are 1.1 together"),
        ('data_price = "0.4 EUR / 1e6 tokens" -> ', "training.train-8b.bought", "has no effect"),
        ("/ 1e6 tokens -> / 1e6 samples", "training.train-8b.data_price", "this run is by tokens"),
        ("generated = 0.3 -> ", "pools.rephrasing.feeds", "has no generated share"),
        ('feeds = "train-8b" -> items = "5 /d"', "training.train-8b.generated", "needs a pool"),
        ('feeds = "train-8b" -> feeds = "train-9b"', "pools.rephrasing.feeds", "there is no training run"),
        ('feeds = "train-8b" -> feeds = "train-8b"\nitems = "5 /d"', "pools.rephrasing.items", "keep one"),
        ("earliest = 2027-04-01 -> earliest = 2027-03-31", "pools.rephrasing.feeds", "2027-04-01 or later"),
        (
            "passes = 2 -> passes = 2\nmay_be_left_out = true\nleft_out_penalty = '1 MUSD'",
            "training.train-8b.generated",
            "whether the run is done or not",
        ),
        (
            "passes = 2 -> passes = 2\ntechniques = ['synthetic-data']",
            "training.train-8b.techniques",
            "lowers the tokens",
        ),
    ],
)
def test_each_mistake_is_told_once_with_what_to_do(change: str, at: str, says: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse_scenario(text(change=change), "mix")
    found = [(problem.path, problem.message) for problem in error.value.problems]
    assert [path for path, _ in found] == [at], found
    assert says in found[0][1]
