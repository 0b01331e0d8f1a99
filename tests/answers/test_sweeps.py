"""Sweeps: each point is the plan that it would be alone, whoever plans it and however often it is stopped."""

from __future__ import annotations

import csv
import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sizes import at_night
from squares import square, square_or_die, square_or_die_once, unwell

from planner.answers.plan.document import plan_document
from planner.answers.sweeps import (
    DaskCluster,
    Executor,
    GridError,
    InProcess,
    LocalProcesses,
    drawn_points,
    pareto,
    run_sweep,
    sweep_records,
    varied,
)
from planner.answers.sweeps import commands as sweep_commands
from planner.answers.sweeps.cells import with_risk
from planner.answers.sweeps.running import Planned, Task, plan_point
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, load_scenario, with_changes
from planner.program.plan import plan_fleet
from planner.report.shape import read_back
from planner.store import Store, open_store
from planner.store.packing import content_digest
from planner.trace.errors import InputError
from planner.trace.explain import whole_step
from planner.trace.uncertainty import draw_facts

EVERY_DRAW = at_night()  # other processes take all
POSIX = pytest.mark.skipif(os.name != "posix", reason="kills by signal")
ROOT = Path(__file__).resolve().parents[2]
TWO = ["training.train-8b.nodes=[2],[4]"]
CHOICES = ["training.train-8b.nodes=[2],[4]", "sites.stockholm.pue=1.1,1.2"]


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario(data_folder() / "scenarios" / "one-training-job.toml")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "plans.sqlite"))


def never() -> bool:
    return False


def after(calls: int) -> Callable[[], bool]:
    """Wishes to stop from the call after so many."""
    count = itertools.count()
    return lambda: next(count) >= calls


# Grids


def test_a_grid_is_every_combination() -> None:
    """The last path moves fastest; a unit at the end holds for bare numbers; brackets hold commas."""
    grid = varied(["policy.carbon_price=0,50, 1e2 USD/t", "fleet[0].nodes=[1, 2],[3]", 'title="a, b",c'])
    prices, nodes, titles = (list(dict.fromkeys(p[path] for p in grid.points)) for path in grid.points[0])

    assert prices == ["0 USD/t", "50 USD/t", "1e2 USD/t"]
    assert (nodes, titles) == (["[1, 2]", "[3]"], ['"a, b"', "c"])
    assert [tuple(point.values()) for point in grid.points] == list(itertools.product(prices, nodes, titles))


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (["policy.carbon_price"], "varies nothing: write for example"),
        (["policy.carbon_price=1,,2"], "varies nothing"),
        (["=1"], "varies nothing"),
        (["a.b=1", "a.b=2"], r"'a\.b' is varied twice"),
        (
            [f"a.{c}={','.join(map(str, range(30)))}" for c in "xyz"],
            "1 to 10,000 points, and this has 27,000",
        ),
    ],
)
def test_a_wrong_grid_is_refused(choices: list[str], message: str) -> None:
    with pytest.raises(GridError, match=message):
        varied(choices)


def test_a_front_begins_with_money_alone(scenario: Scenario) -> None:
    """A weighted scenario needs a price above zero; at none it is the least cost, and is planned so."""
    points = pareto("0,50 USD/t").points
    free, priced = (with_changes(scenario, point).policy for point in points)

    assert (free.objective, free.carbon_price_usd_per_kgco2e) == ("money", None)
    assert (priced.objective, priced.carbon_price_usd_per_kgco2e) == ("weighted", pytest.approx(0.05))


def test_draws_are_those_of_the_ranges(scenario: Scenario) -> None:
    """Independent route: the plan reads, from the point's text, the number that `draw_facts` drew.

    Alike for alike seeds, and every number lies within the range of its fact.
    """
    catalogue = load_catalogue()
    grid = drawn_points(scenario, catalogue, draws=3, seed=7)
    facts = [catalogue.fact(path.removeprefix("facts.")) for path in grid.points[0]]
    columns = draw_facts(facts, 3, 7)

    assert (
        grid
        == drawn_points(scenario, catalogue, draws=3, seed=7)
        != drawn_points(scenario, catalogue, draws=3, seed=8)
    )
    assert len(facts) > 20
    for i, point in enumerate(grid.points):
        inputs = Inputs(with_changes(scenario, point), catalogue)
        for fact, column in zip(facts, columns, strict=True):
            assert inputs.fact(fact.key).value == pytest.approx(column[i], rel=1e-15)
            assert (fact.low or 0) <= column[i] <= (fact.high or 0)


def test_facts_of_ones_own_are_not_drawn(scenario: Scenario) -> None:
    """What the scenario states is meant: only the rest is uncertain."""
    own = with_changes(scenario, {"facts.grid.se.intensity": "30 g/kWh"})
    paths = drawn_points(own, load_catalogue(), draws=1, seed=0).points[0]

    assert "facts.grid.se.intensity" not in paths
    assert "facts.grid.decline" in paths
    with pytest.raises(GridError, match="draws must be 1 or more, got 0"):
        drawn_points(own, load_catalogue(), draws=0, seed=0)


# Executors


@pytest.fixture(scope="module")
def dask() -> Iterator[DaskCluster]:
    """A cluster in threads of this process, reached by an address as any other."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2 if at_night() else 1,  # by day draws are patched, for one at a time
        threads_per_worker=1,
        processes=False,
        dashboard_address=":0",  # none at all asks for port 8787, which another run may hold
        protocol="tcp",
        host="127.0.0.1",
    ) as cluster:
        yield DaskCluster(cluster.scheduler_address)


@pytest.fixture(params=["here", pytest.param("processes", marks=pytest.mark.nightly), "dask"])
def executor(request: pytest.FixtureRequest) -> Executor:
    if request.param == "dask":
        cluster: Executor = request.getfixturevalue("dask")
        return cluster
    return InProcess() if request.param == "here" else LocalProcesses(2)


def test_every_executor_gives_the_same(executor: Executor) -> None:
    """What a task raises is what came of it: the user's in words, ours with its kind."""
    outcomes = {one.number: one for one in executor.run(square, range(6), never)}
    broken = list(executor.run(unwell, [1], never))

    assert {n: one.value for n, one in outcomes.items() if n != 3} == {n: n * n for n in (0, 1, 2, 4, 5)}
    assert (outcomes[3].value, outcomes[3].error) == (None, "three is refused")
    assert broken[0].error == "ZeroDivisionError: integer division or modulo by zero"
    assert list(executor.run(square, [], never)) == []


@pytest.mark.nightly
def test_a_worker_that_dies_loses_nothing(tmp_path: Path) -> None:
    """Its task runs again: 4 squares, though the worker of one of them died."""
    tasks = [(number, str(tmp_path)) for number in (0, 1, 2, 4)]
    outcomes = list(LocalProcesses(2).run(square_or_die_once, tasks, never))

    assert sorted(one.value for one in outcomes) == [0, 1, 4, 16]
    assert (tmp_path / "died").is_dir()


@pytest.mark.nightly  # by day a point that fails is told
def test_a_task_that_kills_its_workers_is_told() -> None:
    """After the second time, and it holds nobody up: the square behind it is there first."""
    outcomes = list(LocalProcesses(1).run(square_or_die, [2, 4], never))

    assert [(one.number, one.value, one.error) for one in outcomes] == [
        (1, 16, None),
        (0, None, "its worker died 2 times: too little memory?"),
    ]


def test_asked_to_stop_no_task_is_begun() -> None:
    """Here after two of six; processes finish what they had begun and no more."""
    assert [one.value for one in InProcess().run(square, range(6), after(2))] == [0, 1]
    assert list(LocalProcesses(2).run(square, range(6), lambda: True)) == []


def test_no_workers_are_refused() -> None:
    with pytest.raises(InputError, match="workers must be 1 or more, got 0"):
        LocalProcesses(0)


def test_no_scheduler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, with the address; without Dask how to get it."""
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match=r"tcp://127\.0\.0\.1:1: no Dask scheduler answers there") as caught:
        list(DaskCluster("tcp://127.0.0.1:1", patience_s=0.5).run(square, [1], never))
    assert "\n" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'everfleet\[dask\]'"):
        list(DaskCluster("tcp://127.0.0.1:1").run(square, [1], never))


# Sweeps


@pytest.fixture(scope="module")
def by_hand(scenario: Scenario) -> list[str]:
    """Digests of the plans of two points, each planned alone."""
    return [
        content_digest(plan_document(plan_fleet(with_changes(scenario, point), baselines=False)))
        for point in varied(TWO).points
    ]


def test_a_point_is_the_plan_it_would_be_alone(
    store: Store, scenario: Scenario, executor: Executor, by_hand: list[str]
) -> None:
    """Independent route: the changed scenario planned by hand has the digest of the point."""
    result = run_sweep(scenario, varied(TWO), store, executor)

    assert [point.plan for point in result.points] == by_hand
    assert (result.planned, result.whole) == (2, True)


def test_a_point_that_fails_is_a_result(store: Store, scenario: Scenario) -> None:
    """No plan has a status, wrong input its message; a second run tries only what failed again."""
    grid = varied(["policy.carbon_cap=1 kg,9 t,9 kW"])
    first = run_sweep(scenario, grid, store)
    again = run_sweep(scenario, grid, store)
    rows = sweep_records(first)

    assert [row["status"] for row in rows] == ["infeasible", "optimal", "failed"]
    assert [row["cost_usd"] is None for row in rows] == [True, False, True]
    assert "policy.carbon_cap" in rows[2]["error"]
    assert (first.planned, again.planned, sweep_records(again)) == (3, 1, rows)
    assert [(s.points, s.done, s.state) for s in store.sweeps.all()] == [(3, 2, "done")]


def test_points_tell_what_their_draws_say(store: Store, scenario: Scenario) -> None:
    """Median, p95 and share of enough nodes are those of the saved plan; a point without one has none."""
    grid = varied(["policy.carbon_cap=1 kg,9 t"])
    result = run_sweep(scenario, grid, store)
    document = sweep_commands.sweep_document(scenario, grid, result, store.document)
    without, row = document["points"]
    saved = store.document(row["plan"])
    cost = next(total for total in saved["totals"] if total["name"] == "cost")

    assert without["enough_fraction"] is None
    assert (row["median_cost_usd"], row["p95_cost_usd"]) == (cost["p50"], cost["p95"])
    opened = document["cells"]["points"][1]
    for key, name in (("median_cost_usd", "p50"), ("p95_cost_usd", "p95")):
        step = whole_step(document["steps"], opened[key])
        assert (step["value"], step["inputs"].keys()) == (cost[name], {"estimate", "draws"})
    assert row["enough_fraction"] is saved["held"]["enough_fraction"] is None  # of runs alone
    assert "enough in" not in sweep_commands.sweep_text(document).splitlines()[0]
    served = {**saved, "held": {"draws": 64, "enough_fraction": 0.25, "undone_fraction": 0.0}}
    shares = [one["enough_fraction"] for one in with_risk(sweep_records(result), lambda _: served)]
    assert shares[-1] == 0.25


@pytest.mark.nightly
def test_a_sweep_that_is_stopped_goes_on(store: Store, scenario: Scenario) -> None:
    """Two points and then two, and nothing twice; other facts or another grid would be another sweep."""
    shown: list[str] = []
    grid = varied(CHOICES)
    first = run_sweep(scenario, grid, store, watch=shown.append, should_stop=after(2))
    second = run_sweep(scenario, grid, store, watch=shown.append)

    assert (first.planned, first.whole, second.planned, second.whole) == (2, False, 2, True)
    assert first.digest == second.digest != run_sweep(scenario, varied(CHOICES[:1]), store).digest
    assert [text.split()[0] for text in shown] == ["0", "1", "2", "2", "3", "4"]


@POSIX
@pytest.mark.nightly
def test_a_sweep_that_is_killed_goes_on(store: Store, scenario: Scenario) -> None:
    """A kill -9 in the middle: the points that were done are planned once, all others are there in the end.

    The killed run is slowed between points, so that the kill comes in the middle on any machine.
    """
    script = f"""
        import time
        from planner.inputs.scenario import load_scenario
        from planner.store import open_store
        from planner.answers.sweeps import run_sweep, varied
        from planner.answers.sweeps.running import plan_point

        def slowly(task):
            time.sleep(0.1)
            return plan_point(task)

        scenario, store = load_scenario({str(scenario.path)!r}), open_store({store.address!r})
        run_sweep(scenario, varied({CHOICES!r}), store, work=slowly)
    """
    victim = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT)
    give_up = time.monotonic() + 60
    while not (sweeps := store.sweeps.all()) or sweeps[0].done < 2:
        assert victim.poll() is None
        assert time.monotonic() < give_up
        time.sleep(0.02)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    done = [point.number for point in store.sweeps.points(sweeps[0].digest) if point.state == "done"]
    planned: list[Any] = []

    def noted(task: Task) -> Planned:
        planned.append(task.changes)
        return plan_point(task)

    result = run_sweep(scenario, varied(CHOICES), store, work=noted)
    points = varied(CHOICES).points

    assert 2 <= len(done) < 4
    assert planned == [points[i] for i in range(4) if i not in done]
    assert result.whole
    assert {point.state for point in result.points} == {"done"}


@pytest.mark.nightly
def test_the_front_is_what_nothing_beats(store: Store, scenario: Scenario) -> None:
    """Against a comparison of every pair of points."""
    rows = sweep_records(
        run_sweep(scenario, varied([CHOICES[1], "market.h100-8.price=250 kUSD,90 kUSD"]), store)
    )
    pairs = [(row["cost_usd"], row["carbon_kgco2e"]) for row in rows]
    beaten = [
        any(a <= cost and b <= carbon and (a, b) != (cost, carbon) for a, b in pairs)
        for cost, carbon in pairs
    ]

    assert len(rows) == 4
    assert {pairs[i] for i, row in enumerate(rows) if row["on_front"]} == {
        pair for pair, worse in zip(pairs, beaten, strict=True) if not worse
    }


@pytest.mark.nightly
def test_the_command_writes_what_it_shows(store: Store, scenario: Scenario, tmp_path: Path) -> None:
    """One row for each point in the text, in the CSV and in the JSON, with the same numbers."""
    grid = sweep_commands.grid_for(
        scenario, vary=["policy.carbon_cap=1 kg,9 t"], prices=None, draws=None, seed=0
    )
    executor = sweep_commands.executor_for(workers=1, dask=None)
    document, text = sweep_commands.sweep(scenario, grid, address=store.address, executor=executor)
    paths = sweep_commands.save_sweep(document, tmp_path / "out")
    with paths[1].open(newline="") as file:
        written = list(csv.DictReader(file))
    header, *lines = text.splitlines()

    assert header.split() == ["point", "policy.carbon_cap", "status", "cost", "carbon", "plan"]
    assert [line.split()[0] for line in lines[:2]] == ["0", "1*"]
    assert read_back(json.loads(paths[0].read_text())) == document
    assert [float(row["cost_usd"]) for row in written if row["cost_usd"]] == [
        document["points"][1]["cost_usd"]
    ]
    assert sweep_commands.save_sweep(document, tmp_path / "out") == paths


def test_one_kind_of_points_at_a_time(scenario: Scenario) -> None:
    for question in ({"vary": [], "prices": None}, {"vary": ["a.b=1"], "prices": "1 USD/t"}):
        with pytest.raises(GridError, match="one kind of points: use --vary, or --pareto, or --draws"):
            sweep_commands.grid_for(scenario, draws=None, seed=0, **question)  # type: ignore[arg-type]
    assert sweep_commands.grid_for(scenario, vary=[], prices=None, draws=2, seed=3).seed == 3
    assert isinstance(sweep_commands.executor_for(workers=2, dask=None), LocalProcesses)
    assert isinstance(sweep_commands.executor_for(workers=2, dask="tcp://x:1"), DaskCluster)
