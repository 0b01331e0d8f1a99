"""What more the solver can be asked: other plans, prices of limits, fronts, where the plan flips, hedges.

The solver is asked in this room alone; other rooms take its words from here.
"""

from planner.program.engines import refusing
from solver import alternatives, frontier, sensitivity
from solver import levers as lever_search
from solver import prices as pricing
from solver.alternatives import Alternative
from solver.decisions import Difference, compare_decisions
from solver.frontier import Front, Point, dominated, gathered, knee
from solver.levers import Worth, allowed_levers, with_levers
from solver.prices import AT_LEAST, Move, Price
from solver.sensitivity import Flip, Sensitivity
from solver.stochastic import FirstStage
from solver.ties import Tie, changes
from solver.writing import write_program

near_optimal = refusing(alternatives.near_optimal)
lexicographic = refusing(frontier.lexicographic)
pareto_front = refusing(frontier.pareto_front)
prices = refusing(pricing.prices)
find_flips = refusing(sensitivity.find_flips)
operated = refusing(lever_search.operated)

__all__ = [
    "AT_LEAST",
    "Alternative",
    "Difference",
    "FirstStage",
    "Flip",
    "Front",
    "Move",
    "Point",
    "Price",
    "Sensitivity",
    "Tie",
    "Worth",
    "allowed_levers",
    "changes",
    "compare_decisions",
    "dominated",
    "find_flips",
    "gathered",
    "knee",
    "lexicographic",
    "near_optimal",
    "operated",
    "pareto_front",
    "prices",
    "with_levers",
    "write_program",
]
