"""Questions about serving within targets: what a peer answers, and what we answer to the same.

The rows of data/fit/serving_points.csv that state targets are what aiconfigurator found best for a model on a
system, over the engines it was asked for: a rate with its engine and layout. serving_more.csv holds more of
its answers, on which nothing was fitted: the same questions on a second engine, where it had set two chips
that are close on different ones, and questions that were not asked before. We are asked as a user would ask,
`everfleet throughput --serve`: our best replica of at most eight accelerators at its greatest rate within the
targets, on the same engine. As the peer has it, groups that share experts all read as much in each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from benchmarks.studies.fit_serving import FOLDER, POINTS, points_of, rate_errors, read_table
from planner.answers.throughput.document import throughput_document
from planner.inputs.catalogue import Catalogue
from planner.inputs.hardware_question import Question
from planner.inputs.loading import load_catalogue

MORE = FOLDER / "serving_more.csv"
COLUMNS = (
    "source",
    "engine",
    "sku",
    "model",
    "precision",
    "cache",
    "tp",
    "dp",
    "batch",
    "input_tokens",
    "output_tokens",
    "ttft_s",
    "tpot_ms",
    "requests_per_s",
)
QUESTION = ("model", "precision", "input_tokens", "output_tokens", "ttft_s", "tpot_ms")
LARGEST = 8  # accelerators of a replica, as the peer's systems had


@dataclass(frozen=True, slots=True)
class Compared:
    """One question, the peer's rate per accelerator and ours; 0 where no replica of ours works."""

    row: dict[str, str]
    peer_per_s: float
    ours_per_s: float
    accelerators: int
    why: str

    @property
    def ratio(self) -> float:
        return self.ours_per_s / self.peer_per_s

    @property
    def question(self) -> tuple[str, ...]:
        """What is asked, whatever the hardware."""
        return question_of(self.row)

    @property
    def layout(self) -> str:
        return f"tp{self.row['tp']} x {self.row['dp']}"

    @property
    def lengths(self) -> str:
        return f"{self.row['input_tokens']}/{self.row['output_tokens']}"


def question_of(row: dict[str, str]) -> tuple[str, ...]:
    """What a row asks, whatever the hardware."""
    return tuple(row[name] for name in QUESTION)


def questions() -> list[dict[str, str]]:
    """Rows that state targets: the peer's best of the engines that it was asked for."""
    return [row for row in read_table(POINTS, COLUMNS) if row["tpot_ms"]]


def other_engines() -> list[dict[str, str]]:
    """The same questions on a second engine."""
    known = {question_of(row) for row in questions()}
    return [row for row in read_table(MORE, COLUMNS) if question_of(row) in known]


def new_questions() -> list[dict[str, str]]:
    """Questions that `questions` does not hold, each on one engine for all accelerators."""
    known = {question_of(row) for row in questions()}
    return [row for row in read_table(MORE, COLUMNS) if question_of(row) not in known]


@cache
def _with_balanced_groups() -> Catalogue:
    """Facts in which groups that share experts wait for none of them."""
    catalogue = load_catalogue()
    waits = [fact for key, fact in catalogue.facts.items() if key.endswith(".group_wait")]
    return catalogue.with_facts(replace(fact, value=0.0, low=None, high=None) for fact in waits)


def ask(row: dict[str, str]) -> Compared:
    """The same question to us."""
    document = throughput_document(
        Question(
            model=row["model"],
            serve=True,
            precision=row["precision"],
            skus=(row["sku"],),
            input_tokens=float(row["input_tokens"]),
            output_tokens=float(row["output_tokens"]),
            alike=True,
            ttft_s=float(row["ttft_s"]),
            tpot_s=float(row["tpot_ms"]) / 1e3,
            engine=row["engine"],
        ),
        _with_balanced_groups(),
    )
    few = [one for one in document["rows"] if one["accelerators"] <= LARGEST]
    fitting = [one for one in few if one["fits"]]
    peer = float(row["requests_per_s"]) / (float(row["tp"]) * float(row["dp"]))
    if not fitting:
        why = "; ".join(dict.fromkeys(str(one.get("reason")) for one in few))
        return Compared(row, peer, 0.0, 0, why)
    best = max(fitting, key=lambda one: one["limit_per_s"] / one["accelerators"])
    return Compared(row, peer, best["limit_per_s"] / best["accelerators"], best["accelerators"], "")


def full_batch_ratios(answers: Sequence[Compared]) -> list[float]:
    """Our rate over theirs where both run the peer's layout full with its batch, without a queue."""
    if not answers:
        return []
    ratios: list[float] = np.exp(rate_errors(points_of([one.row for one in answers]), {})).tolist()
    return ratios
