"""Things on devices with tiers: against trying every placement, its rules one by one, and its program."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from sizes import size

from solver.placing import Placement, Placing, broken_rules, filled
from solver.placing_program import lower_bound, program, solved
from solver.placing_search import place
from solver.tables import ProblemError

GOLDEN = """\
\\* placement *\\
Minimize
OBJ: T
Subject To
pieces_0: - 2 choose_0 + pieces_0_0 + pieces_0_1 = 0
room_0_0: 3 kept_0_0_0 <= 4
room_0_1: 3 kept_0_0_1 <= 9
room_1_0: 3 kept_0_1_0 <= 4
room_1_1: 3 kept_0_1_1 <= 9
thing_0: choose_0 = 1
tiers_0_0: kept_0_0_0 + kept_0_0_1 - pieces_0_0 = 0
tiers_0_1: kept_0_1_0 + kept_0_1_1 - pieces_0_1 = 0
time_0: - T + kept_0_0_0 + 10 kept_0_0_1 + 0.5 pieces_0_0 <= 0
time_1: - kept_0_0_0 - 10 kept_0_0_1 + kept_0_1_0 + 10 kept_0_1_1
 - 0.5 pieces_0_0 + 0.5 pieces_0_1 <= 0
Bounds
0 <= pieces_0_0 <= 2
0 <= pieces_0_1 <= 2
Generals
pieces_0_0
pieces_0_1
Binaries
choose_0
End
"""


def tiny(**other: Any) -> Placing:
    """One thing in two pieces of 3 GB on two devices of 4 GB and 9 GB that is ten times slower."""
    plain = Placing(
        devices=2,
        capacity_gb=np.array([4.0, 9.0]),
        thing=np.array([0]),
        count=np.array([2]),
        sent_s=np.array([0.5]),
        way=np.array([0]),
        everywhere=np.array([False]),
        gb=np.array([3.0]),
        seconds=np.array([[1.0, 10.0]]),
    )
    return replace(plain, **other)


def drawn(seed: int) -> Placing:
    """A small case: two or three things, whole, in two pieces, or with a step that every device holds."""
    rng = np.random.default_rng(seed)
    things, devices, tiers = int(rng.integers(2, 4)), 2, int(rng.integers(1, 4))
    rows: list[tuple[int, int, float]] = []
    steps: list[tuple[int, bool, float, list[float]]] = []
    slower = np.cumprod([1.0, *rng.uniform(2, 40, tiers - 1)])
    for j in range(things):
        gb, load_s = rng.uniform(1, 9, 2), np.sort(rng.uniform(0, 9, 2))[::-1]
        for count, common in ((1, False), (2, False), (1, True))[: int(rng.integers(1, 4))]:
            way = len(rows)
            rows.append((j, count, float(rng.uniform(0, 3)) / count))
            for i in range(2):
                share = 1.0 / devices if common and i == 0 else 1.0 / count
                taken = [float(load_s[i] * share * one) for one in slower]
                steps.append((way, common and i == 0, float(gb[i]) / count, taken))
    of = np.array([way for way, *_ in steps])
    sizes = np.array([gb for _, _, gb, _ in steps])
    tight = float(rng.uniform(0.3, 1.2)) * sizes.sum() / len(rows) * things / devices
    return Placing(
        devices=devices,
        capacity_gb=np.array([tight, *(3 * tight * rng.uniform(0.2, 1, tiers - 1))]),
        thing=np.array([j for j, _, _ in rows]),
        count=np.array([count for _, count, _ in rows]),
        sent_s=np.array([sent for _, _, sent in rows]),
        way=of,
        everywhere=np.array([common for _, common, _, _ in steps]),
        gb=sizes,
        seconds=np.array([taken for *_, taken in steps]),
    )


def best_of_all(placing: Placing) -> float:
    """The least time of all ways and all placements of their pieces, the tiers by a linear program each."""
    ways = [np.flatnonzero(placing.thing == j).tolist() for j in range(placing.things)]

    @cache
    def time_s(pieces: tuple[tuple[int, int], ...]) -> float:
        """Of a device with so many pieces of each way, all of which are chosen."""
        times = dict(pieces)
        steps = [i for i, way in enumerate(placing.way.tolist()) if way in times]
        often = [1 if placing.everywhere[i] else times[int(placing.way[i])] for i in steps]
        tiers = placing.capacity_gb.size
        room = [[placing.gb[i] * (k == at) for i in steps for at in range(tiers)] for k in range(tiers)]
        whole = [[float(i == own) for own in steps for _ in range(tiers)] for i in steps]
        found = linprog(
            [placing.seconds[i, k] for i in steps for k in range(tiers)],
            A_ub=room,
            b_ub=placing.capacity_gb,
            A_eq=whole,
            b_eq=often,
        )
        sent = sum(count * placing.sent_s[way] for way, count in pieces)
        return float(found.fun + sent) if found.status == 0 else np.inf

    best = np.inf
    for chosen in product(*ways):
        spreads = [
            list(combinations_with_replacement(range(placing.devices), int(placing.count[w]))) for w in chosen
        ]
        for spread in product(*spreads):
            best = min(
                best,
                max(
                    time_s(tuple((w, at.count(d)) for w, at in zip(chosen, spread, strict=True)))
                    for d in range(placing.devices)
                ),
            )
    return best


@pytest.mark.parametrize("first", range(0, size(3, nightly=300), 3))
def test_it_is_the_best_of_all_placements(first: int) -> None:
    """Search and program together against enumeration; the bound of neither is above it."""
    for seed in range(first, first + 3):
        placing = drawn(seed)
        best = best_of_all(placing)
        found = place(placing)

        assert found.step_s == pytest.approx(best, rel=1e-4), seed
        assert lower_bound(placing).seconds <= best * (1 + 1e-9), seed
        if found.placement is not None:
            assert found.step_s == pytest.approx(found.placement.step_s(placing))
            assert broken_rules(placing, found.placement) == []


def test_every_row_of_the_program_is_as_written(tmp_path: Any) -> None:
    """The text of the program of the smallest case."""
    path = tmp_path / "placement.lp"
    program(tiny()).writeLP(str(path))

    assert path.read_text().split() == GOLDEN.split()


def test_the_smallest_case_by_hand() -> None:
    """A piece a device, each in the fast tier: 1 s of reading and 0.5 s of sending."""
    found = place(tiny())

    assert found.step_s == found.bound_s == pytest.approx(1.5)
    assert found.placement is not None
    assert found.placement.pieces.tolist() == [[1, 1]]
    assert found.gap_fraction == 0


def test_a_program_alone_finds_it_too() -> None:
    """Without the search; and below what is possible there is nothing."""
    placement, bound_s = solved(tiny())
    assert placement is not None
    assert placement.step_s(tiny()) == pytest.approx(1.5)
    assert bound_s == pytest.approx(1.5)
    assert solved(tiny(), below=1.4)[0] is None


RIGHT = Placement(
    ways=np.array([0]),
    pieces=np.array([[1, 1]]),
    steps=np.array([0]),
    kept=np.array([[[1.0, 0.0], [1.0, 0.0]]]),
)


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"ways": np.array([0, 0])}, "no way, or in that of another"),
        ({"pieces": np.array([[2, 1]])}, "holds more than there are"),
        ({"pieces": np.array([[3, -1]])}, "less than nothing"),
        ({"kept": np.array([[[0.5, 0.0], [1.0, 0.0]]])}, "a step in no tier"),
        ({"steps": np.array([], dtype=int)}, "other steps"),
        ({"pieces": np.array([[2, 0]]), "kept": np.array([[[2.0, 0], [0, 0]]])}, "more in a tier"),
    ],
)
def test_a_broken_rule_is_named(wrong: dict[str, Any], rule: str) -> None:
    assert broken_rules(tiny(), RIGHT) == []
    assert any(rule in one for one in broken_rules(tiny(), replace(RIGHT, **wrong)))


def test_where_nothing_fits_there_is_no_placement() -> None:
    """Two pieces of 3 GB where a device has 1 GB."""
    found = place(tiny(capacity_gb=np.array([0.5, 0.5])))
    assert found.placement is None
    assert filled(np.array([3.0]), np.array([[1.0, 2.0]]), np.array([1.0, 1.0])) is None


def test_a_hundred_devices_are_within_a_few_percent_of_the_bound() -> None:
    """800 things in half a second: the gap is what the search answers for, and the rules hold."""
    rng = np.random.default_rng(5)
    things, devices = 800, 100
    load_s = rng.lognormal(0, 1, things)
    count = np.tile([1, 2, 4], things)
    thing = np.repeat(np.arange(things), 3)
    gb = rng.lognormal(0, 1, things)
    placing = Placing(
        devices=devices,
        capacity_gb=np.array([1.2 * gb.sum() / devices, 10 * gb.sum()]),
        thing=thing,
        count=count,
        sent_s=0.1 * load_s[thing] / count,
        way=np.arange(3 * things),
        everywhere=np.zeros(3 * things, dtype=bool),
        gb=gb[thing] / count,
        seconds=(load_s[thing] / count)[:, None] * [[1.0, 20.0]],
    )
    found = place(placing, time_limit_s=0.5)

    assert found.placement is not None
    assert found.gap_fraction < 0.05
    assert broken_rules(placing, found.placement) == []


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("seconds", np.array([[10.0, 1.0]]), "never faster"),
        ("gb", np.array([0.0]), "above 0"),
        ("count", np.array([1, 1]), "shape"),
        ("devices", 0, "at least one device"),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(column: str, value: Any, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        tiny(**{column: value})
