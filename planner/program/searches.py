"""What more the solver can be asked: other plans, prices of limits, fronts, where the plan flips, hedges.

The solver is asked in this room alone; other rooms take its words from here.
"""

from solver.alternatives import Alternative, near_optimal
from solver.decisions import Difference, compare_decisions
from solver.frontier import Front, Point, dominated, gathered, knee, lexicographic, pareto_front
from solver.prices import AT_LEAST, Move, Price, prices
from solver.sensitivity import Flip, Sensitivity, find_flips
from solver.stochastic import FirstStage
from solver.writing import write_program

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
    "compare_decisions",
    "dominated",
    "find_flips",
    "gathered",
    "knee",
    "lexicographic",
    "near_optimal",
    "pareto_front",
    "prices",
    "write_program",
]
