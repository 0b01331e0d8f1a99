"""Numbers of a fit's tables opened: each is the number in its cell, and leads down to the log or a source."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_failures import EVENTS, LIVES, OUTAGES, written

from planner.answers.failures import FitQuestion, fit_document, mapping_for, read_failures
from planner.report.cells import opened_at
from planner.report.tables import table_of
from planner.trace.explain import Explanation

SOLVED = Path(__file__).resolve().parents[2] / "data" / "solved"

Record = dict[str, Any]


def shipped(name: str) -> Record:
    found: Record = json.loads((SOLVED / f"fit-{name}.json").read_text(encoding="utf-8"))
    return found


def lives(folder: Path) -> Record:
    """Lives with a covariate, beside lifelines: the tables that the shipped logs have not."""
    random = np.random.default_rng(5)
    life_d = random.weibull(1.3, 120) * np.where(np.arange(120) % 2, 300.0, 900.0)
    lines = ["gpu,days,dead,cage"] + [
        f"g{i},{min(life, 500.0):.3f},{int(life < 500.0)},c{i % 2}" for i, life in enumerate(life_d)
    ]
    log = written(folder, "\n".join(lines), 'covariates = "cage"' + LIVES)
    return fit_document(log, FitQuestion(cross_check=True))


def quiet(folder: Path) -> Record:
    """A log without a failure: its rate is the prior's after so many quiet hours."""
    log = written(folder, "node,day\na,3\nb,4\n", EVENTS)
    return fit_document(
        replace(log, events=log.events.iloc[:0], lives=log.lives.assign(died=False)), FitQuestion()
    )


def many_causes(folder: Path) -> Record:
    """More causes than the table has rows: a rate that rests on all of them is told, not worked out again."""
    lines = ["node,day,cause"] + [f"n{i % 9},{i + 1},cause {i % 60}" for i in range(150)]
    return fit_document(
        written(folder, "\n".join(lines), EVENTS.replace("[columns]", '[columns]\ncause = "cause"')),
        FitQuestion(),
    )


MADE = {"lives": lives, "quiet": quiet, "many_causes": many_causes}


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    """Fits of logs of every kind."""
    made = {name: make(tmp_path_factory.mktemp(name)) for name, make in MADE.items()}
    return made | {name: shipped(name) for name in ("infinitehbd", "slurm")}


def cells(document: Record) -> Iterator[tuple[str, Any, Explanation | None]]:
    """Each cell of each table: where it is, what it holds, and what opens it."""
    for found in document["sections"].values():
        for table, rows in found["tables"].items():
            for number, row in enumerate(rows):
                for key, value in row.items():
                    yield f"{table}[{number}].{key}", value, opened_at(document, table, number, key)


def opened(document: Record, table: str, number: int, key: str) -> str:
    found = opened_at(document, table, number, key)
    assert found is not None
    return found.to_text()


@pytest.mark.parametrize("name", ["infinitehbd", "slurm", *MADE])
def test_each_number_opens_to_itself(documents: dict[str, Record], name: str) -> None:
    """The top of the explanation is the number in the cell; only names, answers and gaps have none."""
    for place, value, found in cells(documents[name]):
        if found is None:
            assert isinstance(value, str | bool | None), place
        elif not isinstance(value, str):
            assert found.steps[0].value == pytest.approx(value, rel=1e-9, abs=1e-300), place


@pytest.mark.parametrize("name", ["infinitehbd", "slurm", *MADE])
def test_each_explanation_ends_in_a_source_or_a_choice(documents: dict[str, Record], name: str) -> None:
    """What has no inputs is a fact with its source, or says why it was chosen; each equation is said."""
    for place, _, found in cells(documents[name]):
        for step in () if found is None else found.steps:
            if step.kind == "derived":
                assert step.equation, (place, step.name)
                assert step.inputs, (place, step.name)
            else:
                assert step.source or step.about, (place, step.name)


def test_a_number_of_the_log_names_its_file() -> None:
    """The rate of the shipped outages: 584 failures over 3,350,206 node-hours of that file, by Garwood."""
    text = opened(shipped("infinitehbd"), "rate", 0, "per_1000_node_d")

    assert "failures = log.failures = 584  (yours)" in text
    assert "the log 'infinitehbd-outages.csv'" in text
    assert "Garwood" in text


def test_hours_that_a_rate_tells_are_those_of_the_log() -> None:
    """Hours up stand in no table: failures over their rate are the hours that the log has."""
    log = read_failures(OUTAGES, mapping_for(OUTAGES, OUTAGES.with_suffix(".toml")))
    document = shipped("infinitehbd")
    number = next(
        i for i, row in enumerate(document["sections"]["rate"]["tables"]["rate"]) if "up only" in row["rate"]
    )
    found = opened_at(document, "rate", number, "low")

    assert found is not None
    hours = next(step.value for step in found.steps if step.name == "log.node_hours")
    assert hours == pytest.approx(log.node_h, rel=1e-9)


def test_a_published_fleet_names_its_paper() -> None:
    """The rate of Llama 3's training is from Meta's report, and so is the ratio to it."""
    document = shipped("slurm")
    fleets = document["sections"]["rate"]["tables"]["published_fleets"]
    number = next(i for i, row in enumerate(fleets) if row["fleet"] == "meta-llama-3-405b")
    for key in ("per_1000_node_d", "low", "this_log_to_it_ratio"):
        assert "Llama 3" in opened(document, "published_fleets", number, key), key


def test_a_kept_explanation_lies_beneath_a_size() -> None:
    """ETTR at 1,024 accelerators: 128 nodes of the eight that were asked for, and the write of the paper."""
    document = shipped("infinitehbd")
    rows = document["sections"]["sizes"]["tables"]["mttf"]
    number = next(i for i, row in enumerate(rows) if row["accelerators"] == 1024)
    text = opened(document, "mttf", number, "ettr_fraction")

    assert "nodes = nodes_of_job = 128" in text
    assert "question.accelerators_per_node = 8" in text
    assert "checkpoint.glm-65b-before.blocking_time = 120 s" in text


def test_aic_counts_the_parameters() -> None:
    """Two parameters and ln L = -2,341.09: 4 + 4,682.18; both stand below with their intervals."""
    document = shipped("infinitehbd")
    text = opened(document, "fits", 0, "aic")

    assert text.startswith("aic = 4,686.18\n    AIC = 2 * parameters - 2 * ln L")
    assert "log-logistic.median = 264.887 d [237.353 .. 295.615]  (estimated)" in text
    assert opened(document, "fits", 0, "parameters").startswith("fit_log_logistic.log_likelihood = ")


def test_units_at_risk_are_those_that_are_left() -> None:
    """400 units without the 214 that failed by the sixth age; 231 fail in all, each counted once."""
    document = shipped("infinitehbd")
    text = opened(document, "risk", 5, "at_risk")

    assert text.startswith("at_risk_units = 186")
    assert "failed = log.risk.failed = 214" in text
    assert "n = units - failed - censored" in text
    likelihood = opened(document, "fits", 0, "log_likelihood")
    assert "units = log.units = 400" in likelihood
    assert "failed = log.units_failed = 231" in likelihood


def test_a_pool_of_spares_is_the_kept_one() -> None:
    """The pool by the history's width: its own explanation, down to the mean outage of the log."""
    document = shipped("infinitehbd")
    rows = document["sections"]["downtime"]["tables"]["spares"]
    number = next(i for i, row in enumerate(rows) if row["pool"].startswith("as wide"))

    assert "log.outage_mean = 132.84 h" in opened(document, "spares", number, "spares")


def test_every_column_of_a_table_finds_its_cell() -> None:
    """A table's keys are the records' own, so that what is chosen on screen is what is opened."""
    for found in shipped("slurm")["sections"].values():
        for rows in found["tables"].values():
            assert set(table_of("", rows).keys) <= set(rows[0])
