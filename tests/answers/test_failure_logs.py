"""Logs that a visitor brings: read and fitted by a worker, and the shipped fits that stand in at first."""

from __future__ import annotations

import gzip
import importlib
import json
import math
from pathlib import Path
from typing import Any

import pytest

from planner.answers.failures import SAMPLES, as_failures, fit_of_sample
from planner.inputs.fits import fit_of
from planner.report.charts.failures import failure_counts
from planner.trace.errors import InputError
from planner.ui import logs as page_logs
from planner.ui.workers import logs
from planner.ui.workers.tasks import TASKS

Record = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
SAMPLES_FOLDER = ROOT / "data" / "samples"
EVENTS = (
    "node,start,end\n"
    "n1,2025-01-02T00:00:00Z,2025-01-02T06:00:00Z\n"
    "n2,2025-01-09T00:00:00Z,2025-01-09T06:00:00Z\n"
    "n2,not a time,2025-01-20T06:00:00Z\n"
    "n3,2025-02-01T00:00:00Z,2025-02-01T12:00:00Z\n"
)


def read(name: str, content: bytes, mapping: str = "") -> Record:
    return logs.read({"name": name, "content": content, "mapping": mapping}, _unheard, lambda: False)


def _unheard(text: str = "", **_: Any) -> None:
    assert isinstance(text, str)


@pytest.mark.slow
def test_a_log_is_shown_before_it_is_used() -> None:
    """3,105 runs on 256 nodes, 183 of them failed; times of Slurm carry no zone, so UTC is said."""
    found = read("jobs.txt", (SAMPLES_FOLDER / "slurm-simulated.txt").read_bytes())
    facts = {row["read"]: row["value"] for row in found["sections"]["read"]["tables"]["read"]}

    assert found["failures"] == 183
    assert facts["runs of jobs"] == "3,105"
    assert facts["units"] == "256"
    assert facts["rows left out"] == "0"
    assert facts["times are taken"] == "as UTC"
    assert 'state = "State"' in found["mapping"]


def test_rows_that_cannot_be_read_are_named_with_their_reason() -> None:
    """One start is no time: the row is left out, by file and line, and the rest is read."""
    found = read("events.csv", EVENTS.encode())

    assert found["bad_row_count"] == 1
    assert found["bad_rows"][0]["line"] == 4
    assert "not a time" in found["bad_rows"][0]["reason"]
    assert found["failures"] == 3


def test_days_since_the_start_have_no_zone() -> None:
    """InfiniteHBD counts days from the first event: no zone is assumed."""
    file, mapping = SAMPLES["infinitehbd"]
    found = read(
        file, (SAMPLES_FOLDER / file).read_bytes(), (SAMPLES_FOLDER / mapping).read_text(encoding="utf-8")
    )
    facts = {row["read"]: row["value"] for row in found["sections"]["read"]["tables"]["read"]}

    assert facts["times are taken"] == "from the start of the log"
    assert facts["failures"] == "584"


@pytest.mark.parametrize(
    ("content", "mapping", "message"),
    [
        (b"a,b\n1,2\n", "", "is of no known shape"),
        (b"", "", "log"),
        (EVENTS.encode(), "kind =", "mapping.toml: is not TOML"),
        (EVENTS.encode(), 'kind = "events"\n[columns]\nunit = "node"\n', "columns.start is missing"),
    ],
)
def test_what_cannot_be_read_says_why(content: bytes, mapping: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read("log.csv", content, mapping)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", "a\x00b.csv", "x" * 400 + ".csv", "", "C:\\a\\b.csv"]
)
def test_a_name_never_leaves_its_folder(name: str) -> None:
    """Whatever a file is called, it is read from a folder of its own, under a name of plain letters."""
    found = read(name, EVENTS.encode())

    assert found["failures"] == 3
    assert "/" not in found["title"]
    assert len(found["title"]) < 120


def test_a_packed_log_is_the_same_log() -> None:
    """The end of the name says how it is packed, so cleaning the name has to keep it."""
    assert read("my log.csv.gz", gzip.compress(EVENTS.encode()))["failures"] == 3


def test_a_fit_ends_when_it_is_asked_to() -> None:
    """Asked to stop before it began, it tells no number."""
    arguments = {"name": "e.csv", "content": EVENTS.encode(), "mapping": "", "question": {}}
    with pytest.raises(InputError, match="stopped before it was done"):
        logs.fit(arguments, _unheard, lambda: True)


def test_options_of_a_fit_are_checked() -> None:
    arguments = {"name": "e.csv", "content": EVENTS.encode(), "mapping": "", "question": {"period_d": -1.0}}
    with pytest.raises(InputError, match="--period-days: has to be above 0"):
        logs.fit(arguments, _unheard, lambda: False)


@pytest.mark.slow
def test_what_the_app_asks_for_can_be_worked_on() -> None:
    """The worker finds both tasks under the names that the page uses, and their answers are plain JSON."""
    for task in ("read-log", "fit-log"):
        module, _, name = TASKS[task].partition(":")
        assert getattr(importlib.import_module(module), name) in (logs.read, logs.fit)
    arguments = {"name": "e.csv", "content": EVENTS.encode(), "mapping": "", "question": {}}
    found = logs.fit(arguments, _unheard, lambda: False)

    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_shipped_fits_are_current(name: str) -> None:
    """A fit made anew says what the shipped one says; if not: python -m benchmarks.studies.example_fits."""
    made, shipped = fit_of_sample(name), page_logs.shipped_fit(name)

    assert _alike(json.loads(json.dumps(made)), shipped), "run python -m benchmarks.studies.example_fits"


def test_the_page_knows_the_shipped_fits_by_name() -> None:
    """The page lists what lies ready; a name that is no list's, a path for example, is refused."""
    assert list(page_logs.SHIPPED) == list(SAMPLES)
    with pytest.raises(ValueError, match="no shipped log"):
        page_logs.shipped_fit("../../pyproject")


def test_what_others_read_of_a_fit_is_a_whole_fit() -> None:
    """A few numbers are enough for a checkpoint question: the rate, its range, repair and bursts."""
    document = page_logs.shipped_fit("infinitehbd")
    small = as_failures(document)
    whole, part = fit_of(document, "fit"), fit_of(small, "fit")

    assert "sections" not in small
    assert part.failure_rate.value == whole.failure_rate.value
    assert (part.failure_rate.low, part.failure_rate.high) == (
        whole.failure_rate.low,
        whole.failure_rate.high,
    )
    assert part.repair is not None
    assert part.variance_to_mean is not None


def test_a_log_that_refuses_every_lifetime_says_so() -> None:
    """Counts have 18 times the variance of Poisson ones: outages come in bursts, not unit by unit."""
    section = page_logs.shipped_fit("infinitehbd")["sections"]["lives"]

    assert section["tables"]["fits"][0]["fit_p"] < 1e-4
    assert any("The log refuses even the log-logistic (p = 2e-06)" in text for text in section["said"])


def test_failures_by_cause_add_up() -> None:
    """Bars, most frequent first, each with its count and share; 584 outages in all, 12 causes shown."""
    document = page_logs.shipped_fit("infinitehbd")
    causes = document["sections"]["rate"]["tables"]["causes"]
    picture = failure_counts(document)

    assert sum(row["failures"] for row in causes) == 584
    assert picture is not None
    assert picture.alt.startswith(f"Bars. {causes[0]['cause']} {causes[0]['failures']} (")
    assert failure_counts(page_logs.shipped_fit("slurm")) is None, "a job log names no causes"


def _alike(made: Any, shipped: Any) -> bool:
    """The same but for the last digits, which another machine's mathematics may round differently."""
    if isinstance(made, dict) and isinstance(shipped, dict):
        return made.keys() == shipped.keys() and all(_alike(made[key], shipped[key]) for key in made)
    if isinstance(made, list) and isinstance(shipped, list):
        return len(made) == len(shipped) and all(map(_alike, made, shipped))
    if isinstance(made, float) and isinstance(shipped, float | int):
        return math.isclose(made, shipped, rel_tol=1e-4, abs_tol=1e-9)
    return bool(made == shipped)
