"""Plans AI fleets so that they finish their work, on time, at the least carbon and money.

>>> import everfleet as ef
>>> fleet = ef.plan("one-training-job", baselines=False)
>>> fleet.totals["cost"]["unit"]
'USD'

Each function asks what the command of its name asks and gives an `Answer`: `docs/python.md` has all of them.
"""

from planner.notebook import (
    Answer,
    InputError,
    Row,
    Table,
    Why,
    calibrate,
    checkpoint,
    compare,
    export,
    facts,
    fit,
    futures,
    grids,
    job_carbon,
    load,
    models,
    pareto,
    place,
    plan,
    prices,
    regions,
    scaling,
    scenario,
    skus,
    techniques,
    telemetry,
    throughput,
    trace,
    traces,
    track,
    validate,
)

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
