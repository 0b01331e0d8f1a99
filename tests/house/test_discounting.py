"""The study of a discounted objective: at no rate it is the program as it is, at one it is by hand."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from benchmarks.studies.discounting import discounted
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import load_scenario, with_changes
from planner.program.assembly import Assembled, assemble

PATH = data_folder() / "scenarios" / "one-training-job.toml"


def assembled(rate: str) -> tuple[Inputs, Assembled]:
    inputs = Inputs(with_changes(load_scenario(PATH), {"policy.discount_rate": rate}), load_catalogue())
    return inputs, assemble(inputs)


def test_at_no_rate_nothing_changes() -> None:
    inputs, every = assembled("0 %")
    plain, present = every.problem, discounted(inputs, every)

    for table in ("node_groups", "cohorts", "sales", "moves", "run_options", "serve_options", "places"):
        one, other = getattr(plain, table), getattr(present, table)
        for part in fields(one):
            value = getattr(one, part.name)
            if isinstance(value, np.ndarray):
                assert getattr(other, part.name) == pytest.approx(value), f"{table}.{part.name}"


def test_a_bill_is_discounted_to_the_middle_of_its_period() -> None:
    """45 of 365.25 days at 8 %: 0.9906; space of the second quarter, 135.5 days: 0.9719."""
    inputs, every = assembled("8 %")
    ratio = discounted(inputs, every).places.space_usd_per_kw / every.problem.places.space_usd_per_kw

    assert ratio == pytest.approx(np.array([[1.08 ** (-45 / 365.25), 1.08 ** (-135.5 / 365.25)]]), rel=1e-6)
