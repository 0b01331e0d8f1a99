"""How much a test draws, plays or tries: enough for its claim usually, more with `pytest --nightly`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from planner.answers.job.footprint import Footprint, Setting
    from planner.answers.job.work import Phase
    from planner.trace.quantities import Traced

NIGHTLY = "EVERFLEET_TESTS_NIGHTLY"  # set by the option before any test is read, here and in each worker


def at_night() -> bool:
    return bool(os.environ.get(NIGHTLY))


def size(usual: int, *, nightly: int) -> int:
    """The usual number, or the larger one of a night, which finds what is rarer and no other thing."""
    return nightly if at_night() else usual


@contextmanager
def few_ranges(*, plans: int, jobs: int) -> Iterator[None]:
    """Plans and jobs in a third of the time: ranges from few draws, swings of few facts, few other SKUs."""
    from planner.answers.job import document as job
    from planner.answers.job import what_if
    from planner.answers.plan import document as plan
    from planner.inputs.loading import load_catalogue
    from planner.trace import uncertainty

    every, widths, on_sku = uncertainty.ranged_facts, plan.swings, what_if._on_sku
    untried = {name for number, name in enumerate(load_catalogue().sold) if number % 5}

    def on_few(setting: Setting, phase: Phase, name: str) -> Footprint | None:
        return None if name in untried else on_sku(setting, phase, name)

    def swings(target: Traced) -> list[uncertainty.Swing]:
        with pytest.MonkeyPatch.context() as looked_at:
            looked_at.setattr(uncertainty, "ranged_facts", lambda *targets: every(*targets)[:6])
            return widths(target)

    with pytest.MonkeyPatch.context() as patched:
        if not at_night():
            patched.setattr(plan, "DRAWS", plans)
            patched.setattr(plan, "swings", swings)
            patched.setattr(job, "DRAWS", jobs)
            patched.setattr(what_if, "_on_sku", on_few)
        yield
