"""Programs as they are written to a file, solved by an engine that reads nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pulp
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix
from test_plan_metamorphic import EXACT, FAMILIES, assembled, best_of, short

from planner.inputs.loading import data_folder
from planner.inputs.scenario import load_scenario
from solver.answer import answer
from solver.writing import write_program

THOUSAND = 1000.0  # the program counts in thousands
SENSES = {
    pulp.LpConstraintLE: (-np.inf, 0.0),
    pulp.LpConstraintGE: (0.0, np.inf),
    pulp.LpConstraintEQ: (0.0, 0.0),
}


def least(path: Path, gap: float = 0.0) -> float:
    """The least objective of a program in an MPS file, by SciPy's branch and cut over plain arrays."""
    _, program = pulp.LpProblem.fromMPS(str(path))
    columns = {variable.name: i for i, variable in enumerate(program.variables())}
    rows = list(program.constraints.values())
    cells = [(i, columns[v.name], c) for i, row in enumerate(rows) for v, c in row.items()]
    at, to, each = (np.array(part) for part in zip(*cells, strict=True))
    limits = np.array([[-row.constant + side for side in SENSES[row.sense]] for row in rows])
    weights = np.zeros(len(columns))
    for variable, weight in program.objective.items():
        weights[columns[variable.name]] = weight
    bounds = [(v.lowBound, v.upBound) for v in program.variables()]
    found = milp(
        weights,
        integrality=[v.cat == pulp.LpInteger for v in program.variables()],
        bounds=Bounds(
            [-np.inf if low is None else low for low, _ in bounds],
            [np.inf if top is None else top for _, top in bounds],
        ),
        constraints=LinearConstraint(
            coo_matrix((each, (at, to)), (len(rows), len(columns))).tocsr(), *limits.T
        ),
        options={"mip_rel_gap": gap, "time_limit": 60},
    )
    assert found.success, found.message
    return float(found.fun) + program.objective.constant


@pytest.mark.solve
@pytest.mark.parametrize("name", FAMILIES)
def test_a_written_program_has_the_same_optimum_elsewhere(name: str, tmp_path: Path) -> None:
    scenario = short(name)
    problem = assembled(scenario).problem
    write_program(problem, tmp_path / "p.mps", period_names=scenario.horizon.period_labels)

    assert least(tmp_path / "p.mps") * THOUSAND == pytest.approx(best_of(name).objective, rel=EXACT)


@pytest.mark.parametrize(
    "name", ["brownfield", pytest.param("clean-and-dirty-sites", marks=pytest.mark.nightly)]
)
def test_a_program_with_rents_moves_and_terms_costs_what_its_account_says(name: str, tmp_path: Path) -> None:
    """Each to a thousandth: a price that the program leaves out is more than two."""
    scenario = load_scenario(data_folder() / "scenarios" / f"{name}.toml")
    problem = assembled(scenario).problem
    write_program(problem, tmp_path / "p.mps", period_names=scenario.horizon.period_labels)
    ours = answer(problem, gap_fraction=1e-3, time_limit_s=60)

    assert least(tmp_path / "p.mps", gap=1e-3) * THOUSAND == pytest.approx(ours.objective, rel=2e-3)
