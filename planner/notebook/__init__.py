"""The door of Python: `import everfleet as ef`, a function for each question, one `Answer` for all of them.

Each function asks what its command asks and imports what it needs when it runs, so that the import is quick.
"""

from planner.notebook.answer import Answer
from planner.notebook.exchange import export, telemetry, track
from planner.notebook.hardware import calibrate, place, throughput, trace
from planner.notebook.jobs import checkpoint, job_carbon
from planner.notebook.plans import compare, futures, load, pareto, plan, scenario
from planner.notebook.reference import (
    facts,
    fit,
    grids,
    models,
    prices,
    regions,
    skus,
    techniques,
    traces,
    validate,
)
from planner.notebook.scaling import scaling
from planner.notebook.tables import Row, Table, Why
from planner.trace.errors import InputError

__all__ = [
    "Answer",
    "InputError",
    "Row",
    "Table",
    "Why",
    "calibrate",
    "checkpoint",
    "compare",
    "export",
    "facts",
    "fit",
    "futures",
    "grids",
    "job_carbon",
    "load",
    "models",
    "pareto",
    "place",
    "plan",
    "prices",
    "regions",
    "scaling",
    "scenario",
    "skus",
    "techniques",
    "telemetry",
    "throughput",
    "trace",
    "traces",
    "track",
    "validate",
]
