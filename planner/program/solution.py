"""What the solver answers with: the program, its plan, sums over it, and why there is none.

The solver is asked in this room alone; other rooms take its words from here.
"""

from planner.program.engines import refusing
from solver import answer as answering
from solver.account import (
    bought_usd,
    capex_usd,
    carried_by_option,
    covered_nodes,
    nodes_apart,
    nodes_of_runs,
    nodes_under_way,
    peak_kw,
    promised_nodes,
    racks_in_use,
    rebate_fraction,
    reused,
    spares_at_hand,
    spares_of_promise,
    totals_by,
    unfilled_nodes,
)
from solver.account_energy import installed_usd
from solver.account_slots import adopted_work_h, lent_node_h, lent_work_h, stopping_kw
from solver.backend import Progress, Status
from solver.infeasible import LIMITS, TASKS, UNITS, Family, Give, Infeasibility, promised
from solver.known import Answer
from solver.problem import (
    Cohorts,
    Contracts,
    Jobs,
    Limits,
    NodeGroups,
    Objective,
    Problem,
    RunOptions,
    ServeOptions,
    Services,
    Solution,
    SpareSteps,
    Work,
    WorkOptions,
)
from solver.program import Index
from solver.quality import answered_per_s

answer = refusing(answering.answer)

__all__ = [
    "LIMITS",
    "TASKS",
    "UNITS",
    "Answer",
    "Cohorts",
    "Contracts",
    "Family",
    "Give",
    "Index",
    "Infeasibility",
    "Jobs",
    "Limits",
    "NodeGroups",
    "Objective",
    "Problem",
    "Progress",
    "RunOptions",
    "ServeOptions",
    "Services",
    "Solution",
    "SpareSteps",
    "Status",
    "Work",
    "WorkOptions",
    "adopted_work_h",
    "answer",
    "answered_per_s",
    "bought_usd",
    "capex_usd",
    "carried_by_option",
    "covered_nodes",
    "installed_usd",
    "lent_node_h",
    "lent_work_h",
    "nodes_apart",
    "nodes_of_runs",
    "nodes_under_way",
    "peak_kw",
    "promised",
    "promised_nodes",
    "racks_in_use",
    "rebate_fraction",
    "reused",
    "spares_at_hand",
    "spares_of_promise",
    "stopping_kw",
    "totals_by",
    "unfilled_nodes",
]
