"""An engine that answers a known program wrongly is refused, in each version once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulp
import pytest

from planner.cli import WRONG_INPUT, main
from solver import backend, selftest
from solver.selftest import PROGRAMS, UntrustedEngine, trust

OPTIMAL = [(make, optimum) for make, _, optimum in PROGRAMS if not math.isnan(optimum)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing is known of any engine, on disk or in this process."""
    monkeypatch.setattr(selftest, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(selftest, "_trusted", set())
    return tmp_path / "cache"


class Engine:
    """Answers all programs as they are, or one of them as told; counts what it was asked."""

    def __init__(self, lies: Callable[[], Any] | None = None, answer: selftest.Answered = ("", 0.0)) -> None:
        self.lie, self.calls = (str(lies()) if lies else "", answer), 0

    def __call__(self, model: Any) -> selftest.Answered:
        self.calls += 1
        shown, answer = self.lie
        truth = {str(make()): (ended, best) for make, ended, best in PROGRAMS}
        return answer if str(model) == shown else truth[str(model)]


def points(model: Any) -> Iterator[dict[str, float]]:
    """Every point of quarters in [0, 10] for fractions, and every whole point, of a small program."""
    ranges = []
    for each in model.variables():
        step = 1.0 if each.cat == pulp.LpInteger else 0.5
        most = min(10.0, math.inf if each.upBound is None else each.upBound)
        ranges.append([step * count for count in range(round(most / step) + 1)])
    names = [each.name for each in model.variables()]
    return (dict(zip(names, values, strict=True)) for values in itertools.product(*ranges))


def holds(row: Any, at: dict[str, float]) -> bool:
    total = sum(weight * at[each.name] for each, weight in row.items())
    return {
        pulp.LpConstraintLE: total <= -row.constant,
        pulp.LpConstraintGE: total >= -row.constant,
        pulp.LpConstraintEQ: total == -row.constant,
    }[row.sense]


@pytest.mark.parametrize(
    ("make", "ended", "optimum"), PROGRAMS, ids=lambda each: getattr(each, "__name__", "")
)
def test_the_known_answers_are_those_of_trying_everything(
    make: Callable[[], Any], ended: str, optimum: float
) -> None:
    """Every whole point, with fractions in steps of a half: the optima lie on them."""
    model = make()
    costs = [
        sum(weight * at[each.name] for each, weight in model.objective.items())
        for at in points(model)
        if all(holds(row, at) for row in model.constraints.values())
    ]

    if ended == "optimal":
        assert min(costs) == optimum
    elif ended == "no plan exists":
        assert not costs
    else:
        assert min(costs) == -20.0, "where the tried points end, and nothing else"


@pytest.mark.parametrize("engine", ["highs", "cbc"])
def test_the_engines_here_are_believed(engine: str, cache: Path) -> None:
    backend.trust(engine)

    assert len(list((cache / "engines").iterdir())) == 1


@pytest.mark.parametrize(("make", "optimum"), OPTIMAL, ids=lambda each: getattr(each, "__name__", ""))
def test_an_engine_that_lies_once_is_refused(make: Callable[[], Any], optimum: float, cache: Path) -> None:
    with pytest.raises(UntrustedEngine, match=rf"^Fake 9\.9 answers .*\({make.__name__}: .*do without$"):
        trust("Fake", "9.9", Engine(make, ("optimal", optimum + 1.0)), "do without")
    assert not cache.exists(), "a lie is not kept"


@pytest.mark.parametrize("answer", [("optimal", 7.0), ("the objective has no end", math.nan)])
def test_a_plan_where_none_exists_is_a_lie(answer: selftest.Answered) -> None:
    with pytest.raises(UntrustedEngine, match="boxes_of_43"):
        trust("Fake", "9.9", Engine(selftest.boxes_of_43, answer), "do without")


def test_each_version_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept holds for the next process, and for this version only."""
    first, again, other = Engine(), Engine(), Engine()
    trust("Fake", "1.0", first, "")
    monkeypatch.setattr(selftest, "_trusted", set())
    trust("Fake", "1.0", again, "")
    trust("Fake", "1.1", other, "")

    assert (first.calls, again.calls, other.calls) == (len(PROGRAMS), 0, len(PROGRAMS))


def test_other_programs_are_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    trust("Fake", "1.0", Engine(), "")
    monkeypatch.setattr(selftest, "_trusted", set())
    monkeypatch.setattr(selftest, "PROGRAMS", PROGRAMS[:-1])
    fewer = Engine()
    trust("Fake", "1.0", fewer, "")

    assert fewer.calls == len(PROGRAMS) - 1


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(cache: Path) -> None:
    cache.write_text("a file stands where the folder would be")
    engine = Engine()
    trust("Fake", "1.0", engine, "")

    assert engine.calls == len(PROGRAMS)


def test_the_cache_lies_where_the_user_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert selftest.cache_folder() == tmp_path / "everfleet"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert selftest.cache_folder() == Path.home() / ".cache" / "everfleet"


def test_a_plan_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As HiGHS 1.14.0 answers: 15 for `stuffing`. Exit 2, the version, and what would do."""
    honest = backend._solved

    def lying(model: Any, *rest: Any) -> backend.Outcome:
        outcome = honest(model, *rest)
        if str(model) == str(selftest.stuffing()):
            object.__setattr__(outcome, "objective", 15.0)
        return outcome

    monkeypatch.setattr(backend, "_solved", lying)

    assert main(["plan", "tests/own_scenario.toml"]) == WRONG_INPUT
    said = capsys.readouterr().err
    assert "stuffing: optimal at 15; right is optimal at 9" in said
    assert f'pip install "highspy!={backend.highspy.Highs().version()}"' in said
    assert "Traceback" not in said
