"""The front between money and carbon: against trying everything, and its marks by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from infeasible_cases import fleet_of_every_kind
from solver_cases import changed, limits, node_groups, one_job, problem, run_option

from solver.answer import answer
from solver.backend import Status
from solver.frontier import Front, Point, dominated, knee, lexicographic, pareto_front
from solver.problem import Problem, ServeOptions, Services
from solver.verify import verify

SKUS, REPLICAS = 3, 5
USD = np.array([115.0, 140.0, 190.0])  # of a node through the period, its replica included
KGCO2E = np.array([46.0, 26.0, 16.0])


def three_skus(**columns: float) -> Problem:
    """Five replicas, each on a node of one of three SKUs: cheap and dirty, middling, dear and clean."""
    one = np.ones((SKUS, 1))
    return problem(
        count=SKUS,
        node_groups=node_groups(
            count=SKUS,
            holding_usd_per_node=(USD - 15)[:, None],
            holding_kgco2e_per_node=(KGCO2E - 6)[:, None],
        ),
        services=Services(name=("chat",), demand=np.array([[10.0 * REPLICAS]])),
        serve_options=ServeOptions(
            service=np.zeros(SKUS),
            node_group=np.arange(SKUS),
            capacity=10 * one,
            nodes=np.ones(SKUS),
            standby_fraction=0 * one,
            node_hours=100 * one,
            active_kw=np.ones(SKUS),
            usd=15 * one,
            kgco2e=6 * one,
        ),
        limits=limits(skus=SKUS, **columns),
    )


def every_plan() -> list[tuple[float, float]]:
    """Money and carbon of all ways to divide the replicas."""
    ways = itertools.product(range(REPLICAS + 1), repeat=SKUS)
    return [(float(USD @ way), float(KGCO2E @ way)) for way in ways if sum(way) == REPLICAS]


def front(case: Problem, **options: object) -> Front:
    plain: dict[str, object] = {
        "points": 15,
        "tolerance_fraction": 0.0,
        "gap_fraction": 0.0,
        "time_limit_s": 20.0,
    }
    return pareto_front(case, **(plain | options))  # type: ignore[arg-type]


@pytest.mark.nightly
def test_every_point_is_the_cheapest_under_its_cap() -> None:
    """15 evenly spaced levels between the ends, each as by trying all 21 divisions; every plan is checked."""
    case = three_skus()
    found = front(case)
    caps = [each.cap_kgco2e for each in found.points]

    assert caps == pytest.approx(np.linspace(5 * 16, 5 * 46, 15))
    for point in found.points:
        cheapest = min(usd for usd, kgco2e in every_plan() if kgco2e <= point.cap_kgco2e + 1e-6)
        assert point.usd == pytest.approx(cheapest)
        assert verify(case, point.solution, 1e-6) == []
    assert found.complete


def test_marks_are_those_of_the_plans_themselves() -> None:
    """A point is marked if and only if some other point is at least as good in both; equal ones but for one.

    The knee is all middling: the two chords from there to the ends are steep and flat.
    """
    found = front(three_skus())
    kept = [point for point, needless in zip(found.points, found.dominated, strict=True) if not needless]

    money, carbon = [each.usd for each in kept], [each.kgco2e for each in kept]
    assert carbon == sorted(set(carbon))
    assert money == sorted(set(money), reverse=True)
    pairs = {(round(each.usd, 6), round(each.kgco2e, 6)) for each in found.points}
    assert pairs == {(round(usd, 6), round(kgco2e, 6)) for usd, kgco2e in zip(money, carbon, strict=True)}
    assert found.knee is not None
    assert (found.points[found.knee].usd, found.points[found.knee].kgco2e) == pytest.approx((700.0, 130.0))


def test_a_cap_of_the_problem_is_kept() -> None:
    """With 120 kg allowed, no point emits more, and the cheap end is the cheapest below that."""
    found = front(three_skus(carbon_cap_kgco2e=120.0))

    assert max(each.kgco2e for each in found.points) <= 120.0 + 1e-6
    assert found.points[-1].usd == pytest.approx(min(usd for usd, kgco2e in every_plan() if kgco2e <= 120.0))


def test_a_stop_keeps_the_points_that_are_there() -> None:
    """Asked to stop when four are known: those four come back, and how many were to come was told."""
    seen: list[tuple[Point, int]] = []
    found = front(
        three_skus(),
        tell=lambda point, to_come: seen.append((point, to_come)),
        should_stop=lambda: len(seen) >= 4,
    )

    assert [to_come for _, to_come in seen][:4] == [14, 13, 12, 11]
    assert not found.complete
    assert {id(each) for each in found.points} == {id(each) for each, _ in seen}
    assert 4 <= len(found.points) < 15


def test_without_a_plan_there_is_no_front() -> None:
    found = front(three_skus(carbon_cap_kgco2e=79.0))

    assert found.points == ()
    assert found.ended is Status.INFEASIBLE
    assert not found.complete


def test_carbon_decides_between_plans_of_equal_money() -> None:
    """Two SKUs cost the same, the second emits half: money first, then carbon, takes the second."""
    case = problem(
        count=2,
        node_groups=node_groups(count=2, holding_kgco2e_per_node=[[10.0], [5.0]]),
        jobs=one_job(),
        run_options=run_option([[2], [2]], node_group=[0, 1]),
        limits=limits(skus=2),
    )
    found = lexicographic(case, carbon_first=False, tolerance_fraction=0.0, gap_fraction=0.0, time_limit_s=20)
    assert found.solution is not None

    assert found.solution.usd == pytest.approx(240.0)
    assert found.objective == pytest.approx(2 * 5 + 2 * 8)
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("tolerance_fraction", [0.0, 0.05, 0.2, 1.0])
def test_a_tolerance_is_spent_on_the_second_objective(tolerance_fraction: float) -> None:
    """The least carbon of all divisions that cost at most so much more than the cheapest, 575 USD."""
    found = lexicographic(
        three_skus(),
        carbon_first=False,
        tolerance_fraction=tolerance_fraction,
        gap_fraction=0.0,
        time_limit_s=20,
    )
    affordable = [kgco2e for usd, kgco2e in every_plan() if usd <= 575 * (1 + tolerance_fraction) + 1e-6]

    assert found.objective == pytest.approx(min(affordable))


@pytest.mark.nightly
def test_the_ends_do_not_depend_on_the_problems_own_objective() -> None:
    case = three_skus()
    weighted = changed(case, "objective", money_weight=1.0, carbon_weight=3.0)
    ends = [(each.points[0].usd, each.points[-1].usd) for each in (front(case), front(weighted))]

    assert ends[0] == pytest.approx(ends[1])
    assert ends[0] == pytest.approx((5 * 190.0, 5 * 115.0))


@pytest.mark.nightly
def test_the_front_holds_what_weights_find() -> None:
    """Every weighted optimum lies on the front: no point of it is better in both."""
    case = three_skus()
    found = front(case)
    for price in (0.5, 1.0, 2.0, 4.0, 8.0):
        weighted = answer(
            changed(case, "objective", carbon_weight=price), gap_fraction=0.0, time_limit_s=20
        ).solution
        assert weighted is not None
        assert not any(
            point.usd < weighted.usd - 1e-6 and point.kgco2e < weighted.kgco2e - 1e-6
            for point in found.points
        )


def test_a_front_of_every_kind_of_decision() -> None:
    """Each plan keeps every rule and its cap; the engine's bound leaves no more than the gap."""
    case, gap = fleet_of_every_kind(2), 0.01
    found = front(case, points=5, gap_fraction=gap, tolerance_fraction=0.01)

    assert found.complete
    for point in found.points[1:-1]:
        assert verify(case, point.solution, 1e-6) == []
        assert point.kgco2e <= point.cap_kgco2e * (1 + 1e-6)
        assert point.answer.bound >= point.usd * (1 - gap) - 1e-6
    assert sum(found.dominated) < 3


def test_dominated_by_hand() -> None:
    """(9, 1) cleanest; (9, 2) no cheaper; (5, 3) and its copy; (4.99, 4) 0.2 % cheaper; (1, 5) cheapest."""
    usd, kgco2e = [9.0, 9.0, 5.0, 5.0, 4.99, 1.0], [1.0, 2.0, 3.0, 3.0, 4.0, 5.0]

    assert dominated(usd, kgco2e, gap_fraction=0.0) == (False, True, False, True, False, False)
    assert dominated(usd, kgco2e, gap_fraction=0.01) == (False, True, False, True, True, False)


def test_the_knee_by_hand() -> None:
    """From (0, 10) to (10, 0): (1, 2) lies 0.7 / sqrt 2 below the chord, (5, 5) on it, (9, 9) above."""
    assert knee([0.0, 1.0, 5.0, 10.0], [10.0, 2.0, 5.0, 0.0]) == 1
    assert knee([0.0, 5.0, 10.0], [10.0, 5.0, 0.0]) is None
    assert knee([0.0, 9.0, 10.0], [10.0, 9.0, 0.0]) is None
    assert knee([0.0, 10.0], [10.0, 0.0]) is None


def test_words_for_what_is_not_possible() -> None:
    case = three_skus()
    with pytest.raises(ValueError, match="points is a count of at least 2, got 1"):
        front(case, points=1)
    with pytest.raises(ValueError, match="tolerance_fraction is a share of at least 0, got -1"):
        front(case, tolerance_fraction=-1.0)
