"""What was searched before is found again, checked as if it were new; all else is searched."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pytest
from solver_cases import changed, cohort, node_groups, one_job, problem, run_option, work

from planner.answers.plan.document import plan_document
from planner.inputs.scenario import Scenario, load_scenario, with_changes
from planner.program import plan, search_cache
from planner.program.plan import plan_fleet
from planner.program.search_cache import DIGEST_BYTES, searched, searched_ties
from planner.report.tables import provenance
from planner.store.packing import repeatable
from solver import backend
from solver.answer import answer
from solver.backend import Status
from solver.known import Answer
from solver.problem import Problem, Slots, Solution

GAP = 0.02


class Dict(dict[str, bytes]):
    """A memory for one test."""

    put = dict.__setitem__


def two_sites(second_usd: float = 101.0) -> Problem:
    """A job for one node of either site, for 100 USD a period or for so much."""
    holding = np.array([[100.0], [second_usd]])
    return problem(
        count=2,
        node_groups=node_groups(count=2, holding_usd_per_node=holding),
        jobs=one_job(),
        run_options=run_option([[1], [1]], node_group=[0, 1]),
    )


def in_slots() -> Problem:
    """150 h of work on nodes that stand, in 60 h of day and 40 h of night."""
    slots = Slots(
        hours=np.array([[60.0], [40.0]]),
        before=np.array([1, 0]),
        day_type=np.array([0, 0]),
        days=np.full((2, 1), 5.0),
    )
    return problem(cohorts=cohort(nodes=3), slots=slots, **work([150.0]))


def never(start: Solution | None = None) -> Any:
    raise AssertionError("it was searched again")


def ask(
    memory: Dict,
    case: Problem,
    search: Callable[[Solution | None], Answer] | None = None,
    *,
    gap_fraction: float = GAP,
    engine: str = "highs",
    start: Solution | None = None,
    time_limit_s: float = 20.0,
) -> Answer:
    """The answer of a problem, with the search that finds it, or another one."""

    def fresh(first: Solution | None) -> Answer:
        return answer(case, gap_fraction=gap_fraction, time_limit_s=20, engine=engine, start=first)

    return searched(
        memory,
        case,
        search or fresh,
        gap_fraction=gap_fraction,
        engine=engine,
        start=start,
        time_limit_s=time_limit_s,
    )


def columns_of(value: Any) -> dict[str, Any]:
    """All that a plan holds, by name."""
    found: dict[str, Any] = {}
    for one in dataclasses.fields(value):
        part = getattr(value, one.name)
        held = columns_of(part) if dataclasses.is_dataclass(part) else {"": part}
        found |= {f"{one.name}.{name}": column for name, column in held.items()}
    return found


@pytest.mark.parametrize("case", [two_sites(), in_slots()], ids=["whole periods", "slots"])
def test_the_same_question_is_found_again_to_the_last_bit(case: Problem) -> None:
    memory = Dict()
    first = ask(memory, case)
    again = ask(memory, case, never)

    assert first.solution is not None
    assert again.solution is not None
    assert dataclasses.replace(again, solution=None, searched_on="") == dataclasses.replace(
        first, solution=None
    )
    assert again.searched_on == date.today().isoformat()
    assert first.searched_on == ""
    there, here = columns_of(first.solution), columns_of(again.solution)
    assert [name for name, column in there.items() if not np.array_equal(column, here[name])] == []
    assert (case.slots.hours.size > 0) == (again.solution.slots is not None)


def test_another_question_is_searched() -> None:
    """A price of one node, a limit, the gap, the engine, and the plan to start from."""
    memory, case = Dict(), two_sites()
    plan = ask(memory, case).solution
    limits = dataclasses.replace(case.limits, money_cap_usd=1e9)

    for asked in (
        lambda: ask(memory, two_sites(101.5), never),
        lambda: ask(memory, dataclasses.replace(case, limits=limits), never),
        lambda: ask(memory, changed(case, "run_options", usd=case.run_options.usd + 1.0), never),
        lambda: ask(memory, case, never, gap_fraction=0.01),
        lambda: ask(memory, case, never, engine="cbc"),
        lambda: ask(memory, case, never, start=plan),
    ):
        with pytest.raises(AssertionError, match="searched again"):
            asked()
    assert ask(memory, case, never).solution is not None


def test_another_version_searches_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, case = Dict(), two_sites()
    ask(memory, case)
    monkeypatch.setattr(search_cache, "version", lambda library: "0.0.0")

    with pytest.raises(AssertionError, match="searched again"):
        ask(memory, case, never)


@pytest.mark.parametrize("status", [Status.INTERRUPTED, Status.NO_INCUMBENT, Status.INFEASIBLE])
def test_what_was_stopped_or_not_found_is_not_kept(status: Status) -> None:
    memory, case = Dict(), two_sites()
    found = ask(Dict(), case)
    plan = found.solution if status is Status.INTERRUPTED else None
    ask(memory, case, lambda _: dataclasses.replace(found, status=status, solution=plan))

    assert not memory


@pytest.mark.parametrize("bound", [90.0, -np.inf], ids=["a bound", "no bound in its time"])
def test_a_search_that_time_ended_answers_where_no_more_is_allowed(bound: float) -> None:
    memory, case = Dict(), two_sites()
    found = ask(Dict(), case)
    assert found.objective == 120.0
    gap = backend.gap(found.objective, bound)
    ended = dataclasses.replace(found, status=Status.TIME_LIMIT, bound=bound, gap_fraction=gap)
    ask(memory, case, lambda _: ended, time_limit_s=20.0)

    for limit_s in (20.0, 5.0):
        again = ask(memory, case, never, time_limit_s=limit_s)
        assert (again.status, again.bound, again.gap_fraction) == (Status.TIME_LIMIT, bound, gap)
        assert again.searched_on == date.today().isoformat()
    with pytest.raises(AssertionError, match="searched again"):
        ask(memory, case, never, time_limit_s=20.1)


def test_more_time_goes_on_from_what_was_found() -> None:
    """From its plan, with the bound that is known, and the seconds of both; then that is what is kept."""
    memory, case = Dict(), two_sites()
    best = ask(Dict(), case)
    dearer = ask(Dict(), changed(case, "node_groups", purchase_allowed=[[0], [1]])).solution
    assert dearer is not None
    first = dataclasses.replace(
        best, status=Status.TIME_LIMIT, solution=dearer, objective=121.0, bound=119.5, elapsed_s=20.0
    )
    ask(memory, case, lambda _: first, time_limit_s=20.0)
    started: list[Solution | None] = []

    def onward(start: Solution | None) -> Answer:
        started.append(start)
        return dataclasses.replace(
            best, status=Status.TIME_LIMIT, bound=117.0, gap_fraction=0.025, elapsed_s=5.0
        )

    again = ask(memory, case, onward, time_limit_s=40.0)
    assert started[0] is not None
    assert np.array_equal(started[0].orders, dearer.orders)
    assert (again.status, again.objective, again.bound) == (Status.WITHIN_GAP, 120.0, 119.5)
    assert again.gap_fraction == pytest.approx(0.5 / 120)
    assert again.elapsed_s == 25.0
    assert ask(memory, case, never, time_limit_s=40.0).bound == 119.5


def resealed(memory: Dict, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what is kept, as somebody would who knows how it is written."""
    ((key, content),) = memory.items()
    with np.load(io.BytesIO(content[DIGEST_BYTES:])) as columns:
        held = dict(columns)
    change(held)
    written = io.BytesIO()
    np.savez_compressed(written, **held)
    memory[key] = search_cache._seal(key, written.getvalue()) + written.getvalue()


def cut(memory: Dict, change: Callable[[bytes], bytes]) -> None:
    ((key, content),) = memory.items()
    memory[key] = change(content)


def of_another(memory: Dict) -> None:
    """The file of another problem with the same columns, under this name."""
    other = Dict()
    ask(other, two_sites(102.0))
    cut(memory, lambda _: next(iter(other.values())))


def idle(held: dict[str, Any]) -> None:
    """A plan that does nothing, and is said to be the best: no sum shows that it breaks a rule."""
    held |= {name: 0 * held[name] for name in ("0.orders", "0.run", "proved")}
    held["0.objective"] = np.array(0.0)


def number(name: str, value: float | Any) -> Callable[[Dict], None]:
    return lambda memory: resealed(memory, lambda held: held.update({name: np.asarray(value)}))


DAMAGED: dict[str, Callable[[Dict], None]] = {
    "empty": lambda memory: cut(memory, lambda _: b""),
    "cut": lambda memory: cut(memory, lambda content: content[:-20]),
    "a bit turned": lambda memory: cut(memory, lambda one: one[:90] + bytes([one[90] ^ 1]) + one[91:]),
    "of another problem": of_another,
    "no columns": lambda memory: resealed(memory, dict.clear),
    "a node that nobody ordered": number("0.orders", np.zeros((2, 1), dtype=np.int64)),
    "the dearer site": lambda memory: resealed(
        memory, lambda held: held.update({name: held[name][::-1] for name in ("0.orders", "0.run")})
    ),
    "a plan that breaks a rule": lambda memory: resealed(memory, idle),
    "another objective": number("0.objective", 119.0),
    "too few periods": number("0.orders", np.zeros((2, 0), dtype=np.int64)),
    "parts of counts": number("0.orders", [[1.0], [0.0]]),
    "no number": number("0.parked", [[np.nan], [0.0]]),
    "objects": number("0.parked", [[None], [0.0]]),
    "a bound that proves less": number("proved", [50.0, 1.0, 20.0]),
    "a bound above the plan": number("proved", [500.0, 1.0, 20.0]),
    "a bound of nothing": number("proved", [np.nan, 1.0, 20.0]),
    "an unknown end": number("status", "FOUND"),
    "an end on request": number("status", "INTERRUPTED"),
    "no time that it had": number("proved", [120.0, 1.0, np.nan]),
    "no day": number("day", "<script>"),
    "two plans": number("plans", 2),
    "no plan": number("plans", 0),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_what_is_damaged_is_searched_anew(damage: Callable[[Dict], None]) -> None:
    """And kept again: the next run finds it."""
    memory, case = Dict(), two_sites()
    first = ask(memory, case)
    damage(memory)

    again = ask(memory, case, lambda _: dataclasses.replace(first, elapsed_s=7.0))
    assert (again.elapsed_s, again.searched_on) == (7.0, "")
    assert ask(memory, case, never).elapsed_s == 7.0


def test_ties_are_kept_with_the_time_that_they_were_allowed() -> None:
    memory, case = Dict(), two_sites()
    plan = ask(Dict(), case)
    other = ask(Dict(), changed(case, "node_groups", purchase_allowed=[[0], [1]])).solution
    assert other is not None

    def ask_ties(
        search: Callable[[], list[Solution]], *, stopped: bool = False, time_limit_s: float = 15.0
    ) -> list[Solution]:
        return searched_ties(
            memory,
            case,
            plan,
            search,
            gap_fraction=GAP,
            engine="highs",
            time_limit_s=time_limit_s,
            stopped=lambda: stopped,
        )

    assert ask_ties(lambda: [other], stopped=True) == [other]
    assert not memory
    ask_ties(lambda: [other])
    (again,) = ask_ties(never, time_limit_s=10.0)
    with pytest.raises(AssertionError, match="searched again"):
        ask_ties(never, time_limit_s=20.0)
    assert np.array_equal(again.orders, other.orders)
    assert again.usd == other.usd


@pytest.fixture(scope="module")
def own(root: Any) -> Scenario:
    return load_scenario(root / "tests" / "own_scenario.toml")


def test_a_second_plan_searches_nothing_and_says_so(own: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its baselines and ties; its document is the same but for the sentence on the time."""
    memory = Dict()
    first = plan_document(plan_fleet(own, memory=memory))
    real = backend.solve

    def without_plan(*given: Any, **how: Any) -> backend.Outcome:
        outcome = real(*given, **how)
        return outcome if outcome.status is Status.INFEASIBLE else never()  # of a baseline: nothing to keep

    monkeypatch.setattr(backend, "solve", without_plan)
    again = plan_document(plan_fleet(own, memory=memory))

    assert repeatable(again) == repeatable(first)
    assert again["status"]["seconds"] == first["status"]["seconds"]
    lines = zip(provenance(first), provenance(again), strict=True)
    ((before, after),) = [(then, now) for then, now in lines if then != now]
    assert after == before.replace(" s, ", f" s on {date.today().isoformat()} and found again, ", 1)


@pytest.mark.nightly
def test_a_changed_fact_price_or_gap_is_searched(own: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Dict()
    asked: list[Problem] = []
    plan_fleet(own, memory=memory, baselines=False)

    def asking(case: Problem, **how: Any) -> Answer:
        asked.append(case)
        return answer(case, **how)

    monkeypatch.setattr(plan, "answer", asking)

    plan_fleet(own, memory=memory, baselines=False)
    assert not asked
    for path, value in (
        ("sites.lund.electricity_price", "66 USD/MWh"),
        ("sites.lund.pue", 1.16),
        ("solve.gap", "2 %"),
    ):
        plan_fleet(with_changes(own, {path: value}), memory=memory, baselines=False)
    assert len(asked) == 3
