"""The engines. HiGHS runs in this process, where it can be watched and stopped; CBC is there to compare with.

What the modelling library says about an answer is not used: it calls a plan "optimal" that merely was there
when time ran out, and leaves old values behind when there is no plan. The status here is the engine's own.
"""

from __future__ import annotations

import atexit
import copy
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import highspy
import numpy as np
import pulp

from solver import selftest


class Status(Enum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    WITHIN_GAP = "within the gap"
    TIME_LIMIT = "stopped by the time limit, with a plan"
    INTERRUPTED = "stopped on request, with a plan"
    NO_INCUMBENT = "stopped before any plan was found"
    INFEASIBLE = "no plan exists"
    UNBOUNDED = "the objective has no end"

    @property
    def has_plan(self) -> bool:
        """Is there an answer to read?"""
        return self in (Status.OPTIMAL, Status.WITHIN_GAP, Status.TIME_LIMIT, Status.INTERRUPTED)


class Looking(Enum):
    """How much HiGHS looks for plans of its own, in searches of parts of a program, apart from its tree.

    On a fleet of 72 node groups such searches took half of the time or more; the fewer there are, the more
    there is for the bound. Where a plan to start from is known, it needs none.
    """

    AS_EVER = "all that the engine does unasked"
    SOME = "only around the fractions of the first relaxation"
    NONE = "none: for the sake of the bound"


class EngineError(RuntimeError):
    """The engine failed, which says nothing about the problem."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a running solve stands. Without a plan yet, the incumbent is infinite."""

    incumbent: float
    bound: float
    gap_fraction: float
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a solve. Values are empty, and the objective is NaN, where there is no plan to read."""

    status: Status
    objective: float
    bound: float
    gap_fraction: float
    elapsed_s: float
    values: Mapping[str, float]
    stopped: bool = False  # on request, with a plan or without


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The optimum when counts may be fractions: the value of each variable, and what one more would cost."""

    status: Status
    values: Mapping[str, float]
    stopped: bool
    reduced_costs: Mapping[str, float]
    objective: float = math.nan
    row_prices: Mapping[str, float] = field(default_factory=dict)  # of one more of a row's limit


Watch = Callable[[Progress], None]
Stop = Callable[[], bool]

PROVEN = 1e-9  # a gap that only rounding leaves
WATCH_EVERY_S = 0.1  # how often a watcher is called, and a stop is looked for
# How far a count may be from whole: the engine's 1e-6 would let a large count slip through a switch, and
# at 1e-9 HiGHS 1.15 was seen to call a plan optimal that was 0.4 % above the best.
EXACT = 1e-7
# HiGHS 1.15 doubts an optimum inside a face for the reduced cost of a column that its presolve took out. It
# is one where the plan holds, and its cost and that of the dual differ by no more than this share.
INSIDE = 1e-6
# Some steps of HiGHS 1.15 have no look at the clock.
GRACE_S = 10.0
NODES_OF_START = 500  # at most, to complete a start, as the engine has it
AT_EXIT_S = 60.0  # for engines that were left behind, at the end of the process
SOON_S = 1e-3  # what is left of a time limit that is used up
SELFTEST_S = 20.0  # far more than a small program takes
_FEW = {
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_root_reduced_cost": False,
    "mip_pscost_minreliable": 1,
}
_SETTINGS: Mapping[Looking, Mapping[str, bool | int | str]] = {
    # Of the shipped quarter a restart takes a third of the time, and of smaller programs none gains by it.
    Looking.AS_EVER: {"mip_allow_restart": False},
    Looking.SOME: _FEW,
    Looking.NONE: {
        **_FEW,
        "mip_heuristic_run_rens": False,
        "mip_allow_restart": False,
        "mip_lp_solver": "ipm",  # the first corner takes half the time of the simplex
    },
}
MANY_COLUMNS = 100_000  # from which on the interior point method solves a relaxation sooner than the simplex


def solve(
    model: Any,
    *,
    gap_fraction: float,
    time_limit_s: float,
    watch: Watch | None = None,
    should_stop: Stop | None = None,
    start: Mapping[str, float] | None = None,
    engine: str = "highs",
    looking: Looking = Looking.AS_EVER,
    enough: float = math.inf,
) -> Outcome:
    """Minimise a model until the gap is proven, time is up, or someone asks to stop.

    The gap is (objective - bound) / |objective|. A bound that is `enough` ends the search, too. Runs with one
    thread and a fixed seed, so that the same model gives the same answer. The first Ctrl-C asks the engine to
    stop and keeps its plan; a second raises.
    """
    if not 0 <= gap_fraction < math.inf:
        raise ValueError(f"gap_fraction is a share of at least 0, got {gap_fraction}")
    if not time_limit_s > 0:
        raise ValueError(f"time_limit_s is a time above 0, got {time_limit_s}")
    if model.sense != pulp.LpMinimize:
        raise ValueError("the model maximises; negate its objective")
    if engine not in ("highs", "cbc"):
        raise ValueError(f"engine is 'highs' or 'cbc', got {engine!r}")

    trust(engine)
    if time_limit_s <= SOON_S and not start:  # a large model takes seconds to hand over
        return _nothing_found(should_stop)
    return _solved(
        model, gap_fraction, time_limit_s, watch, should_stop, start or {}, engine, looking, enough
    )


def trust(engine: str) -> None:
    """Ask the engine what is known, once for each of its versions.

    Raises:
        UntrustedEngine: it answered wrongly.
    """
    if engine == "cbc":
        name, version = "CBC", f"of PuLP {pulp.__version__}"
        instead = 'install another version of PuLP, or say solve.engine = "highs"'
    else:
        name, version = "HiGHS", highspy.Highs().version()  # type: ignore[no-untyped-call]
        instead = f'install another version: pip install "highspy!={version}"'

    def ask(model: Any) -> selftest.Answered:
        outcome = _solved(model, 0.0, SELFTEST_S, None, None, {}, engine, Looking.AS_EVER)
        if outcome.stopped:
            raise KeyboardInterrupt
        return outcome.status.value, outcome.objective

    selftest.trust(name, version, ask, instead)


def _solved(
    model: Any,
    gap_fraction: float,
    time_limit_s: float,
    watch: Watch | None,
    should_stop: Stop | None,
    start: Mapping[str, float],
    engine: str,
    looking: Looking,
    enough: float = math.inf,
) -> Outcome:
    def run(watch: Watch | None) -> Outcome:
        if engine == "cbc":
            return _solve_by_cbc(model, gap_fraction, time_limit_s)
        observer = Observer(watch, should_stop, enough)
        solver = _Highs(observer, start, gap_fraction, time_limit_s, looking=looking)
        return Running(solver, model, observer).outcome()

    outcome = run(watch)
    if outcome.status is Status.INFEASIBLE and _may_fall_for_ever(model):
        # Engines may call an unbounded model infeasible; without its objective it has a point, or has none.
        objective = model.objective
        model.setObjective(pulp.LpAffineExpression())
        try:
            status = run(None).status
        finally:
            model.setObjective(objective)
        return replace(outcome, status=Status.UNBOUNDED if status.has_plan else status)
    return outcome


def begin(
    model: Any,
    *,
    gap_fraction: float,
    time_limit_s: float,
    watch: Watch | None = None,
    should_stop: Stop | None = None,
    start: Mapping[str, float] | None = None,
    looking: Looking = Looking.AS_EVER,
    whole: bool = True,
) -> Running:
    """A solve by HiGHS in a thread. When this returns, the model may change: the search has its own.

    Without `whole` it is the optimum with fractions of everything, as in `relax`: there is nothing to watch.
    """
    trust("highs")
    observer = Observer(watch, should_stop)
    kind = {"whole": whole, "crossover": whole, "inside": not whole}
    solver = _Highs(observer, start or {}, gap_fraction, time_limit_s, **kind, looking=looking)
    running = Running(solver, model, observer)
    running.built.wait()
    return running


def relax(
    model: Any,
    *,
    time_limit_s: float,
    should_stop: Stop | None = None,
    crossover: bool = True,
    inside: bool = False,
) -> Relaxation:
    """The optimum without whole numbers, by the interior point method where a model is large or `inside`.

    Without `crossover`, values and costs that it finds may lie inside an optimal face, not at a corner.
    """
    trust("highs")
    if time_limit_s <= SOON_S:
        return Relaxation(Status.NO_INCUMBENT, {}, _nothing_found(should_stop).stopped, {})
    observer = Observer(None, should_stop)
    solver = _Highs(observer, {}, 0.0, time_limit_s, whole=False, crossover=crossover, inside=inside)
    running = Running(solver, model, observer)
    outcome = running.outcome()
    if outcome.status is not Status.OPTIMAL:
        return Relaxation(outcome.status, {}, outcome.stopped, {})
    found = running.engine.getSolution()
    costs, duals = found.col_dual, found.row_dual  # read once: each time is a copy of all
    reduced = {each.name: float(costs[each.index]) for each in solver.columns}
    prices = dict(zip(model.constraints, map(float, duals), strict=True))
    return Relaxation(outcome.status, outcome.values, outcome.stopped, reduced, outcome.objective, prices)


def _nothing_found(should_stop: Stop | None) -> Outcome:
    """The outcome of a search for which there is no time."""
    stopped = should_stop is not None and should_stop()
    return Outcome(Status.NO_INCUMBENT, math.nan, -math.inf, math.inf, 0.0, {}, stopped)


class Observer:
    """Carries progress out of a running engine and a wish to stop into it."""

    def __init__(self, watch: Watch | None, should_stop: Stop | None, enough: float = math.inf) -> None:
        self.watch, self.should_stop, self.enough = watch, should_stop, enough
        self.stopping = threading.Event()
        self.reached = False  # the bound is enough: nobody asked for a stop, and there is no more to look for
        self.failure: BaseException | None = None
        self.began = time.monotonic()
        self.completing = False  # the engine looks for the rest of a start: what bounds that bounds no more
        self._next = 0.0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the engine began."""
        return time.monotonic() - self.began

    def leave(self) -> bool:
        """Let the engine end at its next look, unheard; was it asked to stop before?"""
        stopped = self.stopping.is_set()
        self.watch = self.should_stop = None
        self.stopping.set()
        return stopped

    def waited(self, ended: threading.Event, until_s: float) -> bool:
        """Wait for the end of the engine, hearing Ctrl-C; false where it does not end in time."""
        while not ended.is_set():  # an interrupted `join` would take the thread for finished
            if self.elapsed_s > until_s:
                return False
            try:
                ended.wait(WATCH_EVERY_S)
            except KeyboardInterrupt:
                if self.stopping.is_set():
                    raise
                self.stopping.set()
        return True

    def __call__(self, event: Any) -> None:
        """Called from inside the engine, where an exception would be lost: keep it, and stop."""
        if self.elapsed_s >= self._next:
            self._next = self.elapsed_s + WATCH_EVERY_S
            try:
                self._look(event.data_out)
            except BaseException as failure:
                self.failure = failure
                self.stopping.set()
        if self.stopping.is_set() or self.reached:
            event.interrupt()

    def _look(self, seen: Any) -> None:
        if self.should_stop is not None and self.should_stop():
            self.stopping.set()
        if seen.mip_dual_bound >= self.enough and not self.completing:
            self.reached = True
        if self.watch is not None:
            found = seen.mip_primal_bound < highspy.kHighsInf
            bound = -math.inf if self.completing else seen.mip_dual_bound
            share = gap(seen.mip_primal_bound, bound) if found else math.inf
            incumbent = seen.mip_primal_bound if found else math.inf
            self.watch(Progress(incumbent, bound, share, self.elapsed_s))


class _Highs(pulp.HiGHS):  # type: ignore[misc]  # the library carries no types
    """HiGHS with an observer, a warm start, and the objective's constant, which the gap is relative to."""

    def __init__(
        self,
        observer: Observer,
        start: Mapping[str, float],
        gap_fraction: float,
        time_limit_s: float,
        whole: bool = True,
        crossover: bool = True,
        inside: bool = False,
        looking: Looking = Looking.AS_EVER,
    ) -> None:
        super().__init__(
            mip=whole,
            msg=False,
            gapRel=gap_fraction,
            threads=1,
            timeLimit=min(time_limit_s, highspy.kHighsInf),
            random_seed=0,
            parallel="off",
            mip_feasibility_tolerance=EXACT,
            primal_feasibility_tolerance=EXACT,
            **_SETTINGS[looking],
        )
        self._observer, self._start, self._crossover = observer, start, crossover
        self._inside = inside
        self.columns: list[Any] = []
        self.counted: list[int] = []  # those that are whole: which are may change during a search

    def buildSolverModel(self, lp: Any) -> None:  # noqa: N802  # the library's name
        """The library adds columns and rows one by one; the engine takes all of them at once far sooner."""
        self.columns = lp.variables()
        if self.mip:
            self.counted = [at for at, each in enumerate(self.columns) if each.cat != pulp.LpContinuous]
        lp.solverModel.passModel(arrays(lp, self.columns, self.mip))
        open_ones = sum(each.lowBound != each.upBound for each in self.columns)
        if not self.mip and (self._inside or open_ones >= MANY_COLUMNS):
            lp.solverModel.setOptionValue("solver", "ipm")
            lp.solverModel.setOptionValue("run_crossover", "on" if self._crossover else "off")

    def callSolver(self, lp: Any) -> None:  # noqa: N802  # the library's name
        engine = lp.solverModel
        engine.cbMipInterrupt.subscribe(self._observer)
        engine.cbSimplexInterrupt.subscribe(self._observer)
        engine.cbIpmInterrupt.subscribe(self._observer)
        known = {each.index: self._start[each.name] for each in self.columns if each.name in self._start}
        if known and (known := self._completed(engine, known)):
            engine.setSolution(len(known), list(known), list(known.values()))
        self._run(engine)

    def _run(self, engine: Any) -> None:
        """For what is left of the time: a large model takes seconds to hand over."""
        left_s = max(self.timeLimit - self._observer.elapsed_s, SOON_S)
        engine.setOptionValue("time_limit", min(left_s, self.timeLimit))
        engine.run()

    def _completed(self, engine: Any, known: dict[int, float]) -> dict[int, float]:
        """The start with the whole numbers that it lacks, found next to those it has; empty where none are.

        The engine would do the same unasked, and tell the bound of that search for one of the model; and give
        either search the whole of the time.
        """
        held = [number for number in self.counted if _is_whole(known.get(number))]
        if len(held) == len(self.counted):
            return known
        if not held:
            return {}
        made = engine.getLp()
        index = np.array(held, dtype=np.int32)
        least, most = np.array(made.col_lower_)[held], np.array(made.col_upper_)[held]
        values = np.clip(np.rint([known[number] for number in held]), least, most)
        engine.changeColsBounds(index.size, index, values, values)
        engine.setOptionValue("mip_max_nodes", NODES_OF_START)
        self._observer.completing = True
        self._run(engine)
        self._observer.completing = False
        feasible = engine.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        found = dict(enumerate(engine.getSolution().col_value)) if feasible else {}
        engine.changeColsBounds(index.size, index, least, most)
        engine.setOptionValue("mip_max_nodes", highspy.kHighsIInf)
        return found


def _is_whole(value: float | None) -> bool:
    return value is not None and abs(value - round(value)) <= EXACT


def arrays(model: Any, columns: list[Any], whole: bool) -> Any:
    """The model as the engine's arrays, its rows one after the other."""
    for number, column in enumerate(columns):
        column.index = number
    rows = list(model.constraints.values())
    index: list[int] = []
    value: list[float] = []
    start = [0]
    for row in rows:
        index += [column.index for column in row.keys()]  # noqa: SIM118  # its items are its columns
        value += row.values()
        start.append(len(index))
    made, inf = highspy.HighsLp(), highspy.kHighsInf
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    made.num_col_, made.num_row_ = len(columns), len(rows)
    made.col_cost_ = [model.objective.get(column, 0.0) for column in columns]
    made.col_lower_ = [-inf if column.lowBound is None else column.lowBound for column in columns]
    made.col_upper_ = [inf if column.upBound is None else column.upBound for column in columns]
    made.row_lower_ = [-inf if (end := row.getLb()) is None else end for row in rows]
    made.row_upper_ = [inf if (end := row.getUb()) is None else end for row in rows]
    if whole:
        made.integrality_ = [kinds[column.cat == pulp.LpInteger] for column in columns]
    made.offset_ = float(model.objective.constant)
    matrix = made.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.num_col_, matrix.num_row_ = len(columns), len(rows)
    matrix.start_, matrix.index_, matrix.value_ = start, index, value
    return made


_LEFT_BEHIND: list[threading.Event] = []  # ends of engines that nobody waits for any more


@atexit.register
def _await_left_behind() -> None:
    """A process that ends under an engine at work is aborted: each was told to end, and gets some time to."""
    until = time.monotonic() + AT_EXIT_S
    for ended in _LEFT_BEHIND:
        ended.wait(max(until - time.monotonic(), 0.0))


class Running:
    """A search in a thread of its own: the one that waits stays free to hear Ctrl-C.

    The engine has its own copy of the model from when it is `built` on.
    """

    def __init__(self, solver: _Highs, model: Any, observer: Observer) -> None:
        self._solver, self._observer = solver, observer
        self._model = copy.copy(model)  # its engine is an attribute of the library's model
        self._ended = threading.Event()
        self.built = threading.Event()
        threading.Thread(target=self._work, daemon=True).start()

    @property
    def engine(self) -> Any:
        """The library's handle of the engine."""
        return self._model.solverModel

    def stop(self) -> None:
        """Let the engine end at its next look."""
        self._observer.stopping.set()

    def outcome(self, *, within_s: float = math.inf) -> Outcome:
        """Wait for the end; a search that does not end in time is left behind, with nothing told."""
        observer = self._observer
        until_s = min(self._solver.timeLimit + GRACE_S, observer.elapsed_s + within_s)
        if not observer.waited(self._ended, until_s):
            stopped = observer.leave()
            _LEFT_BEHIND.append(self._ended)
            return Outcome(
                Status.NO_INCUMBENT, math.nan, -math.inf, math.inf, observer.elapsed_s, {}, stopped
            )
        if observer.failure is not None:
            raise observer.failure
        return _read(self.engine, observer, self._solver)

    def _work(self) -> None:
        try:
            self._solver.createAndConfigureSolver(self._model)
            self._solver.buildSolverModel(self._model)
            self.built.set()
            self._solver.callSolver(self._model)
        except BaseException as failure:
            self._observer.failure = self._observer.failure or failure
        finally:
            self.built.set()
            self._ended.set()


def gap(objective: float, bound: float) -> float:
    """What the bound leaves open: (objective - bound) / |objective|; 0 where they differ by rounding only."""
    apart = objective - bound
    if apart <= PROVEN:
        return 0.0
    return apart / abs(objective) if objective else math.inf


def _read(engine: Any, observer: Observer, solver: _Highs) -> Outcome:
    """The engine's own word on how it ended, and its values if there are any."""
    kinds = highspy.HighsModelStatus
    ended, info = engine.getModelStatus(), engine.getInfo()
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    objective = info.objective_function_value if feasible else math.nan
    if ended in (kinds.kInfeasible, kinds.kUnboundedOrInfeasible):
        status = Status.INFEASIBLE  # `solve` looks again where it may be unbounded
    elif ended == kinds.kUnbounded:
        status = Status.UNBOUNDED
    elif ended in (kinds.kOptimal, kinds.kModelEmpty):
        status, feasible = Status.OPTIMAL, True
        objective = engine.getObjectiveValue()
    elif ended in (kinds.kTimeLimit, kinds.kIterationLimit, kinds.kSolutionLimit, kinds.kMemoryLimit):
        status = Status.TIME_LIMIT if feasible else Status.NO_INCUMBENT
    elif ended == kinds.kUnknown and not solver.mip:
        apart = max(info.max_primal_infeasibility, info.primal_dual_objective_error)
        status = Status.OPTIMAL if apart <= INSIDE else Status.NO_INCUMBENT
    elif ended == kinds.kInterrupt:
        status = Status.INTERRUPTED if feasible else Status.NO_INCUMBENT
    else:
        raise EngineError(f"HiGHS ended with {engine.modelStatusToString(ended)!r}")
    bound = info.mip_dual_bound if solver.counted else (objective if status is Status.OPTIMAL else -math.inf)
    share = gap(objective, bound) if status.has_plan else math.inf
    if status is Status.OPTIMAL and share > PROVEN:
        status = Status.WITHIN_GAP
    values = {}
    if status.has_plan:
        column = engine.getSolution().col_value
        values = {each.name: float(column[each.index]) for each in solver.columns}
    shown = objective if status.has_plan else math.nan
    return Outcome(status, shown, bound, share, observer.elapsed_s, values, observer.stopping.is_set())


def _may_fall_for_ever(model: Any) -> bool:
    """Could some variable go on improving the objective, were it not for the rows?"""
    return any(
        (weight < 0 and each.upBound is None) or (weight > 0 and each.lowBound is None)
        for each, weight in model.objective.items()
    )


def _solve_by_cbc(model: Any, gap_fraction: float, time_limit_s: float) -> Outcome:
    """CBC tells no bound; what it calls optimal is within the gap that it was given."""
    began = time.monotonic()
    limit = None if math.isinf(time_limit_s) else time_limit_s
    pulp.PULP_CBC_CMD(msg=False, gapRel=gap_fraction, timeLimit=limit, threads=1).actualSolve(model)
    elapsed = time.monotonic() - began
    ended = {
        pulp.LpSolutionOptimal: Status.OPTIMAL if gap_fraction <= PROVEN else Status.WITHIN_GAP,
        pulp.LpSolutionIntegerFeasible: Status.TIME_LIMIT,
        pulp.LpSolutionNoSolutionFound: Status.NO_INCUMBENT,
        pulp.LpSolutionInfeasible: Status.INFEASIBLE,
        pulp.LpSolutionUnbounded: Status.UNBOUNDED,
    }
    status = Status.INFEASIBLE if model.status == pulp.LpStatusInfeasible else ended[model.sol_status]
    if not status.has_plan:
        return Outcome(status, math.nan, -math.inf, math.inf, elapsed, {})
    objective = float(pulp.value(model.objective) or 0.0)
    bound = objective - gap_fraction * abs(objective) if status is not Status.TIME_LIMIT else -math.inf
    values = {each.name: float(each.varValue or 0.0) for each in model.variables()}
    return Outcome(status, objective, bound, gap(objective, bound), elapsed, values)
