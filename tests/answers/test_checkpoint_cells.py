"""Numbers of the checkpoint tables opened: each is kept with its cell, and leads down to its sources."""

from __future__ import annotations

from typing import Any

import pytest

from planner.answers.checkpoints import checkpoint_document, sizes_around
from planner.inputs.job_question import CheckpointQuestion
from planner.report.cells import opened_at
from planner.trace.explain import Explanation
from planner.trace.records import is_number, table_rows

Record = dict[str, Any]
TABLES = (
    *("rows", "marks", "flat", "worth", "policies", "best"),
    *("stops", "recovery", "detection", "finish", "simulation", "sizes", "map", "curves"),
)

QUESTION: Record = {
    "failures": "meta-llama-3-405b",
    "sku": "h100-8",
    "nodes": 64,
    "storage": "parallel-fs",
    "restart_min": 10.0,
    "model": "llama-3.1-70b",
    "asynchronous": False,
    "grid": "us",
}
FIT: Record = {
    "everfleet_fit": 1,
    "name": "mine",
    "nodes": 400,
    "accelerators_per_node": 8,
    "definition": "hardware",
    "rate": {"value": 4.2, "low": 2.9, "high": 5.9, "unit": "1/(1000 node d)"},
    "source": "mine.csv",
    "rate_shape": 34.0,
    "outage": {"mean_h": 130.0, "median_h": 20.0},
    "variance_to_mean": 5.8,
}
QUESTIONS: dict[str, Record] = {
    "published": QUESTION,
    "no range": QUESTION | {"failures": "meta-rsc-1", "asynchronous": True},
    "fit": QUESTION | {"failures": FIT, "nodes": 3, "restart_min": 4.0},
}


@pytest.fixture(scope="module")
def document() -> Record:
    return checkpoint_document(CheckpointQuestion(**QUESTION), across=sizes_around(64))


def cell(document: Record, table: str, row: int, key: str) -> Explanation:
    found = opened_at(document, table, row, key)
    assert found is not None, (table, row, key)
    return found


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_each_number_opens_to_itself(name: str) -> None:
    """Every number of every table, those of a chart with them."""
    question = QUESTIONS[name]
    found = checkpoint_document(
        CheckpointQuestion(**question, linear=True, useful_h=500.0, replicas=4, queue_min=3.0),
        across=(question["nodes"],),
    )
    for table in TABLES:
        assert table_rows(found, table), table
        for number, row in enumerate(table_rows(found, table)):
            for key, value in row.items():
                if is_number(value):
                    step = found["steps"][found["cells"][table][number][key]]
                    assert step["value"] == pytest.approx(value, rel=1e-9, abs=1e-12), (table, key)


@pytest.mark.nightly
def test_daly_s_interval_names_daly(document: Record) -> None:
    """A published equation says whose it is, and the rate below it from which paper it comes."""
    mark = next(i for i, row in enumerate(document["marks"]) if row["name"] == "Daly")
    text = cell(document, "marks", mark, "interval_min").to_text()

    assert "Daly, FGCS 22(3), 2006" in text
    assert "Llama 3" in text


def test_an_end_of_a_band_is_at_an_end_of_the_rate(document: Record) -> None:
    """The low end of ETTR is at the high end of the failure rate, the interval kept."""
    text = cell(document, "marks", 0, "ettr_low_fraction").to_text()

    assert "the high end of its range" in text
    assert "kept while the failure rate varies" in text


def test_what_more_is_taken_is_against_the_best(document: Record) -> None:
    """A cell of the map: its hours over those at the best interval of the same size, less one."""
    number, row = next((i, row) for i, row in enumerate(document["map"]) if row["nodes"] == 256)
    found = cell(document, "map", number, "time_more_fraction")

    quotient = found.steps[found.steps[0].inputs["quotient"]]
    least = found.steps[quotient.inputs["denominator"]]
    best = next(size for size in document["sizes"] if size["nodes"] == 256)
    assert quotient.value == pytest.approx(1.0 + row["time_more_fraction"])
    assert least.value == pytest.approx(1.0 / best["ettr_fraction"])


def test_states_take_all_of_the_time(document: Record) -> None:
    """Training, lost work, writing and restarting add up to one: the shares of a row opened."""
    keys = ("ettr_fraction", "lost_fraction", "checkpoint_fraction", "restart_fraction")
    shares = [cell(document, "rows", 7, key).steps[0].value for key in keys]

    assert sum(shares) == pytest.approx(1.0)


def test_a_size_says_that_it_stands_beside_the_one_asked(document: Record) -> None:
    """64 nodes were asked for; the others were chosen here."""
    for number, row in enumerate(document["sizes"]):
        first = cell(document, "sizes", number, "nodes").steps[0]
        assert first.kind == ("yours" if row["nodes"] == 64 else "chosen")
