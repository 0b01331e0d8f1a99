"""A model with fractions of everything that is solved again and again, each time from where it was."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from solver.backend import EXACT, GRACE_S, Observer, Stop, arrays, trust

# Open columns from which on the interior point method solves a relaxation sooner than the simplex.
SOME_COLUMNS = 60_000
PRIMAL = 4  # the simplex that goes from plan to plan
_OF_FRACTIONS: Mapping[str, bool | int | float | str] = {
    "output_flag": False,
    "threads": 1,
    "random_seed": 0,
    "parallel": "off",
    "primal_feasibility_tolerance": EXACT,
}


class Fractions:
    """A model with fractions of everything, solved again and again while bounds move, from where it was.

    What is held when this is made stays held, and takes no part; only what is open then can be moved.
    """

    def __init__(self, model: Any, *, time_limit_s: float, should_stop: Stop | None = None) -> None:
        trust("highs")
        self._limit_s, self._observer = time_limit_s, Observer(None, should_stop)
        self._columns = model.variables()
        made, self._held, self._place = _open_part(arrays(model, self._columns, whole=False))
        self._large, self._solved = made.num_col_ >= SOME_COLUMNS, False
        self._engine: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in _OF_FRACTIONS.items():
            self._engine.setOptionValue(option, value)
        for event in (self._engine.cbSimplexInterrupt, self._engine.cbIpmInterrupt):
            event.subscribe(self._observer)
        self._engine.passModel(made)
        self._found = np.zeros(made.num_col_)

    @property
    def stopped(self) -> bool:
        """Was a stop asked for?"""
        return self._observer.stopping.is_set()

    def soften(self, rows: Iterable[Sequence[int]], price: float) -> NDArray[np.int64]:
        """A column for each group of rows, by which all of them give way at a price; its place."""
        first = self._engine.getNumCol()
        for group in rows:
            own = np.array(group, dtype=np.int32)
            self._engine.addCol(price, 0.0, highspy.kHighsInf, own.size, own, -np.ones(own.size))
        made: NDArray[np.int64] = np.arange(first, self._engine.getNumCol())
        return made

    def places(self, variables: NDArray[Any]) -> NDArray[np.int64]:
        """Where the engine has these variables; -1 where they are held, or are none."""
        found = [-1 if each is None else self._place[each.index] for each in variables.ravel()]
        return np.array(found, dtype=np.int64).reshape(variables.shape)

    def move(self, places: NDArray[np.int64], least: NDArray[Any], most: NDArray[Any]) -> None:
        """New bounds of open variables."""
        free = places >= 0
        index = places[free].astype(np.int32)
        self._engine.changeColsBounds(index.size, index, least[free].astype(float), most[free].astype(float))

    def solve(self, cutoff: float = math.inf, *, afresh: bool = False) -> float:
        """The least cost; infinite where there is no plan, none below the cutoff, or no time.

        `afresh` for much that moved at once: a large model starts anew then.
        """
        engine, ended, observer = self._engine, threading.Event(), self._observer
        left_s = self._limit_s - observer.elapsed_s
        if left_s <= 0 or self.stopped:
            return math.inf
        engine.setOptionValue("time_limit", engine.getRunTime() + left_s)
        engine.setOptionValue("objective_bound", min(cutoff, highspy.kHighsInf))
        inside = self._large and (afresh or not self._solved)
        engine.setOptionValue("solver", "ipm" if inside else "simplex")

        def work() -> None:
            try:
                engine.run()
            except BaseException as failure:
                observer.failure = observer.failure or failure
            finally:
                ended.set()

        threading.Thread(target=work, daemon=True).start()
        if not observer.waited(ended, self._limit_s + GRACE_S):
            observer.leave()
            return math.inf
        if observer.failure is not None:
            raise observer.failure
        if engine.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return math.inf
        self._solved = True
        cost = float(engine.getObjectiveValue())
        if cost > cutoff:
            return math.inf
        self._found = np.array(engine.getSolution().col_value)
        return cost

    def exceeds(self, cutoff: float) -> bool:
        """Is the least cost above this, or is there no plan at all? False where that is not known in time."""
        if math.isfinite(self.solve(cutoff)) or self.stopped:
            return False
        kinds = highspy.HighsModelStatus
        known = (kinds.kOptimal, kinds.kObjectiveBound, kinds.kInfeasible)
        return self._engine.getModelStatus() in known

    def keep_below(self, cost: float) -> None:
        """From now on nothing costs more than this, and nothing is sought but what `most` is asked for."""
        engine, made = self._engine, self._engine.getLp()
        price = np.array(made.col_cost_)
        paid = np.flatnonzero(price).astype(np.int32)
        engine.addRow(-highspy.kHighsInf, cost - made.offset_, paid.size, paid, price[paid])
        engine.changeColsCost(paid.size, paid, np.zeros(paid.size))
        engine.changeObjectiveOffset(0.0)
        engine.setOptionValue("simplex_strategy", PRIMAL)  # where prices move, it has a plan to start from

    def most(self, amounts: Mapping[Any, float]) -> float:
        """How much variables times amounts may add up to; infinite where that is not found in time."""
        held = math.fsum(amount * self._held[each.index] for each, amount in amounts.items())
        is_open = {self._place[each.index]: -amount for each, amount in amounts.items()}
        is_open.pop(-1, None)
        index = np.array([*is_open], dtype=np.int32)
        self._engine.changeColsCost(index.size, index, np.array([*is_open.values()], dtype=float))
        least = self.solve()
        self._engine.changeColsCost(index.size, index, np.zeros(index.size))
        return held - least if math.isfinite(least) else math.inf

    def corner(self) -> Any:
        """Where the engine is, for a return."""
        return self._engine.getBasis()

    def return_to(self, corner: Any) -> None:
        """Start from there when solved next; what was found last stays."""
        self._engine.setBasis(corner)

    def at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """What was found there when last solved; 0 where nothing is."""
        found: NDArray[np.float64] = np.where(places >= 0, self._found[places], 0.0)
        return found

    def values(self) -> dict[str, float]:
        """What was found for each variable of the model when last solved."""
        place = self._place
        numbers = np.where(place >= 0, self._found[place], self._held)
        return {each.name: float(value) for each, value in zip(self._columns, numbers, strict=True)}


def _open_part(made: Any) -> tuple[Any, NDArray[np.float64], NDArray[np.int64]]:
    """The model without what is held, what that is held at, and the new place of each column, -1 for held."""
    least, most = np.array(made.col_lower_), np.array(made.col_upper_)
    matrix = made.a_matrix_
    shape = (made.num_row_, made.num_col_)
    rows = csr_array((matrix.value_, matrix.index_, matrix.start_), shape=shape)
    is_open = least != most
    held = np.where(is_open, 0.0, least)
    place = np.where(is_open, np.cumsum(is_open) - 1, -1)
    carried, kept = rows @ held, csr_array(rows[:, np.flatnonzero(is_open)])
    part, inf = highspy.HighsLp(), highspy.kHighsInf
    part.num_col_, part.num_row_ = kept.shape[1], kept.shape[0]
    cost = np.array(made.col_cost_)
    part.col_cost_, part.offset_ = cost[is_open], made.offset_ + float(cost @ held)
    part.col_lower_, part.col_upper_ = least[is_open], most[is_open]
    part.row_lower_ = np.maximum(np.array(made.row_lower_) - carried, -inf)
    part.row_upper_ = np.minimum(np.array(made.row_upper_) - carried, inf)
    part.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    part.a_matrix_.num_col_, part.a_matrix_.num_row_ = part.num_col_, part.num_row_
    part.a_matrix_.start_, part.a_matrix_.index_ = kept.indptr, kept.indices
    part.a_matrix_.value_ = kept.data
    return part, held, place
