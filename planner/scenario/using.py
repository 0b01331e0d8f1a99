"""What rented nodes, pausable jobs and jobs done in part ask of the rest of a scenario."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from planner.scenario.models import TrainingJob
from planner.scenario.problems import Problem, shown


def site_twice(sites: Collection[str], rentals: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[Problem]:
    """Rented nodes stand at a location of their own, never at a site of ours."""
    for i, entry in rentals:
        name = entry.get("name")
        if isinstance(name, str) and name in sites:
            yield Problem(f"rental[{i}].name", f"{shown(name)} is also a site: give the rented location a "
                          "name of its own")  # fmt: skip


def in_part(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A job that may be done in part has to be able to pause, and what is not done has to have a price."""
    if job.partial and not job.pausable:
        yield Problem(f"{at}.partial", "has no effect without pausable = true: write that, or remove it")
    if job.pausable and job.tokens < job.batch_tokens:
        yield Problem(f"{at}.tokens", f"{job.tokens:g} are less than one step of the optimiser, which is all "
                      f"that a pausable job can do at once: write {job.batch_tokens:g} or more")  # fmt: skip
    if job.partial and not job.may_be_left_out:
        yield Problem(f"{at}.partial", "needs a price for what is not done: write may_be_left_out = true and "
                      'for example left_out_penalty = "5 MUSD"')  # fmt: skip
