"""The work that can be requested: name -> module and function, brought in by the worker alone."""

TASKS = {
    "read-log": "planner.ui.workers.logs:read",
    "fit-log": "planner.ui.workers.logs:fit",
    "plan": "planner.ui.workers.planning:plan",
    "program": "planner.ui.workers.planning:program",
    "save": "planner.ui.workers.planning:save",
    "front": "planner.ui.workers.tradeoffs:front",
    "front_of_time": "planner.ui.workers.tradeoffs:front_of_time",
    "alternatives": "planner.ui.workers.tradeoffs:alternatives",
    "sensitivity": "planner.ui.workers.tradeoffs:sensitivity",
    "futures": "planner.ui.workers.futures:several",
    "replay": "planner.ui.workers.futures:replayed",
    "validate": "planner.ui.workers.evidence:validated",
    "attribution": "planner.ui.workers.comparing:attribution",
    "job": "planner.ui.workers.jobs:estimate",
}

# How long a task may take (s) that has all of its answer or none; a log of 25 MB is fitted in half of it.
LONGEST_S = {
    "read-log": 60.0,
    "fit-log": 180.0,
    "program": 180.0,
    "save": 60.0,
    "job": 180.0,
    "validate": 300.0,
}
# Every other task is a search: within its scenario's own time limits, and at most so long (s), it keeps the
# best that it has.
LONGEST_SEARCH_S = 3600.0
