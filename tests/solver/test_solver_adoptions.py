"""Techniques of work as decisions: against trying every choice, before their day, where a rule breaks."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
from solver_cases import cohort, node_groups, problem, work

from solver.answer import answer
from solver.known import Answer
from solver.problem import Adoptions, Problem, WorkOptions
from solver.tables import ProblemError
from solver.verify import verify
from solver.writing import write_program

PERIODS = 2
FREE = ("keep_usd_per_node", "retire_usd_per_node")


def case(seed: int) -> Problem:
    """One work on nodes that stand: as it is, with each of two techniques, and with both."""
    rng = np.random.default_rng(seed)
    adoptions = Adoptions(
        name=("one", "other"),
        work=[0, 0],  # type: ignore[arg-type]
        usable_fraction=np.sort(rng.choice([0.0, 0.4, 1.0], (2, PERIODS)), axis=1),
        usd=rng.choice([0.0, 5.0, 40.0], (2, 1)) * np.array([1.0, 0.0]),
    )
    options = WorkOptions(
        work=[0] * 4,  # type: ignore[arg-type]
        node_group=[0] * 4,  # type: ignore[arg-type]
        speed=rng.choice([1.0, 1.3, 2.0, 3.0], 4),
        active_kw=np.ones(4),
        usd_per_node_h=rng.uniform(0.2, 1.0, (4, PERIODS)),
        kgco2e_per_node_h=np.zeros((4, PERIODS)),
        uses=[[0, 0], [1, 0], [0, 1], [1, 1]],  # type: ignore[arg-type]
    )
    base = problem(
        periods=PERIODS,
        node_groups=node_groups(periods=PERIODS, idle_usd_per_node=np.zeros((1, PERIODS))),
        cohorts=cohort(nodes=9, periods=PERIODS, **dict.fromkeys(FREE, np.zeros((1, PERIODS)))),
        **work(rng.choice([60.0, 150.0], PERIODS).tolist()),
    )
    return dataclasses.replace(base, work_options=options, adoptions=adoptions)


def best(of: Problem) -> Answer:
    return answer(of, gap_fraction=0.0, time_limit_s=20)


def least_by_hand(of: Problem) -> float:
    """The least over every set that is adopted and every way to share the work out in fifths.

    Shares are of the work of a period: with none, with one, with the other, with both.
    """
    options, adoptions = of.work_options, of.adoptions
    shares = [one for one in itertools.product(range(6), repeat=4) if sum(one) == 5]
    found = []
    for adopted in itertools.product((0, 1), repeat=2):
        cost = float((adoptions.usd * np.array(adopted)[:, None]).sum())
        for t in range(PERIODS):
            room = adoptions.usable_fraction[:, t] * np.array(adopted)
            each = of.work.demand_h[0, t] / options.speed * options.usd_per_node_h[:, t]
            cost += min(
                float(np.dot(share, each)) / 5
                for share in shares
                if (share[1] + share[3]) / 5 <= room[0] + 1e-9 and (share[2] + share[3]) / 5 <= room[1] + 1e-9
            )
        found.append(cost)
    return min(found)


@pytest.mark.parametrize("seed", range(12))
def test_the_best_adoption_is_that_of_trying_every_choice(seed: int) -> None:
    """Days that leave fifths of a period, so that shares of fifths hold the optimum."""
    of = case(seed)
    answered = best(of)
    assert answered.solution is not None
    assert answered.solution.usd == pytest.approx(least_by_hand(of), abs=1e-5)
    without = dataclasses.replace(
        of,
        adoptions=Adoptions.none(PERIODS),
        work_options=first_alone(of),
    )
    assert answered.objective <= best(without).objective + 1e-6, "what may be left alone never costs"


def first_alone(of: Problem) -> WorkOptions:
    """The work as it is."""
    columns = {name: getattr(of.work_options, name)[:1] for name in WorkOptions.SHAPES if name != "uses"}
    return WorkOptions(**columns)


def test_a_technique_that_is_never_usable_is_not_adopted() -> None:
    of = case(3)
    late = dataclasses.replace(
        of.adoptions, usable_fraction=np.zeros((2, PERIODS)), usd=np.zeros((2, PERIODS))
    )
    found = best(dataclasses.replace(of, adoptions=late)).solution
    assert found is not None
    assert found.adopted.tolist() == [0, 0]
    assert not found.work_node_h[1:].any()


def test_work_with_what_is_not_adopted_or_not_usable_yet_is_no_plan() -> None:
    of = dataclasses.replace(case(0), adoptions=dataclasses.replace(case(0).adoptions, usd=np.zeros((2, 2))))
    found = best(of).solution
    assert found is not None
    assert not verify(of, found, 1e-6)
    moved = found.work_node_h.copy()
    moved[3] = of.work.demand_h[0]
    for adopted in ([0, 1], [1, 1]):
        of_late = dataclasses.replace(
            of, adoptions=dataclasses.replace(of.adoptions, usable_fraction=np.full((2, 2), 0.4))
        )
        broken = dataclasses.replace(found, work_node_h=moved, adopted=np.array(adopted))
        assert "adopted" in {one.rule for one in verify(of_late, broken, 1e-6)}


def test_an_adoption_by_another_work_is_refused() -> None:
    of = case(0)
    two = dataclasses.replace(of.work, name=("a", "b"), demand_h=np.ones((2, PERIODS)))
    with pytest.raises(ProblemError, match="is of an adoption by another work"):
        dataclasses.replace(of, work=two, adoptions=dataclasses.replace(of.adoptions, work=np.array([0, 1])))


def test_the_file_of_a_program_says_which_techniques_work_uses(tmp_path: Path) -> None:
    write_program(case(0), tmp_path / "fleet.lp", period_names=["q1", "q2"])
    text = (tmp_path / "fleet.lp").read_text(encoding="utf-8")
    assert "work_notebooks_on_sku_0_at_oregon_with_one_with_other_q2" in text
    assert "adopt_one" in text
