"""The model and its variables: which variable stands for what, and how an engine's values become a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pulp
from numpy.typing import NDArray

from solver import account, bounds
from solver.problem import Problem, Solution
from solver.tables import Floats, Whole

FAMILIES = (
    "power",
    "space",
    "supply",
    "minimum order",
    "budget",
    "carbon cap",
    "end of life",
    "deadlines",
    "demand",
    "jobs",
    "work",
)

Variables = NDArray[Any]  # of pulp.LpVariable, in the shape of the columns they stand for
Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Slack:
    """How far a row of an elastic family may give way: `size` is what one unit of the variable stands for."""

    variable: Any
    size: float


@dataclass(slots=True, eq=False)
class Program:
    """The model, and which variable stands for what."""

    problem: Problem
    model: Any  # pulp.LpProblem
    elastic: frozenset[str]
    order: Variables  # [P, T]
    retire: Variables  # [H, T]
    run: Variables  # [R]
    left_out: Variables  # [J]
    replicas: Variables  # [V, T]
    work: Variables  # [O, T] mean nodes
    spares: Variables  # [P, T]
    in_service: Variables  # [P, T]
    in_use: Variables  # [P, T]
    most_in_use: Floats  # [P, T]
    slacks: dict[tuple[str, Index], Slack] = field(default_factory=dict)

    def add(self, row: str, expression: Any, sense: int, limit: float) -> None:
        """One row: expression (<=, =, >=) limit. A row of no variable is left out where it holds anyway."""
        holds = {
            pulp.LpConstraintLE: limit >= 0,
            pulp.LpConstraintEQ: limit == 0,
            pulp.LpConstraintGE: limit <= 0,
        }
        if not expression and holds[sense]:
            return
        self.model.addConstraint(pulp.LpConstraint(expression, sense, row, limit))

    def slack(self, family: str, index: Index, size: float, most: float | None = None) -> list[Any]:
        """The term by which a row of an elastic family gives way; nothing where the family is firm."""
        if family not in self.elastic:
            return []
        made = pulp.LpVariable(name("over_" + family.replace(" ", "_"), index), 0, most)
        self.slacks[family, index] = Slack(made, size)
        return [(made, size)]

    def solution(self, values: Mapping[str, float]) -> Solution:
        """The plan that an engine's values stand for; counts are rounded to whole numbers.

        Spares are free up to what is not in use; the plan names only those that it needs.
        """

        def read(variables: Variables) -> Floats:
            flat = [values.get(each.name, 0.0) for each in variables.ravel()]
            return np.array(flat, dtype=float).reshape(variables.shape)

        def count(variables: Variables) -> Whole:
            return np.rint(read(variables)).astype(np.int64)

        run, replicas = count(self.run).astype(bool), count(self.replicas)
        chosen = account.Decisions(
            orders=count(self.order),
            retired=count(self.retire),
            run=run,
            left_out=count(self.left_out).astype(bool),
            replicas=replicas,
            work_node_h=np.maximum(read(self.work), 0.0) * self.problem.pools.hours,
            spares=bounds.fewest_spares(self.problem, account.nodes_in_use(self.problem, run, replicas)),
        )
        return account.solution(self.problem, chosen)

    def whole_numbers(self) -> int:
        """How many variables count something."""
        return sum(each.size for each in (self.order, self.retire, self.run, self.replicas))

    def start(self, solution: Solution) -> dict[str, float]:
        """Values for a warm start: the whole numbers of a neighbour's plan."""
        pairs = (
            (self.order, solution.orders),
            (self.retire, solution.retired),
            (self.run, solution.run),
            (self.left_out, solution.left_out),
            (self.replicas, solution.replicas),
            (self.spares, solution.spares),
        )
        return {
            variable.name: float(value)
            for variables, numbers in pairs
            for variable, value in zip(variables.ravel(), numbers.ravel(), strict=True)
        }

    def given_way(self, values: Mapping[str, float]) -> dict[tuple[str, Index], float]:
        """By how much each elastic row gave way, in the unit of its limit."""
        return {key: slack.size * values.get(slack.variable.name, 0.0) for key, slack in self.slacks.items()}


def linear(*parts: Iterable[tuple[Any, float]]) -> Any:
    """A sum of coefficient times variable, without the terms that are zero."""
    expression = pulp.LpAffineExpression()
    for part in parts:
        for variable, coefficient in part:
            if coefficient != 0.0:
                expression.addterm(variable, float(coefficient))
    return expression


def terms(variables: Variables, coefficients: NDArray[Any]) -> list[tuple[Any, float]]:
    """Pairs of a variable and its coefficient, where that is not zero."""
    flat = np.broadcast_to(coefficients, variables.shape).ravel()
    chosen = np.flatnonzero(flat)
    return list(zip(variables.ravel()[chosen], flat[chosen].tolist(), strict=True))


def name(stem: str, index: Iterable[Any]) -> str:
    """The stem and the indices, joined."""
    return "_".join([stem, *(str(int(number)) for number in index)])


def array(stem: str, shape: Index, most: NDArray[Any] | None, kind: str = pulp.LpInteger) -> Variables:
    """Variables from 0 to `most`, named by index: labels that people write may clash, numbers do not."""
    made = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        made[index] = pulp.LpVariable(
            name(stem, index), 0, None if most is None else float(most[index]), kind
        )
    return made


def empty(problem: Problem, elastic: frozenset[str]) -> Program:
    """All variables within their bounds, and no row yet."""
    periods, pools = problem.periods, len(problem.pools)
    allowed = bounds.allowed_runs(problem, any_lateness="deadlines" in elastic)
    replicas = bounds.most_replicas(problem)
    work = bounds.most_work_nodes(problem)
    in_use = bounds.most_in_use(problem, allowed, replicas)
    spares = bounds.fewest_spares(problem, in_use)
    orders = bounds.most_orders(problem, in_use, spares, work)
    nodes = np.repeat(problem.cohorts.nodes[:, None], periods, axis=1)
    may_leave = problem.jobs.optional | ("jobs" in elastic)
    return Program(
        problem=problem,
        model=pulp.LpProblem("everfleet", pulp.LpMinimize),
        elastic=elastic,
        order=array("order", (pools, periods), orders),
        retire=array("retire", (len(problem.cohorts), periods), nodes),
        run=array("run", (len(problem.run_options),), allowed),
        left_out=array("left_out", (len(problem.jobs),), may_leave),
        replicas=array("replicas", (len(problem.serve_options), periods), replicas),
        work=array("work", (len(problem.work_options), periods), work, pulp.LpContinuous),
        spares=array("spares", (pools, periods), spares, pulp.LpContinuous),
        in_service=array("in_service", (pools, periods), None, pulp.LpContinuous),
        in_use=array("in_use", (pools, periods), in_use, pulp.LpContinuous),
        most_in_use=in_use,
    )
